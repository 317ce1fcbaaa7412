//! Feature gates of the controllers: which places of an object need one, and what is known of its state.
//! A gate that is off until somebody turns it on, and of which nobody said whether it is on, refuses nothing: it is a doubt.
//! Read beside `feature/feature.go` of Cluster API 1.6 to 1.14 and the webhooks that ask `feature.Gates.Enabled`.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::judge::admission::Refusal;
use crate::judge::admission::refuse;
use crate::kinds::machines::text;
use crate::object::{Key, Object, Path};
use crate::rules::Versions;

/// The ignition format of kubeadm configurations.
pub const IGNITION: &str = "KubeadmBootstrapFormatIgnition";
/// Ignition with its bucket, of the AWS provider (cluster-api-provider-aws `feature/feature.go`).
pub const AWS_IGNITION: &str = "BootstrapFormatIgnition";
/// More than one network in the supervisor mode of the vSphere provider (cluster-api-provider-vsphere `feature/feature.go`).
pub const NETWORKS: &str = "MultiNetworks";
/// Taints of Machines.
pub const TAINTS: &str = "MachineTaintPropagation";
/// Clusters with a topology, and their classes.
pub const TOPOLOGY: &str = "ClusterTopology";
/// Machine pools.
pub const POOLS: &str = "MachinePool";
/// Extensions that the controllers call.
pub const RUNTIME: &str = "RuntimeSDK";
/// Checks before a MachineSet makes Machines.
pub const PREFLIGHT: &str = "MachineSetPreflightChecks";
/// Resources that are applied to clusters.
pub const RESOURCE_SETS: &str = "ClusterResourceSet";

/// All of them.
pub const ALL: [&str; 9] =
    [IGNITION, AWS_IGNITION, NETWORKS, TAINTS, TOPOLOGY, POOLS, RUNTIME, PREFLIGHT, RESOURCE_SETS];

/// Gates that are on where nobody says otherwise, each with the first minor version of Cluster API in which they are.
const USUALLY_ON: [(&str, u64); 3] = [(RESOURCE_SETS, 0), (POOLS, 7), (PREFLIGHT, 9)];

/// What is known of a gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// It is on: somebody told it, an object that is there shows it, or it usually is.
    On,
    /// It is off: somebody told it, or its controller was read.
    Off,
    /// It is off unless somebody turned it on, and nobody said whether somebody did.
    Open,
}

/// Whether a gate is on where nobody says otherwise.
#[must_use]
pub fn is_usually_on(gate: &str, versions: &Versions) -> bool {
    USUALLY_ON.iter().any(|(name, since)| *name == gate && versions.capi(*since))
}

/// A place of an object that a webhook lets through only with a gate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Need {
    /// The gate.
    pub gate: &'static str,
    /// The place, in the superset form.
    pub path: Path,
}

