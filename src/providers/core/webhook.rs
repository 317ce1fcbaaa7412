//! Mirror of what the core webhooks refuse about Machines, their owners, their health checks and Clusters.
//! Read beside `core/webhooks/admission/{machinedeployment,machineset,machinepool,machine,machinehealthcheck,cluster}.go`
//! of Cluster API 1.14; up to 1.13 they are in `internal/webhooks` and `exp/internal/webhooks`.

use super::changes::{MACHINE_TAINTS, RESOURCE_SETS_FREE, V1BETA2, VERSION_SKEW_CHECK, WORKER_NAMING};
use super::{
    POOLS, PREFLIGHT, RESOURCE_SETS, RUNTIME_SDK, TOPOLOGY, checks, class, cluster, defaults, extension, naming, taints,
};
use crate::kinds::Versions;
use crate::kinds::Webhook;
use crate::kinds::contract::OF_CONTROL_PLANE;
use crate::kinds::fields::AUTOSCALER;
use crate::kinds::fields::annotation;
use crate::kinds::fields::label;
use crate::kinds::fields::{says_something, text};
use crate::kinds::gates::State;
use crate::kinds::labels;
use crate::kinds::webhook::Refusal;
use crate::kinds::webhook::refuse;
use crate::kinds::webhook::{Need, Write, Written};
use crate::model::RuleId;
use crate::object::Key;
use crate::object::Path;

use crate::tree::Value;

/// Id of everything that is refused here.
pub(crate) const RULE: RuleId = RuleId::of("core/rejected");

/// The webhooks of Cluster API itself.
#[derive(Debug)]
pub(crate) struct Core;

impl Webhook for Core {
    fn fill_in(&self, written: &Written<'_>, object: &mut Value) {
        defaults::fill_in(written, object);
    }

    fn needs(&self, key: &Key, object: &Value, _is_new: bool, versions: &Versions, need: &mut Need<'_>) {
        match key.kind.as_str() {
            "MachineDeployment" | "MachineSet" => {
                taints::needs(object, "spec.template.spec.taints", || versions.has(&MACHINE_TAINTS), need);
            }
            "Machine" => taints::needs(object, "spec.taints", || versions.has(&MACHINE_TAINTS), need),
            "MachinePool" => need(POOLS, "spec"),
            "Cluster" if says_something(object.pointer("/spec/topology")) => {
                need(TOPOLOGY, "spec.topology");
                taints::needs_of_groups(object, "spec.topology", versions, need);
            }
            "ClusterClass" => {
                need(TOPOLOGY, "spec");
                taints::needs_of_groups(object, "spec", versions, need);
                let patches = object.pointer("/spec/patches").and_then(Value::as_array);
                for (place, patch) in patches.into_iter().flatten().enumerate() {
                    if patch.get("external").is_some_and(Value::is_object) {
                        need(RUNTIME_SDK, &format!("spec.patches[{place}].external"));
                    }
                }
            }
            "ClusterResourceSet" if !versions.has(&RESOURCE_SETS_FREE) => need(RESOURCE_SETS, "spec"),
            "ExtensionConfig" => need(RUNTIME_SDK, "spec"),
            _ => {}
        }
    }

    fn refusals(&self, write: &Write<'_>) -> Vec<Refusal> {
        match write.kind_name() {
            "ClusterResourceSet" => checks::resource_set(write.api_version, write.old, write.new),
            "ClusterClass" => class::refusals(write),
            _ => refusals(write),
        }
    }
}

