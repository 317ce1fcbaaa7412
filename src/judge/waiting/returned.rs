//! MachineSets whose MachineDeployment comes back: they still carry its name in a label, and while nobody has that name their
//! controller stops with an error before it does anything. What waited in them starts as soon as the name is there.
//! Read beside `core/reconcilers/machineset/machineset_controller.go` (Reconcile, isDeploymentChild, getOwnerMachineDeployment) of
//! Cluster API 1.14.

use super::adoption;
use super::lifted::Lifted;
use super::machines::has_labels;
use super::pause;
use super::side::Side;
use crate::judge::stage::Stage;
use crate::kinds::Role;
use crate::kinds::contract::{CORE, DEPLOYMENT_NAME, MACHINE, MACHINE_SET};
use crate::kinds::fields::{self, controller, label};
use crate::model::{Action, Effect, Pair, Rollout, RuleId, plural, plural_is};
use crate::object::{Key, is_deleting};
use crate::providers::{kind, typed};
use crate::tree::Value;

/// What starts in MachineSets because their MachineDeployment is made anew.
pub(super) fn lifted(stage: &Stage<'_>) -> Vec<Lifted> {
    let made =
        stage.pairs.iter().filter(|pair| pair.action == Action::Create && kind(&pair.key).role == Role::Deployment);
    made.flat_map(|pair| of(stage, pair)).collect()
}

/// The MachineSets that waited for one MachineDeployment.
fn of(stage: &Stage<'_>, pair: &Pair) -> Vec<Lifted> {
    let [before, after] = Side::both(stage);
    let Some(deployment) = after.get(&pair.key) else { return Vec::new() };
    let sets = before.all(CORE, MACHINE_SET, pair.key.namespace.as_deref());
    let waits = |key: &Key, set: &Value| {
        let cluster = stage.cluster_of(key, set);
        label(set, DEPLOYMENT_NAME) == Some(pair.key.name.as_str())
            && pause::of_object(after, key, set, cluster.as_ref()).is_empty()
    };
    let mut sets = sets.into_iter().filter(|(key, set)| waits(key, set)).peekable();
    if sets.peek().is_none() {
        return Vec::new();
    }
    // What the MachineDeployment deletes or replaces of what it takes over is told with it.
    let is_told = adoption::by_new(stage, &typed(&pair.key), &deployment).is_some_and(|taken| taken.rollout.is_some());
    sets.filter_map(|(key, set)| {
        let names = machines(before, &key, &set);
        if is_deleting(&set) {
            let count = names.len() as u64;
            let what = format!("its deletion goes on: {} deleted with it", plural_is(count, "Machine"));
            return (count > 0).then(|| told(stage, pair, (&key, &set), (Effect::Delete, count, names), &what));
        }
        let count = adoption::surplus(before, &key, &set);
        let what = format!("{} too many for it and deleted, before others are made", plural_is(count, "Machine"));
        (count > 0 && !is_told).then(|| told(stage, pair, (&key, &set), (Effect::Rollout, count, names), &what))
    })
    .collect()
}

/// The Machines that a MachineSet counts as its own.
fn machines(side: Side<'_>, key: &Key, set: &Value) -> Vec<String> {
    let selector = set.pointer("/spec/selector").unwrap_or(&Value::Null);
    let is_own = |(name, machine): &(Key, std::sync::Arc<Value>)| {
        let owner = controller(name, machine);
        has_labels(selector, machine)
            && !is_deleting(machine)
            && owner.is_none_or(|owner| owner.kind == MACHINE_SET && owner.name == key.name)
    };
    let all = side.all(CORE, MACHINE, key.namespace.as_deref());
    all.into_iter().filter(is_own).map(|(name, _)| name.name.clone()).collect()
}

fn told(
    stage: &Stage<'_>,
    pair: &Pair,
    (key, set): (&Key, &Value),
    (effect, count, names): (Effect, u64, Vec<String>),
    what: &str,
) -> Lifted {
    let cluster = stage.cluster_of(key, set).map(|cluster| cluster.name.clone()).unwrap_or_default();
    let names = if effect == Effect::Delete { names } else { Vec::new() };
    Lifted {
        owner: key.clone(),
        effect,
        waits: None,
        rule: RuleId::of("waiting/returned"),
        because: format!("its controller did nothing while {} was not there, and {what}", pair.key),
        places: vec![(pair.key.clone(), None)],
        rollouts: vec![Rollout {
            replicas: Some(if effect == Effect::Delete { 0 } else { fields::wanted(set, None) }),
            steps: vec![format!("deletes {} that waited for it", plural(count, "Machine"))],
            causes: vec![format!("{} is new", pair.key)],
            ..Rollout::plain(key, &cluster, effect, names, count)
        }],
    }
}
