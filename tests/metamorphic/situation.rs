//! A cluster in a situation, and a write to it: what the API server holds, what was written last, what is rendered now.

use serde_json::{Value, json};

use crate::names::names;
use crate::seed::Seed;
use crate::tables::{patched, tables};

/// Namespace of everything.
pub(crate) const NAMESPACE: &str = "default";

/// Which objects a step touches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// Those in the cluster: a state that nobody rendered.
    Live,
    /// All of them: a state that the chart has too.
    All,
    /// The new render: the write.
    Rendered,
}

/// What a step does.
#[derive(Clone, Debug)]
pub(crate) enum Act {
    /// Sets a field of the object of a kind and name, or takes it away.
    Set(String, String, String, Option<Value>),
    /// Changes an object as a recording did.
    Patch(String, String, Vec<Value>),
    /// Takes an object away.
    Remove(String, String),
    /// Adds one.
    Add(Value),
}

/// One step from a resting cluster to the situation.
#[derive(Clone, Debug)]
pub(crate) struct Step(pub(crate) Side, pub(crate) Act);

/// A resting cluster.
#[derive(Clone, Debug)]
pub(crate) struct Rest {
    /// How it was made, for messages.
    pub(crate) name: String,
    live: Vec<Value>,
    rendered: Vec<Value>,
    /// Versions of its providers.
    pub(crate) providers: Value,
    /// The recorded object of each kind that can be changed field by field.
    fields: Vec<(String, String, String)>,
}

/// The three sides of one judgement.
#[derive(Clone, Debug)]
pub(crate) struct Sides {
    /// What the API server holds.
    pub(crate) live: Vec<Value>,
    /// What was written last.
    pub(crate) base: Vec<Value>,
    /// What is rendered now.
    pub(crate) rendered: Vec<Value>,
    /// Versions of the providers.
    pub(crate) providers: Value,
}

impl Rest {
    /// A cluster of some kind and size.
    pub(crate) fn draw(seed: &mut Seed) -> Self {
        let replicas = *seed.pick(&[1_usize, 3]);
        let groups = 1 + seed.below(3);
        match seed.below(5) {
            0 => topology(replicas),
            1 => {
                let base = *seed.pick(&["small", "bare", "full"]);
                classic("RKE2ControlPlane", "v1beta1", base, (replicas, groups), seed)
            }
            number => {
                let version = if number == 2 { "v1beta1" } else { "v1beta2" };
                let base = *seed.pick(&["small", "small-differs", "bare", "full"]);
                classic("KubeadmControlPlane", version, base, (replicas, groups), seed)
            }
        }
    }

    /// The sides after some steps. A step whose place is gone does nothing.
    pub(crate) fn after(&self, steps: &[Step]) -> Sides {
        let (mut live, mut base, mut rendered) = (self.live.clone(), self.rendered.clone(), self.rendered.clone());
        for Step(side, act) in steps {
            match side {
                Side::Live => act.apply(&mut live),
                Side::Rendered => act.apply(&mut rendered),
                Side::All => [&mut live, &mut base, &mut rendered].into_iter().for_each(|side| act.apply(side)),
            }
        }
        Sides { live, base, rendered, providers: self.providers.clone() }
    }

    /// Steps into a situation and a write out of it.
    pub(crate) fn draw_steps(&self, seed: &mut Seed) -> Vec<Step> {
        let mut steps = Vec::new();
        for _ in 0..seed.below(3) {
            steps.extend(self.state(seed));
        }
        for _ in 0..=seed.below(3) {
            steps.extend(self.write(seed));
        }
        steps
    }

