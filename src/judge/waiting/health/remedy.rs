//! Whether the owner of an unhealthy Machine replaces it: limits of MachineDeployments, the last Machine of a control plane.
//! Read beside `core/reconcilers/machineset/machineset_controller.go` (reconcileUnhealthyMachines) and
//! `controlplane/kubeadm/reconcilers/kubeadmcontrolplane/remediation.go` of Cluster API 1.14, and
//! `controlplane/internal/controllers/remediation.go` of cluster-api-provider-rke2 0.21.

use jiff::{SignedDuration, Timestamp};

use crate::judge::waiting::machines::Found;
use crate::judge::waiting::pause;
use crate::judge::waiting::side::Side;
use crate::kinds::contract::{CONTROL_PLANE, DEPLOYMENT_NAME, MACHINE_DEPLOYMENT, MACHINE_SET};
use crate::kinds::fields;
use crate::kinds::fields::annotation;
use crate::kinds::fields::list;
use crate::kinds::fields::text;
use crate::model::{Hold, Why};
use crate::object::{Key, Path};
use crate::tree::Value;

/// The revision that a MachineDeployment and its newest MachineSet share.
const REVISION: &str = "machinedeployment.clusters.x-k8s.io/revision";

/// What a Machine of a control plane says about the unhealthy one that it was made in place of.
const REMEDIATION_FOR: &str = "controlplane.cluster.x-k8s.io/remediation-for";

/// Seconds after which a Machine counts as healthy where nothing is said (`DefaultMinHealthyPeriodSeconds`).
const HEALTHY_FOR: u64 = 3600;

/// What the owners of some Machines do about unhealthy ones.
pub(super) struct Remedy<'f> {
    side: Side<'f>,
    machines: &'f [Found],
}

impl<'f> Remedy<'f> {
    /// The owners of the Machines of a cluster.
    pub(super) const fn of(side: Side<'f>, machines: &'f [Found]) -> Self {
        Self { side, machines }
    }

    /// What keeps an owner from replacing an unhealthy Machine.
    pub(super) fn holds(&self, machine: &Found, owner: &Key) -> Vec<Hold> {
        let Some(value) = self.side.get(owner) else { return Vec::new() };
        let mut out = pause::of_object(self.side, owner, &value, None);
        if owner.group == CONTROL_PLANE {
            out.extend(self.last_one(owner));
            out.extend(self.tried_enough(machine, owner, &value));
        } else {
            out.extend(self.old_revision(machine, owner));
            out.extend(self.in_flight(owner, &value));
        }
        out
    }

    /// A control plane of one Machine is not replaced: it would lose its etcd.
    fn last_one(&self, owner: &Key) -> Option<Hold> {
        let count = self.machines.iter().filter(|found| found.owner.as_ref() == Some(owner)).count();
        (count <= 1).then(|| Hold {
            why: Why::LastOne,
            places: vec![(owner.clone(), Some(Path::root().key("spec").key("replicas")))],
            says: format!("{owner} has one Machine, and does not replace the last one"),
            over: "it has more than one".to_owned(),
        })
    }

    /// A Machine that was made in place of an unhealthy one, and that is unhealthy itself, is replaced so many times and no more
    /// (`remediation.go` checkRetryLimits).
    fn tried_enough(&self, machine: &Found, owner: &Key, value: &Value) -> Option<Hold> {
        let last: Value = serde_json::from_str(annotation(&machine.value, REMEDIATION_FOR)?).ok()?;
        let tried = last.get("retryCount").and_then(Value::as_u64).unwrap_or(0);
        let limit = fields::number(value, "/spec/remediation/maxRetry").filter(|limit| tried >= *limit)?;
        let healthy = fields::number(value, "/spec/remediation/minHealthyPeriodSeconds").unwrap_or(HEALTHY_FOR);
        let at = text(&last, "/timestamp")?.parse::<Timestamp>().ok()?;
        let is_over = at.checked_add(SignedDuration::from_secs(healthy.try_into().ok()?)).is_ok_and(|end| {
            // After so long it counts as having been healthy, and the tries are counted anew.
            end < self.side.stage.scene.world.now
        });
        (!is_over).then(|| Hold {
            why: Why::InFlight,
            places: vec![(owner.clone(), Some(Path::root().key("spec").key("remediation").key("maxRetry")))],
            says: format!("{owner} tries {limit} times to replace an unhealthy Machine, and has done so"),
            over: "it may try more often".to_owned(),
        })
    }

    /// Machines of an old MachineSet are left to the rollout. A MachineSet is of the MachineDeployment that its label names, and old where
    /// that says another revision, or none; one that a write takes away comes back before anything else is looked at.
    fn old_revision(&self, machine: &Found, owner: &Key) -> Option<Hold> {
        let set =
            machine.set.as_ref().or((owner.kind == MACHINE_SET).then_some(owner)).and_then(|set| self.side.get(set))?;
        let name = fields::label(&set, DEPLOYMENT_NAME);
        let deployment = match name.filter(|_| owner.kind != MACHINE_DEPLOYMENT) {
            Some(name) => Key { kind: MACHINE_DEPLOYMENT.to_owned(), name: name.to_owned(), ..owner.clone() },
            None => owner.clone(),
        };
        let revision = annotation(&set, REVISION)?;
        let is_old = match annotation(&*self.side.get(&deployment)?, REVISION) {
            Some(own) => own != revision,
            None => !self.side.is_after(),
        };
        is_old.then(|| Hold {
            why: Why::OldRevision,
            places: vec![(deployment, Some(pause::annotation_path(REVISION)))],
            says: "it belongs to an old MachineSet, which the rollout replaces".to_owned(),
            over: "the rollout goes on".to_owned(),
        })
    }

    /// The limit of Machines that a MachineDeployment replaces at a time for their health.
    fn in_flight(&self, owner: &Key, value: &Value) -> Option<Hold> {
        let limit = value.pointer("/spec/remediation/maxInFlight").filter(|limit| !limit.is_null())?;
        let limit = fields::scaled(limit, fields::wanted(value, None), true)?;
        let is_flying = |found: &&Found| {
            found.owner.as_ref() == Some(owner)
                && found.is_deleting()
                && list(&found.value, "/status/conditions").any(|condition| {
                    text(condition, "/type") == Some("OwnerRemediated") && text(condition, "/status") == Some("False")
                })
        };
        let flying = self.machines.iter().filter(is_flying).count() as u64;
        (flying >= limit).then(|| Hold {
            why: Why::InFlight,
            places: vec![(owner.clone(), Some(Path::root().key("spec").key("remediation").key("maxInFlight")))],
            says: format!("{owner} replaces at most {limit} unhealthy Machines at a time, and {flying} are under way"),
            over: "one of them is done or the limit is raised".to_owned(),
        })
    }
}
