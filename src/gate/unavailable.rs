//! How many Machines of one cluster would be missing or not ok at one time, over all of its owners that roll together: each strategy
//! alone may be gentle, and together they leave too little.

use std::collections::BTreeMap;

use super::Judged;
use super::health::{Fleet, live_owner};
use crate::impact::Rollout;
use crate::kinds::contract::{self, CONTROL_PLANE, TOPOLOGY_OWNED, UPGRADE_CONCURRENCY};
use crate::kinds::fields::{annotation, label};
use crate::model::{Decision, Effect, Reason};
use crate::report::plural;

/// A hold for each cluster of which more Machines would be missing at one time than the policy allows.
pub(super) fn reasons(judged: &Judged<'_>) -> Vec<Reason> {
    let Some(limit) = judged.policy.gates.max_unavailable else { return Vec::new() };
    let mut clusters: BTreeMap<(Option<&str>, &str), Vec<&Rollout>> = BTreeMap::new();
    for rollout in judged.classified.rollouts.iter().filter(|rollout| rollout.effect == Effect::Rollout) {
        let cluster = (rollout.owner.namespace.as_deref(), rollout.cluster.as_str());
        clusters.entry(cluster).or_default().push(rollout);
    }
    clusters.into_iter().filter_map(|((namespace, _), rollouts)| too_few(judged, namespace, &rollouts, limit)).collect()
}

/// The reason, where the owners that roll leave too few Machines. Whose room is not known counts for none.
fn too_few<'j>(judged: &Judged<'j>, namespace: Option<&str>, rollouts: &[&'j Rollout], limit: u64) -> Option<Reason> {
    let room: u64 = rollouts.iter().filter_map(|rollout| rollout.max_unavailable).sum();
    let first = rollouts.first().filter(|_| room > 0)?;
    let fleet = Fleet::of(judged, first);
    let own = |rollout: &Rollout| fleet.own(&rollout.owner).map_or(0, |group| group.ailing() as u64);
    // A strategy takes those that are not ok first, and counts them.
    let missing = |rollout: &&'j Rollout| (*rollout, rollout.max_unavailable.unwrap_or(0).max(own(rollout)));
    let mut below: Vec<(&Rollout, u64)> = rollouts.iter().map(missing).collect();
    if let Some(groups) = turns(judged, namespace, rollouts) {
        below = at_once(below, groups);
    }
    below.retain(|(_, count)| *count > 0);
    let counted: u64 = below.iter().map(|(rollout, _)| own(rollout)).sum();
    let ailing = (fleet.ailing() as u64).saturating_sub(counted);
    let count = below.iter().map(|(_, count)| count).sum::<u64>() + ailing;
    let whose =
        below.iter().map(|(rollout, count)| format!("{} {count}", rollout.owner)).collect::<Vec<_>>().join(", ");
    let others = if ailing > 0 { format!(", {ailing} of others not ok already") } else { String::new() };
    let place = namespace.map_or_else(String::new, |namespace| format!("{namespace}/"));
    (count > limit).then(|| {
        let message = format!(
            "cluster {place}{}: up to {} missing at one time ({whose}{others}); the policy allows {limit}",
            first.cluster,
            plural(count, "Machine")
        );
        let next =
            "let fewer owners roll at once, give them maxSurge, or raise gates.maxUnavailable in the policy".to_owned();
        Reason::new("maxUnavailable", Decision::Hold, message).with_next(next).of(&first.owner)
    })
}

/// How many groups of workers roll at once where owners roll in turn: a topology hands a new version to its control plane first, then to
/// so many groups at a time, and nothing else to an owner that waits for it (Cluster API `exp/topology/desiredstate/desired_state.go`).
fn turns(judged: &Judged<'_>, namespace: Option<&str>, rollouts: &[&Rollout]) -> Option<usize> {
    let has_version =
        |rollout: &Rollout| rollout.causes.iter().any(|cause| cause.to_ascii_lowercase().contains("version"));
    let is_of_topology = |rollout: &Rollout| {
        live_owner(judged, &rollout.owner).is_some_and(|owner| label(&owner, TOPOLOGY_OWNED).is_some())
    };
    if !rollouts.iter().all(|rollout| has_version(rollout) && is_of_topology(rollout)) {
        return None;
    }
    let cluster = contract::cluster(namespace, &rollouts.first()?.cluster);
    let told = live_owner(judged, &cluster).and_then(|cluster| annotation(&cluster, UPGRADE_CONCURRENCY)?.parse().ok());
    Some(told.unwrap_or(1))
}

/// The owners that leave the fewest Machines at one time: the control plane, or the largest groups of workers.
fn at_once(below: Vec<(&Rollout, u64)>, groups: usize) -> Vec<(&Rollout, u64)> {
    let (planes, mut workers): (Vec<_>, Vec<_>) =
        below.into_iter().partition(|(rollout, _)| rollout.owner.group == CONTROL_PLANE);
    workers.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    workers.truncate(groups);
    let count = |part: &[(&Rollout, u64)]| part.iter().map(|(_, count)| count).sum::<u64>();
    if count(&planes) >= count(&workers) { planes } else { workers }
}
