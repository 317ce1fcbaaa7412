//! Lengths of time that the API server takes as text and that no controller can read: it stops with an error for the whole object.

use super::stage::Stage;
use super::verdict::Answer;
use crate::model::{Effect, RuleId};
use crate::object::{Path, Segment, go_duration};
use crate::tree::Value;

/// The lengths of time that control planes and workers of every provider have (Cluster API `api/core/v1beta1/machine_types.go`, MachineSpec;
/// their CRDs say no more than that they are texts).
const TIMEOUTS: [&str; 3] = ["nodeDrainTimeout", "nodeVolumeDetachTimeout", "nodeDeletionTimeout"];

/// The answer about a new value of one of them, where no webhook has refused it and Go reads no length of time in it (`time.ParseDuration`).
pub(super) fn answer(stage: &Stage<'_>, path: &Path, after: Option<&Value>) -> Option<Answer> {
    let Some(Segment::Key(last)) = path.segments().last() else { return None };
    let text = after?.as_str().filter(|_| TIMEOUTS.contains(&last.as_str()))?;
    if !path.starts_with(&["spec"]) || go_duration(text).is_some() {
        return None;
    }
    Some(Answer::known(stage.rules, Effect::Unknown, RuleId::of("any/no-duration")))
}
