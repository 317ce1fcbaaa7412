//! Machines that are deleted and hang: the controller of Machines does nothing for a paused one, nor in a paused Cluster, nor for one
//! that a label leaves to others, and waits for the drain, for volumes and for each hook that an annotation names
//! (`core/reconcilers/machine/machine_controller.go` Reconcile, reconcileDelete, isNodeDrainAllowed of Cluster API 1.14).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::lifted::Lifted;
use super::machines::{self, KnownMachine};
use super::pause::{self, annotation_path};
use super::side::Side;
use crate::judge::stage::Stage;
use crate::kinds::contract::{CORE, MACHINE, MACHINE_DRAIN_RULE};
use crate::kinds::fields::number;
use crate::model::Rollout;
use crate::model::RuleId;
use crate::model::{Action, Effect, Pair};
use crate::object::{Key, Path};
use crate::tree::Value;

/// How the annotations start that keep a deleted Machine from being drained, and from being destroyed
/// (`api/core/v1beta2/machine_types.go`).
const HOOKS: [&str; 2] =
    ["pre-drain.delete.hook.machine.cluster.x-k8s.io", "pre-terminate.delete.hook.machine.cluster.x-k8s.io"];

/// The annotations by which a deleted Machine does not wait for its drain, or for its volumes.
const WAITS_NOT: [&str; 2] =
    ["machine.cluster.x-k8s.io/exclude-node-draining", "machine.cluster.x-k8s.io/exclude-wait-for-node-volume-detach"];

/// How long a deleted Machine waits for its drain, and for its volumes.
const TIMES: [&str; 2] = ["nodeDrainTimeoutSeconds", "nodeVolumeDetachTimeoutSeconds"];

/// Machines of a cluster that were deleted already, and whose deletion goes on with this write.
pub(super) fn lifted(stage: &Stage<'_>, cluster: &Key) -> Vec<Lifted> {
    let [before, after] = Side::both(stage).map(|side| going(side, cluster));
    let mut owners: BTreeMap<Key, Vec<&KnownMachine>> = BTreeMap::new();
    // Hooks that stay are those of controllers, which take them away by themselves.
    let is_same = |was: &KnownMachine, is: &KnownMachine| {
        named(was, &HOOKS).is_subset(&named(is, &HOOKS)) && named(is, &WAITS_NOT).is_subset(&named(was, &WAITS_NOT))
    };
    let rules: Vec<&Key> = rules(stage, cluster).collect();
    let waits_less = |found: &KnownMachine| {
        let has_node = found.value.pointer("/status/nodeRef/name").is_some();
        has_node && (!rules.is_empty() || waits_less(stage, cluster, found))
    };
    let went_on = |found: &KnownMachine| {
        before.iter().any(|was| was.name == found.name && is_same(was, found)) && !waits_less(found)
    };
    for found in after.iter().filter(|found| !went_on(found)) {
        owners.entry(found.owner.clone().unwrap_or_else(|| key_of(cluster, found))).or_default().push(found);
    }
    let hooks = before.iter().flat_map(|found| named(found, &HOOKS));
    let known: BTreeSet<&str> = hooks.chain(after.iter().flat_map(|found| named(found, &WAITS_NOT))).collect();
    let told = |(owner, found): (Key, Vec<&KnownMachine>)| {
        let mut lifted = of_owner(cluster, owner, &found, &known);
        lifted.places.extend(rules.iter().map(|rule| ((*rule).clone(), None)));
        lifted
    };
    owners.into_iter().map(told).collect()
}

/// The rules of the cluster's namespace that the write changes and that say which Pods a drain waits for.
fn rules<'s>(stage: &'s Stage<'_>, cluster: &Key) -> impl Iterator<Item = &'s Key> {
    let is_one = |pair: &&Pair| {
        pair.key.namespace == cluster.namespace
            && pair.action != Action::Unchanged
            && (pair.action != Action::Update || !pair.changes.is_empty())
    };
    stage.pairs_of_kind(MACHINE_DRAIN_RULE).filter(is_one).map(|pair| &pair.key)
}

