//! Stacked etcd while a control plane rolls: after each step the healthy voters must still be a majority, counted as the controllers
//! do, with the Machine gone that they really take; and whether its controller begins at all.

use std::collections::BTreeMap;

use super::members::{CLUSTER, MEMBER, Members};
use super::workload::Member;
use super::{Judged, decision};
use crate::impact::Rollout;
use crate::kinds::contract::CONTROL_PLANE;
use crate::kinds::fields::{annotation, text};
use crate::kinds::standing::condition;
use crate::model::{Decision, Reason, is};
use crate::object::is_deleting;
use crate::providers::kubeadm;
use crate::report::plural;
use crate::tree::Value;

/// Conditions that its controller wants on each Machine before a step, also where one is missing
/// (`controlplane/kubeadm/reconcilers/kubeadmcontrolplane/scale.go` preflightChecks, preflightCheckCondition of Cluster API 1.14; CAPRKE2
/// 0.21 `controlplane/internal/controllers/scale.go` asks for `AgentHealthy` and the last).
const WANTED: [&str; 6] = [
    "APIServerPodHealthy",
    "ControllerManagerPodHealthy",
    "SchedulerPodHealthy",
    "EtcdPodHealthy",
    "AgentHealthy",
    MEMBER,
];
/// Where an owner says that etcd is not its own: kubeadm, and CAPRKE2.
const EXTERNAL: [&str; 2] =
    ["/spec/kubeadmConfigSpec/clusterConfiguration/etcd/external", "/spec/serverConfig/externalDatastoreSecret"];
/// Annotation of a Machine that is to go first.
const DELETE_FIRST: &str = "cluster.x-k8s.io/delete-machine";

/// The reasons of one control plane that rolls.
pub(super) fn reasons(judged: &Judged<'_>, rollout: &Rollout, live: Option<&Value>) -> Vec<Reason> {
    if rollout.owner.group != CONTROL_PLANE {
        return Vec::new();
    }
    let (members, blind) = Members::of(judged, rollout, live);
    let plane = Plane { rollout, members };
    let health = &judged.policy.gates.health;
    let is_own =
        !live.is_some_and(|live| EXTERNAL.iter().any(|at| live.pointer(at).is_some_and(|told| !told.is_null())));
    let asks = is_own && decision(health.etcd) != Decision::Allow;
    let etcd = asks.then(|| plane.etcd(live)).flatten();
    // What is said of etcd says already why nothing begins.
    let began = if etcd.is_none() { plane.kept(is_own) } else { None };
    let told = [("etcd", decision(health.etcd), etcd), ("machines", decision(health.machines), began)];
    // Without its Pods etcd is counted by what its controller says, which is enough to go on and not to be silent.
    let unseen = blind
        .filter(|_| asks)
        .map(|blind| blind.reason("etcd", Decision::Warn, "what the Pods of etcd say", &rollout.owner));
    told.into_iter().filter_map(|(gate, answer, what)| reason(gate, answer, &what?, rollout)).chain(unseen).collect()
}

fn reason(gate: &str, answer: Decision, what: &str, rollout: &Rollout) -> Option<Reason> {
    let message = format!("{}: {what}", rollout.owner);
    let next = super::health::describe(&rollout.owner);
    (answer != Decision::Allow)
        .then(|| Reason::new(format!("health.{gate}"), answer, message))
        .map(|reason| reason.with_remedy(super::health::remedy(gate, answer)).with_next(next).of(&rollout.owner))
}

/// A control plane that rolls, with its Machines.
struct Plane<'c, 'j> {
    rollout: &'c Rollout,
    members: Members<'j>,
}

