//! Versions of the providers, from what installed them. Pure: objects go in, versions with their evidence come out.
//! An installer's own record counts more than a controller's image, and an image more than a label on a definition.

use std::collections::BTreeMap;

use super::Provider;
use crate::kinds::Versions;
use crate::providers::core::PREFLIGHT;
use crate::providers::gates;
use crate::tree::Value;

/// One version that was found, before providers of one name are put together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Sighting {
    /// Full name as clusterctl writes it: `cluster-api`, `bootstrap-kubeadm`, `infrastructure-openstack`.
    pub name: String,
    /// Version with its `v`.
    pub version: String,
    /// What it was read from.
    pub evidence: String,
}

/// The version in an entry of clusterctl's inventory (cluster-api `cmd/clusterctl/api/v1alpha3/provider_type.go`).
#[must_use]
pub(crate) fn inventory(object: &Value) -> Option<Sighting> {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).filter(|text| !text.is_empty());
    let name = full_name(text("/type")?, text("/providerName")?);
    Some(Sighting {
        version: version(text("/version")?)?,
        evidence: format!("clusterctl inventory {}", place(object)),
        name,
    })
}

/// The version in an object of the operator or of Turtles: what is installed, else what is wanted
/// (cluster-api-operator `api/v1alpha2/provider_types.go`, turtles `api/v1alpha1/capiprovider_types.go`).
#[must_use]
pub(crate) fn operator(object: &Value) -> Option<Sighting> {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).filter(|text| !text.is_empty());
    let kind = text("/kind")?;
    let own = text("/metadata/name")?;
    let name = match kind {
        "CAPIProvider" => {
            let kind = format!("{}Provider", capital(text("/spec/type")?));
            full_name(&kind, text("/spec/name").unwrap_or(own))
        }
        kind => full_name(kind, own),
    };
    let found = text("/status/installedVersion").or_else(|| text("/spec/version"))?;
    Some(Sighting { name, version: version(found)?, evidence: format!("{kind} {}", place(object)) })
}

/// The version in the image of a controller that carries the provider label.
#[must_use]
pub(crate) fn deployment(object: &Value) -> Option<Sighting> {
    let name = object.pointer("/metadata/labels")?.get(PROVIDER_LABEL)?.as_str()?;
    let containers = object.pointer("/spec/template/spec/containers")?.as_array()?;
    let image = containers.iter().filter_map(|container| container.get("image")?.as_str()).find_map(|image| {
        let (name, _) = image.split_once('@').unwrap_or((image, ""));
        let (_, tag) = name.rsplit_once('/').unwrap_or(("", name)).1.split_once(':')?;
        version(tag)
    })?;
    Some(Sighting { name: name.to_owned(), version: image, evidence: format!("image of Deployment {}", place(object)) })
}

/// The version that some installers write on the definitions.
#[must_use]
pub(crate) fn definition(name: &str, labels: &BTreeMap<String, String>) -> Option<Sighting> {
    Some(Sighting {
        name: labels.get(PROVIDER_LABEL)?.clone(),
        version: version(labels.get("app.kubernetes.io/version")?)?,
        evidence: format!("label of CustomResourceDefinition {name}"),
    })
}

