//! Whether a control plane keeps its virtual IP while it rolls: which Node has it, whether that one goes, and who can take it over.
//! kube-vip says it by a Lease, MetalLB by a `ServiceL2Status`; an address of a Node itself moves nowhere.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::speakers::Speakers;
use super::workload::{self, Blind, Member};
use super::{Judged, decision};
use crate::impact::Rollout;
use crate::kinds::contract::{self, CONTROL_PLANE};
use crate::kinds::fields::{annotation, text};
use crate::model::{Decision, Effect, Reason};
use crate::object::is_deleting;
use crate::policy::HealthGates;
use crate::providers::rke2;
use crate::tree::Value;
use crate::world::workload::{Lease, Node, Workload};

/// A Lease that was not renewed for so many times its length is held by nobody.
const STALE: i64 = 2;
/// The Lease of kube-vip for the address of the control plane.
const OF_PLANE: &str = "plndr-cp-lock";
/// What is asked, in words.
const WHAT: &str = "which of its Nodes has the virtual IP";

/// A reason for each control plane that gives its address up, or may.
pub(super) fn reasons(judged: &Judged<'_>) -> Vec<Reason> {
    let health = &judged.policy.gates.health;
    let answer = decision(HealthGates::in_workload(health.vip, judged.policy.workload.read));
    if answer == Decision::Allow {
        return Vec::new();
    }
    let of_plane = |rollout: &&Arc<Rollout>| {
        rollout.owner.group == CONTROL_PLANE
            && matches!(rollout.effect, Effect::Rollout | Effect::Scale | Effect::Unknown)
            && workload::drains(rollout)
    };
    let mut told = BTreeSet::new();
    let rollouts = judged.classified.rollouts.iter().filter(of_plane).filter(|rollout| told.insert(&rollout.owner));
    rollouts.filter_map(|rollout| of(judged, rollout, answer)).collect()
}

/// What is said of one control plane.
fn of(judged: &Judged<'_>, rollout: &Rollout, answer: Decision) -> Option<Reason> {
    let blind = |blind: Blind| Some(blind.reason("vip", answer, WHAT, &rollout.owner));
    let found = match workload::of(judged, rollout) {
        Ok(found) => found,
        Err(why) => return blind(why),
    };
    let nodes = match found.nodes.read() {
        Ok(nodes) => nodes,
        Err(why) => return blind(Blind::of(why)),
    };
    let case = RollingVip { judged, rollout, found, nodes, members: workload::members(judged, rollout) };
    let said = match case.holder() {
        Ok(Holder::None) => Some((Decision::Warn, case.nobody())),
        Ok(Holder::Split(why)) => Some((answer, why)),
        Ok(Holder::One(held)) => case.moved(&held).map(|(most, what)| (answer.min(most), what)),
        Err(why) => return blind(why),
    };
    let (decision, what) = said?;
    let message = format!("{}: {what}", rollout.owner);
    Some(
        Reason::new("health.vip", decision, message)
            .with_next(super::health::describe(&rollout.owner))
            .of(&rollout.owner),
    )
}

/// Who has the address.
enum Holder<'j> {
    /// Nobody who says so.
    None,
    /// Nobody, or more than one, whatever is said: why.
    Split(String),
    /// One Node.
    One(Held<'j>),
}

/// A Node that has the address.
struct Held<'j> {
    node: &'j str,
    /// How it is known.
    by: String,
    way: Way,
}

/// What moves the address.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    KubeVip,
    MetalLb,
    /// Nothing: it is the Node's own.
    Own,
}

struct RollingVip<'c, 'j> {
    judged: &'c Judged<'j>,
    rollout: &'c Rollout,
    found: &'j Workload,
    nodes: &'j [Node],
    members: Vec<Member<'j>>,
}

