//! Work on many things at once, with the answers in the order of the things. A few are done in place: for them starting
//! threads costs more than it saves, and most releases are small.

use rayon::prelude::*;

use crate::alike::Shared;

/// Fewest things that are worth threads.
const FEWEST: usize = 64;

/// What `work` makes of each item.
pub(crate) fn map<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Send + Sync) -> Vec<R> {
    pieces(items, items.len(), work)
}

/// What `work` makes of each of a few pieces that together look at so many things.
pub(crate) fn pieces<T: Sync, R: Send>(pieces: &[T], things: usize, work: impl Fn(&T) -> R + Send + Sync) -> Vec<R> {
    if things < FEWEST {
        return pieces.iter().map(work).collect();
    }
    let most = (pieces.len() / FEWEST).max(1);
    let shared = Shared::here();
    let out = pieces.par_iter().with_max_len(most).map(|piece| shared.part(|| work(piece))).collect();
    shared.note();
    out
}

/// Two pieces of work that each look at so many things.
pub(crate) fn both<A: Send, B: Send>(
    things: usize,
    one: impl FnOnce() -> A + Send,
    other: impl FnOnce() -> B + Send,
) -> (A, B) {
    if things < FEWEST {
        return (one(), other());
    }
    let shared = Shared::here();
    let out = rayon::join(|| shared.part(one), || shared.part(other));
    shared.note();
    out
}

/// As [`map`], with something that serves many items in turn, of which each thread makes some of its own.
pub(crate) fn map_with<T: Sync, R: Send, W>(
    items: &[T],
    make: impl Fn() -> W + Send + Sync,
    work: impl Fn(&mut W, &T) -> R + Send + Sync,
) -> Vec<R> {
    if items.len() < FEWEST {
        let mut with = make();
        return items.iter().map(|item| work(&mut with, item)).collect();
    }
    let shared = Shared::here();
    let out = items.par_iter().map_init(make, |with, item| shared.part(|| work(with, item))).collect();
    shared.note();
    out
}

/// Lets `work` change each item.
pub(crate) fn each<T: Send>(items: &mut [T], work: impl Fn(&mut T) + Send + Sync) {
    if items.len() < FEWEST {
        return items.iter_mut().for_each(work);
    }
    let shared = Shared::here();
    items.par_iter_mut().for_each(|item| shared.part(|| work(item)));
    shared.note();
}

/// Lets `work` change each of a few items of which each is much work; it asks nothing that is shared.
pub(crate) fn few<T: Send>(items: &mut [T], work: impl Fn(&mut T) + Send + Sync) {
    if let [one] = items { work(one) } else { items.par_iter_mut().for_each(work) }
}

/// Whether any item is of a sort.
pub(crate) fn any<T: Sync>(items: &[T], is: impl Fn(&T) -> bool + Send + Sync) -> bool {
    if items.len() < FEWEST {
        return items.iter().any(is);
    }
    let shared = Shared::here();
    let found = items.par_iter().any(|item| shared.part(|| is(item)));
    shared.note();
    found
}

/// Drops what was made of so many things while the caller goes on.
pub(crate) fn discard<T: Send + 'static>(made: T, things: usize) {
    if things >= FEWEST {
        rayon::spawn(move || drop(made));
    }
}
