//! A selector that waits: a MachineDeployment got another one while it was paused, and hands it to its MachineSets when the pause ends.
//! Read beside `core/reconcilers/machinedeployment/machinedeployment_rollout_planner.go` (computeDesiredMS) of Cluster API 1.14.

use std::collections::BTreeSet;

use super::lifted::Lifted;
use super::pause;
use super::side::Side;
use crate::judge::selector;
use crate::judge::stage::Stage;
use crate::kinds::Role;
use crate::model::{Action, RuleId};
use crate::object::{Key, is_deleting};
use crate::providers::{kind, typed};

/// What MachineDeployments lose sight of because a pause ends and nothing else changes their selector.
pub(super) fn lifted(stage: &Stage<'_>) -> Vec<Lifted> {
    let mut keys: BTreeSet<Key> = BTreeSet::new();
    for pair in stage.pairs.iter().filter(|pair| pair.action == Action::Update) {
        match kind(&pair.key).role {
            Role::Cluster => keys.extend(stage.owners_of(&pair.key).into_iter().cloned()),
            Role::Deployment => drop(keys.insert(pair.key.clone())),
            _ => {}
        }
    }
    keys.iter().filter(|key| kind(key).role == Role::Deployment).filter_map(|key| of(stage, key)).collect()
}

fn of(stage: &Stage<'_>, key: &Key) -> Option<Lifted> {
    let [before, after] = Side::both(stage);
    let (old, new) = (before.get(key)?, after.get(key)?);
    if is_deleting(&old) || old.pointer("/spec/selector") != new.pointer("/spec/selector") {
        return None;
    }
    let cluster = stage.cluster_of(key, &new);
    let was = pause::of_object(before, key, &old, cluster.as_ref());
    let hold = was.first().filter(|_| pause::of_object(after, key, &new, cluster.as_ref()).is_empty())?;
    let rollout = selector::pending(stage, &typed(key), &new)?;
    let steps = rollout.steps.first().cloned().unwrap_or_default();
    Some(Lifted {
        owner: key.clone(),
        effect: rollout.effect,
        waits: None,
        rule: RuleId::of("waiting/unpaused"),
        because: format!("{}, and its selector is handed to its MachineSets: it {steps}", hold.over),
        places: was.iter().flat_map(|hold| hold.places.clone()).collect(),
        rollouts: vec![rollout],
    })
}
