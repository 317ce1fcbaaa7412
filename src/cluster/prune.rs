//! Takes away what nothing looks at before an object is kept: on a fleet it is more than half of what the server sends.
//! What a gate or a mirror may ask for stays; objects that the chart renders keep all but their managed fields' noise.

use crate::cluster::needs::{BOOTSTRAP, CORE, INFRASTRUCTURE};
use crate::cluster::plan::Keep;
use crate::kinds::Role;
use crate::kinds::contract::{MACHINE, MACHINE_SET, TOPOLOGY_MANAGER};
use crate::object::ApiVersion;
use crate::providers::kind_of;
use crate::tree::{Map, Value};

/// The condition of a Machine whose words are asked for: they tell a member of etcd that only learns from one that is broken.
const ETCD_MEMBER: &str = "EtcdMemberHealthy";

/// Prunes one object as it came from the server.
pub(super) fn prune(value: &mut Value, keep: Keep) {
    let Some(map) = value.as_object_mut() else { return };
    let group = map.get("apiVersion").and_then(Value::as_str).map(|text| ApiVersion::parse(text).group.to_owned());
    let kind = map.get("kind").and_then(Value::as_str).unwrap_or_default().to_owned();
    let role = kind_of(group.as_deref().unwrap_or_default(), &kind).role;
    if let Some(metadata) = map.get_mut("metadata").and_then(Value::as_object_mut) {
        of_metadata(metadata, keep, role);
    }
    match (group.as_deref().unwrap_or_default(), kind.as_str()) {
        // A mirror reads the spec and the annotations of what belongs to a Machine, never its status.
        (BOOTSTRAP | INFRASTRUCTURE, _) if !keep.managed_fields => drop(map.shift_remove("status")),
        (CORE, MACHINE | MACHINE_SET) => {
            if let Some(status) = map.get_mut("status").and_then(Value::as_object_mut) {
                of_status(status);
            }
        }
        _ => {}
    }
}

/// Metadata: who wrote which field, and what `kubectl apply` wrote last, matter only for objects that are written; and what the topology
/// controller wrote, where it writes its class's template onto an object.
fn of_metadata(metadata: &mut Map, keep: Keep, role: Role) {
    if !keep.managed_fields {
        match metadata.get_mut("managedFields").and_then(Value::as_array_mut) {
            Some(entries) if matches!(role, Role::ControlPlane | Role::InfraCluster) => {
                entries.retain(|entry| entry.get("manager").and_then(Value::as_str) == Some(TOPOLOGY_MANAGER));
                if entries.is_empty() {
                    metadata.shift_remove("managedFields");
                }
            }
            _ => drop(metadata.shift_remove("managedFields")),
        }
        if let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) {
            // That kubectl applied it is enough to know: `apply --prune` may delete it.
            if let Some(last) = annotations.get_mut("kubectl.kubernetes.io/last-applied-configuration") {
                *last = Value::from("");
            }
        }
    }
    metadata.shift_remove("selfLink");
}

/// Status of a Machine: addresses, node details, words of conditions, and the older spelling of conditions beside the newer.
fn of_status(status: &mut Map) {
    for field in ["nodeInfo", "addresses"] {
        status.shift_remove(field);
    }
    let told = status.get("conditions").and_then(Value::as_array).is_some_and(|list| !list.is_empty());
    if told {
        status.shift_remove("deprecated");
    }
    for conditions in status.get_mut("conditions").and_then(Value::as_array_mut).into_iter().flatten() {
        if let Some(condition) = conditions.as_object_mut() {
            if condition.get("type").and_then(Value::as_str) != Some(ETCD_MEMBER) {
                condition.shift_remove("message");
            }
            condition.shift_remove("observedGeneration");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::json;

    fn pruned(mut value: Value, managed_fields: bool) -> Value {
        prune(&mut value, Keep { managed_fields });
        value
    }

    #[test]
    fn a_machine_keeps_what_gates_ask_for() {
        let machine = json!({"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine",
            "metadata": {"name": "m", "managedFields": [1], "annotations": {"a": "b"}},
            "status": {"nodeRef": {"name": "n"}, "certificatesExpiryDate": "x", "phase": "Running", "addresses": [1], "nodeInfo": {},
                "conditions": [{"type": "Ready", "status": "True", "message": "long"},
                    {"type": "EtcdMemberHealthy", "status": "False", "message": "Waiting for learner etcd member", "observedGeneration": 1}],
                "deprecated": {"v1beta1": {}}}});
        let expected = json!({"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine",
            "metadata": {"name": "m", "annotations": {"a": "b"}},
            "status": {"nodeRef": {"name": "n"}, "certificatesExpiryDate": "x", "phase": "Running",
                "conditions": [{"type": "Ready", "status": "True"},
                    {"type": "EtcdMemberHealthy", "status": "False", "message": "Waiting for learner etcd member"}]}});
        assert_eq!(pruned(machine, false), expected);
    }

    #[test]
    fn the_only_conditions_stay_whatever_their_spelling() {
        let machine = json!({"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine", "metadata": {"name": "m"},
            "status": {"deprecated": {"v1beta1": {"conditions": [{"type": "Ready"}]}}}});
        assert_eq!(pruned(machine.clone(), false), machine);
    }

    #[test]
    fn what_the_topology_controller_applies_to_a_control_plane_is_known() {
        let entry = |manager: &str| json!({"manager": manager, "fieldsV1": {"f:spec": {}}});
        let object = |kind: &str, managers: &[&str]| {
            let entries: Vec<Value> = managers.iter().map(|manager| entry(manager)).collect();
            json!({"apiVersion": "controlplane.cluster.x-k8s.io/v1beta2", "kind": kind,
                "metadata": {"name": "m", "managedFields": entries}})
        };
        let plane = pruned(object("KubeadmControlPlane", &["capi-topology", "manager"]), false);
        assert_eq!(plane, object("KubeadmControlPlane", &["capi-topology"]));
        for kept in [
            pruned(object("KubeadmControlPlane", &["manager"]), false),
            pruned(object("KubeadmControlPlaneTemplate", &["capi-topology"]), false),
        ] {
            assert!(kept["metadata"].get("managedFields").is_none());
        }
    }

    #[test]
    fn that_kubectl_applied_an_object_is_kept_without_what_it_applied() {
        let annotations = json!({"kubectl.kubernetes.io/last-applied-configuration": "{}", "a": "b"});
        let cluster = json!({"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster",
            "metadata": {"name": "m", "annotations": annotations}});
        let kept = json!({"kubectl.kubernetes.io/last-applied-configuration": "", "a": "b"});
        assert_eq!(pruned(cluster.clone(), false)["metadata"]["annotations"], kept);
        assert_eq!(pruned(cluster.clone(), true), cluster);
    }

    #[test]
    fn what_the_chart_renders_stays_whole() {
        let owner = json!({"apiVersion": "infrastructure.cluster.x-k8s.io/v1", "kind": "XCluster",
            "metadata": {"name": "m", "managedFields": [1]}, "status": {"ready": true}});
        assert_eq!(pruned(owner.clone(), true), owner);
        assert!(pruned(owner, false).get("status").is_none());
    }
}