/// What is refused about an update of one of the core kinds; both sides in the superset form.
fn refusals(write: &Write<'_>) -> Vec<Refusal> {
    let Write { old, new, versions, gate: gates, .. } = *write;
    let kind = write.kind_name();
    let mut out = Vec::new();
    let spec = Path::root().key("spec");
    if matches!(kind, "MachineDeployment" | "MachineSet" | "MachinePool" | "Machine" | "MachineHealthCheck") {
        cluster_name(kind, old, new, versions, &spec, &mut out);
    }
    if !versions.has(&V1BETA2) {
        namespaces(kind, new, &spec, &mut out);
    }
    match kind {
        "MachineDeployment" | "MachineSet" => {
            template(new, "/spec/template/spec", "template.spec", versions, &spec, &mut out, true);
            selected(new, &spec, &mut out);
            preflight(new, versions, gates, &mut out);
            machine_names(new, versions, &spec, &mut out);
            if kind == "MachineDeployment" {
                strategy(new, versions, &spec, &mut out);
            }
            labels::refusals(new.pointer("/spec/template/metadata"), &spec.key("template").key("metadata"), &mut out);
            autoscaler(new, &mut out);
        }
        "MachinePool" => {
            template(new, "/spec/template/spec", "template.spec", versions, &spec, &mut out, false);
            if items(new.pointer("/spec/template/spec/taints")) > 0 {
                refuse(&mut out, RULE, &spec, "template.spec.taints", "a MachinePool cannot have taints");
            }
            labels::refusals(new.pointer("/spec/template/metadata"), &spec.key("template").key("metadata"), &mut out);
            autoscaler(new, &mut out);
        }
        "Machine" => template(new, "/spec", "", versions, &spec, &mut out, false),
        "MachineHealthCheck" => checks::health_check(new, &spec, &mut out),
        "MachineDrainRule" => checks::drain_rule(new, &spec, &mut out),
        "ExtensionConfig" => extension::refusals(&write.key.name, new, &spec, &mut out),
        "ClusterResourceSetBinding" => checks::binding(old, new, &spec, &mut out),
        "IPAddress" => {
            checks::address(new, &spec, &mut out);
            checks::kept((old, new), &["address", "prefix", "gateway", "claimRef", "poolRef"], &spec, &mut out);
        }
        "IPAddressClaim" => checks::kept((old, new), &["clusterName", "poolRef"], &spec, &mut out),
        "Cluster" => {
            cluster::refusals(write, &spec, &mut out);
        }
        _ => {}
    }
    out
}

/// Items of a list.
pub(crate) fn items(value: Option<&Value>) -> usize {
    value.and_then(Value::as_array).map_or(0, Vec::len)
}

/// Whether a reference is there: up to 1.10 it is a pointer that may point at nothing, since then it must say something that v1beta2
/// has a place for.
pub(super) fn is_set(block: Option<&Value>, versions: &Versions) -> bool {
    const LOST: [&str; 4] = ["namespace", "uid", "resourceVersion", "fieldPath"];
    let Some(block) = block.and_then(Value::as_object) else { return false };
    let says = |key: &str, value: &Value| !LOST.contains(&key) && !value.is_null() && value != "";
    !versions.has(&V1BETA2) || block.iter().any(|(key, value)| says(key, value))
}

/// Up to 1.10 a reference could name a namespace, but only the object's own.
fn namespaces(kind: &str, new: &Value, spec: &Path, out: &mut Vec<Refusal>) {
    let places: &[&str] = match kind {
        "Machine" => &["bootstrap.configRef", "infrastructureRef"],
        "MachinePool" => &["template.spec.bootstrap.configRef", "template.spec.infrastructureRef"],
        "Cluster" => &["controlPlaneRef", "infrastructureRef"],
        "MachineHealthCheck" => &["remediation.templateRef"],
        _ => &[],
    };
    let own = text(new, "/metadata/namespace");
    for place in places {
        let pointer = format!("/spec/{}/namespace", place.replace('.', "/"));
        if let (Some(told), Some(own)) = (text(new, &pointer), own)
            && told != own
        {
            refuse(
                out,
                RULE,
                spec,
                &format!("{place}.namespace"),
                format!("the reference must stay in the namespace {own}"),
            );
        }
    }
}

/// The name of the cluster stays, and is the same in the template.
fn cluster_name(kind: &str, old: &Value, new: &Value, versions: &Versions, spec: &Path, out: &mut Vec<Refusal>) {
    let name = |side: &Value| text(side, "/spec/clusterName").unwrap_or_default().to_owned();
    if name(old) != name(new) {
        refuse(out, RULE, spec, "clusterName", "the name of the cluster cannot change");
    }
    let has_template = matches!(kind, "MachineDeployment" | "MachineSet" | "MachinePool");
    if has_template
        && versions.has(&V1BETA2)
        && text(new, "/spec/template/spec/clusterName").unwrap_or_default() != name(new)
    {
        for below in ["clusterName", "template.spec.clusterName"] {
            refuse(out, RULE, spec, below, "clusterName must be the same in the spec and in the template");
        }
    }
}

