//! The address of a cluster's control plane, once it is known: a write that takes it away makes the cluster unreachable.
//! `helm upgrade --force` and `kubectl replace` do that to what a controller filled in. Read beside
//! `core/reconcilers/cluster/cluster_controller_phases.go` (reconcileInfrastructure) of Cluster API 1.14: a Cluster without an
//! address takes that of its infrastructure again, and an infrastructure without one is given another.

use super::lifted::Lifted;
use super::side::Side;
use crate::judge::stage::Stage;
use crate::kinds::Role;
use crate::kinds::fields::target;
use crate::kinds::fields::text;
use crate::model::RuleId;
use crate::model::{Action, Effect};
use crate::object::{Key, Path};
use crate::providers::kind;
use crate::tree::Value;

/// Where the address stands.
const AT: &str = "/spec/controlPlaneEndpoint/host";

/// What a write does that takes an address away.
pub(super) fn lost(stage: &Stage<'_>) -> Vec<Lifted> {
    let mut out = Vec::new();
    for pair in stage.pairs.iter().filter(|pair| {
        pair.action == Action::Update && matches!(kind(&pair.key).role, Role::Cluster | Role::InfraCluster)
    }) {
        let key = &pair.key;
        let (Some(old), Some(new)) = (stage.before(key), stage.after(key)) else { continue };
        let Some(host) = text(&old, AT).filter(|_| text(&new, AT).is_none()) else { continue };
        let (effect, why) = if kind(key).role == Role::Cluster {
            of_cluster(stage, key, &new, host)
        } else if kind(key).role == Role::InfraCluster {
            let why = "its provider then sets another one that no running Node knows, so the cluster cannot be reached";
            (Effect::Unknown, why.to_owned())
        } else {
            continue;
        };
        out.push(Lifted {
            owner: key.clone(),
            effect,
            waits: None,
            rule: RuleId::of("cluster/endpoint-lost"),
            because: format!(
                "the write removes the control plane address {host}, which a controller had filled in; {why}"
            ),
            places: vec![(key.clone(), Some(Path::root().key("spec").key("controlPlaneEndpoint")))],
            rollouts: Vec::new(),
        });
    }
    out
}

/// A Cluster without an address takes that of its infrastructure, where that still has one.
fn of_cluster(stage: &Stage<'_>, key: &Key, new: &Value, host: &str) -> (Effect, String) {
    let after = Side::after(stage);
    let infra = new.pointer("/spec/infrastructureRef").and_then(|infra| target(infra, key.namespace.as_deref()));
    let kept = infra.as_ref().and_then(|infra| after.get(infra)).and_then(|infra| text(&infra, AT).map(str::to_owned));
    match (kept, infra) {
        (Some(kept), Some(infra)) if kept == host => (
            Effect::InPlace,
            format!("it is taken from {infra} again, and until then nothing of the control plane is reconciled"),
        ),
        (Some(kept), Some(infra)) => {
            (Effect::Unknown, format!("{infra} has another one, {kept}, which the certificates may not name"))
        }
        _ => (
            Effect::Unknown,
            "nothing of the control plane is reconciled without it, and another one may come".to_owned(),
        ),
    }
}
