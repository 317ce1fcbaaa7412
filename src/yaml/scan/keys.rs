//! Simple keys: places where a `key:` without `?` may have begun, one per flow level.
//!
//! A key token is inserted before such a place once its `:` is seen, so the place must stay in the queue until it is known. Go finds
//! the place by token number in a map (`simple_keys_by_tok`); here the numbers are a queue, as they only grow with the level. The map's
//! quirk is kept: closing an *empty* flow collection forgets that the collection itself could have been a key.

use std::collections::VecDeque;

/// Longest distance in characters from the start of a simple key to its colon.
const MAX_KEY: usize = 1024;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Key {
    pub(crate) possible: bool,
    pub(crate) required: bool,
    pub(crate) number: usize,
    pub(crate) pos: usize,
    pub(crate) column: isize,
}

/// The stack of simple keys, one entry for each flow level, never empty.
#[derive(Debug)]
pub(crate) struct Keys {
    levels: Vec<Key>,
    /// Level and token number of the keys that hold back the head of the queue, both rising.
    held: VecDeque<(usize, usize)>,
}

/// What the head of the token queue is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Held {
    /// Not a place where a key may begin.
    Free,
    /// Still a possible key.
    Possible,
    /// No longer a possible key, although it had to be one.
    Broken(usize),
}

impl Keys {
    pub(crate) fn new(pos: usize) -> Self {
        let none = Key { possible: false, required: false, number: 0, pos, column: 0 };
        Self { levels: vec![none], held: VecDeque::new() }
    }

    pub(crate) fn top(&self) -> Key {
        *self.levels.last().expect("the level outside of all flow collections is never popped")
    }

    fn top_mut(&mut self) -> &mut Key {
        self.levels.last_mut().expect("the level outside of all flow collections is never popped")
    }

    pub(crate) fn open(&mut self, number: usize, pos: usize) {
        self.levels.push(Key { possible: false, required: false, number, pos, column: 0 });
    }

    pub(crate) fn close(&mut self) {
        if self.levels.len() > 1 {
            let number = self.top().number;
            self.levels.pop();
            self.release(number);
        }
    }

    /// Remembers a possible key on the current level.
    pub(crate) fn save(&mut self, key: Key) {
        let level = self.levels.len() - 1;
        while self.held.back().is_some_and(|(held, _)| *held >= level) {
            self.held.pop_back();
        }
        self.held.push_back((level, key.number));
        *self.top_mut() = key;
    }

    /// Forgets the key of the current level.
    pub(crate) fn forget(&mut self) {
        let number = self.top().number;
        self.top_mut().possible = false;
        self.release(number);
    }

    fn release(&mut self, number: usize) {
        if self.held.back().is_some_and(|(_, held)| *held == number) {
            self.held.pop_back();
        }
    }

    /// Judges the token `number` at the head of the queue (`yaml_parser_fetch_more_tokens`).
    pub(crate) fn head(&mut self, number: usize, src: &[u8], pos: usize, line_start: usize) -> Held {
        while self.held.front().is_some_and(|(_, held)| *held < number) {
            self.held.pop_front();
        }
        match self.held.front() {
            Some((level, held)) if *held == number && *level < self.levels.len() => {
                let level = *level;
                match self.valid(level, src, pos, line_start) {
                    Ok(true) => Held::Possible,
                    Ok(false) => Held::Free,
                    Err(start) => Held::Broken(start),
                }
            }
            _ => Held::Free,
        }
    }

    /// True when the key of the current level may end at `pos`; the error is the start of a key that had to be one.
    pub(crate) fn top_valid(&mut self, src: &[u8], pos: usize, line_start: usize) -> Result<bool, usize> {
        self.valid(self.levels.len() - 1, src, pos, line_start)
    }

    fn valid(&mut self, level: usize, src: &[u8], pos: usize, line_start: usize) -> Result<bool, usize> {
        let key = &mut self.levels[level];
        if !key.possible {
            return Ok(false);
        }
        if key.pos < line_start || too_far(src, key.pos, pos) {
            if key.required {
                return Err(key.pos);
            }
            key.possible = false;
            return Ok(false);
        }
        Ok(true)
    }
}

/// A character has at most four bytes, so only a middle range of distances has to be counted.
fn too_far(src: &[u8], start: usize, pos: usize) -> bool {
    let bytes = pos - start;
    bytes > MAX_KEY && (bytes > 4 * MAX_KEY || crate::yaml::span::chars(&src[start..pos]) > MAX_KEY)
}
