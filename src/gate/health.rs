//! Whether the cluster is fit for a rollout now: remediation under way, Machines that are not ok.
//! Asked only where Machines would be replaced and Machines could be read.

use std::collections::{HashMap, HashSet};

use super::{Judged, decision, etcd};
use crate::impact::Rollout;
use crate::kinds::contract::{CONTROL_PLANE, MACHINE_DEPLOYMENT, MACHINE_SET, OF_CONTROL_PLANE};
use crate::kinds::fields::{annotation, controller, label, number};
use crate::kinds::standing::{ailment, condition};
use crate::model::{Decision, Effect, Reason, quoted};
use crate::object::Key;
use crate::report::plural;
use crate::tree::Value;

/// Annotation of a control plane whose remediation runs (Cluster API `controlplane/kubeadm/api/v1beta1`, RKE2 alike).
const REMEDIATING: &str = "controlplane.cluster.x-k8s.io/remediation-in-progress";

/// Label of the Machines of a MachineDeployment.
const OF_DEPLOYMENT: &str = "cluster.x-k8s.io/deployment-name";

/// The reasons of every rollout, by owner. The Machines of a cluster are looked at once, however many of its owners roll.
pub(super) fn reasons(judged: &Judged<'_>) -> Vec<Reason> {
    let rollouts = judged.classified.rollouts.iter().filter(|rollout| rollout.effect == Effect::Rollout);
    let mut clusters: HashMap<(Option<&str>, &str), Fleet> = HashMap::new();
    let mut found = Vec::new();
    for rollout in rollouts {
        let live = live_owner(judged, &rollout.owner);
        let key = (rollout.owner.namespace.as_deref(), rollout.cluster.as_str());
        let fleet = clusters.entry(key).or_insert_with(|| Fleet::of(judged, rollout));
        found.extend(live.as_ref().and_then(|live| remediation(judged, rollout, live, fleet)));
        found.extend(machines(judged, rollout, live.as_ref(), fleet));
        found.extend(etcd::reasons(judged, rollout, live.as_ref()));
    }
    found
}

/// An owner of Machines as it is live.
pub(super) fn live_owner(judged: &Judged<'_>, owner: &Key) -> Option<Value> {
    judged.view.get(owner).object()?.value().ok().map(std::borrow::Cow::into_owned)
}

/// What the gates ask of the Machines of one cluster.
#[derive(Debug, Default)]
pub(super) struct Fleet {
    /// All of them.
    all: Group,
    /// Those of the control plane.
    control_plane: Group,
    /// The Machines of each MachineDeployment, by its name.
    by_deployment: HashMap<String, Group>,
    /// Whether the group of some worker is not known.
    has_strays: bool,
    /// Whose Machines were said to be not ok.
    said: HashSet<String>,
    /// The first Machine that waits for its remediation, which a person or another controller does.
    remediated: Option<String>,
}

/// Machines and their ailments.
#[derive(Debug, Default)]
pub(super) struct Group {
    count: usize,
    ailing: usize,
    /// The first Machine that ails, and of what, in a few words.
    first: Option<(Key, String)>,
}

impl Group {
    /// How many of them are not ok.
    pub(super) fn ailing(&self) -> usize {
        self.ailing
    }

    fn add(&mut self, machine: &Key, ailment: Option<&String>) {
        self.count += 1;
        self.ailing += usize::from(ailment.is_some());
        if self.first.is_none() {
            self.first = ailment.map(|ailment| (machine.clone(), ailment.clone()));
        }
    }
}

impl Fleet {
    /// The Machines of the cluster of a rollout.
    pub(super) fn of(judged: &Judged<'_>, rollout: &Rollout) -> Self {
        let mut fleet = Self::default();
        for object in judged.view.machines_of_cluster(&rollout.cluster, rollout.owner.namespace.as_deref()) {
            let Ok(machine) = object.value() else { continue };
            let ailment = ailment(&machine);
            fleet.all.add(&object.key, ailment.as_ref());
            match deployment_of(judged, &object.key, &machine) {
                Some(deployment) => {
                    fleet.by_deployment.entry(deployment).or_default().add(&object.key, ailment.as_ref());
                }
                None => fleet.has_strays |= !is_control_plane(&machine),
            }
            if condition(&machine, "OwnerRemediated") == Some("False") && fleet.remediated.is_none() {
                fleet.remediated = Some(object.key.name.clone());
            }
            if is_control_plane(&machine) {
                fleet.control_plane.add(&object.key, ailment.as_ref());
            }
        }
        fleet
    }

    /// How many of all Machines are not ok.
    pub(super) fn ailing(&self) -> usize {
        self.all.ailing
    }

    /// The Machines of an owner, where it has any and they are known to be its own.
    pub(super) fn own(&self, owner: &Key) -> Option<&Group> {
        match owner.kind.as_str() {
            _ if owner.group == CONTROL_PLANE => Some(&self.control_plane),
            MACHINE_DEPLOYMENT => self.by_deployment.get(&owner.name),
            _ => None,
        }
    }

