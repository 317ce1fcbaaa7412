//! `rollout.after` of a group of a topology: handed to the control plane or MachineDeployment, which replaces what is older
//! than it once it is over. Read beside `exp/topology/desiredstate/desired_state.go` of Cluster API 1.13 and the mirrors of
//! the two owners: a control plane looks at its Machines, a MachineDeployment at its MachineSets.

use std::sync::Arc;

use jiff::Timestamp;

use crate::judge::stage::Stage;
use crate::judge::topology::weight::owner;
use crate::judge::verdict::Answer;
use crate::kinds::fields::{map_at, text};
use crate::model::Cause;
use crate::model::Effect;
use crate::model::RuleId;
use crate::object::{Key, Path, Segment};
use crate::providers::core::changes::TOPOLOGY_CLOCK;
use crate::providers::core::machine_deployment;
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
    if word != "controlPlane" {
        return is_set_due(stage, &owner, time);
    }
    let members = machines::of_control_plane(stage.scene.view, &owner, &key.name, &stage.versions);
    let ages: Option<Vec<Timestamp>> = members.iter().map(|member| made(&member.machine)).collect();
    ages.and_then(|ages| ages.into_iter().min()).is_none_or(|oldest| oldest < time)
}

/// Whether a MachineDeployment makes a new MachineSet because of a time: none that matches its template was made since. Others do not
/// count, also where they are younger. Where none matches, or it is not known when one was made, the youngest one decides.
fn is_set_due(stage: &Stage<'_>, owner: &Key, time: Timestamp) -> bool {
    let sets = machine_deployment::sets(stage.scene.view, owner, &stage.versions);
    let ages: Option<Vec<Timestamp>> = sets.iter().map(|set| made(&set.value)).collect();
    let Some(youngest) = ages.and_then(|ages| ages.into_iter().max()) else { return true };
    let Some(mut deployment) = stage.before(owner).map(Arc::unwrap_or_clone) else { return true };
    let spec = deployment.get_mut("spec").and_then(Value::as_object_mut);
    let Some(rollout) = spec.and_then(|spec| map_at(spec, "rollout")) else { return true };
    rollout.insert("after".to_owned(), time.to_string().into());
    let is_clock = |cause: &Cause| cause.path.to_string() == "spec.rollout.after";
    let causes = machine_deployment::outdated(&sets, &deployment, &stage.versions, stage.scene.world.now);
    if causes.iter().any(Vec::is_empty) {
        return false;
    }
    youngest < time || causes.iter().flatten().any(is_clock)
}

/// When an object was made.
fn made(object: &Value) -> Option<Timestamp> {
    text(object, "/metadata/creationTimestamp")?.parse().ok()
}
