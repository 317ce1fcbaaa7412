//! The way of a write through the API server: unknown fields go, defaults come, webhooks fill in, schema and webhooks refuse.
//! The order is the API server's own; a kind without a shape goes through untouched.

use serde_json::{Map, Value, json};

use super::diff::Style;
use super::kcp_admission::Refusal;
use super::{hub, kcp_admission, kubeadm_admission, rke2_admission, workers_admission};
use crate::compare::Pair;
use crate::object::{Path, Segment};
use crate::rules::{Shape, Versions};

/// Both sides of an updated object as the API server keeps them, in the superset form.
#[derive(Debug, Clone)]
pub(super) struct Admission {
    /// Before the write.
    pub(super) old: Value,
    /// After it.
    pub(super) new: Value,
    /// Fields of the write that the kind does not have, as rendered.
    pub(super) dropped: Vec<Path>,
    /// What is refused, by schema or webhook; empty where nothing is.
    pub(super) refusals: Vec<Refusal>,
    /// Whether both sides ask for the same once defaults are filled in and empty values dropped.
    pub(super) same: bool,
}

/// Sends an update through the API server.
#[must_use]
pub(super) fn admit(pair: &Pair, versions: &Versions, gates: &dyn Fn(&str, bool) -> bool) -> Option<Admission> {
    let (mut old, mut new) = (pair.live.clone()?, pair.predicted.clone()?);
    let kind = pair.key.kind.as_str();
    let raw = new.clone();
    let at = Path::root().key("spec");
    let mut dropped = Vec::new();
    let mut refusals = Vec::new();
    let shape = if pair.key.is_capi() { Shape::of(kind, &pair.api_version, versions) } else { None };
    if let Some(shape) = shape {
        for (side, keep) in [(&mut old, false), (&mut new, true)] {
            if let Some(spec) = side.get_mut("spec") {
                let gone = shape.prune(spec, &at);
                shape.fill(spec);
                if keep {
                    dropped = gone;
                }
            }
            mutate(kind, &pair.api_version, side, versions);
            if kind.starts_with("RKE2Config")
                && let Some(map) = side.as_object_mut()
            {
                map.entry("spec").or_insert_with(|| json!({}));
            }
            if let Some(spec) = side
                .get_mut("spec")
                .filter(|_| kind.starts_with("RKE2") || (!versions.capi(11) && of_cluster_api(&pair.key.group)))
            {
                shape.round_trip(spec);
            }
        }
        // A config without a spec is let through: Go leaves the whole block out.
        let no_spec =
            matches!(kind, "KubeadmConfig" | "KubeadmConfigTemplate") && new.get("spec").is_none_or(Value::is_null);
        if !no_spec {
            refusals.extend(by_schema(shape, kind, &pair.api_version, &old, &new, &raw, versions));
        }
    }
    let old = hub::value(kind, &pair.api_version, &old, versions);
    let new = hub::value(kind, &pair.api_version, &new, versions);
    if refusals.is_empty() {
        refusals.extend(by_webhook(pair, &old, &new, versions, gates));
    }
    let same = same_template(&pair.api_version, kind, &old, &new, versions);
    Some(Admission { old, new, dropped, refusals, same })
}

/// What the types of a control plane template keep apart; nothing is dropped there before comparing.
const TEMPLATE_STYLE: Style = Style {
    keep_empty: &["taints", "extraEnvs", "controlPlane", "valueFrom"],
    drop_zero: super::kcp_config::STYLE.drop_zero,
    keep_blank: super::kcp_config::STYLE.keep_blank,
};

/// The same where the template was written as v1beta2.
const NEW_TEMPLATE_STYLE: Style = Style {
    keep_empty: &["taints", "extraEnvs", "controlPlane", "valueFrom", "featureGates", "partitions", "filesystems"],
    ..TEMPLATE_STYLE
};

/// Whether two versions of a template that cannot change are the same to its webhook: empty values do not count there.
fn same_template(api_version: &str, kind: &str, old: &Value, new: &Value, versions: &Versions) -> bool {
    if kind != "KubeadmControlPlaneTemplate" {
        return false;
    }
    if !versions.capi(11) {
        // Up to 1.10 nearly every block is a pointer, so that even an empty one counts.
        return old.get("spec") == new.get("spec");
    }
    // Conversion from v1beta1 loses more empty values than the types of v1beta2 do.
    let style = if api_version.ends_with("v1beta1") { TEMPLATE_STYLE } else { NEW_TEMPLATE_STYLE };
    let keeps_strategy = new.pointer("/spec/template/spec/rollout/strategy").is_some();
    let bare = |side: &Value| {
        let mut spec = side.get("spec").cloned().unwrap_or_default();
        if let Some(config) = spec.pointer_mut("/template/spec/kubeadmConfigSpec").and_then(Value::as_object_mut) {
            super::kcp_config::old_defaults(config);
        }
        if let Some(strategy) = spec.pointer_mut("/template/spec/rollout/strategy").and_then(Value::as_object_mut) {
            strategy.insert("type".to_owned(), json!("RollingUpdate"));
        }
        if let Some(rollout) = spec.pointer_mut("/template/spec/rollout").and_then(Value::as_object_mut)
            && !keeps_strategy
        {
            rollout.remove("strategy");
        }
        super::diff::prune(&mut spec, style);
        spec
    };
    bare(old) == bare(new)
}

