//! What mutating webhooks fill in before the schema is asked, in the form in which the object was written.
//! Read beside the `Default` methods in `core/webhooks/admission` and `controlplane/kubeadm/webhooks/admission` of
//! Cluster API 1.14, `test/infrastructure/docker/internal/webhooks` of the same, and controller-runtime
//! `pkg/webhook/admission/defaulter_custom.go`, which writes an object anew from Go's types. AWS has `aws_defaults`.

use serde_json::{Map, Value, json};

use crate::kinds::diff;
use crate::kinds::diff::Style;
use crate::object::Key;
use crate::providers::aws::defaults as aws_defaults;
use crate::providers::metal3::webhook as metal3;
use crate::rules::{POINTERS, Shape, Versions};

/// Sends one side of a write through the mutating webhook of its kind.
pub(crate) fn fill_in(key: &Key, api_version: &str, shape: Shape, object: &mut Value, versions: &Versions) {
    let kind = key.kind.as_str();
    if kind.starts_with("VSphere") {
        vsphere(key, api_version, shape, object);
        return;
    }
    if kind.starts_with("Metal3") {
        if kind == "Metal3Cluster" {
            metal3::default_cluster(object, versions);
        }
        // Up to 1.12 each kind has a mutating webhook (`config/webhook/manifests.yaml`), which writes the object anew. Where
        // nobody told the version, v1beta1 may be written to one of those.
        let is_older =
            !versions.at_least("metal3", 1, 13) || (api_version.ends_with("v1beta1") && !versions.is_known("metal3"));
        let is_written = is_older || kind == "Metal3Cluster";
        if let Some(spec) = object.get_mut("spec").filter(|_| is_written) {
            metal3::write_anew(kind, shape, spec);
        }
        return;
    }
    if aws_defaults::HAVE_WEBHOOKS.contains(&kind) {
        // Since controller-runtime 0.23 (2.12) the object is only written anew where a default changed it.
        let before = versions.at_least("aws", 2, 12).then(|| object.clone());
        aws_defaults::fill_in(kind, object, versions);
        if before.is_none_or(|before| before != *object)
            && let Some(spec) = object.get_mut("spec")
        {
            shape.write_zeros(spec, aws_defaults::BLOCKS);
        }
        return;
    }
    let of_newer_webhook = HAVE_WEBHOOKS.contains(&kind) && !api_version.ends_with("v1beta1");
    let before = (of_newer_webhook && versions.capi(13) && of_cluster_api(&key.group)).then(|| object.clone());
    mutate(kind, api_version, object, versions);
    if kind.starts_with("RKE2Config")
        && let Some(map) = object.as_object_mut()
    {
        map.entry("spec").or_insert_with(|| json!({}));
    }
    let is_changed = before.is_none_or(|before| before != *object);
    let Some(spec) = object.get_mut("spec") else { return };
    if kind.starts_with("RKE2") || (!versions.capi(11) && of_cluster_api(&key.group)) {
        shape.round_trip(spec, POINTERS);
        if kind.starts_with("RKE2") {
            empty_user_data(spec);
        }
    } else if of_newer_webhook && is_changed {
        // Since 1.11 only what Go cannot leave out is added to the written text, and since 1.13 (controller-runtime 0.23)
        // only where a default changed something at all. Written as v1beta1 the text stays as it is.
        shape.add_zeros(spec);
    }
}

/// What the webhooks of the vSphere provider fill in, which write the object anew from Go's types
/// (`internal/webhooks/vsphere{machine,deploymentzone,failuredomain}.go` and `vmware/vspheremachine.go` of 1.14).
fn vsphere(key: &Key, api_version: &str, shape: Shape, object: &mut Value) {
    let is_second = key.group.starts_with("vmware.");
    let is_written = match key.kind.as_str() {
        "VSphereMachine" => true,
        "VSphereDeploymentZone" | "VSphereFailureDomain" => !is_second,
        _ => false,
    };
    if !is_written {
        return;
    }
    let Some(spec) = object.as_object_mut().and_then(|map| map_at(map, "spec")) else { return };
    match (key.kind.as_str(), is_second) {
        ("VSphereMachine", false) if spec.get("datacenter").is_none_or(|told| told == "") => {
            spec.insert("datacenter".to_owned(), json!("*"));
        }
        ("VSphereDeploymentZone", _) => {
            spec.entry("controlPlane").or_insert(json!(true));
        }
        ("VSphereFailureDomain", _) => {
            for key in ["region", "zone"] {
                if let Some(part) = map_at(spec, key) {
                    part.entry("autoConfigure").or_insert(json!(false));
                }
            }
        }
        _ => {}
    }
    // The types of v1beta2 leave out what v1beta1 writes.
    if let Some(spec) = object.get_mut("spec").filter(|_| !api_version.ends_with("v1beta2")) {
        if let Some(map) = spec.as_object_mut().filter(|_| is_second) {
            networks(map);
        }
        shape.round_trip(spec, VSPHERE_POINTERS);
    }
}

