//! Whether the cluster is fit for a rollout now: remediation under way, Machines that are not ok, etcd's quorum.
//! Asked only where Machines would be replaced and Machines could be read.

use std::borrow::Cow;
use std::collections::HashMap;

use serde_json::Value;

use super::{Judged, decision};
use crate::compare::Pair;
use crate::impact::Rollout;
use crate::kinds::contract::{CONTROL_PLANE, OF_CONTROL_PLANE};
use crate::model::Reason;
use crate::model::{Decision, Effect};
use crate::object::Key;
use crate::report::plural;

/// Annotation of a control plane whose remediation runs (Cluster API `controlplane/kubeadm/api/v1beta1`, RKE2 alike).
const REMEDIATING: &str = "controlplane.cluster.x-k8s.io/remediation-in-progress";

/// The reasons of every rollout, by owner. The Machines of a cluster are looked at once, however many of its owners roll.
pub(super) fn reasons(judged: &Judged<'_>) -> Vec<Reason> {
    let owners: HashMap<&Key, &Pair> = judged.pairs.iter().map(|pair| (&pair.key, pair)).collect();
    let rollouts = judged.classified.rollouts.iter().filter(|rollout| rollout.effect == Effect::Rollout);
    let mut clusters: HashMap<(Option<&str>, &str), Fleet> = HashMap::new();
    let mut found = Vec::new();
    for rollout in rollouts {
        let live = match owners.get(&rollout.owner) {
            Some(pair) => pair.live.as_ref().map(Cow::Borrowed),
            None => judged.view.get(&rollout.owner).object().and_then(|owner| owner.value().ok()),
        };
        let key = (rollout.owner.namespace.as_deref(), rollout.cluster.as_str());
        let fleet = clusters.entry(key).or_insert_with(|| Fleet::of(judged, rollout));
        found.extend(live.and_then(|live| remediation(judged, rollout, &live)));
        found.extend(machines(judged, rollout, fleet));
        found.extend(etcd(judged, rollout, fleet));
    }
    found
}

/// What the gates ask of the Machines of one cluster.
#[derive(Debug, Default)]
struct Fleet {
    /// All of them.
    all: Group,
    /// Those of the control plane.
    control_plane: Group,
    /// Whether the first Machine of the control plane says anything about etcd.
    says_etcd: bool,
    /// Machines of the control plane whose etcd member is not healthy.
    unhealthy_members: usize,
}

/// Machines and their ailments.
#[derive(Debug, Default)]
struct Group {
    count: usize,
    ailing: usize,
    /// The first ailment, in a few words.
    first: Option<String>,
}

impl Group {
    fn add(&mut self, ailment: Option<&String>) {
        self.count += 1;
        self.ailing += usize::from(ailment.is_some());
        if self.first.is_none() {
            self.first = ailment.cloned();
        }
    }
}

impl Fleet {
    fn of(judged: &Judged<'_>, rollout: &Rollout) -> Self {
        let mut fleet = Self::default();
        let objects = judged.view.machines_of_cluster(&rollout.cluster);
        for object in objects.filter(|object| object.key.namespace == rollout.owner.namespace) {
            let Ok(machine) = object.value() else { continue };
            let ailment = ailment(&machine);
            fleet.all.add(ailment.as_ref());
            if is_control_plane(&machine) {
                let member = condition(&machine, "EtcdMemberHealthy");
                if fleet.control_plane.count == 0 {
                    fleet.says_etcd = member.is_some();
                }
                fleet.control_plane.add(ailment.as_ref());
                fleet.unhealthy_members += usize::from(member != Some("True"));
            }
        }
        fleet
    }

    /// The Machines that count for an owner: for a control plane only its own.
    fn for_owner(&self, owner: &Key) -> &Group {
        if owner.group == CONTROL_PLANE { &self.control_plane } else { &self.all }
    }
}

fn reason(gate: &str, answer: Decision, message: String, owner: &Key) -> Option<Reason> {
    (answer != Decision::Allow)
        .then(|| Reason::new(format!("health.{gate}"), answer, message).with_next(describe(owner)).of(owner))
}

