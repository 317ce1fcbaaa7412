//! The objects of a release, and edits of them. Every step of a walk is data, so that it can be played again.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// The objects of a release by kind and name: `MachineDeployment/md-a`.
pub(crate) type Objects = BTreeMap<String, Value>;

/// One edit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Edit {
    /// Sets a field, with the maps on the way to it; `-` appends to a list.
    Set(String, String, Value),
    /// Takes a field away.
    Unset(String, String),
    /// Turns a list round.
    Reverse(String, String),
    /// Adds an object, or puts it in the place of the old one.
    Put(Value),
    /// Takes an object away.
    Remove(String),
}

/// The name of an object among the others.
pub(crate) fn called(object: &Value) -> String {
    format!("{}/{}", text(&object["kind"]), text(&object["metadata"]["name"]))
}

/// A text, empty where there is none.
pub(crate) fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

impl Edit {
    /// Does it; an edit whose object or field is gone does nothing.
    pub(crate) fn apply(&self, objects: &mut Objects) {
        match self {
            Self::Put(object) => drop(objects.insert(called(object), object.clone())),
            Self::Remove(name) => drop(objects.remove(name)),
            Self::Set(name, pointer, value) => {
                if let Some(object) = objects.get_mut(name) {
                    set(object, pointer, value);
                }
            }
            Self::Unset(name, pointer) => {
                let (parent, last) = pointer.rsplit_once('/').expect("a pointer has a slash");
                match objects.get_mut(name).and_then(|object| object.pointer_mut(parent)) {
                    Some(Value::Object(map)) => drop(map.shift_remove(&plain(last))),
                    Some(Value::Array(list)) => {
                        if let Some(place) = last.parse().ok().filter(|place| *place < list.len()) {
                            list.remove(place);
                        }
                    }
                    _ => {}
                }
            }
            Self::Reverse(name, pointer) => {
                let list = objects.get_mut(name).and_then(|object| object.pointer_mut(pointer));
                if let Some(list) = list.and_then(Value::as_array_mut) {
                    list.reverse();
                }
            }
        }
    }
}

fn plain(step: &str) -> String {
    step.replace("~1", "/").replace("~0", "~")
}

/// Sets a field where the way to it can be made.
fn set(object: &mut Value, pointer: &str, value: &Value) {
    let mut at = object;
    let mut steps = pointer.split('/').skip(1).peekable();
    while let Some(step) = steps.next() {
        let step = plain(step);
        if at.is_null() {
            *at = if step == "-" { json!([]) } else { json!({}) };
        }
        let inner = match at {
            Value::Array(list) => {
                let place = if step == "-" { list.len() } else { step.parse().unwrap_or(usize::MAX) };
                if place == list.len() {
                    list.push(Value::Null);
                }
                list.get_mut(place)
            }
            Value::Object(map) => Some(map.entry(step).or_insert(Value::Null)),
            _ => None,
        };
        let Some(inner) = inner else { return };
        if steps.peek().is_none() {
            *inner = value.clone();
            return;
        }
        at = inner;
    }
}

/// A cluster that walks start from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Shape {
    /// A kubeadm control plane with so many Machines, two groups of workers and a health check.
    Kubeadm(u8),
    /// An RKE2 control plane whose first Machine is all that comes up.
    Rke2,
    /// An RKE2 control plane with so many Machines and a group of workers, whose servers are looked after (`tests/e2e/servers.rs`).
    Rke2Servers(u8),
    /// A Cluster with a topology and so many Machines in its control plane.
    Topology(u8),
}

/// Bootstrap of a group's Machines, and what they run on.
fn reference(group: &str, kind: &str, name: &str) -> Value {
    json!({"apiGroup": format!("{group}.cluster.x-k8s.io"), "kind": kind, "name": name})
}

/// Metadata with an annotation: the controller of DevClusters in memory fails (`assignment to entry in nil map`) at one that has none,
/// as after `kubectl apply --server-side`.
fn annotated(name: &str) -> Value {
    json!({"name": name, "annotations": {"hunt/made": "true"}})
}