/// The places of an object, in the superset form, that need a gate; `is_new` where the object is not there yet.
#[must_use]
pub fn needs(key: &Key, object: &Value, is_new: bool, versions: &Versions) -> Vec<Need> {
    let mut out = Vec::new();
    let mut need = |gate, place: &str| {
        let path = Path::parse(place).expect("the places here are written as paths");
        out.push(Need { gate, path });
    };
    match (key.group.as_str(), key.kind.as_str()) {
        ("bootstrap.cluster.x-k8s.io", "KubeadmConfig") => ignition(object, "spec", versions, &mut need),
        ("bootstrap.cluster.x-k8s.io", "KubeadmConfigTemplate") => {
            ignition(object, "spec.template.spec", versions, &mut need);
        }
        ("controlplane.cluster.x-k8s.io", "KubeadmControlPlane") => {
            ignition(object, "spec.kubeadmConfigSpec", versions, &mut need);
            if versions.capi(13) {
                taints(object, "spec.machineTemplate.spec.taints", &mut need);
            }
        }
        ("controlplane.cluster.x-k8s.io", "KubeadmControlPlaneTemplate") => {
            // The webhook of an update does not ask for it.
            if is_new {
                need(TOPOLOGY, "spec");
            }
            ignition(object, "spec.template.spec.kubeadmConfigSpec", versions, &mut need);
        }
        ("cluster.x-k8s.io", "MachineDeployment" | "MachineSet") if versions.capi(12) => {
            taints(object, "spec.template.spec.taints", &mut need);
        }
        ("cluster.x-k8s.io", "Machine") if versions.capi(12) => taints(object, "spec.taints", &mut need),
        ("cluster.x-k8s.io", "MachinePool") => need(POOLS, "spec"),
        ("cluster.x-k8s.io", "Cluster") if says_something(object.pointer("/spec/topology")) => {
            need(TOPOLOGY, "spec.topology");
        }
        ("cluster.x-k8s.io", "ClusterClass") => {
            need(TOPOLOGY, "spec");
            let patches = object.pointer("/spec/patches").and_then(Value::as_array);
            for (place, patch) in patches.into_iter().flatten().enumerate() {
                if patch.get("external").is_some_and(Value::is_object) {
                    need(RUNTIME, &format!("spec.patches[{place}].external"));
                }
            }
        }
        ("addons.cluster.x-k8s.io", "ClusterResourceSet") if !versions.capi(10) => need(RESOURCE_SETS, "spec"),
        ("runtime.cluster.x-k8s.io", "ExtensionConfig") => need(RUNTIME, "spec"),
        ("infrastructure.cluster.x-k8s.io", kind) => aws_ignition(kind, object, is_new, &mut need),
        ("vmware.infrastructure.cluster.x-k8s.io", kind) => networks(kind, object, &mut need),
        _ => {}
    }
    out
}

/// Whether an object may need a gate, so that one that is there can show that it is on.
#[must_use]
pub fn may_need(gate: &str, object: &Object) -> bool {
    let word = match gate {
        IGNITION => "ignition",
        TAINTS => "taints",
        _ => "",
    };
    let kinds: &[&str] = match gate {
        AWS_IGNITION => &["AWSCluster", "AWSMachine", "AWSMachineTemplate"],
        NETWORKS => &["VSphereCluster", "VSphereMachine", "VSphereMachineTemplate"],
        IGNITION => &["KubeadmConfig", "KubeadmConfigTemplate", "KubeadmControlPlane", "KubeadmControlPlaneTemplate"],
        TAINTS => &["KubeadmControlPlane", "MachineDeployment", "MachineSet"],
        TOPOLOGY => &["Cluster", "ClusterClass", "KubeadmControlPlaneTemplate"],
        POOLS => &["MachinePool"],
        RUNTIME => &["ClusterClass", "ExtensionConfig"],
        RESOURCE_SETS => &["ClusterResourceSet"],
        _ => &[],
    };
    kinds.contains(&object.key.kind.as_str()) && object.may_say(word)
}

/// What a webhook refuses because a gate is known to be off, and what it may refuse because nobody knows.
#[must_use]
pub(crate) fn refusals(needs: &[Need], state: &dyn Fn(&str) -> State) -> (Vec<Refusal>, Vec<Open>) {
    let (mut refused, mut open) = (Vec::new(), Vec::new());
    for Need { gate, path } in needs {
        match state(gate) {
            State::On => {}
            State::Off => {
                refuse(&mut refused, "gate/off", path, "", format!("it needs the feature gate {gate}, which is off"));
            }
            State::Open => open.push(Open { gate, path: path.clone() }),
        }
    }
    (refused, open)
}

/// A place that needs a gate of which nobody said whether it is on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Open {
    /// The gate.
    pub(crate) gate: &'static str,
    /// The place, in the superset form.
    pub(crate) path: Path,
}

impl Open {
    /// The sentence about a write to what is there already.
    #[must_use]
    pub(crate) fn because(&self) -> String {
        let gate = self.gate;
        format!(
            "the webhook refuses it where the feature gate {gate} is off, as it is unless somebody turned it on; \
             its state was not read: --feature-gate {gate}=true or =false tells it"
        )
    }
}

