//! Machines that are deleted and hang: the controller of Machines does nothing for a paused one, nor in a paused Cluster, nor for one
//! that a label leaves to others, and waits for the drain, for volumes and for each hook that an annotation names
//! (`core/reconcilers/machine/machine_controller.go` Reconcile, reconcileDelete, isNodeDrainAllowed of Cluster API 1.14).

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::lifted::Lifted;
use super::machines::{self, Found};
use super::pause::{self, annotation_path};
use super::side::Side;
use crate::judge::stage::Stage;
use crate::kinds::contract::MACHINE;
use crate::model::Effect;
use crate::model::Rollout;
use crate::model::RuleId;
use crate::object::{Key, Path};

/// How the annotations start that keep a deleted Machine from being drained, and from being destroyed
/// (`api/core/v1beta2/machine_types.go`).
const HOOKS: [&str; 2] =
    ["pre-drain.delete.hook.machine.cluster.x-k8s.io", "pre-terminate.delete.hook.machine.cluster.x-k8s.io"];

/// The annotations by which a deleted Machine does not wait for its drain, or for its volumes.
const WAITS_NOT: [&str; 2] =
    ["machine.cluster.x-k8s.io/exclude-node-draining", "machine.cluster.x-k8s.io/exclude-wait-for-node-volume-detach"];

/// Machines of a cluster that were deleted already, and whose deletion goes on with this write.
pub(super) fn lifted(stage: &Stage<'_>, cluster: &Key) -> Vec<Lifted> {
    let [before, after] = Side::both(stage).map(|side| going(side, cluster));
    let mut owners: BTreeMap<Key, Vec<&Found>> = BTreeMap::new();
    // Hooks that stay are those of controllers, which take them away by themselves.
    let is_same = |was: &Found, is: &Found| {
        named(was, &HOOKS).is_subset(&named(is, &HOOKS)) && named(is, &WAITS_NOT).is_subset(&named(was, &WAITS_NOT))
    };
    let went_on = |found: &Found| before.iter().any(|was| was.name == found.name && is_same(was, found));
    for found in after.iter().filter(|found| !went_on(found)) {
        owners.entry(found.owner.clone().unwrap_or_else(|| key_of(cluster, found))).or_default().push(found);
    }
    let hooks = before.iter().flat_map(|found| named(found, &HOOKS));
    let known: BTreeSet<&str> = hooks.chain(after.iter().flat_map(|found| named(found, &WAITS_NOT))).collect();
    owners.into_iter().map(|(owner, found)| of_owner(cluster, owner, &found, &known)).collect()
}

/// The annotations of a Machine that start with one of these names.
fn named<'f>(found: &'f Found, starts: &[&str]) -> BTreeSet<&'f str> {
    let annotations = found.value.pointer("/metadata/annotations").and_then(Value::as_object);
    let names = annotations.into_iter().flatten().map(|(name, _)| name.as_str());
    names.filter(|name| starts.iter().any(|start| name.starts_with(start))).collect()
}

/// The Machines whose deletion nothing holds back.
fn going(side: Side<'_>, cluster: &Key) -> Vec<Found> {
    let is_paused = side.cluster(cluster).is_some_and(|cluster| pause::is_paused_cluster(&cluster));
    let mut found = machines::of_cluster(side, cluster);
    let is_left = |found: &Found| {
        pause::is_annotated(&found.value) || pause::left_alone(side, &key_of(cluster, found), &found.value).is_some()
    };
    found.retain(|found| !is_paused && found.is_deleting() && !is_left(found));
    found
}

/// The key of a Machine.
fn key_of(cluster: &Key, found: &Found) -> Key {
    Key { kind: MACHINE.to_owned(), name: found.name.clone(), ..cluster.clone() }
}

/// The deletions of one owner's Machines.
fn of_owner(cluster: &Key, owner: Key, found: &[&Found], hooks: &BTreeSet<&str>) -> Lifted {
    let names = machines::names(found);
    let (count, noun) = (names.len() as u64, if names.len() == 1 { "Machine" } else { "Machines" });
    let mut places = vec![(cluster.clone(), Some(Path::root().key("spec").key("paused")))];
    places.extend(found.iter().map(|found| (key_of(cluster, found), Some(pause::filter_path()))));
    for name in hooks.iter().copied().chain([pause::ANNOTATION]) {
        let handed = |key: &str| Path::root().key("spec").key(key).key("metadata").key("annotations").key(name);
        places.extend(["template", "machineTemplate"].map(|key| (owner.clone(), Some(handed(key)))));
        places.extend(found.iter().map(|found| (key_of(cluster, found), Some(annotation_path(name)))));
    }
    Lifted {
        effect: Effect::Rollout,
        waits: None,
        rule: RuleId::of("waiting/deletion"),
        because: format!("the deletion of {count} {noun} that something held back goes on ({})", names.join(", ")),
        places,
        rollouts: vec![Rollout {
            steps: vec![format!("drains and deletes {count} {noun} whose deletion was asked for before")],
            causes: vec!["metadata.deletionTimestamp".to_owned()],
            ..Rollout::plain(&owner, &cluster.name, Effect::Rollout, names, count)
        }],
        owner,
    }
}
