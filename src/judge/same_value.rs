//! Whether a field has the same value on both sides once defaults are filled in. Lists are compared by what their items are, as the comparison
//! that found the change did; a place alone may be that of another item.

use std::borrow::Cow;

use super::subject::Subject;
use crate::compare::Change;
use crate::kinds::lists::place_before;
use crate::object::{Path, Segment};
use crate::tree::Value;

/// How a place of one side was matched with one of the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Match {
    /// By itself: both sides were compared place by place.
    Place,
    /// By the identity of the items on the way.
    Identity,
    /// It lies in an item that comes or goes as a whole.
    WholeItem,
}

impl Match {
    /// How both sides of a leaf of a change were matched; the leaf is named as it is rendered.
    pub(super) fn of(change: &Change, leaf: &Path) -> Self {
        let is_list = |side: &Option<Value>| side.as_ref().is_some_and(Value::is_array);
        if is_list(&change.before) && is_list(&change.after) {
            // Names of items that stand in another order.
            return Self::Place;
        }
        // From the place of the change on, all items are those of the one side that has it.
        let own = leaf.segments().get(change.path.segments().len().saturating_sub(1)..).unwrap_or_default();
        let is_in_item = own.iter().any(|segment| matches!(segment, Segment::Index(_)));
        let comes_or_goes = change.within.is_empty() && (change.before.is_none() || change.after.is_none());
        if comes_or_goes && is_in_item { Self::WholeItem } else { Self::Identity }
    }
}

impl Subject<'_> {
    /// Whether a field has the same value on both sides once defaults are filled in.
    pub(super) fn has_same_value(&self, path: &Path, by: Match) -> bool {
        let was = match by {
            Match::Place => Cow::Borrowed(path),
            Match::Identity => match place_before(path, (self.old, self.new)) {
                Some(was) => Cow::Owned(was),
                None => return false,
            },
            Match::WholeItem => return self.has_same_list(path),
        };
        match (was.get(self.old), path.get(self.new)) {
            // What Go leaves out in a block that both sides have.
            (None, None) => self.as_go && self.has_block_around(&was, path),
            (old, new) => old == new,
        }
    }

    /// Whether the outermost list around a place is the same on both sides.
    fn has_same_list(&self, path: &Path) -> bool {
        let above = path.segments().iter().position(|segment| matches!(segment, Segment::Index(_)));
        let list = above.and_then(|above| path.segments().get(..above)).map(|list| Path::from(list.to_vec()));
        list.is_some_and(|list| list.get(self.old).is_some() && list.get(self.old) == list.get(self.new))
    }

    /// Whether the innermost block around a place that either side has is one of both.
    fn has_block_around(&self, was: &Path, path: &Path) -> bool {
        let block = |path: &Path, length: usize| path.segments().get(..length).map(|head| Path::from(head.to_vec()));
        let around = (0..path.segments().len()).rev();
        let mut sides = around.map(|length| {
            let has = |path: &Path, side: &Value| block(path, length).is_some_and(|block| block.get(side).is_some());
            (has(was, self.old), has(path, self.new))
        });
        sides.find(|(old, new)| *old || *new) == Some((true, true))
    }
}
