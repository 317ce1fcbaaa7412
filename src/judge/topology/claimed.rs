//! Workers that a write hands to a topology by their labels, or takes from it: the topology controller deletes those of a group that the
//! Cluster does not have, makes those anew that it no longer knows, and fails at two of one group or at one without a name.
//! Read beside `core/reconcilers/topology/cluster/current_state.go` (getCurrentMachineDeploymentState, getCurrentMachinePoolState) and
//! `reconcile_state.go` (reconcileMachineDeployments) of Cluster API 1.14.

use super::values::list;
use crate::judge::stage::Stage;
use crate::judge::waiting::Lifted;
use crate::kinds::Role;
use crate::kinds::contract::{MACHINE_DEPLOYMENT, MACHINE_POOL, TOPOLOGY_DEPLOYMENT, TOPOLOGY_OWNED, TOPOLOGY_POOL};
use crate::kinds::fields::{cluster_name, label, number, text, wanted};
use crate::model::{Action, Effect, Pair, Rollout, RuleId, plural};
use crate::object::{Key, Path, is_deleting};
use crate::providers::{kind, machines, typed};
use crate::tree::Value;

/// What becomes of the workers that a write hands to the topology of a Cluster, or takes from it.
pub(super) fn lifted(stage: &Stage<'_>, key: &Key, cluster: &Value) -> Vec<Lifted> {
    let is_its_own = |pair: &&Pair| {
        pair.action == Action::Update
            && pair.key.namespace == key.namespace
            && pair.predicted.as_ref().and_then(cluster_name) == Some(key.name.as_str())
    };
    let workers = [MACHINE_DEPLOYMENT, MACHINE_POOL].into_iter().flat_map(|kind| stage.pairs_of_kind(kind));
    workers.filter(is_its_own).filter_map(|pair| claimed(stage, key, cluster, &pair.key)).collect()
}

/// What a write lets go, kept back because the topology controller does nothing for the Cluster now.
pub(super) fn held(lifted: Lifted) -> Lifted {
    let because =
        format!("{}; this waits, as the topology controller does nothing for the Cluster now", lifted.because);
    Lifted { effect: Effect::Latent, waits: Some(lifted.effect), because, rollouts: Vec::new(), ..lifted }
}

/// What becomes of one owner; `None` where it stays what it is to the topology.
fn claimed(stage: &Stage<'_>, key: &Key, cluster: &Value, owner: &Key) -> Option<Lifted> {
    let (lists, own) = match kind(owner).role {
        Role::Deployment => ("machineDeployments", TOPOLOGY_DEPLOYMENT),
        Role::Pool => ("machinePools", TOPOLOGY_POOL),
        _ => return None,
    };
    let (old, new) = (stage.before(owner)?, stage.after(owner)?);
    let group =
        |side: &Value| label(side, TOPOLOGY_OWNED).is_some().then(|| label(side, own).unwrap_or_default().to_owned());
    let (was, is) = (group(&old), group(&new));
    if was == is || is_deleting(&new) {
        return None;
    }
    let has = |name: &str| {
        list(cluster, &format!("/spec/topology/workers/{lists}")).any(|group| text(group, "/name") == Some(name))
    };
    let lift = |effect, because, rollouts| Lifted {
        owner: owner.clone(),
        effect,
        waits: None,
        rule: RuleId::of("waiting/topology"),
        because,
        places: vec![(owner.clone(), Some(Path::root().key("metadata").key("labels")))],
        rollouts,
    };
    let Some(name) = is else {
        let name = was.filter(|name| has(name))?;
        let count = wanted(&old, None);
        let because = format!(
            "it no longer belongs to the topology of {key}, which makes its group {name} again, with {}; this one no longer follows the \
             topology",
            plural(count, "Machine")
        );
        return Some(lift(Effect::Scale, because, Vec::new()));
    };
    let of_group = stage.owners_by_group(key).get(&(owner.kind.clone(), name.clone())).cloned();
    let other =
        of_group.filter(|other| other != owner && stage.after(other).is_some_and(|other| group(&other).is_some()));
    if name.is_empty() {
        let because = format!(
            "it belongs to the topology of {key} without the label {own}, so the topology controller fails and does nothing for \
             the cluster; set the label"
        );
        return Some(lift(Effect::Unknown, because, Vec::new()));
    }
    if let Some(other) = other {
        let because = format!(
            "it says that it is the group {name} of {key}, as {} does, so the topology controller fails and does nothing for the \
             cluster; only one of them may have the label",
            other.name
        );
        return Some(lift(Effect::Unknown, because, Vec::new()));
    }
    if has(&name) {
        let because = format!("the topology of {key} adopts it as its group {name} and writes over its spec");
        return Some(lift(Effect::Unknown, because, Vec::new()));
    }
    let names = machines::names(stage.scene.view, &typed(owner), &key.name, &stage.versions);
    let counted = u64::try_from(names.len()).ok().filter(|count| *count > 0);
    let count = counted.or_else(|| number(&old, "/spec/replicas")).unwrap_or(1);
    let because = format!(
        "it belongs to the topology of {key} now, which has no group {name}, and the topology controller deletes it"
    );
    let rollout = Rollout {
        replicas: Some(0),
        steps: vec![format!("drains and deletes {}, without replacement", plural(count, "Machine"))],
        causes: vec!["metadata.labels".to_owned()],
        ..Rollout::plain(owner, &key.name, Effect::Delete, names, count)
    };
    Some(lift(Effect::Delete, because, vec![rollout]))
}
