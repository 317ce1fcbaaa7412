//! Fewer Machines: a smaller control plane is another quorum, and many workers at once are drained at once.
//! What grows is not asked about.

use std::collections::BTreeMap;

use super::health::live_owner;
use super::{Judged, decision};
use crate::impact::{Rollout, counted};
use crate::kinds::contract::CONTROL_PLANE;
use crate::kinds::fields::number;
use crate::model::{Decision, Effect, Reason};
use crate::object::Key;
use crate::policy::Gates;
use crate::report::plural;

/// Workers of one owner that may go at once where the policy says nothing.
const USUAL: u64 = 3;

/// A reason for each owner that gives up too many Machines, and for each cluster whose groups of workers do so together.
pub(super) fn reasons(judged: &Judged<'_>) -> Vec<Reason> {
    let gates = &judged.policy.gates;
    let answer = decision(gates.scale_in);
    if answer == Decision::Allow {
        return Vec::new();
    }
    let limit = limit(gates);
    let smaller: Vec<Smaller<'_>> =
        counted(&judged.classified.rollouts).filter_map(|rollout| Smaller::of(judged, rollout)).collect();
    let alone = smaller.iter().filter(|one| asks(gates, one.rollout.owner.group == CONTROL_PLANE, one.count));
    let told = alone.map(|one| (one.says(limit), &one.rollout.owner, one.machines()));
    let together = together(&smaller, limit);
    let reason = |(message, owner, machines): (String, &Key, Option<u64>)| {
        let next = match owner.group.as_str() {
            CONTROL_PLANE => "take the change back, or allow it in the policy: gates.scaleIn: warn".to_owned(),
            _ => "take the change back, or allow it in the policy: gates.scaleIn: warn, or a higher gates.maxMachines"
                .to_owned(),
        };
        Reason::new("scaleIn", answer, message).with_remedy(next).of(owner).with_machines(machines)
    };
    told.chain(together).map(reason).collect()
}

/// An owner that gets smaller.
struct Smaller<'j> {
    rollout: &'j Rollout,
    /// How many Machines go and are not replaced; the most there can be where nobody knows.
    count: u64,
}

impl<'j> Smaller<'j> {
    /// Also where the others are replaced by the same write: what goes with a rollout is no less gone.
    fn of(judged: &Judged<'_>, rollout: &'j Rollout) -> Option<Self> {
        let count = match rollout.effect {
            Effect::Scale => rollout.machines.unwrap_or(u64::MAX),
            Effect::Rollout => {
                // A render does not show what a topology made: then those that are replaced are all that is known.
                let before = match live_owner(judged, &rollout.owner) {
                    Some(owner) => number(&owner, "/spec/replicas").unwrap_or(1),
                    None => rollout.machines?,
                };
                before.checked_sub(rollout.replicas?).filter(|fewer| *fewer > 0)?
            }
            _ => return None,
        };
        Some(Self { rollout, count })
    }

    fn machines(&self) -> Option<u64> {
        (self.count < u64::MAX).then_some(self.count)
    }

    fn says(&self, limit: u64) -> String {
        let Rollout { owner, effect, replicas, .. } = self.rollout;
        let count = self.machines().map_or_else(|| "some Machines".to_owned(), |count| plural(count, "Machine"));
        let left =
            replicas.map_or_else(String::new, |left| format!(", {left} {}", if left == 1 { "stays" } else { "stay" }));
        let why = match owner.group.as_str() {
            CONTROL_PLANE => "a smaller control plane may survive fewer failures".to_owned(),
            _ => format!("more than {limit} at once"),
        };
        let beside = if *effect == Effect::Rollout { " beside those that it replaces" } else { "" };
        format!("{owner}: deletes {count}{beside}{left}: {why}")
    }
}

/// The clusters of which several groups of workers get smaller, none of them by too much, and all together by more than that: what is
/// said of them, the first owner, and the Machines.
fn together<'j>(smaller: &[Smaller<'j>], limit: u64) -> Vec<(String, &'j Key, Option<u64>)> {
    let mut clusters: BTreeMap<(Option<&str>, &str), Vec<&Smaller<'j>>> = BTreeMap::new();
    let is_worker = |one: &&Smaller<'j>| one.rollout.owner.group != CONTROL_PLANE && !one.rollout.cluster.is_empty();
    for one in smaller.iter().filter(is_worker) {
        let cluster = (one.rollout.owner.namespace.as_deref(), one.rollout.cluster.as_str());
        clusters.entry(cluster).or_default().push(one);
    }
    let too_many = clusters.into_iter().filter_map(|((namespace, name), owners)| {
        // One that is too much by itself was said.
        if owners.iter().any(|one| one.count > limit) {
            return None;
        }
        let count: u64 = owners.iter().map(|one| one.count).sum();
        let place = namespace.map_or_else(String::new, |namespace| format!("{namespace}/"));
        let each: Vec<String> = owners.iter().map(|one| format!("{} {}", one.rollout.owner.name, one.count)).collect();
        let message =
            format!("cluster {place}{name}: deletes {count} workers ({}): more than {limit} at once", each.join(", "));
        (count > limit).then(|| (message, &owners[0].rollout.owner, Some(count)))
    });
    too_many.collect()
}

/// Whether so many Machines of an owner that go at once are asked about.
pub(super) fn asks(gates: &Gates, of_control_plane: bool, machines: u64) -> bool {
    machines > if of_control_plane { 0 } else { limit(gates) }
}

/// How many workers of one owner may go at once.
fn limit(gates: &Gates) -> u64 {
    gates.max_machines.unwrap_or(USUAL)
}
