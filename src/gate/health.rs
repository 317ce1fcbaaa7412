//! Whether the cluster is fit for a rollout now: remediation under way, Machines that are not ok.
//! Asked only where Machines would be replaced and Machines could be read.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use jiff::{SignedDuration, Timestamp};

use super::progress::control_plane;
use super::workload::{self, Member};
use super::{Judged, decision, etcd};
use crate::hashed::{HashMap, HashSet};
use crate::impact::Rollout;
use crate::kinds::contract::{CONTROL_PLANE, CORE, DEPLOYMENT_NAME, MACHINE_DEPLOYMENT, MACHINE_SET, OF_CONTROL_PLANE};
use crate::kinds::fields::{annotation, controller, label, number, remediation_period, text};
use crate::kinds::standing::{ailment, condition, has_conditions};
use crate::model::{Decision, Effect, Reason, is, quoted};
use crate::object::{Key, View};
use crate::report::plural;
use crate::tree::Value;
use crate::world::Coverage;

/// Annotation of a control plane whose remediation runs (Cluster API `controlplane/kubeadm/api/v1beta1`, RKE2 alike).
const REMEDIATING: &str = "controlplane.cluster.x-k8s.io/remediation-in-progress";

/// Annotation of a Machine of a control plane that took the place of an unhealthy one.
const REMEDIATED_FOR: &str = "controlplane.cluster.x-k8s.io/remediation-for";
/// Seconds after which it counts as healthy where its owner says nothing (`DefaultMinHealthyPeriodSeconds`).
const HEALTHY_FOR: u64 = 3600;

/// The reasons of every rollout, by owner. The Machines of a cluster are looked at once, however many of its owners roll.
pub(super) fn reasons(judged: &Judged<'_>) -> Vec<Reason> {
    let rollouts = judged.classified.rollouts.iter().filter(|rollout| rollout.effect == Effect::Rollout);
    let mut clusters: HashMap<(Option<&str>, &str), Fleet> = HashMap::default();
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
    /// The first Machine that took the place of one that was remediated, and does not count as healthy yet.
    substitute: Option<String>,
    /// How many Machines each owner of the cluster has too few, where there are any.
    missing: BTreeMap<Key, u64>,
}

/// The MachineDeployments of each cluster, found once for all rollouts.
#[derive(Debug, Default)]
pub(crate) struct Groups(OnceLock<HashMap<String, Vec<(Key, Value)>>>);

