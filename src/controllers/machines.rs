//! The Machines of an owner: those that were read, with their bootstrap configs and infrastructure.
//! Everything is handed on in the superset form, so that mirrors see one shape.

use serde_json::Value;

use super::{Scene, hub};
use crate::object::{ApiVersion, Key, Object};
use crate::rules::Versions;

/// A Machine and what it was made of.
#[derive(Debug, Clone)]
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
    scene.world.live.objects().iter().filter(move |object| {
        object.key.kind == kind
            && object.key.group == group
            && (namespace.is_none() || object.key.namespace.is_none() || object.key.namespace.as_deref() == namespace)
    })
}

/// Whether an object names this owner in its references.
#[must_use]
pub fn owned_by(object: &Value, kind: &str, name: &str) -> bool {
    let references = object.pointer("/metadata/ownerReferences").and_then(Value::as_array);
    references
        .into_iter()
        .flatten()
        .any(|reference| text(reference, "/kind") == Some(kind) && text(reference, "/name") == Some(name))
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
    let mut out = Vec::new();
    for object in live(scene, "cluster.x-k8s.io", "Machine", owner.namespace.as_deref()) {
        // Metadata is the same in every form, so only what is ours is brought into the superset form.
        let Ok(raw) = object.value() else { continue };
        let ours = owned_by(&raw, &owner.kind, &owner.name)
            || (raw.pointer("/metadata/ownerReferences").is_none()
                && !cluster.is_empty()
                && label(&raw, "cluster.x-k8s.io/cluster-name") == Some(cluster)
                && label(&raw, "cluster.x-k8s.io/control-plane").is_some());
        if let Some(machine) = ours.then(|| read(object, versions)).flatten() {
            out.push(member(scene, object, machine, versions));
        }
    }
    out
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
    read(scene.world.live.get(&key).or_else(|| scene.world.live.get(&anywhere))?, versions)
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
