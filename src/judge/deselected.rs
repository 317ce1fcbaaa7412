//! A label of a Cluster by which something that installs add-ons selects it: without it they are taken out.

use super::stage::Stage;
use super::verdict::Answer;
use crate::kinds::fields::label;
use crate::kinds::labels::selects;
use crate::kinds::{Role, Typed};
use crate::model::{Effect, RuleId};
use crate::object::Path;
use crate::providers::kind;
use crate::tree::Value;

/// The answer about a label of a Cluster without which something does not select it any more (cluster-api-addon-provider-helm
/// `controllers/helmchartproxy/helmchartproxy_controller_phases.go` deleteOrphanedHelmReleaseProxies, v0.6).
pub(super) fn answer(stage: &Stage<'_>, key: &Typed<'_>, (old, new): (&Value, &Value), path: &Path) -> Option<Answer> {
    if key.known.role != Role::Cluster || !path.starts_with(&["metadata", "labels"]) {
        return None;
    }
    let is_here =
        |namespace: &Option<String>| namespace.is_none() || key.namespace.is_none() || *namespace == key.namespace;
    let from = stage.installers().iter().filter(|from| is_here(&from.namespace)).find(|from| {
        let selector = |side: &Value| side.pointer(kind(from).installs_into.unwrap_or_default()).cloned();
        // One that comes or goes with the write, or selects otherwise, is judged itself.
        let sides = stage
            .written_before(from)
            .as_deref()
            .and_then(selector)
            .zip(stage.written_after(from).as_deref().and_then(selector));
        sides.is_some_and(|(before, after)| {
            selects(&before, |name| label(old, name)) == Some(true)
                && selects(&after, |name| label(new, name)) == Some(false)
        })
    })?;
    let because = format!(
        "{from} selects the cluster by its labels, and does not any more: what it has installed there, which may be the network of the cluster, is \
         taken out"
    );
    Some(Answer::known(stage.rules, Effect::Unknown, RuleId::of("add-on/deselected")).saying(because))
}