    fn names<'a>(objects: &'a [Value], kinds: &'a [&str]) -> Vec<(String, String)> {
        let of = |object: &Value| (text(&object["kind"]), text(&object["metadata"]["name"]));
        objects.iter().map(of).filter(|(kind, _)| kinds.contains(&kind.as_str())).collect()
    }

    /// One state that a cluster can be in.
    fn state(&self, seed: &mut Seed) -> Vec<Step> {
        let machines = Self::names(&self.live, &["Machine"]);
        let owners = Self::names(&self.rendered, &OWNERS);
        let (kind, name) = owners_or(&owners, seed);
        let (_, machine) = seed.pick(&machines).clone();
        let set = |side, kind: &str, name: &str, pointer: &str, value: Value| {
            Step(side, Act::Set(kind.to_owned(), name.to_owned(), pointer.to_owned(), Some(value)))
        };
        let of_machine = |pointer: &str, value| set(Side::Live, "Machine", &machine, pointer, value);
        let sick = || {
            json!([{"type": "HealthCheckSucceeded", "status": "False", "lastTransitionTime": "2025-12-31T00:00:00Z"},
            {"type": "NodeHealthy", "status": "False", "lastTransitionTime": "2025-12-31T00:00:00Z"}])
        };
        let side = *seed.pick(&[Side::Live, Side::All]);
        match seed.below(11) {
            // Any name that the controllers' code reads, on whatever it may stand.
            9 | 10 => {
                let mark = seed.pick(names()).replace('/', "~1");
                let place = *seed.pick(&["annotations", "annotations", "labels"]);
                let value = json!(*seed.pick(&["", "true", "x"]));
                let pointer = format!("/metadata/{place}/{mark}");
                match seed.below(3) {
                    0 => vec![of_machine(&pointer, value)],
                    1 => vec![set(side, "Cluster", "demo", &pointer, value)],
                    _ => vec![set(side, &kind, &name, &pointer, value)],
                }
            }
            0 => vec![set(side, "Cluster", "demo", "/spec/paused", json!(true))],
            1 => vec![set(side, &kind, &name, "/metadata/annotations/cluster.x-k8s.io~1paused", json!(""))],
            2 => vec![set(Side::Live, &kind, &name, "/spec/replicas", json!(seed.below(5)))],
            3 => vec![Step(
                Side::Live,
                Act::Set("Machine".to_owned(), machine, "/metadata/ownerReferences".to_owned(), None),
            )],
            4 => vec![of_machine("/status/conditions", sick())],
            5 => vec![of_machine("/metadata/deletionTimestamp", json!("2025-12-31T23:59:00Z"))],
            6 => vec![of_machine("/spec/version", json!("v1.30.9"))],
            7 => {
                let templates = Self::names(&self.rendered, &TEMPLATES);
                let (kind, name) = seed.pick(&templates).clone();
                vec![Step(Side::Live, Act::Remove(kind, name))]
            }
            _ => vec![of_machine("/metadata/annotations/cluster.x-k8s.io~1paused", json!(""))],
        }
    }

    /// One write.
    fn write(&self, seed: &mut Seed) -> Vec<Step> {
        let owners = Self::names(&self.rendered, &OWNERS);
        let all = Self::names(&self.rendered, &ALL);
        if owners.is_empty() && seed.chance(50) {
            return topology_write(seed);
        }
        let (kind, name) = owners_or(&owners, seed);
        let (any_kind, any_name) = seed.pick(&all).clone();
        let set = |kind: &str, name: &str, pointer: &str, value: Option<Value>| {
            vec![Step(Side::Rendered, Act::Set(kind.to_owned(), name.to_owned(), pointer.to_owned(), value))]
        };
        match seed.below(16) {
            // Set where work may be pending, or taken away where the situation has it.
            14 | 15 => {
                let mark = seed.pick(names()).replace('/', "~1");
                let (kind, name) = if seed.chance(50) { (kind, name) } else { (any_kind, any_name) };
                let inner = matches!(kind.as_str(), "MachineDeployment") && seed.chance(40);
                let place = *seed.pick(&["annotations", "annotations", "labels"]);
                let pointer = match inner {
                    true => format!("/spec/template/metadata/{place}/{mark}"),
                    false => format!("/metadata/{place}/{mark}"),
                };
                let value = seed.chance(60).then(|| json!(*seed.pick(&["", "true", "x"])));
                set(&kind, &name, &pointer, value)
            }
            0..=5 => {
                let (kind, name, base) = seed.pick(&self.fields).clone();
                let (_, patch) = seed.pick(&tables()[&base].patches).clone();
                vec![Step(Side::Rendered, Act::Patch(kind, name, patch))]
            }
            6 => set(&kind, &name, "/spec/replicas", Some(json!(seed.below(6)))),
            7 => set("Cluster", "demo", "/spec/paused", Some(json!(seed.chance(50)))),
            8 => set(&kind, &name, "/metadata/annotations/cluster.x-k8s.io~1paused", Some(json!("true"))),
            9 => vec![Step(Side::Rendered, Act::Remove(any_kind, any_name))],
            10 => set(&any_kind, &any_name, "/metadata/labels/team", Some(json!("blue"))),
            11 => self.rename(seed),
            12 => vec![Step(Side::Rendered, Act::Add(health_check(seed)))],
            _ => {
                let pointer = if kind == "MachineDeployment" { "/spec/template/spec/version" } else { "/spec/version" };
                set(&kind, &name, pointer, Some(json!(*seed.pick(&["v1.31.5", "v1.31.5+rke2r1", "v1.32.0"]))))
            }
        }
    }

    /// A template under another name, and its user moved to it.
    fn rename(&self, seed: &mut Seed) -> Vec<Step> {
        let Some(template) = self.rendered.iter().find(|object| object["kind"] == "DockerMachineTemplate") else {
            return Vec::new();
        };
        let mut copy = template.clone();
        copy["metadata"]["name"] = json!("infra-b");
        let (kind, name) = owners_or(&Self::names(&self.rendered, &OWNERS), seed);
        let pointer = match kind.as_str() {
            "MachineDeployment" => "/spec/template/spec/infrastructureRef/name",
            "Cluster" => return Vec::new(),
            "RKE2ControlPlane" => "/spec/machineTemplate/infrastructureRef/name",
            _ => "/spec/machineTemplate/spec/infrastructureRef/name",
        };
        vec![
            Step(Side::Rendered, Act::Add(copy)),
            Step(Side::Rendered, Act::Set(kind, name, pointer.to_owned(), Some(json!("infra-b")))),
        ]
    }
}

