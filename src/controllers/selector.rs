//! What a changed selector does: the Machines that it no longer selects are lost to their owner, which makes new ones.
//! Read beside `core/reconcilers/machineset/machineset_controller.go` (getAndAdoptMachinesForMachineSet) and
//! `core/reconcilers/machinedeployment/machinedeployment_rollout_planner.go` (computeDesiredMS) of Cluster API 1.14:
//! a MachineDeployment keeps its MachineSets by their owner reference and hands its selector to them.

use serde_json::{Value, json};

use super::labels;
use super::machine_deployment;
use super::machines::{self, text};
use super::stage::Stage;
use super::verdict::Answer;
use crate::effect::Effect;
use crate::object::Key;

/// The answer about `spec.selector` of a MachineDeployment or a MachineSet; `None` for other kinds.
#[must_use]
pub(super) fn answer(stage: &Stage<'_>, key: &Key, old: &Value, new: &Value) -> Option<Answer> {
    let family = match key.kind.as_str() {
        "MachineDeployment" => "md",
        "MachineSet" => "ms",
        _ => return None,
    };
    let selector = new.pointer("/spec/selector")?;
    let lost: Vec<String> = machines(stage, key, old)
        .into_iter()
        .filter(|(_, machine)| {
            !is_map(selector) || labels::selects(selector, |key| machines::label(machine, key)) != Some(true)
        })
        .map(|(name, _)| name)
        .collect();
    if lost.is_empty() {
        return Some(Answer::known(stage.rules, Effect::None, &format!("{family}/selector-kept")));
    }
    let because = if is_map(selector) {
        format!("it selects {} no longer: they are lost to {key} and new ones are made beside them", lost.join(", "))
    } else {
        format!(
            "{key} cannot find its Machines by a selector of this form, and reconciles nothing until that is changed"
        )
    };
    Some(Answer::known(stage.rules, Effect::Unknown, &format!("{family}/selector")).saying(because))
}

/// Whether the controllers can read a selector as labels (`LabelSelectorAsMap`): nothing but single values.
fn is_map(selector: &Value) -> bool {
    let list = selector.get("matchExpressions").and_then(Value::as_array);
    list.into_iter().flatten().all(|expression| {
        text(expression, "/operator") == Some("In")
            && expression.get("values").and_then(Value::as_array).is_some_and(|values| values.len() == 1)
    })
}

/// The Machines of an owner with their labels; those that its template makes where none can be read.
fn machines(stage: &Stage<'_>, key: &Key, old: &Value) -> Vec<(String, Value)> {
    let owners: Vec<String> = if key.kind == "MachineDeployment" {
        machine_deployment::sets(stage.scene, key, &stage.versions).into_iter().map(|set| set.name).collect()
    } else {
        vec![key.name.clone()]
    };
    let real: Vec<(String, Value)> = owners
        .iter()
        .flat_map(|owner| stage.scene.world.live.owned_by("MachineSet", owner))
        .filter(|object| object.key.group == "cluster.x-k8s.io" && object.key.kind == "Machine")
        .filter(|object| machines::is_in(object, key.namespace.as_deref()))
        .filter_map(|object| Some((object.key.name.clone(), object.value().ok()?.into_owned())))
        .collect();
    if !real.is_empty() {
        return real;
    }
    let mut labels = old.pointer("/spec/template/metadata/labels").cloned().unwrap_or_else(|| json!({}));
    if let Some(map) = labels.as_object_mut() {
        let own = if key.kind == "MachineDeployment" { "deployment-name" } else { "set-name" };
        map.insert(format!("cluster.x-k8s.io/{own}"), json!(key.name));
        map.insert("cluster.x-k8s.io/cluster-name".to_owned(), json!(text(old, "/spec/clusterName")));
    }
    vec![("its Machines".to_owned(), json!({"metadata": {"labels": labels}}))]
}
