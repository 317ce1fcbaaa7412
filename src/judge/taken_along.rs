//! Blocks that leave a render, and take with them what a controller has written there since: hosts that merge both renders delete the
//! whole block (Helm 3 and `kubectl apply`, RFC 7386), hosts that apply take away no more than they wrote.

use crate::compare::{Action, Pair};
use crate::judge::stage::Stage;
use crate::judge::verdict::Answer;
use crate::kinds::{Made, Typed};
use crate::model::Effect;
use crate::tree::Value;
use crate::world::WriteMethod;

/// What is lost of an object between two renders, of which the old one does not show what a controller made.
pub(super) fn lost(stage: &Stage<'_>, key: &Typed<'_>, pair: &Pair) -> Option<Answer> {
    let is_applied = stage.scene.way.or(stage.scene.world.host.method) == Some(WriteMethod::ServerSideApply);
    if key.known.made.is_empty() || !stage.is_of_renders() || is_applied || pair.action != Action::Update {
        return None;
    }
    let (Some(old), Some(new)) = pair.sent() else { return None };
    key.known.made.iter().find_map(|Made { pointer, rule }| {
        let block = gone(pointer, old, new)?;
        let told = |pointer: &str| pointer.trim_start_matches('/').replace('/', ".");
        let because = format!(
            "{} leaves the render; a host that merges deletes all of it, and with it {}, which the controller has written there since and the webhook \
             lets nobody take away; compare with the cluster (--live cluster)",
            told(block),
            told(pointer)
        );
        Some(Answer::known(stage.rules, Effect::Unknown, *rule).saying(because))
    })
}

/// The outermost block above a place that the old render has and the new one has not, where the old one does not say the place itself.
fn gone<'p>(pointer: &'p str, old: &Value, new: &Value) -> Option<&'p str> {
    if old.pointer(pointer).is_some_and(|value| !value.is_null()) {
        return None;
    }
    let ends = pointer.match_indices('/').skip(2).map(|(end, _)| &pointer[..end]);
    let has = |value: &Value, block: &str| value.pointer(block).is_some_and(Value::is_object);
    ends.filter(|block| has(old, block)).find(|block| !has(new, block))
}

#[cfg(test)]
mod tests {
    use super::gone;
    use crate::tree::json;

    #[test]
    fn a_block_is_gone_with_what_stands_in_it_and_not_where_the_place_itself_was_said() {
        let old = json!({"spec": {"a": {"b": {"x": 1}}}});
        let of = |old, new| gone("/spec/a/b/id", &old, &new);
        assert_eq!(of(old.clone(), json!({"spec": {}})), Some("/spec/a"));
        assert_eq!(of(old.clone(), json!({"spec": {"a": {}}})), Some("/spec/a/b"));
        assert_eq!(of(old.clone(), json!({"spec": {"a": {"b": null}}})), Some("/spec/a/b"));
        assert_eq!(of(old, json!({"spec": {"a": {"b": {}}}})), None);
        assert_eq!(of(json!({"spec": {}}), json!({"spec": {}})), None);
        assert_eq!(of(json!({"spec": {"a": {"b": {"id": "x"}}}}), json!({"spec": {}})), None);
    }
}