impl<'j> Plane<'_, 'j> {
    fn surges(&self) -> bool {
        self.rollout.max_surge.unwrap_or(1) > 0
    }

    /// What is said where a step leaves too few healthy voters. The member that is added counts as unhealthy where there is more than
    /// one, and one that is not known to be healthy as a voter that is not: a member that only learns, or has no name yet, keeps the
    /// controllers from going on as well (Cluster API `remediation.go`, targetEtcdClusterHealthy, 1.14).
    fn etcd(&self, live: Option<&Value>) -> Option<String> {
        // A member that says nothing about etcd is not known to be a voter (an older provider).
        if self.members.is_silent() {
            return None;
        }
        let (voters, bad, notes) = (self.members.voters(), self.members.bad(), self.members.notes());
        if bad == 0 {
            let said = live.and_then(|live| condition(live, CLUSTER)).filter(|said| *said != "True");
            if let Some(said) = said {
                let why = ": a member without a Machine, or one that is not a voter yet";
                let why = if self.members.orphans.is_empty() { why } else { notes.as_str() };
                return Some(format!("its {CLUSTER} is {said} though the member of each Machine is healthy{why}"));
            }
        }
        let chosen = self.chosen();
        let sound = chosen.iter().find(|member| self.members.is_healthy(member));
        let left = if sound.is_some() || chosen.is_empty() { bad } else { bad.saturating_sub(1) };
        let joins = |voters: u64| u64::from(voters > 1);
        let fewer = voters.saturating_sub(1);
        let steps = match self.surges() {
            true => [(voters + 1, bad + joins(voters)), (voters, left)],
            false => [(fewer, left), (voters, left + joins(fewer))],
        };
        let is_short = |(after, bad): &(u64, u64)| after.saturating_sub(*bad) < after / 2 + 1;
        let Some((place, (after, unhealthy))) = steps.into_iter().enumerate().find(|(_, step)| is_short(step)) else {
            let learners = self.members.learners();
            let waits = || {
                format!(
                    "{} {} not vote in etcd yet (learner); the controller waits until that changes",
                    learners.join(", "),
                    if learners.len() == 1 { "does" } else { "do" }
                )
            };
            return (!learners.is_empty()).then(waits);
        };
        let first = match (sound, bad, self.surges(), place) {
            (Some(member), 1.., false, _) | (Some(member), 1.., true, 1) => {
                format!(", as {} goes first, which is healthy", member.key.name)
            }
            _ => String::new(),
        };
        Some(format!(
            "{bad} of {} {} unhealthy; the {} step leaves {} healthy of {after} voters, and {} are needed{first}{notes}",
            plural(self.members.count(), "etcd member"),
            is(bad),
            if place == 0 { "first" } else { "second" },
            after.saturating_sub(unhealthy),
            after / 2 + 1
        ))
    }

    /// What keeps its controller from the first step. The Machine that goes is not asked where it goes first, nor is any of etcd where
    /// that is not the control plane's own.
    fn kept(&self, has_etcd: bool) -> Option<String> {
        let wanted = WANTED.iter().filter(|name| has_etcd || !name.starts_with("Etcd"));
        let chosen = if self.surges() { Vec::new() } else { self.chosen() };
        let is_spared = |member: &Member<'_>| chosen.len() == 1 && chosen[0].key == member.key;
        let asked: Vec<_> = self.members.machines.iter().filter(|member| !is_spared(member)).collect();
        let is_bad = asked.iter().find_map(|member| {
            let says = |name: &&str| condition(&member.value, name).filter(|status| *status != "True");
            wanted.clone().find_map(|name| Some(format!("{}: {name} is {}", member.key.name, says(name)?)))
        });
        // It is wanted of all of them, and older controllers and other distributions say it of none.
        let lacks = |name: &str| asked.iter().find(|member| condition(&member.value, name).is_none());
        let is_said = |name: &str| asked.iter().any(|member| condition(&member.value, name).is_some());
        let is_silent = || {
            let (name, member) =
                wanted.clone().filter(|name| is_said(name)).find_map(|name| Some((name, lacks(name)?)))?;
            Some(format!("{} has no condition {name}, which others have", member.key.name))
        };
        let found = is_bad.or_else(is_silent);
        found.map(|what| format!("{what}; its controller takes no step until that is over"))
    }

    /// The Machines of which one goes first: those that a person marked, else what the provider prefers, and of these the oldest of a
    /// failure domain. Which domain is not computed, so where there are several, one of each. KubeadmControlPlane prefers Machines whose
    /// components are not healthy (`scale.go`, selectMachineForInPlaceUpdateOrScaleDown, 1.14); CAPRKE2 the oldest, broken or not
    /// (`scale.go`, selectMachineForScaleDown, 0.21), and of others it is not known.
    fn chosen(&self) -> Vec<&Member<'j>> {
        let all: Vec<&Member<'j>> = self.members.machines.iter().filter(|member| !is_deleting(&member.value)).collect();
        let names = &self.rollout.machine_names;
        let is_outdated = |member: &Member<'_>| names.is_empty() || names.contains(&member.key.name);
        let is_marked = |member: &Member<'_>| annotation(&member.value, DELETE_FIRST).is_some();
        let prefers_broken = self.rollout.owner.kind == kubeadm::CONTROL_PLANE_KIND;
        let ranks: [&dyn Fn(&Member<'_>) -> bool; 5] = [
            &|member| is_outdated(member) && is_marked(member),
            &is_marked,
            &|member| prefers_broken && is_outdated(member) && is_broken(member),
            &is_outdated,
            &|_| true,
        ];
        let pools = ranks.iter().map(|rank| all.iter().copied().filter(|member| rank(member)).collect::<Vec<_>>());
        let pool = pools.into_iter().find(|pool| !pool.is_empty()).unwrap_or_default();
        let mut oldest: BTreeMap<Option<&str>, &Member<'j>> = BTreeMap::new();
        for member in pool {
            let age = |member: &Member<'_>| {
                let made = text(&member.value, "/metadata/creationTimestamp").map(str::to_owned);
                (made, member.key.name.clone())
            };
            let first = oldest.entry(text(&member.value, "/spec/failureDomain")).or_insert(member);
            if age(member) < age(first) {
                *first = member;
            }
        }
        oldest.into_values().collect()
    }
}

/// Whether KubeadmControlPlane takes a Machine for one whose components are not healthy: one of them is False. What is Unknown or
/// missing is taken for transient (Cluster API `util/collections/machine_filters.go`, HasUnhealthyControlPlaneComponents, 1.14).
fn is_broken(member: &Member<'_>) -> bool {
    WANTED.iter().any(|name| condition(&member.value, name) == Some("False"))
}
