//! The fields that all kinds share by contract, read by name of what they mean (as CAPI's own `internal/contract` does).

use super::contract::{self, CLUSTER, CLUSTER_CLASS, CLUSTER_NAME, CORE, PAUSED};
use crate::object::{ApiVersion, Key, Object, go_seconds, is_deleting};
use crate::tree::{Map, Value, json};

/// Where a control plane says what it does about unhealthy Machines.
const REMEDIATION: [&str; 2] = ["remediation", "remediationStrategy"];

/// Text at a JSON pointer.
#[must_use]
pub(crate) fn text<'v>(value: &'v Value, pointer: &str) -> Option<&'v str> {
    value.pointer(pointer).and_then(Value::as_str).filter(|text| !text.is_empty())
}

/// The items of the list at a JSON pointer; none where there is no list. A null holds the place of an item that the other side alone has.
pub(crate) fn list<'v>(value: &'v Value, pointer: &str) -> impl Iterator<Item = &'v Value> + use<'v> {
    value.pointer(pointer).and_then(Value::as_array).into_iter().flatten().filter(|item| !item.is_null())
}

/// Whole number at a JSON pointer.
#[must_use]
pub(crate) fn number(value: &Value, pointer: &str) -> Option<u64> {
    value.pointer(pointer).and_then(Value::as_u64)
}

/// A number as control planes read it: a text that is not a number, such as a percentage, is 0.
#[must_use]
pub(crate) fn plain_number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| value.as_str().and_then(|text| text.parse().ok()).unwrap_or(0))
}

/// A number, or a percentage of so many, rounded up or down; `None` for what is neither.
#[must_use]
pub(crate) fn scaled(value: &Value, of: u64, up: bool) -> Option<u64> {
    if let Some(number) = value.as_u64() {
        return Some(number);
    }
    let text = value.as_str()?;
    match text.strip_suffix('%') {
        Some(percent) => {
            let share = of.checked_mul(percent.parse::<u64>().ok()?)?;
            Some(if up { share.div_ceil(100) } else { share / 100 })
        }
        None => text.parse().ok(),
    }
}

/// Value of a label.
#[must_use]
pub(crate) fn label<'v>(object: &'v Value, name: &str) -> Option<&'v str> {
    object.get("metadata")?.get("labels")?.get(name)?.as_str()
}

/// Value of an annotation.
#[must_use]
pub fn annotation<'v>(object: &'v Value, name: &str) -> Option<&'v str> {
    object.get("metadata")?.get("annotations")?.get(name)?.as_str()
}

/// Whether an object is in a namespace, where both are known.
#[must_use]
pub(crate) fn is_in(object: &Object, namespace: Option<&str>) -> bool {
    namespace.is_none() || object.key.namespace.is_none() || object.key.namespace.as_deref() == namespace
}

/// The key that a reference of either shape means.
#[must_use]
pub fn target(reference: &Value, namespace: Option<&str>) -> Option<Key> {
    let map = reference.as_object()?;
    let text = |key: &str| map.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
    let group = text("apiGroup").or_else(|| text("apiVersion").map(|version| ApiVersion::parse(version).group))?;
    let (kind, name) = (text("kind")?, text("name")?);
    Some(Key::of(group, kind, text("namespace").or(namespace).map(str::to_owned), name))
}

/// The owners of an object, by its owner references.
pub(crate) fn owned_by<'v>(key: &'v Key, object: &'v Value) -> impl Iterator<Item = Key> + use<'v> {
    list(object, "/metadata/ownerReferences").filter_map(|reference| owner(key, reference))
}

/// The owner that controls an object, by its owner references.
#[must_use]
pub(crate) fn controller(key: &Key, object: &Value) -> Option<Key> {
    let mut all = list(object, "/metadata/ownerReferences");
    owner(key, all.find(|reference| reference.get("controller") == Some(&Value::Bool(true)))?)
}

/// Whether an object has an owner that controls it.
#[must_use]
pub(crate) fn has_controller(object: &Value) -> bool {
    list(object, "/metadata/ownerReferences").any(|reference| reference.get("controller") == Some(&Value::Bool(true)))
}

/// The key that an owner reference means.
pub(crate) fn owner(key: &Key, reference: &Value) -> Option<Key> {
    Some(Key::of(
        ApiVersion::parse(text(reference, "/apiVersion")?).group,
        text(reference, "/kind")?,
        key.namespace.clone(),
        text(reference, "/name")?,
    ))
}

/// Whether a MachineSet makes no Machine any more: its MachineDeployment goes, or has scaled it down to none and decides itself
/// whether that changes.
#[must_use]
pub(crate) fn is_spent_set(key: &Key, set: &Value, is_gone: impl Fn(&Key) -> bool) -> bool {
    controller(key, set).is_some_and(|owner| is_gone(&owner) || number(set, "/spec/replicas") == Some(0))
}

/// Whether an owner of Machines, or a Machine, goes already: it is being deleted, or what it belongs to is. A Cluster that goes takes all of its
/// owners with it, and none that goes makes a Machine, so their templates are not missed (cluster-api v1.14:
/// `core/reconcilers/cluster/cluster_controller.go` reconcileDelete, `core/reconcilers/machineset/machineset_controller.go`
/// reconcileExternalTemplateReference, `controlplane/kubeadm/pkg/filters.go` matchesInfraMachine).
#[must_use]
pub(crate) fn is_going(key: &Key, object: &Value, is_deleted: impl Fn(&Key) -> bool) -> bool {
    let cluster = || cluster_name(object).map(|name| contract::cluster(key.namespace.as_deref(), name));
    is_deleting(object)
        || controller(key, object).is_some_and(|owner| is_deleted(&owner))
        || cluster().is_some_and(|cluster| is_deleted(&cluster))
}

