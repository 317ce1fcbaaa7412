//! Whether the drain of a Machine that goes can end: a PodDisruptionBudget that allows no disruption keeps its Pods where they are, and
//! with them the Machine, for ever or until the time for its drain is up.

use std::collections::{BTreeMap, BTreeSet};

use super::workload::{self, Blind, Member};
use super::{Judged, decision};
use crate::hashed::HashMap;
use crate::impact::Rollout;
use crate::kinds::contract::MACHINE_DRAIN_RULE;
use crate::kinds::fields::{annotation, is_in, number, text};
use crate::model::{Action, Decision, Reason, quoted};
use crate::object::{Key, nanoseconds};
use crate::policy::HealthGates;
use crate::report::plural;
use crate::tree::Value;
use crate::world::workload::{Budget, Node};

/// Annotation of a Machine that is not drained (Cluster API `api/core/v1beta2/machine_types.go`, ExcludeNodeDrainingAnnotation).
const NOT_DRAINED: &str = "machine.cluster.x-k8s.io/exclude-node-draining";
/// Where a Machine says how many seconds its drain may take, and where it says so as Go writes a time.
const OF_MACHINE: [&str; 2] = ["/spec/deletion/nodeDrainTimeoutSeconds", "/spec/nodeDrainTimeout"];
/// Where an owner says how long the drain of its Machines may take, in each form that has such a field.
const OF_OWNER: [&str; 5] = [
    "/spec/machineTemplate/spec/deletion/nodeDrainTimeoutSeconds",
    "/spec/template/spec/deletion/nodeDrainTimeoutSeconds",
    "/spec/machineTemplate/nodeDrainTimeout",
    "/spec/template/spec/nodeDrainTimeout",
    "/spec/nodeDrainTimeout",
];
/// What is asked, in words.
const WHAT: &str = "whether the drain of its Machines can end";

/// A reason for each budget that keeps Machines of a cluster which go, and one for each cluster of which nothing is known.
pub(super) fn reasons(judged: &Judged<'_>) -> Vec<Reason> {
    let health = &judged.policy.gates.health;
    let answer = decision(HealthGates::in_workload(health.pdb, judged.policy.workload.read));
    if answer == Decision::Allow {
        return Vec::new();
    }
    let mut clusters: BTreeMap<(Option<&str>, &str), Vec<&Rollout>> = BTreeMap::new();
    for rollout in judged.classified.rollouts.iter().filter(|rollout| workload::drains(rollout)) {
        let cluster = (rollout.owner.namespace.as_deref(), rollout.cluster.as_str());
        clusters.entry(cluster).or_default().push(rollout);
    }
    clusters.into_values().flat_map(|rollouts| of(judged, &rollouts, answer)).collect()
}

/// What is said of one cluster.
fn of(judged: &Judged<'_>, rollouts: &[&Rollout], answer: Decision) -> Vec<Reason> {
    let Some(first) = rollouts.first().filter(|first| !workload::is_cluster_gone(judged, first)) else {
        return Vec::new();
    };
    let blind = |blind: Blind| vec![blind.reason("pdb", answer, WHAT, &first.owner)];
    let found = match workload::of(judged, first) {
        Ok(found) => found,
        Err(why) => return blind(why),
    };
    let (budgets, nodes) = match (found.budgets.read(), found.nodes.read()) {
        (Ok(budgets), Ok(nodes)) => (budgets, nodes),
        (Err(why), _) | (_, Err(why)) => return blind(Blind::of(why)),
    };
    let (going, known) = going(judged, rollouts, nodes);
    let rule = rule(judged, first);
    let mut out: Vec<Reason> =
        budgets.iter().filter_map(|budget| kept(budget, &going, rule.as_deref(), answer)).collect();
    // Machines of a pool, or of which no Node is known, may run any of these Pods.
    let lost = rollouts.iter().filter(|rollout| !budgets.is_empty() && !known.contains(&rollout.owner));
    out.extend(lost.map(|rollout| {
        let why = "a PodDisruptionBudget allows no disruption, and none of its Machines is known to be a Node";
        Blind::of((why, "")).reason("pdb", answer, WHAT, &rollout.owner)
    }));
    out
}

/// A Machine that goes, by its Node.
struct Going<'j> {
    machine: String,
    owner: &'j Rollout,
    /// Seconds after which its drain is given up; `None` for never.
    limit: Option<u64>,
}