impl Groups {
    fn of(&self, view: &dyn View, cluster: &str) -> &[(Key, Value)] {
        let found = self.0.get_or_init(|| {
            let mut found: HashMap<String, Vec<(Key, Value)>> = HashMap::default();
            for object in view.of_kind(MACHINE_DEPLOYMENT).filter(|object| object.key.group == CORE) {
                let Ok(value) = object.value() else { continue };
                if let Some(cluster) = text(&value, "/spec/clusterName") {
                    found.entry(cluster.to_owned()).or_default().push((object.key.clone(), value.clone().into_owned()));
                }
            }
            found
        });
        found.get(cluster).map_or(&[], Vec::as_slice)
    }
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
        let members = workload::members(judged, rollout);
        let is_told = matches!(judged.world.coverage, Coverage::Asked(_))
            || members.iter().any(|member| has_conditions(&member.value));
        for Member { key, value: machine } in &members {
            let ailment = ailment(machine, is_told);
            fleet.all.add(key, ailment.as_ref());
            match deployment_of(judged, key, machine) {
                Some(deployment) => {
                    fleet.by_deployment.entry(deployment).or_default().add(key, ailment.as_ref());
                }
                None => fleet.has_strays |= !is_control_plane(machine),
            }
            if condition(machine, "OwnerRemediated") == Some("False") && fleet.remediated.is_none() {
                fleet.remediated = Some(key.name.clone());
            }
            if fleet.substitute.is_none() {
                fleet.substitute = substitute(judged, key, machine, ailment.is_some());
            }
            if is_control_plane(machine) {
                fleet.control_plane.add(key, ailment.as_ref());
            }
        }
        fleet.missing = fleet.too_few(judged, rollout);
        fleet
    }

    /// How many Machines are not ok or not there, of all owners.
    pub(super) fn ailing(&self) -> u64 {
        self.all.ailing as u64 + self.missing.values().sum::<u64>()
    }

    /// How many of an owner are not ok or not there.
    pub(super) fn ailing_of(&self, owner: &Key) -> u64 {
        let ill = self.own(owner).map_or(0, |group| group.ailing as u64);
        ill + self.missing.get(owner).copied().unwrap_or(0)
    }

    /// The owners of the cluster that have fewer Machines than they want, where their Machines were read.
    fn too_few(&self, judged: &Judged<'_>, rollout: &Rollout) -> BTreeMap<Key, u64> {
        if self.all.count == 0 {
            // Nothing is known of an owner without a Machine in a cluster of which none was read.
            return BTreeMap::new();
        }
        let of_cluster = judged.groups.of(judged.view, &rollout.cluster).iter().filter(|(key, _)| {
            let namespaces = key.namespace.as_deref().zip(rollout.owner.namespace.as_deref());
            namespaces.is_none_or(|(one, other)| one == other)
        });
        // A dump may lack the Machines of an owner, and the control plane of another provider may have none.
        let is_asked = matches!(judged.world.coverage, Coverage::Asked(_));
        let there = |key: &Key| {
            let is_whole = is_asked && key.group != CONTROL_PLANE && self.all.count > 0;
            self.count(key).filter(|there| *there > 0 || is_whole)
        };
        let owners = of_cluster.cloned().chain(control_plane(judged, rollout));
        owners.filter_map(|(key, owner)| Some((few(&owner, there(&key)?)?, key))).map(|(few, key)| (key, few)).collect()
    }

    /// The Machines of an owner, where it has any and they are known to be its own.
    fn own(&self, owner: &Key) -> Option<&Group> {
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
    deployment_of(judged, machine, value).or_else(|| controller(machine, value).map(|owner| owner.name.clone()))
}

/// The MachineDeployment that a Machine belongs to, by its MachineSet, else by its label.
fn deployment_of(judged: &Judged<'_>, machine: &Key, value: &Value) -> Option<String> {
    let above = |key: &Key| {
        let set = judged.view.get(key).object()?.value().ok()?;
        controller(key, &set).filter(|owner| owner.kind == MACHINE_DEPLOYMENT)
    };
    let direct = controller(machine, value);
    let by_set = direct.as_ref().filter(|owner| owner.kind == MACHINE_SET).and_then(above);
    by_set.map(|owner| owner.name.clone()).or_else(|| label(value, DEPLOYMENT_NAME).map(str::to_owned))
}

fn reason(gate: &str, answer: Decision, message: String, owner: &Key) -> Option<Reason> {
    (answer != Decision::Allow)
        .then(|| Reason::new(format!("health.{gate}"), answer, message))
        .map(|reason| reason.with_remedy(remedy(gate, answer)).with_next(describe(owner)).of(owner))
}

/// What a person does where a cluster is not fit for a rollout; a warning asks for nothing.
pub(super) fn remedy(gate: &str, answer: Decision) -> Option<String> {
    let wanted = match gate {
        "etcd" => "see that every etcd member is healthy and votes, and write this then",
        "machines" => "repair the Machines or wait until they are healthy, and write this then",
        "remediation" => "wait until the remediation is over, and write this then",
        "bootstrap" => "wait until the control plane is initialized, and write this then",
        "inProgress" => "wait until what is under way is over, and write this then",
        _ => return None,
    };
    (answer == Decision::Hold).then(|| wanted.to_owned())
}

