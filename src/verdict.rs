//! From reasons to one decision and one exit code: the weightiest reason decides, and a warning alone is an allow.

use crate::exit::Exit;
use crate::model::Decision;
use crate::model::Reason;

/// The decision of a run: that of its weightiest reason.
#[must_use]
pub(crate) fn decide(reasons: &[Reason]) -> Decision {
    match reasons.iter().map(|reason| reason.decision).max() {
        None | Some(Decision::Warn) => Decision::Allow,
        Some(decision) => decision,
    }
}

/// The exit code of a decision.
#[must_use]
pub const fn exit(decision: Decision) -> Exit {
    match decision {
        Decision::Allow | Decision::Warn => Exit::Allow,
        Decision::Hold => Exit::Hold,
        Decision::Undecided => Exit::Undecided,
    }
}