/// A machine template whose Machines start at once.
pub(crate) fn machine_template(name: &str) -> Value {
    let second = json!({"provisioning": {"startupDuration": "1s"}});
    json!({
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": "DevMachineTemplate", "metadata": {"name": name},
        "spec": {"template": {"spec": {"backend": {"inMemory": {"vm": second, "node": second, "apiServer": second, "etcd": second}}}}},
    })
}

/// A template of bootstrap configs.
pub(crate) fn config_template(name: &str) -> Value {
    json!({
        "apiVersion": "bootstrap.cluster.x-k8s.io/v1beta2", "kind": "KubeadmConfigTemplate", "metadata": {"name": name},
        "spec": {"template": {"spec": {
            "files": [{"path": "/etc/motd", "content": "worker\n"}],
            "joinConfiguration": {"nodeRegistration": {"kubeletExtraArgs": [{"name": "v", "value": "2"}, {"name": "cloud-provider", "value": "external"}]}},
        }}},
    })
}

/// A group of workers.
pub(crate) fn workers(name: &str, replicas: u8) -> Value {
    let labels = json!({"pool": name, "cluster.x-k8s.io/cluster-name": "demo"});
    json!({
        "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "MachineDeployment", "metadata": {"name": name},
        "spec": {
            "clusterName": "demo", "replicas": replicas, "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {
                    "clusterName": "demo", "version": "v1.34.0",
                    "bootstrap": {"configRef": reference("bootstrap", "KubeadmConfigTemplate", "workers")},
                    "infrastructureRef": reference("infrastructure", "DevMachineTemplate", "workers"),
                },
            },
        },
    })
}

/// A health check over the Machines with some labels: Machines with the condition `Sick`, or whose Node is not ready, are replaced.
pub(crate) fn health_check(name: &str, labels: &Value) -> Value {
    json!({
        "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "MachineHealthCheck", "metadata": {"name": name},
        "spec": {
            "clusterName": "demo", "selector": {"matchLabels": labels},
            "checks": {
                "nodeStartupTimeoutSeconds": 600,
                "unhealthyMachineConditions": [{"type": "Sick", "status": "True", "timeoutSeconds": 0}],
            },
        },
    })
}

impl Shape {
    /// All of them, as often as they are played.
    pub(crate) const ALL: [Self; 10] = [
        Self::Kubeadm(1),
        Self::Topology(1),
        Self::Kubeadm(1),
        Self::Rke2Servers(1),
        Self::Kubeadm(3),
        Self::Rke2Servers(3),
        Self::Topology(1),
        Self::Kubeadm(1),
        Self::Rke2,
        Self::Topology(3),
    ];

    /// The objects that are installed first.
    pub(crate) fn objects(self) -> Objects {
        let list = match self {
            Self::Kubeadm(replicas) => kubeadm(replicas),
            Self::Rke2 => rke2(3),
            Self::Rke2Servers(replicas) => rke2_with_workers(replicas),
            Self::Topology(replicas) => topology(replicas),
        };
        list.into_iter().map(|object| (called(&object), object)).collect()
    }

    /// Machines that run when it is up.
    pub(crate) const fn machines(self) -> usize {
        match self {
            Self::Kubeadm(replicas) => replicas as usize + 3,
            Self::Rke2 => 1,
            Self::Rke2Servers(replicas) => replicas as usize + 2,
            Self::Topology(replicas) => replicas as usize + 2,
        }
    }

    /// The kind of the bootstrap configs of its workers.
    pub(crate) const fn config_kind(self) -> &'static str {
        if self.is_rke2() { "RKE2ConfigTemplate" } else { "KubeadmConfigTemplate" }
    }

    /// A template of bootstrap configs of its workers.
    pub(crate) fn config_template(self, name: &str) -> Value {
        if self.is_rke2() { rke2_config_template(name) } else { config_template(name) }
    }

    /// Whether its control plane is of RKE2.
    pub(crate) const fn is_rke2(self) -> bool {
        matches!(self, Self::Rke2 | Self::Rke2Servers(_))
    }
}

