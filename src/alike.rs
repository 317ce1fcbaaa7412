//! Computes an answer once for all provider versions that give the same one: whoever reads something that differs between versions
//! notes it, and the answer holds for all versions that looked alike all the way.
//!
//! Notes are kept by thread. Work that [`crate::parallel`] gives to other threads takes its notes back to whoever waits for it.

use crate::hashed::HashMap;
use std::borrow::Borrow;
use std::cell::Cell;
use std::hash::Hash;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// Some of at most [`Cases::MOST`] cases.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cases(u64);

impl Cases {
    /// How many cases can be told apart.
    pub(crate) const MOST: usize = 64;
    /// All of them.
    pub(crate) const ALL: Self = Self(u64::MAX);

    /// The places of all that are alike.
    pub(crate) fn of(alike: impl Iterator<Item = bool>) -> Self {
        let bit = |(place, is): (usize, bool)| if is { 1 << place } else { 0 };
        Self(alike.take(Self::MOST).enumerate().map(bit).fold(0, |all, bit| all | bit))
    }

    /// Whether a case is among them.
    pub(crate) const fn has(self, place: usize) -> bool {
        place < Self::MOST && (self.0 >> place) & 1 == 1
    }

    const fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
}

/// What was noted on this thread.
#[derive(Clone, Copy)]
struct Notes {
    /// In the innermost scope.
    own: Cases,
    /// In those around it.
    around: Cases,
}

impl Notes {
    /// The notes in a scope that begins here.
    const fn inner(self) -> Self {
        Self { own: Cases::ALL, around: self.around.and(self.own) }
    }
}

thread_local! {
    static NOTES: Cell<Notes> = const { Cell::new(Notes { own: Cases::ALL, around: Cases::ALL }) };
}

/// Notes that something was seen which is alike in these cases only.
pub(crate) fn note(cases: Cases) {
    NOTES.with(|notes| {
        let now = notes.get();
        notes.set(Notes { own: now.own.and(cases), ..now });
    });
}

/// What `work` makes, and the cases that it holds for. What it has from outside must be the same in all cases; where it may have
/// something that was made of what was noted before, [`inherited`] is asked.
pub(crate) fn scope<T>(work: impl FnOnce() -> T) -> (Cases, T) {
    let before = NOTES.get();
    NOTES.set(before.inner());
    let made = work();
    let own = NOTES.get().own;
    NOTES.set(Notes { own: before.own.and(own), ..before });
    (own, made)
}

/// What `work` makes of what was made before in the scopes around it: it holds for no case in which that looked otherwise.
pub(crate) fn inherited<T>(work: impl FnOnce() -> T) -> (Cases, T) {
    let before = NOTES.get().inner().around;
    let (own, made) = scope(work);
    (own.and(before), made)
}

/// Work that several threads share: what they note, whoever waits for them has noted too.
pub(crate) struct Shared {
    around: Cases,
    all: AtomicU64,
}

impl Shared {
    /// Work that this thread gives to others.
    pub(crate) fn here() -> Self {
        Self { around: NOTES.get().inner().around, all: AtomicU64::new(u64::MAX) }
    }

    /// Does a part of it, on whatever thread.
    pub(crate) fn part<T>(&self, work: impl FnOnce() -> T) -> T {
        let before = NOTES.get();
        NOTES.set(Notes { own: Cases::ALL, around: self.around });
        let made = work();
        let Cases(own) = NOTES.get().own;
        NOTES.set(before);
        if own != u64::MAX {
            self.all.fetch_and(own, Ordering::Relaxed);
        }
        made
    }

    /// Notes what was noted in all parts, once they are done.
    pub(crate) fn note(self) {
        note(Cases(self.all.into_inner()));
    }
}

/// What is made once for all cases that are alike, by key.
#[derive(Debug)]
pub(crate) struct Kept<K, V>(Mutex<HashMap<K, Vec<(Cases, V)>>>);

impl<K, V> Default for Kept<K, V> {
    fn default() -> Self {
        Self(Mutex::new(HashMap::default()))
    }
}

impl<K: Eq + Hash, V: Clone> Kept<K, V> {
    /// What stands under a key in a case, made where it does not yet. `make` may use nothing but the key and what is the same
    /// in all cases, and what it asks about the case is noted.
    pub(crate) fn get<Q>(&self, case: usize, key: &Q, make: impl FnOnce() -> V) -> V
    where
        K: Borrow<Q>,
        Q: Eq + Hash + ToOwned<Owned = K> + ?Sized,
    {
        let known = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let found = known().get(key).and_then(|all| all.iter().find(|(cases, _)| cases.has(case)).cloned());
        if let Some((cases, value)) = found {
            note(cases);
            return value;
        }
        let (cases, made) = scope(make);
        // Most are alike in all cases: there is no room for a second one until it comes.
        known().entry(key.to_owned()).or_insert_with(|| Vec::with_capacity(1)).push((cases, made.clone()));
        made
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cases(places: &[usize]) -> Cases {
        Cases::of((0..Cases::MOST).map(|place| places.contains(&place)))
    }

    #[test]
    fn what_was_noted_within_counts_around_and_not_the_other_way() {
        let (all, inner) = scope(|| {
            note(cases(&[0, 1, 2]));
            let (inner, ()) = scope(|| note(cases(&[0, 1, 5])));
            let (free, ()) = scope(|| ());
            assert_eq!(free, Cases::ALL);
            inner
        });
        assert_eq!((all, inner), (cases(&[0, 1]), cases(&[0, 1, 5])));
    }

    #[test]
    fn what_uses_things_from_around_holds_for_no_more_cases_than_they() {
        let (_, inner) = scope(|| {
            note(cases(&[0, 1]));
            inherited(|| note(cases(&[1, 2]))).0
        });
        assert_eq!(inner, cases(&[1]));
    }

    #[test]
    fn other_threads_take_their_notes_back() {
        let items: Vec<usize> = (0..1000).collect();
        let (all, _) = scope(|| {
            crate::parallel::map(&items, |item| {
                if *item == 700 {
                    note(cases(&[3, 4]));
                }
                *item
            })
        });
        assert_eq!(all, cases(&[3, 4]));
    }

    #[test]
    fn a_thing_is_made_once_for_all_cases_that_look_alike() {
        let (kept, made) = (Kept::<String, usize>::default(), Cell::new(0));
        let look = |case: usize| {
            scope(|| {
                kept.get(case, "a", || {
                    made.set(made.get() + 1);
                    note(if case < 2 { cases(&[0, 1]) } else { cases(&[2, 3]) });
                    case
                })
            })
        };
        assert_eq!(look(0), (cases(&[0, 1]), 0));
        assert_eq!(look(1), (cases(&[0, 1]), 0));
        assert_eq!(look(3), (cases(&[2, 3]), 3));
        assert_eq!((look(2), made.get()), ((cases(&[2, 3]), 3), 2));
    }
}
