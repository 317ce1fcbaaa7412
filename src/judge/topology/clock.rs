//! `rollout.after` of a group of a topology: handed to the control plane or MachineDeployment, which replaces what is older
//! than it once it is over. Read beside `exp/topology/desiredstate/desired_state.go` of Cluster API 1.13 and the mirrors of
//! the two owners: a control plane looks at its Machines, a MachineDeployment at its MachineSets.

use jiff::Timestamp;

use crate::judge::stage::Stage;
use crate::judge::topology::weight::owner;
use crate::judge::verdict::Answer;
use crate::kinds::fields::text;
use crate::model::Effect;
use crate::model::RuleId;
use crate::object::{Key, Path, Segment};
use crate::providers::core::changes::TOPOLOGY_CLOCK;
use crate::providers::machines;
use crate::tree::Value;

/// The answer about the time itself; `None` for every other field, and where it goes away.
#[must_use]
pub(crate) fn answer(stage: &Stage<'_>, key: &Key, old: &Value, new: &Value, path: &Path) -> Option<Answer> {
    let (word, place) = match path.segments() {
        [Segment::Key(_), Segment::Key(topology), Segment::Key(one), Segment::Key(rollout), Segment::Key(after)]
            if topology == "topology" && one == "controlPlane" && rollout == "rollout" && after == "after" =>
        {
            ("controlPlane", None)
        }
        [
            Segment::Key(_),
            Segment::Key(topology),
            Segment::Key(_),
            Segment::Key(lists),
            Segment::Index(place),
            Segment::Key(rollout),
            Segment::Key(after),
        ] if topology == "topology" && lists == "machineDeployments" && rollout == "rollout" && after == "after" => {
            ("machineDeployment", Some(*place))
        }
        _ => return None,
    };
    if !stage.versions.has(&TOPOLOGY_CLOCK) {
        return None;
    }
    let known =
        |effect, because: &str| Some(Answer::known(stage.rules, effect, RuleId::of("topology/clock")).saying(because));
    let Some(time) = path.get(new).and_then(Value::as_str) else {
        return known(Effect::None, "without a time nothing is replaced because of its age");
    };
    let name = place
        .and_then(|place| new.pointer("/spec/topology/workers/machineDeployments")?.get(place))
        .and_then(|group| text(group, "/name"))
        .unwrap_or_default();
    if is_future(stage, time) {
        let answer = Answer::known(stage.rules, Effect::Rollout, RuleId::of("topology/clock"));
        return Some(answer.held("the time is still to come; what is older is replaced once it has passed"));
    }
    if is_due(stage, key, old, (word, name), time) {
        // The pack's own words.
        return None;
    }
    known(Effect::None, "everything that was read is younger than this time, so nothing is replaced")
}

/// Whether a time is still to come; one that cannot be read is not.
fn is_future(stage: &Stage<'_>, time: &str) -> bool {
    time.parse::<Timestamp>().is_ok_and(|time| time > stage.scene.world.now)
}

/// Whether a time is over and something of a group may be older: true where nothing could be read.
#[must_use]
pub(crate) fn is_due(stage: &Stage<'_>, key: &Key, cluster: &Value, (word, name): (&str, &str), time: &str) -> bool {
    if is_future(stage, time) {
        return false;
    }
    let Ok(time) = time.parse::<Timestamp>() else { return true };
    let owner = owner(stage, key, cluster, word, name);
    let made = |object: &Value| text(object, "/metadata/creationTimestamp")?.parse::<Timestamp>().ok();
    let (ages, takes_youngest): (Vec<_>, bool) = if word == "controlPlane" {
        let members = machines::of_control_plane(stage.scene.view, &owner, &key.name, &stage.versions);
        (members.iter().map(|member| made(&member.machine)).collect(), false)
    } else {
        let sets = stage.scene.view.owned_by(&owner);
        (sets.map(|object| made(object.value().ok()?.as_ref())).collect(), true)
    };
    let known: Vec<Timestamp> = ages.iter().flatten().copied().collect();
    if known.is_empty() || known.len() < ages.len() {
        return true;
    }
    // The MachineSet in use is the youngest one.
    let oldest = if takes_youngest { known.iter().max() } else { known.iter().min() };
    oldest.is_some_and(|made| *made < time)
}
