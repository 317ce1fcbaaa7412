//! What is due among the Machines of an owner, whatever a write does: rollouts that wait, stop or never end.

use crate::judge::owner::Assessment;
use crate::kinds::Typed;
use crate::model::{Classified, Effect, Finding, Unit, plural_is};
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
            "and this write starts their rollout"
        } else if out.rollouts.iter().any(|rollout| rollout.owner == **key && rollout.effect != Effect::Scale) {
            "and this write replaces them too"
        } else {
            "and this write does not change that"
        };
        finding(
            "pending-rollout",
            format!("{} already outdated ({}), {tail}", plural_is(pending, "Machine"), causes.join(", ")),
        );
    }
    let cancelled = count(&mut assessment.cancelled());
    if cancelled > 0 {
        finding(
            "cancelled-rollout",
            format!(
                "{} outdated now and {} again after this write, so nothing replaces {}",
                plural_is(cancelled, "Machine"),
                if cancelled == 1 { "matches" } else { "match" },
                if cancelled == 1 { "it" } else { "them" }
            ),
        );
    }
    if let Some(cause) = assessment.perpetual.first() {
        finding(
            "perpetual-rollout",
            format!("every new Machine is outdated at once ({}), so Machines are replaced for ever", cause.path),
        );
    }
}
