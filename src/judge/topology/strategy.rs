//! The room that the strategy of a group gives when its Machines are replaced: what its topology says, else its class, else what its
//! owner has that neither of them ever said.
//! Read beside `exp/topology/desiredstate/desired_state.go` (computeMachineDeployment, computeControlPlane) of Cluster API 1.14.

use std::sync::Arc;

use crate::judge::stage::Stage;
use crate::judge::topology::blueprint::class_of;
use crate::judge::topology::metadata::says_of_rollout;
use crate::judge::topology::values::list;
use crate::judge::waiting::side::Side;
use crate::kinds::Mirror;
use crate::kinds::contract::CONTROL_PLANE;
use crate::kinds::fields::{target, text};
use crate::object::Key;
use crate::providers::kind;
use crate::tree::{Value, json};

/// Machines above and below the number of a group; `None` where its provider decides, or where it is a share of a number that nobody
/// knows. `said` is what the Cluster says of the group before and after the write.
pub(super) fn room(
    stage: &Stage<'_>,
    cluster: &Key,
    (owner, live): (&Key, Option<&Value>),
    (word, said): (&str, [Option<&Value>; 2]),
    machines: Option<u64>,
) -> Option<(u64, u64)> {
    let mirror = kind(owner).mirror?;
    let holder = if owner.group == CONTROL_PLANE {
        of_control_plane(stage, cluster, mirror, live)
    } else {
        let [before, after] = Side::both(stage);
        let had = said[0].and_then(|group| told(before, cluster, word, group));
        match said[1].and_then(|group| told(after, cluster, word, group)) {
            Some(strategy) => json!({"spec": {"rollout": {"strategy": strategy}}}),
            // What the topology no longer says goes from its owner.
            None if had.is_some() => Value::Null,
            None => live.cloned().unwrap_or_default(),
        }
    };
    let is_share = || {
        let told = holder.pointer("/spec/rollout/strategy/rollingUpdate").and_then(Value::as_object);
        told.is_some_and(|told| told.values().any(Value::is_string))
    };
    if machines.is_none() && is_share() {
        return None;
    }
    Some(mirror.room(&holder, machines.unwrap_or(1)))
}

/// The strategy that a Cluster, or the class behind it, says for a group of workers, in the names of either version.
fn told(side: Side<'_>, cluster: &Key, word: &str, group: &Value) -> Option<Value> {
    // That of v1beta1 may hold nothing but a limit of remediation, which stands elsewhere in v1beta2.
    let is_room = |strategy: &&Value| strategy.get("type").is_some() || strategy.get("rollingUpdate").is_some();
    let strategy = |holder: &Value| {
        let new = holder.pointer("/rollout/strategy");
        new.or_else(|| holder.get("strategy").filter(is_room)).cloned()
    };
    if says_of_rollout(Some(group)) {
        return strategy(group);
    }
    strategy(group).or_else(|| {
        let class = class(side, cluster)?;
        let own = text(group, "/class")?;
        let mut all = list(&class, &format!("/spec/workers/{word}s"));
        all.find(|item| text(item, "/class") == Some(own)).and_then(strategy)
    })
}

/// What holds the strategy of a control plane: the owner, unless the write changes what its template says.
fn of_control_plane(stage: &Stage<'_>, cluster: &Key, mirror: &dyn Mirror, live: Option<&Value>) -> Value {
    let [before, after] = Side::both(stage).map(|side| {
        let class = class(side, cluster)?;
        let name = class_of(cluster, &*side.cluster(cluster)?)?;
        let plane = class.pointer("/spec/controlPlane")?;
        let template = target(plane.get("templateRef").or_else(|| plane.get("ref"))?, name.namespace.as_deref())?;
        let spec = side.get(&template)?.pointer("/spec/template/spec")?.clone();
        Some(json!({"spec": spec}))
    });
    let room = |holder: &Option<Value>| holder.as_ref().map(|holder| mirror.room(holder, 1));
    let is_new = before.is_some() && room(&before) != room(&after);
    live.cloned().filter(|_| !is_new).or(after).unwrap_or_default()
}

/// The class of a Cluster on one side.
fn class(side: Side<'_>, cluster: &Key) -> Option<Arc<Value>> {
    side.get(&class_of(cluster, &*side.cluster(cluster)?)?)
}