/// A remediation that runs already.
fn remediation(judged: &Judged<'_>, rollout: &Rollout, live: &Value) -> Option<Reason> {
    live.pointer("/metadata/annotations")?.get(REMEDIATING)?;
    reason(
        "remediation",
        decision(judged.policy.gates.health.remediation),
        format!("{}: a Machine is being remediated; a rollout now would compete with it", rollout.owner),
        &rollout.owner,
    )
}

/// Machines of the owner's cluster that are not ok.
fn machines(judged: &Judged<'_>, rollout: &Rollout, fleet: &Fleet) -> Option<Reason> {
    let Group { count, ailing, first } = fleet.for_owner(&rollout.owner);
    let first = first.as_ref()?;
    reason(
        "machines",
        decision(judged.policy.gates.health.machines),
        format!("{}: {ailing} of {} not ok: {first}", rollout.owner, plural(*count as u64, "Machine")),
        &rollout.owner,
    )
}

/// Stacked etcd: after one step of the rollout, the healthy voters must still be a majority. The member that is
/// being added counts as unhealthy, as in Cluster API's own check before a remediation
/// (`controlplane/kubeadm/internal/controllers/remediation.go`, canSafelyRemoveEtcdMember).
fn etcd(judged: &Judged<'_>, rollout: &Rollout, fleet: &Fleet) -> Option<Reason> {
    // A member that says nothing about etcd is not known to be a voter (external etcd, an older provider).
    if rollout.owner.group != CONTROL_PLANE || !fleet.says_etcd {
        return None;
    }
    let (voters, unhealthy) = (fleet.control_plane.count, fleet.unhealthy_members);
    let (after, bad) = match rollout.max_surge.unwrap_or(1) {
        0 if unhealthy > 0 => (voters.saturating_sub(1), unhealthy - 1),
        0 => (voters.saturating_sub(1), 0),
        _ => (voters + 1, unhealthy + usize::from(voters > 1)),
    };
    let quorum = after / 2 + 1;
    if after.saturating_sub(bad) >= quorum {
        return None;
    }
    reason(
        "etcd",
        decision(judged.policy.gates.health.etcd),
        format!(
            "{}: {unhealthy} of {} not healthy; the first step leaves {} of {after} voters, {quorum} are needed",
            rollout.owner,
            plural(voters as u64, "etcd member"),
            after.saturating_sub(bad)
        ),
        &rollout.owner,
    )
}

fn is_control_plane(machine: &Value) -> bool {
    label(machine, OF_CONTROL_PLANE).is_some()
}

fn label<'v>(object: &'v Value, name: &str) -> Option<&'v str> {
    object.pointer("/metadata/labels")?.get(name)?.as_str()
}

/// The status of a condition, in whichever list the API version keeps it.
fn condition<'v>(machine: &'v Value, name: &str) -> Option<&'v str> {
    ["/status/conditions", "/status/v1beta2/conditions", "/status/deprecated/v1beta1/conditions"]
        .iter()
        .filter_map(|pointer| machine.pointer(pointer)?.as_array())
        .flatten()
        .find(|condition| condition.get("type").and_then(Value::as_str) == Some(name))?
        .get("status")?
        .as_str()
}

/// What is wrong with a Machine, in a few words.
fn ailment(machine: &Value) -> Option<String> {
    let name = machine.pointer("/metadata/name").and_then(Value::as_str).unwrap_or("?");
    if machine.pointer("/metadata/deletionTimestamp").is_some() {
        return Some(format!("{name} is being deleted"));
    }
    // A Machine without any status was never looked at by a controller; that is said by the read, not here.
    machine.get("status").filter(|status| status.as_object().is_some_and(|status| !status.is_empty()))?;
    if machine.pointer("/status/nodeRef").is_none() {
        return Some(format!("{name} has no node yet"));
    }
    let unhealthy =
        ["NodeHealthy", "HealthCheckSucceeded"].into_iter().find(|name| condition(machine, name) == Some("False"));
    unhealthy.map(|condition| format!("{name}: {condition} is False"))
}

/// The command that shows the owner.
fn describe(owner: &Key) -> String {
    let namespace = owner.namespace.as_ref().map_or_else(String::new, |namespace| format!(" -n {namespace}"));
    format!("kubectl describe {} {}{namespace}", owner.kind.to_lowercase(), owner.name)
}
