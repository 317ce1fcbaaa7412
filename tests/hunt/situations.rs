//! Situations around the fields: marks that hold or drive controllers, other versions of an API, hooks, classes that change.

mod limits;
mod others;

pub(crate) use limits::limits;
pub(crate) use others::others;

use serde_json::{Value, json};

use crate::names;
use crate::objects::{Edit, Objects, Shape, called, text, workers};
use crate::seed::Seed;
use crate::steps::{Act, Draw};

const CLUSTER: &str = "Cluster/demo";
const CLASS: &str = "ClusterClass/class";

/// A step of a pointer that holds a slash.
fn step(key: &str) -> String {
    key.replace('/', "~1")
}

fn set(name: &str, pointer: &str, value: Value) -> Vec<Edit> {
    vec![Edit::Set(name.to_owned(), pointer.to_owned(), value)]
}

/// Sets a field, or takes it away in one case of three.
fn set_or_unset(seed: &mut Seed, name: &str, pointer: &str, value: Value) -> Vec<Edit> {
    if seed.chance(33) { vec![Edit::Unset(name.to_owned(), pointer.to_owned())] } else { set(name, pointer, value) }
}

/// What of a topology holds its workers back, or gives its Machines something.
pub(crate) fn topology(draw: &Draw<'_>, seed: &mut Seed) -> Vec<Edit> {
    if !draw.objects.contains_key(CLUSTER) || !matches!(draw.shape, Shape::Topology(_)) {
        return Vec::new();
    }
    let group = "/spec/topology/workers/machineDeployments/0";
    let upgrade = || Edit::Set(CLUSTER.to_owned(), "/spec/topology/version".to_owned(), json!("v1.34.1"));
    let mut edits = match seed.below(13) {
        0 => {
            let pointer = format!("{group}/metadata/annotations/{}", step("topology.cluster.x-k8s.io/defer-upgrade"));
            set_or_unset(seed, CLUSTER, &pointer, json!(""))
        }
        1 => {
            let pointer =
                format!("{group}/metadata/annotations/{}", step("topology.cluster.x-k8s.io/hold-upgrade-sequence"));
            set_or_unset(seed, CLUSTER, &pointer, json!(""))
        }
        2 => {
            let pointer = format!("/metadata/annotations/{}", step("topology.cluster.x-k8s.io/upgrade-concurrency"));
            let count = *seed.pick(&["1", "2", "0"]);
            set_or_unset(seed, CLUSTER, &pointer, json!(count))
        }
        3 => {
            let check = json!({"enabled": seed.chance(70), "checks": {
                "nodeStartupTimeoutSeconds": 600,
                "unhealthyMachineConditions": [{"type": "Sick", "status": "True", "timeoutSeconds": 0}],
            }});
            let whose = seed.pick(&[
                "/spec/topology/controlPlane/healthCheck",
                "/spec/topology/workers/machineDeployments/0/healthCheck",
            ]);
            set_or_unset(seed, CLUSTER, whose, check)
        }
        4 => {
            let order = *seed.pick(&["Oldest", "Newest", "Random"]);
            set_or_unset(seed, CLUSTER, &format!("{group}/deletion/order"), json!(order))
        }
        5 => {
            let strategy = *seed.pick(&["OnDelete", "RollingUpdate"]);
            set_or_unset(seed, CLUSTER, &format!("{group}/rollout/strategy"), json!({"type": strategy}))
        }
        6 => {
            let after = *seed.pick(&["2020-01-01T00:00:00Z", "2099-01-01T00:00:00Z"]);
            let whose = seed.pick(&[
                "/spec/topology/controlPlane/rollout/after",
                "/spec/topology/workers/machineDeployments/0/rollout/after",
            ]);
            set_or_unset(seed, CLUSTER, whose, json!(after))
        }
        7 => {
            let own = json!([{"name": "issue", "value": *seed.pick(&["own", "two"])}]);
            set_or_unset(seed, CLUSTER, &format!("{group}/variables/overrides"), own)
        }
        8 => {
            let value = *seed.pick(&["gold", "silver"]);
            set_or_unset(seed, CLUSTER, &format!("{group}/metadata/labels/tier"), json!(value))
        }
        9 => set(
            CLUSTER,
            "/spec/topology/workers/machineDeployments/-",
            json!({"class": "worker", "name": "md-c", "replicas": seed.below(3)}),
        ),
        10 => {
            let mark = *seed.pick(&["skip-remediation", "remediate-machine"]);
            let whose = *seed.pick(&["workers/machineDeployments/0", "controlPlane"]);
            let pointer =
                format!("/spec/topology/{whose}/metadata/annotations/{}", step(&format!("cluster.x-k8s.io/{mark}")));
            set_or_unset(seed, CLUSTER, &pointer, json!(""))
        }
        11 => set_or_unset(seed, CLUSTER, &format!("{group}/minReadySeconds"), json!(1)),
        _ => {
            let name = *seed.pick(&["defer-upgrade", "hold-upgrade-sequence"]);
            let pointer =
                format!("{group}/metadata/annotations/{}", step(&format!("topology.cluster.x-k8s.io/{name}")));
            vec![Edit::Set(CLUSTER.to_owned(), pointer, json!("")), upgrade()]
        }
    };
    if edits.len() == 1 && seed.chance(25) {
        edits.push(upgrade());
    }
    edits
}

