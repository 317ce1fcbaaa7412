//! The members of etcd one by one: what their controller says of them, and what the Pods of etcd show where they may be read.
//! etcd itself is not asked: alarms, and members whose Node is gone, are known by the controller's conditions alone.

use std::collections::BTreeMap;

use super::workload::{self, Member};
use super::{Blind, Judged};
use crate::impact::Rollout;
use crate::kinds::fields::text;
use crate::kinds::standing::{condition, message};
use crate::providers::rke2;
use crate::tree::Value;
use crate::world::workload::{EtcdPod, Workload};

/// What a Machine says of its member.
pub(super) const MEMBER: &str = "EtcdMemberHealthy";
/// What the control plane says of all members.
pub(super) const CLUSTER: &str = "EtcdClusterHealthy";

/// What KubeadmControlPlane says of a member that is no voter yet (Cluster API `controlplane/kubeadm/pkg/workload_cluster_conditions.go`,
/// updateManagedEtcdConditions, 1.14).
const LEARNS: &str = "learner etcd member";
/// What it says of a member that no Machine is behind, around its name, and instead of one where it has none yet (same file,
/// compareMachinesAndMembers).
const ORPHAN: (&str, &str) = ("Etcd member ", " does not have a corresponding Machine");
const NAMELESS: &str = "(Name not yet assigned)";

/// The members of a control plane.
pub(super) struct Members<'j> {
    pub(super) machines: Vec<Member<'j>>,
    /// Members without a Machine: their name, and whether they are healthy.
    pub(super) orphans: BTreeMap<String, bool>,
    /// Members without a name.
    pub(super) nameless: u64,
    /// Whether the Pods of etcd are there, by Node; `None` where none was seen.
    pods: Option<BTreeMap<&'j str, bool>>,
    /// Whether the controller asks etcd at all.
    is_asked: bool,
}

impl<'j> Members<'j> {
    /// What is known, and why the Pods of etcd are not, where somebody wants them read.
    pub(super) fn of(judged: &Judged<'j>, rollout: &Rollout, live: Option<&Value>) -> (Self, Option<Blind>) {
        let mut machines = workload::members(judged, rollout);
        machines.retain(Member::is_of_plane);
        let found = workload::of(judged, rollout).ok();
        let (pods, blind) = match found.and_then(|found| found.etcd.as_ref()).map(|told| told.read()) {
            Some(Ok(pods)) => (Some(pods.as_slice()), None),
            Some(Err(why)) => (None, Some(Blind::of(why))),
            None => (None, None),
        };
        // Where etcd is no static Pod (Talos, k0s) no Pod says anything.
        let pods = pods.filter(|pods| !pods.is_empty());
        let (mut orphans, nameless) =
            live.and_then(|live| message(live, CLUSTER)).map(told_orphans).unwrap_or_default();
        if let (Some(found), Some(pods)) = (found, pods) {
            orphans.extend(seen_orphans(found, pods, &machines));
        }
        let pods = pods.map(|pods| pods.iter().map(|pod| (pod.node.as_str(), pod.ready)).collect());
        // CAPRKE2 0.21 says True of each Machine with a Node (`pkg/rke2/workload_cluster.go`, updateManagedEtcdConditions).
        let is_asked = rollout.owner.kind != rke2::CONTROL_PLANE_KIND;
        (Self { machines, orphans, nameless, pods, is_asked }, blind)
    }

    /// Whether nobody says anything of any member: an older provider, and no Pod was seen.
    pub(super) fn is_silent(&self) -> bool {
        self.pods.is_none() && !self.is_told()
    }

    fn is_told(&self) -> bool {
        self.machines.iter().any(|member| condition(&member.value, MEMBER).is_some())
    }

    /// Whether the member of a Machine is known to be a healthy voter: its controller says so, where it says anything of any, and the
    /// Pod of etcd on its Node is ready, where these were seen.
    pub(super) fn is_healthy(&self, member: &Member<'_>) -> bool {
        let is_told = condition(&member.value, MEMBER) == Some("True") || !self.is_told();
        is_told && self.pod(member) != Some(false)
    }

    /// Whether the Pod of etcd of a Machine is ready; `None` where no Pods were seen.
    fn pod(&self, member: &Member<'_>) -> Option<bool> {
        let pods = self.pods.as_ref()?;
        let node = text(&member.value, "/status/nodeRef/name");
        Some(node.and_then(|node| pods.get(node)).is_some_and(|ready| *ready))
    }