fn kubeadm(replicas: u8) -> Vec<Value> {
    let cluster = json!({
        "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "metadata": {"name": "demo"},
        "spec": {
            "clusterNetwork": {"pods": {"cidrBlocks": ["192.168.0.0/16"]}},
            "controlPlaneRef": reference("controlplane", "KubeadmControlPlane", "cp"),
            "infrastructureRef": reference("infrastructure", "DevCluster", "demo"),
        },
    });
    let infra = json!({
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": "DevCluster", "metadata": annotated("demo"),
        "spec": {"backend": {"inMemory": {}}},
    });
    let owner = json!({
        "apiVersion": "controlplane.cluster.x-k8s.io/v1beta2", "kind": "KubeadmControlPlane", "metadata": {"name": "cp"},
        "spec": {
            "replicas": replicas, "version": "v1.34.0",
            "machineTemplate": {"spec": {"infrastructureRef": reference("infrastructure", "DevMachineTemplate", "cp")}},
            "kubeadmConfigSpec": {
                "clusterConfiguration": {"apiServer": {"certSANs": ["127.0.0.1"], "extraArgs": [{"name": "v", "value": "2"}, {"name": "profiling", "value": "false"}]}},
                "initConfiguration": {"nodeRegistration": {"kubeletExtraArgs": [{"name": "v", "value": "2"}]}},
                "joinConfiguration": {"nodeRegistration": {"kubeletExtraArgs": [{"name": "v", "value": "2"}]}},
                "files": [{"path": "/etc/motd", "content": "one\n"}, {"path": "/etc/issue", "content": "two\n"}],
                "preKubeadmCommands": ["hostname"],
            },
        },
    });
    vec![
        cluster,
        infra,
        owner,
        machine_template("cp"),
        workers("md-a", 2),
        workers("md-b", 1),
        config_template("workers"),
        machine_template("workers"),
        health_check("check-a", &json!({"pool": "md-a"})),
    ]
}

fn rke2(replicas: u8) -> Vec<Value> {
    let old = |group: &str, kind: &str, name: &str| json!({"apiVersion": format!("{group}.cluster.x-k8s.io/v1beta1"), "kind": kind, "name": name});
    let cluster = json!({
        "apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "Cluster", "metadata": {"name": "demo"},
        "spec": {
            "clusterNetwork": {"pods": {"cidrBlocks": ["192.168.0.0/16"]}},
            "controlPlaneRef": old("controlplane", "RKE2ControlPlane", "cp"),
            "infrastructureRef": old("infrastructure", "DevCluster", "demo"),
        },
    });
    let infra = json!({
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "DevCluster", "metadata": annotated("demo"),
        "spec": {"backend": {"inMemory": {}}},
    });
    let owner = json!({
        "apiVersion": "controlplane.cluster.x-k8s.io/v1beta1", "kind": "RKE2ControlPlane", "metadata": {"name": "cp"},
        "spec": {
            "replicas": replicas, "version": "v1.34.1+rke2r1", "registrationMethod": "control-plane-endpoint",
            "rolloutStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0}},
            "machineTemplate": {"infrastructureRef": old("infrastructure", "DevMachineTemplate", "cp")},
            "serverConfig": {"cni": "calico", "tlsSan": ["one.example", "two.example"]},
            "agentConfig": {"nodeLabels": ["a=b", "c=d"]},
            "files": [{"path": "/etc/motd", "content": "one\n"}],
            "preRKE2Commands": ["hostname"],
        },
    });
    let mut template = machine_template("cp");
    template["apiVersion"] = json!("infrastructure.cluster.x-k8s.io/v1beta1");
    vec![cluster, infra, owner, template]
}

fn rke2_config_template(name: &str) -> Value {
    json!({
        "apiVersion": "bootstrap.cluster.x-k8s.io/v1beta1", "kind": "RKE2ConfigTemplate", "metadata": {"name": name},
        "spec": {"template": {"spec": {
            "agentConfig": {"nodeLabels": ["a=b"], "kubelet": {"extraArgs": ["v=2"]}},
            "files": [{"path": "/etc/motd", "content": "worker\n"}],
            "preRKE2Commands": ["hostname"],
        }}},
    })
}