/// A class that says another thing.
pub(crate) fn class(draw: &Draw<'_>, seed: &mut Seed) -> Vec<Edit> {
    if !draw.objects.contains_key(CLASS) {
        return Vec::new();
    }
    let required = json!({"name": "needed", "required": true, "schema": {"openAPIV3Schema": {"type": "string"}}});
    let patch = json!({"name": "more", "enabledIf": "{{ if .needed }}true{{ end }}", "definitions": [{
        "selector": {"apiVersion": "bootstrap.cluster.x-k8s.io/v1beta2", "kind": "KubeadmConfigTemplate",
            "matchResources": {"machineDeploymentClass": {"names": ["worker"]}}},
        "jsonPatches": [{"op": "add", "path": "/spec/template/spec/verbosity", "value": 3}],
    }]});
    match seed.below(13) {
        0 => set(CLASS, "/spec/variables/-", required),
        1 => [
            set(CLASS, "/spec/variables/-", required),
            set(CLUSTER, "/spec/topology/variables/-", json!({"name": "needed", "value": "x"})),
        ]
        .concat(),
        2 => set(CLUSTER, "/spec/topology/variables/-", json!({"name": "needed", "value": "x"})),
        3 => set(CLASS, "/spec/patches/-", patch),
        4 => vec![Edit::Unset(CLASS.to_owned(), "/spec/patches/1".to_owned())],
        5 => vec![Edit::Unset(CLASS.to_owned(), "/spec/patches/0/definitions/1".to_owned())],
        6 => set(CLASS, "/spec/variables/0/schema/openAPIV3Schema/default", json!(*seed.pick(&["one", "three"]))),
        7 => vec![Edit::Unset(CLUSTER.to_owned(), "/spec/topology/variables/1".to_owned())],
        8 => set(
            CLASS,
            "/spec/patches/0/enabledIf",
            json!(*seed.pick(&["false", "true", "{{ if .unused }}true{{ end }}"])),
        ),
        9 => set_or_unset(seed, CLASS, "/spec/workers/machineDeployments/0/metadata/labels/rank", json!("high")),
        10 => set_or_unset(
            seed,
            CLASS,
            "/spec/workers/machineDeployments/0/rollout/strategy",
            json!({"type": "OnDelete"}),
        ),
        11 => set_or_unset(
            seed,
            CLASS,
            "/spec/workers/machineDeployments/0/deletion",
            json!({"order": "Oldest", "nodeDrainTimeoutSeconds": 30}),
        ),
        _ => {
            let check = json!({"checks": {
                "nodeStartupTimeoutSeconds": 600,
                "unhealthyMachineConditions": [{"type": "Sick", "status": "True", "timeoutSeconds": 0}],
            }});
            set_or_unset(seed, CLASS, "/spec/workers/machineDeployments/0/healthCheck", check)
        }
    }
}

/// An object written in the other version of its API, with the same meaning or with one thing more.
pub(crate) fn version(objects: &Objects, seed: &mut Seed) -> Vec<Edit> {
    let there: Vec<Value> = objects.values().filter_map(older).collect();
    if there.is_empty() { Vec::new() } else { vec![Edit::Put(seed.pick(&there).clone())] }
}

/// The object in v1beta1, where its form is known here.
fn older(object: &Value) -> Option<Value> {
    let api = text(&object["apiVersion"]);
    let group = api.strip_suffix("/v1beta2")?;
    let mut old = object.clone();
    old["apiVersion"] = json!(format!("{group}/v1beta1"));
    match called(object).split('/').next()? {
        "MachineDeployment" => {
            let spec = old.pointer_mut("/spec")?.as_object_mut()?;
            if ["rollout", "remediation", "deletion"].iter().any(|moved| spec.contains_key(*moved)) {
                return None;
            }
            reference(old.pointer_mut("/spec/template/spec/bootstrap/configRef")?)?;
            reference(old.pointer_mut("/spec/template/spec/infrastructureRef")?)?;
        }
        "KubeadmConfigTemplate" => config(old.pointer_mut("/spec/template/spec")?)?,
        "KubeadmControlPlane" => {
            if old.pointer("/spec/rollout").is_some() || old.pointer("/spec/remediation").is_some() {
                return None;
            }
            let template = old.pointer_mut("/spec/machineTemplate")?;
            let mut infrastructure = template.pointer("/spec/infrastructureRef")?.clone();
            if template["spec"].as_object()?.len() > 1 {
                return None;
            }
            reference(&mut infrastructure)?;
            template.as_object_mut()?.shift_remove("spec");
            template["infrastructureRef"] = infrastructure;
            config(old.pointer_mut("/spec/kubeadmConfigSpec")?)?;
        }
        "DevMachineTemplate" => {}
        _ => return None,
    }
    Some(old)
}

