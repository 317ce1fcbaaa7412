//! Whether Metal3 uses the hosts of old Machines again where the templates say so: it reads `nodeReuse` of the template that the old
//! Machine was made from, since 1.13 of the one that its control plane names, and only a rollout that takes the old one first leaves it a host to wait for.

use semver::Version;

use super::{Judged, decision};
use crate::impact::Rollout;
use crate::kinds::contract::INFRASTRUCTURE;
use crate::kinds::fields::annotation;
use crate::kinds::references::references;
use crate::kinds::{Role, Versions};
use crate::model::{Decision, Effect, Reason};
use crate::object::{Inventory, Key, may_be_equal};
use crate::providers::metal3::{MACHINE_TEMPLATE as TEMPLATE, RELEASE as METAL3};
use crate::providers::{kind, kubeadm};
use crate::tree::Value;

/// Where a template says it (CAPM3 `api/v1beta1/metal3machinetemplate_types.go`), beside what Machines are made from.
const AT: &str = "/spec/nodeReuse";

/// Annotation of what Helm never deletes (helm `pkg/kube/resource_policy.go`).
const KEEP: &str = "helm.sh/resource-policy";

/// A warning for each owner whose rollout would not use its hosts again.
pub(super) fn reasons(judged: &Judged<'_>) -> Vec<Reason> {
    let answer = decision(judged.policy.gates.health.hosts).min(Decision::Warn);
    let is_metal =
        || judged.view.of_kind(TEMPLATE).next().is_some() || judged.pairs.iter().any(|pair| pair.key.kind == TEMPLATE);
    if answer == Decision::Allow || !is_metal() {
        return Vec::new();
    }
    let rollouts = judged.classified.rollouts.iter().filter(|rollout| rollout.effect == Effect::Rollout);
    let said = rollouts.filter_map(|rollout| {
        let message = format!("{}: {}", rollout.owner, broken(judged, rollout)?);
        let next = super::health::describe(&rollout.owner);
        Some(Reason::new("health.hosts", answer, message).with_next(next).of(&rollout.owner))
    });
    said.collect()
}

/// Why hosts are not used again (CAPM3 `baremetal/metal3machine_manager.go`, v1.10: the template is looked up by the annotation of the
/// old Metal3Machine, and one that is gone counts as false).
fn broken(judged: &Judged<'_>, rollout: &Rollout) -> Option<String> {
    let owner = super::health::live_owner(judged, &rollout.owner)?;
    let written = judged.written(&rollout.owner).next().and_then(|pair| pair.predicted.as_ref());
    let old = template(&rollout.owner, &owner)?;
    let new = template(&rollout.owner, written.unwrap_or(&owner))?;
    let wants = says(judged, &old) == Some(true) || says(judged, &new) == Some(true);
    let (by_name, of_plane) = (asks_the_new(judged), kind(&rollout.owner).role == Role::ControlPlane);
    let read = if by_name && of_plane { &new } else { &old };
    let goes = is_gone(judged, read);
    match () {
        () if !wants => None,
        () if by_name && of_plane && rollout.owner.kind != kubeadm::CONTROL_PLANE_KIND => Some(format!(
            "since CAPM3 1.13 nodeReuse counts for control planes of kubeadm and for workers alone: the hosts of a {} are not used again",
            rollout.owner.kind
        )),
        () if goes => Some(format!("{old} goes with this write, and its nodeReuse with it: the hosts of old Machines are not used again")),
        () if says(judged, read) != Some(true) => Some(format!(
            "nodeReuse is read from the template {} ({read}), which does not say it: the hosts of old Machines are not used again; set it there \
             first, it may be changed in place",
            if *read == new { "that the control plane names" } else { "of the old Machines" }
        )),
        () if rollout.max_surge.unwrap_or(1) > 0 => Some(
            "nodeReuse is set, and with a surge the first new Machine takes another host before an old one is left: set maxSurge to 0 to \
             use hosts again"
                .to_owned(),
        ),
        () => None,
    }
}

/// Whether the template that a control plane names is asked when an old Machine goes, and not the one that the Machine was made from: since
/// CAPM3 1.13 (`baremetal/metal3machine_manager.go`, getMetal3MachineTemplate), at `spec.machineTemplate.spec.infrastructureRef`, where only
/// those of kubeadm can be read. An older one asks where nobody told the version.
fn asks_the_new(judged: &Judged<'_>) -> bool {
    let told = Versions::of(&judged.world.told_versions());
    told.is_known(METAL3.name) && told.get(METAL3.name) >= Version::new(1, 13, 0)
}

/// Whether a template was written last time, is no longer rendered, and nobody asked to keep it. Where its successor shows its changes,
/// its removal is no pair of its own.
fn is_gone(judged: &Judged<'_>, key: &Key) -> bool {
    let has = |objects: &Inventory| {
        let is_here = |other: &Key| may_be_equal(other.namespace.as_ref(), key.namespace.as_ref());
        let is_it = |other: &Key| (&other.kind, &other.name) == (&key.kind, &key.name) && is_here(other);
        objects.objects().iter().any(|object| is_it(&object.key))
    };
    let is_kept = || {
        let live = super::health::live_owner(judged, key);
        live.is_some_and(|live| annotation(&live, KEEP) == Some("keep"))
    };
    has(&judged.world.base.objects) && !has(judged.rendered) && !is_kept()
}

/// The template of Metal3 that an owner names.
fn template(key: &Key, owner: &Value) -> Option<Key> {
    let reference = references(owner).into_iter().find(|reference| reference.kind == TEMPLATE)?;
    let group = INFRASTRUCTURE.to_owned();
    Some(Key::of(group, TEMPLATE, key.namespace.clone(), reference.name))
}

/// What a template says after the write.
fn says(judged: &Judged<'_>, key: &Key) -> Option<bool> {
    let written = judged.written(key).next().and_then(|pair| pair.predicted.clone());
    let found = written.or_else(|| super::health::live_owner(judged, key))?;
    Some(found.pointer(AT) == Some(&Value::Bool(true)))
}
