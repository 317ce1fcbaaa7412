//! Which further reads live Machines and owners call for. Pure: live objects go in, what they point at comes out.
//! Every reference ends as an object, as a proven absence, or as a doubt; a mirror takes a missing object for a match.

use std::collections::BTreeSet;

use super::needs::{BOOTSTRAP, CONTROL_PLANE, CORE, INFRASTRUCTURE};
use super::plan::{GroupKind, ObjectRead, Use};
use crate::kinds::Role;
use crate::kinds::contract::{self, CLUSTER_CLASS};
use crate::object::{ApiVersion, Inventory, Object};
use crate::providers::{kind, kind_of};
use crate::tree::Value;

/// What is pointed at.
pub(super) type Pointed = BTreeSet<ObjectRead>;

/// Label that every object of a control plane carries.
pub(super) const CONTROL_PLANE_LABEL: &str = contract::OF_CONTROL_PLANE;

/// What control-plane Machines and owners of Machines point at.
pub(crate) fn pointed(live: &Inventory) -> Pointed {
    let mut found = Pointed::new();
    for object in live.objects() {
        let Ok(value) = object.value() else { continue };
        let key = &object.key;
        match kind(key).role {
            Role::Machine if is_control_plane(&value) => {
                for pointer in ["/spec/bootstrap/configRef", "/spec/infrastructureRef"] {
                    add(&mut found, object, value.pointer(pointer));
                }
            }
            // A pool has these two for all of its Machines, where a MachineDeployment has templates.
            Role::Pool => {
                for pointer in ["/spec/template/spec/bootstrap/configRef", "/spec/template/spec/infrastructureRef"] {
                    add(&mut found, object, value.pointer(pointer));
                }
            }
            Role::Deployment | Role::Set | Role::Class | Role::ControlPlane => {
                templates(&mut found, object, value.get("spec").unwrap_or(&Value::Null));
            }
            _ if key.group == CONTROL_PLANE => {
                templates(&mut found, object, value.get("spec").unwrap_or(&Value::Null));
            }
            Role::Cluster => {
                add(&mut found, object, value.pointer("/spec/controlPlaneRef"));
                class(&mut found, object, value.pointer("/spec/topology"));
            }
            _ => {}
        }
    }
    found
}

/// Whether a Machine belongs to a control plane, by its label or its owner.
fn is_control_plane(machine: &Value) -> bool {
    let labelled = machine.pointer("/metadata/labels").is_some_and(|labels| labels.get(CONTROL_PLANE_LABEL).is_some());
    let owners = machine.pointer("/metadata/ownerReferences").and_then(Value::as_array);
    labelled
        || owners.is_some_and(|owners| {
            let group = |owner: &Value| {
                owner.get("apiVersion").and_then(Value::as_str).map(|api| ApiVersion::parse(api).group == CONTROL_PLANE)
            };
            owners.iter().any(|owner| group(owner) == Some(true))
        })
}

/// Whether objects of a kind are made one a Machine.
pub(super) fn is_of_machine(kind: &GroupKind) -> bool {
    matches!(kind.group.as_str(), BOOTSTRAP | INFRASTRUCTURE) && kind_of(&kind.group, &kind.kind).role != Role::Template
}

/// The class of a cluster: `class` and `classNamespace` (v1beta1), `classRef` (v1beta2).
fn class(found: &mut Pointed, from: &Object, topology: Option<&Value>) {
    let Some(topology) = topology else { return };
    let text = |pointer: &str| topology.pointer(pointer).and_then(Value::as_str).filter(|text| !text.is_empty());
    let Some(name) = text("/classRef/name").or_else(|| text("/class")) else { return };
    let namespace = text("/classRef/namespace").or_else(|| text("/classNamespace"));
    found.insert(ObjectRead {
        kind: GroupKind::new(CORE, CLUSTER_CLASS),
        version: None,
        namespace: namespace.map(str::to_owned).or_else(|| from.key.namespace.clone()),
        name: name.to_owned(),
        used: Use::Pointed,
    });
}

/// Every reference to a template below `value`, however the field is called.
fn templates(found: &mut Pointed, from: &Object, value: &Value) {
    match value {
        Value::Object(map) => {
            let kind = map.get("kind").and_then(Value::as_str);
            if kind.is_some_and(|kind| contract::of("", kind).role == Role::Template) {
                add(found, from, Some(value));
            }
            map.values().for_each(|value| templates(found, from, value));
        }
        Value::Array(items) => items.iter().for_each(|item| templates(found, from, item)),
        _ => {}
    }
}

