//! What a changed selector does: the Machines that it no longer selects are lost to their owner, which makes new ones.
//! Read beside `core/reconcilers/machineset/machineset_controller.go` (getAndAdoptMachinesForMachineSet, syncReplicas) and
//! `core/reconcilers/machinedeployment/machinedeployment_rollout_planner.go` (computeDesiredMS) of Cluster API 1.14: a
//! MachineDeployment keeps its MachineSets by their owner reference and hands its selector to them, in each version since 1.6;
//! up to 1.11 only to the one that it keeps (`machinedeployment_sync.go` getNewMachineSet). No webhook refuses it.

use crate::judge::stage::Stage;
use crate::judge::verdict::Answer;
use crate::kinds::contract::{self, CLUSTER_NAME, DEPLOYMENT_NAME, SET_NAME};
use crate::kinds::fields;
use crate::kinds::fields::{is_paused, text, wanted};
use crate::kinds::labels;
use crate::kinds::{Kind, Role, SelectorRules, Typed};
use crate::model::Effect;
use crate::model::Rollout;
use crate::object::Key;
use crate::providers::core::changes::SELECTOR_TO_ALL_SETS;
use crate::providers::core::machine_deployment;
use crate::providers::kind;
use crate::tree::{Value, json};

/// Machines that their owner finds no longer.
struct Lost {
    /// Their names; empty where they could not be read.
    names: Vec<String>,
    /// How many they are.
    count: u64,
}

/// How long a label may be.
const LONGEST_LABEL: usize = 63;

/// What a changed selector does.
enum Fate {
    /// Every Machine is still found.
    Kept,
    /// Some are not.
    Lost(Lost),
    /// The controllers cannot read it as labels.
    Unreadable,
}

/// The answer about `spec.selector` of a MachineDeployment or a MachineSet; `None` for other kinds.
#[must_use]
pub(crate) fn answer(stage: &Stage<'_>, key: &Typed<'_>, old: &Value, new: &Value) -> Option<Answer> {
    let rules = rules(key.known)?;
    let known = |effect, rule| Answer::known(stage.rules, effect, rule);
    if let Some(answer) = runs_away(stage, key, new) {
        return Some(answer);
    }
    Some(match fate(stage, key, old, new)? {
        Fate::Kept => known(Effect::None, rules.kept),
        Fate::Unreadable => known(Effect::Unknown, rules.unreadable),
        Fate::Lost(lost) if waits(stage, key, new) => known(Effect::Rollout, rules.lost)
            .held(format!("{}; it is paused, so this happens when it is no longer paused", lost.because(key, new))),
        Fate::Lost(lost) => known(Effect::Rollout, rules.lost).saying(lost.because(key, new)),
    })
}

/// The answer about an owner that never counts a Machine which it makes, as its selector asks for another one's labels: it makes as many
/// again each time that it looks, and nothing stops it (syncReplicas). Which owner made a Machine is written into its labels by the
/// controller, whatever the template says (machineLabelsFromMachineSet). `None` for other kinds, and where no Machine is wanted.
#[must_use]
pub(crate) fn runs_away(stage: &Stage<'_>, key: &Typed<'_>, new: &Value) -> Option<Answer> {
    let rules = rules(key.known)?;
    let selector = new.pointer("/spec/selector").filter(|selector| is_map(selector))?;
    let machines = wanted(new, None);
    // A longer name stands in labels as its hash.
    if machines == 0 || key.name.len() > LONGEST_LABEL {
        return None;
    }
    let made = derived(key, new);
    let never = labels::selects(selector, |name| fields::label(&made, name)) == Some(false);
    never.then(|| {
        let because = format!(
            "its selector asks for labels that no Machine of it gets ({}), so it counts none of them, makes {} again each time it looks, and \
             never stops; leave spec.selector and these labels of the template out",
            asked(selector, &made).join(", "),
            words(machines)
        );
        Answer::known(stage.rules, Effect::Unknown, rules.runs_away).saying(because)
    })
}