/// Of the networks in supervisor mode Go leaves out whatever is zero; an empty list is not, and is left out where it is written.
fn networks(spec: &mut Map<String, Value>) {
    let Some(network) = spec.get_mut("network") else { return };
    diff::prune(network, Style { keep_empty: &["secondary", "routes"], drop_zero: &["mtu"], keep_blank: &[] });
    if *network == json!({}) {
        spec.remove("network");
        return;
    }
    let Some(interfaces) = network.get_mut("interfaces").and_then(Value::as_object_mut) else { return };
    let is_list = |value: &Value| *value == json!([]);
    interfaces.retain(|_, value| !is_list(value));
    if let Some(primary) = interfaces.get_mut("primary").and_then(Value::as_object_mut) {
        primary.retain(|_, value| !is_list(value));
    }
}

/// Texts of the vSphere types that are pointers in Go, or durations.
const VSPHERE_POINTERS: &[&str] = &[
    "apiGroup",
    "computeCluster",
    "failureDomain",
    "guestSoftPowerOffTimeout",
    "hostname",
    "providerID",
    "template",
    "useDomains",
    "useRoutes",
];

/// Takes away an empty map of user data, which Go does not write: beside other user data it would be refused.
fn empty_user_data(spec: &mut Value) {
    for place in ["/agentConfig/additionalUserData", "/template/spec/agentConfig/additionalUserData"] {
        if let Some(user_data) = spec.pointer_mut(place).and_then(Value::as_object_mut)
            && user_data.get("data") == Some(&json!({}))
        {
            user_data.shift_remove("data");
        }
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
    let is_old = api_version.ends_with("v1beta1");
    if matches!(kind, "DockerCluster" | "DevCluster") {
        docker_cluster(kind, object);
        return;
    }
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
        fill_strategy(kind, strategy, versions.capi(11));
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
    if !versions.capi(11) && matches!(kind, "MachineDeployment" | "MachineSet" | "MachinePool") {
        let _template = map_at(spec, "template").and_then(|template| map_at(template, "spec"));
    }
    if kind == "MachineSet" && !versions.capi(11) && spec.get("deletePolicy").is_none_or(|told| told == "") {
        spec.insert("deletePolicy".to_owned(), json!("Random"));
    }
    if kind == "ClusterResourceSet" && spec.get("strategy").is_none_or(|told| told == "" || told.is_null()) {
        spec.insert("strategy".to_owned(), json!("ApplyOnce"));
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

/// The endpoint's port and the backend of a cluster of the test provider (`defaultDevClusterSpec`).
fn docker_cluster(kind: &str, object: &mut Value) {
    let Some(spec) = object.as_object_mut().and_then(|map| map_at(map, "spec")) else { return };
    if kind == "DevCluster" {
        let Some(backend) = map_at(spec, "backend") else { return };
        if backend.get("docker").is_none() && backend.get("inMemory").is_none() {
            backend.insert("docker".to_owned(), json!({}));
        }
        if backend.get("docker").is_none() {
            return;
        }
    }
    if let Some(endpoint) = map_at(spec, "controlPlaneEndpoint")
        && endpoint.get("port").is_none_or(|port| port.as_i64() == Some(0))
    {
        endpoint.insert("port".to_owned(), json!(6443));
    }
}

/// Whether a group is one of those whose webhooks belong to Cluster API itself.
fn of_cluster_api(group: &str) -> bool {
    matches!(group, "cluster.x-k8s.io" | "bootstrap.cluster.x-k8s.io" | "controlplane.cluster.x-k8s.io")
}

/// The map at a key, made where there is none; `None` where something else stands there.
pub(crate) fn map_at<'m>(map: &'m mut Map<String, Value>, key: &str) -> Option<&'m mut Map<String, Value>> {
    map.entry(key).or_insert_with(|| json!({})).as_object_mut()
}

/// The strategy with its defaults; a control plane has only one.
fn fill_strategy(kind: &str, strategy: &mut Map<String, Value>, overwrites: bool) {
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
            if rolling.get(*key).is_none_or(Value::is_null) {
                rolling.insert((*key).to_owned(), json!(value));
            }
        }
    }
}

/// The selector and the labels that the webhook puts in.
fn fill_selector(kind: &str, spec: &mut Map<String, Value>, cluster: &str, name: &str) {
    let cluster_label = "cluster.x-k8s.io/cluster-name";
    let own =
        if kind == "MachineDeployment" { "cluster.x-k8s.io/deployment-name" } else { "cluster.x-k8s.io/set-name" };
    let mut wanted: Vec<(&str, &str)> = Vec::new();
    let Some(selector) = map_at(spec, "selector") else { return };
    let empty = selector.get("matchLabels").and_then(Value::as_object).is_none_or(Map::is_empty)
        && selector.get("matchExpressions").and_then(Value::as_array).is_none_or(Vec::is_empty);
    if empty {
        wanted.push((own, name));
    }
    if kind == "MachineDeployment" {
        wanted.push((cluster_label, cluster));
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
