//! Changes to a Cluster with a topology and to its ClusterClass.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::Edit::{Copy, Set};
use super::{Case, Objects, case, long, machine_template};

fn template(kind: &str, group: &str, name: &str) -> Value {
    json!({"templateRef": {"apiVersion": format!("{group}.cluster.x-k8s.io/v1beta2"), "kind": kind, "name": name}})
}

fn class() -> Value {
    let mut control_plane = template("KubeadmControlPlaneTemplate", "controlplane", "cp");
    control_plane["machineInfrastructure"] = template("DevMachineTemplate", "infrastructure", "cp");
    json!({
        "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "ClusterClass", "metadata": {"name": "class"},
        "spec": {
            "infrastructure": template("DevClusterTemplate", "infrastructure", "infra"),
            "controlPlane": control_plane,
            "workers": {"machineDeployments": [{
                "class": "worker",
                "bootstrap": template("KubeadmConfigTemplate", "bootstrap", "workers"),
                "infrastructure": template("DevMachineTemplate", "infrastructure", "workers"),
            }]},
            "variables": [{"name": "motd", "required": false, "schema": {"openAPIV3Schema": {"type": "string", "default": "one"}}}],
            "patches": [{"name": "motd", "definitions": [{
                "selector": {
                    "apiVersion": "controlplane.cluster.x-k8s.io/v1beta2", "kind": "KubeadmControlPlaneTemplate",
                    "matchResources": {"controlPlane": true},
                },
                "jsonPatches": [{"op": "add", "path": "/spec/template/spec/kubeadmConfigSpec/files", "valueFrom": {
                    "template": "- path: /etc/motd\n  content: {{ .motd }}\n",
                }}],
            }]}],
        },
    })
}

/// One control plane Machine and one worker, both made from the class.
pub(crate) fn objects() -> Objects {
    let cluster = json!({
        "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "metadata": {"name": "demo"},
        "spec": {
            "clusterNetwork": {"pods": {"cidrBlocks": ["192.168.0.0/16"]}},
            "topology": {
                "classRef": {"name": "class"}, "version": "v1.34.0", "controlPlane": {"replicas": 1},
                "workers": {"machineDeployments": [{"class": "worker", "name": "md", "replicas": 1}]},
                "variables": [{"name": "motd", "value": "one"}],
            },
        },
    });
    let infra = json!({
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": "DevClusterTemplate", "metadata": {"name": "infra"},
        "spec": {"template": {"spec": {"backend": {"inMemory": {}}}}},
    });
    let cp = json!({
        "apiVersion": "controlplane.cluster.x-k8s.io/v1beta2", "kind": "KubeadmControlPlaneTemplate", "metadata": {"name": "cp"},
        "spec": {"template": {"spec": {"kubeadmConfigSpec": {
            "clusterConfiguration": {"apiServer": {"certSANs": ["127.0.0.1"]}},
        }}}},
    });
    let config = json!({
        "apiVersion": "bootstrap.cluster.x-k8s.io/v1beta2", "kind": "KubeadmConfigTemplate", "metadata": {"name": "workers"},
        "spec": {"template": {"spec": {"joinConfiguration": {"nodeRegistration": {"kubeletExtraArgs": [{"name": "v", "value": "2"}]}}}}},
    });
    BTreeMap::from([
        ("class", class()),
        ("cluster", cluster),
        ("infra", infra),
        ("cp", cp),
        ("cp-template", machine_template("cp")),
        ("config", config),
        ("template", machine_template("workers")),
    ])
}

/// Changes of the cluster above.
pub(crate) const CASES: &[Case] = &[
    case("topology: nothing", &[]),
    case("topology: label of its own", &[Set("cluster", "/metadata/labels/team", r#""a""#)]),
    case(
        "topology: labels of control plane Machines",
        &[Set("cluster", "/spec/topology/controlPlane/metadata/labels/tier", r#""gold""#)],
    ),
    case(
        "topology: control plane drain timeout",
        &[Set("cluster", "/spec/topology/controlPlane/deletion/nodeDrainTimeoutSeconds", "60")],
    ),
    case(
        "topology: labels of worker Machines",
        &[Set("cluster", "/spec/topology/workers/machineDeployments/0/metadata/labels/tier", r#""gold""#)],
    ),
    case(
        "topology: worker drain timeout",
        &[Set("cluster", "/spec/topology/workers/machineDeployments/0/deletion/nodeDrainTimeoutSeconds", "60")],
    ),
    case("topology: class label", &[Set("class", "/metadata/labels/team", r#""a""#)]),
    case("topology: two workers", &[Set("cluster", "/spec/topology/workers/machineDeployments/0/replicas", "2")]),
    case("topology: variable", &[Set("cluster", "/spec/topology/variables/0/value", r#""two""#)]),
    long(
        "topology: control plane template renamed and changed",
        &[
            Copy("cp", "cp-b"),
            Set("cp-b", "/spec/template/spec/kubeadmConfigSpec/verbosity", "4"),
            Set("class", "/spec/controlPlane/templateRef/name", r#""cp-b""#),
        ],
    ),
    case(
        "topology: worker config template renamed and changed",
        &[
            Copy("config", "config-b"),
            Set("config-b", "/spec/template/spec/verbosity", "4"),
            Set("class", "/spec/workers/machineDeployments/0/bootstrap/templateRef/name", r#""workers-b""#),
        ],
    ),
    long("topology: version", &[Set("cluster", "/spec/topology/version", r#""v1.34.1""#)]),
];
