//! A placeholder that goes out on a first install: what the value will do when it comes is judged as the change that it will be, from
//! this very render to the same with a value in it. Only where that replaces no Machine the install goes on without the value.

use super::{Fault, Question, judge};
use crate::late::{self, Resolution, Trial, kind};
use crate::model::{Decision, Effect, Reason};
use crate::object::{Inventory, StreamText};
use crate::policy::{Doubt, Policy, Unseen};
use crate::report::Report;
use crate::world::{World, files};

/// Weighs the placeholders on trial: each is let out with a warning, or its reason stands.
///
/// # Errors
/// When the stream cannot be read with a value in it.
pub(super) fn weigh(
    question: &Question,
    world: &World,
    stream: &StreamText,
    rendered: &Inventory,
    resolution: &mut Resolution<'_>,
) -> Result<(), Fault> {
    for Trial { value, reason } in std::mem::take(&mut resolution.trials) {
        let late = &question.policy.late_values[value];
        let later = late::tried(stream, &question.policy, value, &kind::sample(late));
        let harm = match later {
            Some(later) => harm(&replay(question, world, rendered, later)?),
            None => Some("one of its places takes no value".to_owned()),
        };
        match harm {
            None => resolution.warnings.push(format!(
                "{}; its placeholder goes out on this first install (firstInstall: placeholder-ok): no field that it stands in replaces \
                 a Machine when it changes",
                reason.message
            )),
            Some(harm) => {
                let message = format!(
                    "{}; its placeholder does not go out despite firstInstall: placeholder-ok, because when the value comes: {harm}",
                    reason.message
                );
                resolution.reasons.push(Reason { message, ..reason });
            }
        }
    }
    Ok(())
}

/// The report of the change that the value will be: this render is what was written, and nothing but the value is new.
fn replay(question: &Question, world: &World, rendered: &Inventory, later: Vec<u8>) -> Result<Report, Fault> {
    let mut before = files::rendered(rendered.clone(), &world.host, world.now);
    before.providers.clone_from(&world.providers);
    before.feature_gates.clone_from(&world.feature_gates);
    let unseen = Unseen { release: Doubt::Allow, ..Unseen::default() };
    // Neither gates that a site has opened nor changes that it wants count: the effect alone is asked for.
    let policy = Policy { rules: question.policy.rules.clone(), unseen, ..Policy::default() };
    let asked = Question { stream: later.into(), policy, reach: late::Reach::Plan, ..question.clone() };
    Ok(judge(&asked, &before)?.report)
}

/// What the value will do to Machines; `None` where it does nothing that lasts.
fn harm(report: &Report) -> Option<String> {
    let reason = || report.reasons.iter().find(|reason| reason.decision != Decision::Allow);
    match (report.decision, report.effect) {
        (Decision::Allow | Decision::Warn, Effect::None | Effect::InPlace) => None,
        (_, effect) => Some(match reason() {
            Some(reason) => reason.message.clone(),
            None => format!("the effect is {}", effect.word()),
        }),
    }
}
