//! A made fleet: what a chart renders for many clusters, and what their controllers have made of it. 20 objects a cluster.

use std::fmt::Write as _;

use serde_json::{Value, json};

/// How the clusters are written down.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Layout {
    /// One chart renders every cluster, each into a namespace of its own.
    Chart,
    /// One ClusterClass, and clusters that only name it, all in one namespace.
    Class,
}

/// The namespace of everything that a class makes.
const CLASS_NAMESPACE: &str = "fleet";
const CORE: &str = "cluster.x-k8s.io";
const BOOTSTRAP: &str = "bootstrap.cluster.x-k8s.io";
const CONTROL_PLANE: &str = "controlplane.cluster.x-k8s.io";
const INFRASTRUCTURE: &str = "infrastructure.cluster.x-k8s.io";
const SOCKET: &str = "unix:///var/run/containerd/containerd.sock";
/// Control plane Machines of a cluster; it has one worker.
const MEMBERS: usize = 3;

impl Layout {
    pub(crate) const BOTH: [Self; 2] = [Self::Chart, Self::Class];

    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Chart => "chart",
            Self::Class => "class",
        }
    }

    /// The namespace of a cluster.
    fn namespace(self, number: usize) -> String {
        match self {
            Self::Chart => format!("c{number}"),
            Self::Class => CLASS_NAMESPACE.to_owned(),
        }
    }

    /// The configuration of the control plane of a cluster: its own, or what its class says.
    fn config(self, number: usize, address: &str) -> Value {
        match self {
            Self::Chart => config(&format!("c{number}"), address),
            Self::Class => config("class", address),
        }
    }

    /// Every namespace that a fleet needs.
    pub(crate) fn namespaces(self, clusters: usize) -> Vec<String> {
        let mut all: Vec<String> = (0..clusters).map(|number| self.namespace(number)).collect();
        all.dedup();
        all
    }

    /// What the chart renders.
    pub(crate) fn rendered(self, clusters: usize, address: &str) -> Vec<Value> {
        match self {
            Self::Chart => (0..clusters).flat_map(|number| self.chart(number, address)).collect(),
            Self::Class => class(address),
        }
    }

    /// What one cluster consists of.
    fn chart(self, number: usize, address: &str) -> Vec<Value> {
        chart(&self.namespace(number), number, &self.config(number, address))
    }

    /// What the API server holds: what was rendered, and what controllers made of it.
    pub(crate) fn live(self, clusters: usize, address: &str) -> Vec<Value> {
        let mut live = self.rendered(clusters, address);
        for number in 0..clusters {
            let namespace = self.namespace(number);
            if self == Self::Class {
                live.extend(self.chart(number, address).into_iter().map(|object| of_topology(object, number)));
            }
            machines(&namespace, number, &self.config(number, address), &mut live);
        }
        // As the API server counts it for what was never changed.
        live.iter_mut().for_each(|object| object["metadata"]["generation"] = json!(1));
        live
    }
}

fn object(group: &str, kind: &str, namespace: &str, name: &str, spec: Value) -> Value {
    json!({"apiVersion": format!("{group}/v1beta2"), "kind": kind, "metadata": {"name": name, "namespace": namespace}, "spec": spec})
}

fn reference(group: &str, kind: &str, name: &str) -> Value {
    json!({"apiGroup": group, "kind": kind, "name": name})
}

/// A secret text of its own for everything that has one.
fn secret(of: &str) -> String {
    let number = of.bytes().fold(7_u64, |sum, byte| sum.wrapping_mul(31).wrapping_add(u64::from(byte)));
    format!("$6$saltsalt${number:020}{number:020}")
}

