//! What keeps a change of a topology from the Machines of a group: a paused Cluster, a paused owner, a strategy that waits for
//! somebody to delete Machines. The topology controller hands a group's annotations and strategy to the owner of its Machines
//! (`exp/topology/desiredstate/desired_state.go` computeMachineDeployment of Cluster API 1.14), so they are asked for as the
//! write leaves them.

use std::cell::OnceCell;
use std::sync::Arc;

use super::blueprint::class_of;
use super::pending::upgrade_held;
use super::queue::Sequence;
use super::stop;
use super::values::list;
use super::weight::owner;
use crate::judge::stage::Stage;
use crate::judge::verdict::Answer;
use crate::judge::waiting;
use crate::judge::waiting::pause;
use crate::judge::waiting::side::Side;
use crate::kinds::fields::{number, text};
use crate::model::{Act, Effect, Hold, Why, hold_of};
use crate::object::{Key, Path, Segment};
use crate::providers::typed;
use crate::tree::Value;

/// What keeps the controllers from the Machines of the groups of a Cluster once both its sides are written. What stops the topology
/// controller as a whole is asked once for all groups: a cluster has hundreds.
pub(super) struct Holds<'s, 'w> {
    stage: &'s Stage<'w>,
    key: &'s Key,
    sides: (&'s Value, &'s Value),
    stopped: OnceCell<Option<Hold>>,
    /// The MachineDeployments and the MachinePools of the topology after the write.
    sequences: OnceCell<[Sequence<'s>; 2]>,
}

impl<'s, 'w> Holds<'s, 'w> {
    /// Those of a Cluster as it is before and after the write.
    pub(super) const fn of(stage: &'s Stage<'w>, key: &'s Key, sides: (&'s Value, &'s Value)) -> Self {
        Self { stage, key, sides, stopped: OnceCell::new(), sequences: OnceCell::new() }
    }

    /// What keeps them from an act on the Machines of a group.
    #[must_use]
    pub(super) fn hold(&self, (word, name): (&str, &str), act: Act) -> Option<Hold> {
        let Self { stage, key, sides, .. } = self;
        if let Some(hold) = self.stopped.get_or_init(|| stop::hold(stage, key, *sides)) {
            return Some(hold.clone());
        }
        let sequences = || ["machineDeployments", "machinePools"].map(|lists| Sequence::of(sides.1, lists));
        let sequence = match word {
            "machineDeployment" => Some(&self.sequences.get_or_init(sequences)[0]),
            "machinePool" => Some(&self.sequences.get_or_init(sequences)[1]),
            _ => None,
        };
        let held = upgrade_held(stage, key, *sides, (word, name), sequence);
        if let Some(hold) = held.filter(|hold| hold.why.stops(act)) {
            return Some(hold);
        }
        let owner = owner(stage, key, sides.0, word, name);
        let after = Side::after(stage);
        let mut live = after.get(&owner)?;
        let owner = typed(&owner);
        let Some(mirror) = owner.known.mirror else {
            return hold_of(&pause::of_object(after, &owner, &live, Some(key)), act).cloned();
        };
        mirror.fill_in(Arc::make_mut(&mut live), &stage.versions);
        let mut holds = waiting::holds(after, &owner, mirror, &live, Some(key));
        holds.retain(|hold| matches!(hold.why, Why::Paused | Why::RolloutPaused | Why::OnDelete | Why::ByHand));
        hold_of(&holds, act).cloned()
    }
}

/// The answer about a field of a topology, held back where every group that it is about is.
#[must_use]
pub(crate) fn held(stage: &Stage<'_>, key: &Key, (old, new): (&Value, &Value), path: &Path, answer: Answer) -> Answer {
    if !path.starts_with(&["spec", "topology"]) || class_of(key, old).is_none() {
        return answer;
    }
    let (act, groups) = match (answer.effect, falls(old, new, path)) {
        (Effect::Rollout, _) => (Act::Replace, groups(new, path)),
        (Effect::Scale | Effect::Delete, Some(true)) => (Act::Fewer, groups(new, path)),
        (Effect::Scale | Effect::Delete, Some(false)) => (Act::Make, groups(new, path)),
        // Lists of workers that go as a whole; a single one was answered for where it goes.
        (Effect::Delete, None) if path.get(new).is_none() => (Act::Delete, workers(old)),
        _ => return answer,
    };
    let all = Holds::of(stage, key, (old, new));
    let holds: Option<Vec<Hold>> = groups.iter().map(|(word, name)| all.hold((*word, name.as_str()), act)).collect();
    match holds.as_deref().and_then(<[Hold]>::first) {
        Some(hold) => back(answer, hold),
        None => answer,
    }
}

/// An answer that waits for a hold to end.
#[must_use]
pub(super) fn back(answer: Answer, hold: &Hold) -> Answer {
    let because = hold.tells(&answer.because);
    answer.held(because)
}

/// The groups of workers of a topology.
fn workers(cluster: &Value) -> Vec<(&'static str, String)> {
    let of = |(lists, word)| {
        let groups = list(cluster, &format!("/spec/topology/workers/{lists}"));
        groups.map(move |group| (word, text(group, "/name").unwrap_or_default().to_owned()))
    };
    [("machineDeployments", "machineDeployment"), ("machinePools", "machinePool")].into_iter().flat_map(of).collect()
}

/// The groups that a place of a topology is about.
fn groups(cluster: &Value, path: &Path) -> Vec<(&'static str, String)> {
    let all = || [vec![("controlPlane", String::new())], workers(cluster)].concat();
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
