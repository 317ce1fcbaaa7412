//! What was found in texts already: the same names, choices and sentences stand in every object of a fleet. A text that was looked at is
//! not looked at again, and all comes out as if it were: also what is unpacked on the way is paid for again.

use crate::hashed::HashMap;
use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// Most bytes that one run unpacks to look behind encodings; what is packed beyond is hidden unseen.
const MOST_UNPACKED: usize = 32 * 1024 * 1024;
/// What must be left to unpack beyond what a text takes, so that nothing of it comes out otherwise because little is left: more than any
/// one packed word may unfold to.
const ROOM: usize = 2 * super::super::within::LARGEST;
/// Longest text that is kept.
const LONGEST: usize = 32 * 1024;
/// Most bytes of texts that one part of a memo keeps.
const MOST_KEPT: usize = 128 * 1024;
/// Most texts that one part of a memo keeps.
const MOST_TEXTS: usize = 2048;
/// In how many parts a memo is, so that threads seldom wait for each other.
const PARTS: usize = 16;

thread_local! {
    /// How much was unpacked on this thread.
    static UNPACKED: Cell<usize> = const { Cell::new(0) };
}

/// How much may still be unpacked.
pub(super) struct Budget(AtomicUsize);

impl Default for Budget {
    fn default() -> Self {
        Self(AtomicUsize::new(MOST_UNPACKED))
    }
}

impl Budget {
    #[cfg(test)]
    pub(super) fn of(bytes: usize) -> Self {
        Self(AtomicUsize::new(bytes))
    }

    /// What is left.
    pub(super) fn left(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }

    /// Takes off what was unpacked.
    pub(super) fn spend(&self, spent: usize) {
        UNPACKED.set(UNPACKED.get().wrapping_add(spent));
        let spend = |left: usize| Some(left.saturating_sub(spent));
        let _: Result<usize, usize> = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, spend);
    }

    /// Takes off again what a text has taken before; `false`, with nothing taken, where it might come out otherwise by now.
    fn spend_again(&self, spent: usize) -> bool {
        if spent == 0 {
            return self.left() >= ROOM;
        }
        let spend = |left: usize| (left >= spent + ROOM).then(|| left - spent);
        let is_spent = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, spend).is_ok();
        if is_spent {
            UNPACKED.set(UNPACKED.get().wrapping_add(spent));
        }
        is_spent
    }
}

/// What was found in each text. Whoever changes what the answer depends on forgets all of them.
pub(super) struct Memo<T> {
    parts: [Mutex<Part<T>>; PARTS],
    /// Whether each text is looked at each time.
    #[cfg(test)]
    pub(super) is_off: bool,
}

/// The texts of one part.
struct Part<T> {
    found: HashMap<Box<str>, Found<T>>,
    bytes: usize,
}

/// What was found in one text.
struct Found<T> {
    made: T,
    /// How much was unpacked for it.
    spent: usize,
}

impl<T> Default for Part<T> {
    fn default() -> Self {
        Self { found: HashMap::default(), bytes: 0 }
    }
}

impl<T> Default for Memo<T> {
    fn default() -> Self {
        Self {
            parts: std::array::from_fn(|_| Mutex::default()),
            #[cfg(test)]
            is_off: false,
        }
    }
}

impl<T: Clone> Memo<T> {
    /// What was found in a text, made where it was not looked at yet.
    pub(super) fn get(&self, text: &str, budget: &Budget, make: impl FnOnce() -> T) -> T {
        #[cfg(test)]
        if self.is_off {
            return make();
        }
        if text.len() > LONGEST {
            return make();
        }
        let bytes = text.as_bytes();
        let sum = |bytes: &[u8]| bytes.iter().fold(text.len(), |sum, byte| sum * 31 + usize::from(*byte));
        let place = sum(&bytes[bytes.len().saturating_sub(4)..]) % PARTS;
        let part = || self.parts[place].lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = part().found.get(text)
            && budget.spend_again(found.spent)
        {
            return found.made.clone();
        }
        let before = UNPACKED.get();
        let made = make();
        // Where little was left, another look may find another thing.
        if budget.left() >= ROOM {
            let spent = UNPACKED.get().wrapping_sub(before);
            part().keep(text, Found { made: made.clone(), spent });
        }
        made
    }

    /// Forgets all texts.
    pub(super) fn forget(&mut self) {
        for part in &mut self.parts {
            *part.get_mut().unwrap_or_else(PoisonError::into_inner) = Part::default();
        }
    }
}

impl<T> Part<T> {
    fn keep(&mut self, text: &str, found: Found<T>) {
        if self.bytes + text.len() > MOST_KEPT || self.found.len() >= MOST_TEXTS {
            *self = Self::default();
        }
        if self.found.insert(text.into(), found).is_none() {
            self.bytes += text.len();
        }
    }
}