/// One of the owners of Machines that the chart has; the Cluster where controllers make them.
fn owners_or(owners: &[(String, String)], seed: &mut Seed) -> (String, String) {
    if owners.is_empty() { ("Cluster".to_owned(), "demo".to_owned()) } else { seed.pick(owners).clone() }
}

/// A write to the topology of a Cluster.
fn topology_write(seed: &mut Seed) -> Vec<Step> {
    let (pointer, value) = match seed.below(6) {
        0 => ("/spec/topology/version", json!("v1.32.0")),
        1 => ("/spec/topology/controlPlane/replicas", json!(3)),
        2 => ("/spec/topology/variables", json!([{"name": "motd", "value": "two"}])),
        3 => ("/spec/topology/workers", json!({})),
        4 => ("/spec/topology/controlPlane/metadata/labels/tier", json!("gold")),
        _ => ("/spec/topology/variables", json!([{"name": "none", "value": 1}])),
    };
    vec![Step(Side::Rendered, Act::Set("Cluster".to_owned(), "demo".to_owned(), pointer.to_owned(), Some(value)))]
}

const OWNERS: [&str; 3] = ["KubeadmControlPlane", "RKE2ControlPlane", "MachineDeployment"];
const TEMPLATES: [&str; 4] =
    ["DockerMachineTemplate", "DevMachineTemplate", "KubeadmConfigTemplate", "KubeadmControlPlaneTemplate"];