/// The configuration of a control plane: the address stands in one line of one file.
fn config(name: &str, address: &str) -> Value {
    let lines = |name: &str| -> String { (0..60).map(|line| format!("{name}-{line} = value of {line}\n")).collect() };
    json!({
        "clusterConfiguration": {"apiServer": {"certSANs": ["127.0.0.1"], "extraArgs": [{"name": "v", "value": "2"}]}},
        "files": [
            {"path": "/etc/calico/autodetect.yaml", "owner": "root:root",
                "content": format!("nodeAddressAutodetectionV4:\n  canReach: {address}\n")},
            {"path": "/etc/app/settings.conf", "owner": "root:root", "permissions": "0644", "content": lines("setting")},
        ],
        "initConfiguration": {"nodeRegistration": {"criSocket": SOCKET}},
        "joinConfiguration": {"nodeRegistration": {"criSocket": SOCKET}},
        "preKubeadmCommands": ["systemctl restart containerd", "sysctl --system"],
        "users": [{"name": "operator", "passwd": secret(name)}],
    })
}

fn worker_config() -> Value {
    let commands: Vec<String> = (0..30).map(|line| format!("echo step {line}")).collect();
    json!({"joinConfiguration": {"nodeRegistration": {"criSocket": SOCKET}},
        "preKubeadmCommands": commands})
}

fn in_memory() -> Value {
    let quick = json!({"provisioning": {"startupDuration": "1s"}});
    json!({"backend": {"inMemory": {"vm": quick, "node": quick, "apiServer": quick, "etcd": quick}}})
}

/// What a chart renders for one cluster.
fn chart(namespace: &str, number: usize, config: &Value) -> Vec<Value> {
    let name = format!("c{number}");
    let (cp, md) = (format!("{name}-cp"), format!("{name}-md"));
    let of = |group: &str, kind: &str, name: &str, spec: Value| object(group, kind, namespace, name, spec);
    vec![
        of(
            CORE,
            "Cluster",
            &name,
            json!({
            "clusterNetwork": {"pods": {"cidrBlocks": ["192.168.0.0/16"]}},
            "controlPlaneRef": reference(CONTROL_PLANE, "KubeadmControlPlane", &cp),
            "infrastructureRef": reference(INFRASTRUCTURE, "DevCluster", &name)}),
        ),
        of(INFRASTRUCTURE, "DevCluster", &name, json!({"backend": {"inMemory": {}}})),
        of(
            CONTROL_PLANE,
            "KubeadmControlPlane",
            &cp,
            json!({"replicas": MEMBERS, "version": "v1.34.0",
            "machineTemplate": {"spec": {"infrastructureRef": reference(INFRASTRUCTURE, "DevMachineTemplate", &cp)}},
            "kubeadmConfigSpec": config}),
        ),
        of(INFRASTRUCTURE, "DevMachineTemplate", &cp, json!({"template": {"spec": in_memory()}})),
        of(
            CORE,
            "MachineDeployment",
            &md,
            json!({"clusterName": name, "replicas": 1,
            "selector": {"matchLabels": {"pool": md}}, "template": worker(&name, &md)}),
        ),
        of(BOOTSTRAP, "KubeadmConfigTemplate", &md, json!({"template": {"spec": worker_config()}})),
        of(INFRASTRUCTURE, "DevMachineTemplate", &md, json!({"template": {"spec": in_memory()}})),
    ]
}

/// The Machine template of a worker group.
fn worker(cluster: &str, pool: &str) -> Value {
    json!({"metadata": {"labels": {"pool": pool}}, "spec": {"clusterName": cluster, "version": "v1.34.0",
        "bootstrap": {"configRef": reference(BOOTSTRAP, "KubeadmConfigTemplate", pool)},
        "infrastructureRef": reference(INFRASTRUCTURE, "DevMachineTemplate", pool)}})
}

