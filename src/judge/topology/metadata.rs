//! The labels and annotations that a Cluster and its class hand to the owners of Machines, and through them to the Machines.
//! Read beside `exp/topology/desiredstate/desired_state.go` (computeControlPlane, computeMachineDeployment,
//! computeMachinePool) of Cluster API 1.14: what the Cluster says goes before what its class says.

use std::sync::Arc;

use super::blueprint::class_of;
use super::values::list;
use crate::judge::waiting::pause;
use crate::judge::waiting::side::Side;
use crate::kinds::Role;
use crate::kinds::contract::{CORE, TOPOLOGY_DEPLOYMENT, TOPOLOGY_OWNED, TOPOLOGY_POOL};
use crate::kinds::fields::{label, says_something, text};
use crate::object::Key;
use crate::providers::kind;
use crate::tree::{Map, Value, json};

/// Where a group or its class says how Machines are replaced, in both versions.
const STRATEGY: &[&str] = &["/rollout/strategy/type", "/strategy/type"];

/// Where they say how many of them may be missing, or more than wanted, at a time.
const ROOM: &[&str] = &["/rollout/strategy/rollingUpdate", "/strategy/rollingUpdate"];

/// Where they say how many unhealthy Machines are replaced at a time.
const LIMIT: &[&str] = &["/healthCheck/remediation/maxInFlight", "/strategy/remediation/maxInFlight"];

/// An owner of Machines that the topology controller made, with what the write hands to it.
pub(crate) fn hand_down(side: Side<'_>, owner: &Key, mut value: Arc<Value>) -> Arc<Value> {
    if !kind(owner).role.is_part_of_cluster() || label(&value, TOPOLOGY_OWNED).is_none() {
        return value;
    }
    let Some(cluster) = side.stage.cluster_of(owner, &value) else { return value };
    let [before, after] = Side::both(side.stage).map(|side| handed(side, owner, &value, &cluster));
    let (Some(before), Some(after)) = (before, after) else { return value };
    if after.is_stopped {
        return value;
    }
    // What was said while the controller did nothing comes along.
    let before = if before.is_stopped { Handed::default() } else { before };
    for (place, old, new, usual) in [
        ("/spec/rollout/strategy/type", &before.strategy, &after.strategy, json!("RollingUpdate")),
        ("/spec/rollout/strategy/rollingUpdate", &before.room, &after.room, Value::Null),
        ("/spec/remediation/maxInFlight", &before.limit, &after.limit, Value::Null),
    ] {
        if old != new {
            put(Arc::make_mut(&mut value), place, new.clone().unwrap_or(usual));
        }
    }
    let (before, after) = (before.metadata, after.metadata);
    let template = if owner.group == CORE { "/spec/template" } else { "/spec/machineTemplate" };
    for holder in ["", template] {
        if let Some(holder) = Arc::make_mut(&mut value).pointer_mut(holder) {
            change(holder, &before, &after);
        }
    }
    value
}

/// Puts a value at a place below blocks that are made where they are missing.
fn put(value: &mut Value, place: &str, new: Value) {
    let place = place.trim_start_matches('/').split('/');
    let at = place.fold(value, |block, key| {
        if !block.is_object() {
            *block = json!({});
        }
        &mut block[key]
    });
    *at = new;
}

/// Changes the labels and annotations of an object, or of the template in it, as they differ between two sides.
pub(crate) fn change(holder: &mut Value, before: &Value, after: &Value) {
    for what in ["labels", "annotations"] {
        let of = |side: &Value| side.get(what).and_then(Value::as_object).cloned().unwrap_or_default();
        let (old, new) = (of(before), of(after));
        if old == new {
            continue;
        }
        let Some(map) = holder.as_object_mut() else { return };
        let metadata = map.entry("metadata").or_insert_with(|| json!({}));
        let Some(place) = metadata.as_object_mut().map(|map| map.entry(what).or_insert_with(|| json!({}))) else {
            return;
        };
        let Some(place) = place.as_object_mut() else { continue };
        for gone in old.keys().filter(|key| !new.contains_key(key)) {
            place.shift_remove(gone);
        }
        place.extend(new);
    }
}

/// What the Cluster and its class hand to an owner on one side
/// (`exp/topology/desiredstate/desired_state.go` computeMachineDeployment of Cluster API 1.14).
#[derive(Default)]
struct Handed {
    /// Whether a pause keeps the topology controller from it.
    is_stopped: bool,
    /// Its labels and annotations.
    metadata: Value,
    /// How a MachineDeployment replaces Machines.
    strategy: Option<Value>,
    /// How many of them it replaces at a time.
    room: Option<Value>,
    /// How many unhealthy Machines a MachineDeployment replaces at a time.
    limit: Option<Value>,
}

/// Whether a group of a topology says anything of how its Machines are replaced: then nothing that its class says of that counts.
pub(super) fn says_of_rollout(group: Option<&Value>) -> bool {
    let blocks = ["/rollout", "/strategy"].map(|place| group.and_then(|group| group.pointer(place)));
    blocks.into_iter().any(says_something)
}

/// What is handed to an owner on one side; `None` where the Cluster does not know it there.
fn handed(side: Side<'_>, owner: &Key, value: &Value, cluster_key: &Key) -> Option<Handed> {
    let cluster = side.cluster(cluster_key)?;
    let is_stopped = pause::is_paused_cluster(&cluster) || pause::is_annotated(&cluster);
    let class = class_of(cluster_key, &cluster).and_then(|class| side.get(&class)).unwrap_or_default();
    let (group, of_class) = match kind(owner).role {
        Role::ControlPlane => (cluster.pointer("/spec/topology/controlPlane"), class.pointer("/spec/controlPlane")),
        role => {
            let (lists, name) = if role == Role::Pool {
                ("machinePools", TOPOLOGY_POOL)
            } else {
                ("machineDeployments", TOPOLOGY_DEPLOYMENT)
            };
            let name = label(value, name);
            let mut groups = list(&cluster, &format!("/spec/topology/workers/{lists}"));
            let group = groups.find(|group| text(group, "/name") == name)?;
            let own = text(group, "/class");
            let pointer = format!("/spec/workers/{lists}");
            (Some(group), list(&class, &pointer).find(|item| text(item, "/class") == own))
        }
    };
    let is_deployment = kind(owner).role == Role::Deployment;
    let of = |holder: Option<&Value>, places: &[&str]| {
        places.iter().find_map(|place| holder?.pointer(place)).filter(|_| is_deployment).cloned()
    };
    // A group that says anything of its rollout says all of it.
    let holder = if says_of_rollout(group) { group } else { of_class };
    let (strategy, room) = (of(holder, STRATEGY), of(holder, ROOM));
    let limit = of(group, LIMIT).or_else(|| of(of_class, LIMIT));
    // v1beta1 has those of workers in a template.
    let of_class = of_class.and_then(|class| class.get("metadata").or_else(|| class.pointer("/template/metadata")));
    let own = group.and_then(|group| group.get("metadata"));
    let both = |what: &str| -> Map {
        let of = |side: Option<&Value>| side.and_then(|side| side.get(what)?.as_object()).cloned().unwrap_or_default();
        let mut out = of(of_class);
        out.extend(of(own));
        out
    };
    let metadata = json!({"labels": both("labels"), "annotations": both("annotations")});
    Some(Handed { is_stopped, metadata, strategy, room, limit })
}
