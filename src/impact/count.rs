//! Counting Machines over a whole write: what goes with its Cluster is counted there, and not once more at its owner.

use std::borrow::Borrow;

use crate::hashed::HashSet;
use crate::kinds::Role;
use crate::model::{Effect, Rollout};
use crate::providers::kind;

/// The entries in which each Machine stands once: what a Cluster that is deleted takes with it is in its own count.
pub(crate) fn counted<R: Borrow<Rollout>>(rollouts: &[R]) -> impl Iterator<Item = &Rollout> {
    let all = rollouts.iter().map(Borrow::borrow);
    let gone: HashSet<(Option<&str>, &str)> = all
        .clone()
        .filter(|rollout| rollout.effect == Effect::Delete && is_cluster(rollout))
        .map(|rollout| (rollout.owner.namespace.as_deref(), rollout.owner.name.as_str()))
        .collect();
    all.filter(move |rollout: &&Rollout| {
        let cluster = (rollout.owner.namespace.as_deref(), rollout.cluster.as_str());
        is_cluster(rollout) || !gone.contains(&cluster)
    })
}

/// Whether it is the entry of a whole Cluster.
fn is_cluster(rollout: &Rollout) -> bool {
    kind(&rollout.owner).role == Role::Cluster
}