/// One note a gate about new objects that a webhook lets through only with it, where nobody said whether it is on.
#[must_use]
pub(crate) fn warnings(new: &[(&Key, Vec<Open>)]) -> Vec<String> {
    let mut by_gate: BTreeMap<&str, Vec<&Key>> = BTreeMap::new();
    for (key, open) in new {
        for open in open {
            let keys = by_gate.entry(open.gate).or_default();
            if keys.last() != Some(key) {
                keys.push(key);
            }
        }
    }
    let say = |(gate, keys): (&str, Vec<&Key>)| {
        let who = match keys.as_slice() {
            [one] => format!("{one} is new and needs"),
            [first, rest @ ..] => format!("{first} and {} more are new and need", rest.len()),
            [] => return None,
        };
        Some(format!(
            "{who} the feature gate {gate}, whose state was not read: where it is off, as it is unless somebody turned it on, \
             the API server refuses it; --feature-gate {gate}=true or =false tells it"
        ))
    };
    by_gate.into_iter().filter_map(say).collect()
}

/// The ignition format, and settings of it.
fn ignition(object: &Value, place: &str, versions: &Versions, need: &mut dyn FnMut(&'static str, &str)) {
    let Some(spec) = object.pointer(&format!("/{}", place.replace('.', "/"))) else { return };
    if text(spec, "/format") == Some("ignition") {
        need(IGNITION, &format!("{place}.format"));
    }
    let block = spec.get("ignition");
    // Up to 1.10 an empty block is a block.
    let is_there = if versions.capi(11) { says_something(block) } else { block.is_some_and(Value::is_object) };
    if is_there {
        need(IGNITION, &format!("{place}.ignition"));
    }
}

/// What the webhooks of the AWS provider ask their own gate for: of Machines and their templates only when they are new.
fn aws_ignition(kind: &str, object: &Value, is_new: bool, need: &mut dyn FnMut(&'static str, &str)) {
    let place = match kind {
        "AWSCluster" => "spec.s3Bucket",
        "AWSMachine" if is_new => "spec.ignition",
        "AWSMachineTemplate" if is_new => "spec.template.spec.ignition",
        _ => return,
    };
    if object.pointer(&format!("/{}", place.replace('.', "/"))).is_some_and(Value::is_object) {
        need(AWS_IGNITION, place);
    }
}

/// What the webhooks of the vSphere provider in supervisor mode (`internal/webhooks/vmware` of 1.14) ask their gate for.
fn networks(kind: &str, object: &Value, need: &mut dyn FnMut(&'static str, &str)) {
    let place = match kind {
        "VSphereCluster" => "spec.network.nsxVPC.createSubnetSet",
        "VSphereMachine" => "spec.network.interfaces",
        "VSphereMachineTemplate" => "spec.template.spec.network.interfaces",
        _ => return,
    };
    if object.pointer(&format!("/{}", place.replace('.', "/"))).is_some_and(|value| !value.is_null()) {
        need(NETWORKS, place);
    }
}

/// A list of taints with something in it.
fn taints(object: &Value, place: &str, need: &mut dyn FnMut(&'static str, &str)) {
    let list = object.pointer(&format!("/{}", place.replace('.', "/"))).and_then(Value::as_array);
    if list.is_some_and(|list| !list.is_empty()) {
        need(TAINTS, place);
    }
}

/// Whether a block says anything.
pub(crate) fn says_something(block: Option<&Value>) -> bool {
    match block {
        Some(Value::Object(map)) => map.values().any(|value| says_something(Some(value))),
        Some(Value::Array(list)) => !list.is_empty(),
        Some(Value::String(text)) => !text.is_empty(),
        Some(Value::Null) | None => false,
        Some(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn gates(group: &str, kind: &str, object: &Value, version: &str) -> Vec<String> {
        let group = format!("{group}cluster.x-k8s.io");
        let key = Key { group, kind: kind.to_owned(), namespace: None, name: "x".to_owned() };
        let found = needs(&key, object, true, &Versions::told("cluster-api", version));
        found.into_iter().map(|need| format!("{} {}", need.gate, need.path)).collect()
    }

    #[test]
    fn ignition_is_found_where_each_kind_has_it() {
        let config = json!({"format": "ignition"});
        let table = [
            ("bootstrap.", "KubeadmConfig", json!({"spec": config}), "spec.format"),
            (
                "bootstrap.",
                "KubeadmConfigTemplate",
                json!({"spec": {"template": {"spec": config}}}),
                "spec.template.spec.format",
            ),
            (
                "controlplane.",
                "KubeadmControlPlane",
                json!({"spec": {"kubeadmConfigSpec": config}}),
                "spec.kubeadmConfigSpec.format",
            ),
        ];
        for (group, kind, object, place) in table {
            assert_eq!(gates(group, kind, &object, "v1.14.2"), [format!("{IGNITION} {place}")], "{kind}");
        }
        let near = json!({"spec": {"format": "cloud-config", "ignition": {}}});
        assert!(gates("bootstrap.", "KubeadmConfig", &near, "v1.14.2").is_empty());
        assert_eq!(gates("bootstrap.", "KubeadmConfig", &near, "v1.10.10"), [format!("{IGNITION} spec.ignition")]);
        assert!(gates("x.", "KubeadmConfig", &json!({"spec": config}), "v1.14.2").is_empty());
    }

    #[test]
    fn only_versions_that_ask_need_the_gate() {
        let machine = json!({"spec": {"template": {"spec": {"taints": [{"key": "a"}]}}}});
        assert_eq!(
            gates("", "MachineDeployment", &machine, "v1.12.3"),
            [format!("{TAINTS} spec.template.spec.taints")]
        );
        assert!(gates("", "MachineDeployment", &machine, "v1.11.5").is_empty());
        let set = json!({"spec": {}});
        assert_eq!(gates("addons.", "ClusterResourceSet", &set, "v1.9.6"), [format!("{RESOURCE_SETS} spec")]);
        assert!(gates("addons.", "ClusterResourceSet", &set, "v1.10.10").is_empty());
    }

    #[test]
    fn a_class_needs_two_gates_where_an_extension_patches() {
        let class = json!({"spec": {"patches": [{"definitions": []}, {"external": {"generateExtension": "x"}}]}});
        let wanted = [format!("{TOPOLOGY} spec"), format!("{RUNTIME} spec.patches[1].external")];
        assert_eq!(gates("", "ClusterClass", &class, "v1.14.2"), wanted);
        assert_eq!(gates("", "Cluster", &json!({"spec": {"topology": {}}}), "v1.14.2"), [""; 0]);
    }

    #[test]
    fn gates_of_other_providers_are_their_own() {
        let template = json!({"spec": {"template": {"spec": {"ignition": {"version": "3.4"}}}}});
        let wanted = format!("{AWS_IGNITION} spec.template.spec.ignition");
        assert_eq!(gates("infrastructure.", "AWSMachineTemplate", &template, "v1.14.2"), [wanted]);
        let key = Key {
            group: "infrastructure.cluster.x-k8s.io".to_owned(),
            kind: "AWSMachineTemplate".to_owned(),
            namespace: None,
            name: "x".to_owned(),
        };
        assert!(needs(&key, &template, false, &Versions::told("cluster-api", "v1.14.2")).is_empty());
        assert!(gates("infrastructure.", "AWSCluster", &json!({"spec": {"region": "x"}}), "v1.14.2").is_empty());
        let machine = json!({"spec": {"network": {"interfaces": {"primary": {}}}}});
        let wanted = format!("{NETWORKS} spec.network.interfaces");
        assert_eq!(gates("vmware.infrastructure.", "VSphereMachine", &machine, "v1.14.2"), [wanted]);
        assert!(gates("infrastructure.", "VSphereMachine", &machine, "v1.14.2").is_empty());
    }

    #[test]
    fn a_gate_that_is_usually_on_is_open_only_before() {
        let told = |version| Versions::told("cluster-api", version);
        assert!(is_usually_on(POOLS, &told("v1.7.9")) && !is_usually_on(POOLS, &told("v1.6.8")));
        assert!(is_usually_on(RESOURCE_SETS, &told("v1.6.8")));
        assert!(!is_usually_on(IGNITION, &told("v1.14.2")));
    }

    #[test]
    fn an_open_gate_refuses_nothing() {
        let path = Path::parse("spec.format").expect("a path");
        let need = [Need { gate: IGNITION, path: path.clone() }];
        let (refused, open) = refusals(&need, &|_| State::Open);
        assert!(refused.is_empty());
        assert_eq!(open, [Open { gate: IGNITION, path }]);
        assert_eq!(refusals(&need, &|_| State::Off).0.len(), 1);
        assert_eq!(refusals(&need, &|_| State::On), (Vec::new(), Vec::new()));
    }
}
