//! The data flow, written once: a question and a World become a judgement.
//! Everything here is pure; reading comes before it and committing after it.

mod arrivals;
mod conclusion;
mod first_install;
#[cfg(feature = "serve")]
mod given;
mod grounds;
mod question;
mod set_back;

use std::borrow::Cow;

use self::conclusion::Conclusion;
use self::grounds::Grounds;
use crate::apiserver;
use crate::gate;
use crate::host::{self, Prediction};
use crate::late::{self, Stays};
use crate::object::{Inventory, StreamText};
use crate::policy::Policy;
use crate::report;
use crate::rules::{Rules, UserFault};
use crate::tree::Value;
use crate::world::World;

#[cfg(feature = "serve")]
pub(crate) use self::given::judge_given;
pub(crate) use self::question::Beyond;
pub(crate) use self::question::{Apart, Judgement};
pub use self::question::{Fault, Question};
pub(crate) use self::set_back::point_at;

/// Judges a question. Depends on nothing but its arguments and the clock in the World.
///
/// # Errors
/// When the stream cannot be read, or a rule of the user.
pub fn judge(question: &Question, world: &World) -> Result<Judgement, Fault> {
    let (whole, rolling) = judge_all(question, world)?;
    set_back::weigh(question, world, whole, rolling)
}

/// Judges the stream as it is, and says what in it replaces or destroys Machines, where that is asked for.
fn judge_all(question: &Question, world: &World) -> Result<(Judgement, Vec<Stays>), Fault> {
    let rules = rules(&question.policy).map_err(Fault::Rules)?;
    let Filled { text, mut resolution } = filled(question, world)?;
    let rendered = text.stream()?;
    first_install::weigh(question, world, &text, &rendered.objects, &mut resolution)?;
    // With an upgrade alone nobody writes anything.
    let mut prediction = Prediction::default();
    if question.upgrade.is_empty() {
        prediction = host::predict(&rendered.objects, world)?;
        host::refuse_nameless(&mut prediction, &rendered.nameless, world);
    }
    let grounds = Grounds { question, world, rules: &rules, rendered, resolution: &resolution };
    let Conclusion { mut report, approvals, glass, spending, rolling, images } = grounds.judge(prediction);
    report::escape::report(&mut report);
    let stream = text.bytes().clone();
    let judgement =
        Judgement { report, stream, pins: resolution.pins, approvals, glass, spending, images, whole: None };
    Ok((judgement, rolling))
}

/// What the host is about to send to the API server of the World, late values filled in, so that it can be asked about it.
///
/// # Errors
/// When the stream cannot be read.
pub(crate) fn writes(question: &Question, world: &World) -> Result<Vec<host::Write>, Fault> {
    let filled = filled(question, world)?;
    Ok(host::writes(&filled.text.stream()?.objects, world)?)
}

/// What stands outside of the cluster that was read, as far as this World shows that it matters.
///
/// # Errors
/// As [`judge`].
pub(crate) fn beyond(question: &Question, world: &World) -> Result<Beyond, Fault> {
    let Judgement { report, images, .. } = judge(question, world)?;
    let drained = report.rollouts.into_iter().filter(|rollout| gate::drains(rollout) && !rollout.cluster.is_empty());
    Ok(Beyond { clusters: drained.map(|rollout| (rollout.owner.namespace.clone(), rollout.cluster)).collect(), images })
}

/// What is rendered, late values filled in as far as they are known.
///
/// # Errors
/// When the stream cannot be read.
pub(crate) fn rendered(question: &Question, world: &World) -> Result<Inventory, Fault> {
    Ok(filled(question, world)?.text.stream()?.objects.clone())
}

/// A stream with its late values filled in.
struct Filled<'a> {
    /// Its text.
    text: StreamText,
    /// What became of the late values.
    resolution: late::Resolution<'a>,
}

/// Fills in the late values.
fn filled<'a>(question: &'a Question, world: &'a World) -> Result<Filled<'a>, Fault> {
    let before = question.stream.stream()?;
    for object in before.objects.objects() {
        // What can be shown as it stands is judged, and refused by name.
        if let Some(why) = apiserver::bad_name(&object.key).filter(|_| !apiserver::is_plain_name(&object.key)) {
            return Err(Fault::Name { line: object.line, object: object.key.to_string(), why });
        }
    }
    let mut resolution = late::resolve(&question.stream, &before.objects, &question.policy, world, question.reach);
    let kept = late::keep(&resolution.bytes, &question.policy, world);
    resolution.take_over(kept, &question.policy);
    let text = match std::mem::replace(&mut resolution.bytes, Cow::Borrowed(&[])) {
        Cow::Borrowed(_) => question.stream.clone(),
        Cow::Owned(bytes) => {
            let text = StreamText::from(bytes);
            let after = text.stream()?;
            if after.documents != before.documents || after.objects.len() != before.objects.len() {
                return Err(Fault::Lost { before: before.documents, after: after.documents });
            }
            text
        }
    };
    Ok(Filled { text, resolution })
}

/// A render of before with the late values that are pinned filled in, as it was written by then; `None` where it holds none of them.
///
/// # Errors
/// When it cannot be read.
pub(crate) fn as_pinned(question: &Question, world: &World, before: &StreamText) -> Result<Option<Vec<u8>>, Fault> {
    let mut policy = question.policy.clone();
    policy.late_values.retain(|value| world.pins.iter().any(|pin| pin.name == value.name && !pin.secret));
    if policy.late_values.is_empty() {
        return Ok(None);
    }
    let resolution = late::resolve(before, &before.stream()?.objects, &policy, world, question.reach);
    Ok(match resolution.bytes {
        Cow::Borrowed(_) => None,
        Cow::Owned(bytes) => Some(bytes),
    })
}

/// The rules in force: those that are built in, and those of the policy.
///
/// # Errors
/// Everything that is wrong with the rules of the policy.
pub(crate) fn rules(policy: &Policy) -> Result<Cow<'static, Rules>, Vec<UserFault>> {
    if policy.rules.is_empty() {
        return Ok(Cow::Borrowed(Rules::built_in()));
    }
    let values: Vec<Value> = policy.rules.iter().map(|rule| rule.0.clone()).collect();
    Rules::with_user(&values).map(Cow::Owned)
}