/// A remediation that runs already, of the owner's own Machines or by somebody who replaces them.
fn remediation(judged: &Judged<'_>, rollout: &Rollout, live: &Value, fleet: &Fleet) -> Option<Reason> {
    let running = annotation(live, REMEDIATING).map(|text| {
        let told: Value = serde_json::from_str(text).unwrap_or_default();
        let name = told.get("machine").and_then(Value::as_str).unwrap_or("a Machine");
        match told.get("retryCount").and_then(Value::as_u64).filter(|count| *count > 0) {
            Some(count) => format!("{name} is being remediated (try {})", count + 1),
            None => format!("{name} is being remediated"),
        }
    });
    let substitute = || fleet.substitute.clone().filter(|_| rollout.owner.group == CONTROL_PLANE);
    let waiting = || fleet.remediated.as_ref().map(|name| format!("{name} waits for its remediation"));
    let what = running.or_else(substitute).or_else(waiting)?;
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
        let own = live.and_then(|live| missing(live, fleet.count(&rollout.owner).filter(|_| *count > 0)?));
        if let Some(what) = own {
            return reason("machines", answer, format!("{} {what}", rollout.owner), &rollout.owner);
        }
        // Workers share what is left with the other owners of their cluster.
        let shared = fleet
            .missing
            .keys()
            .find(|key| **key != rollout.owner)
            .filter(|_| rollout.owner.group != CONTROL_PLANE)?
            .clone();
        let what = missing(&live_owner(judged, &shared)?, fleet.count(&shared)?)?;
        let said = reason("machines", answer, format!("{shared} {what}"), &shared)?;
        return fleet.said.insert(shared.to_string()).then_some(said);
    };
    let (all, are) = (plural(*count as u64, "Machine"), is(*ailing as u64));
    let message = format!("{whose}: {ailing} of {all} {are} not healthy: {ailment}");
    let said = reason("machines", answer, message, &rollout.owner)?.with_next(describe(machine));
    fleet.said.insert(whose).then_some(said)
}

/// Machines that should be there and are not.
fn missing(owner: &Value, there: usize) -> Option<String> {
    let wanted = number(owner, "/spec/replicas")?;
    few(owner, there)?;
    Some(match there {
        0 => format!("has no Machine that was read, and wants {wanted}"),
        _ => format!("has {there} of {}", plural(wanted, "Machine")),
    })
}

/// How many Machines an owner has too few; `None` where it has enough.
fn few(owner: &Value, there: usize) -> Option<u64> {
    number(owner, "/spec/replicas")?.checked_sub(u64::try_from(there).ok()?).filter(|few| *few > 0)
}

/// What is said of a Machine that took the place of one that was remediated: it is not healthy, or was not for as long as its controller
/// wants before it takes the next failure for another one (Cluster API 1.14 `remediation.go` checkRetryLimits).
fn substitute(judged: &Judged<'_>, key: &Key, machine: &Value, ails: bool) -> Option<String> {
    let told: Value = serde_json::from_str(annotation(machine, REMEDIATED_FOR)?).ok()?;
    let before = told.get("machine").and_then(Value::as_str).unwrap_or("another one");
    let tries = told.get("retryCount").and_then(Value::as_u64).unwrap_or(0);
    let owner = controller(key, machine).and_then(|owner| live_owner(judged, &owner));
    let period = owner.as_ref().and_then(|owner| remediation_period(owner, "minHealthyPeriod"));
    let began = text(&told, "/timestamp").and_then(|at| at.parse::<Timestamp>().ok());
    let period =
        SignedDuration::from_secs(period.map_or(HEALTHY_FOR, |(_, seconds)| seconds).try_into().unwrap_or(i64::MAX));
    let is_young = began.is_some_and(|began| began.checked_add(period).is_ok_and(|end| judged.world.now < end));
    let tried = || {
        format!(
            "{} replaces {before}, which was remediated ({} so far)",
            key.name,
            if tries == 1 { "1 try".to_owned() } else { format!("{tries} tries") }
        )
    };
    (ails || (tries > 1 && is_young)).then(tried)
}

fn is_control_plane(machine: &Value) -> bool {
    label(machine, OF_CONTROL_PLANE).is_some()
}

/// The command that shows the owner.
pub(super) fn describe(owner: &Key) -> String {
    let namespace = owner.namespace.as_ref().map_or_else(String::new, |namespace| format!(" -n {}", quoted(namespace)));
    format!("kubectl describe {} {}{namespace}", quoted(&owner.kind.to_lowercase()), quoted(&owner.name))
}
