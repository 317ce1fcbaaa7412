//! What is due among the Machines of an owner, whatever a write does: rollouts that wait, stop or never end.

use crate::judge::owner::Assessment;
use crate::kinds::Typed;
use crate::model::{Classified, Effect, Finding, Unit, plural};
use crate::object::Key;

/// Adds what is due. Rollouts of this write are there already.
pub(super) fn findings(key: &Typed<'_>, assessment: &Assessment, out: &mut Classified) {
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
        } else if out.rollouts.iter().any(|rollout| rollout.owner == **key && rollout.effect != Effect::Scale) {
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