    /// How many Machines an owner has of its own; `None` where that cannot be told.
    fn count(&self, owner: &Key) -> Option<usize> {
        let is_empty = owner.kind == MACHINE_DEPLOYMENT && !self.has_strays;
        self.own(owner).map(|group| group.count).or_else(|| is_empty.then_some(0))
    }

    /// The Machines that count for an owner, and what they are called together: for a control plane only its own.
    fn for_owner(&self, rollout: &Rollout) -> (&Group, String) {
        let owner = &rollout.owner;
        if owner.group == CONTROL_PLANE {
            return (&self.control_plane, owner.to_string());
        }
        let place = owner.namespace.as_ref().map_or_else(String::new, |namespace| format!("{namespace}/"));
        (&self.all, format!("cluster {place}{}", rollout.cluster))
    }
}

/// The MachineDeployment, else the other owner, that a Machine belongs to.
pub(super) fn owner_of(judged: &Judged<'_>, machine: &Key, value: &Value) -> Option<String> {
    deployment_of(judged, machine, value).or_else(|| controller(machine, value).map(|owner| owner.name))
}

/// The MachineDeployment that a Machine belongs to, by its MachineSet, else by its label.
fn deployment_of(judged: &Judged<'_>, machine: &Key, value: &Value) -> Option<String> {
    let above = |key: &Key| {
        let set = judged.view.get(key).object()?.value().ok()?;
        controller(key, &set).filter(|owner| owner.kind == MACHINE_DEPLOYMENT)
    };
    let direct = controller(machine, value);
    let by_set = direct.as_ref().filter(|owner| owner.kind == MACHINE_SET).and_then(above);
    by_set.map(|owner| owner.name).or_else(|| label(value, OF_DEPLOYMENT).map(str::to_owned))
}

fn reason(gate: &str, answer: Decision, message: String, owner: &Key) -> Option<Reason> {
    (answer != Decision::Allow)
        .then(|| Reason::new(format!("health.{gate}"), answer, message).with_next(describe(owner)).of(owner))
}

/// A remediation that runs already, of the owner's own Machines or by somebody who replaces them.
fn remediation(judged: &Judged<'_>, rollout: &Rollout, live: &Value, fleet: &Fleet) -> Option<Reason> {
    let running = annotation(live, REMEDIATING).map(|text| {
        let told: Value = serde_json::from_str(text).unwrap_or_default();
        let name = told.get("machine").and_then(Value::as_str).unwrap_or("a Machine");
        match told.get("retryCount").and_then(Value::as_u64).filter(|count| *count > 0) {
            Some(count) => format!("{name} is being remediated, tried {} already", plural(count, "time")),
            None => format!("{name} is being remediated"),
        }
    });
    let waiting = || fleet.remediated.as_ref().map(|name| format!("{name} waits for its remediation"));
    let what = running.or_else(waiting)?;
    reason(
        "remediation",
        decision(judged.policy.gates.health.remediation),
        format!("{}: {what}; a rollout now would compete with it", rollout.owner),
        &rollout.owner,
    )
}

/// Machines that are not ok: of a control plane its own, of workers all of their cluster, because these share what is left. Said
/// once, however many owners of a cluster roll.
fn machines(judged: &Judged<'_>, rollout: &Rollout, live: Option<&Value>, fleet: &mut Fleet) -> Option<Reason> {
    let answer = decision(judged.policy.gates.health.machines);
    let (Group { count, ailing, first }, whose) = fleet.for_owner(rollout);
    let Some((machine, ailment)) = first else {
        let what = missing(live?, fleet.count(&rollout.owner).filter(|_| *count > 0)?)?;
        return reason("machines", answer, format!("{}: {what}", rollout.owner), &rollout.owner);
    };
    let message = format!("{ailing} of the {} of {whose} not ok: {ailment}", plural(*count as u64, "Machine"));
    let said = reason("machines", answer, message, &rollout.owner)?.with_next(describe(machine));
    fleet.said.insert(whose).then_some(said)
}

/// Machines that should be there and are not.
fn missing(owner: &Value, there: usize) -> Option<String> {
    let wanted = number(owner, "/spec/replicas")?;
    let there = u64::try_from(there).ok().filter(|there| *there < wanted)?;
    Some(format!("{there} of {} there", plural(wanted, "Machine")))
}

fn is_control_plane(machine: &Value) -> bool {
    label(machine, OF_CONTROL_PLANE).is_some()
}

/// The command that shows the owner.
pub(super) fn describe(owner: &Key) -> String {
    let namespace = owner.namespace.as_ref().map_or_else(String::new, |namespace| format!(" -n {}", quoted(namespace)));
    format!("kubectl describe {} {}{namespace}", quoted(&owner.kind.to_lowercase()), quoted(&owner.name))
}