/// The labels that a selector asks for and a Machine does not have.
fn asked(selector: &Value, machine: &Value) -> Vec<String> {
    let wanted = selector.get("matchLabels").and_then(Value::as_object).into_iter().flatten();
    let other = wanted.filter(|(name, value)| fields::label(machine, name) != value.as_str());
    other.map(|(name, value)| format!("{name}={}", value.as_str().unwrap_or_default())).collect()
}

/// The weight of a selector under which Machines are lost; `None` where none is, or where it waits.
#[must_use]
pub(crate) fn rollout(stage: &Stage<'_>, key: &Typed<'_>, old: &Value, new: &Value) -> Option<Rollout> {
    if old.pointer("/spec/selector") == new.pointer("/spec/selector") || waits(stage, key, new) {
        return None;
    }
    lost(stage, key, old, new)
}

/// The weight of a selector that is handed on only now, as it stands; `None` where no Machine is lost by it.
#[must_use]
pub(crate) fn pending(stage: &Stage<'_>, key: &Typed<'_>, owner: &Value) -> Option<Rollout> {
    lost(stage, key, owner, owner)
}

/// The weight of the Machines that a selector loses.
fn lost(stage: &Stage<'_>, key: &Typed<'_>, old: &Value, new: &Value) -> Option<Rollout> {
    let Some(Fate::Lost(lost)) = fate(stage, key, old, new) else { return None };
    let count_wanted = wanted(new, Some(old));
    if count_wanted == 0 {
        return None;
    }
    let (count, made) = (words(lost.count), words(lost.count.min(count_wanted)));
    Some(Rollout {
        owner: Key::clone(key),
        cluster: stage.cluster_of(key, new).map(|cluster| cluster.name.clone()).unwrap_or_default(),
        effect: Effect::Rollout,
        replicas: Some(count_wanted),
        present: None,
        machines: Some(lost.count),
        machine_names: lost.names,
        max_surge: Some(lost.count),
        max_unavailable: Some(0),
        steps: vec![
            format!("finds {count} no longer, and makes {made} at once beside them"),
            format!("the old ones run on, counted and updated by nobody, until somebody deletes them or {}", key.kind),
        ],
        course: None,
        causes: vec!["spec.selector".to_owned()],
    })
}

impl Lost {
    /// One sentence.
    fn because(&self, key: &Key, new: &Value) -> String {
        let who = if self.names.is_empty() { "its Machines".to_owned() } else { self.names.join(", ") };
        let made = words(self.count.min(wanted(new, None)));
        format!(
            "it selects {who} no longer: {key} makes {made} beside them, and the old ones run on, counted by nobody"
        )
    }
}

/// A number of Machines.
fn words(count: u64) -> String {
    crate::model::plural(count, "Machine")
}

/// The ids of a kind whose selector finds Machines.
fn rules(kind: &Kind) -> Option<&'static SelectorRules> {
    kind.owner?.selector.as_ref()
}

/// Whether the controllers do nothing for it. That a MachineDeployment itself is paused keeps no selector back.
fn waits(stage: &Stage<'_>, key: &Typed<'_>, new: &Value) -> bool {
    let cluster = stage.cluster_of(key, new).and_then(|cluster| stage.after(&cluster));
    is_paused(new, cluster.as_deref())
}

/// What the selector of an owner does to its Machines.
fn fate(stage: &Stage<'_>, key: &Typed<'_>, old: &Value, new: &Value) -> Option<Fate> {
    rules(key.known)?;
    let selector = new.pointer("/spec/selector")?;
    if !is_map(selector) {
        return Some(Fate::Unreadable);
    }
    let is_lost = |machine: &Value| labels::selects(selector, |name| fields::label(machine, name)) != Some(true);
    let lost = match machines(stage, key, new) {
        Some(real) => {
            let names: Vec<String> =
                real.into_iter().filter(|(_, machine)| is_lost(machine)).map(|(name, _)| name).collect();
            Lost { count: names.len() as u64, names }
        }
        None if replaced_anyway(stage, key, old, new) || !is_lost(&derived(key, old)) => {
            Lost { names: Vec::new(), count: 0 }
        }
        None => Lost { names: Vec::new(), count: wanted(old, None) },
    };
    Some(if lost.count == 0 { Fate::Kept } else { Fate::Lost(lost) })
}

