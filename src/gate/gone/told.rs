//! What an owner tells the components of its Machines: itself, by the template that it names, or by those of its class with their patches.
//! What external patches make is not looked at, nor what commands write.

use std::collections::BTreeSet;

use crate::compare::documents;
use crate::judge::patched_templates;
use crate::kinds::Role;
use crate::kinds::Versions;
use crate::kinds::fields::{class_named, list, target, text};
use crate::kinds::references::references;
use crate::object::Key;
use crate::providers::{k0smotron, kind, kubeadm, rke2, talos};
use crate::tree::{Map, Text, Value};

/// The component that reads gates of its own, and the flag that has gates.
pub(super) const KUBEADM: &str = "kubeadm";
pub(super) const GATES: &str = "feature-gates";

/// What a template says somewhere in its text, where it tells a component anything: content that is base64 hides it.
pub(super) const MARKS: [&str; 4] = ["xtraArgs", "eatureGates", "-arg", "base64"];

const API_SERVER: &str = "kube-apiserver";
const CONTROLLERS: &str = "kube-controller-manager";
const SCHEDULER: &str = "kube-scheduler";
const KUBELET: &str = "kubelet";
const ALL: [&str; 4] = [API_SERVER, CONTROLLERS, SCHEDULER, KUBELET];

/// An argument of a component.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Argument {
    pub(super) component: &'static str,
    pub(super) flag: String,
    pub(super) value: String,
}

/// Where something says arguments, by the component that gets them.
type Places = [(&'static str, &'static str)];

/// Where a control plane of kubeadm, a template of its workers, and those of RKE2 say arguments. Kubeadm knows its own gates alone.
const OF_KUBEADM: [(&str, &str); 6] = [
    (KUBEADM, "/clusterConfiguration/featureGates"),
    (API_SERVER, "/clusterConfiguration/apiServer/extraArgs"),
    (CONTROLLERS, "/clusterConfiguration/controllerManager/extraArgs"),
    (SCHEDULER, "/clusterConfiguration/scheduler/extraArgs"),
    (KUBELET, "/initConfiguration/nodeRegistration/kubeletExtraArgs"),
    (KUBELET, "/joinConfiguration/nodeRegistration/kubeletExtraArgs"),
];
const OF_RKE2: [(&str, &str); 4] = [
    (API_SERVER, "/serverConfig/kubeAPIServer/extraArgs"),
    (CONTROLLERS, "/serverConfig/kubeControllerManager/extraArgs"),
    (SCHEDULER, "/serverConfig/kubeScheduler/extraArgs"),
    (KUBELET, "/agentConfig/kubelet/extraArgs"),
];
/// Where a config of a Machine of Talos says them.
const OF_TALOS: [(&str, &str); 4] = [
    (API_SERVER, "/cluster/apiServer/extraArgs"),
    (CONTROLLERS, "/cluster/controllerManager/extraArgs"),
    (SCHEDULER, "/cluster/scheduler/extraArgs"),
    (KUBELET, "/machine/kubelet/extraArgs"),
];
/// Where a config of k0s says them.
const OF_K0S: [(&str, &str); 3] = [
    (API_SERVER, "/spec/api/extraArgs"),
    (CONTROLLERS, "/spec/controllerManager/extraArgs"),
    (SCHEDULER, "/spec/scheduler/extraArgs"),
];

/// What an owner tells the components of its Machines. `read` reads templates and classes.
pub(super) fn arguments(
    (key, api_version): (&Key, &str),
    owner: &Value,
    versions: &Versions,
    read: impl Fn(&Key) -> Option<Value>,
) -> Vec<Argument> {
    let mut found = match key.kind.as_str() {
        kubeadm::CONTROL_PLANE_KIND
        | rke2::CONTROL_PLANE_KIND
        | talos::CONTROL_PLANE_KIND
        | k0smotron::CONTROL_PLANE_KIND => of_spec(&key.kind, owner.get("spec")),
        _ if kind(key).role == Role::Cluster => of_topology((key, api_version), owner, versions, &read),
        _ => {
            let reference = owner.pointer("/spec/template/spec/bootstrap/configRef");
            let named = reference.and_then(|named| target(named, key.namespace.as_deref()));
            let named = named.filter(|named| holds_arguments(&named.kind));
            named.and_then(|named| Some(of_template(&named.kind, &read(&named)?))).unwrap_or_default()
        }
    };
    // Two groups of workers may share a template.
    let mut seen = Vec::with_capacity(found.len());
    found.retain(|argument| {
        let is_new = !seen.contains(argument);
        seen.push(argument.clone());
        is_new
    });
    found
}

