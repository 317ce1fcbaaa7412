//! What could not be read makes the verdict undecided; it never counts as absent.

use super::Judged;
use crate::model::Decision;
use crate::model::Reason;
use crate::report::plural;
use crate::world::{Unread, rights};

/// A reason for each thing that was needed and could not be read; one for all rights that one binding grants.
pub(super) fn reasons(judged: &Judged<'_>) -> Vec<Reason> {
    let owners = super::unread_owners::of(judged);
    let all = judged.world.unread.iter().chain(judged.doubts).chain(&owners);
    let (bound, others): (Vec<&Unread>, Vec<&Unread>) = all.partition(|unread| rights::is_in_read_role(&unread.remedy));
    match bound.as_slice() {
        [] | [_] => bound.into_iter().chain(others).map(reason).collect(),
        [first, ..] => std::iter::once(rights_missing(first, &bound)).chain(others.into_iter().map(reason)).collect(),
    }
}

/// Several reads that are forbidden, and the one binding that allows them.
fn rights_missing(first: &Unread, all: &[&Unread]) -> Reason {
    let what: Vec<&str> = all.iter().map(|unread| unread.what.as_str()).collect();
    let message = format!(
        "{} that are needed are forbidden, so nothing is known of them: {} ({})",
        plural(all.len() as u64, "read"),
        what.join(", "),
        first.why
    );
    let remedy = format!("bind the role {} of docs/rbac.yaml", rights::READ_ROLE);
    Reason::new("read", Decision::Undecided, message).with_remedy(remedy).with_next(rights::binding(&first.why))
}

fn reason(unread: &Unread) -> Reason {
    let reason = Reason::new("read", Decision::Undecided, format!("{}: {}", unread.what, unread.why));
    let reason = reason.with_advice(&unread.remedy);
    match unread.keys.as_slice() {
        [only] => reason.of(only),
        _ => reason,
    }
}