/// Whether the controllers can read a selector as labels (`LabelSelectorAsMap`): nothing but single values.
fn is_map(selector: &Value) -> bool {
    let list = selector.get("matchExpressions").and_then(Value::as_array);
    list.into_iter().flatten().all(|expression| {
        text(expression, "/operator") == Some("In")
            && expression.get("values").and_then(Value::as_array).is_some_and(|values| values.len() == 1)
    })
}

/// Whether Machines of the old spec are replaced by the template, by a version that leaves old MachineSets their selector.
fn replaced_anyway(stage: &Stage<'_>, key: &Typed<'_>, old: &Value, new: &Value) -> bool {
    if key.known.role != Role::Deployment || stage.versions.has(&SELECTOR_TO_ALL_SETS) {
        return false;
    }
    let sets = machine_deployment::derived(old, stage.scene.world.now);
    machine_deployment::outdated(&sets, new, &stage.versions, stage.scene.world.now).iter().any(|set| !set.is_empty())
}

/// The Machines of an owner to which the selector comes and that are found now, with their names; `None` where none can be read.
fn machines(stage: &Stage<'_>, key: &Typed<'_>, new: &Value) -> Option<Vec<(String, Value)>> {
    let mut is_any = false;
    let mut owners: Vec<Key> = vec![Key::clone(key)];
    if key.known.role == Role::Deployment {
        let sets = machine_deployment::sets(stage.scene.view, key, &stage.versions);
        let old = machine_deployment::outdated(&sets, new, &stage.versions, stage.scene.world.now);
        is_any = sets.iter().any(|set| !set.machines.is_empty());
        let is_handed = |causes: &Vec<_>| stage.versions.has(&SELECTOR_TO_ALL_SETS) || causes.is_empty();
        owners = sets
            .into_iter()
            .zip(old)
            .filter(|(_, causes)| is_handed(causes))
            .map(|(set, _)| contract::machine_set(key.namespace.as_deref(), &set.name))
            .collect();
    }
    let mut real: Vec<(String, Value)> = Vec::new();
    for owner in &owners {
        let set = stage.before(owner);
        let selector = set.as_ref().and_then(|set| set.pointer("/spec/selector"));
        let is_found = |machine: &Value| {
            selector.is_none_or(|all| labels::selects(all, |name| fields::label(machine, name)) != Some(false))
        };
        for object in stage.scene.view.owned_by(owner).filter(|object| kind(&object.key).role == Role::Machine) {
            is_any = true;
            let Ok(machine) = object.value() else { continue };
            // What another label has taken away already is not lost by this.
            if !crate::object::is_deleting(&machine) && is_found(&machine) {
                real.push((object.key.name.clone(), machine.into_owned()));
            }
        }
    }
    is_any.then_some(real)
}

/// A Machine as the template of an owner makes it, with its labels.
fn derived(key: &Typed<'_>, old: &Value) -> Value {
    let mut labels = old.pointer("/spec/template/metadata/labels").cloned().unwrap_or_else(|| json!({}));
    if let Some(map) = labels.as_object_mut() {
        if key.known.role == Role::Deployment {
            map.insert(DEPLOYMENT_NAME.to_owned(), json!(key.name));
            // The names of its sets are random, so nobody can ask for one.
            map.insert(SET_NAME.to_owned(), json!("?"));
        } else {
            map.insert(SET_NAME.to_owned(), json!(key.name));
            if let Some(deployment) = fields::label(old, DEPLOYMENT_NAME) {
                map.insert(DEPLOYMENT_NAME.to_owned(), json!(deployment));
            }
        }
        map.insert(CLUSTER_NAME.to_owned(), json!(text(old, "/spec/clusterName")));
    }
    json!({"metadata": {"labels": labels}})
}
