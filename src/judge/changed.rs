//! Judges every change of an updated pair, each beside what stood where it stands now.

use super::aligned::{self, Shift};
use super::subject::Subject;
use super::verdict::Answer;
use crate::compare::{Change, Pair};
use crate::model::Effect;
use crate::tree::Value;

/// Judges every change of an updated pair; the findings of rules are handed back with the answers.
#[must_use]
pub(crate) fn changes(subject: &Subject<'_>, pair: &Pair) -> Vec<Answer> {
    let old = aligned::old(subject.old, pair.changes.iter().filter_map(|change| subject.shift(change)));
    let (beside, gone) =
        (Subject { old: old.as_ref().unwrap_or(subject.old), ..*subject }, Subject { is_gone: true, ..*subject });
    let answer = |change: &Change| {
        let answer = if change.is_gone_item() { gone.answer(change) } else { beside.answer(change) };
        match answer.effect >= Effect::Rollout && is_reordered(change) {
            true => {
                let because = format!("{} Both sides have the same items, in another order.", answer.because);
                answer.saying(because)
            }
            false => answer,
        }
    };
    pair.changes.iter().map(answer).collect()
}

/// Whether both sides of a change are lists of the same items in another order.
fn is_reordered(change: &Change) -> bool {
    let sorted = |side: &Option<Value>| {
        let mut items: Vec<String> = side.as_ref()?.as_array()?.iter().map(ToString::to_string).collect();
        items.sort_unstable();
        Some(items)
    };
    sorted(&change.before).is_some_and(|before| sorted(&change.after) == Some(before))
}

impl Subject<'_> {
    /// Where the items of lists on the way of a change stood and stand, in the superset form.
    fn shift(&self, change: &Change) -> Option<Shift> {
        if change.is_gone_item() {
            return None;
        }
        let is = self.moved(&change.path);
        let was = change.was.as_ref().map(|was| self.moved(was));
        Some(Shift { was: was.unwrap_or_else(|| is.clone()), is, is_new: change.is_new_item() })
    }
}
