//! What mutating webhooks fill in before the schema is asked, in the form in which the object was written.
//! Read beside the `Default` methods in `core/webhooks/admission` and `controlplane/kubeadm/webhooks/admission` of
//! Cluster API 1.14, and controller-runtime `pkg/webhook/admission/defaulter_custom.go`, which writes an object anew from Go's
//! types.

use super::changes::{V1BETA2, WRITES_ONLY_CHANGES};
use crate::kinds::contract::{CLUSTER_NAME, DEPLOYMENT_NAME, SET_NAME};
use crate::kinds::fields;
use crate::kinds::webhook::Written;
use crate::kinds::{POINTERS, Versions};
use crate::object::ApiVersion;
use crate::tree::{Map, Value, json};

/// Sends one side of a write through the mutating webhook of a kind of Cluster API, and through those that are made like them.
pub(crate) fn fill_in(written: &Written<'_>, object: &mut Value) {
    let Written { key, api_version, shape, versions, .. } = *written;
    let kind = key.kind.as_str();
    let of_newer_webhook = HAVE_WEBHOOKS.contains(&kind) && !ApiVersion::is_before_v1beta2(api_version);
    let may_stay = of_newer_webhook && versions.has(&WRITES_ONLY_CHANGES) && of_cluster_api(&key.group);
    let before = may_stay.then(|| object.clone());
    mutate(kind, api_version, object, versions);
    let is_changed = before.is_none_or(|before| before != *object);
    let Some(spec) = object.get_mut("spec") else { return };
    if !versions.has(&V1BETA2) && of_cluster_api(&key.group) {
        shape.round_trip(spec, POINTERS);
    } else if of_newer_webhook && is_changed {
        // Since 1.11 only what Go cannot leave out is added to the written text, and since 1.13 (controller-runtime 0.23)
        // only where a default changed something at all. Written as v1beta1 the text stays as it is.
        shape.add_zeros(spec);
    }
}

/// Kinds of Cluster API with a mutating webhook since 1.11.
const HAVE_WEBHOOKS: &[&str] = &[
    "Cluster",
    "ClusterResourceSet",
    "KubeadmConfigTemplate",
    "KubeadmControlPlane",
    "Machine",
    "MachineDeployment",
    "MachineHealthCheck",
    "MachinePool",
    "MachineSet",
];

/// Fills in what the webhook's own code fills in.
fn mutate(kind: &str, api_version: &str, object: &mut Value, versions: &Versions) {
    let is_old = ApiVersion::is_before_v1beta2(api_version);
    let strategy: &[&str] = match (kind, is_old) {
        ("KubeadmControlPlane", true) => &["rolloutStrategy"],
        ("MachineDeployment", true) => &["strategy"],
        ("KubeadmControlPlane" | "MachineDeployment", false) => &["rollout", "strategy"],
        _ => &[],
    };
    let cluster = object.pointer("/spec/clusterName").and_then(Value::as_str).unwrap_or_default().to_owned();
    let name = object.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default().to_owned();
    let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) else { return };
    if let Some(strategy) = (!strategy.is_empty()).then(|| strategy.iter().try_fold(spec, |map, key| map_at(map, key)))
    {
        let Some(strategy) = strategy else { return };
        fill_strategy(kind, strategy, versions.has(&V1BETA2));
    }
    let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) else { return };
    let seconds = match (kind, is_old) {
        ("Machine", false) => map_at(spec, "deletion").map(|map| (map, "nodeDeletionTimeoutSeconds", 10)),
        ("MachinePool", false) => map_at(spec, "template")
            .and_then(|map| map_at(map, "spec"))
            .and_then(|map| map_at(map, "deletion"))
            .map(|map| (map, "nodeDeletionTimeoutSeconds", 10)),
        ("MachineHealthCheck", false) => map_at(spec, "checks").map(|map| (map, "nodeStartupTimeoutSeconds", 600)),
        _ => None,
    };
    if let Some((map, key, seconds)) = seconds
        && map.get(key).is_none_or(Value::is_null)
    {
        map.insert(key.to_owned(), json!(seconds));
    }
    let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) else { return };
    // Up to 1.10 Go wrote the template of Machines even where nobody gave one.
    if !versions.has(&V1BETA2) && matches!(kind, "MachineDeployment" | "MachineSet" | "MachinePool") {
        let _template = map_at(spec, "template").and_then(|template| map_at(template, "spec"));
    }
    if kind == "MachineSet" && !versions.has(&V1BETA2) && spec.get("deletePolicy").is_none_or(|told| told == "") {
        spec.insert("deletePolicy".to_owned(), json!("Random"));
    }
    if kind == "ClusterResourceSet" && spec.get("strategy").is_none_or(|told| told == "" || told.is_null()) {
        spec.insert("strategy".to_owned(), json!("ApplyOnce"));
    }
    if kind == "ExtensionConfig"
        && let Some(service) = spec.get_mut("clientConfig").and_then(|client| client.get_mut("service"))
        && let Some(service) = service.as_object_mut().filter(|service| !service.is_empty())
        && service.get("port").is_none_or(Value::is_null)
    {
        service.insert("port".to_owned(), json!(443));
    }
    if matches!(kind, "MachineDeployment" | "MachineSet") {
        fill_selector(kind, spec, &cluster, &name);
    }
    if matches!(kind, "MachineDeployment" | "MachineSet" | "MachinePool" | "KubeadmControlPlane")
        && spec.get("replicas").is_some_and(Value::is_null)
    {
        spec.remove("replicas");
    }
}

