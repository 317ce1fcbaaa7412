//! Changes to an RKE2 control plane. Its first Machine is all that comes up in memory, and all that the decision needs.

use std::collections::BTreeMap;

use serde_json::json;

use super::Edit::{Copy, Reverse, Set, Unset};
use super::{Case, Objects, case, machine_template};

/// A control plane whose first Machine runs.
pub(crate) fn objects() -> Objects {
    let cluster = json!({
        "apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "Cluster", "metadata": {"name": "demo"},
        "spec": {
            "clusterNetwork": {"pods": {"cidrBlocks": ["192.168.0.0/16"]}},
            "controlPlaneRef": {"apiVersion": "controlplane.cluster.x-k8s.io/v1beta1", "kind": "RKE2ControlPlane", "name": "cp"},
            "infrastructureRef": {"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "DevCluster", "name": "demo"},
        },
    });
    let infra = json!({
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "DevCluster", "metadata": {"name": "demo"},
        "spec": {"backend": {"inMemory": {}}},
    });
    let cp = json!({
        "apiVersion": "controlplane.cluster.x-k8s.io/v1beta1", "kind": "RKE2ControlPlane", "metadata": {"name": "cp"},
        "spec": {
            "replicas": 3, "version": "v1.34.1+rke2r1", "registrationMethod": "control-plane-endpoint",
            "rolloutStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0}},
            "machineTemplate": {"infrastructureRef": {"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "DevMachineTemplate", "name": "cp"}},
            "serverConfig": {"cni": "calico", "tlsSan": ["one.example", "two.example"]},
            "agentConfig": {"nodeLabels": ["a=b", "c=d"]},
            "files": [{"path": "/etc/motd", "content": "one\n"}],
            "preRKE2Commands": ["hostname"],
        },
    });
    let mut template = machine_template("cp");
    template["apiVersion"] = json!("infrastructure.cluster.x-k8s.io/v1beta1");
    BTreeMap::from([("cluster", cluster), ("infra", infra), ("cp", cp), ("template", template)])
}

/// Changes of the control plane above.
pub(crate) const CASES: &[Case] = &[
    case("rke2: nothing", &[]),
    case("rke2: label of its own", &[Set("cp", "/metadata/labels/team", r#""a""#)]),
    case("rke2: drain timeout", &[Set("cp", "/spec/machineTemplate/nodeDrainTimeout", r#""1m""#)]),
    case("rke2: deletion timeout", &[Set("cp", "/spec/machineTemplate/nodeDeletionTimeout", r#""1m""#)]),
    case("rke2: labels of Machines", &[Set("cp", "/spec/machineTemplate/metadata/labels", r#"{"tier": "gold"}"#)]),
    case("rke2: annotations of Machines", &[Set("cp", "/spec/machineTemplate/metadata/annotations", r#"{"n": "x"}"#)]),
    case("rke2: surge", &[Set("cp", "/spec/rolloutStrategy/rollingUpdate/maxSurge", "1")]),
    case("rke2: remediation", &[Set("cp", "/spec/remediationStrategy", r#"{"maxRetry": 3}"#)]),
    case("rke2: default pause image spelled out", &[Set("cp", "/spec/serverConfig/pauseImage", r#""""#)]),
    case("rke2: file changed", &[Set("cp", "/spec/files/0/content", r#""changed\n""#)]),
    case("rke2: file added", &[Set("cp", "/spec/files/-", r#"{"path": "/etc/new", "content": "x"}"#)]),
    case("rke2: command", &[Set("cp", "/spec/preRKE2Commands/0", r#""true""#)]),
    case("rke2: commands removed", &[Unset("cp", "/spec/preRKE2Commands")]),
    case("rke2: commands afterwards", &[Set("cp", "/spec/postRKE2Commands", r#"["true"]"#)]),
    case("rke2: version", &[Set("cp", "/spec/version", r#""v1.34.2+rke2r1""#)]),
    case("rke2: cni", &[Set("cp", "/spec/serverConfig/cni", r#""cilium""#)]),
    case("rke2: certificate name", &[Set("cp", "/spec/serverConfig/tlsSan/-", r#""three.example""#)]),
    case("rke2: certificate names in another order", &[Reverse("cp", "/spec/serverConfig/tlsSan")]),
    case("rke2: API server argument", &[Set("cp", "/spec/serverConfig/kubeAPIServer", r#"{"extraArgs": ["v=4"]}"#)]),
    case("rke2: node label", &[Set("cp", "/spec/agentConfig/nodeLabels/0", r#""a=z""#)]),
    case("rke2: node labels in another order", &[Reverse("cp", "/spec/agentConfig/nodeLabels")]),
    case("rke2: kubelet argument", &[Set("cp", "/spec/agentConfig/kubelet", r#"{"extraArgs": ["v=4"]}"#)]),
    case("rke2: ntp", &[Set("cp", "/spec/agentConfig/ntp", r#"{"enabled": true, "servers": ["pool.example"]}"#)]),
    case(
        "rke2: machine template renamed, same content",
        &[Copy("template", "template-b"), Set("cp", "/spec/machineTemplate/infrastructureRef/name", r#""cp-b""#)],
    ),
    case(
        "rke2: registration method",
        &[
            Set("cp", "/spec/registrationMethod", r#""address""#),
            Set("cp", "/spec/registrationAddress", r#""127.0.0.1""#),
        ],
    ),
];