/// The Machines that go and are drained, by their Nodes; and the owners of which a Node that goes is known.
fn going<'j>(
    judged: &Judged<'_>,
    rollouts: &[&'j Rollout],
    nodes: &'j [Node],
) -> (HashMap<&'j str, Going<'j>>, BTreeSet<&'j Key>) {
    let (mut out, mut known) = (HashMap::default(), BTreeSet::new());
    let Some(first) = rollouts.first() else { return (out, known) };
    let members = workload::members(judged, first);
    for node in nodes {
        let Some(member) = members.iter().find(|member| member.has(node)) else { continue };
        let owner = rollouts.iter().find(|rollout| workload::goes(judged, rollout, member));
        known.extend(rollouts.iter().filter(|one| workload::goes(judged, one, member)).map(|one| &one.owner));
        let Some(owner) = owner.filter(|_| annotation(&member.value, NOT_DRAINED).is_none()) else { continue };
        let limit = limit(judged, owner, member);
        out.insert(node.name.as_str(), Going { machine: member.key.name.clone(), owner, limit });
    }
    (out, known)
}

/// How long the drain of a Machine may take: as its owner says after the write, which its controller hands to Machines in place
/// (Cluster API from 1.4 on), else as it says itself. No time at all is for ever.
fn limit(judged: &Judged<'_>, rollout: &Rollout, member: &Member<'_>) -> Option<u64> {
    let own = seconds(&member.value, &OF_MACHINE);
    let written = judged.written(&rollout.owner).find(|pair| pair.action != Action::Delete);
    match written.and_then(|pair| pair.predicted.as_ref()) {
        Some(owner) => seconds(owner, &OF_OWNER),
        None => own,
    }
}

fn seconds(object: &Value, pointers: &[&str]) -> Option<u64> {
    let told = |pointer: &&str| {
        let text = || u64::try_from(nanoseconds(text(object, pointer)?)? / 1_000_000_000).ok();
        number(object, pointer).or_else(text)
    };
    pointers.iter().find_map(told).filter(|seconds| *seconds > 0)
}

/// A rule that may let a drain leave Pods alone.
fn rule(judged: &Judged<'_>, rollout: &Rollout) -> Option<String> {
    let namespace = rollout.owner.namespace.as_deref();
    let skips = |value: &Value| text(value, "/spec/drain/behavior") == Some("Skip");
    let mut rules = judged.view.of_kind(MACHINE_DRAIN_RULE).filter(|object| is_in(object, namespace));
    rules.find(|object| object.value().is_ok_and(|value| skips(&value))).map(|object| object.key.to_string())
}

/// The reason of one budget.
fn kept(budget: &Budget, going: &HashMap<&str, Going<'_>>, rule: Option<&str>, answer: Decision) -> Option<Reason> {
    let name = format!("PodDisruptionBudget {}/{}", budget.namespace, budget.name);
    let state = format!("{} of {} healthy, {} wanted", budget.healthy, plural(budget.expected, "Pod"), budget.wanted);
    let Some(pods) = &budget.pods else {
        let first = going.values().min_by_key(|one| &one.machine)?;
        let message = format!(
            "{}: {name} allows no disruption ({state}); which Nodes its Pods are on could not be read, so a drain might never end",
            first.owner.owner
        );
        let answer = if answer == Decision::Hold { Decision::Undecided } else { answer };
        return Some(reason(budget, answer, message, first));
    };
    let on: Vec<&Going<'_>> = pods.keys().filter_map(|node| going.get(node.as_str())).collect();
    let first = on.iter().min_by_key(|one| &one.machine)?;
    let machines: BTreeSet<&str> = on.iter().map(|one| one.machine.as_str()).collect();
    let longest = on.iter().map(|one| one.limit).try_fold(0, |most, limit| Some(most.max(limit?)));
    let ends = match longest {
        None => "their drain does not end, and the Machines stay".to_owned(),
        Some(most) => format!("their drain is given up after {} each", crate::model::age(most)),
    };
    let unless = rule.map_or_else(String::new, |rule| format!(", unless {rule} lets it leave these Pods alone"));
    let go = if on.iter().all(|one| one.owner.machine_names.contains(&one.machine)) { "go" } else { "may go" };
    let message = format!(
        "{}: {name} allows no disruption ({state}), and its Pods run on Nodes of Machines that {go} ({}): {ends}{unless}",
        first.owner.owner,
        workload::names(&machines)
    );
    // What is given up after a time is late, not stuck.
    let answer = if longest.is_some() { answer.min(Decision::Warn) } else { answer };
    Some(reason(budget, answer, message, first))
}

fn reason(budget: &Budget, answer: Decision, message: String, first: &Going<'_>) -> Reason {
    let what = format!("describe pdb {} -n {}", quoted(&budget.name), quoted(&budget.namespace));
    let next = workload::there(&first.owner.owner, &first.owner.cluster, &what);
    Reason::new("health.pdb", answer, message).with_next(next).of(&first.owner.owner)
}