/// The feature gates of a controller: those that its arguments name, and those that are off because they do not.
///
/// Empty for controllers whose gates nothing here depends on (cluster-api `core/main.go`, `bootstrap/kubeadm/main.go` and
/// `controlplane/kubeadm/main.go`, `--feature-gates`).
#[must_use]
pub(crate) fn gates(object: &Value) -> BTreeMap<String, bool> {
    let label = object.pointer("/metadata/labels").and_then(|labels| labels.get(PROVIDER_LABEL)?.as_str());
    // Only the gates that this controller's webhooks ask for say something.
    let own: Vec<&str> = match label {
        Some(label) => gates::all().filter(|gate| gate.asked_by.contains(&label)).map(|gate| gate.name).collect(),
        None => Vec::new(),
    };
    if own.is_empty() {
        return BTreeMap::new();
    }
    let containers = object.pointer("/spec/template/spec/containers").and_then(Value::as_array);
    let lists =
        containers.into_iter().flatten().flat_map(|container| [container.get("command"), container.get("args")]);
    let words: Vec<&str> = lists.flatten().filter_map(Value::as_array).flatten().filter_map(Value::as_str).collect();
    let mut told = BTreeMap::new();
    for (place, word) in words.iter().enumerate() {
        let list = match word.trim_start_matches('-').strip_prefix("feature-gates") {
            Some("") => words.get(place + 1).copied(),
            Some(rest) => rest.strip_prefix('='),
            None => None,
        };
        for gate in list.unwrap_or_default().split(',') {
            if let Some((name, state)) = gate.split_once('=') {
                told.insert(name.trim().to_owned(), state.trim().eq_ignore_ascii_case("true"));
            }
        }
    }
    // Which checks run is told apart from whether any does: a list of them is not understood here.
    let is_all = |word: &&str| matches!(word.trim_start_matches('-'), "machineset-preflight-checks=All");
    let lists_checks = words.iter().any(|word| word.contains("machineset-preflight-checks") && !is_all(word));
    let is_open = |name: &str| lists_checks && name == PREFLIGHT;
    let versions = deployment(object).map(|found| Versions::told(short(&found.name), &found.version));
    let usual: Vec<(String, bool)> =
        own.iter().filter_map(|name| Some(((*name).to_owned(), usual(name, versions.as_ref(), &told)?))).collect();
    for (name, state) in usual {
        told.entry(name).or_insert(state);
    }
    told.retain(|name, _| !is_open(name));
    told.retain(|name, _| gates::all().any(|gate| gate.name == name));
    told
}

/// Whether a gate is on that the arguments do not name; `None` where that came with a version, and the version is not told.
fn usual(name: &str, versions: Option<&Versions>, told: &BTreeMap<String, bool>) -> Option<bool> {
    let is_beta = match gates::all().find(|gate| gate.name == name)?.usually_on {
        Some(_) => gates::is_usually_on(name, versions?),
        None => false,
    };
    Some(if is_beta { told.get("AllBeta") != Some(&false) } else { told.get("AllAlpha") == Some(&true) })
}

/// Puts the gates of several controllers together; one that they do not agree about is not known.
#[must_use]
pub(crate) fn agreed(controllers: impl Iterator<Item = BTreeMap<String, bool>>) -> BTreeMap<String, bool> {
    let mut states: BTreeMap<String, Option<bool>> = BTreeMap::new();
    for (name, state) in controllers.flatten() {
        let known = states.entry(name).or_insert(Some(state));
        *known = known.filter(|known| *known == state);
    }
    states.into_iter().filter_map(|(name, state)| Some((name, state?))).collect()
}

/// Label that clusterctl and the provider manifests put on everything of a provider.
pub(crate) const PROVIDER_LABEL: &str = "cluster.x-k8s.io/provider";

/// Puts sightings together under short names (`rke2`); full names stay where the parts of a provider differ.
#[must_use]
pub(crate) fn merge(sightings: &[Sighting]) -> BTreeMap<String, Provider> {
    let mut by_short: BTreeMap<&str, Vec<&Sighting>> = BTreeMap::new();
    for sighting in sightings {
        by_short.entry(short(&sighting.name)).or_default().push(sighting);
    }
    let mut merged = BTreeMap::new();
    for (name, parts) in by_short {
        let same = parts.iter().all(|part| part.version == parts[0].version);
        for part in parts {
            let name = if same { name } else { part.name.as_str() };
            let found = Provider { version: part.version.clone(), evidence: part.evidence.clone() };
            merged.entry(name.to_owned()).or_insert(found);
        }
    }
    merged
}

/// The name that people use.
#[must_use]
pub(crate) fn short(name: &str) -> &str {
    ["bootstrap-", "control-plane-", "infrastructure-", "ipam-", "addon-", "runtime-extension-"]
        .iter()
        .find_map(|prefix| name.strip_prefix(prefix))
        .unwrap_or(name)
}

