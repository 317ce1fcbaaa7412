//! From reasons to one decision and one exit code. Hold outweighs undecided: what is known to be bad is said first,
//! and neither is ever an allow.

use crate::exit::Exit;
use crate::model::Decision;
use crate::model::Reason;

/// The decision of a run: hold if any reason holds, else undecided if any doubts, else allow.
#[must_use]
pub fn decide(reasons: &[Reason]) -> Decision {
    let any = |decision: Decision| reasons.iter().any(|reason| reason.decision == decision);
    if any(Decision::Hold) {
        Decision::Hold
    } else if any(Decision::Undecided) {
        Decision::Undecided
    } else {
        Decision::Allow
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
