//! Fewer Machines: a smaller control plane is another quorum, and many workers at once are drained at once.
//! What grows is not asked about.

use super::{Judged, decision};
use crate::impact::{Rollout, counted};
use crate::kinds::contract::CONTROL_PLANE;
use crate::model::{Decision, Effect, Reason};
use crate::object::Key;
use crate::policy::Gates;
use crate::report::plural;

/// Workers of one owner that may go at once where the policy says nothing.
const USUAL: u64 = 3;

/// A reason for each owner that gives up too many Machines.
pub(super) fn reasons(judged: &Judged<'_>) -> Vec<Reason> {
    let gates = &judged.policy.gates;
    let answer = decision(gates.scale_in);
    if answer == Decision::Allow {
        return Vec::new();
    }
    let limit = limit(gates);
    let is_too_much = |rollout: &&Rollout| {
        rollout.effect == Effect::Scale && asks(gates, &rollout.owner, rollout.machines.unwrap_or(u64::MAX))
    };
    let found = counted(&judged.classified.rollouts).filter(is_too_much);
    found
        .map(|rollout| {
            let count = rollout.machines.map_or_else(|| "some Machines".to_owned(), |count| plural(count, "Machine"));
            let left = rollout
                .replicas
                .map_or_else(String::new, |left| format!(", {left} {}", if left == 1 { "stays" } else { "stay" }));
            let why = match rollout.owner.group.as_str() {
                CONTROL_PLANE => "a smaller control plane is another quorum".to_owned(),
                _ => format!("more than {limit} at once"),
            };
            let message = format!("{}: deletes {count}{left}: {why}", rollout.owner);
            let next = match rollout.owner.group.as_str() {
                CONTROL_PLANE => "set gates.scaleIn: warn in the policy where this is wanted".to_owned(),
                _ => "set gates.scaleIn or gates.maxMachines in the policy where this is wanted".to_owned(),
            };
            Reason::new("scaleIn", answer, message).with_remedy(next).of(&rollout.owner).with_machines(rollout.machines)
        })
        .collect()
}

/// Whether so many Machines of an owner that go at once are asked about.
pub(super) fn asks(gates: &Gates, owner: &Key, machines: u64) -> bool {
    machines > if owner.group == CONTROL_PLANE { 0 } else { limit(gates) }
}

/// How many workers of one owner may go at once.
fn limit(gates: &Gates) -> u64 {
    gates.max_machines.unwrap_or(USUAL)
}
