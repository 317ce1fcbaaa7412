//! The way of a write through the API server: unknown fields go, defaults come, webhooks fill in, schema and webhooks refuse.
//! The order is the API server's own; a kind without a shape goes through untouched.

pub(crate) mod defaulting;
mod fixed_infra;
pub(crate) mod fixed_template;

use serde_json::{Value, json};

use crate::compare::{Action, Pair};
use crate::kinds::gates::{Open, State};
use crate::kinds::{gates, hub};
use crate::object::{Path, Segment};
use crate::providers::aws::{eks, machine as aws_machine, pool as aws_pool, webhook as aws};
use crate::providers::core::{checks, webhook as workers};
use crate::providers::docker::webhook as docker;
use crate::providers::kubeadm::{config_webhook as kubeadm, webhook as kcp};
use crate::providers::metal3::webhook as metal3;
use crate::providers::openstack::webhook as openstack;
use crate::providers::rke2::webhook as rke2;
use crate::providers::vsphere::webhook as vsphere;
use crate::rules::{Shape, Versions};

/// One thing that a webhook refuses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// Id of the cause, for its source.
    pub rule: &'static str,
    /// Place in the superset form.
    pub path: Path,
    /// One sentence.
    pub message: String,
}

/// Both sides of an object as the API server keeps them, in the superset form.
pub(crate) struct Sides {
    /// Before the write.
    pub(crate) old: Value,
    /// After it.
    pub(crate) new: Value,
}

/// What the API server says to a write.
pub(crate) struct Admission {
    /// Fields of the write that the kind does not have, as rendered.
    pub(crate) dropped: Vec<Path>,
    /// What is refused, by schema or webhook; empty where nothing is.
    pub(crate) refusals: Vec<Refusal>,
    /// What a webhook may refuse, because nobody said whether its feature gate is on.
    pub(crate) open: Vec<Open>,
    /// Whether a template whose content cannot change has the same content on both sides.
    pub(crate) same: bool,
    /// Whether both sides are as Go's types hold them, so that what neither has does not differ.
    pub(crate) as_go: bool,
}

/// Sends a write through the API server. A new object has nothing to be compared with: it stands for its own past, so that
/// only what is refused about it alone is found.
#[must_use]
pub(crate) fn admit(pair: &Pair, versions: &Versions, state: &dyn Fn(&str) -> State) -> Option<(Sides, Admission)> {
    let is_new = pair.action == Action::Create;
    let mut new = pair.predicted.clone()?;
    let mut old = if is_new { new.clone() } else { pair.live.clone()? };
    let kind = pair.key.kind.as_str();
    let at = Path::root().key("spec");
    let mut dropped = Vec::new();
    let mut refusals = Vec::new();
    let shape = if has_shapes(&pair.key.group) { Shape::of(kind, &pair.api_version, versions) } else { None };
    if let Some(shape) = shape {
        let unreadable = hub::unreadable(kind, &pair.api_version, &new);
        for (side, keep) in [(&mut old, false), (&mut new, true)] {
            if let Some(map) = side.as_object_mut().filter(|map| map.get("spec").is_some_and(Value::is_null)) {
                // A null that the schema does not allow is no value.
                map.remove("spec");
            }
            if let Some(spec) = side.get_mut("spec") {
                let gone = shape.prune(spec, &at);
                shape.fill(spec);
                if keep {
                    dropped = gone;
                }
            }
            defaulting::fill_in(&pair.key, &pair.api_version, shape, side, versions);
        }
        // What needs no spec is let through without one: Go leaves the whole block out.
        let needs_none = matches!(kind, "KubeadmConfig" | "KubeadmConfigTemplate")
            || kind.starts_with("VSphere")
            || kind.starts_with("AWS");
        let no_spec = needs_none && new.get("spec").is_none_or(Value::is_null);
        if !no_spec {
            // What was there already is let through; of a new object nothing was.
            let past = if is_new { None } else { Some(&old) };
            refusals.extend(by_schema(shape, kind, &pair.api_version, past, &new, unreadable, versions));
        }
    }
    let mut old = hub::moved(kind, &pair.api_version, old, versions);
    let mut new = hub::moved(kind, &pair.api_version, new, versions);
    if pair.key.group == "controlplane.cluster.x-k8s.io" && kind == "KubeadmControlPlane" {
        crate::providers::kubeadm::mirror::default(&mut old);
        crate::providers::kubeadm::mirror::default(&mut new);
    }
    let is_openstack = pair.key.group == "infrastructure.cluster.x-k8s.io" && kind.starts_with("OpenStack");
    if is_openstack {
        openstack::hold(kind, &mut old);
        openstack::hold(kind, &mut new);
        openstack::let_through(kind, &mut old, &new);
    }
    let as_go = is_openstack || kind == "Metal3DataTemplate";
    let needs = gates::needs(&pair.key, &new, is_new, versions);
    let (off, open) = gates::refusals(&needs, state);
    if refusals.is_empty() {
        refusals.extend(off);
        refusals.extend(by_webhook(pair, &old, &new, versions, state));
    }
    let fixed = fixed_template::differences(&pair.key, &pair.api_version, &old, &new, versions);
    let same = fixed.as_ref().is_some_and(Vec::is_empty);
    if refusals.is_empty() {
        refusals.extend(fixed.into_iter().flatten().map(|path| fixed_template::refusal(&pair.key, path)));
    }
    Some((Sides { old, new }, Admission { dropped, refusals, open, same, as_go }))
}