impl<'j> RollingVip<'_, 'j> {
    /// The addresses that the control plane is reached at (`Cluster.spec.controlPlaneEndpoint`, CAPRKE2 `spec.registrationAddress`).
    fn addresses(&self) -> BTreeSet<String> {
        let owner = &self.rollout.owner;
        let cluster = contract::cluster(owner.namespace.as_deref(), &self.rollout.cluster);
        let told =
            |key, pointer: &str| after(self.judged, key).and_then(|object| text(&object, pointer).map(str::to_owned));
        let host = told(&cluster, "/spec/controlPlaneEndpoint/host");
        host.into_iter().chain(told(owner, "/spec/registrationAddress")).collect()
    }

    /// Who has the address now.
    fn holder(&self) -> Result<Holder<'j>, Blind> {
        let addresses = self.addresses();
        let announced = self.found.announced.read().map_err(Blind::of);
        let of_address: Vec<_> = announced
            .iter()
            .flat_map(|all| all.iter())
            .filter(|one| one.addresses.iter().any(|address| addresses.contains(address)))
            .collect();
        let announcing: BTreeSet<&str> = of_address.iter().map(|one| one.node.as_str()).collect();
        if let ([first, ..], 2..) = (of_address.as_slice(), announcing.len()) {
            let names = workload::names(&announcing);
            return Ok(Holder::Split(format!(
                "MetalLB announces Service {} from more than one Node ({names}): its address is split already",
                first.service
            )));
        }
        if let [first, ..] = of_address.as_slice() {
            let by = format!("ServiceL2Status of Service {}", first.service);
            return Ok(Holder::One(Held { node: &first.node, by, way: Way::MetalLb }));
        }
        let leases = self.found.leases.read().map_err(Blind::of);
        let lease =
            leases.as_ref().ok().and_then(|all| all.iter().find(|lease| lease.name == OF_PLANE).or(all.first()));
        if let Some(lease) = lease {
            return Ok(self.by_lease(lease));
        }
        let own = |node: &&Node| node.addresses.iter().any(|address| addresses.contains(address));
        let mut owns = self.nodes.iter().filter(own);
        if let (Some(node), None) = (owns.next(), owns.next()) {
            let by = "the control plane is reached at an address of the Node itself".to_owned();
            return Ok(Holder::One(Held { node: &node.name, by, way: Way::Own }));
        }
        leases?;
        let is_name = |address: &String| address.parse::<std::net::IpAddr>().is_err();
        // Behind a name any of the addresses that MetalLB announces may stand.
        match announced?.is_empty() || !(addresses.is_empty() || addresses.iter().any(is_name)) {
            true => Ok(Holder::None),
            false => Err(Blind::of((
                "MetalLB announces addresses, and the control plane endpoint is not known as an address",
                "see which Node announces it: ServiceL2Status objects in the workload cluster",
            ))),
        }
    }

    fn by_lease(&self, lease: &'j Lease) -> Holder<'j> {
        let name = format!("Lease kube-system/{}", lease.name);
        let age = lease.renewed.map(|renewed| self.found.taken.duration_since(renewed).as_secs());
        let lasts = lease.seconds.and_then(|seconds| i64::try_from(seconds).ok()).unwrap_or(15);
        match (&lease.holder, age) {
            (None, _) => Holder::Split(format!(
                "{name} of kube-vip has no holder, so nobody can say which Node has its virtual IP"
            )),
            (Some(node), Some(age)) if age > lasts.saturating_mul(STALE) => Holder::Split(format!(
                "{name} of kube-vip was not renewed by {node} for {age} seconds, and lasts {lasts}: nobody can say who has the virtual IP"
            )),
            (Some(_), None) => Holder::Split(format!("{name} of kube-vip does not say when it was renewed")),
            (Some(node), Some(_)) => Holder::One(Held { node, by: name, way: Way::KubeVip }),
        }
    }

    /// What is said where neither kube-vip nor MetalLB has the address.
    fn nobody(&self) -> String {
        let addresses = self.addresses();
        let at = match addresses.is_empty() {
            true => "an unknown address".to_owned(),
            false => addresses.into_iter().collect::<Vec<_>>().join(", "),
        };
        format!(
            "it is reached at {at}, which neither kube-vip, nor MetalLB, nor one Node has; whether a load balancer outside or \
             keepalived moves it is not seen"
        )
    }

    /// What becomes of the address, and the most that may be answered; `None` where its Node stays.
    fn moved(&self, held: &Held<'_>) -> Option<(Decision, String)> {
        let Held { node: name, by, way } = held;
        let node = self.nodes.iter().find(|node| node.name == *name);
        let member = node.and_then(|node| self.members.iter().find(|member| member.has(node)));
        let Some(member) = member else {
            let what = format!("{name} has the virtual IP ({by}), and no Machine of the cluster is that Node");
            return Some((Decision::Hold, what));
        };
        if !workload::goes(self.judged, self.rollout, member) {
            return None;
        }
        let goes = if self.rollout.machine_names.contains(&member.key.name) { "goes" } else { "may go" };
        let has = format!("Node {name} (Machine {}) holds the virtual IP ({by}) and {goes}", member.key.name);
        let (can, cannot) = self.others(name, *way);
        let is_alone = can.is_empty() && cannot.is_empty();
        if *way == Way::Own {
            return Some((Decision::Hold, format!("{has}; nothing takes that address over")));
        }
        if can.is_empty() {
            let surges =
                self.rollout.effect == Effect::Rollout && self.rollout.max_surge.is_some_and(|surge| surge > 0);
            return Some(match is_alone {
                true if surges => {
                    (Decision::Warn, format!("{has}; only the new Machine that is made before can take it over"))
                }
                true => (Decision::Hold, format!("{has}; there is no other Node of the control plane to take it over")),
                false => {
                    let why = cannot.join(", ");
                    (Decision::Hold, format!("{has}; no other control plane Node can take it over: {why}"))
                }
            });
        }
        let hint = if *way == Way::MetalLb {
            format!("{}{}", self.exclusion(), Speakers::of(self.found).says(name))
        } else {
            String::new()
        };
        Some((Decision::Warn, format!("{has}; {} can take it over{hint}", workload::names(&can))))
    }

    /// The other Nodes of the control plane: those that can take an address over, and why others cannot.
    fn others(&self, holder: &str, way: Way) -> (BTreeSet<&'j str>, Vec<String>) {
        let (mut can, mut cannot) = (BTreeSet::new(), Vec::new());
        for node in self.nodes.iter().filter(|node| node.name != holder) {
            let member = self.members.iter().find(|member| member.has(node));
            if !(node.control_plane || member.is_some_and(Member::is_of_plane)) {
                continue;
            }
            let why = match () {
                () if !node.ready => Some("is not ready"),
                () if member.is_none() => Some("has no Machine"),
                () if member.is_some_and(|member| is_deleting(&member.value)) => Some("is being deleted"),
                () if way == Way::MetalLb => Speakers::of(self.found).keeps_from(node),
                () => None,
            };
            match why {
                None => drop(can.insert(node.name.as_str())),
                Some(why) => cannot.push(format!("{} {why}", node.name)),
            }
        }
        (can, cannot)
    }

    /// CAPRKE2 can take a Node from the load balancers before it drains it, where the control plane says so; without that a Node which
    /// lost its etcd member may go on announcing.
    fn exclusion(&self) -> &'static str {
        let owner = &self.rollout.owner;
        if owner.kind == rke2::CONTROL_PLANE_KIND && !Speakers::of(self.found).honour_exclusion() {
            return "; with --ignore-exclude-lb its speakers do not mind the annotation load-balancer-exclusion, so the old Node may go on \
                    announcing it while it is torn down";
        }
        let is_told = |owner: &Value| annotation(owner, rke2::EXCLUSION) == Some("true");
        match owner.kind == rke2::CONTROL_PLANE_KIND && !after(self.judged, owner).is_some_and(|owner| is_told(&owner))
        {
            true => {
                "; without its annotation load-balancer-exclusion: \"true\" the old Node may go on announcing it while it is torn down"
            }
            false => "",
        }
    }
}

/// An object as it will be, else as it is.
fn after(judged: &Judged<'_>, key: &crate::object::Key) -> Option<Value> {
    let written = judged.written(key).next();
    match written.and_then(|pair| pair.predicted.clone()) {
        Some(predicted) => Some(predicted),
        None => super::health::live_owner(judged, key),
    }
}
