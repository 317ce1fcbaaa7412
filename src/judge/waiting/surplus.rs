//! A MachineDeployment whose rollout is paused half-way: it still keeps its MachineSets within what its strategy allows together. And
//! one that turns to `OnDelete` half-way: it keeps no more than it wants from then on, whether the new ones are there or not.
//! Read beside `core/reconcilers/machinedeployment/machinedeployment_sync.go` (sync, scale) and
//! `machinedeployment_rollout_ondelete.go` (reconcileOldMachineSetsOnDelete) of Cluster API 1.14: where more Machines are there than
//! wanted and allowed above that, the difference goes, in old and new sets by their size.

use super::lifted::Lifted;
use super::pause;
use super::side::Side;
use crate::apiserver::admission::Sides;
use crate::judge::owner::Assessment;
use crate::judge::stage::Stage;
use crate::kinds::Role;
use crate::kinds::contract::MACHINE_SET;
use crate::kinds::fields::{controller, number, text, wanted};
use crate::model::{Action, Basis, Effect, Places, Rollout, RuleId, plural};
use crate::object::{GroupKind, Key, Path, is_deleting};
use crate::providers::kind;
use crate::tree::Value;
use crate::world::Coverage;

/// What goes because a write leaves less room above the wanted number while the rollout is paused.
pub(super) fn lifted(stage: &Stage<'_>) -> Vec<Lifted> {
    let updated = stage.pairs.iter().filter(|pair| pair.action == Action::Update && !pair.changes.is_empty());
    updated.filter(|pair| kind(&pair.key).role == Role::Deployment).filter_map(|pair| of(stage, &pair.key)).collect()
}

/// What goes of one MachineDeployment because its write leaves less room while its rollout is paused, or turns it to `OnDelete`.
fn of(stage: &Stage<'_>, key: &Key) -> Option<Lifted> {
    let (before, after) = (stage.before(key)?, stage.after(key)?);
    let is_paused = after.pointer("/spec/paused") == Some(&Value::Bool(true));
    let cluster = stage.cluster_of(key, &after);
    let is_left_alone = || !pause::of_object(Side::after(stage), key, &after, cluster.as_ref()).is_empty();
    if is_deleting(&before) || is_left_alone() {
        return None;
    }
    if !is_paused {
        return turned(stage, key, &before, &after);
    }
    if let Some(found) = saturated(stage, key, (&before, &after)) {
        return Some(found);
    }
    // What goes because fewer are wanted is counted as the change that it is.
    if wanted(&before, None) != wanted(&after, Some(&before)) {
        return None;
    }
    let sets = sizes(stage, key);
    let was_paused = before.pointer("/spec/paused") == Some(&Value::Bool(true));
    // A rollout scales old sets in only as far as the others are available; a pause asks for no availability, and gives the only one that
    // has Machines what is wanted.
    if let ([total], false) = (sets.as_slice(), was_paused) {
        let is = wanted(&after, Some(&before));
        let why = "more than it wants";
        return (*total > is).then(|| told(stage, key, &after, (*total, total - is), (why, ALTHOUGH)));
    }
    // Under another strategy, and while it was not paused, no number was too many.
    let was = was_paused.then(|| allowed(key, &before)).flatten().unwrap_or(u64::MAX);
    let is = allowed(key, &after)?;
    // One that was never scaled to none has a MachineSet: where none is there, nobody read it.
    if sets.is_empty() && is < was && number(&before, "/spec/replicas") != Some(0) && !has_sets_listed(stage, key) {
        return Some(unread(key, "its rollout is paused and it is allowed fewer Machines at a time"));
    }
    let total: u64 = sets.iter().sum();
    let count = total.saturating_sub(is) - total.saturating_sub(was).min(total.saturating_sub(is));
    // With one set that has Machines, that set gets the wanted number in any case.
    let why = "more than its strategy allows";
    (count > 0 && sets.len() > 1).then(|| told(stage, key, &after, (total, count), (why, ALTHOUGH)))
}

/// What goes because the strategy becomes `OnDelete`: that looks at the number that is wanted alone, and takes the rest from the old sets.
fn turned(stage: &Stage<'_>, key: &Key, before: &Value, after: &Value) -> Option<Lifted> {
    let is_by_hand = |owner: &Value| text(owner, "/spec/rollout/strategy/type") == Some("OnDelete");
    if is_by_hand(before) || !is_by_hand(after) {
        return None;
    }
    // What goes because fewer are wanted is counted as the change that it is.
    let most = wanted(before, None).max(wanted(after, Some(before)));
    let sets = sizes(stage, key);
    if sets.is_empty() && most > 0 && is_unread(stage, key) {
        return Some(unread(key, "its strategy becomes OnDelete"));
    }
    let total: u64 = sets.iter().sum();
    let count = total.saturating_sub(most);
    let (why, though) = ("more than it wants", "whether the new ones are there or not");
    (count > 0).then(|| told(stage, key, after, (total, count), (why, though)))
}