/// Whether the kinds of a group have shapes; other groups use some of the same names for other kinds.
fn has_shapes(group: &str) -> bool {
    let head = group.strip_suffix("cluster.x-k8s.io");
    matches!(
        head,
        Some(
            "" | "addons."
                | "bootstrap."
                | "controlplane."
                | "infrastructure."
                | "ipam."
                | "runtime."
                | "vmware.infrastructure."
        )
    )
}

/// What the schema refuses about the new side and not about the old one: what was there already is let through.
fn by_schema(
    shape: Shape,
    kind: &str,
    api_version: &str,
    old: Option<&Value>,
    new: &Value,
    unreadable: Vec<Path>,
    versions: &Versions,
) -> Vec<Refusal> {
    let at = Path::root().key("spec");
    let empty = json!({});
    let wanted = new.get("spec").unwrap_or(&empty);
    let mut found = shape.faults(wanted, &at);
    if let Some(old) = old {
        let old = old.get("spec").unwrap_or(&empty);
        found.extend(shape.moved(old, wanted, &at));
        if !found.is_empty() {
            let known = shape.faults(old, &at);
            found.retain(|fault| !known.contains(fault));
        }
    }
    let mut out: Vec<Refusal> = found
        .into_iter()
        .map(|(path, message)| Refusal {
            rule: "schema/refused",
            message: format!("the API server refuses it: {path} {message}"),
            path: hub::path(kind, api_version, &path, versions),
        })
        .collect();
    // What the webhook of the RKE2 provider says about it is said there.
    if !kind.starts_with("RKE2") && new.pointer("/spec/replicas").and_then(Value::as_i64).is_some_and(|count| count < 0)
    {
        let message = "the API server refuses it: replicas cannot be negative".to_owned();
        out.push(Refusal { rule: "schema/refused", path: at.key("replicas"), message });
    }
    out.extend(unreadable.into_iter().map(|path| Refusal {
        rule: "schema/refused",
        message: format!("the API server refuses it: {path} must be a duration such as 5m0s"),
        path: hub::path(kind, api_version, &path, versions),
    }));
    out
}

/// A template of control planes that is stored without a strategy and written as v1beta1: that version's schema fills one in
/// (`controlplane.cluster.x-k8s.io_kubeadmcontrolplanetemplates.yaml` of Cluster API 1.11 and later), and the template cannot
/// change. What the server holds shows that; a render does not.
fn strategy_filled_in(pair: &Pair, versions: &Versions) -> Option<Refusal> {
    let live = pair.live.as_ref().filter(|live| live.pointer("/metadata/uid").is_some())?;
    let lacks = live.pointer("/spec/template/spec/rolloutStrategy").is_none_or(Value::is_null);
    (pair.api_version.ends_with("v1beta1") && versions.capi(11) && lacks).then(|| Refusal {
        rule: "template/content",
        path: ["spec", "template", "spec", "rollout", "strategy"].into_iter().fold(Path::root(), |at, key| at.key(key)),
        message:
            "it is stored without a rollout strategy, written as v1beta1 it gets one, and a template cannot change; \
                  write it as v1beta2"
                .to_owned(),
    })
}

