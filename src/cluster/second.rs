//! Reads what live Machines and owners point at (`follow`): single objects where they are few, lists where they are many.
//! Every reference ends as an object, a proven absence or an unread.

use std::collections::{BTreeMap, BTreeSet};

use super::call::Caller;
use super::discover::Catalogue;
use super::read::{in_namespace, key, lists, objects_of, place, version_of};
use super::{Online, Progress, WorldRead};
use crate::cluster::follow::{self, CONTROL_PLANE_LABEL};
use crate::cluster::plan::{GroupKind, KindRead, ObjectRead};
use crate::providers::kind_of;

/// Up to so many objects of a kind are read by name; above that the kind is listed.
const BY_NAME: usize = 8;
/// Longest chain of references that is followed: Cluster, class or control plane, template.
const ROUNDS: usize = 3;

/// The second look: what Machines and owners point at.
pub(super) async fn pointed(
    caller: &Caller,
    online: &Online<'_>,
    catalogue: &mut Catalogue,
    outcome: &mut WorldRead,
    progress: &mut Progress<'_>,
) {
    // What is found in one round (a control plane through its Cluster, a class) points at templates in turn.
    let mut done: BTreeSet<ObjectRead> = outcome.plan.objects.iter().cloned().collect();
    for _ in 0..ROUNDS {
        let found = fresh(outcome, &done);
        if found.is_empty() {
            return;
        }
        let kinds = many(outcome, &found);
        let asked = found.iter().map(|read| (read.kind.clone(), version_for(outcome, &read.kind))).collect();
        catalogue.more(caller, &asked).await;
        let missing = lists(caller, online, catalogue, &kinds, outcome, progress).await;
        let mut names = found.clone();
        done.extend(found);
        // A list that failed is doubt about the kind already; thousands of reads by name would not take it away.
        names.retain(|read| !missing.contains(&read.kind));
        names.retain(|read| outcome.world.live.get(&key(read)).is_none());
        names
            .retain(|read| kinds.get(&read.kind).is_none_or(|kind| kind.selector.is_some() || !covered(outcome, read)));
        progress.say(&format!("reading the cluster: {} objects that live ones point at", names.len()));
        // What a list has brought needs no line of its own in the plan.
        outcome.plan.objects.extend(names.iter().cloned());
        for read in &mut names {
            read.version = version_for(outcome, &read.kind);
        }
        let answers = objects_of(caller, catalogue, &names).await;
        for (read, answer) in names.iter().zip(answers) {
            place(outcome, read, answer);
        }
        outcome.plan.kinds.extend(kinds);
    }
}

/// The version in which a kind is read: as the chart has its group, or as it is stored where an older version shows less of it.
fn version_for(outcome: &WorldRead, kind: &GroupKind) -> Option<String> {
    (!kind_of(&kind.group, &kind.kind).is_read_as_stored).then(|| version_of(outcome, &kind.group)).flatten()
}

/// What is pointed at and was not asked for yet.
fn fresh(outcome: &WorldRead, done: &BTreeSet<ObjectRead>) -> Vec<ObjectRead> {
    let mut found = follow::pointed(&outcome.world.live);
    found.retain(|read| !done.contains(read));
    found.retain(|read| outcome.world.live.get(&key(read)).is_none() && !covered(outcome, read));
    found.into_iter().collect()
}

/// Whether a list has answered, or was refused, for the kind and namespace of a read.
fn covered(outcome: &WorldRead, read: &ObjectRead) -> bool {
    let Some(namespace) = &read.namespace else { return false };
    let tried = outcome.plan.kinds.get(&read.kind).is_some_and(|kind| kind.selector.is_none());
    let inside = outcome.plan.scope.namespaces().is_some_and(|all| all.contains(namespace));
    (tried && inside)
        || outcome.versions.contains_key(&read.kind.to_string())
        || outcome.versions.contains_key(&format!("{}{}", read.kind, in_namespace(namespace)))
}

/// The kinds of which so many are pointed at that a list is the smaller read.
fn many(outcome: &WorldRead, found: &[ObjectRead]) -> BTreeMap<GroupKind, KindRead> {
    let mut counts: BTreeMap<&GroupKind, usize> = BTreeMap::new();
    for read in found {
        *counts.entry(&read.kind).or_default() += 1;
    }
    counts.retain(|_, count| *count > BY_NAME);
    let read = |kind: &GroupKind| KindRead {
        version: version_for(outcome, kind),
        // What a Machine of a control plane points at carries its label; what does not is read by name afterwards.
        selector: follow::is_of_machine(kind).then_some(CONTROL_PLANE_LABEL),
        reasons: BTreeSet::from(["live objects point at it".to_owned()]),
        ..KindRead::default()
    };
    counts.into_keys().map(|kind| (kind.clone(), read(kind))).collect()
}