/// What every Machine spec must have.
fn template(
    new: &Value,
    pointer: &str,
    below: &str,
    versions: &Versions,
    spec: &Path,
    out: &mut Vec<Refusal>,
    asks_late: bool,
) {
    let nothing = Value::Null;
    let machine = new.pointer(pointer).unwrap_or(&nothing);
    let place = |field: &str| if below.is_empty() { field.to_owned() } else { format!("{below}.{field}") };
    let bootstrap = machine.get("bootstrap").unwrap_or(&nothing);
    // Up to 1.10 only Machines and pools were asked for it.
    if (versions.has(&V1BETA2) || !asks_late)
        && !is_set(bootstrap.get("configRef"), versions)
        && bootstrap.get("dataSecretName").is_none_or(Value::is_null)
    {
        refuse(out, RULE, spec, &place("bootstrap"), "either configRef or dataSecretName must be set");
    }
    let empty =
        !versions.has(&V1BETA2) && machine.get("version").is_some_and(|version| version == "" || version == "v");
    if empty {
        refuse(out, RULE, spec, &place("version"), "an empty text is not a semantic version");
    }
    if let Some(version) = text(machine, "/version")
        && semver::Version::parse(version.strip_prefix('v').unwrap_or(version)).is_err()
    {
        refuse(out, RULE, spec, &place("version"), format!("{version:?} is not a semantic version"));
    }
    let taints = machine.get("taints");
    if items(taints) > 0 && versions.has(&MACHINE_TAINTS) {
        let is_of_plane = below.is_empty() && label(new, OF_CONTROL_PLANE).is_some();
        taints::refusals(taints, &place("taints"), spec, !is_of_plane, out);
    }
}

/// The selector must match the labels of the template.
fn selected(new: &Value, spec: &Path, out: &mut Vec<Refusal>) {
    let nothing = Value::Null;
    let cluster = text(new, "/spec/clusterName").unwrap_or_default();
    let template = new.pointer("/spec/template").unwrap_or(&nothing);
    let selector = new.pointer("/spec/selector").unwrap_or(&nothing);
    let is_empty = selector.get("matchLabels").and_then(Value::as_object).is_none_or(crate::tree::Map::is_empty)
        && items(selector.get("matchExpressions")) == 0;
    if is_empty {
        // The webhook makes a selector of the object's own name and the labels for it.
        return;
    }
    let fits = labels::selects(selector, |key| {
        // The webhook writes this label over whatever stands there.
        let own = (key == "cluster.x-k8s.io/cluster-name").then_some(cluster);
        own.or_else(|| label(template, key))
    });
    match fits {
        Some(true) => {}
        Some(false) => {
            refuse(out, RULE, spec, "template.metadata.labels", "the labels of the template must match the selector");
            refuse(out, RULE, spec, "selector", "the labels of the template must match the selector");
        }
        None => refuse(out, RULE, spec, "selector", "the selector is not one"),
    }
}

/// Checks that are skipped must be known ones.
fn preflight(new: &Value, versions: &Versions, gates: &dyn Fn(&str) -> State, out: &mut Vec<Refusal>) {
    const KNOWN: [&str; 5] =
        ["All", "KubeadmVersionSkew", "KubernetesVersionSkew", "ControlPlaneIsStable", "ControlPlaneVersionSkew"];
    let name = "machineset.cluster.x-k8s.io/skip-preflight-checks";
    let Some(told) = annotation(new, name).filter(|told| !told.is_empty()) else { return };
    // The last one came with 1.10, and the gate is on since 1.9.
    let known = if versions.has(&VERSION_SKEW_CHECK) { &KNOWN[..] } else { &KNOWN[..4] };
    if gates(PREFLIGHT) == State::On && told.split(',').any(|word| !known.contains(&word.trim())) {
        let at = Path::root().key("metadata").key("annotations").key(name);
        refuse(out, RULE, &at, "", format!("it names a preflight check that is not known: {told}"));
    }
}