const ALL: [&str; 8] = [
    "Cluster",
    "ClusterClass",
    "KubeadmControlPlane",
    "RKE2ControlPlane",
    "MachineDeployment",
    "DockerMachineTemplate",
    "KubeadmConfigTemplate",
    "MachineHealthCheck",
];

impl Act {
    fn apply(&self, objects: &mut Vec<Value>) {
        let is = |object: &Value, kind: &str, name: &str| object["kind"] == kind && object["metadata"]["name"] == name;
        match self {
            // What stands twice is written twice, in an order that counts: a property of its own.
            Self::Add(object) => {
                objects.retain(|there| {
                    !is(there, object["kind"].as_str().unwrap_or_default(), &text(&object["metadata"]["name"]))
                });
                objects.push(object.clone());
            }
            Self::Remove(kind, name) => objects.retain(|object| !is(object, kind, name)),
            Self::Set(kind, name, pointer, value) => {
                if let Some(object) = objects.iter_mut().find(|object| is(object, kind, name)) {
                    set(object, pointer, value.clone());
                }
            }
            Self::Patch(kind, name, patch) => {
                if let Some(object) = objects.iter_mut().find(|object| is(object, kind, name))
                    && let Some(after) = patched(object, patch)
                {
                    *object = after;
                }
            }
        }
    }
}