/// The class and its templates. A changed control plane gets a template of another name, because templates do not change.
fn class(address: &str) -> Vec<Value> {
    let name = format!("class-{}", address.replace('.', "-"));
    let of = |group: &str, kind: &str, spec: Value| object(group, kind, CLASS_NAMESPACE, "class", spec);
    let template = |group: &str, kind: &str| json!({"templateRef": {"apiVersion": format!("{group}/v1beta2"), "kind": kind, "name": "class"}});
    let mut control_plane = template(CONTROL_PLANE, "KubeadmControlPlaneTemplate");
    control_plane["templateRef"]["name"] = json!(name);
    control_plane["machineInfrastructure"] = template(INFRASTRUCTURE, "DevMachineTemplate");
    vec![
        of(
            CORE,
            "ClusterClass",
            json!({
            "controlPlane": control_plane,
            "infrastructure": template(INFRASTRUCTURE, "DevClusterTemplate"),
            "workers": {"machineDeployments": [{"class": "workers",
                "bootstrap": template(BOOTSTRAP, "KubeadmConfigTemplate"),
                "infrastructure": template(INFRASTRUCTURE, "DevMachineTemplate")}]}}),
        ),
        object(
            CONTROL_PLANE,
            "KubeadmControlPlaneTemplate",
            CLASS_NAMESPACE,
            &name,
            json!({"template": {"spec": {"kubeadmConfigSpec": config("class", address)}}}),
        ),
        of(INFRASTRUCTURE, "DevClusterTemplate", json!({"template": {"spec": {"backend": {"inMemory": {}}}}})),
        of(INFRASTRUCTURE, "DevMachineTemplate", json!({"template": {"spec": in_memory()}})),
        of(BOOTSTRAP, "KubeadmConfigTemplate", json!({"template": {"spec": worker_config()}})),
    ]
}

/// A rendered object as the topology controller would have made it.
fn of_topology(mut object: Value, number: usize) -> Value {
    let name = format!("c{number}");
    object["metadata"]["labels"] =
        json!({"cluster.x-k8s.io/cluster-name": name, "topology.cluster.x-k8s.io/owned": ""});
    if object["kind"] == "Cluster" {
        object["spec"]["topology"] = json!({"classRef": {"name": "class"}, "version": "v1.34.0",
            "controlPlane": {"replicas": MEMBERS},
            "workers": {"machineDeployments": [{"class": "workers", "name": "md", "replicas": 1}]}});
    }
    object
}

/// What controllers make of one cluster: a MachineSet, and for each Machine its config and its infrastructure.
fn machines(namespace: &str, number: usize, config: &Value, live: &mut Vec<Value>) {
    let name = format!("c{number}");
    let (cp, md) = (format!("{name}-cp"), format!("{name}-md"));
    let mut set = object(
        CORE,
        "MachineSet",
        namespace,
        &format!("{md}-abcde"),
        json!({"clusterName": name, "replicas": 1,
        "selector": {"matchLabels": {"pool": md}}, "template": worker(&name, &md)}),
    );
    set["metadata"]["ownerReferences"] = owner(CORE, "MachineDeployment", &md);
    set["metadata"]["labels"] = json!({"cluster.x-k8s.io/cluster-name": name, "pool": md});
    set["status"] = json!({"replicas": 1, "readyReplicas": 1});
    live.push(set);
    for member in 0..=MEMBERS {
        let of_control_plane = member < MEMBERS;
        let machine = if of_control_plane { format!("{cp}-{member}") } else { format!("{md}-abcde-x") };
        let mut labels = json!({"cluster.x-k8s.io/cluster-name": name});
        let (owner, template, config) = if of_control_plane {
            labels["cluster.x-k8s.io/control-plane"] = json!("");
            let mut config = config.clone();
            let other = if member == 0 { "joinConfiguration" } else { "initConfiguration" };
            config.as_object_mut().expect("a map").remove(other);
            if member > 0 {
                // Each Machine joins with a token of its own.
                config["joinConfiguration"]["controlPlane"] = json!({"localAPIEndpoint": {"bindPort": 6443}});
                config["joinConfiguration"]["discovery"] = json!({"bootstrapToken": {"token": secret(&machine),
                    "apiServerEndpoint": "127.0.0.1:6443", "unsafeSkipCAVerification": true}});
            }
            (owner(CONTROL_PLANE, "KubeadmControlPlane", &cp), &cp, config)
        } else {
            (owner(CORE, "MachineSet", &format!("{md}-abcde")), &md, worker_config())
        };
        let mut add = |group: &str, kind: &str, owner: &Value, spec: Value, status: Value| {
            let mut object = object(group, kind, namespace, &machine, spec);
            object["metadata"]["ownerReferences"] = owner.clone();
            object["metadata"]["labels"] = labels.clone();
            object["metadata"]["annotations"] = json!({
                "cluster.x-k8s.io/cloned-from-name": template,
                "cluster.x-k8s.io/cloned-from-groupkind": format!("DevMachineTemplate.{INFRASTRUCTURE}")});
            object["status"] = status;
            live.push(object);
        };
        add(
            CORE,
            "Machine",
            &owner,
            json!({"clusterName": name, "version": "v1.34.0",
            "providerID": format!("dev:////{machine}"),
            "bootstrap": {"configRef": reference(BOOTSTRAP, "KubeadmConfig", &machine), "dataSecretName": machine},
            "infrastructureRef": reference(INFRASTRUCTURE, "DevMachine", &machine)}),
            machine_status(&machine),
        );
        let of_machine = self::owner(CORE, "Machine", &machine);
        add(BOOTSTRAP, "KubeadmConfig", &of_machine, config, json!({"dataSecretName": machine}));
        add(INFRASTRUCTURE, "DevMachine", &of_machine, in_memory(), json!({}));
    }
}

