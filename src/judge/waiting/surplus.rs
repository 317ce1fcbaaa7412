//! A MachineDeployment whose rollout is paused half-way: it still keeps its MachineSets within what its strategy allows together.
//! Read beside `core/reconcilers/machinedeployment/machinedeployment_sync.go` (sync, scale) of Cluster API 1.14: where more Machines
//! are there than wanted and allowed above that, the difference goes, in old and new sets by their size.

use super::lifted::Lifted;
use super::pause;
use super::side::Side;
use crate::judge::stage::Stage;
use crate::kinds::Role;
use crate::kinds::contract::MACHINE_SET;
use crate::kinds::fields::{controller, number, wanted};
use crate::model::{Action, Effect, Rollout, RuleId};
use crate::object::{Key, Path, is_deleting};
use crate::providers::kind;
use crate::tree::Value;

/// What goes because a write leaves less room above the wanted number while the rollout is paused.
pub(super) fn lifted(stage: &Stage<'_>) -> Vec<Lifted> {
    let updated = stage.pairs.iter().filter(|pair| pair.action == Action::Update && !pair.changes.is_empty());
    updated.filter(|pair| kind(&pair.key).role == Role::Deployment).filter_map(|pair| of(stage, &pair.key)).collect()
}

/// The same for one MachineDeployment.
fn of(stage: &Stage<'_>, key: &Key) -> Option<Lifted> {
    let (before, after) = (stage.before(key)?, stage.after(key)?);
    let is_paused = after.pointer("/spec/paused") == Some(&Value::Bool(true));
    let number_stays = wanted(&before, None) == wanted(&after, Some(&before));
    let cluster = stage.cluster_of(key, &after);
    let is_left_alone = || !pause::of_object(Side::after(stage), key, &after, cluster.as_ref()).is_empty();
    if !is_paused || !number_stays || is_deleting(&before) || is_left_alone() {
        return None;
    }
    let sets = sizes(stage, key);
    let total: u64 = sets.iter().sum();
    let count = surplus(key, &after, total)?.saturating_sub(surplus(key, &before, total)?);
    // With one set that has Machines, that set gets the wanted number in any case.
    (count > 0 && sets.len() > 1).then(|| told(stage, key, &after, (total, count)))
}

/// How many Machines the MachineSets of a MachineDeployment are to have, those that have any.
fn sizes(stage: &Stage<'_>, key: &Key) -> Vec<u64> {
    let all = Side::before(stage).all(&key.group, MACHINE_SET, key.namespace.as_deref());
    let own = all.into_iter().filter(|(set, value)| controller(set, value).as_ref() == Some(key));
    own.filter_map(|(_, value)| number(&value, "/spec/replicas")).filter(|size| *size > 0).collect()
}

/// How many Machines are more than an owner allows; `None` where nobody knows its strategy.
fn surplus(key: &Key, owner: &Value, total: u64) -> Option<u64> {
    let mirror = kind(key).mirror?;
    let mut owner = owner.clone();
    let wanted = wanted(&owner, None);
    if let Some(spec) = owner.get_mut("spec").and_then(Value::as_object_mut) {
        // What the strategy allows is asked as if nothing were paused.
        spec.shift_remove("paused");
    }
    let (surge, _) = mirror.room(&owner, wanted);
    let allowed = if wanted == 0 { 0 } else { wanted + surge };
    Some(total.saturating_sub(allowed))
}

/// What is said of it.
fn told(stage: &Stage<'_>, key: &Key, owner: &Value, (total, count): (u64, u64)) -> Lifted {
    let noun = if count == 1 { "Machine" } else { "Machines" };
    let place = |block: &str| (key.clone(), Some(Path::root().key("spec").key(block)));
    let says = format!("deletes {count} {noun} that are more than its strategy allows, although the rollout is paused");
    Lifted {
        owner: key.clone(),
        effect: Effect::Delete,
        waits: None,
        rule: RuleId::of("waiting/surplus"),
        because: format!("{key} has {total} Machines half-way through a rollout and {says}"),
        places: vec![place("rollout"), place("strategy"), place("paused")],
        rollouts: vec![Rollout {
            replicas: Some(total - count),
            present: Some(total),
            steps: vec![says],
            causes: vec!["spec.rollout.strategy".to_owned()],
            ..Rollout::plain(
                key,
                &stage.cluster_of(key, owner).map_or_else(String::new, |cluster| cluster.name),
                Effect::Delete,
                Vec::new(),
                count,
            )
        }],
    }
}
