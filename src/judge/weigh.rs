//! What a write weighs: the Machines that its changes replace or delete, and what else is due among those of an owner: rollouts
//! that wait, stop or never end.

use crate::compare::Pair;
use crate::impact;
use crate::judge::owner::Assessment;
use crate::judge::stage::Stage;
use crate::judge::update::Whole;
use crate::judge::verdict::Answer;
use crate::judge::{plain_owner, selector, topology};
use crate::kinds::contract::CLUSTER_CLASS;
use crate::kinds::{Role, Typed};
use crate::model::{Classified, Effect, Finding, Unit, plural};
use crate::object::Key;

/// One changed object, judged.
pub(super) struct Write<'a> {
    /// What it is.
    pub(super) key: &'a Typed<'a>,
    /// Both sides as they are written.
    pub(super) pair: &'a Pair,
    /// Both sides as they are judged.
    pub(super) whole: &'a Whole,
    /// One answer a change.
    pub(super) answers: &'a [Answer],
    /// Kinds that refer to it after the write.
    pub(super) used_by: &'a [String],
    /// Whether the write is refused.
    pub(super) is_refused: bool,
}

/// The weight of a write. What is refused moves no Machine; what is due beside it is due all the same.
pub(super) fn weigh(stage: &Stage<'_>, write: &Write<'_>, out: &mut Classified) {
    let &Write { key, pair, whole, answers, used_by, is_refused } = write;
    let (old, new) = whole.sides();
    let any = |at_least: Effect| answers.iter().any(|answer| answer.effect >= at_least);
    let is_of_topology =
        matches!(key.known.role, Role::Cluster | Role::Class) || used_by.iter().any(|name| name == CLUSTER_CLASS);
    if is_of_topology && !is_refused && any(Effect::Scale) {
        out.rollouts.extend(topology::rollouts(stage, key, old, new));
    }
    if !is_refused {
        // Machines that are lost are not drained, whatever else the write asks for.
        let lost = selector::rollout(stage, key, old, new);
        match whole.assessment() {
            Some(assessment) => out.rollouts.extend(lost.or_else(|| impact::of(key, &assessment.weighed()))),
            None if key.known.is_plain_owner() => {
                out.rollouts.extend(plain_owner::rollout(stage, key, (old, new), (&pair.changes, answers), lost));
            }
            None => {}
        }
        if answers.iter().any(|answer| answer.effect == Effect::Scale) {
            out.rollouts.extend(plain_owner::bounded(stage, key, (old, new)));
        }
    }
    if let Some(assessment) = whole.assessment() {
        due(key, assessment, out);
    }
}

/// What is due among the Machines of an owner, whatever this write does.
fn due(key: &Typed<'_>, assessment: &Assessment, out: &mut Classified) {
    let count = |units: &mut dyn Iterator<Item = &Unit>| units.map(|unit| unit.count).sum::<u64>();
    let mut finding = |id: &str, message: String| {
        out.findings.push(Finding::new(id, Key::clone(key), message));
    };
    let pending = count(&mut assessment.pending());
    if pending > 0 {
        let unit = assessment.pending().next();
        let causes: Vec<String> =
            unit.map(|unit| unit.before.iter().map(|cause| cause.path.to_string()).collect()).unwrap_or_default();
        let tail = if assessment.is_released() {
            "and this write lets them go"
        } else if out.rollouts.iter().any(|rollout| rollout.owner == **key) {
            "and this write replaces them with the others"
        } else {
            "and this write does not change that"
        };
        finding("pending-rollout", format!("{} out of date already ({}), {tail}", are(pending), causes.join(", ")));
    }
    let cancelled = count(&mut assessment.cancelled());
    if cancelled > 0 {
        finding(
            "cancelled-rollout",
            format!(
                "{} out of date and {} again after this write, so nothing replaces {}",
                are(cancelled),
                if cancelled == 1 { "matches" } else { "match" },
                if cancelled == 1 { "it" } else { "them" }
            ),
        );
    }
    if let Some(cause) = assessment.perpetual.first() {
        finding(
            "perpetual-rollout",
            format!("a Machine that it makes is out of date at once ({}): it would be replaced for ever", cause.path),
        );
    }
}

/// "1 Machine is", "3 Machines are".
fn are(count: u64) -> String {
    format!("{} {}", plural(count, "Machine"), if count == 1 { "is" } else { "are" })
}