/// The arguments in the templates of the class of a Cluster, as its patches leave them.
fn of_topology(
    (key, api_version): (&Key, &str),
    cluster: &Value,
    versions: &Versions,
    read: &impl Fn(&Key) -> Option<Value>,
) -> Vec<Argument> {
    let Some(class_key) = class_named(key, cluster) else { return Vec::new() };
    let Some(class) = read(&class_key) else { return Vec::new() };
    if list(&class, "/spec/patches").next().is_some() {
        let read = |key: &Key| read(key).filter(|_| holds_arguments(&key.kind));
        let made = patched_templates((key, api_version, cluster), (&class_key, &class), versions, &read);
        return made.iter().flat_map(|(kind, template)| of_template(kind, template)).collect();
    }
    let named = references(&class).into_iter().filter(|reference| holds_arguments(&reference.kind));
    let keys = named.map(|to| {
        let namespace = to.namespace.or_else(|| class_key.namespace.clone());
        Key::of(to.group.unwrap_or_default(), to.kind, namespace, to.name)
    });
    let keys: BTreeSet<Key> = keys.collect();
    keys.iter().filter_map(|key| Some(of_template(&key.kind, &read(key)?))).flatten().collect()
}

/// Whether templates of a kind hold arguments.
pub(super) fn holds_arguments(kind: &str) -> bool {
    matches!(
        kind,
        kubeadm::CONFIG_TEMPLATE
            | kubeadm::CONTROL_PLANE_TEMPLATE
            | rke2::CONFIG_TEMPLATE
            | rke2::CONTROL_PLANE_TEMPLATE
            | talos::CONFIG_TEMPLATE
            | k0smotron::WORKER_TEMPLATE
            | k0smotron::CONTROL_PLANE_TEMPLATE
    )
}

/// The arguments in a template.
pub(super) fn of_template(kind: &str, template: &Value) -> Vec<Argument> {
    of_spec(kind, template.pointer("/spec/template/spec"))
}

/// The arguments in the spec of an owner, or of what a template makes.
fn of_spec(kind: &str, spec: Option<&Value>) -> Vec<Argument> {
    let Some(spec) = spec else { return Vec::new() };
    let below = |pointer: &str| spec.pointer(pointer).unwrap_or(&Value::Null);
    match kind {
        kubeadm::CONFIG_TEMPLATE => of_parts(spec, &OF_KUBEADM[5..]),
        kubeadm::CONTROL_PLANE_KIND | kubeadm::CONTROL_PLANE_TEMPLATE => {
            of_parts(below("/kubeadmConfigSpec"), &OF_KUBEADM)
        }
        rke2::CONFIG_TEMPLATE => of_parts(spec, &OF_RKE2[3..]),
        rke2::CONTROL_PLANE_KIND | rke2::CONTROL_PLANE_TEMPLATE => of_parts(spec, &OF_RKE2),
        talos::CONTROL_PLANE_KIND => ["controlplane", "init"]
            .iter()
            .flat_map(|part| of_talos(below(&format!("/controlPlaneConfig/{part}"))))
            .collect(),
        talos::CONFIG_TEMPLATE => of_talos(spec),
        k0smotron::CONTROL_PLANE_KIND | k0smotron::CONTROL_PLANE_TEMPLATE => {
            let config = below("/k0sConfigSpec");
            let k0s = config.get("k0s").map(of_k0s).unwrap_or_default();
            k0s.into_iter().chain(of_command_line(config)).collect()
        }
        k0smotron::WORKER_TEMPLATE => of_command_line(spec),
        _ => Vec::new(),
    }
}

/// The arguments at some places of a config, and in the files that it writes.
fn of_parts(config: &Value, places: &Places) -> Vec<Argument> {
    let mut found = at(config, places);
    found.extend(list(config, "/files").flat_map(of_file));
    found
}

/// The arguments at some places.
fn at(config: &Value, places: &Places) -> Vec<Argument> {
    let found = places.iter().filter_map(|(component, place)| Some((*component, config.pointer(place)?)));
    found.flat_map(|(component, told)| each(component, told)).collect()
}