/// Adds one reference, in the words of v1beta1 (`apiVersion`) or v1beta2 (`apiGroup`).
fn add(found: &mut Pointed, from: &Object, reference: Option<&Value>) {
    let Some(reference) = reference else { return };
    let text = |key: &str| reference.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
    let (Some(kind), Some(name)) = (text("kind"), text("name")) else { return };
    let api = text("apiVersion").map(ApiVersion::parse);
    let Some(group) = text("apiGroup").or_else(|| api.map(|api| api.group)) else { return };
    let kind = GroupKind::new(group, kind);
    found.insert(ObjectRead {
        kind,
        version: None,
        namespace: text("namespace").map(str::to_owned).or_else(|| from.key.namespace.clone()),
        name: name.to_owned(),
        used: Use::Pointed,
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::json;

    fn inventory(values: Vec<Value>) -> Inventory {
        values.into_iter().map(|value| Object::from_value(value, 0).expect("an object")).collect::<Vec<_>>().into()
    }

    fn names(found: &Pointed) -> Vec<String> {
        found
            .iter()
            .map(|read| format!("{} {}/{}", read.kind, read.namespace.as_deref().unwrap_or("-"), read.name))
            .collect()
    }

    #[test]
    fn both_spellings_of_a_reference_are_followed() {
        let machine = |name: &str, reference: Value| {
            json!({"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine",
            "metadata": {"name": name, "namespace": "n", "labels": {"cluster.x-k8s.io/control-plane": ""}},
            "spec": {"bootstrap": {"configRef": reference}}})
        };
        let live = inventory(vec![
            machine("a", json!({"apiGroup": "bootstrap.cluster.x-k8s.io", "kind": "KubeadmConfig", "name": "a"})),
            machine(
                "b",
                json!({"apiVersion": "bootstrap.cluster.x-k8s.io/v1beta1", "kind": "KubeadmConfig", "name": "b"}),
            ),
        ]);
        assert_eq!(
            names(&pointed(&live)),
            ["KubeadmConfig.bootstrap.cluster.x-k8s.io n/a", "KubeadmConfig.bootstrap.cluster.x-k8s.io n/b"]
        );
    }

    #[test]
    fn workers_configs_are_not_read_and_owners_templates_are() {
        let live = inventory(vec![
            json!({"apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "Machine", "metadata": {"name": "w", "namespace": "n"},
                "spec": {"infrastructureRef": {"apiVersion": "infrastructure.cluster.x-k8s.io/v1", "kind": "X", "name": "w"}}}),
            json!({"apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "MachineDeployment", "metadata": {"name": "md", "namespace": "n"},
                "spec": {"template": {"spec": {"infrastructureRef":
                    {"apiVersion": "infrastructure.cluster.x-k8s.io/v1", "kind": "XTemplate", "name": "t"}}}}}),
            json!({"apiVersion": "controlplane.cluster.x-k8s.io/v1beta1", "kind": "RKE2ControlPlane", "metadata": {"name": "cp", "namespace": "n"},
                "spec": {"machineTemplate": {"infrastructureRef":
                    {"apiVersion": "infrastructure.cluster.x-k8s.io/v1", "kind": "XTemplate", "name": "c"}}}}),
        ]);
        assert_eq!(
            names(&pointed(&live)),
            ["XTemplate.infrastructure.cluster.x-k8s.io n/c", "XTemplate.infrastructure.cluster.x-k8s.io n/t"]
        );
    }

    #[test]
    fn a_machine_of_a_control_plane_is_known_by_its_owner_too() {
        let live = inventory(vec![json!({"apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "Machine",
            "metadata": {"name": "a", "namespace": "n", "ownerReferences":
                [{"apiVersion": "controlplane.cluster.x-k8s.io/v1beta1", "kind": "RKE2ControlPlane", "name": "cp"}]},
            "spec": {"infrastructureRef": {"apiVersion": "infrastructure.cluster.x-k8s.io/v1", "kind": "X", "name": "a"}}})]);
        assert_eq!(names(&pointed(&live)), ["X.infrastructure.cluster.x-k8s.io n/a"]);
    }
}
