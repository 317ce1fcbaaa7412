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
    Reason {
        gate: "read".to_owned(),
        decision: Decision::Undecided,
        message: format!("{}: {}", unread.what, unread.why),
        next: Some(unread.remedy.clone()).filter(|remedy| !remedy.is_empty()),
    }
}
