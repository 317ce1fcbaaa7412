//! Whose turn it is in an upgrade of a topology. A group may defer its own; so many groups of workers are upgraded at once, and one whose
//! Machines go only when somebody deletes them never comes to an end by itself: those behind it wait, and so does the control plane.
//! Read beside `exp/topology/scope/upgradetracker.go` (UpgradeConcurrencyReached), `exp/topology/desiredstate/desired_state.go`
//! (computeControlPlaneVersion, computeMachineDeploymentVersion) and `internal/topology/check/upgrade.go` of Cluster API 1.14.

use std::collections::HashSet;

use super::values::list;
use super::weight::owner;
use crate::judge::waiting::side::Side;
use crate::kinds::contract::{CORE, MACHINE, UPGRADE_CONCURRENCY};
use crate::kinds::fields::{annotation, text};
use crate::object::{Key, Path, is_deleting};
use crate::providers::{machines, typed};
use crate::tree::Value;

/// Annotations of a group that keep its version as it is; the second one holds those behind it, too.
const DEFER: &str = "topology.cluster.x-k8s.io/defer-upgrade";
const HOLD: &str = "topology.cluster.x-k8s.io/hold-upgrade-sequence";
/// What a group of MachineDeployments or the control plane of a Cluster waits for before it gets its version, as a clause with the field that
/// says so; `None` where it gets its turn.
pub(super) fn turn(side: Side<'_>, key: &Key, cluster: &Value, (word, name): (&str, &str)) -> Option<(String, Path)> {
    let groups: Vec<&Value> = list(cluster, "/spec/topology/workers/machineDeployments").collect();
    let own = groups.iter().position(|group| text(group, "/name") == Some(name));
    let (limit, own) = match (word, own) {
        // It waits for all workers.
        ("controlPlane", _) => (1, 0),
        ("machineDeployment", Some(own)) => {
            (annotation(cluster, UPGRADE_CONCURRENCY).and_then(|many| many.parse().ok()).unwrap_or(1), own)
        }
        _ => return None,
    };
    let others = groups.iter().enumerate().filter(|(place, _)| word == "controlPlane" || *place != own);
    let is_ahead = |place: usize| place < own && deferred(&groups, "machineDeployments", place).is_none();
    let mut stuck = others.filter(|(place, group)| is_stuck(side, key, cluster, group, is_ahead(*place)));
    let (place, group) = stuck.nth(usize::checked_sub(limit, 1)?)?;
    let path = Path::root().key("spec").key("topology").key("workers").key("machineDeployments").index(place);
    let name = text(group, "/name").unwrap_or_default();
    Some((
        format!("the workers {name} no longer wait for somebody who deletes their Machines (OnDelete)"),
        path.key("rollout").key("strategy"),
    ))
}

/// Whether a group is being upgraded, or will be where it is `ahead` of who asks, and does not come to an end by itself.
fn is_stuck(side: Side<'_>, key: &Key, cluster: &Value, group: &Value, is_ahead: bool) -> bool {
    let stage = side.stage;
    let owner = owner(stage, key, cluster, "machineDeployment", text(group, "/name").unwrap_or_default());
    let (Some(live), Some(now)) = (stage.before(&owner), side.get(&owner)) else { return false };
    if text(&now, "/spec/rollout/strategy/type") != Some("OnDelete") || is_deleting(&live) {
        return false;
    }
    let (have, wanted) = (text(&live, "/spec/template/spec/version"), text(cluster, "/spec/topology/version"));
    let names = machines::names(stage.scene.view, &typed(&owner), &key.name, &stage.versions);
    let own = names.into_iter().filter_map(|name| {
        let (group, kind) = (CORE.to_owned(), MACHINE.to_owned());
        stage.before(&Key { group, kind, namespace: owner.namespace.clone(), name })
    });
    let mut own = own.filter(|machine| !is_deleting(machine));
    let is_other =
        |machine: &Value, version: Option<&str>| version.is_some() && text(machine, "/spec/version") != version;
    own.any(|machine| is_other(&machine, have) || is_ahead && have != wanted && is_other(&machine, wanted))
}

/// Why a group keeps its version: its own annotation, or one of a group before it that holds the sequence.
pub(super) fn deferred(groups: &[&Value], lists: &str, place: usize) -> Option<(String, Path)> {
    let has =
        |group: &Value, name: &str| group.pointer("/metadata/annotations").is_some_and(|all| all.get(name).is_some());
    let at = |place: usize, name: &str| {
        Path::root()
            .key("spec")
            .key("topology")
            .key("workers")
            .key(lists)
            .index(place)
            .key("metadata")
            .key("annotations")
            .key(name)
    };
    let own = [DEFER, HOLD].into_iter().find(|name| has(groups[place], name)).map(|name| (place, name));
    let before = (0..place).find(|place| has(groups[*place], HOLD)).map(|place| (place, HOLD));
    own.or(before).map(|(place, name)| (format!("nothing defers the upgrade any more ({name})"), at(place, name)))
}

/// The groups of workers whose version stays as it is although the topology says another one, by word and name: a group that
/// defers its upgrade, one that holds the sequence, and all behind that.
#[must_use]
pub(super) fn all_deferred(cluster: &Value) -> HashSet<(&'static str, &str)> {
    let mut out = HashSet::new();
    for (lists, word) in [("machineDeployments", "machineDeployment"), ("machinePools", "machinePool")] {
        let mut is_held = false;
        for group in list(cluster, &format!("/spec/topology/workers/{lists}")) {
            let has = |name: &str| group.pointer("/metadata/annotations").is_some_and(|all| all.get(name).is_some());
            is_held |= has(HOLD);
            if is_held || has(DEFER) {
                out.extend(text(group, "/name").map(|name| (word, name)));
            }
        }
    }
    out
}
