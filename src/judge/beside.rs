//! Owners of Machines that roll already while others of their cluster start to: nothing but a gate keeps them apart, as each has a controller of
//! its own (`controlplane/kubeadm/reconcilers/kubeadmcontrolplane` and `core/reconcilers/machinedeployment` of Cluster API 1.14).

use std::collections::BTreeSet;
use std::sync::Arc;

use super::owner::Assessment;
use super::stage::Stage;
use crate::apiserver::admission::Sides;
use crate::hashed::HashSet;
use crate::kinds::{contract, fields};
use crate::model::{Basis, Effect, Rollout};
use crate::object::{Key, is_deleting};
use crate::parallel;
use crate::providers::kind;

/// The owners of the clusters of these rollouts that have none of their own and replace Machines already, each with how many are left and how
/// many of them its strategy lets go missing at one time.
pub(super) fn rolling(stage: &Stage<'_>, rollouts: &[Arc<Rollout>]) -> Vec<Arc<Rollout>> {
    let rolls = rollouts.iter().filter(|rollout| rollout.effect == Effect::Rollout);
    let clusters: BTreeSet<(Option<&str>, &str)> =
        rolls.map(|rollout| (rollout.owner.namespace.as_deref(), rollout.cluster.as_str())).collect();
    let own: HashSet<&Key> = rollouts.iter().map(|rollout| &rollout.owner).collect();
    let clusters: Vec<_> = clusters.into_iter().filter(|(_, name)| !name.is_empty()).collect();
    let of_cluster = |(namespace, name): &(Option<&str>, &str)| -> Vec<Arc<Rollout>> {
        let cluster = contract::cluster(*namespace, name);
        let others = stage.owners_of(&cluster).into_iter().filter(|owner| !own.contains(owner));
        others.filter_map(|owner| under_way(stage, owner, name)).map(Arc::new).collect()
    };
    parallel::map(&clusters, of_cluster).into_iter().flatten().collect()
}

/// What an owner still replaces whatever is written, where that was read and nothing holds it back.
fn under_way(stage: &Stage<'_>, owner: &Key, cluster: &str) -> Option<Rollout> {
    let mirror = kind(owner).mirror?;
    let (old, new) = (stage.before(owner)?, stage.after(owner)?);
    if is_deleting(&old) {
        return None;
    }
    let sides = Sides { old: (*old).clone(), new: (*new).clone() };
    let assessment = Assessment::of(stage, owner, mirror, sides);
    let left: u64 = assessment.pending().map(|unit| unit.count).sum();
    if left == 0 || assessment.basis != Basis::Machines || assessment.waits() {
        return None;
    }
    let wanted = fields::wanted(&assessment.new, Some(&assessment.old));
    let (surge, unavailable) = mirror.room(&assessment.new, wanted);
    let plain = Rollout::plain(owner, cluster, Effect::Rollout, Vec::new(), left);
    Some(Rollout { max_surge: Some(surge), max_unavailable: Some(unavailable.min(left)), ..plain })
}