/// A reference as v1beta1 writes it.
fn reference(value: &mut Value) -> Option<()> {
    let map = value.as_object_mut()?;
    let group = map.shift_remove("apiGroup")?;
    map.insert("apiVersion".to_owned(), json!(format!("{}/v1beta1", text(&group))));
    Some(())
}

/// Arguments as v1beta1 writes them: a map.
fn config(spec: &mut Value) -> Option<()> {
    for moved in ["bootCommands", "diskSetup", "ignition", "timeouts", "users"] {
        if spec.get(moved).is_some() {
            return None;
        }
    }
    for pointer in [
        "/clusterConfiguration/apiServer/extraArgs",
        "/initConfiguration/nodeRegistration/kubeletExtraArgs",
        "/joinConfiguration/nodeRegistration/kubeletExtraArgs",
    ] {
        let Some(list) = spec.pointer_mut(pointer) else { continue };
        let entries = list.as_array()?.iter();
        let map: Option<serde_json::Map<String, Value>> =
            entries.map(|entry| Some((entry["name"].as_str()?.to_owned(), entry.get("value")?.clone()))).collect();
        *list = Value::Object(map?);
    }
    Some(())
}

/// An object that becomes a hook of the release, or none any more.
pub(crate) fn hook(objects: &Objects, seed: &mut Seed) -> Vec<Edit> {
    let kinds = [
        "DevMachineTemplate",
        "KubeadmConfigTemplate",
        "RKE2ConfigTemplate",
        "MachineHealthCheck",
        "MachineDeployment",
    ];
    let names: Vec<&String> =
        objects.keys().filter(|name| kinds.iter().any(|kind| name.starts_with(&format!("{kind}/")))).collect();
    if names.is_empty() {
        return Vec::new();
    }
    let name = (*seed.pick(&names)).clone();
    let mark = |mark: &str| format!("/metadata/annotations/{}", step(mark));
    let is_one = objects[&name].pointer(&mark("helm.sh/hook")).is_some();
    if is_one {
        return vec![Edit::Unset(name, mark("helm.sh/hook"))];
    }
    let mut edits = set(
        &name,
        &mark("helm.sh/hook"),
        json!(*seed.pick(&["pre-upgrade", "post-upgrade", "test", "pre-upgrade,post-upgrade"])),
    );
    if seed.chance(50) {
        let policy = *seed.pick(&["before-hook-creation", "hook-succeeded", "hook-failed"]);
        edits.extend(set(&name, &mark("helm.sh/hook-delete-policy"), json!(policy)));
    }
    edits
}

/// Annotations by which somebody asks for Machines to be replaced, deleted first, or left alone.
pub(crate) fn marks(draw: &Draw<'_>, seed: &mut Seed) -> Vec<Edit> {
    let groups: Vec<&String> = draw.objects.keys().filter(|name| name.starts_with("MachineDeployment/")).collect();
    let planes: Vec<&String> = draw.objects.keys().filter(|name| name.contains("ControlPlane/")).collect();
    let workers = ["skip-remediation", "remediate-machine", "delete-machine", "paused"];
    let mark = |mark: &str| step(&format!("cluster.x-k8s.io/{mark}"));
    match (seed.below(4), groups.is_empty(), planes.is_empty()) {
        (0, _, false) => {
            let name = (*seed.pick(&planes)).clone();
            let pointer = format!(
                "/spec/machineTemplate/metadata/annotations/{}",
                mark(seed.pick::<&str>(&["skip-remediation", "remediate-machine", "paused"]))
            );
            set_or_unset(seed, &name, &pointer, json!(""))
        }
        (1, false, _) => {
            let name = (*seed.pick(&groups)).clone();
            let pointer =
                format!("/metadata/annotations/{}", step("machineset.cluster.x-k8s.io/skip-preflight-checks"));
            set_or_unset(seed, &name, &pointer, json!("All"))
        }
        (_, false, _) => {
            let name = (*seed.pick(&groups)).clone();
            let pointer = format!("/spec/template/metadata/annotations/{}", mark(seed.pick::<&str>(&workers)));
            set_or_unset(seed, &name, &pointer, json!(""))
        }
        _ => Vec::new(),
    }
}

