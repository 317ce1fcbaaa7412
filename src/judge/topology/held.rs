//! What keeps a change of a topology from the Machines of a group: a paused Cluster, a paused owner, a strategy that waits for
//! somebody to delete Machines. The topology controller hands a group's annotations and strategy to the owner of its Machines
//! (`exp/topology/desiredstate/desired_state.go` computeMachineDeployment of Cluster API 1.14), so they are asked for as the
//! write leaves them.

use std::sync::Arc;

use serde_json::{Value, json};

use super::blueprint::class_of;
use super::metadata::STRATEGY;
use super::values::list;
use super::weight::{Groups, owner};
use crate::judge::stage::Stage;
use crate::judge::verdict::Answer;
use crate::judge::waiting;
use crate::judge::waiting::pause;
use crate::judge::waiting::side::Side;
use crate::kinds::fields::{number, text};
use crate::model::{Act, Effect, Hold, Why, hold_of};
use crate::object::{Key, Path, Segment};
use crate::providers::kind;

/// A group of a Cluster before and after the write.
#[derive(Debug, Clone, Copy)]
pub(super) struct Group<'v> {
    /// `controlPlane`, `machineDeployment` or `machinePool`.
    pub(super) word: &'v str,
    /// Its name in the topology; empty for the control plane.
    pub(super) name: &'v str,
    /// What the Cluster says of it before the write.
    pub(super) before: Option<&'v Value>,
    /// What the Cluster says of it after the write.
    pub(super) after: Option<&'v Value>,
}

/// What keeps the controllers from an act on the Machines of a group once both sides of a Cluster are written.
#[must_use]
pub(super) fn hold(
    stage: &Stage<'_>,
    key: &Key,
    (old, new): (&Value, &Value),
    group: Group<'_>,
    act: Act,
) -> Option<Hold> {
    if pause::is_paused_cluster(new) || pause::is_annotated(new) {
        return Some(Hold {
            why: Why::Paused,
            places: vec![(key.clone(), Some(Path::root().key("spec").key("paused")))],
            says: format!("{key} is paused"),
            over: format!("{key} is no longer paused"),
        });
    }
    let owner = owner(stage, key, old, group.word, group.name);
    let mut live = stage.before(&owner)?;
    let after = Side::after(stage);
    hand_down(stage, key, (old, new), group, Arc::make_mut(&mut live));
    let Some(mirror) = kind(&owner).mirror else {
        return hold_of(&pause::of_object(after, &owner, &live, Some(key)), act).cloned();
    };
    mirror.fill_in(Arc::make_mut(&mut live), &stage.versions);
    let mut holds = waiting::holds(after, &owner, mirror, &live, Some(key));
    holds.retain(|hold| matches!(hold.why, Why::Paused | Why::RolloutPaused | Why::OnDelete));
    hold_of(&holds, act).cloned()
}

/// Gives the owner of a group what decides whether its Machines wait, as the topology has it after the write.
fn hand_down(stage: &Stage<'_>, key: &Key, (old, new): (&Value, &Value), group: Group<'_>, live: &mut Value) {
    let paused = |side: Option<&Value>| side?.pointer("/metadata/annotations/cluster.x-k8s.io~1paused").cloned();
    match (paused(group.before), paused(group.after)) {
        (_, Some(paused)) => live["metadata"]["annotations"][pause::ANNOTATION] = paused,
        (Some(_), None) => {
            let annotations = live.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut);
            annotations.map(|annotations| annotations.shift_remove(pause::ANNOTATION));
        }
        (None, None) => {}
    }
    if group.word != "machineDeployment" {
        return;
    }
    let strategy = |side: Option<&Value>, class: Option<Arc<Value>>| {
        let own = text(side?, "/class")?;
        let of = |holder: &Value| STRATEGY.iter().find_map(|place| holder.pointer(place)).cloned();
        side.and_then(of).or_else(|| {
            let class = class?;
            let workers = list(&class, "/spec/workers/machineDeployments");
            workers.into_iter().find(|workers| text(workers, "/class") == Some(own)).and_then(of)
        })
    };
    let class_of = |cluster: &Value| class_of(key, cluster);
    let before = strategy(group.before, class_of(old).and_then(|class| stage.before(&class)));
    let after = strategy(group.after, class_of(new).and_then(|class| stage.after(&class)));
    match (before, after) {
        (_, Some(told)) => live["spec"]["rollout"]["strategy"]["type"] = told,
        (Some(_), None) => live["spec"]["rollout"]["strategy"]["type"] = json!("RollingUpdate"),
        (None, None) => {}
    }
}

/// The answer about a field of a topology, held back where every group that it is about is.
#[must_use]
pub(crate) fn held(stage: &Stage<'_>, key: &Key, (old, new): (&Value, &Value), path: &Path, answer: Answer) -> Answer {
    if !path.starts_with(&["spec", "topology"]) || class_of(key, old).is_none() {
        return answer;
    }
    let act = match answer.effect {
        Effect::Rollout => Act::Replace,
        Effect::Scale | Effect::Delete => match falls(old, new, path) {
            Some(true) => Act::Fewer,
            Some(false) => Act::Make,
            None => return answer,
        },
        _ => return answer,
    };
    let (groups, sides) = (groups(new, path), Groups::both(old, new));
    let holds: Option<Vec<Hold>> =
        groups.iter().map(|(word, name)| hold(stage, key, (old, new), sides.group(word, name), act)).collect();
    match holds.as_deref().and_then(<[Hold]>::first) {
        Some(hold) => back(answer, hold),
        None => answer,
    }
}

/// An answer that waits for a hold to end.
#[must_use]
pub(super) fn back(answer: Answer, hold: &Hold) -> Answer {
    let said = answer.because.trim_end_matches('.');
    let because = format!("{said}; {}, so this is held back and lands when {}", hold.says, hold.over);
    answer.held(because)
}

/// The groups that a place of a topology is about.
fn groups(cluster: &Value, path: &Path) -> Vec<(&'static str, String)> {
    let all = || {
        let mut all = vec![("controlPlane", String::new())];
        for (lists, word) in [("machineDeployments", "machineDeployment"), ("machinePools", "machinePool")] {
            let groups = list(cluster, &format!("/spec/topology/workers/{lists}"));
            all.extend(groups.map(|group| (word, text(group, "/name").unwrap_or_default().to_owned())));
        }
        all
    };
    match path.segments() {
        [_, _, Segment::Key(one), ..] if one == "controlPlane" => vec![("controlPlane", String::new())],
        [_, _, Segment::Key(workers), Segment::Key(lists), Segment::Index(place), ..] if workers == "workers" => {
            let word = if lists == "machinePools" { "machinePool" } else { "machineDeployment" };
            let name = cluster.pointer(&format!("/spec/topology/workers/{lists}/{place}/name"));
            vec![(word, name.and_then(Value::as_str).unwrap_or_default().to_owned())]
        }
        _ => all(),
    }
}

/// Whether the number at a place falls; `None` where it is no number of Machines.
fn falls(old: &Value, new: &Value, path: &Path) -> Option<bool> {
    if path.segments().last() != Some(&Segment::Key("replicas".to_owned())) {
        return None;
    }
    let count = |side: &Value| path.get(side).and_then(Value::as_u64);
    Some(count(new).unwrap_or(0) < count(old).unwrap_or(0))
}

/// How many Machines the owner of a group has, where that is known.
#[must_use]
pub(super) fn count(live: &Value, names: usize) -> Option<u64> {
    if names > 0 {
        return u64::try_from(names).ok();
    }
    number(live, "/status/replicas").or_else(|| number(live, "/spec/replicas"))
}
