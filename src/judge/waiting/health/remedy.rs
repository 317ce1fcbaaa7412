//! Whether the owner of an unhealthy Machine replaces it: limits of MachineDeployments, the last Machine of a control plane.
//! Read beside `core/reconcilers/machineset/machineset_controller.go` (reconcileUnhealthyMachines) and
//! `controlplane/kubeadm/reconcilers/kubeadmcontrolplane/remediation.go` of Cluster API 1.14, and
//! `controlplane/internal/controllers/remediation.go` of cluster-api-provider-rke2 0.21.

use jiff::{SignedDuration, Timestamp};

use super::check::{MARK, condition};
use crate::judge::waiting::machines::KnownMachine;
use crate::judge::waiting::pause;
use crate::judge::waiting::preflight;
use crate::judge::waiting::side::Side;
use crate::judge::waiting::touched::differs;
use crate::kinds::contract::{CONTROL_PLANE, DEPLOYMENT_NAME, MACHINE_DEPLOYMENT, MACHINE_SET};
use crate::kinds::fields;
use crate::kinds::fields::annotation;
use crate::kinds::fields::list;
use crate::kinds::fields::text;
use crate::model::{Hold, Pair, Why};
use crate::object::{Key, Path};
use crate::providers::core::machine_deployment;
use crate::tree::Value;

/// The revision that a MachineDeployment and its newest MachineSet share.
const REVISION: &str = "machinedeployment.clusters.x-k8s.io/revision";

/// What a Machine of a control plane says about the unhealthy one that it was made in place of.
const REMEDIATION_FOR: &str = "controlplane.cluster.x-k8s.io/remediation-for";

/// Seconds after which a Machine counts as healthy where nothing is said (`DefaultMinHealthyPeriodSeconds`).
const HEALTHY_FOR: u64 = 3600;

/// What the owners of the Machines of a cluster do about unhealthy ones.
pub(super) struct Remedy<'f> {
    side: Side<'f>,
    cluster: &'f Key,
    machines: &'f [KnownMachine],
}

impl<'f> Remedy<'f> {
    /// The owners of the Machines of a cluster.
    pub(super) const fn of(side: Side<'f>, cluster: &'f Key, machines: &'f [KnownMachine]) -> Self {
        Self { side, cluster, machines }
    }

    /// What keeps an owner from replacing an unhealthy Machine.
    pub(super) fn holds(&self, machine: &KnownMachine, owner: &Key) -> Vec<Hold> {
        let Some(value) = self.side.get(owner) else { return Vec::new() };
        let mut out = self.pauses(machine, owner, &value);
        if owner.group == CONTROL_PLANE {
            out.extend(self.last_one(owner, &value));
            out.extend(self.tried(machine, owner, &value));
        } else {
            out.extend(self.old_revision(machine, owner));
            out.extend(self.in_flight(owner, &value));
            out.extend(preflight::fails(self.side, owner, &value, Some(self.cluster)));
        }
        out
    }

    /// Who deletes an unhealthy worker is its MachineSet, which looks at its own pause and not at that of its MachineDeployment.
    fn pauses(&self, machine: &KnownMachine, owner: &Key, value: &Value) -> Vec<Hold> {
        let of = |key: &Key, value: &Value| pause::of_object(self.side, key, value, Some(self.cluster));
        match machine.set.as_ref().and_then(|set| Some((set, self.side.get(set)?))) {
            Some((set, value)) => of(set, &value),
            None => of(owner, value),
        }
    }

    /// A control plane of one Machine is not replaced, as it would lose its etcd: one that is not initialized has none. One that
    /// grows is larger soon.
    fn last_one(&self, owner: &Key, value: &Value) -> Option<Hold> {
        let there = self.machines.iter().filter(|found| found.owner.as_ref() == Some(owner)).count() as u64;
        let wanted = if self.side.is_after() { fields::wanted(value, None) } else { 0 };
        (there.max(wanted) <= 1 && !is_starting(value)).then(|| Hold {
            why: Why::LastOne,
            places: vec![(owner.clone(), Some(Path::root().key("spec").key("replicas")))],
            says: format!("{owner} has one Machine, and does not replace the last one"),
            over: "it has more than one".to_owned(),
        })
    }

    /// When an owner tries again to replace a Machine that it made in place of an unhealthy one, where that is still to come.
    pub(super) fn again(&self, machine: &KnownMachine, owner: &Key) -> Option<Timestamp> {
        let value = self.side.get(owner).filter(|_| owner.group == CONTROL_PLANE)?;
        Some(self.period(machine, &value)?.end)
    }

    /// What a control plane noted of the last try, as long as this one goes on: after a while the Machine counts as having been healthy,
    /// and tries are counted anew (`remediation.go` checkRetryLimits).
    fn last_try(&self, machine: &KnownMachine, value: &Value) -> Option<Value> {
        let last: Value = serde_json::from_str(annotation(&machine.value, REMEDIATION_FOR)?).ok()?;
        let healthy = fields::remediation_period(value, "minHealthyPeriod").map_or(HEALTHY_FOR, |(_, seconds)| seconds);
        let end = after(text(&last, "/timestamp")?, healthy);
        end.is_none_or(|end| end > self.side.stage.scene.world.now).then_some(last)
    }

