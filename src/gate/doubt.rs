//! What could not be read makes the verdict undecided; it never counts as absent.

use super::Judged;
use crate::model::Decision;
use crate::model::Reason;
use crate::world::Unread;

/// A reason for each thing that was needed and could not be read.
pub(super) fn reasons(judged: &Judged<'_>) -> Vec<Reason> {
    judged.world.unread.iter().chain(judged.doubts).map(reason).collect()
}

fn reason(unread: &Unread) -> Reason {
    let next = Some(unread.remedy.clone()).filter(|remedy| !remedy.is_empty());
    let reason = Reason::new("read", Decision::Undecided, format!("{}: {}", unread.what, unread.why)).with_next(next);
    match unread.keys.as_slice() {
        [only] => reason.of(only),
        _ => reason,
    }
}
