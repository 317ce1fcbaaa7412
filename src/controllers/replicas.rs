//! What a change of `spec.replicas` does: more Machines, fewer, or none at all.

use serde_json::Value;

use super::machines::{annotation, number};
use super::verdict::Answer;
use crate::effect::Effect;
use crate::rules::Rules;

/// Annotations that hand the number of Machines of a MachineDeployment or pool to the cluster autoscaler.
pub(super) const AUTOSCALER: [&str; 2] = [
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

/// The answer about `spec.replicas`, with both numbers in its sentence.
#[must_use]
pub(super) fn answer(rules: &Rules, family: &str, old: &Value, new: &Value) -> Answer {
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
