//! What the gates ask of the clusters that are managed: which Machines go, which Nodes are theirs, and what nobody could see there.
//! Where a gate that holds cannot see, the run is undecided.

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::Judged;
use super::health::{describe, live_owner};
use crate::impact::Rollout;
use crate::kinds::contract::{self, CONTROL_PLANE};
use crate::kinds::fields::text;
use crate::model::{Action, Decision, Effect, Reason, quoted, some_of};
use crate::object::{Key, is_deleting};
use crate::tree::Value;
use crate::world::workload::{Node, Workload};

/// Why nothing is known of a workload cluster.
pub(super) struct Blind {
    pub(super) why: String,
    pub(super) remedy: String,
    /// Whether the policy wants it so.
    pub(super) is_wanted: bool,
}

impl Blind {
    /// What could not be read.
    pub(super) fn of((why, remedy): (&str, &str)) -> Self {
        Self { why: why.to_owned(), remedy: remedy.to_owned(), is_wanted: false }
    }

    /// The reason of a gate that cannot see: a hold would be a guess, and so would be to go on.
    pub(super) fn reason(self, gate: &str, answer: Decision, what: &str, owner: &Key) -> Reason {
        let answer = if answer == Decision::Hold && !self.is_wanted { Decision::Undecided } else { Decision::Warn };
        let message = format!("{owner}: {what} is not known: {}", self.why);
        let reason = Reason::new(format!("health.{gate}"), answer, message).with_next(describe(owner)).of(owner);
        reason.with_advice(&self.remedy)
    }
}

/// The command that asks the workload cluster of an owner: its credentials are those that Cluster API keeps beside it
/// (`<cluster>-kubeconfig`, Cluster API `util/secret/consts.go`).
pub(super) fn there(owner: &Key, cluster: &str, what: &str) -> String {
    let namespace = owner.namespace.as_ref().map_or_else(String::new, |namespace| format!(" -n {}", quoted(namespace)));
    let name = quoted(&format!("{cluster}-kubeconfig"));
    let secret = format!("kubectl get secret {name}{namespace} -o jsonpath='{{.data.value}}'");
    format!("kubectl --kubeconfig <({secret} | base64 -d) {what}")
}

/// Whether Machines of an owner go that are there now, so that their Nodes are drained.
#[must_use]
pub(crate) fn drains(rollout: &Rollout) -> bool {
    matches!(rollout.effect, Effect::Rollout | Effect::Scale | Effect::Delete | Effect::Unknown)
        && rollout.machines != Some(0)
}

/// Whether a Cluster goes as a whole: then no Node of it is drained (Cluster API `core/reconcilers/machine/machine_controller.go`,
/// isDeleteNodeAllowed, 1.14).
pub(super) fn is_cluster_gone(judged: &Judged<'_>, rollout: &Rollout) -> bool {
    let key = contract::cluster(rollout.owner.namespace.as_deref(), &rollout.cluster);
    let is_removed = |pair: &&crate::compare::Pair| pair.key == key && pair.action == Action::Delete;
    judged.pairs.iter().any(|pair| is_removed(&pair))
        || live_owner(judged, &key).is_some_and(|cluster| is_deleting(&cluster))
}

/// What the cluster of an owner said of itself.
pub(super) fn of<'j>(judged: &Judged<'j>, rollout: &Rollout) -> Result<&'j Workload, Blind> {
    let namespace = rollout.owner.namespace.as_deref();
    let is_it = |one: &&Workload| {
        one.cluster == rollout.cluster && (namespace.is_none() || one.namespace.as_deref() == namespace)
    };
    let allowed = &judged.policy.workload;
    let blind =
        |why: &str, remedy: &str, is_wanted| Blind { why: why.to_owned(), remedy: remedy.to_owned(), is_wanted };
    match judged.world.workloads.iter().find(is_it) {
        Some(found) => Ok(found),
        None if !allowed.read => Err(blind(
            "it stands in the workload cluster, where nobody looked",
            "set workload: {read: true} in the policy, or look there yourself",
            true,
        )),
        None if !allowed.includes(namespace, &rollout.cluster) => {
            Err(blind("the policy does not name its cluster under workload.clusters", "", true))
        }
        None => Err(blind(
            "its workload cluster was not asked",
            "plan with --live cluster, or from a snapshot that was taken with workload: {read: true}",
            false,
        )),
    }
}

/// A Machine of a cluster, as it is live.
pub(super) struct Member<'j> {
    pub(super) key: &'j Key,
    pub(super) value: Cow<'j, Value>,
}

impl Member<'_> {
    /// Whether a Node is that of this Machine.
    pub(super) fn has(&self, node: &Node) -> bool {
        let provider = text(&self.value, "/spec/providerID");
        text(&self.value, "/status/nodeRef/name") == Some(&node.name)
            || (provider.is_some() && provider == node.provider_id.as_deref())
            || node.machine.as_deref() == Some(&self.key.name)
    }

    /// Whether it is one of a control plane.
    pub(super) fn is_of_plane(&self) -> bool {
        crate::kinds::fields::label(&self.value, contract::OF_CONTROL_PLANE).is_some()
    }
}

/// The Machines of the cluster of an owner.
pub(super) fn members<'j>(judged: &Judged<'j>, rollout: &Rollout) -> Vec<Member<'j>> {
    let objects = judged.view.machines_of_cluster(&rollout.cluster, rollout.owner.namespace.as_deref());
    objects.filter_map(|object| Some(Member { key: &object.key, value: object.value().ok()? })).collect()
}

/// Which Machines go with an owner's write. Where their names are not known, each of its own may.
pub(super) fn goes(judged: &Judged<'_>, rollout: &Rollout, member: &Member<'_>) -> bool {
    if is_deleting(&member.value) || rollout.machine_names.contains(&member.key.name) {
        return true;
    }
    let is_counted = rollout.machines.is_some_and(|count| count <= rollout.machine_names.len() as u64);
    !is_counted && is_own(judged, rollout, member)
}

/// Whether a Machine is one of an owner's own, as far as is known: one of which nothing is said may be.
fn is_own(judged: &Judged<'_>, rollout: &Rollout, member: &Member<'_>) -> bool {
    if rollout.owner.group == CONTROL_PLANE {
        return member.is_of_plane();
    }
    let owner = super::health::owner_of(judged, member.key, &member.value);
    !member.is_of_plane() && owner.is_none_or(|owner| owner == rollout.owner.name)
}

/// Names with commas; of many only the first ones.
pub(super) fn names(all: &BTreeSet<&str>) -> String {
    some_of(all, 4)
}