/// What the schema refuses about the new side and not about the old one: what was there already is let through.
fn by_schema(
    shape: Shape,
    kind: &str,
    api_version: &str,
    old: &Value,
    new: &Value,
    raw: &Value,
    versions: &Versions,
) -> Vec<Refusal> {
    let at = Path::root().key("spec");
    let empty = json!({});
    let known = shape.faults(old.get("spec").unwrap_or(&empty), &at);
    let mut found = shape.faults(new.get("spec").unwrap_or(&empty), &at);
    found.extend(shape.moved(old.get("spec").unwrap_or(&empty), new.get("spec").unwrap_or(&empty), &at));
    let mut out: Vec<Refusal> = found
        .into_iter()
        .filter(|fault| !known.contains(fault))
        .map(|(path, message)| Refusal {
            rule: "schema/refused",
            message: format!("the API server refuses it: {path} {message}"),
            path: hub::path(kind, api_version, &path, versions),
        })
        .collect();
    if new.pointer("/spec/replicas").and_then(Value::as_i64).is_some_and(|count| count < 0) {
        let message = "the API server refuses it: replicas cannot be negative".to_owned();
        out.push(Refusal { rule: "schema/refused", path: at.key("replicas"), message });
    }
    out.extend(hub::unreadable(kind, api_version, raw).into_iter().map(|path| Refusal {
        rule: "schema/refused",
        message: format!("the API server refuses it: {path} must be a duration such as 5m0s"),
        path: hub::path(kind, api_version, &path, versions),
    }));
    out
}

/// What mutating webhooks fill in before the schema is asked, in the rendered form.
fn mutate(kind: &str, api_version: &str, object: &mut Value, versions: &Versions) {
    let is_old = api_version.ends_with("v1beta1");
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

/// Whether a group is one of those whose webhooks belong to Cluster API itself.
fn of_cluster_api(group: &str) -> bool {
    matches!(group, "cluster.x-k8s.io" | "bootstrap.cluster.x-k8s.io" | "controlplane.cluster.x-k8s.io")
}

/// The map at a key, made where there is none; `None` where something else stands there.
fn map_at<'m>(map: &'m mut Map<String, Value>, key: &str) -> Option<&'m mut Map<String, Value>> {
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

/// What validating webhooks refuse.
fn by_webhook(
    pair: &Pair,
    old: &Value,
    new: &Value,
    versions: &Versions,
    gates: &dyn Fn(&str, bool) -> bool,
) -> Vec<Refusal> {
    match (pair.key.group.as_str(), pair.key.kind.as_str()) {
        ("controlplane.cluster.x-k8s.io", "KubeadmControlPlane") => {
            let (mut old, mut new) = (old.clone(), new.clone());
            super::kcp::default(&mut old);
            super::kcp::default(&mut new);
            let mut out = kcp_admission::refusals(&old, &new, versions, gates);
            let config = Path::root().key("spec").key("kubeadmConfigSpec");
            out.extend(kubeadm_admission::refusals(
                new.pointer("/spec/kubeadmConfigSpec"),
                &config,
                true,
                versions,
                gates,
            ));
            out
        }
        ("controlplane.cluster.x-k8s.io", "KubeadmControlPlaneTemplate") => {
            let keys = ["spec", "template", "spec", "kubeadmConfigSpec"];
            let config = keys.into_iter().fold(Path::root(), |at, key| at.key(key));
            let spec = new.pointer("/spec/template/spec/kubeadmConfigSpec");
            kubeadm_admission::refusals(spec, &config, true, versions, gates)
        }
        ("bootstrap.cluster.x-k8s.io", "KubeadmConfig") => {
            kubeadm_admission::refusals(new.get("spec"), &Path::root().key("spec"), false, versions, gates)
        }
        ("bootstrap.cluster.x-k8s.io", "KubeadmConfigTemplate") => {
            let at = Path::root().key("spec").key("template").key("spec");
            kubeadm_admission::refusals(new.pointer("/spec/template/spec"), &at, false, versions, gates)
        }
        (_, kind) if kind.starts_with("RKE2") => {
            let mut new = new.clone();
            if kind == "RKE2ControlPlane" {
                super::rke2::default(&mut new, versions);
            }
            rke2_admission::refusals(kind, old, &new)
        }
        ("addons.cluster.x-k8s.io", "ClusterResourceSet") => workers_admission::resource_set(old, new),
        ("cluster.x-k8s.io", kind) => workers_admission::refusals(kind, old, new, versions, gates),
        _ => Vec::new(),
    }
}

/// Whether a path lies at or below one of these.
#[must_use]
pub(super) fn lies_in(path: &Path, places: &[Path]) -> bool {
    places.iter().any(|place| place.covers(path))
}

/// A refusal at a place that is written as a person writes it.
pub(super) fn refuse(out: &mut Vec<Refusal>, rule: &'static str, base: &Path, below: &str, message: impl Into<String>) {
    let mut path = base.clone();
    if let Ok(below) = Path::parse(below) {
        below.segments().iter().for_each(|segment: &Segment| path.push(segment.clone()));
    }
    out.push(Refusal { rule, path, message: format!("the webhook refuses it: {}", message.into()) });
}
