//! What a write weighs: the Machines that its changes replace or delete.

use crate::compare::Pair;
use crate::impact;
use crate::judge::stage::Stage;
use crate::judge::update::Whole;
use crate::judge::verdict::Answer;
use crate::judge::{due, plain_owner, selector, topology};
use crate::kinds::contract::CLUSTER_CLASS;
use crate::kinds::{Role, Typed};
use crate::model::{Classified, Effect};

/// One changed object, judged.
pub(super) struct Write<'a> {
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
pub(super) fn weigh(stage: &Stage<'_>, key: &Typed<'_>, write: &Write<'_>, out: &mut Classified) {
    let &Write { pair, whole, answers, used_by, is_refused } = write;
    let (old, new) = whole.sides();
    let any = |at_least: Effect| answers.iter().any(|answer| answer.effect >= at_least);
    let is_of_topology =
        matches!(key.known.role, Role::Cluster | Role::Class) || used_by.iter().any(|name| name == CLUSTER_CLASS);
    if is_of_topology && !is_refused && any(Effect::Scale) {
        out.add_weight(topology::rollouts(stage, key, old, new));
    }
    if !is_refused {
        // Machines that are lost are not drained, whatever else the write asks for.
        let lost = selector::rollout(stage, key, old, new);
        match whole.assessment() {
            Some(assessment) => out.add_weight(lost.or_else(|| impact::of(key, &assessment.weighed()))),
            None if key.known.is_plain_owner() => {
                out.add_weight(plain_owner::rollout(stage, key, (old, new), (&pair.changes, answers), lost));
            }
            None => {}
        }
        out.add_weight(plain_owner::behind(stage, key, (old, new), (&pair.changes, answers)));
        if answers.iter().any(|answer| answer.effect == Effect::Scale) {
            out.add_weight(plain_owner::bounded(stage, key, (old, new)));
        }
    }
    if let Some(assessment) = whole.assessment() {
        due::findings(key, assessment, out);
    }
}
