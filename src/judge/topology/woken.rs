//! What makes the topology controller look at a Cluster: a write to it, to its class, or to what it made of both.
//! Read beside `core/reconcilers/topology/cluster/cluster_controller.go` (SetupWithManager, setupDynamicWatches,
//! machineDeploymentChangeIsRelevant) of Cluster API 1.14: it watches neither templates nor Machines nor health checks.

use crate::judge::stage::Stage;
use crate::kinds::Role;
use crate::kinds::contract::TOPOLOGY_OWNED;
use crate::kinds::fields::{label, target};
use crate::model::{Action, Pair};
use crate::object::Key;
use crate::providers::kind;
use crate::tree::Value;

/// The object whose write makes it look at a Cluster, and what a person calls that object; `None` where nothing that it watches changes.
pub(super) fn by(stage: &Stage<'_>, key: &Key, cluster: &Value, class: Option<&Key>) -> Option<(Key, String)> {
    let is_changed = |key: &&Key| stage.pair(key).is_some_and(is_change);
    if is_changed(&key) {
        return Some((key.clone(), "the Cluster".to_owned()));
    }
    if let Some(class) = class.filter(is_changed) {
        return Some((class.clone(), "its class".to_owned()));
    }
    let infrastructure =
        cluster.pointer("/spec/infrastructureRef").and_then(|reference| target(reference, key.namespace.as_deref()));
    let made = stage.owners_of(key).into_iter().cloned().chain(infrastructure);
    let made = made.filter(|made| stage.pair(made).is_some_and(is_of_topology)).min()?;
    let name = made.to_string();
    Some((made, name))
}

/// Whether a pair changes something that the topology controller made and watches.
pub(crate) fn is_of_topology(pair: &Pair) -> bool {
    let is_watched =
        matches!(kind(&pair.key).role, Role::ControlPlane | Role::Deployment | Role::Pool | Role::InfraCluster);
    is_watched && is_change(pair) && pair.predicted.as_ref().is_some_and(|value| label(value, TOPOLOGY_OWNED).is_some())
}

/// Whether a pair changes an object that is there.
fn is_change(pair: &Pair) -> bool {
    pair.action == Action::Update && !pair.changes.is_empty()
}
