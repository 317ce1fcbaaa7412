//! Changes of a pool that its provider does not care about: a version that makes nothing else of its hosts, a list in another order.

use super::stage::Stage;
use super::verdict::Answer;
use crate::kinds::fields::target;
use crate::kinds::{Role, Typed};
use crate::model::{Effect, RuleId};
use crate::object::Path;
use crate::providers::kind;
use crate::tree::Value;

/// The answer about a change of a pool, or of its infrastructure, that is none to its provider.
pub(super) fn answer(stage: &Stage<'_>, key: &Typed<'_>, (old, new): (&Value, &Value), path: &Path) -> Option<Answer> {
    let rule = match key.known.role {
        Role::Pool if path.is(&["spec", "template", "spec", "version"]) => {
            (!reads_version(stage, key, old, new)?).then(|| RuleId::of("mp/version-unread"))
        }
        Role::InfraPool => key.known.takes_as_same?(old, new, path).then(|| RuleId::of("schema/same-value")),
        _ => None,
    }?;
    Some(Answer::known(stage.rules, Effect::None, rule))
}

/// Whether the hosts of a pool come to differ by its version; `None` where its provider does not say.
fn reads_version(stage: &Stage<'_>, key: &Typed<'_>, old: &Value, new: &Value) -> Option<bool> {
    let infrastructure = target(new.pointer("/spec/template/spec/infrastructureRef")?, key.namespace.as_deref())?;
    let reads = kind(&infrastructure).reads_version?;
    let plane = stage.control_plane_of(key, new);
    Some(reads(&*stage.after(&infrastructure)?, plane.as_deref(), (old, new)))
}