/// Whether the write lets a Machine wait less for its drain or its volumes; no time at all is for ever.
fn waits_less(stage: &Stage<'_>, cluster: &Key, found: &KnownMachine) -> bool {
    let less = |key: &Key, at: &str| {
        let [before, after] = Side::both(stage).map(|side| side.get(key));
        TIMES.iter().any(|name| {
            let time = |side: &Option<Arc<Value>>| {
                number(side.as_ref()?, &format!("{at}/{name}")).filter(|seconds| *seconds > 0)
            };
            time(&after).is_some_and(|after| time(&before).is_none_or(|before| after < before))
        })
    };
    less(&key_of(cluster, found), "/spec/deletion")
        || found.owner.as_ref().is_some_and(|owner| less(owner, &format!("/spec/{}/spec/deletion", template(owner))))
}

/// The part of an owner that its Machines are made from.
fn template(owner: &Key) -> &'static str {
    if owner.group == CORE { "template" } else { "machineTemplate" }
}

/// The annotations of a Machine that start with one of these names.
fn named<'f>(found: &'f KnownMachine, starts: &[&str]) -> BTreeSet<&'f str> {
    let annotations = found.value.pointer("/metadata/annotations").and_then(Value::as_object);
    let names = annotations.into_iter().flatten().map(|(name, _)| name.as_str());
    names.filter(|name| starts.iter().any(|start| name.starts_with(start))).collect()
}

/// The Machines whose deletion nothing holds back.
fn going(side: Side<'_>, cluster: &Key) -> Vec<KnownMachine> {
    if !machines::may_be_deleting(side, cluster) {
        return Vec::new();
    }
    let is_paused = side.cluster(cluster).is_some_and(|cluster| pause::is_paused_cluster(&cluster));
    let mut found = machines::of_cluster(side, cluster);
    let is_left = |found: &KnownMachine| {
        pause::is_annotated(&found.value) || pause::left_alone(side, &key_of(cluster, found), &found.value).is_some()
    };
    found.retain(|found| !is_paused && found.is_deleting() && !is_left(found));
    found
}

/// The key of a Machine.
fn key_of(cluster: &Key, found: &KnownMachine) -> Key {
    cluster.sibling(MACHINE, found.name.as_str())
}

/// The deletions of one owner's Machines.
fn of_owner(cluster: &Key, owner: Key, found: &[&KnownMachine], hooks: &BTreeSet<&str>) -> Lifted {
    let names = machines::names(found);
    let (count, noun) = (names.len() as u64, if names.len() == 1 { "Machine" } else { "Machines" });
    let mut places = vec![(cluster.clone(), Some(Path::root().key("spec").key("paused")))];
    places.extend(found.iter().map(|found| (key_of(cluster, found), Some(pause::filter_path()))));
    let times = |path: Path| TIMES.map(|name| Some(path.clone().key("deletion").key(name)));
    let handed = times(Path::root().key("spec").key(template(&owner)).key("spec"));
    places.extend(handed.into_iter().map(|path| (owner.clone(), path)));
    for found in found {
        let own = times(Path::root().key("spec"));
        places.extend(own.into_iter().map(|path| (key_of(cluster, found), path)));
    }
    for name in hooks.iter().copied().chain([pause::ANNOTATION]) {
        let handed = |key: &str| Path::root().key("spec").key(key).key("metadata").key("annotations").key(name);
        places.extend(["template", "machineTemplate"].map(|key| (owner.clone(), Some(handed(key)))));
        places.extend(found.iter().map(|found| (key_of(cluster, found), Some(annotation_path(name)))));
    }
    Lifted {
        effect: Effect::Rollout,
        waits: None,
        rule: RuleId::of("waiting/deletion"),
        because: format!("the blocked deletion of {count} {noun} continues ({})", names.join(", ")),
        places,
        rollouts: vec![Rollout {
            steps: vec![format!("drains and deletes {count} {noun} whose deletion was asked for before")],
            causes: vec!["metadata.deletionTimestamp".to_owned()],
            ..Rollout::plain(&owner, &cluster.name, Effect::Rollout, names, count)
        }],
        owner,
    }
}
