//! The rendered objects sorted by what happens to them: compared, compared when referred to, hooks, the rest.

use std::collections::HashMap;

use memchr::memmem;
use serde_json::Value;

use super::kinds;
use crate::object::{Body, Inventory, Key, LoadError, Object};

/// Annotation that makes an object a hook (helm `pkg/release/v1/hook.go`).
const HOOK: &str = "helm.sh/hook";
/// Annotation that says when Helm deletes a hook.
const HOOK_DELETE_POLICY: &str = "helm.sh/hook-delete-policy";
/// Annotation that keeps Helm from deleting an object (helm `pkg/kube/resource_policy.go`).
const RESOURCE_POLICY: &str = "helm.sh/resource-policy";

/// The rendered objects, sorted.
#[derive(Default)]
pub(super) struct Sorted<'a> {
    /// Objects that are compared; the last one where a key stands twice.
    pub(super) compared: Vec<&'a Object>,
    /// Secrets and ConfigMaps, compared where a compared object refers to them.
    pub(super) referable: Vec<&'a Object>,
    /// Hooks of compared kinds.
    pub(super) hooks: Vec<&'a Object>,
    /// How many objects pass through.
    pub(super) rest: usize,
    /// Keys that stand more than once outside hooks.
    pub(super) doubles: Vec<Key>,
}

/// Sorts the objects of one stream.
///
/// # Errors
/// When an object that may be a hook is not what Kubernetes reads.
pub(super) fn sort(stream: &Inventory) -> Result<Sorted<'_>, LoadError> {
    let mut sorted = Sorted::default();
    let mut seen: HashMap<&Key, usize> = HashMap::with_capacity(stream.len());
    for object in stream.objects() {
        let compared = kinds::is_compared(&object.key);
        if !compared && !kinds::is_compared_when_referred(&object.key) {
            sorted.rest += 1;
            continue;
        }
        if is_hook(object)? {
            sorted.rest += 1;
            if compared {
                sorted.hooks.push(object);
            }
            continue;
        }
        let list = if compared { &mut sorted.compared } else { &mut sorted.referable };
        if let Some(place) = seen.get(&object.key) {
            sorted.doubles.push(object.key.clone());
            list[*place] = object;
        } else {
            seen.insert(&object.key, list.len());
            list.push(object);
        }
    }
    Ok(sorted)
}

/// The text of an annotation.
pub(super) fn annotation<'v>(object: &'v Value, name: &str) -> Option<&'v str> {
    object.get("metadata")?.get("annotations")?.get(name)?.as_str()
}

/// Whether the text of an object can hold a word; trees always can.
fn may_hold(object: &Object, word: &str) -> bool {
    match &object.body {
        Body::Text(bytes, span) => memmem::find(&bytes[span.start..span.end], word.as_bytes()).is_some(),
        Body::Value(_) => true,
    }
}

/// Whether an object is a hook of Helm.
///
/// # Errors
/// When its text holds the word and is not what Kubernetes reads.
pub(super) fn is_hook(object: &Object) -> Result<bool, LoadError> {
    Ok(may_hold(object, HOOK) && annotation(object.value()?.as_ref(), HOOK).is_some())
}

/// Whether Helm leaves an object in place that its manifest no longer has; on an upgrade only this exact word counts
/// (helm `pkg/kube/client.go`, `update`).
///
/// # Errors
/// When its text holds the word and is not what Kubernetes reads.
pub(super) fn is_kept(object: &Object) -> Result<bool, LoadError> {
    Ok(may_hold(object, RESOURCE_POLICY) && annotation(object.value()?.as_ref(), RESOURCE_POLICY) == Some("keep"))
}

/// Whether Helm deletes a live object before it makes this hook during an install or upgrade
/// (helm `pkg/action/hooks.go`: `before-hook-creation` is the default policy).
pub(super) fn recreates(hook: &Value) -> bool {
    let events = annotation(hook, HOOK).unwrap_or_default();
    let runs = events
        .split(',')
        .map(str::trim)
        .any(|event| matches!(event, "pre-install" | "post-install" | "pre-upgrade" | "post-upgrade"));
    let policy = annotation(hook, HOOK_DELETE_POLICY).filter(|text| !text.trim().is_empty());
    let deletes = policy.is_none_or(|text| text.split(',').any(|word| word.trim() == "before-hook-creation"));
    runs && deletes
}

/// Whether two objects are texts with the same bytes; white space around them does not count.
pub(super) fn same_text(one: &Object, other: &Object) -> bool {
    match (&one.body, &other.body) {
        (Body::Text(left, a), Body::Text(right, b)) => {
            left[a.start..a.end].trim_ascii() == right[b.start..b.end].trim_ascii()
        }
        _ => false,
    }
}
