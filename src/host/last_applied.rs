//! What `kubectl apply` keeps of what it applied last, in an annotation of the object, and the patch that it makes of it.

use super::ask;
use super::write::{Before, Last};
use crate::apiserver::merge;
use crate::kinds::fields::annotation;
use crate::tree::{Map, Value};

pub(super) use crate::apiserver::apply::LAST_APPLIED;
use crate::apiserver::apply::noted;

/// The patch of `kubectl apply`, without the annotation that it writes anew.
pub(super) fn last_applied_patch(before: &Before<'_>, rendered: &Value) -> Value {
    // An old render is no object of a server, which always has an id: of one, what was applied last is told beside it.
    let is_of_a_render = before.live.pointer("/metadata/uid").is_none();
    let last = match (noted(before.live), before.last) {
        (Some(noted), _) => noted,
        (None, Last::Known(told)) if is_of_a_render => told.clone(),
        // Without the annotation nothing can be removed, and kubectl only warns about it.
        (None, _) => Value::Object(Map::new()),
    };
    merge::three_way(&last, &with_annotations(rendered.clone()), before.live)
}

/// A rendered object with a map of annotations: kubectl always sends one, because it keeps what it applies in there (kubectl
/// `pkg/util/apply.go`, `GetModifiedConfiguration`). So the map as a whole never goes, with what others wrote into it.
fn with_annotations(mut rendered: Value) -> Value {
    if let Some(metadata) = rendered.get_mut("metadata").and_then(Value::as_object_mut) {
        let annotations = metadata.entry("annotations").or_insert_with(|| Value::Object(Map::new()));
        if annotations.is_null() {
            *annotations = Value::Object(Map::new());
        }
    }
    rendered
}

/// What `kubectl apply` keeps of what it applies (kubectl `pkg/util/apply.go`, `GetModifiedConfiguration`).
pub(super) fn last_applied_text(rendered: &Value) -> String {
    let mut bare = with_annotations(rendered.clone());
    if let Some(annotations) = bare.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut) {
        annotations.shift_remove(LAST_APPLIED);
    }
    format!("{bare}\n")
}

/// Bytes of all annotations of an object that `kubectl apply` writes. Go's JSON writes these marks as numbers.
pub(super) fn annotations_with_last_applied(rendered: &Value) -> usize {
    let text = last_applied_text(rendered);
    let longer = |c: char| match c {
        '<' | '>' | '&' => 5,
        '\u{2028}' | '\u{2029}' => 3,
        _ => 0,
    };
    let last = LAST_APPLIED.len() + text.len() + text.chars().map(longer).sum::<usize>();
    let own = rendered.pointer("/metadata/annotations").and_then(Value::as_object);
    let own = own.into_iter().flatten().filter(|(key, _)| key.as_str() != LAST_APPLIED);
    last + own.map(|(key, value)| key.len() + value.as_str().map_or(0, str::len)).sum::<usize>()
}

/// Whether `kubectl apply` keeps of an object what it kept of it last.
pub(super) fn is_as_applied_last(live: &Value, rendered: &Value) -> bool {
    let read = |text: &str| serde_json::from_str::<Value>(text).ok();
    let last = annotation(live, LAST_APPLIED).and_then(read);
    last.is_some() && last == read(&last_applied_text(rendered))
}

/// Adds that annotation to an object or a patch.
pub(super) fn annotate(object: &mut Value, text: &str) {
    ask::mark(object, "annotations", LAST_APPLIED, text);
}
