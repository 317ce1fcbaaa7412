//! The Machines of an owner: those that were read, with their bootstrap configs and infrastructure.
//! Everything is handed on in the superset form, so that mirrors see one shape.

use serde_json::Value;

use crate::judge::Scene;
use crate::kinds::hub;
use crate::object::{ApiVersion, Key, Object};
use crate::rules::Versions;

/// A Machine and what it was made of.
#[derive(Clone)]
pub struct Member {
    /// Name of the Machine; empty where it is derived.
    pub name: String,
    /// The Machine.
    pub machine: Value,
    /// Its bootstrap config; `None` counts as matching, as in the controllers.
    pub config: Option<Value>,
    /// Its infrastructure Machine; `None` counts as matching, as in the controllers.
    pub infra: Option<Value>,
}

impl std::fmt::Debug for Member {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Member").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Member {
    /// Whether it is being deleted already.
    #[must_use]
    pub fn is_deleting(&self) -> bool {
        self.machine.pointer("/metadata/deletionTimestamp").is_some_and(|stamp| !stamp.is_null())
    }
}

/// Text at a JSON pointer.
#[must_use]
pub fn text<'v>(value: &'v Value, pointer: &str) -> Option<&'v str> {
    value.pointer(pointer).and_then(Value::as_str).filter(|text| !text.is_empty())
}

/// The items of the list at a JSON pointer; none where there is no list.
pub fn list<'v>(value: &'v Value, pointer: &str) -> impl Iterator<Item = &'v Value> + use<'v> {
    value.pointer(pointer).and_then(Value::as_array).into_iter().flatten()
}

/// Whole number at a JSON pointer.
#[must_use]
pub fn number(value: &Value, pointer: &str) -> Option<u64> {
    value.pointer(pointer).and_then(Value::as_u64)
}

/// The object in the superset form, whatever version it was read in.
#[must_use]
pub fn read(object: &Object, versions: &Versions) -> Option<Value> {
    let value = object.value().ok()?;
    Some(hub::value(&object.key.kind, &object.api_version, &value, versions))
}

/// Live objects of a kind in a group, in a namespace where one is known.
pub fn live<'s>(
    scene: Scene<'s>,
    group: &'s str,
    kind: &'s str,
    namespace: Option<&'s str>,
) -> impl Iterator<Item = &'s Object> {
    scene.view.of_kind(kind).filter(move |object| object.key.group == group && is_in(object, namespace))
}

/// Whether an object is in a namespace, where both are known.
#[must_use]
pub fn is_in(object: &Object, namespace: Option<&str>) -> bool {
    namespace.is_none() || object.key.namespace.is_none() || object.key.namespace.as_deref() == namespace
}

/// Value of a label.
#[must_use]
pub fn label<'v>(object: &'v Value, name: &str) -> Option<&'v str> {
    object.get("metadata")?.get("labels")?.get(name)?.as_str()
}

/// Value of an annotation.
#[must_use]
pub fn annotation<'v>(object: &'v Value, name: &str) -> Option<&'v str> {
    object.get("metadata")?.get("annotations")?.get(name)?.as_str()
}

/// The Machines of a control plane.
#[must_use]
pub fn of_control_plane(scene: Scene<'_>, owner: &Key, cluster: &str, versions: &Versions) -> Vec<Member> {
    let live = scene.view;
    let by_label = |object: &&Object| {
        object.value().is_ok_and(|raw| {
            raw.pointer("/metadata/ownerReferences").is_none()
                && label(&raw, "cluster.x-k8s.io/control-plane").is_some()
        })
    };
    let labelled = live.machines_of_cluster(cluster).filter(|_| !cluster.is_empty()).filter(by_label);
    let ours = live.owned_by(&owner.kind, &owner.name).filter(|object| object.key.kind == "Machine").chain(labelled);
    ours.filter(|object| is_in(object, owner.namespace.as_deref()))
        .filter_map(|object| Some(member(scene, object, read(object, versions)?, versions)))
        .collect()
}

/// A Machine with what it refers to.
fn member(scene: Scene<'_>, object: &Object, machine: Value, versions: &Versions) -> Member {
    let namespace = object.key.namespace.as_deref();
    let config = machine
        .pointer("/spec/bootstrap/configRef")
        .and_then(|reference| follow(scene, reference, namespace, versions));
    let infra =
        machine.pointer("/spec/infrastructureRef").and_then(|reference| follow(scene, reference, namespace, versions));
    Member { name: object.key.name.clone(), machine, config, infra }
}

/// The live object behind a reference of either shape.
#[must_use]
pub fn follow(scene: Scene<'_>, reference: &Value, namespace: Option<&str>, versions: &Versions) -> Option<Value> {
    let key = target(reference, namespace)?;
    let anywhere = Key { namespace: None, ..key.clone() };
    read(scene.view.get(&key).object().or_else(|| scene.view.get(&anywhere).object())?, versions)
}

/// The key that a reference of either shape means.
#[must_use]
pub fn target(reference: &Value, namespace: Option<&str>) -> Option<Key> {
    let group = text(reference, "/apiGroup")
        .or_else(|| text(reference, "/apiVersion").map(|version| ApiVersion::parse(version).group))?;
    Some(Key {
        group: group.to_owned(),
        kind: text(reference, "/kind")?.to_owned(),
        namespace: text(reference, "/namespace").or(namespace).map(str::to_owned),
        name: text(reference, "/name")?.to_owned(),
    })
}
