//! What the deletion of an owner of Machines does: they go with it, and those of a Cluster all at once.

use super::{Deletion, plain};
use crate::judge::stage::Stage;
use crate::kinds::{Role, Typed, fields};
use crate::model::{Effect, Rollout, RuleId};
use crate::object::Key;
use crate::providers::{machines, typed};
use crate::tree::Value;

/// An owner goes, with its Machines.
pub(super) fn judge(stage: &Stage<'_>, key: &Typed<'_>, old: &Value, rule: RuleId) -> Deletion {
    let rollout = destroyed(stage, key, old);
    let is_unseen = rollout.machines.is_none();
    let count = rollout.machines.unwrap_or(0);
    let theirs = match (key.known.role, count) {
        _ if is_unseen => {
            "nobody said how many Machines an autoscaler has given it; all of them are deleted with it and not replaced"
                .to_owned()
        }
        (Role::Machine, _) => "the host or server behind it is given back with it".to_owned(),
        (_, 0) => "it has no Machines".to_owned(),
        (_, 1) => "its Machine is deleted with it and not replaced".to_owned(),
        (_, count) => format!("its {count} Machines are deleted with it and not replaced"),
    };
    let because = format!("{key} is removed, and {theirs}");
    let is_empty = matches!(key.known.role, Role::Set | Role::Deployment) && count == 0 && !is_unseen;
    if is_empty {
        return plain(Effect::None, rule, &because);
    }
    let effect = Effect::Delete;
    Deletion { effect, waits: None, rule, because, rollouts: vec![rollout], findings: Vec::new() }
}

/// The entry of an owner whose Machines are destroyed.
fn destroyed(stage: &Stage<'_>, key: &Typed<'_>, old: &Value) -> Rollout {
    let cluster = stage.cluster_of(key, old).map(|cluster| cluster.name.clone()).unwrap_or_default();
    let names = machines::names(stage.scene.view, key, &cluster, &stage.versions);
    let counted = fields::number(old, "/status/replicas").unwrap_or(0);
    let told = if key.known.role == Role::Machine { 1 } else { fields::wanted(old, None).max(counted) };
    // An old render says between which bounds an autoscaler chooses, and not what it has chosen.
    let is_unseen =
        stage.is_of_renders() && fields::is_autoscaled(old) && fields::number(old, "/spec/replicas").is_none();
    let machines = match u64::try_from(names.len()) {
        Ok(count) if count > 0 => Some(count),
        _ => (!is_unseen).then_some(told),
    };
    Rollout {
        owner: Key::clone(key),
        cluster,
        effect: Effect::Delete,
        replicas: Some(0),
        present: None,
        machines,
        machine_names: names,
        max_surge: None,
        max_unavailable: None,
        steps: vec![match machines {
            None => "drains and deletes all Machines at once; nothing replaces them".to_owned(),
            Some(1) => "drains and deletes the Machine; nothing replaces it".to_owned(),
            Some(count) => format!("drains and deletes all {count} Machines at once; nothing replaces them"),
        }],
        course: None,
        causes: vec![format!("{key} is removed")],
    }
}

/// A Cluster goes, with everything in it.
pub(super) fn of_cluster(stage: &Stage<'_>, key: &Typed<'_>) -> Deletion {
    let mut rollouts = Vec::new();
    for owner in stage.owners_of(key).into_iter().filter(|owner| owner.namespace == key.namespace) {
        let live = stage.scene.view.get(owner).object().and_then(|object| machines::read(object, &stage.versions));
        rollouts.extend(live.map(|value| destroyed(stage, &typed(owner), &value)));
    }
    let count: u64 = rollouts.iter().filter_map(|rollout| rollout.machines).sum();
    if rollouts.is_empty() {
        rollouts.push(Rollout { machines: None, replicas: None, ..destroyed(stage, key, &Value::Null) });
    }
    let machines = match count {
        0 => "all Machines that it may have".to_owned(),
        1 => "its 1 known Machine".to_owned(),
        _ => format!("its {count} known Machines"),
    };
    let because = format!("the whole cluster is deleted, with its infrastructure and {machines}");
    Deletion {
        effect: Effect::Delete,
        waits: None,
        rule: RuleId::of("delete/cluster"),
        because,
        rollouts,
        findings: Vec::new(),
    }
}
