//! Mirror of what the webhook of Cluster refuses about a topology by itself: strategies, taints and numbers of health checks.
//! Read beside `validateTopologyRollout`, `validateTopologyTaints` and `validateMachineHealthChecks` in
//! `core/webhooks/admission/cluster.go` of Cluster API 1.14.

use super::changes::{CLASS_TAINTS, V1BETA2};
use super::webhook::{RULE, strategy_counts, taint_refusals};
use super::{checks, in_hub};
use crate::kinds::fields::list;
use crate::kinds::webhook::{Refusal, Write};
use crate::kinds::{Role, Versions};
use crate::object::Path;
use crate::tree::Value;

/// What is refused about the topology of a Cluster, new or changed.
pub(super) fn refusals(write: &Write<'_>, spec: &Path, out: &mut Vec<Refusal>) {
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
        taint_refusals(group.get("taints"), "taints", at, false, out);
    }
    if word == "machineDeployments" && versions.has(&V1BETA2) {
        strategy_counts(group.pointer("/rollout/strategy/rollingUpdate"), RULE, at, out);
    }
    if word != "machinePools" {
        checks::inner(group, RULE, word == "machineDeployments" && versions.has(&V1BETA2), at, out);
    }
}