/// What validating webhooks refuse.
fn by_webhook(
    pair: &Pair,
    old: &Value,
    new: &Value,
    versions: &Versions,
    gates: &dyn Fn(&str) -> State,
) -> Vec<Refusal> {
    let is_new = pair.action == Action::Create;
    let past = (!is_new).then_some(old);
    match (pair.key.group.as_str(), pair.key.kind.as_str()) {
        ("controlplane.cluster.x-k8s.io", "KubeadmControlPlane") => {
            let mut out = kcp::refusals(old, new, versions);
            let config = Path::root().key("spec").key("kubeadmConfigSpec");
            out.extend(kubeadm::refusals(new.pointer("/spec/kubeadmConfigSpec"), &config, true, versions));
            out
        }
        ("controlplane.cluster.x-k8s.io", "KubeadmControlPlaneTemplate") => {
            let keys = ["spec", "template", "spec", "kubeadmConfigSpec"];
            let config = keys.into_iter().fold(Path::root(), |at, key| at.key(key));
            let spec = new.pointer("/spec/template/spec/kubeadmConfigSpec");
            let mut out = kubeadm::refusals(spec, &config, true, versions);
            out.extend(strategy_filled_in(pair, versions));
            out
        }
        ("bootstrap.cluster.x-k8s.io", "KubeadmConfig") => {
            kubeadm::refusals(new.get("spec"), &Path::root().key("spec"), false, versions)
        }
        ("bootstrap.cluster.x-k8s.io", "KubeadmConfigTemplate") => {
            let at = Path::root().key("spec").key("template").key("spec");
            kubeadm::refusals(new.pointer("/spec/template/spec"), &at, false, versions)
        }
        (_, kind) if kind.starts_with("RKE2") => {
            let mut new = new.clone();
            if kind == "RKE2ControlPlane" {
                crate::providers::rke2::mirror::default(&mut new, versions);
            }
            rke2::refusals(kind, (pair.action != Action::Create).then_some(old), &new, versions)
        }
        ("addons.cluster.x-k8s.io", "ClusterResourceSet") => checks::resource_set(&pair.api_version, old, new),
        ("infrastructure.cluster.x-k8s.io", "DockerCluster" | "DevCluster" | "DockerMachine" | "DevMachine") => {
            docker::refusals(&pair.key.kind, old, new)
        }
        ("infrastructure.cluster.x-k8s.io", kind) if kind.starts_with("OpenStack") => {
            openstack::refusals(kind, past, new, versions)
        }
        ("infrastructure.cluster.x-k8s.io", kind) if kind.starts_with("VSphere") => {
            vsphere::refusals(kind, is_new, new)
        }
        ("infrastructure.cluster.x-k8s.io", "AWSCluster") => aws::cluster(past, new),
        ("infrastructure.cluster.x-k8s.io", "AWSClusterRoleIdentity" | "AWSClusterStaticIdentity") => aws::account(new),
        ("infrastructure.cluster.x-k8s.io", "AWSClusterTemplate") if is_new => aws::cluster_template(new),
        ("infrastructure.cluster.x-k8s.io", "AWSMachine") => aws_machine::machine(past, new),
        ("infrastructure.cluster.x-k8s.io", "AWSMachineTemplate") if is_new => aws_machine::template(new),
        (
            "infrastructure.cluster.x-k8s.io",
            kind @ ("AWSMachinePool" | "AWSManagedMachinePool" | "AWSFargateProfile"),
        ) => aws_pool::refusals(kind, past, new),
        ("controlplane.cluster.x-k8s.io", kind @ ("AWSManagedControlPlane" | "AWSManagedControlPlaneTemplate")) => {
            eks::refusals(kind, past, new)
        }
        ("infrastructure.cluster.x-k8s.io", kind) if kind.starts_with("Metal3") => {
            metal3::refusals(kind, past, new, versions)
        }
        ("cluster.x-k8s.io", kind) => workers::refusals(kind, old, new, versions, gates),
        _ => Vec::new(),
    }
}

/// Whether a path lies at or below one of these.
#[must_use]
pub(crate) fn lies_in(path: &Path, places: &[Path]) -> bool {
    places.iter().any(|place| place.covers(path))
}

/// A refusal at a place that is written as a person writes it.
pub(crate) fn refuse(out: &mut Vec<Refusal>, rule: &'static str, base: &Path, below: &str, message: impl Into<String>) {
    let mut path = base.clone();
    if let Ok(below) = Path::parse(below) {
        below.segments().iter().for_each(|segment: &Segment| path.push(segment.clone()));
    }
    out.push(Refusal { rule, path, message: format!("the webhook refuses it: {}", message.into()) });
}
