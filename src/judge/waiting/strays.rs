//! Machines and MachineSets that a label takes away from their owner: it counts them no more and makes others, and they stay.
//! Read beside `getAndAdoptMachinesForMachineSet` and `getAndAdoptMachineSetsForDeployment` in `core/reconcilers/machine{deployment,set}`,
//! and `reconcileEtcdMembers` in `controlplane/kubeadm/reconcilers/kubeadmcontrolplane` of Cluster API 1.14, which takes the etcd member
//! of such a Machine away.

use super::lifted::Lifted;
use super::machines::{controller, has_labels};
use super::side::Side;
use crate::judge::stage::Stage;
use crate::kinds::Role;
use crate::kinds::contract::{CLUSTER_NAME, CONTROL_PLANE, MACHINE_DEPLOYMENT, MACHINE_SET, OF_CONTROL_PLANE};
use crate::kinds::fields::{self, label};
use crate::model::{Action, Effect, Pair, Rollout, RuleId, plural};
use crate::object::{Key, Path, is_deleting};
use crate::providers::kind;
use crate::tree::Value;

/// What owners make anew because the labels of what they have change.
pub(super) fn lifted(stage: &Stage<'_>) -> Vec<Lifted> {
    let is_relabelled = |pair: &&Pair| {
        let labels = |side: &Option<Value>| side.as_ref().and_then(|value| value.pointer("/metadata/labels")).cloned();
        pair.action == Action::Update
            && matches!(kind(&pair.key).role, Role::Machine | Role::Set)
            && labels(&pair.live) != labels(&pair.predicted)
    };
    stage.pairs.iter().filter(is_relabelled).filter_map(|pair| left(stage, pair)).collect()
}

/// What follows where an owner no longer selects an object.
fn left(stage: &Stage<'_>, pair: &Pair) -> Option<Lifted> {
    let (old, new) = (stage.before(&pair.key)?, stage.after(&pair.key)?);
    let owner = controller(&pair.key, &old).filter(|_| !is_deleting(&old))?;
    let holder = Side::after(stage).get(&owner)?;
    if owner.group == CONTROL_PLANE {
        let told = |side: &Value| [OF_CONTROL_PLANE, CLUSTER_NAME].map(|name| label(side, name).map(str::to_owned));
        let (was, is) = (told(&old), told(&new));
        // What the label of a control plane says is nothing; that it is there counts.
        let is_lost = was[0].is_some() && (is[0].is_none() || is[1] != was[1]);
        return is_lost.then(|| of_control_plane(stage, &pair.key, &owner, &old));
    }
    let selector = holder.pointer("/spec/selector")?;
    let is_left = has_labels(selector, &old) && !has_labels(selector, &new);
    let (count, what) = match owner.kind.as_str() {
        MACHINE_SET => (1, "makes another Machine in its place"),
        MACHINE_DEPLOYMENT => (fields::wanted(&old, None), "makes another MachineSet with Machines of its own"),
        _ => return None,
    };
    let because = format!(
        "it no longer selects {} {} and {what}; {} then without anybody who replaces {}",
        pair.key.kind,
        pair.key.name,
        if count == 1 { "one Machine is".to_owned() } else { format!("{} are", plural(count, "Machine")) },
        if count == 1 { "it" } else { "them" },
    );
    (is_left && count > 0).then(|| told(&pair.key, &owner, Effect::Scale, because, Vec::new()))
}

/// A control plane that loses sight of one of its Machines.
fn of_control_plane(stage: &Stage<'_>, machine: &Key, owner: &Key, old: &Value) -> Lifted {
    let cluster = stage.cluster_of(machine, old).map(|cluster| cluster.name.clone()).unwrap_or_default();
    let because = format!(
        "it no longer counts Machine {} as its own: it makes another one, and takes its member out of etcd as one without a Machine",
        machine.name
    );
    let rollout = Rollout {
        steps: vec!["takes the member of the Machine out of etcd, and makes another Machine".to_owned()],
        causes: vec!["metadata.labels".to_owned()],
        ..Rollout::plain(owner, &cluster, Effect::Rollout, vec![machine.name.clone()], 1)
    };
    told(machine, owner, Effect::Rollout, because, vec![rollout])
}

fn told(object: &Key, owner: &Key, effect: Effect, because: String, rollouts: Vec<Rollout>) -> Lifted {
    Lifted {
        owner: owner.clone(),
        effect,
        waits: None,
        rule: RuleId::of("waiting/left"),
        because,
        places: vec![(object.clone(), Some(Path::root().key("metadata").key("labels")))],
        rollouts,
    }
}