    /// The time between tries, where it is not over.
    fn period(&self, machine: &KnownMachine, value: &Value) -> Option<Period> {
        let last = self.last_try(machine, value)?;
        let (block, seconds) = fields::remediation_period(value, "retryPeriod")?;
        let end = after(text(&last, "/timestamp")?, seconds)?;
        (end > self.side.stage.scene.world.now).then_some(Period { block, seconds, end })
    }

    /// A Machine that was made in place of an unhealthy one, and that is unhealthy itself, is replaced after a while, and so many times
    /// and no more.
    fn tried(&self, machine: &KnownMachine, owner: &Key, value: &Value) -> Option<Hold> {
        let last = self.last_try(machine, value)?;
        let place =
            |block: &str, field: &str| vec![(owner.clone(), Some(Path::root().key("spec").key(block).key(field)))];
        if let Some(Period { block, seconds, .. }) = self.period(machine, value) {
            let field = if block == "remediation" { "retryPeriodSeconds" } else { "retryPeriod" };
            return Some(Hold {
                why: Why::InFlight,
                places: place(block, field),
                says: format!("{owner} waits {seconds} seconds before it replaces an unhealthy Machine again"),
                over: "they are over".to_owned(),
            });
        }
        let tries = last.get("retryCount").and_then(Value::as_u64).unwrap_or(0);
        let (block, limit) = fields::remediation(value, "maxRetry").filter(|(_, limit)| tries >= *limit)?;
        Some(Hold {
            why: Why::InFlight,
            places: place(block, "maxRetry"),
            says: format!("{owner} tries {limit} times to replace an unhealthy Machine, and has done so"),
            over: "it may try more often".to_owned(),
        })
    }

    /// Machines of an old MachineSet are left to the rollout. A MachineSet is of the MachineDeployment that its label names, and old where
    /// that says another revision, or none; one that a write takes away comes back before anything else is looked at.
    fn old_revision(&self, machine: &KnownMachine, owner: &Key) -> Option<Hold> {
        let set =
            machine.set.as_ref().or((owner.kind == MACHINE_SET).then_some(owner)).and_then(|set| self.side.get(set))?;
        let name = fields::label(&set, DEPLOYMENT_NAME);
        let deployment = match name.filter(|_| owner.kind != MACHINE_DEPLOYMENT) {
            Some(name) => owner.sibling(MACHINE_DEPLOYMENT, name),
            None => owner.clone(),
        };
        let revision = annotation(&set, REVISION)?;
        let is_old = self.turns_old(&deployment, machine.set.as_ref()).unwrap_or_else(|| {
            let owner = self.side.get(&deployment);
            match owner.as_deref().and_then(|owner| annotation(owner, REVISION)) {
                Some(own) => own != revision,
                None => owner.is_some() && !self.side.is_after(),
            }
        });
        is_old.then(|| Hold {
            why: Why::OldRevision,
            places: vec![(deployment, Some(pause::annotation_path(REVISION)))],
            says: "it belongs to an old MachineSet, which the rollout replaces".to_owned(),
            over: "the rollout goes on".to_owned(),
        })
    }

    /// Whether a MachineSet is old once another template is written: the one that then matches gets the revision of its MachineDeployment
    /// (`mdutil/util.go` ComputeRevisionAnnotations). `None` where the write says nothing about that.
    fn turns_old(&self, deployment: &Key, set: Option<&Key>) -> Option<bool> {
        let stage = self.side.stage;
        let is_told = |pair: &Pair| ["/spec/template/spec", "/spec/rollout"].iter().any(|place| differs(pair, place));
        stage.pair(deployment).filter(|pair| self.side.is_after() && is_told(pair))?;
        let sets = machine_deployment::sets(stage.scene.view, deployment, &stage.versions);
        let owner = self.side.get(deployment)?;
        let causes = machine_deployment::outdated(&sets, &owner, &stage.versions, stage.scene.world.now);
        let (_, causes) = sets.iter().zip(causes).find(|(known, _)| set.is_some_and(|set| set.name == known.name))?;
        Some(!causes.is_empty())
    }

    /// The limit of Machines that a MachineDeployment replaces at a time for their health.
    fn in_flight(&self, owner: &Key, value: &Value) -> Option<Hold> {
        let limit = value.pointer("/spec/remediation/maxInFlight").filter(|limit| !limit.is_null())?;
        let limit = fields::scaled(limit, fields::wanted(value, None), true)?;
        let is_flying = |found: &&KnownMachine| {
            found.owner.as_ref() == Some(owner)
                && found.is_deleting()
                && list(&found.value, "/status/conditions").any(|condition| {
                    text(condition, "/type") == Some(MARK) && text(condition, "/status") == Some("False")
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

/// The time that a control plane lets go by between two tries.
struct Period {
    /// The block that says it.
    block: &'static str,
    seconds: u64,
    end: Timestamp,
}

/// So many seconds after a time; `None` where it is none, or further away than times go.
fn after(time: &str, seconds: u64) -> Option<Timestamp> {
    time.parse::<Timestamp>().ok()?.checked_add(SignedDuration::from_secs(seconds.try_into().ok()?)).ok()
}

/// Whether a control plane says that it never came up: then its last Machine is replaced like any other.
fn is_starting(owner: &Value) -> bool {
    let says_no = |pointer: &str| owner.pointer(pointer) == Some(&Value::Bool(false));
    says_no("/status/initialization/controlPlaneInitialized")
        || says_no("/status/initialized")
        || condition(owner, "Initialized").is_some_and(|found| found.status == "False")
}
