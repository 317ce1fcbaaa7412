//! What a change of `spec.replicas` does: more Machines, fewer, or none at all.

use serde_json::Value;

use crate::judge::verdict::Answer;
use crate::kinds::machines::{annotation, number};
use crate::model::effect::Effect;
use crate::object::Key;
use crate::rules::Rules;

/// Annotations that hand the number of Machines of a MachineDeployment or pool to the cluster autoscaler.
pub(crate) const AUTOSCALER: [&str; 2] = [
    "cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size",
    "cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size",
];

/// How many Machines an owner wants: what it says, or what the webhook fills in.
///
/// `old` is the owner before the write, which an autoscaled owner keeps its number from
/// (cluster-api `core/webhooks/admission/machinedeployment.go` calculateMachineDeploymentReplicas, v1.14).
#[must_use]
pub fn wanted(owner: &Value, old: Option<&Value>) -> u64 {
    if let Some(told) = number(owner, "/spec/replicas") {
        return told;
    }
    let size = |name: &str| annotation(owner, name).and_then(|text| text.parse::<u64>().ok());
    match (size(AUTOSCALER[0]), size(AUTOSCALER[1])) {
        (Some(least), Some(most)) if least <= most => {
            let now = old.and_then(|old| number(old, "/spec/replicas"));
            now.map_or(least, |now| now.clamp(least, most))
        }
        _ => 1,
    }
}

/// Whether an owner makes Machines. A control plane that does has a template for them (Cluster API's contract for control
/// plane providers, `docs/book/src/developer/providers/contracts/control-plane.md`); a hosted or managed one has none.
#[must_use]
pub(crate) fn makes_machines(key: &Key, owner: &Value) -> bool {
    match key.group.as_str() {
        "cluster.x-k8s.io" => matches!(key.kind.as_str(), "MachineDeployment" | "MachineSet" | "MachinePool"),
        "controlplane.cluster.x-k8s.io" if !key.kind.ends_with("Template") => {
            let spec = owner.get("spec").unwrap_or(&Value::Null);
            ["machineTemplate", "infrastructureTemplate", "infrastructureRef"].iter().any(|key| spec.get(key).is_some())
        }
        _ => false,
    }
}

/// The answer about `spec.replicas`, with both numbers in its sentence.
#[must_use]
pub(crate) fn answer(rules: &Rules, family: &str, old: &Value, new: &Value) -> Answer {
    let (before, after) = (wanted(old, None), wanted(new, Some(old)));
    let id = format!("{family}/replicas");
    let removed = number(new, "/spec/replicas").is_none();
    let tail = if removed { ", because the field goes away and the webhook fills it in" } else { "" };
    if after == before {
        return Answer::known(rules, Effect::None, &id).saying(format!("the number of Machines stays {before}{tail}"));
    }
    if after == 0 {
        return Answer::known(rules, Effect::Delete, &id).saying(format!(
            "{} and none takes their place{tail}",
            if before == 1 {
                "the Machine is deleted".to_owned()
            } else {
                format!("all {before} Machines are deleted")
            }
        ));
    }
    let verb = if after > before { "made" } else { "deleted" };
    let count = before.abs_diff(after);
    let plural = if count == 1 { "Machine is" } else { "Machines are" };
    Answer::known(rules, Effect::Scale, &id)
        .saying(format!("scales from {before} to {after}: {count} {plural} {verb}, none is replaced{tail}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_managed_control_plane_makes_no_machines() {
        let makes = |kind: &str, spec: Value| {
            let group = "controlplane.cluster.x-k8s.io".to_owned();
            let key = Key { group, kind: kind.to_owned(), namespace: None, name: "x".to_owned() };
            makes_machines(&key, &json!({"spec": spec}))
        };
        assert!(!makes("AWSManagedControlPlane", json!({"version": "v1.33"})));
        assert!(!makes("KamajiControlPlane", json!({"replicas": 3})));
        assert!(makes("CK8sControlPlane", json!({"machineTemplate": {}})));
        assert!(makes("TalosControlPlane", json!({"infrastructureTemplate": {}})));
        assert!(!makes("KubeadmControlPlaneTemplate", json!({"machineTemplate": {}})));
    }
}