/// The key of the class that a Cluster names, in the words of either version.
#[must_use]
pub(crate) fn class_named(key: &Key, cluster: &Value) -> Option<Key> {
    let topology = cluster.pointer("/spec/topology")?;
    let name = text(topology, "/classRef/name").or_else(|| text(topology, "/class"))?;
    let namespace = text(topology, "/classRef/namespace").or_else(|| text(topology, "/classNamespace"));
    let namespace = namespace.map(str::to_owned).or_else(|| key.namespace.clone());
    Some(Key::of(CORE, CLUSTER_CLASS, namespace, name))
}

/// The name of the Cluster that an object says it belongs to: by its spec, its owner or its label.
#[must_use]
pub(crate) fn cluster_name(object: &Value) -> Option<&str> {
    let by_owner = || {
        // Others call a database a Cluster too.
        let is_cluster = |reference: &&Value| {
            let api = text(reference, "/apiVersion").map(ApiVersion::parse);
            text(reference, "/kind") == Some(CLUSTER) && api.is_none_or(|api| api.group == contract::CORE)
        };
        text(object.pointer("/metadata/ownerReferences")?.as_array()?.iter().find(is_cluster)?, "/name")
    };
    text(object, "/spec/clusterName").or_else(by_owner).or_else(|| label(object, CLUSTER_NAME))
}

/// Whether the controllers do nothing for an owner: its own annotation, or its paused Cluster.
#[must_use]
pub(crate) fn is_paused(owner: &Value, cluster: Option<&Value>) -> bool {
    annotation(owner, PAUSED).is_some()
        || cluster.is_some_and(|cluster| cluster.pointer("/spec/paused") == Some(&Value::Bool(true)))
}

/// Annotations that hand the number of Machines of a MachineDeployment or pool to the cluster autoscaler.
pub(crate) const AUTOSCALER: [&str; 2] = [
    "cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size",
    "cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size",
];

/// How many Machines an owner wants: what it says, or what the webhook fills in.
///
/// `old` is the owner before the write, which an autoscaled owner keeps its number from
/// (cluster-api `core/webhooks/admission/machinedeployment.go` calculateMachineDeploymentReplicas, v1.14).
#[must_use]
pub(crate) fn wanted(owner: &Value, old: Option<&Value>) -> u64 {
    if let Some(told) = number(owner, "/spec/replicas") {
        return told;
    }
    let size = |name: &str| annotation(owner, name).and_then(|text| text.parse::<u64>().ok());
    match (size(AUTOSCALER[0]), size(AUTOSCALER[1])) {
        (Some(least), Some(most)) if least <= most => {
            // What an old render does not say was filled in when it was written.
            old.map_or(least, |old| wanted(old, None).clamp(least, most))
        }
        _ => 1,
    }
}

/// How many Machines an owner comes to have that wants so many: never fewer than its controller keeps of those it had.
#[must_use]
pub(crate) fn comes_to(wanted: u64, keeps: u64, had: u64) -> u64 {
    wanted.max(keeps.min(had))
}

/// Whether an autoscaler chooses the number of Machines, between bounds that the owner says.
#[must_use]
pub(crate) fn is_autoscaled(owner: &Value) -> bool {
    AUTOSCALER.iter().all(|name| annotation(owner, name).is_some())
}

/// A number in what a control plane says about unhealthy Machines: `spec.remediation`, or `spec.remediationStrategy`, which RKE2 and
/// Canonical Kubernetes still have; with the name of the block.
#[must_use]
pub(crate) fn remediation(owner: &Value, name: &str) -> Option<(&'static str, u64)> {
    REMEDIATION.into_iter().find_map(|block| Some((block, number(owner, &format!("/spec/{block}/{name}"))?)))
}

/// A period there, in seconds: a number of them, or in the older block a text such as `1h`.
#[must_use]
pub(crate) fn remediation_period(owner: &Value, name: &str) -> Option<(&'static str, u64)> {
    let written = |block: &'static str| {
        let told = text(owner, &format!("/spec/{block}/{name}"))?;
        Some((block, u64::try_from(go_seconds(told)?).ok()?))
    };
    remediation(owner, &format!("{name}Seconds")).or_else(|| REMEDIATION.into_iter().find_map(written))
}

/// How many Machines are up to date, as the owner counts them in either version; `None` where it does not.
#[must_use]
pub(crate) fn up_to_date(owner: &Value) -> Option<u64> {
    number(owner, "/status/upToDateReplicas").or_else(|| number(owner, "/status/updatedReplicas"))
}

/// Whether a block says anything.
#[must_use]
pub(crate) fn says_something(block: Option<&Value>) -> bool {
    match block {
        Some(Value::Object(map)) => map.values().any(|value| says_something(Some(value))),
        Some(Value::Array(list)) => !list.is_empty(),
        Some(Value::String(text)) => !text.is_empty(),
        Some(Value::Null) | None => false,
        Some(_) => true,
    }
}

/// The map at a key, made where there is none or null, as a struct of Go is; `None` where something else stands there.
pub(crate) fn map_at<'m>(map: &'m mut Map, key: &str) -> Option<&'m mut Map> {
    let value = map.entry(key).or_insert_with(|| json!({}));
    if value.is_null() {
        *value = json!({});
    }
    value.as_object_mut()
}

/// The map at a key, made where there is none and where something else stands.
pub(crate) fn child<'m>(map: &'m mut Map, key: &str) -> &'m mut Map {
    let value = map.entry(key).or_insert_with(|| json!({}));
    if !value.is_object() {
        *value = json!({});
    }
    value.as_object_mut().expect("it was made a map on the line above")
}