/// What a file tells components: a config of kubelets or a patch of kubeadm for one (`kubeletconfiguration+strategic.yaml`), or a config of
/// RKE2.
fn of_file(file: &Value) -> Vec<Argument> {
    let path = text(file, "/path").unwrap_or_default();
    let name = path.rsplit('/').next().unwrap_or_default();
    let Some(content) = text(file, "/content") else { return Vec::new() };
    let is_patch = name.starts_with("kubeletconfiguration");
    let is_of_rke2 = path.starts_with("/etc/rancher/rke2/config.yaml");
    let may_be_one =
        is_patch || is_of_rke2 || content.contains("KubeletConfiguration") || file.get("encoding").is_some();
    if !may_be_one {
        return Vec::new();
    }
    let mut found = Vec::new();
    for document in documents(content) {
        if is_patch || text(&document, "/kind") == Some("KubeletConfiguration") {
            found.extend(document.get("featureGates").into_iter().flat_map(|told| gates(KUBELET, told)));
        }
        if is_of_rke2 {
            let told = ALL
                .iter()
                .filter_map(|component| Some((*component, document.get(format!("{component}-arg").as_str())?)));
            found.extend(told.flat_map(|(component, told)| each(component, told)));
        }
    }
    found
}

/// The arguments in what a config of Talos is patched with, and in one that is said as a whole (`data`).
fn of_talos(config: &Value) -> Vec<Argument> {
    let whole = text(config, "/data").into_iter();
    let texts = whole.chain(list(config, "/strategicPatches").filter_map(Value::as_str));
    let patches = list(config, "/configPatches").filter_map(|patch| {
        let value = patch.get("value")?.clone();
        Some(text(patch, "/path")?.rsplit('/').filter(|key| !key.is_empty()).fold(value, |below, key| {
            Value::Object(Map::from_iter([(key.replace("~1", "/").replace("~0", "~"), below)]))
        }))
    });
    let configs: Vec<Value> = texts.flat_map(documents).chain(patches).collect();
    let told = |config: &Value| {
        let mut found = at(config, &OF_TALOS);
        let told = config.pointer("/machine/kubelet/extraConfig/featureGates");
        found.extend(told.into_iter().flat_map(|told| gates(KUBELET, told)));
        found
    };
    configs.iter().flat_map(told).collect()
}

/// The arguments in a config of k0s: those of components, the profiles of workers, and the gates that it hands to each component.
fn of_k0s(config: &Value) -> Vec<Argument> {
    let mut found = at(config, &OF_K0S);
    for profile in list(config, "/spec/workerProfiles") {
        found.extend(profile.pointer("/values/featureGates").into_iter().flat_map(|told| gates(KUBELET, told)));
    }
    for gate in list(config, "/spec/featureGates") {
        let Some(name) = text(gate, "/name") else { continue };
        let is_on = gate.get("enabled").and_then(Value::as_bool) == Some(true);
        let named: Vec<&str> = list(gate, "/components").filter_map(Value::as_str).collect();
        let asked = ALL.into_iter().filter(|component| named.is_empty() || named.contains(component));
        found.extend(asked.map(|component| argument(component, GATES, format!("{name}={is_on}"))));
    }
    found
}

/// What k0s hands to its kubelet (`--kubelet-extra-args`).
fn of_command_line(config: &Value) -> Vec<Argument> {
    let mut words = list(config, "/args").filter_map(Value::as_str);
    let mut found = Vec::new();
    while let Some(word) = words.next() {
        let Some(rest) = word.strip_prefix("--kubelet-extra-args") else { continue };
        let told = rest.strip_prefix('=').or_else(|| words.next()).unwrap_or_default();
        let flags = told.trim_matches(['"', '\'']).split_whitespace();
        found.extend(flags.map(|flag| of_text(KUBELET, flag)));
    }
    found
}

/// Gates as a map of names and whether they are on.
fn gates(component: &'static str, told: &Value) -> Vec<Argument> {
    let gate = |(gate, on): (&Text, &Value)| argument(component, GATES, format!("{gate}={on}"));
    told.as_object().into_iter().flat_map(|gates| gates.iter()).map(gate).collect()
}

/// Arguments as they are written: a map of values or of lists of them, a list of names and values, or a list of texts.
pub(super) fn each(component: &'static str, told: &Value) -> Vec<Argument> {
    let one = |flag: &str, value: &Value| {
        argument(component, flag, value.as_str().map_or_else(|| value.to_string(), str::to_owned))
    };
    match told {
        Value::Object(_) if component == KUBEADM => gates(component, told),
        Value::Object(map) => map
            .iter()
            .flat_map(|(flag, value)| match value.as_array() {
                Some(values) => values.iter().map(|value| one(flag, value)).collect(),
                None => vec![one(flag, value)],
            })
            .collect(),
        Value::Array(items) => items
            .iter()
            .filter_map(|item| match item.as_str() {
                Some(text) => Some(of_text(component, text)),
                None => Some(one(item.get("name")?.as_str()?, item.get("value").unwrap_or(&Value::Null))),
            })
            .collect(),
        Value::String(text) => vec![of_text(component, text)],
        _ => Vec::new(),
    }
}

