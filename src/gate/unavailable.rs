//! How many Machines of one cluster would be missing or not ok at one time, over all of its owners that roll together: each strategy
//! alone may be gentle, and together they leave too little.

use std::collections::{BTreeMap, HashMap};

use serde_json::Value;

use super::Judged;
use super::health::{Fleet, live_owner};
use crate::compare::Pair;
use crate::impact::Rollout;
use crate::kinds::Role;
use crate::kinds::contract::{self, CONTROL_PLANE, TOPOLOGY_OWNED, UPGRADE_CONCURRENCY};
use crate::kinds::fields::{annotation, label, text};
use crate::model::{Decision, Effect, Reason};
use crate::object::Key;
use crate::providers::kind;
use crate::report::plural;

/// A hold for each cluster of which more Machines would be missing at one time than the policy allows.
pub(super) fn reasons(judged: &Judged<'_>) -> Vec<Reason> {
    let Some(limit) = judged.policy.gates.max_unavailable else { return Vec::new() };
    let mut clusters: BTreeMap<(Option<&str>, &str), Vec<&Rollout>> = BTreeMap::new();
    for rollout in judged.classified.rollouts.iter().filter(|rollout| rollout.effect == Effect::Rollout) {
        let cluster = (rollout.owner.namespace.as_deref(), rollout.cluster.as_str());
        clusters.entry(cluster).or_default().push(rollout);
    }
    let mut written: HashMap<&str, Vec<&Pair>> = HashMap::new();
    for pair in judged.pairs.iter().filter(|pair| kind(&pair.key).role == Role::Cluster) {
        written.entry(&pair.key.name).or_default().push(pair);
    }
    let ask = |(namespace, name), rollouts: Vec<&Rollout>| {
        let is_it = |pair: &&&Pair| pair.key.namespace.as_deref() == namespace || pair.key.namespace.is_none();
        let pair = written.get(name).and_then(|pairs| pairs.iter().find(is_it)).copied();
        too_few(judged, (namespace, pair), &rollouts, limit)
    };
    clusters.into_iter().filter_map(|(cluster, rollouts)| ask(cluster, rollouts)).collect()
}

/// The reason, where the owners that roll leave too few Machines.
fn too_few(
    judged: &Judged<'_>,
    (namespace, cluster): (Option<&str>, Option<&Pair>),
    rollouts: &[&Rollout],
    limit: u64,
) -> Option<Reason> {
    let first = rollouts.first().filter(|_| rollouts.iter().any(|rollout| room(rollout) > 0))?;
    let fleet = Fleet::of(judged, first);
    let ails = |owner: &Key| fleet.own(owner).map_or(0, |group| group.ailing() as u64);
    // A strategy takes those that are not ok first, and counts them.
    let mut missing: BTreeMap<&Key, u64> = BTreeMap::new();
    for rollout in rollouts {
        let count = missing.entry(&rollout.owner).or_default();
        *count = (*count).max(room(rollout)).max(ails(&rollout.owner));
    }
    let live = || live_owner(judged, &contract::cluster(namespace, &first.cluster));
    let sides = cluster.map_or_else(|| [live(), live()], |pair| [pair.live.clone(), pair.predicted.clone()]);
    let mut below = at_once(judged, &sides, missing);
    below.retain(|(_, count)| *count > 0);
    let counted: u64 = below.iter().map(|(owner, _)| ails(owner)).sum();
    let ailing = (fleet.ailing() as u64).saturating_sub(counted);
    let count = below.iter().map(|(_, count)| count).sum::<u64>() + ailing;
    let guessed = |owner: &Key| rollouts.iter().any(|rollout| rollout.owner == *owner && is_guessed(rollout));
    let doubt = |owner: &Key| if guessed(owner) { " at most, its strategy is not known" } else { "" };
    let whose = below.iter().map(|(owner, count)| format!("{owner} {count}{}", doubt(owner)));
    let whose = whose.collect::<Vec<_>>().join(", ");
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

/// How many Machines an owner lets go missing. Where only its provider knows: one of a control plane, all of a group of workers.
fn room(rollout: &Rollout) -> u64 {
    let all = rollout.machines.unwrap_or(1);
    let most = if rollout.owner.group == CONTROL_PLANE { all.min(1) } else { all };
    rollout.max_unavailable.unwrap_or(if is_guessed(rollout) { most } else { 0 })
}

/// Whether nobody here knows the strategy of an owner. What is remediated or hangs in its deletion has none, and counts as not ok.
fn is_guessed(rollout: &Rollout) -> bool {
    let owner = kind(&rollout.owner);
    let is_known = owner.mirror.is_some() && rollout.machines.is_some();
    rollout.max_unavailable.is_none() && owner.role.owns_machines() && !is_known
}

/// The owners that leave the fewest Machines at one time. A topology hands a new version to its control plane first, then to so many
/// groups of workers at a time, and nothing else to an owner that waits for it (Cluster API
/// `exp/topology/desiredstate/desired_state.go`).
fn at_once<'r>(
    judged: &Judged<'_>,
    [was, is]: &[Option<Value>; 2],
    missing: BTreeMap<&'r Key, u64>,
) -> Vec<(&'r Key, u64)> {
    let version = |side: &Option<Value>| text(side.as_ref()?, "/spec/topology/version").map(str::to_owned);
    let (had, wanted) = (version(was), version(is));
    let waits = |owner: &Key| {
        let Some(live) = live_owner(judged, owner) else { return wanted.is_some() && had != wanted };
        let version = text(&live, "/spec/version").or_else(|| text(&live, "/spec/template/spec/version"));
        label(&live, TOPOLOGY_OWNED).is_some() && wanted.is_some() && version != wanted.as_deref()
    };
    let (waiting, mut out): (Vec<_>, Vec<_>) = missing.into_iter().partition(|(owner, _)| waits(owner));
    let (planes, mut workers): (Vec<_>, Vec<_>) =
        waiting.into_iter().partition(|(owner, _)| owner.group == CONTROL_PLANE);
    let told = is.as_ref().and_then(|cluster| annotation(cluster, UPGRADE_CONCURRENCY)?.parse().ok());
    workers.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    workers.truncate(told.unwrap_or(1));
    let count = |part: &[(&Key, u64)]| part.iter().map(|(_, count)| count).sum::<u64>();
    out.extend(if count(&planes) >= count(&workers) { planes } else { workers });
    out
}
