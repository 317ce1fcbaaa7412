//! The budget: how many Machines one run may replace or take away.

use super::Judged;
use crate::compare::Pair;
use crate::impact::counted;
use crate::kinds::Role;
use crate::model::Reason;
use crate::model::{Decision, Effect};
use crate::providers::kind;
use crate::report::plural;

/// A hold when more Machines go than the policy allows, or when their number is not known.
pub(super) fn reasons(judged: &Judged<'_>) -> Vec<Reason> {
    let Some(limit) = judged.policy.gates.max_machines else { return Vec::new() };
    let weights = &judged.classified.rollouts;
    let counts = counted(weights).map(|rollout| rollout.machines);
    let (mut known, mut unknown) = (0, 0);
    for count in counts {
        match count {
            Some(machines) => known += machines,
            None => unknown += 1,
        }
    }
    // A topology's groups are weighed as the owners that they become.
    let is_weighed =
        |pair: &Pair| kind(&pair.key).role == Role::Cluster || weights.iter().any(|rollout| rollout.owner == pair.key);
    known += judged.pairs.iter().filter(|pair| !is_weighed(pair)).map(scaled_in).sum::<u64>();
    if known <= limit && unknown == 0 {
        return Vec::new();
    }
    let more = if unknown > 0 { format!(", and {unknown} of unknown size") } else { String::new() };
    let message = format!("{} would be replaced or removed{more}; the policy allows {limit}", plural(known, "Machine"));
    let next = "split the change, or raise gates.maxMachines in the policy".to_owned();
    vec![Reason::new("maxMachines", Decision::Hold, message).with_next(next).with_machines(Some(known))]
}

/// Machines that a smaller `replicas` of an owner without a weight takes away.
fn scaled_in(pair: &Pair) -> u64 {
    let number = |value: &Option<serde_json::Value>| value.as_ref().and_then(serde_json::Value::as_u64);
    pair.changes
        .iter()
        .filter(|change| change.effect == Effect::Scale)
        .filter_map(|change| Some(number(&change.before)?.saturating_sub(number(&change.after)?)))
        .sum()
}
