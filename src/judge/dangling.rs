//! References to templates that nobody has: neither the release, nor what was read. The controller that follows one stops
//! with an error, or makes no Machine any more, and no webhook says so.

use crate::compare::{Action, Pair};
use crate::judge::stage::Stage;
use crate::kinds::Role;
use crate::kinds::references::{Reference, references};
use crate::model::Finding;
use crate::object::Key;
use crate::parallel;
use crate::providers::kind_of;
use crate::world::LiveKind;

/// A finding for each template that a written object refers to anew and that is not there.
#[must_use]
pub(crate) fn findings(stage: &Stage<'_>) -> Vec<Finding> {
    // With nothing to look at nothing can be missed.
    if stage.scene.world.source.kind == LiveKind::None {
        return Vec::new();
    }
    parallel::map(stage.pairs, |pair| of_pair(stage, pair)).into_iter().flatten().collect()
}

/// The findings about one object.
fn of_pair(stage: &Stage<'_>, pair: &Pair) -> Vec<Finding> {
    let mut out: Vec<Finding> = Vec::new();
    let is_written = matches!(pair.action, Action::Create | Action::Update);
    let Some(predicted) = pair.predicted.as_ref().filter(|_| is_written) else { return out };
    let old = pair.live.as_ref().map(references).unwrap_or_default();
    for reference in references(predicted).into_iter().filter(is_template) {
        let is_new = !old.iter().any(|old| (&old.kind, &old.name) == (&reference.kind, &reference.name));
        let target = Key::of(
            reference.group.clone().unwrap_or_default(),
            &reference.kind,
            reference.namespace.clone().or_else(|| pair.key.namespace.clone()),
            &reference.name,
        );
        if is_new && !target.group.is_empty() && stage.written_after(&target).is_none() {
            let message = format!(
                "{} refers to {target} at {}, which is neither in this release nor among what was read: without it no Machine can be made",
                pair.key, reference.path
            );
            out.push(Finding::new("dangling-reference", pair.key.clone(), message).at(&reference.path));
        }
    }
    out
}

/// Whether a reference is one to a template.
fn is_template(reference: &Reference) -> bool {
    kind_of(reference.group.as_deref().unwrap_or_default(), &reference.kind).role == Role::Template
}