/// Clusterctl's full name of a provider (cluster-api `cmd/clusterctl/client/cluster/inventory.go`, ManifestLabel).
fn full_name(kind: &str, name: &str) -> String {
    let prefix = match kind {
        "BootstrapProvider" => "bootstrap-",
        "ControlPlaneProvider" => "control-plane-",
        "InfrastructureProvider" => "infrastructure-",
        "IPAMProvider" => "ipam-",
        "AddonProvider" => "addon-",
        "RuntimeExtensionProvider" => "runtime-extension-",
        _ => "",
    };
    if name.starts_with(prefix) { name.to_owned() } else { format!("{prefix}{name}") }
}

/// `core` and `controlPlane` as they stand in the kinds of the operator.
fn capital(word: &str) -> String {
    match word {
        "ipam" => "IPAM".to_owned(),
        "runtimeextension" | "runtimeExtension" => "RuntimeExtension".to_owned(),
        "controlplane" => "ControlPlane".to_owned(),
        word => word.chars().take(1).flat_map(char::to_uppercase).chain(word.chars().skip(1)).collect(),
    }
}

/// A text that is a version, with its `v`.
fn version(text: &str) -> Option<String> {
    let plain = text.strip_prefix('v').unwrap_or(text);
    semver::Version::parse(plain).ok()?;
    Some(format!("v{plain}"))
}

