//! Changes to a cluster with a kubeadm control plane, to its workers and to its health check.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::Edit::{Copy, Remove, Reverse, Set, Unset};
use super::{Case, Objects, case, long, machine_template};

fn config_template(name: &str) -> Value {
    json!({
        "apiVersion": "bootstrap.cluster.x-k8s.io/v1beta2", "kind": "KubeadmConfigTemplate", "metadata": {"name": name},
        "spec": {"template": {"spec": {
            "files": [{"path": "/etc/motd", "content": "worker\n"}],
            "joinConfiguration": {"nodeRegistration": {"kubeletExtraArgs": [{"name": "v", "value": "2"}]}},
        }}},
    })
}

fn worker(name: &str, kind: &str) -> Value {
    // With the cluster's label: without it the controller adds it to a MachineSet's selector, owns that from then on, and
    // every further apply by Helm 4 ends in a conflict.
    let labels = json!({"pool": name, "cluster.x-k8s.io/cluster-name": "demo"});
    json!({
        "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": kind, "metadata": {"name": name},
        "spec": {
            "clusterName": "demo", "replicas": 1, "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {
                    "clusterName": "demo", "version": "v1.34.0",
                    "bootstrap": {"configRef": {"apiGroup": "bootstrap.cluster.x-k8s.io", "kind": "KubeadmConfigTemplate", "name": "workers"}},
                    "infrastructureRef": {"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "DevMachineTemplate", "name": "workers"},
                },
            },
        },
    })
}

