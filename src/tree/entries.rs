//! The entries of a map as they lie in memory: a list in their order, a byte of each key to look by, and an index where there are many.

use std::collections::HashMap;

use super::{Text, Value};

/// Up to this many entries are looked through one by one.
const FEWEST: usize = 2;
/// Up to this many are looked through by a byte of each.
const FEW: usize = 16;

/// Keys and values in their order, and what finds a key.
#[derive(Clone, Default)]
pub(super) struct Entries {
    pub(super) list: Vec<(Text, Value)>,
    /// Where each key stands; only where there are more than [`FEW`]. Keys come from whoever wrote the document, so it is
    /// the hash table that nobody can make slow.
    #[expect(clippy::box_collection, reason = "nearly no map has one, and a table without entries takes six words")]
    index: Option<Box<HashMap<Text, usize>>>,
    /// Where there are more than [`FEWEST`], a byte of each of the first keys, eight in a number: most keys are not looked at where
    /// another one is looked for.
    prints: [u64; FEW / EIGHT],
}

/// How many bytes a number has.
const EIGHT: usize = 8;
/// A one in each byte of a number, and the highest bit of each.
const ONES: u64 = 0x0101_0101_0101_0101;
const HIGHEST: u64 = ONES << 7;

/// What tells most keys of one map apart: length, first and last byte.
pub(crate) fn print(key: &str) -> u8 {
    let bytes = key.as_bytes();
    let (first, last) = (bytes.first().copied().unwrap_or_default(), bytes.last().copied().unwrap_or_default());
    let length = u8::try_from(bytes.len() & 0xff).unwrap_or_default();
    length.wrapping_mul(37) ^ first.rotate_left(3) ^ last
}

impl From<Vec<(Text, Value)>> for Entries {
    fn from(list: Vec<(Text, Value)>) -> Self {
        let mut out = Self { list, ..Self::default() };
        out.note_places();
        out
    }
}

impl Entries {
    /// Where a key stands.
    pub(super) fn place(&self, key: &str) -> Option<usize> {
        match self.list.len() {
            0..=FEWEST => self.list.iter().position(|(name, _)| name.as_str() == key),
            _ if self.index.is_some() => self.by_index(key),
            _ => self.by_print(key),
        }
    }

    /// Where a key stands among many. Apart, as few maps have so many and each look would pay for it.
    #[inline(never)]
    fn by_index(&self, key: &str) -> Option<usize> {
        self.index.as_ref()?.get(key).copied()
    }

    /// Where a key stands among the first [`FEW`], by a byte of each key.
    fn by_print(&self, key: &str) -> Option<usize> {
        let wanted = u64::from(print(key)) * ONES;
        for (eighth, prints) in self.prints.iter().enumerate() {
            if self.list.len() <= eighth * EIGHT {
                return None;
            }
            // Marks each byte that is zero: that of an equal print, and now and then one beside it.
            let differs = prints ^ wanted;
            let mut marks = differs.wrapping_sub(ONES) & !differs & HIGHEST;
            while marks != 0 {
                let place = eighth * EIGHT + marks.trailing_zeros() as usize / EIGHT;
                if self.list.get(place).is_some_and(|(name, _)| name.as_str() == key) {
                    return Some(place);
                }
                marks &= marks - 1;
            }
        }
        None
    }

    fn note_prints(&mut self) {
        (0..self.list.len().min(FEW)).for_each(|place| self.note_print(place));
    }

    fn note_print(&mut self, place: usize) {
        if self.list.len() > FEWEST
            && let (Some(prints), Some((key, _))) = (self.prints.get_mut(place / EIGHT), self.list.get(place))
        {
            let shift = (place % EIGHT) * EIGHT;
            *prints = *prints & !(0xff << shift) | u64::from(print(key)) << shift;
        }
    }

    /// Gives a key a value, and the value that it had. A key that was there keeps its place.
    pub(super) fn put(&mut self, key: Text, value: Value) -> Option<Value> {
        match self.place(&key) {
            Some(place) => Some(std::mem::replace(&mut self.list[place].1, value)),
            None => {
                self.push(key, value);
                None
            }
        }
    }

    /// Adds an entry behind all others; gives back its place.
    pub(super) fn push(&mut self, key: Text, value: Value) -> usize {
        let place = self.list.len();
        if let Some(index) = &mut self.index {
            index.insert(key.clone(), place);
        }
        if place == self.list.capacity() {
            // A copy has no room left and most get one entry more: twice the room would leave half of it empty in each.
            self.list.reserve_exact(place / 4 + 1);
        }
        self.list.push((key, value));
        match self.list.len() {
            count if count <= FEWEST => {}
            // What was there before has none yet.
            count if count == FEWEST + 1 => self.note_prints(),
            count if count > FEW && self.index.is_none() => self.note_places(),
            _ => self.note_print(place),
        }
        place
    }

    /// Notes anew where each key stands.
    pub(super) fn note_places(&mut self) {
        self.note_prints();
        let places = || self.list.iter().enumerate().map(|(place, (key, _))| (key.clone(), place)).collect();
        self.index = (self.list.len() > FEW).then(|| Box::new(places()));
    }

    /// Takes an entry out; the last one takes its place.
    pub(super) fn swap_remove(&mut self, place: usize) -> (Text, Value) {
        let out = self.list.swap_remove(place);
        self.note_print(place);
        if let Some(index) = &mut self.index {
            index.remove(&out.0);
            if let Some((moved, _)) = self.list.get(place) {
                index.insert(moved.clone(), place);
            }
        }
        out
    }
}
