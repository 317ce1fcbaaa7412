//! Mirror of what the webhook of Cluster refuses about a Cluster by itself: its name, references and networks, and of its topology
//! labels, strategies, taints and numbers of health checks.
//! Read beside `validateTopologyRollout`, `validateTopologyTaints` and `validateMachineHealthChecks` in
//! `core/webhooks/admission/cluster.go` of Cluster API 1.14.

use super::changes::{CLASS_TAINTS, ONE_COUNTS, REFERENCES_STAY, V1BETA2};
use super::webhook::{RULE, is_set, strategy_counts};
use super::{checks, in_hub, taints};
use crate::kinds::contract::UPGRADE_CONCURRENCY;
use crate::kinds::fields::{AUTOSCALER, annotation, list};
use crate::kinds::webhook::{Refusal, Write, refuse};
use crate::kinds::{Role, Versions, labels};
use crate::object::Path;
use crate::tree::Value;

/// What is refused about a Cluster, new or changed; both sides in the superset form.
pub(super) fn refusals(write: &Write<'_>, spec: &Path, out: &mut Vec<Refusal>) {
    name(&write.key.name, out);
    kept(write.old, write.new, write.versions, spec, out);
    topology(write, spec, out);
}

/// The name of a Cluster is the value of a label of everything in it.
fn name(name: &str, out: &mut Vec<Refusal>) {
    if !labels::is_value(name) {
        refuse(
            out,
            RULE,
            &Path::root().key("metadata"),
            "name",
            "the name is no value of a label, which has at most 63 letters",
        );
    }
}

/// References stay, networks are networks, and a topology stays.
fn kept(old: &Value, new: &Value, versions: &Versions, spec: &Path, out: &mut Vec<Refusal>) {
    // Up to 1.9 only a topology had to stay.
    let fixed: &[&str] = if versions.has(&REFERENCES_STAY) {
        &["infrastructureRef", "controlPlaneRef", "topology"]
    } else {
        &["topology"]
    };
    for key in fixed {
        let pointer = format!("/spec/{key}");
        if is_set(old.pointer(&pointer), versions) && !is_set(new.pointer(&pointer), versions) {
            refuse(out, RULE, spec, key, format!("{key} cannot be taken away"));
        }
    }
    for network in ["pods", "services"] {
        let list = new.pointer(&format!("/spec/clusterNetwork/{network}/cidrBlocks")).and_then(Value::as_array);
        for (place, block) in list.into_iter().flatten().enumerate() {
            if block.as_str().is_none_or(|text| text.parse::<ipnet::IpNet>().is_err()) {
                let below = format!("clusterNetwork.{network}.cidrBlocks[{place}]");
                refuse(out, RULE, spec, &below, "it is not a network such as 10.0.0.0/16");
            }
        }
    }
    if defined(new.pointer("/spec/topology")) {
        topology_labels(old, new, versions, spec, out);
    }
}

/// A cluster that has no topology gets none; its version is looked at beside its class.
fn topology_labels(old: &Value, new: &Value, versions: &Versions, spec: &Path, out: &mut Vec<Refusal>) {
    if !defined(old.pointer("/spec/topology"))
        && annotation(new, "unsafe.topology.cluster.x-k8s.io/disable-update-class-name-check").is_none()
    {
        refuse(out, RULE, spec, "topology.classRef", "a cluster without a topology cannot get one");
    }
    if let Some(many) =
        annotation(new, UPGRADE_CONCURRENCY).filter(|many| !many.parse::<i64>().is_ok_and(|many| many >= 1))
    {
        let at = Path::root().key("metadata").key("annotations").key(UPGRADE_CONCURRENCY);
        refuse(out, RULE, &at, "", format!("{many:?} is no number of groups that are upgraded at once"));
    }
    let at = spec.key("topology").key("controlPlane").key("metadata");
    labels::refusals(new.pointer("/spec/topology/controlPlane/metadata"), &at, out);
    for workers in ["machineDeployments", "machinePools"] {
        let groups = new.pointer(&format!("/spec/topology/workers/{workers}")).and_then(Value::as_array);
        for (place, group) in groups.into_iter().flatten().enumerate() {
            let at = spec.key("topology").key("workers").key(workers).index(place);
            labels::refusals(group.get("metadata"), &at.key("metadata"), out);
            let counts = group.get("replicas").is_some_and(|count| !count.is_null());
            if workers == "machineDeployments"
                && counts
                && versions.has(&ONE_COUNTS)
                && AUTOSCALER.iter().any(|name| annotation(group, name).is_some())
            {
                refuse(out, RULE, &at, "replicas", "the autoscaler counts the Machines of this group");
            }
        }
    }
}

/// Whether a block says anything.
fn defined(block: Option<&Value>) -> bool {
    block.and_then(Value::as_object).is_some_and(|map| map.values().any(|value| !value.is_null() && value != ""))
}

/// What is refused about the topology.
fn topology(write: &Write<'_>, spec: &Path, out: &mut Vec<Refusal>) {
    if write.new.pointer("/spec/topology").is_none_or(Value::is_null) {
        return;
    }
    let (new, versions) = (in_hub(Role::Cluster, write.new, write.versions), write.versions);
    let at = spec.key("topology");
    if let Some(plane) = new.pointer("/spec/topology/controlPlane") {
        one(plane, "controlPlane", versions, &at.key("controlPlane"), out);
    }
    for workers in ["machineDeployments", "machinePools"] {
        for (place, group) in list(&new, &format!("/spec/topology/workers/{workers}")).enumerate() {
            one(group, workers, versions, &at.key("workers").key(workers).index(place), out);
        }
    }
}

/// The control plane, or one group of workers.
fn one(group: &Value, word: &str, versions: &Versions, at: &Path, out: &mut Vec<Refusal>) {
    if versions.has(&CLASS_TAINTS) {
        taints::refusals(group.get("taints"), "taints", at, false, out);
    }
    if word == "machineDeployments" && versions.has(&V1BETA2) {
        strategy_counts(group.pointer("/rollout/strategy/rollingUpdate"), RULE, at, out);
    }
    if word != "machinePools" {
        checks::inner(group, RULE, word == "machineDeployments" && versions.has(&V1BETA2), at, out);
    }
}