/// One control plane Machine, one of a MachineDeployment, one of a MachineSet, and a health check.
pub(crate) fn objects() -> Objects {
    let cluster = json!({
        "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "metadata": {"name": "demo"},
        "spec": {
            "clusterNetwork": {"pods": {"cidrBlocks": ["192.168.0.0/16"]}},
            "controlPlaneRef": {"apiGroup": "controlplane.cluster.x-k8s.io", "kind": "KubeadmControlPlane", "name": "cp"},
            "infrastructureRef": {"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "DevCluster", "name": "demo"},
        },
    });
    let infra = json!({
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": "DevCluster", "metadata": {"name": "demo"},
        "spec": {"backend": {"inMemory": {}}},
    });
    let kcp = json!({
        "apiVersion": "controlplane.cluster.x-k8s.io/v1beta2", "kind": "KubeadmControlPlane", "metadata": {"name": "cp"},
        "spec": {
            "replicas": 1, "version": "v1.34.0",
            "machineTemplate": {"spec": {"infrastructureRef": {"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "DevMachineTemplate", "name": "cp"}}},
            "kubeadmConfigSpec": {
                "clusterConfiguration": {"apiServer": {"certSANs": ["127.0.0.1"], "extraArgs": [{"name": "profiling", "value": "false"}, {"name": "v", "value": "2"}]}},
                "initConfiguration": {"nodeRegistration": {"kubeletExtraArgs": [{"name": "v", "value": "2"}]}},
                "joinConfiguration": {"nodeRegistration": {"kubeletExtraArgs": [{"name": "v", "value": "2"}]}},
                "files": [{"path": "/etc/motd", "content": "one\n"}, {"path": "/etc/issue", "content": "two\n"}],
                "preKubeadmCommands": ["hostname"],
            },
        },
    });
    let mhc = json!({
        "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "MachineHealthCheck", "metadata": {"name": "md"},
        "spec": {
            "clusterName": "demo", "selector": {"matchLabels": {"pool": "md"}},
            "checks": {"nodeStartupTimeoutSeconds": 600, "unhealthyNodeConditions": [{"type": "Ready", "status": "Unknown", "timeoutSeconds": 600}]},
        },
    });
    BTreeMap::from([
        ("cluster", cluster),
        ("infra", infra),
        ("kcp", kcp),
        ("cp-template", machine_template("cp")),
        ("md", worker("md", "MachineDeployment")),
        ("ms", worker("ms", "MachineSet")),
        ("config", config_template("workers")),
        ("template", machine_template("workers")),
        ("mhc", mhc),
    ])
}

/// Changes of the cluster above.
pub(crate) const CASES: &[Case] = &[
    case("nothing", &[]),
    // What should not replace a Machine.
    case("kcp: label of its own", &[Set("kcp", "/metadata/labels/team", r#""a""#)]),
    case("kcp: labels of Machines", &[Set("kcp", "/spec/machineTemplate/metadata/labels", r#"{"tier": "gold"}"#)]),
    case(
        "kcp: annotations of Machines",
        &[Set("kcp", "/spec/machineTemplate/metadata/annotations", r#"{"note": "x"}"#)],
    ),
    case("kcp: drain timeout", &[Set("kcp", "/spec/machineTemplate/spec/deletion/nodeDrainTimeoutSeconds", "60")]),
    case(
        "kcp: volume detach timeout",
        &[Set("kcp", "/spec/machineTemplate/spec/deletion/nodeVolumeDetachTimeoutSeconds", "60")],
    ),
    case(
        "kcp: deletion timeout",
        &[Set("kcp", "/spec/machineTemplate/spec/deletion/nodeDeletionTimeoutSeconds", "60")],
    ),
    case("kcp: default format spelled out", &[Set("kcp", "/spec/kubeadmConfigSpec/format", r#""cloud-config""#)]),
    case(
        "kcp: default strategy spelled out",
        &[Set("kcp", "/spec/rollout/strategy", r#"{"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}"#)],
    ),
    case("kcp: rollout after, in the future", &[Set("kcp", "/spec/rollout/after", r#""2099-01-01T00:00:00Z""#)]),
    case("kcp: certificates expire", &[Set("kcp", "/spec/rollout/before/certificatesExpiryDays", "7")]),
    case("kcp: remediation", &[Set("kcp", "/spec/remediation", r#"{"maxRetry": 3}"#)]),
    case(
        "kcp: naming of Machines",
        &[Set("kcp", "/spec/machineNaming", r#"{"template": "{{ .kubeadmControlPlane.name }}-{{ .random }}"}"#)],
    ),
    case("md: label of its own", &[Set("md", "/metadata/labels/team", r#""a""#)]),
    case("md: labels of Machines", &[Set("md", "/spec/template/metadata/labels/tier", r#""gold""#)]),
    case("md: annotations of Machines", &[Set("md", "/spec/template/metadata/annotations", r#"{"note": "x"}"#)]),
    case("md: drain timeout", &[Set("md", "/spec/template/spec/deletion/nodeDrainTimeoutSeconds", "60")]),
    case("md: min ready seconds", &[Set("md", "/spec/template/spec/minReadySeconds", "1")]),
    case("md: strategy OnDelete", &[Set("md", "/spec/rollout/strategy", r#"{"type": "OnDelete"}"#)]),
    case(
        "md: surge",
        &[Set("md", "/spec/rollout/strategy", r#"{"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 2}}"#)],
    ),
    case("md: deletion order", &[Set("md", "/spec/deletion/order", r#""Oldest""#)]),
    case("md: remediation", &[Set("md", "/spec/remediation", r#"{"maxInFlight": 1}"#)]),
    case("md: paused", &[Set("md", "/spec/paused", "true")]),
    case("md: rollout after, in the future", &[Set("md", "/spec/rollout/after", r#""2099-01-01T00:00:00Z""#)]),
    case(
        "md: bootstrap template edited in place",
        &[Set("config", "/spec/template/spec/files/0/content", r#""changed\n""#)],
    ),
    case(
        "md: OnDelete and version",
        &[
            Set("md", "/spec/rollout/strategy", r#"{"type": "OnDelete"}"#),
            Set("md", "/spec/template/spec/version", r#""v1.34.1""#),
        ],
    ),
    case("ms: labels of Machines", &[Set("ms", "/spec/template/metadata/labels/tier", r#""gold""#)]),
    case("ms: drain timeout", &[Set("ms", "/spec/template/spec/deletion/nodeDrainTimeoutSeconds", "60")]),
    case("ms: version", &[Set("ms", "/spec/template/spec/version", r#""v1.34.1""#)]),
    case("mhc: timeout", &[Set("mhc", "/spec/checks/nodeStartupTimeoutSeconds", "900")]),
    case("mhc: removed", &[Remove("mhc")]),
    case("cluster: label", &[Set("cluster", "/metadata/labels/team", r#""a""#)]),
    case("cluster: paused", &[Set("cluster", "/spec/paused", "true")]),
    // What should be refused.
    case(
        "ms: selector without the cluster",
        &[
            Set("ms", "/spec/selector/matchLabels", r#"{"pool": "ms"}"#),
            Set("ms", "/spec/template/metadata/labels", r#"{"pool": "ms"}"#),
        ],
    ),
    case(
        "kcp: no surge with one replica",
        &[Set("kcp", "/spec/rollout/strategy", r#"{"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0}}"#)],
    ),
    case("kcp: two replicas", &[Set("kcp", "/spec/replicas", "2")]),
    case(
        "kcp: certificates folder",
        &[Set("kcp", "/spec/kubeadmConfigSpec/clusterConfiguration/certificatesDir", r#""/tmp""#)],
    ),
    // The old Machine is left without an owner, and no later write takes it back.
    long(
        "md: selector",
        &[
            Set("md", "/spec/selector/matchLabels", r#"{"pool": "other"}"#),
            Set("md", "/spec/template/metadata/labels", r#"{"pool": "other"}"#),
        ],
    ),
    case(
        "md: other cluster",
        &[Set("md", "/spec/clusterName", r#""other""#), Set("md", "/spec/template/spec/clusterName", r#""other""#)],
    ),
    case(
        "template edited in place",
        &[Set("template", "/spec/template/spec/backend/inMemory/vm/provisioning/startupDuration", r#""2s""#)],
    ),
    // What should replace Machines, or change how many there are.
    case("md: two replicas", &[Set("md", "/spec/replicas", "2")]),
    case("ms: two replicas", &[Set("ms", "/spec/replicas", "2")]),
    case("md: no replicas", &[Set("md", "/spec/replicas", "0")]),
    case("md: version", &[Set("md", "/spec/template/spec/version", r#""v1.34.1""#)]),
    long("md: failure domain", &[Set("md", "/spec/template/spec/failureDomain", r#""a""#)]),
    case(
        "md: machine template renamed, same content",
        &[Copy("template", "template-b"), Set("md", "/spec/template/spec/infrastructureRef/name", r#""workers-b""#)],
    ),
    long(
        "md: bootstrap template renamed, same content",
        &[Copy("config", "config-b"), Set("md", "/spec/template/spec/bootstrap/configRef/name", r#""workers-b""#)],
    ),
    long("md: rollout after, in the past", &[Set("md", "/spec/rollout/after", r#""2020-01-01T00:00:00Z""#)]),
    case("kcp: file changed", &[Set("kcp", "/spec/kubeadmConfigSpec/files/0/content", r#""changed\n""#)]),
    long(
        "kcp: file added",
        &[Set("kcp", "/spec/kubeadmConfigSpec/files/-", r#"{"path": "/etc/new", "content": "x"}"#)],
    ),
    long("kcp: files in another order", &[Reverse("kcp", "/spec/kubeadmConfigSpec/files")]),
    case(
        "kcp: extra arguments in another order",
        &[Reverse("kcp", "/spec/kubeadmConfigSpec/clusterConfiguration/apiServer/extraArgs")],
    ),
    long(
        "kcp: API server argument",
        &[Set("kcp", "/spec/kubeadmConfigSpec/clusterConfiguration/apiServer/extraArgs/0/value", r#""true""#)],
    ),
    long(
        "kcp: certificate name",
        &[Set("kcp", "/spec/kubeadmConfigSpec/clusterConfiguration/apiServer/certSANs/-", r#""localhost""#)],
    ),
    case(
        "kcp: arguments of the first kubelet",
        &[Set("kcp", "/spec/kubeadmConfigSpec/initConfiguration/nodeRegistration/kubeletExtraArgs/0/value", r#""4""#)],
    ),
    case(
        "kcp: arguments of joining kubelets",
        &[Set("kcp", "/spec/kubeadmConfigSpec/joinConfiguration/nodeRegistration/kubeletExtraArgs/0/value", r#""4""#)],
    ),
    long("kcp: command", &[Set("kcp", "/spec/kubeadmConfigSpec/preKubeadmCommands/0", r#""true""#)]),
    long("kcp: commands removed", &[Unset("kcp", "/spec/kubeadmConfigSpec/preKubeadmCommands")]),
    long("kcp: ntp", &[Set("kcp", "/spec/kubeadmConfigSpec/ntp", r#"{"enabled": true, "servers": ["pool.example"]}"#)]),
    long("kcp: verbosity", &[Set("kcp", "/spec/kubeadmConfigSpec/verbosity", "5")]),
    long("kcp: version", &[Set("kcp", "/spec/version", r#""v1.34.1""#)]),
    long(
        "kcp: machine template renamed, same content",
        &[
            Copy("cp-template", "cp-template-b"),
            Set("kcp", "/spec/machineTemplate/spec/infrastructureRef/name", r#""cp-b""#),
        ],
    ),
    long("kcp: rollout after, in the past", &[Set("kcp", "/spec/rollout/after", r#""2020-01-01T00:00:00Z""#)]),
    long("md: removed", &[Remove("md")]),
];