/// Something beside the release that an owner does not ask for: a Machine that hangs in its deletion, or that somebody deletes,
/// a set that is paused, a template that somebody edits.
pub(crate) fn act(draw: &Draw<'_>, seed: &mut Seed) -> Option<Act> {
    let machine = seed.below(draw.machines.max(1));
    let hook = json!({"metadata": {"annotations": {"pre-drain.delete.hook.machine.cluster.x-k8s.io/hunt": "hunt"}}});
    Some(match seed.below(7) {
        0 => Act::PatchMachine(machine, hook),
        1 => Act::PatchMachine(
            machine,
            json!({"metadata": {"annotations": {"pre-drain.delete.hook.machine.cluster.x-k8s.io/hunt": null}}}),
        ),
        2 => Act::DeleteMachine(machine),
        3 => Act::PatchSet(
            seed.below(4),
            json!({"metadata": {"annotations": {"cluster.x-k8s.io/paused": seed.pick(&[json!(""), Value::Null])}}}),
        ),
        4 => Act::PatchMachine(
            machine,
            json!({"metadata": {"annotations": {"machine.cluster.x-k8s.io/certificates-expiry": "2026-12-20T00:00:00Z"}}}),
        ),
        5 => reordered(draw)?,
        _ => {
            Act::PatchMachine(machine, json!({"metadata": {"labels": {"pool": *seed.pick(&["md-a", "md-b", "none"])}}}))
        }
    })
}

/// Somebody stores the arguments of the workers' template in another order, through the newest version.
fn reordered(draw: &Draw<'_>) -> Option<Act> {
    let place = "/spec/template/spec/joinConfiguration/nodeRegistration/kubeletExtraArgs";
    let list = others::turned(draw.objects.get("KubeadmConfigTemplate/workers")?.pointer(place)?)?;
    Some(Act::Patch(
        "bootstrap.cluster.x-k8s.io/v1beta2".to_owned(),
        "kubeadmconfigtemplates".to_owned(),
        "workers".to_owned(),
        json!({"spec": {"template": {"spec": {"joinConfiguration": {"nodeRegistration": {"kubeletExtraArgs": list}}}}}}),
    ))
}

/// Any name that the controllers' code reads, set or taken away, on an object or on what an owner gives its Machines.
pub(crate) fn names(draw: &Draw<'_>, seed: &mut Seed) -> Vec<Edit> {
    let places: Vec<&String> = draw.objects.keys().collect();
    let name = (*seed.pick(&places)).clone();
    let mark = step(seed.pick::<String>(names::names()));
    let map = *seed.pick(&["annotations", "annotations", "labels"]);
    let inner = match name.split('/').next() {
        Some("MachineDeployment") => Some("/spec/template"),
        Some("KubeadmControlPlane") => Some("/spec/machineTemplate"),
        _ => None,
    };
    let place = inner.filter(|_| seed.chance(40)).unwrap_or_default();
    let value = json!(*seed.pick(&["", "true", "x"]));
    set_or_unset(seed, &name, &format!("{place}/metadata/{map}/{mark}"), value)
}

/// What happens around a release: objects of somebody else, of another release of the same cluster or of another namespace; a record
/// that is lost; a namespace that goes; a name that a controller reads, written onto a Machine.
pub(crate) fn around(draw: &Draw<'_>, seed: &mut Seed) -> Act {
    let group = "/apis/cluster.x-k8s.io/v1beta2";
    match seed.below(12) {
        0..=2 => {
            let name = *seed.pick(&["settings", "app"]);
            let kind = if name == "app" { ("secrets", "Secret") } else { ("configmaps", "ConfigMap") };
            let object = json!({"apiVersion": "v1", "kind": kind.1, "metadata": {"name": name}});
            Act::Make(format!("/api/v1 {}", kind.0), object)
        }
        3..=4 if matches!(draw.shape, Shape::Kubeadm(_)) => {
            let mut other = workers("md-x", 1);
            other["metadata"]["labels"] = json!({"app.kubernetes.io/managed-by": "Helm"});
            other["metadata"]["annotations"] = json!({"meta.helm.sh/release-name": "web"});
            Act::Make(format!("{group} machinedeployments"), other)
        }
        5..=6 => Act::Twin,
        7 => Act::End,
        8 => Act::Forget,
        _ => {
            let mark = seed.pick(names::names()).clone();
            let map = *seed.pick(&["annotations", "annotations", "labels"]);
            let value = seed.pick(&[json!(""), json!("true"), Value::Null]).clone();
            Act::PatchMachine(seed.below(draw.machines.max(1)), json!({"metadata": {map: {mark: value}}}))
        }
    }
}