    /// Members that vote or will: the Machines' own, and those without a Machine. One that only learns has no vote.
    pub(super) fn voters(&self) -> u64 {
        let learn = self.machines.iter().filter(|member| learns(member)).count();
        (self.machines.len() - learn + self.orphans.len()) as u64
    }

    /// All of them.
    pub(super) fn count(&self) -> u64 {
        (self.machines.len() + self.orphans.len()) as u64 + self.nameless
    }

    /// Those that are not healthy; what only learns or has no name counts among them, as it does for the controller
    /// (`remediation.go`, targetEtcdClusterHealthy, 1.14).
    pub(super) fn bad(&self) -> u64 {
        let ill = self.machines.iter().filter(|member| !self.is_healthy(member)).count();
        let lost = self.orphans.values().filter(|healthy| !**healthy).count();
        (ill + lost) as u64 + self.nameless
    }

    /// Those that are no voters yet: while there is one, the controller takes no step.
    pub(super) fn learners(&self) -> Vec<String> {
        let machines = self.machines.iter().filter(|member| learns(member)).map(|member| member.key.name.clone());
        let nameless = (0..self.nameless).map(|_| "a member without a name".to_owned());
        machines.chain(nameless).collect()
    }

    /// What is odd about them beside their number, as ends of a sentence.
    pub(super) fn notes(&self) -> String {
        let mut out = Vec::new();
        let learners = self.learners();
        if !learners.is_empty() {
            out.push(format!("{} is a learner and no voter yet", learners.join(", ")));
        }
        for (name, healthy) in &self.orphans {
            out.push(format!("member {name} has no Machine{}", if *healthy { "" } else { " and is not ready" }));
        }
        let is_bare = |member: &&Member<'_>| self.pod(member) == Some(false);
        let without: Vec<&str> = self.machines.iter().filter(is_bare).map(|member| member.key.name.as_str()).collect();
        if !without.is_empty() {
            out.push(format!("no Pod of etcd is ready on the Node of {}", without.join(", ")));
        }
        if self.pods.is_none() && !self.is_asked {
            let why = "its controller says healthy of each Machine with a Node, and nobody looked at the Pods of etcd";
            out.push(why.to_owned());
        }
        out.iter().map(|note| format!("; {note}")).collect()
    }
}

/// Whether the member of a Machine waits to become a voter.
fn learns(member: &Member<'_>) -> bool {
    condition(&member.value, MEMBER) == Some("False")
        && message(&member.value, MEMBER).is_some_and(|told| told.contains(LEARNS))
}

/// The members without a Machine that a control plane names, and how many more have no name. Its controller takes one with a name for
/// healthy as long as it has no alarm.
fn told_orphans(told: &str) -> (BTreeMap<String, bool>, u64) {
    let names = told.split(ORPHAN.0).skip(1).filter_map(|rest| rest.split_once(ORPHAN.1)).map(|(name, _)| name.trim());
    let (nameless, named): (Vec<&str>, Vec<&str>) = names.partition(|name| name.contains(NAMELESS));
    (named.into_iter().map(|name| (name.to_owned(), true)).collect(), nameless.len() as u64)
}

/// Pods of etcd on Nodes that no Machine is behind.
fn seen_orphans<'a>(
    found: &'a Workload,
    pods: &'a [EtcdPod],
    machines: &'a [Member<'_>],
) -> impl Iterator<Item = (String, bool)> {
    let nodes = found.nodes.read().map(Vec::as_slice).unwrap_or_default();
    let has_machine = |name: &str| {
        machines.iter().any(|member| {
            text(&member.value, "/status/nodeRef/name") == Some(name)
                || nodes.iter().any(|node| node.name == name && member.has(node))
        })
    };
    let alone = pods.iter().filter(move |pod| !has_machine(&pod.node));
    alone.map(|pod| (pod.node.clone(), pod.ready))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_without_a_machine_are_read_from_what_their_controller_says() {
        let told = "* Machine cp-0:\n  * EtcdMemberHealthy: x\n* Etcd member node-9 does not have a corresponding Machine\n\
                    * Etcd member 77 (Name not yet assigned) does not have a corresponding Machine";
        let (orphans, nameless) = told_orphans(told);
        assert_eq!((orphans.into_keys().collect::<Vec<_>>(), nameless), (vec!["node-9".to_owned()], 1));
        assert_eq!(told_orphans("* Machine cp-0: Etcd reports alarms: NOSPACE"), (BTreeMap::new(), 0));
    }
}
