//! Taints: the feature gate that they need, and those that the webhooks refuse.
//! Read beside `internal/util/taints/validation.go` (ValidateMachineTaints) of Cluster API 1.14.

use super::TAINTS;
use super::changes::CLASS_TAINTS;
use super::webhook::{RULE, items};
use crate::kinds::fields::text;
use crate::kinds::webhook::{Need, Refusal, refuse};
use crate::kinds::{Versions, labels};
use crate::object::Path;
use crate::tree::Value;

/// A list of taints with something in it needs its gate, where the kind can have one. Items of lists on the way stand in brackets.
pub(crate) fn needs(object: &Value, place: &str, can_have: impl FnOnce() -> bool, need: &mut Need<'_>) {
    let pointer = format!("/{}", place.replace(['.', '['], "/").replace(']', ""));
    if items(object.pointer(&pointer)) > 0 && can_have() {
        need(TAINTS, place);
    }
}

/// The taints of the control plane and of each group of a topology, or of a class, need their gate too
/// (`core/webhooks/admission/{cluster,clusterclass}.go` validateTopologyTaints, validateTaints of Cluster API 1.13).
pub(super) fn needs_of_groups(object: &Value, at: &str, versions: &Versions, need: &mut Need<'_>) {
    let mut of = |place: String| needs(object, &place, || versions.has(&CLASS_TAINTS), need);
    of(format!("{at}.controlPlane.taints"));
    for workers in ["machineDeployments", "machinePools"] {
        let list = format!("/{}/workers/{workers}", at.replace('.', "/"));
        (0..items(object.pointer(&list))).for_each(|place| of(format!("{at}.workers.{workers}[{place}].taints")));
    }
}

/// Some keys of taints belong to others (`internal/util/taints/validation.go` ValidateMachineTaints), and that of control planes is
/// not for workers (`validateMachineTaintsForWorkers`).
pub(crate) fn refusals(taints: Option<&Value>, below: &str, spec: &Path, are_workers: bool, out: &mut Vec<Refusal>) {
    for (place, taint) in taints.and_then(Value::as_array).into_iter().flatten().enumerate() {
        let key = text(taint, "/key").unwrap_or_default();
        let reserved = (are_workers && key == "node-role.kubernetes.io/control-plane")
            || matches!(
                key,
                "node.cluster.x-k8s.io/uninitialized"
                    | "node.cluster.x-k8s.io/outdated-revision"
                    | "node-role.kubernetes.io/master"
            )
            || key.starts_with("node.cloudprovider.kubernetes.io/")
            || (key.starts_with("node.kubernetes.io/") && key != "node.kubernetes.io/out-of-service");
        if reserved {
            refuse(out, RULE, spec, &format!("{below}[{place}].key"), format!("the taint {key} cannot be set here"));
        } else if !labels::is_key(key) {
            refuse(out, RULE, spec, &format!("{below}[{place}].key"), format!("{key:?} is no name of a taint"));
        }
    }
}