fn owner(group: &str, kind: &str, name: &str) -> Value {
    json!([{"apiVersion": format!("{group}/v1beta2"), "kind": kind, "name": name,
        "uid": "11111111-2222-3333-4444-555555555555", "controller": true}])
}

/// The status of a Machine that runs.
fn machine_status(name: &str) -> Value {
    let types = [
        "Available",
        "Ready",
        "UpToDate",
        "BootstrapConfigReady",
        "InfrastructureReady",
        "NodeHealthy",
        "NodeReady",
        "EtcdMemberHealthy",
        "APIServerPodHealthy",
        "ControllerManagerPodHealthy",
        "SchedulerPodHealthy",
        "Deleting",
    ];
    let conditions: Vec<Value> = types
        .into_iter()
        .map(|kind| {
            json!({"type": kind, "reason": "AsItShouldBe",
        "status": if kind == "Deleting" { "False" } else { "True" }, "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z"})
        })
        .collect();
    json!({"phase": "Running", "nodeRef": {"name": name}, "conditions": conditions,
        "addresses": [{"type": "InternalIP", "address": "10.0.0.1"}]})
}

/// Objects as a chart prints them: block YAML.
pub(crate) fn stream(objects: &[Value]) -> String {
    let mut text = String::new();
    for object in objects {
        text.push_str("---\n");
        block(object, 0, &mut text);
    }
    text
}

/// Writes a map or a list in block style at an indentation.
fn block(value: &Value, indent: usize, out: &mut String) {
    let pad = " ".repeat(indent);
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                out.push_str(&pad);
                out.push_str(key);
                out.push(':');
                entry(value, indent, out);
            }
        }
        Value::Array(list) => {
            for item in list {
                out.push_str(&pad);
                out.push('-');
                entry(item, indent, out);
            }
        }
        _ => {}
    }
}

/// Writes what follows a key or a dash.
fn entry(value: &Value, indent: usize, out: &mut String) {
    match value {
        Value::String(text) if text.contains('\n') => {
            out.push_str(" |\n");
            for line in text.lines() {
                writeln!(out, "{}{line}", " ".repeat(indent + 2)).expect("a string can be written");
            }
        }
        Value::Object(map) if !map.is_empty() => {
            out.push('\n');
            block(value, indent + 2, out);
        }
        Value::Array(list) if !list.is_empty() => {
            out.push('\n');
            block(value, indent + 2, out);
        }
        // What is left is JSON, which YAML reads as it stands.
        value => writeln!(out, " {value}").expect("a string can be written"),
    }
}
