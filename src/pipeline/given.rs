//! The way of a write of which both sides are given: it enters where others have been predicted, and is judged as they are.

use super::conclusion::Conclusion;
use super::grounds::Grounds;
use super::{Fault, Judgement, Question};
use crate::host::{self, Given};
use crate::late::Resolution;
use crate::object::Stream;
use crate::report;
use crate::rules::Rules;
use crate::world::World;

/// Judges one write of which both sides are given, by rules that [`super::rules`] made of the policy. The stream of the question is
/// not read; no late value is filled in, since what is written is what was sent.
///
/// # Errors
/// When a side is not what Kubernetes reads.
pub(crate) fn judge_given(
    question: &Question,
    rules: &Rules,
    world: &World,
    write: Given<'_>,
) -> Result<Judgement, Fault> {
    let prediction = host::given(write, world)?;
    let objects: Vec<_> = write.after.cloned().into_iter().collect();
    let rendered = Stream { documents: objects.len(), objects: objects.into(), nameless: Vec::new() };
    let resolution = Resolution::nothing();
    let grounds = Grounds { question, world, rules, rendered: &rendered, resolution: &resolution };
    let Conclusion { mut report, approvals, glass, spending, images, .. } = grounds.judge(prediction);
    report::escape::report(&mut report);
    let (stream, pins) = (question.stream.bytes().clone(), Vec::new());
    Ok(Judgement { report, stream, pins, approvals, glass, spending, images, whole: None })
}
