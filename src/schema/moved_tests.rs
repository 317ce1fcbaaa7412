//! What moves between v1beta1 and v1beta2, there and back, told as cases.

use super::*;
use crate::kinds::{Shape, Versions};
use crate::object::Path;
use crate::tree::json;

fn deployment(version: &str, spec: Value) -> Value {
    json!({"apiVersion": format!("cluster.x-k8s.io/{version}"), "kind": "MachineDeployment", "spec": spec})
}

fn old() -> Value {
    deployment(
        "v1beta1",
        json!({"clusterName": "c", "minReadySeconds": 5, "progressDeadlineSeconds": 600,
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "deletePolicy": "Oldest"}},
            "template": {"spec": {"nodeDrainTimeout": "5m", "infrastructureRef":
                {"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "T", "name": "a", "namespace": "n"}}}}),
    )
}

fn new() -> Value {
    deployment(
        "v1beta2",
        json!({"clusterName": "c", "deletion": {"order": "Oldest"},
            "rollout": {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}},
            "template": {"spec": {"minReadySeconds": 5, "deletion": {"nodeDrainTimeoutSeconds": 300}, "infrastructureRef":
                {"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "T", "name": "a"}}}}),
    )
}

#[test]
fn a_chart_that_moves_to_v1beta2_shows_no_change() {
    let mut live = old();
    assert!(reshape(&mut live, &new()));
    assert_eq!(live, new());
}

#[test]
fn a_live_object_in_v1beta2_is_read_as_the_chart_writes_it() {
    let mut live = new();
    assert!(reshape(&mut live, &old()));
    assert!(
        crate::compare::changes(&live, &old())
            .iter()
            .all(|change| change.path.to_string() == "spec.progressDeadlineSeconds")
    );
}

#[test]
fn arguments_become_a_list_sorted_by_name_and_timeouts_find_their_place() {
    let kcp = |version: &str, config: Value| {
        json!({"apiVersion": format!("controlplane.cluster.x-k8s.io/{version}"),
        "kind": "KubeadmControlPlane", "spec": {"kubeadmConfigSpec": config}})
    };
    let mut live = kcp(
        "v1beta1",
        json!({"useExperimentalRetryJoin": true, "files": [{"path": "/a", "append": false}],
        "clusterConfiguration": {"clusterName": "x", "apiServer": {"timeoutForControlPlane": "4m", "extraArgs": {"b": "2", "a": "1"}}}}),
    );
    let wanted = kcp(
        "v1beta2",
        json!({"files": [{"path": "/a"}],
        "initConfiguration": {"timeouts": {"controlPlaneComponentHealthCheckSeconds": 240}},
        "joinConfiguration": {"timeouts": {"controlPlaneComponentHealthCheckSeconds": 240}},
        "clusterConfiguration": {"apiServer": {"extraArgs": [{"name": "a", "value": "1"}, {"name": "b", "value": "2"}]}}}),
    );
    reshape(&mut live, &wanted);
    assert_eq!(live, wanted);
}

#[test]
fn references_in_lists_keep_the_namespace_that_the_chart_says() {
    let class = |version: &str, workers: Value| json!({"apiVersion": format!("cluster.x-k8s.io/{version}"), "kind": "ClusterClass", "spec": {"workers": workers}});
    let template =
        |name: &str| json!({"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "T", "name": name});
    let old = |names: &[&str]| -> Value {
        let worker = |name: &&str| {
            let mut reference = template(name);
            reference["namespace"] = format!("of-{name}").into();
            json!({"class": name, "template": {"infrastructure": {"ref": reference}}})
        };
        json!({"machineDeployments": names.iter().map(worker).collect::<Vec<_>>()})
    };
    let new = |names: &[&str]| -> Value {
        let worker = |name: &&str| json!({"class": name, "infrastructure": {"templateRef": template(name)}});
        json!({"machineDeployments": names.iter().map(worker).collect::<Vec<_>>()})
    };
    let mut live = class("v1beta2", new(&["a", "b"]));
    assert!(reshape(&mut live, &class("v1beta1", old(&["b", "a", "c"]))));
    assert_eq!(live, class("v1beta1", old(&["a", "b"])));
}

#[test]
fn what_is_left_of_a_map_follows_its_parts_in_both_directions() {
    let kcp = |version: &str, spec: Value| json!({"apiVersion": format!("controlplane.cluster.x-k8s.io/{version}"), "kind": "KubeadmControlPlane", "spec": spec});
    let old = kcp(
        "v1beta1",
        json!({"remediationStrategy": {"maxRetry": 3, "retryPeriod": "20s", "minHealthyPeriod": "1h0m0s"}}),
    );
    let new = kcp(
        "v1beta2",
        json!({"remediation": {"maxRetry": 3, "retryPeriodSeconds": 20, "minHealthyPeriodSeconds": 3600}}),
    );
    let mut live = old.clone();
    assert!(reshape(&mut live, &new));
    assert_eq!(live, new);
    assert!(reshape(&mut live, &old));
    assert!(crate::compare::changes(&live, &old).is_empty(), "{live}");
}

#[test]
fn the_parameters_of_a_bond_are_a_map_in_one_version_and_a_sorted_list_in_the_other() {
    let template = |version: &str, parameters: Value| {
        json!({"apiVersion": format!("infrastructure.cluster.x-k8s.io/{version}"), "kind": "Metal3DataTemplate",
            "spec": {"clusterName": "edge", "networkData": {"links": {"bonds": [{"id": "bond0", "parameters": parameters}]}}}})
    };
    let old = template("v1beta1", json!({"primary": {"v": "a"}, "mode": {"v": 1}}));
    let new =
        template("v1beta2", json!([{"name": "mode", "value": {"v": 1}}, {"name": "primary", "value": {"v": "a"}}]));
    let mut there = old.clone();
    assert!(reshape(&mut there, &new));
    assert_eq!(there, new);
    let mut back = new;
    assert!(reshape(&mut back, &old));
    assert_eq!(back["spec"], template("v1beta1", json!({"mode": {"v": 1}, "primary": {"v": "a"}}))["spec"]);
}

/// A value with something at every place of a schema.
fn filled(node: &crate::schema::SchemaNode, depth: usize) -> Value {
    use crate::schema::{SchemaShape, Type};
    match &node.shape {
        _ if depth > 12 => json!("5m"),
        SchemaShape::Fields { fields, .. } => {
            Value::Object(fields.iter().map(|(key, field)| (*key, filled(field, depth + 1))).collect())
        }
        SchemaShape::Map { values, .. } => json!({"key": filled(values, depth + 1)}),
        SchemaShape::List { items, .. } => json!([filled(items, depth + 1)]),
        SchemaShape::Leaf(Type::Boolean) => json!(true),
        SchemaShape::Leaf(Type::Number) => json!(7),
        SchemaShape::Leaf(Type::Empty) => json!({}),
        SchemaShape::Leaf(_) => json!("5m"),
    }
}

#[test]
fn every_field_finds_its_place_in_the_other_version() {
    let mut lost = Vec::new();
    for kind in KINDS {
        let version = |version: &str| format!("{}/{version}", kind.0);
        for (from, to) in [("v1beta1", "v1beta2"), ("v1beta2", "v1beta1")] {
            let schema = |at: &str| crate::schema::builtin(&version(at), kind.1).expect("in the table");
            let mut object = json!({"apiVersion": version(from), "kind": kind.1, "spec": filled(schema(from), 0)});
            let wanted = json!({"apiVersion": version(to), "kind": kind.1});
            reshape(&mut object, &wanted);
            let shape = Shape::of(kind.1, &version(to), &Versions::told("cluster-api", "")).expect("in the table");
            let unknown = shape.prune(&mut object["spec"], &Path::root().key("spec"));
            lost.extend(unknown.iter().map(|path| format!("{} {to} {path}", kind.1)));
        }
    }
    assert!(lost.is_empty(), "{} places:\n{}", lost.len(), lost.join("\n"));
}

/// Kinds whose versions differ.
const KINDS: [(&str, &str); 17] = [
    ("cluster.x-k8s.io", "Cluster"),
    ("cluster.x-k8s.io", "ClusterClass"),
    ("cluster.x-k8s.io", "Machine"),
    ("cluster.x-k8s.io", "MachineDeployment"),
    ("cluster.x-k8s.io", "MachineHealthCheck"),
    ("cluster.x-k8s.io", "MachinePool"),
    ("cluster.x-k8s.io", "MachineSet"),
    ("bootstrap.cluster.x-k8s.io", "KubeadmConfig"),
    ("bootstrap.cluster.x-k8s.io", "KubeadmConfigTemplate"),
    ("bootstrap.cluster.x-k8s.io", "RKE2Config"),
    ("bootstrap.cluster.x-k8s.io", "RKE2ConfigTemplate"),
    ("controlplane.cluster.x-k8s.io", "KubeadmControlPlane"),
    ("controlplane.cluster.x-k8s.io", "KubeadmControlPlaneTemplate"),
    ("controlplane.cluster.x-k8s.io", "RKE2ControlPlane"),
    ("controlplane.cluster.x-k8s.io", "RKE2ControlPlaneTemplate"),
    ("infrastructure.cluster.x-k8s.io", "Metal3MachineTemplate"),
    ("infrastructure.cluster.x-k8s.io", "Metal3DataTemplate"),
];

#[test]
fn equal_versions_and_unknown_kinds_keep_their_form() {
    assert!(!reshape(&mut old(), &old()));
    let template = |version: &str| json!({"apiVersion": format!("infrastructure.cluster.x-k8s.io/{version}"), "kind": "T", "spec": {"a": 1}});
    assert!(!reshape(&mut template("v1beta1"), &template("v1beta2")));
}

#[test]
fn a_control_plane_of_k0s_gets_its_new_names_and_the_type_of_its_provisioner() {
    let object = |version: &str, config: Value| {
        json!({"apiVersion": format!("controlplane.cluster.x-k8s.io/{version}"), "kind": "K0sControlPlane",
            "spec": {"version": "v1.31.2", "k0sConfigSpec": config}})
    };
    let old = object(
        "v1beta1",
        json!({"args": ["a"], "preStartCommands": ["b"], "postStartCommands": ["c"], "ignition": {"variant": "fcos"},
            "customUserDataRef": {"secretRef": {"name": "s", "key": "k"}}}),
    );
    let new = object(
        "v1beta2",
        json!({"args": ["a"], "preK0sCommands": ["b"], "postK0sCommands": ["c"], "provisioner": {"type": "ignition",
            "ignition": {"variant": "fcos"}, "customUserDataRef": {"secretRef": {"name": "s", "key": "k"}}}}),
    );
    let mut there = old.clone();
    assert!(reshape(&mut there, &new));
    assert_eq!(there, new);
    let mut back = new;
    assert!(reshape(&mut back, &old));
    assert_eq!(back, old);
    let mut plain =
        object("v1beta2", json!({"args": [], "provisioner": {"type": "cloud-config", "platform": "linux"}}));
    assert!(reshape(&mut plain, &old));
    assert_eq!(plain, object("v1beta1", json!({"args": []})));
}