/// The block at a key, made where Go reads none: a `null` is an empty struct to it.
fn map_at<'m>(map: &'m mut Map, key: &str) -> Option<&'m mut Map> {
    if map.get(key).is_some_and(Value::is_null) {
        map.insert(key.to_owned(), json!({}));
    }
    fields::map_at(map, key)
}

/// Whether a group is one of those whose webhooks belong to Cluster API itself.
fn of_cluster_api(group: &str) -> bool {
    matches!(group, "cluster.x-k8s.io" | "bootstrap.cluster.x-k8s.io" | "controlplane.cluster.x-k8s.io")
}

/// The strategy with its defaults; a control plane has only one.
fn fill_strategy(kind: &str, strategy: &mut Map, overwrites: bool) {
    let told = strategy.get("type").and_then(Value::as_str).is_some_and(|text| !text.is_empty());
    if (kind == "KubeadmControlPlane" && overwrites) || !told {
        strategy.insert("type".to_owned(), json!("RollingUpdate"));
    }
    if strategy.get("type") == Some(&json!("RollingUpdate"))
        && let Some(rolling) = map_at(strategy, "rollingUpdate")
    {
        let defaults: &[(&str, i64)] =
            if kind == "KubeadmControlPlane" { &[("maxSurge", 1)] } else { &[("maxSurge", 1), ("maxUnavailable", 0)] };
        for (key, value) in defaults {
            if rolling.get(key).is_none_or(Value::is_null) {
                rolling.insert((*key).to_owned(), json!(value));
            }
        }
    }
}

/// The selector and the labels that the webhook puts in.
fn fill_selector(kind: &str, spec: &mut Map, cluster: &str, name: &str) {
    let own = if kind == "MachineDeployment" { DEPLOYMENT_NAME } else { SET_NAME };
    let mut wanted: Vec<(&str, &str)> = Vec::new();
    let Some(selector) = map_at(spec, "selector") else { return };
    let empty = selector.get("matchLabels").and_then(Value::as_object).is_none_or(Map::is_empty)
        && selector.get("matchExpressions").and_then(Value::as_array).is_none_or(Vec::is_empty);
    if empty {
        wanted.push((own, name));
    }
    if kind == "MachineDeployment" {
        wanted.push((CLUSTER_NAME, cluster));
    }
    for (key, value) in &wanted {
        if let Some(labels) = map_at(selector, "matchLabels") {
            labels.insert((*key).to_owned(), json!(value));
        }
    }
    let labels = map_at(spec, "template").and_then(|map| map_at(map, "metadata")).and_then(|map| map_at(map, "labels"));
    if let Some(labels) = labels {
        for (key, value) in &wanted {
            labels.insert((*key).to_owned(), json!(value));
        }
    }
}