/// Names of Machines must stay apart, and be names (`validateMDMachineNaming`).
fn machine_names(new: &Value, versions: &Versions, spec: &Path, out: &mut Vec<Refusal>) {
    const AT: &str = "machineNaming.template";
    let template = text(new, "/spec/machineNaming/template").filter(|template| !template.is_empty());
    let Some(template) = template.filter(|_| versions.has(&WORKER_NAMING)) else { return };
    if !template.contains("{{ .random }}") {
        refuse(out, RULE, spec, AT, "{{ .random }} is missing in the template");
    }
    if let Some(fault) = naming::fault(template, Some(("machineSet", "name"))) {
        refuse(out, RULE, spec, AT, fault);
    }
}

/// Numbers or percentages, and not both zero.
fn strategy(new: &Value, versions: &Versions, spec: &Path, out: &mut Vec<Refusal>) {
    let told = |key: &str| {
        new.pointer(&format!("/spec/rollout/strategy/rollingUpdate/{key}")).filter(|value| !value.is_null())
    };
    for key in ["maxSurge", "maxUnavailable"] {
        if told(key).is_some_and(|value| !is_count(value)) {
            let below = format!("rollout.strategy.rollingUpdate.{key}");
            refuse(out, RULE, spec, &below, "must be a number or a percentage");
        }
    }
    let rolls = text(new, "/spec/rollout/strategy/type").is_none_or(|kind| kind == "RollingUpdate");
    let surge = told("maxSurge").map_or(i64::from(rolls), |value| value.as_i64().unwrap_or(-1));
    let unavailable = told("maxUnavailable").map_or(if rolls { 0 } else { -1 }, |value| value.as_i64().unwrap_or(-1));
    if versions.has(&V1BETA2)
        && surge == 0
        && unavailable == 0
        && (rolls || (told("maxSurge").is_some() && told("maxUnavailable").is_some()))
    {
        refuse(out, RULE, spec, "rollout.strategy", "maxSurge and maxUnavailable cannot both be 0");
    }
    if new.pointer("/spec/remediation/maxInFlight").is_some_and(|value| !value.is_null() && !is_count(value)) {
        refuse(out, RULE, spec, "remediation.maxInFlight", "must be a number or a percentage");
    }
}

/// Numbers or percentages of a class or a topology, and not both the number zero (`validateRolloutStrategy`).
pub(crate) fn strategy_counts(rolling: Option<&Value>, rule: RuleId, at: &Path, out: &mut Vec<Refusal>) {
    let told = |key: &str| rolling.and_then(|rolling| rolling.get(key)).filter(|value| !value.is_null());
    for key in ["maxSurge", "maxUnavailable"] {
        if told(key).is_some_and(|value| !is_count(value)) {
            let below = format!("rollout.strategy.rollingUpdate.{key}");
            refuse(out, rule, at, &below, "must be a number or a percentage");
        }
    }
    if told("maxSurge") == Some(&Value::from(0)) && told("maxUnavailable") == Some(&Value::from(0)) {
        refuse(out, rule, at, "rollout.strategy", "maxSurge and maxUnavailable cannot both be 0");
    }
}

/// Whether a value is a number or a percentage.
pub(crate) fn is_count(value: &Value) -> bool {
    match value {
        Value::Number(_) => true,
        Value::String(text) => text.strip_suffix('%').is_some_and(|digits| digits.parse::<i32>().is_ok()),
        _ => false,
    }
}

/// Autoscaler annotations must be numbers where the webhook needs them.
fn autoscaler(new: &Value, out: &mut Vec<Refusal>) {
    let told: Vec<(&str, &str)> = AUTOSCALER.iter().filter_map(|name| Some((*name, annotation(new, name)?))).collect();
    if new.pointer("/spec/replicas").is_none_or(Value::is_null) && told.len() == 2 {
        for (name, _) in told.iter().filter(|(_, text)| text.parse::<i32>().is_err()) {
            let at = Path::root().key("metadata").key("annotations").key(*name);
            refuse(out, RULE, &at, "", "it must be a number where replicas is not set");
            refuse(
                out,
                RULE,
                &Path::root().key("spec"),
                "replicas",
                format!("replicas is not set, and {name} is not a number"),
            );
        }
    }
}