/// Namespace and name.
fn place(object: &Value) -> String {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    format!("{}/{}", text("/metadata/namespace"), text("/metadata/name"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::providers::core::in_place::GATE as IN_PLACE;
    use crate::providers::core::{POOLS, RUNTIME_SDK, TAINTS, TOPOLOGY};
    use crate::providers::kubeadm::IGNITION;
    use crate::tree::json;

    fn seen(name: &str, version: &str) -> Sighting {
        Sighting { name: name.to_owned(), version: version.to_owned(), evidence: "e".to_owned() }
    }

    #[test]
    fn feature_gates_are_read_from_arguments() {
        let manager = |label: &str, args: &[&str]| {
            json!({"metadata": {"name": "m", "labels": {PROVIDER_LABEL: label}},
            "spec": {"template": {"spec": {"containers": [{"command": ["/manager"], "args": args}]}}}})
        };
        let map = |told: &[(&str, bool)]| -> BTreeMap<String, bool> {
            told.iter().map(|(name, state)| ((*name).to_owned(), *state)).collect()
        };
        let named = manager(
            "bootstrap-kubeadm",
            &["--v=2", "--feature-gates=MachinePool=true,KubeadmBootstrapFormatIgnition=true,X=true"],
        );
        assert_eq!(gates(&named), map(&[(IGNITION, true), (POOLS, true)]));
        let apart = manager("bootstrap-kubeadm", &["--feature-gates", "KubeadmBootstrapFormatIgnition=false"]);
        assert_eq!(gates(&apart), map(&[(IGNITION, false)]));
        assert_eq!(gates(&manager("bootstrap-kubeadm", &["--v=2"])), map(&[(IGNITION, false)]));
        assert_eq!(gates(&manager("infrastructure-openstack", &["--feature-gates=X=true"])), map(&[]));
        let all = manager("cluster-api", &["--feature-gates=AllAlpha=true,RuntimeSDK=false"]);
        assert_eq!(gates(&all), map(&[(TAINTS, true), (TOPOLOGY, true), (IN_PLACE, true), (RUNTIME_SDK, false)]));
    }

    #[test]
    fn a_gate_that_came_with_a_version_is_on_from_there() {
        let manager = |image: &str, args: &[&str]| {
            let object = json!({"metadata": {"name": "m", "labels": {PROVIDER_LABEL: "cluster-api"}},
            "spec": {"template": {"spec": {"containers": [{"image": image, "command": ["/manager"], "args": args}]}}}});
            gates(&object).get(PREFLIGHT).copied()
        };
        assert_eq!(manager("x/capi:v1.14.0", &[]), Some(true));
        assert_eq!(manager("x/capi:v1.8.4", &[]), Some(false));
        assert_eq!(manager("x/capi:latest", &[]), None);
        assert_eq!(manager("x/capi:v1.14.0", &["--feature-gates=MachineSetPreflightChecks=false"]), Some(false));
        assert_eq!(manager("x/capi:v1.14.0", &["--feature-gates=AllBeta=false"]), Some(false));
        assert_eq!(manager("x/capi:v1.14.0", &["--machineset-preflight-checks=All"]), Some(true));
        assert_eq!(manager("x/capi:v1.14.0", &["--machineset-preflight-checks=KubeadmVersionSkew"]), None);
    }

    #[test]
    fn gates_that_controllers_do_not_agree_about_are_not_known() {
        let one = BTreeMap::from([("A".to_owned(), true), ("B".to_owned(), true)]);
        let other = BTreeMap::from([("A".to_owned(), false), ("B".to_owned(), true)]);
        assert_eq!(agreed([one.clone(), other, one].into_iter()), BTreeMap::from([("B".to_owned(), true)]));
    }

    #[test]
    fn each_source_is_read() {
        let meta = json!({"name": "control-plane-rke2", "namespace": "capi-system"});
        let entry =
            json!({"metadata": meta, "providerName": "rke2", "type": "ControlPlaneProvider", "version": "v0.21.0"});
        let found = inventory(&entry).expect("a version");
        assert_eq!((found.name.as_str(), found.version.as_str()), ("control-plane-rke2", "v0.21.0"));
        assert_eq!(found.evidence, "clusterctl inventory capi-system/control-plane-rke2");

        let turtles = json!({"kind": "CAPIProvider", "metadata": {"name": "rke2-bootstrap", "namespace": "n"},
            "spec": {"name": "rke2", "type": "bootstrap", "version": "v0.20.0"}, "status": {"installedVersion": "v0.20.1"}});
        let found = operator(&turtles).expect("a version");
        assert_eq!((found.name.as_str(), found.version.as_str()), ("bootstrap-rke2", "v0.20.1"));

        let core = json!({"kind": "CoreProvider", "metadata": {"name": "cluster-api", "namespace": "n"}, "spec": {"version": "v1.9.5"}});
        assert_eq!(operator(&core).expect("a version").name, "cluster-api");

        let manager = |image: &str| {
            json!({"metadata": {"name": "m", "namespace": "n", "labels": {PROVIDER_LABEL: "infrastructure-openstack"}},
            "spec": {"template": {"spec": {"containers": [{"image": "proxy"}, {"image": image}]}}}})
        };
        let table = [
            ("registry:5000/capi-openstack/capi-openstack-controller:v0.12.1", Some("v0.12.1")),
            ("registry:5000/x/controller:v0.12.1@sha256:abcd", Some("v0.12.1")),
            ("registry:5000/controller", None),
            ("x/controller:latest", None),
            ("x/controller@sha256:abcd", None),
        ];
        for (image, expected) in table {
            assert_eq!(deployment(&manager(image)).map(|found| found.version).as_deref(), expected, "{image}");
        }
    }

    #[test]
    fn parts_of_one_version_are_one_provider() {
        let merged = merge(&[
            seen("cluster-api", "v1.11.3"),
            seen("bootstrap-rke2", "v0.20.0"),
            seen("control-plane-rke2", "v0.20.0"),
        ]);
        assert_eq!(merged.keys().collect::<Vec<_>>(), ["cluster-api", "rke2"]);
    }

    #[test]
    fn parts_of_different_versions_stay_apart() {
        let merged = merge(&[seen("bootstrap-rke2", "v0.19.0"), seen("control-plane-rke2", "v0.20.0")]);
        assert_eq!(merged.keys().collect::<Vec<_>>(), ["bootstrap-rke2", "control-plane-rke2"]);
    }
}
