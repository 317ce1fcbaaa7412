//! Whether the owner is done with what it was told before: a control plane that was never complete, a rollout under way, a
//! change that its controller has not seen. Asked only where Machines would be replaced.

use std::collections::BTreeSet;

use super::health::{describe, live_owner, remedy};
use super::{Judged, decision};
use crate::impact::Rollout;
use crate::kinds::Role;
use crate::kinds::contract::CONTROL_PLANE;
use crate::kinds::fields::{is_in, number, text, up_to_date};
use crate::model::{Decision, Effect, Reason};
use crate::object::Key;
use crate::providers::kind;
use crate::tree::Value;

/// The reasons of every rollout, by owner.
pub(super) fn reasons(judged: &Judged<'_>) -> Vec<Reason> {
    let rollouts = judged.classified.rollouts.iter().filter(|rollout| rollout.effect == Effect::Rollout);
    let (mut asked, mut told) = (BTreeSet::new(), BTreeSet::new());
    let mut found = Vec::new();
    for rollout in rollouts {
        if asked.insert(plane_of(rollout)) {
            found.extend(bootstrap(judged, rollout, &mut told));
        }
        found.extend(under_way(judged, rollout));
    }
    found
}

/// Which control plane a rollout is about: the owner itself, or that of its cluster.
fn plane_of(rollout: &Rollout) -> (Option<&Key>, Option<&str>, &str) {
    let own = (rollout.owner.group == CONTROL_PLANE).then_some(&rollout.owner);
    (own, rollout.owner.namespace.as_deref(), &rollout.cluster)
}

/// The control plane of a cluster was never complete; said once a cluster.
fn bootstrap(judged: &Judged<'_>, rollout: &Rollout, told: &mut BTreeSet<Key>) -> Option<Reason> {
    let answer = decision(judged.policy.gates.health.bootstrap);
    let (key, owner) = control_plane(judged, rollout)?;
    if answer == Decision::Allow || is_initialized(&owner)? || !told.insert(key.clone()) {
        return None;
    }
    let message = format!("{key}: the control plane is still being made; a rollout now would take Machines from it");
    let reason = Reason::new("health.bootstrap", answer, message).with_remedy(remedy("bootstrap", answer));
    Some(reason.with_next(describe(&key)).of(&key))
}

/// The control plane of the cluster that an owner of Machines belongs to, as it is live.
pub(super) fn control_plane(judged: &Judged<'_>, rollout: &Rollout) -> Option<(Key, Value)> {
    if rollout.owner.group == CONTROL_PLANE {
        return Some((rollout.owner.clone(), live_owner(judged, &rollout.owner)?));
    }
    let namespace = rollout.owner.namespace.as_deref();
    let clusters = judged.view.named(&rollout.cluster);
    let cluster = clusters.filter(|object| kind(&object.key).role == Role::Cluster && is_in(object, namespace));
    let cluster = cluster.filter_map(|object| object.value().ok()).next()?;
    let (kind, name) = (text(&cluster, "/spec/controlPlaneRef/kind")?, text(&cluster, "/spec/controlPlaneRef/name")?);
    let mut owners = judged.view.of_kind(kind);
    let owner = owners
        .find(|object| object.key.name == name && is_in(object, namespace) && object.key.group == CONTROL_PLANE)?;
    Some((owner.key.clone(), owner.value().ok()?.into_owned()))
}

/// Whether a control plane was complete once; `None` where its status says nothing about it (Cluster API contract of control
/// planes, `status.initialization.controlPlaneInitialized` from v1beta2 on, `status.initialized` before).
fn is_initialized(owner: &Value) -> Option<bool> {
    let status = owner.get("status").filter(|status| status.as_object().is_some_and(|status| !status.is_empty()))?;
    let told = ["/initialization/controlPlaneInitialized", "/initialized"].map(|pointer| status.pointer(pointer));
    if told.contains(&Some(&Value::Bool(true))) {
        return Some(true);
    }
    // A Machine that is ready was not made without it, whatever an older provider leaves out.
    let is_ready = number(status, "/readyReplicas").is_some_and(|ready| ready > 0);
    let says_anything = told.iter().any(Option::is_some) || number(status, "/replicas").is_some();
    says_anything.then_some(is_ready)
}

/// A rollout, a scaling or an update that is not over yet.
fn under_way(judged: &Judged<'_>, rollout: &Rollout) -> Option<Reason> {
    let answer = decision(judged.policy.gates.health.in_progress);
    let owner = live_owner(judged, &rollout.owner).filter(|_| answer != Decision::Allow)?;
    let what = unseen(&owner).or_else(|| half_done(&owner))?;
    let message = format!("{}: {what}; another rollout on top of it starts before it is over", rollout.owner);
    let reason = Reason::new("health.inProgress", answer, message).with_remedy(remedy("inProgress", answer));
    Some(reason.with_next(describe(&rollout.owner)).of(&rollout.owner))
}

/// The last change was not looked at yet.
fn unseen(owner: &Value) -> Option<String> {
    let (wanted, seen) = (number(owner, "/metadata/generation")?, number(owner, "/status/observedGeneration")?);
    (seen < wanted).then(|| format!("its controller has not seen the last change yet (generation {seen} of {wanted})"))
}

/// Fewer Machines are up to date than there are, or more or fewer are there than are wanted.
fn half_done(owner: &Value) -> Option<String> {
    let there = number(owner, "/status/replicas").filter(|there| *there > 0)?;
    if let Some(current) = up_to_date(owner).filter(|current| *current < there) {
        return Some(format!("a rollout is under way ({current} of {there} Machines are up to date)"));
    }
    let wanted = number(owner, "/spec/replicas")?;
    (there != wanted).then(|| format!("it is being scaled ({there} Machines are there, {wanted} are wanted)"))
}