/// What goes where the write makes a set the new one that has all Machines that are wanted: the others are scaled to none.
fn saturated(stage: &Stage<'_>, key: &Key, (before, after): (&Value, &Value)) -> Option<Lifted> {
    let mirror = kind(key).mirror?;
    let sides = Sides { old: before.clone(), new: after.clone() };
    let assessment = Assessment::of(stage, key, mirror, sides);
    let (was, is) = (wanted(before, None), wanted(after, Some(before)));
    let units = || assessment.units.iter().filter(|unit| unit.count > 0);
    let total: u64 = units().map(|unit| unit.count).sum();
    let was_full = units().any(|unit| unit.before.is_empty() && unit.count == was);
    let is_full = units().any(|unit| unit.after.is_empty() && unit.count == is);
    let is_new = is_full && !was_full && was == is && assessment.basis == Basis::Machines && total > is;
    let why = "not of the set that has all that are wanted now";
    is_new.then(|| told(stage, key, after, (total, total - is), (why, ALTHOUGH)))
}

/// Whether a cluster was asked, and not for every MachineSet in the namespace of an owner.
fn is_unread(stage: &Stage<'_>, key: &Key) -> bool {
    matches!(stage.scene.world.coverage, Coverage::Asked(_)) && !has_sets_listed(stage, key)
}

/// Whether every MachineSet in the namespace of an owner was read.
fn has_sets_listed(stage: &Stage<'_>, key: &Key) -> bool {
    let coverage = &stage.scene.world.coverage;
    let list = GroupKind::new(&key.group, MACHINE_SET);
    matches!(coverage, Coverage::Asked(_))
        && key.namespace.as_deref().is_some_and(|namespace| coverage.has_list(&list, namespace))
}

/// How many Machines the MachineSets of a MachineDeployment are to have, those that have any.
fn sizes(stage: &Stage<'_>, key: &Key) -> Vec<u64> {
    let all = Side::before(stage).all(&key.group, MACHINE_SET, key.namespace.as_deref());
    let own = all.into_iter().filter(|(set, value)| controller(set, value).as_ref() == Some(key));
    own.filter_map(|(_, value)| number(&value, "/spec/replicas")).filter(|size| *size > 0).collect()
}

/// How many Machines an owner allows at a time; `None` where nobody knows its strategy.
fn allowed(key: &Key, owner: &Value) -> Option<u64> {
    // Only then they are scaled in proportion.
    if owner.pointer("/spec/rollout/strategy/type").is_some_and(|word| word != "RollingUpdate") {
        return None;
    }
    let wanted = wanted(owner, None);
    let (surge, _) = kind(key).mirror?.room(owner, wanted);
    Some(if wanted == 0 { 0 } else { wanted + surge })
}

/// Where an owner says how many it allows, and whether it is paused.
fn places(key: &Key) -> Places {
    ["rollout", "strategy", "paused", "template"]
        .map(|block| (key.clone(), Some(Path::root().key("spec").key(block))))
        .into()
}

/// What is said where no MachineSet was read.
fn unread(key: &Key, what: &str) -> Lifted {
    Lifted {
        owner: key.clone(),
        effect: Effect::Unknown,
        waits: None,
        rule: RuleId::of("waiting/surplus"),
        because: format!("{what}; its MachineSets were not read, so it is unknown whether some of its Machines go"),
        places: places(key),
        rollouts: Vec::new(),
    }
}

/// What is said beside the Machines that go in a pause.
const ALTHOUGH: &str = "although the rollout is paused";

/// What is said of it.
fn told(
    stage: &Stage<'_>,
    key: &Key,
    owner: &Value,
    (total, count): (u64, u64),
    (why, though): (&str, &str),
) -> Lifted {
    let are = if count == 1 { "is" } else { "are" };
    let says = format!("deletes {} that {are} {why}, {though}", plural(count, "Machine"));
    Lifted {
        owner: key.clone(),
        effect: Effect::Delete,
        waits: None,
        rule: RuleId::of("waiting/surplus"),
        because: format!("half-way through its rollout its MachineSets want {total} Machines, and it {says}"),
        places: places(key),
        rollouts: vec![Rollout {
            replicas: Some(total - count),
            present: Some(total),
            steps: vec![says],
            causes: vec!["spec.rollout.strategy".to_owned()],
            ..Rollout::plain(
                key,
                &stage.cluster_of(key, owner).map_or_else(String::new, |cluster| cluster.name.clone()),
                Effect::Delete,
                Vec::new(),
                count,
            )
        }],
    }
}
