//! How many Machines of one cluster would be missing or not ok at one time, over all of its owners that roll together: each strategy
//! alone may be gentle, and together they leave too little.

use std::collections::BTreeMap;

use super::Judged;
use super::checks;
use super::health::{Fleet, live_owner};
use crate::compare::Pair;
use crate::hashed::HashMap;
use crate::impact::{self, Rollout};
use crate::kinds::Role;
use crate::kinds::contract::{self, CONTROL_PLANE};
use crate::model::{Decision, Effect, Reason, Together};
use crate::object::Key;
use crate::parallel;
use crate::providers::core::PREFLIGHT;
use crate::providers::kind;
use crate::report::plural;
use crate::tree::Value;

/// A hold for each cluster of which more Machines would be missing at one time than the policy allows.
pub(super) fn reasons(judged: &Judged<'_>) -> Vec<Reason> {
    let Some(limit) = judged.policy.gates.max_unavailable else { return Vec::new() };
    of_clusters(judged, |namespace, sides, rollouts| too_few(judged, (namespace, sides), rollouts, limit))
}

/// What the owners of each cluster come to together, where several roll.
#[must_use]
pub(crate) fn together(judged: &Judged<'_>) -> Vec<Together> {
    let live = |owner: &Key| live_owner(judged, owner);
    let mut all = of_clusters(judged, |_, sides, rollouts| impact::together(&live, &sides, rollouts));
    // Nothing keeps MachineSets from making Machines where the checks are known to be off.
    if judged.world.feature_gates.get(PREFLIGHT) == Some(&false) {
        all.iter_mut().for_each(|one| one.waits.clear());
    }
    all
}

/// Asks something of each cluster of which Machines are replaced: its namespace, the Cluster before and after the write, its rollouts.
fn of_clusters<'j, T: Send>(
    judged: &'j Judged<'_>,
    ask: impl Fn(Option<&'j str>, [Option<Value>; 2], &[&'j Rollout]) -> Option<T> + Sync,
) -> Vec<T> {
    let mut clusters: BTreeMap<(Option<&str>, &str), Vec<&Rollout>> = BTreeMap::new();
    for rollout in judged.classified.rollouts.iter().filter(|rollout| rollout.effect == Effect::Rollout) {
        let cluster = (rollout.owner.namespace.as_deref(), rollout.cluster.as_str());
        clusters.entry(cluster).or_default().push(rollout);
    }
    let mut written: HashMap<&str, Vec<&Pair>> = HashMap::default();
    for pair in judged.pairs.iter().filter(|pair| kind(&pair.key).role == Role::Cluster) {
        written.entry(&pair.key.name).or_default().push(pair);
    }
    let clusters: Vec<_> = clusters.into_iter().collect();
    let one = |((namespace, name), rollouts): &((Option<&'j str>, &str), Vec<&'j Rollout>)| {
        let (namespace, name) = (*namespace, *name);
        let is_it = |pair: &&&Pair| pair.key.namespace.as_deref() == namespace || pair.key.namespace.is_none();
        let pair = written.get(name).and_then(|pairs| pairs.iter().find(is_it)).copied();
        let live = || live_owner(judged, &contract::cluster(namespace, name));
        let sides = pair.map_or_else(|| [live(), live()], |pair| [pair.live.clone(), pair.predicted.clone()]);
        ask(namespace, sides, rollouts)
    };
    parallel::map(&clusters, one).into_iter().flatten().collect()
}

/// The reason, where the owners that roll leave too few Machines.
fn too_few(
    judged: &Judged<'_>,
    (namespace, sides): (Option<&str>, [Option<Value>; 2]),
    rollouts: &[&Rollout],
    limit: u64,
) -> Option<Reason> {
    let first = rollouts.first().filter(|_| rollouts.iter().any(|rollout| room(rollout) > 0))?;
    let fleet = Fleet::of(judged, first);
    let ails = |owner: &Key| fleet.ailing_of(owner);
    // A strategy takes those that are not ok or not there first, and counts them.
    let mut missing: BTreeMap<&Key, u64> = BTreeMap::new();
    for rollout in rollouts {
        let count = missing.entry(&rollout.owner).or_default();
        *count = (*count).max(room(rollout)).max(ails(&rollout.owner));
    }
    let beside = beside(judged, first);
    for rollout in &beside {
        missing.entry(&rollout.owner).or_insert_with(|| room(rollout).max(ails(&rollout.owner)));
    }
    let live = |owner: &Key| live_owner(judged, owner);
    let mut below = impact::at_once(&live, &sides, missing);
    below.retain(|(_, count)| *count > 0);
    let counted: u64 = below.iter().map(|(owner, _)| ails(owner)).sum();
    let sick = checks::unhealthy(judged, first);
    let ailing = fleet.ailing().max(sick).saturating_sub(counted);
    let count = below.iter().map(|(_, count)| count).sum::<u64>() + ailing;
    let guessed = |owner: &Key| rollouts.iter().any(|rollout| rollout.owner == *owner && is_guessed(rollout));
    let doubt = |owner: &Key| match () {
        () if guessed(owner) => " at most, strategy unknown",
        () if beside.iter().any(|rollout| rollout.owner == *owner) => " that rolls already",
        () => "",
    };
    let whose = below.iter().map(|(owner, count)| format!("{owner} {count}{}", doubt(owner)));
    let whose = whose.collect::<Vec<_>>().join(", ");
    let others = if ailing > 0 { format!("; {ailing} more already unhealthy or missing") } else { String::new() };
    let place = namespace.map_or_else(String::new, |namespace| format!("{namespace}/"));
    (count > limit).then(|| {
        let message = format!(
            "cluster {place}{} may miss {} at one time ({whose}{others}); the policy allows {limit}",
            first.cluster,
            plural(count, "Machine")
        );
        let next =
            "let fewer owners roll at once, give them maxSurge, or raise gates.maxUnavailable in the policy".to_owned();
        Reason::new("maxUnavailable", Decision::Hold, message).with_remedy(next).of(&first.owner)
    })
}

/// The owners of the cluster of a rollout that roll already, whatever is written.
fn beside<'j>(judged: &Judged<'j>, first: &Rollout) -> Vec<&'j Rollout> {
    let of = |rollout: &Rollout| (rollout.owner.namespace.clone(), rollout.cluster.clone());
    let rolls = |owner: &Key| judged.classified.rollouts.iter().any(|rollout| rollout.owner == *owner);
    let others = judged.classified.beside.iter().map(std::convert::AsRef::as_ref);
    others.filter(|rollout: &&Rollout| of(rollout) == of(first) && !rolls(&rollout.owner)).collect()
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