/// Sets a field, with the maps on the way to it, or takes it away.
fn set(object: &mut Value, pointer: &str, value: Option<Value>) {
    let (parents, last) = pointer.rsplit_once('/').expect("a pointer has a slash");
    let mut at = object;
    for step in parents.split('/').skip(1) {
        if at.get(step).is_none_or(Value::is_null) {
            at[step] = json!({});
        }
        at = &mut at[step];
    }
    let last = last.replace("~1", "/");
    match value {
        Some(value) => at[last] = value,
        None => drop(at.as_object_mut().and_then(|map| map.shift_remove(&last))),
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// What a chart prints of an object: nothing that the API server or a controller adds.
fn chart(object: &Value) -> Value {
    let mut object = object.clone();
    let map = object.as_object_mut().expect("an object");
    map.shift_remove("status");
    let metadata = map["metadata"].as_object_mut().expect("metadata");
    let own =
        ["uid", "creationTimestamp", "generation", "resourceVersion", "managedFields", "ownerReferences", "finalizers"];
    metadata.retain(|key, _| !own.contains(&key.as_str()));
    if let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) {
        annotations.retain(|key, _| key != "cluster.x-k8s.io/conversion-data");
    }
    object
}

/// A recorded object under another name.
fn recorded(base: &str, name: &str) -> Value {
    let mut object = tables()[base].line["object"].clone();
    object["metadata"]["name"] = json!(name);
    object["metadata"]["namespace"] = json!(NAMESPACE);
    object["metadata"]["uid"] = json!(format!("uid-{}-{name}", text(&object["kind"])));
    object.as_object_mut().expect("an object").shift_remove("status");
    object
}

fn cluster(api: &str, control_plane: &str) -> Value {
    let reference = |group: &str, api: &str, kind: &str| {
        let group = format!("{group}.cluster.x-k8s.io");
        match api {
            "v1beta2" => json!({"apiGroup": group, "kind": kind, "name": "demo"}),
            api => {
                json!({"apiVersion": format!("{group}/{api}"), "kind": kind, "name": "demo", "namespace": NAMESPACE})
            }
        }
    };
    json!({
        "apiVersion": format!("cluster.x-k8s.io/{api}"), "kind": "Cluster",
        "metadata": {"name": "demo", "namespace": NAMESPACE, "uid": "uid-cluster"},
        "spec": {
            "clusterNetwork": {"pods": {"cidrBlocks": ["192.168.0.0/16"]}},
            "controlPlaneRef": reference("controlplane", api, control_plane),
            "infrastructureRef": reference("infrastructure", api, "DockerCluster"),
        },
    })
}

/// A health check over a group of workers or the control plane.
fn health_check(seed: &mut Seed) -> Value {
    let labels = match seed.below(3) {
        0 => json!({"cluster.x-k8s.io/control-plane": ""}),
        number => json!({"cluster.x-k8s.io/deployment-name": format!("md-{}", number - 1)}),
    };
    json!({
        "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "MachineHealthCheck",
        "metadata": {"name": "checks", "namespace": NAMESPACE},
        "spec": {
            "clusterName": "demo", "selector": {"matchLabels": labels},
            "checks": {
                "nodeStartupTimeoutSeconds": 600,
                "unhealthyNodeConditions": [{"type": "Ready", "status": "Unknown", "timeoutSeconds": 300}],
                "unhealthyMachineConditions": [{"type": "NodeHealthy", "status": "False", "timeoutSeconds": 100}],
            },
        },
    })
}

/// A cluster without a topology.
fn classic(kind: &str, api: &str, base: &str, (replicas, groups): (usize, usize), seed: &mut Seed) -> Rest {
    let name = format!("{kind}/{api}/{base}");
    let mut live = vec![cluster(api, kind)];
    let mut owner = recorded(&name, "demo");
    owner["metadata"]["uid"] = json!("uid-demo");
    owner["spec"]["replicas"] = json!(replicas);
    live.push(owner);
    let mut fields = vec![(kind.to_owned(), "demo".to_owned(), name.clone())];
    let template = format!("DockerMachineTemplate/{api}/full");
    live.push(recorded(&template, "infra-a"));
    fields.push(("DockerMachineTemplate".to_owned(), "infra-a".to_owned(), template));
    let config = format!("KubeadmConfigTemplate/{api}/small");
    live.push(recorded(&config, "config-a"));
    fields.push(("KubeadmConfigTemplate".to_owned(), "config-a".to_owned(), config));
    let mut rendered: Vec<Value> = live.iter().map(chart).collect();
    for number in 0..groups {
        let base = *seed.pick(&["small", "small-ondelete", "full"]);
        let base = format!("MachineDeployment/{api}/{base}");
        let own = workers(&base, number);
        rendered.push(chart(&own[0]));
        live.extend(own);
        fields.push(("MachineDeployment".to_owned(), format!("md-{number}"), base));
    }
    let machines = tables()[&name].line["machines"].as_array().expect("Machines");
    for number in 0..replicas {
        live.extend(machine(&machines[number.min(1)], &format!("demo-{number}")));
    }
    if seed.chance(50) {
        let check = health_check(seed);
        rendered.push(check.clone());
        live.push(check);
    }
    live[0]["spec"]["controlPlaneEndpoint"] = json!({"host": "10.0.0.100", "port": 6443});
    for object in &mut live {
        if object["metadata"]["uid"].is_null() {
            let uid = format!("uid-{}-{}", text(&object["kind"]), text(&object["metadata"]["name"]));
            object["metadata"]["uid"] = json!(uid);
        }
    }
    let mut providers = json!({"cluster-api": told("v1.14.2"), "docker": told("v1.14.0")});
    if kind == "RKE2ControlPlane" {
        providers["rke2"] = told("v0.21.0");
    }
    Rest { name: format!("{name}, {replicas} Machines, {groups} groups"), live, rendered, providers, fields }
}

fn told(version: &str) -> Value {
    json!({"version": version, "evidence": "told"})
}

/// A recorded Machine with its bootstrap config and infrastructure under another name.
fn machine(recorded: &Value, name: &str) -> Vec<Value> {
    let old = text(&recorded["machine"]["metadata"]["name"]);
    ["machine", "bootstrapConfig", "infraMachine"]
        .iter()
        .filter(|part| recorded[**part].is_object())
        .map(|part| {
            let mut object = recorded[*part].clone();
            object["metadata"]["name"] = json!(name);
            object["metadata"]["uid"] = json!(format!("uid-{part}-{name}"));
            for pointer in ["/spec/bootstrap/configRef/name", "/spec/infrastructureRef/name"] {
                if let Some(reference) = object.pointer_mut(pointer).filter(|reference| **reference == old) {
                    *reference = json!(name);
                }
            }
            object
        })
        .collect()
}

/// A MachineDeployment with its set and Machines; the MachineDeployment comes first.
fn workers(base: &str, number: usize) -> Vec<Value> {
    let line = &tables()[base].line;
    let (name, set) = (format!("md-{number}"), format!("md-{number}-set"));
    let mut owner = recorded(base, &name);
    let uid = owner["metadata"]["uid"].clone();
    let replicas = owner["spec"]["replicas"].as_u64().unwrap_or(1);
    let pool = json!(format!("pool-{number}"));
    let move_pool = |object: &mut Value, pointers: &[&str]| {
        for pointer in pointers {
            if let Some(labels) = object.pointer_mut(pointer).filter(|labels| labels["example.com/pool"].is_string()) {
                labels["example.com/pool"] = pool.clone();
            }
        }
    };
    let selecting = ["/spec/selector/matchLabels", "/spec/template/metadata/labels", "/metadata/labels"];
    move_pool(&mut owner, &selecting);
    let mut out = vec![owner];
    for recorded in line["machineSets"].as_array().into_iter().flatten() {
        let mut object = recorded.clone();
        object["metadata"]["name"] = json!(set);
        object["metadata"]["uid"] = json!(format!("uid-{set}"));
        object["metadata"]["labels"]["cluster.x-k8s.io/deployment-name"] = json!(name);
        object["metadata"]["ownerReferences"][0]["name"] = json!(name);
        object["metadata"]["ownerReferences"][0]["uid"] = uid.clone();
        move_pool(&mut object, &selecting);
        out.push(object);
    }
    for place in 0..replicas {
        for recorded in line["machines"].as_array().into_iter().flatten() {
            for mut object in machine(recorded, &format!("md-{number}-{place}")) {
                object["metadata"]["labels"]["cluster.x-k8s.io/deployment-name"] = json!(name);
                object["metadata"]["labels"]["cluster.x-k8s.io/set-name"] = json!(set);
                object["metadata"]["ownerReferences"][0]["name"] = json!(set);
                object["metadata"]["ownerReferences"][0]["uid"] = json!(format!("uid-{set}"));
                move_pool(&mut object, &["/metadata/labels"]);
                out.push(object);
            }
        }
    }
    out
}

/// A cluster with a topology: the control plane and one group of workers, both made from a class.
fn topology(replicas: usize) -> Rest {
    let base = "KubeadmControlPlane/v1beta2/bare";
    let mut owner = recorded(base, "demo");
    owner["metadata"]["uid"] = json!("uid-demo");
    owner["metadata"]["labels"]["topology.cluster.x-k8s.io/owned"] = json!("");
    owner["metadata"]["ownerReferences"] = json!([{
        "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "name": "demo", "uid": "uid-cluster", "controller": true,
    }]);
    owner["metadata"]["annotations"] = json!({
        "cluster.x-k8s.io/cloned-from-name": "cp", "topology.cluster.x-k8s.io/defer-upgrade": null,
    });
    owner["metadata"]["annotations"].as_object_mut().expect("a map").retain(|_, value| !value.is_null());
    owner["spec"]["replicas"] = json!(replicas);
    let config = owner["spec"]["kubeadmConfigSpec"].clone();
    let version = owner["spec"]["version"].clone();
    let mut objects = class(&config);
    objects.push(topology_cluster(&version, replicas));
    let mut live = objects.clone();
    let made = workers("MachineDeployment/v1beta2/small", 0);
    live.push(owner);
    for mut object in made {
        object["metadata"]["labels"]["topology.cluster.x-k8s.io/owned"] = json!("");
        object["metadata"]["labels"]["topology.cluster.x-k8s.io/deployment-name"] = json!("md-0");
        live.push(object);
    }
    let machines = tables()[base].line["machines"].as_array().expect("Machines");
    for number in 0..replicas {
        live.extend(machine(&machines[number.min(1)], &format!("demo-{number}")));
    }
    let at = live.iter_mut().find(|object| object["kind"] == "Cluster").expect("a Cluster");
    at["metadata"]["uid"] = json!("uid-cluster");
    at["spec"]["controlPlaneRef"] =
        json!({"apiGroup": "controlplane.cluster.x-k8s.io", "kind": "KubeadmControlPlane", "name": "demo"});
    at["spec"]["infrastructureRef"] =
        json!({"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "DockerCluster", "name": "demo"});
    at["spec"]["controlPlaneEndpoint"] = json!({"host": "10.0.0.100", "port": 6443});
    for object in &mut live {
        if object["metadata"]["uid"].is_null() {
            let uid = format!("uid-{}-{}", text(&object["kind"]), text(&object["metadata"]["name"]));
            object["metadata"]["uid"] = json!(uid);
        }
    }
    let providers = json!({"cluster-api": told("v1.14.2"), "docker": told("v1.14.0")});
    let fields = vec![
        ("KubeadmConfigTemplate".to_owned(), "join".to_owned(), "KubeadmConfigTemplate/v1beta2/small".to_owned()),
        (
            "KubeadmControlPlaneTemplate".to_owned(),
            "cp".to_owned(),
            "KubeadmControlPlaneTemplate/v1beta2/small".to_owned(),
        ),
    ];
    Rest { name: format!("topology, {replicas} Machines"), live, rendered: objects, providers, fields }
}

/// A class and its templates.
fn class(control_plane: &Value) -> Vec<Value> {
    let reference = |group: &str, kind: &str, name: &str| json!({"templateRef": {"apiVersion": format!("{group}.cluster.x-k8s.io/v1beta2"), "kind": kind, "name": name}});
    let mut owner = reference("controlplane", "KubeadmControlPlaneTemplate", "cp");
    owner["machineInfrastructure"] = reference("infrastructure", "DockerMachineTemplate", "infra-a");
    let class = json!({
        "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "ClusterClass", "metadata": {"name": "class", "namespace": NAMESPACE},
        "spec": {
            "infrastructure": reference("infrastructure", "DockerClusterTemplate", "infra"),
            "controlPlane": owner,
            "workers": {"machineDeployments": [{
                "class": "worker",
                "bootstrap": reference("bootstrap", "KubeadmConfigTemplate", "join"),
                "infrastructure": reference("infrastructure", "DockerMachineTemplate", "infra-a"),
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
    });
    let of = |group: &str, kind: &str, name: &str, spec: Value| {
        json!({
            "apiVersion": format!("{group}.cluster.x-k8s.io/v1beta2"), "kind": kind,
            "metadata": {"name": name, "namespace": NAMESPACE}, "spec": {"template": {"spec": spec}},
        })
    };
    vec![
        class,
        of("infrastructure", "DockerClusterTemplate", "infra", json!({})),
        of("controlplane", "KubeadmControlPlaneTemplate", "cp", json!({"kubeadmConfigSpec": control_plane})),
        chart(&recorded("KubeadmConfigTemplate/v1beta2/small", "join")),
        chart(&recorded("DockerMachineTemplate/v1beta2/full", "infra-a")),
    ]
}

fn topology_cluster(version: &Value, replicas: usize) -> Value {
    json!({
        "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "metadata": {"name": "demo", "namespace": NAMESPACE},
        "spec": {
            "clusterNetwork": {"pods": {"cidrBlocks": ["192.168.0.0/16"]}},
            "topology": {
                "classRef": {"name": "class"}, "version": version, "controlPlane": {"replicas": replicas},
                "workers": {"machineDeployments": [{"class": "worker", "name": "md-0", "replicas": 3}]},
                "variables": [{"name": "motd", "value": "one"}],
            },
        },
    })
}