/// An argument as a text: `flag=value`, or the flag alone.
fn of_text(component: &'static str, text: &str) -> Argument {
    let (flag, value) = text.split_once('=').unwrap_or((text, ""));
    argument(component, flag, value.to_owned())
}

fn argument(component: &'static str, flag: &str, value: String) -> Argument {
    Argument { component, flag: flag.trim_start_matches('-').replace('_', "-"), value }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::json;

    fn said(kind: &str, spec: &Value) -> Vec<String> {
        let found = of_spec(kind, Some(spec));
        found.iter().map(|one| format!("{} {}={}", one.component, one.flag, one.value)).collect()
    }

    #[test]
    fn files_of_kubelets_and_of_rke2_are_read() {
        let config = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nfeatureGates: {A: true}\n";
        let file = |path: &str, content: &str| json!({"files": [{"path": path, "content": content}]});
        assert_eq!(said(kubeadm::CONFIG_TEMPLATE, &file("/etc/k.yaml", config)), ["kubelet feature-gates=A=true"]);
        let patch = file("/etc/kubernetes/patches/kubeletconfiguration0+merge.yaml", "featureGates: {A: false}\n");
        assert_eq!(said(kubeadm::CONFIG_TEMPLATE, &patch), ["kubelet feature-gates=A=false"]);
        let hidden = json!({"files": [{"path": "/a", "encoding": "base64", "content":
            "a2luZDogS3ViZWxldENvbmZpZ3VyYXRpb24KZmVhdHVyZUdhdGVzOiB7QTogdHJ1ZX0K"}]});
        assert_eq!(said(kubeadm::CONFIG_TEMPLATE, &hidden), ["kubelet feature-gates=A=true"]);
        // What has gates and is no config of a kubelet.
        assert!(said(kubeadm::CONFIG_TEMPLATE, &file("/a.yaml", "kind: Other\nfeatureGates: {A: true}\n")).is_empty());
        let args = "kubelet-arg: [feature-gates=A=true, v=2]\nkube-apiserver-arg: a=b\n";
        let told = said(rke2::CONFIG_TEMPLATE, &file("/etc/rancher/rke2/config.yaml.d/50.yaml", args));
        assert_eq!(told, ["kube-apiserver a=b", "kubelet feature-gates=A=true", "kubelet v=2"]);
        assert!(said(rke2::CONFIG_TEMPLATE, &file("/etc/other.yaml", args)).is_empty());
    }

    #[test]
    fn patches_of_talos_are_read() {
        let patches = json!({
            "strategicPatches": ["machine:\n  kubelet:\n    extraArgs: {feature-gates: A=true}\n    extraConfig: {featureGates: {B: false}}\n"],
            "configPatches": [
                {"op": "add", "path": "/cluster/apiServer/extraArgs", "value": {"a": "1", "b": ["2", "3"]}},
                {"op": "remove", "path": "/cluster/apiServer/extraArgs/c"},
                {"op": "add", "path": "/machine/files", "value": []},
            ],
        });
        let all = [
            "kubelet feature-gates=A=true",
            "kubelet feature-gates=B=false",
            "kube-apiserver a=1",
            "kube-apiserver b=2",
            "kube-apiserver b=3",
        ];
        assert_eq!(said(talos::CONFIG_TEMPLATE, &patches), all);
        let plane = json!({"controlPlaneConfig": {"controlplane": patches}});
        assert_eq!(said(talos::CONTROL_PLANE_KIND, &plane), all);
    }

    #[test]
    fn configs_and_arguments_of_k0s_are_read() {
        let config = json!({"k0sConfigSpec": {
            "args": ["--debug", "--kubelet-extra-args=\"--a=b --c\"", "--kubelet-extra-args", "--d=e"],
            "k0s": {"spec": {
                "api": {"extraArgs": {"a": "1"}},
                "workerProfiles": [{"name": "p", "values": {"featureGates": {"A": true}}}],
                "featureGates": [{"name": "B", "enabled": true, "components": ["kube-scheduler", "kube-proxy"]}],
            }},
        }});
        assert_eq!(
            said(k0smotron::CONTROL_PLANE_KIND, &config),
            [
                "kube-apiserver a=1",
                "kubelet feature-gates=A=true",
                "kube-scheduler feature-gates=B=true",
                "kubelet a=b",
                "kubelet c=",
                "kubelet d=e"
            ]
        );
        assert_eq!(
            said(k0smotron::WORKER_TEMPLATE, &config["k0sConfigSpec"]),
            ["kubelet a=b", "kubelet c=", "kubelet d=e"]
        );
    }
}