fn rke2_with_workers(replicas: u8) -> Vec<Value> {
    let mut list = rke2(replicas);
    for object in &mut list {
        if object["kind"] == "RKE2ControlPlane" {
            object["spec"]["rolloutStrategy"]["rollingUpdate"]["maxSurge"] = json!(1);
        }
    }
    let mut group = workers("md-a", 2);
    group["spec"]["template"]["spec"]["version"] = json!("v1.34.1+rke2r1");
    group["spec"]["template"]["spec"]["bootstrap"]["configRef"] =
        reference("bootstrap", "RKE2ConfigTemplate", "workers");
    let config = rke2_config_template("workers");
    list.extend([group, config, machine_template("workers"), health_check("check-a", &json!({"pool": "md-a"}))]);
    list
}

fn topology(replicas: u8) -> Vec<Value> {
    let of = |group: &str, kind: &str, name: &str, spec: Value| {
        json!({
            "apiVersion": format!("{group}.cluster.x-k8s.io/v1beta2"), "kind": kind, "metadata": {"name": name},
            "spec": {"template": {"spec": spec}},
        })
    };
    let from = |group: &str, kind: &str, name: &str| json!({"templateRef": {"apiVersion": format!("{group}.cluster.x-k8s.io/v1beta2"), "kind": kind, "name": name}});
    let mut control_plane = from("controlplane", "KubeadmControlPlaneTemplate", "cp");
    control_plane["machineInfrastructure"] = from("infrastructure", "DevMachineTemplate", "cp");
    let file = |kind: &str, group: &str, resources: Value, path: &str, template: &str| {
        json!({"selector": {"apiVersion": format!("{group}.cluster.x-k8s.io/v1beta2"), "kind": kind, "matchResources": resources},
            "jsonPatches": [{"op": "add", "path": path, "valueFrom": {"template": template}}]})
    };
    let class = json!({
        "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "ClusterClass", "metadata": {"name": "class"},
        "spec": {
            "infrastructure": from("infrastructure", "DevClusterTemplate", "infra"),
            "controlPlane": control_plane,
            "workers": {"machineDeployments": [{
                "class": "worker",
                "bootstrap": from("bootstrap", "KubeadmConfigTemplate", "workers"),
                "infrastructure": from("infrastructure", "DevMachineTemplate", "workers"),
            }]},
            "variables": [
                {"name": "motd", "required": false, "schema": {"openAPIV3Schema": {"type": "string", "default": "one"}}},
                {"name": "issue", "required": false, "schema": {"openAPIV3Schema": {"type": "string", "default": "two"}}},
                {"name": "unused", "required": false, "schema": {"openAPIV3Schema": {"type": "integer"}}},
            ],
            "patches": [{"name": "files", "definitions": [
                file("KubeadmControlPlaneTemplate", "controlplane", json!({"controlPlane": true}),
                    "/spec/template/spec/kubeadmConfigSpec/files", "- path: /etc/motd\n  content: {{ .motd }}\n"),
                file("KubeadmConfigTemplate", "bootstrap", json!({"machineDeploymentClass": {"names": ["worker"]}}),
                    "/spec/template/spec/files", "- path: /etc/issue\n  content: {{ .issue }}\n"),
            ]}],
        },
    });
    let cluster = json!({
        "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "metadata": {"name": "demo"},
        "spec": {
            "clusterNetwork": {"pods": {"cidrBlocks": ["192.168.0.0/16"]}},
            "topology": {
                "classRef": {"name": "class"}, "version": "v1.34.0", "controlPlane": {"replicas": replicas},
                "workers": {"machineDeployments": [
                    {"class": "worker", "name": "md-a", "replicas": 1}, {"class": "worker", "name": "md-b", "replicas": 1},
                ]},
                "variables": [{"name": "motd", "value": "one"}, {"name": "issue", "value": "two"}],
            },
        },
    });
    vec![
        class,
        of("infrastructure", "DevClusterTemplate", "infra", json!({"backend": {"inMemory": {}}})),
        of(
            "controlplane",
            "KubeadmControlPlaneTemplate",
            "cp",
            json!({"kubeadmConfigSpec": {
                "clusterConfiguration": {"apiServer": {"certSANs": ["127.0.0.1"]}},
            }}),
        ),
        machine_template("cp"),
        config_template("workers"),
        machine_template("workers"),
        cluster,
    ]
}
