//! The rendered objects sorted by what happens to them: compared, compared when referred to, hooks, the rest.

use std::collections::BTreeSet;

use super::hook::{self, Role};
use super::{Host, HostKind, kinds};
use crate::hashed::{HashMap, HashSet};
use crate::object::{Body, Inventory, Key, LoadError, MetadataKey, Object};
use crate::tree::Value;

/// Annotation that keeps Helm from deleting an object (helm `pkg/kube/resource_policy.go`).
const RESOURCE_POLICY: &str = MetadataKey::ResourcePolicy.word();
/// Annotation with the ways in which Argo CD writes and deletes an object.
const ARGO_OPTIONS: &str = "argocd.argoproj.io/sync-options";

/// The rendered objects, sorted.
#[derive(Default)]
pub(super) struct Sorted<'a> {
    /// Objects that are compared; the last one where a key stands twice.
    pub(super) compared: Vec<&'a Object>,
    /// Secrets and ConfigMaps, compared where a compared object refers to them.
    pub(super) referable: Vec<&'a Object>,
    /// Objects of groups that nobody knows, compared where a compared object refers to them; in `rest` too.
    pub(super) foreign: Vec<&'a Object>,
    /// Hooks of compared kinds, and of kinds whose deletion takes other objects with it.
    pub(super) hooks: Vec<&'a Object>,
    /// Objects of which it is not known whether they are hooks.
    pub(super) unclear: Vec<&'a Key>,
    /// Hooks that are Secrets or ConfigMaps.
    pub(super) referable_hooks: Vec<&'a Object>,
    /// Keys of everything that the host writes as part of the release. A hook is no part of it: its key does not keep an
    /// object of the last manifest from being deleted.
    pub(super) written: HashSet<&'a Key>,
    /// Objects that pass through.
    pub(super) rest: Vec<Key>,
    /// Keys that stand more than once outside hooks.
    pub(super) doubles: BTreeSet<&'a Key>,
}

/// Sorts the objects of one stream.
///
/// # Errors
/// When an object that may be a hook is not what Kubernetes reads.
pub(super) fn sort<'a>(stream: &'a Inventory, host: &Host) -> Result<Sorted<'a>, LoadError> {
    let mut sorted = Sorted::default();
    let mut seen: HashMap<&Key, usize> = HashMap::with_capacity_and_hasher(stream.len(), Default::default());
    for object in stream.objects() {
        let compared = kinds::is_compared(&object.key);
        let referable = kinds::is_compared_when_referred(&object.key);
        let foreign = kinds::is_foreign(&object.key);
        if !compared && !referable && !foreign && !kinds::may_take_others(&object.key) {
            sorted.rest.push(object.key.clone());
            continue;
        }
        match hook::role(object, host)? {
            Role::Written => {}
            Role::Unclear => {
                sorted.rest.push(object.key.clone());
                sorted.unclear.push(&object.key);
                continue;
            }
            Role::Skipped => {
                sorted.rest.push(object.key.clone());
                continue;
            }
            Role::Left => {
                sorted.rest.push(object.key.clone());
                // It has a target, so that nothing removes it.
                sorted.written.insert(&object.key);
                continue;
            }
            Role::Hook => {
                sorted.rest.push(object.key.clone());
                if !foreign {
                    if referable { &mut sorted.referable_hooks } else { &mut sorted.hooks }.push(object);
                }
                continue;
            }
        }
        sorted.written.insert(&object.key);
        if !compared && !referable {
            sorted.rest.push(object.key.clone());
            if foreign {
                sorted.foreign.push(object);
            }
            continue;
        }
        let list = if compared { &mut sorted.compared } else { &mut sorted.referable };
        if let Some(place) = seen.get(&object.key) {
            sorted.doubles.insert(&object.key);
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

/// Whether the host leaves an object in place that its manifest no longer has. For Helm on an upgrade only this exact
/// word counts (helm `pkg/kube/client.go`, `update`); Argo CD has a word of its own, and never prunes what has an owner
/// (gitops-engine `pkg/sync/sync_context.go`, `pruneObject`; `pkg/cache/cluster.go`, `GetManagedLiveObjs`).
///
/// # Errors
/// When its text holds the word and is not what Kubernetes reads.
pub(super) fn is_kept(live: &Object, host: Option<HostKind>) -> Result<bool, LoadError> {
    if host == Some(HostKind::Argocd) {
        let value = live.value()?;
        let owners = value.pointer("/metadata/ownerReferences").and_then(Value::as_array);
        return Ok(says_no_prune(&value) || owners.is_some_and(|owners| !owners.is_empty()));
    }
    Ok(live.may_have_in_metadata(MetadataKey::ResourcePolicy)
        && annotation(live.value()?.as_ref(), RESOURCE_POLICY) == Some("keep"))
}

/// Whether an object tells Argo CD never to prune it.
pub(super) fn says_no_prune(object: &Value) -> bool {
    has_option(object, "Prune=false")
}

/// Whether an object asks Argo CD for one way of writing (gitops-engine `pkg/sync/resource/annotations.go`).
pub(crate) fn has_option(object: &Value, option: &str) -> bool {
    annotation(object, ARGO_OPTIONS).is_some_and(|text| text.split(',').any(|word| word.trim() == option))
}

/// Whether a live object is one that an application of Argo CD keeps track of, by annotation or by label
/// (argo-cd `util/argo/resource_tracking.go`).
pub(super) fn is_tracked(object: &Value, application: &str) -> bool {
    let id = annotation(object, "argocd.argoproj.io/tracking-id").and_then(|id| id.split(':').next());
    let label = object.pointer("/metadata/labels/app.kubernetes.io~1instance").and_then(Value::as_str);
    id.is_some_and(|id| id.rsplit('_').next() == Some(application)) || label == Some(application)
}

/// Whether two objects say the same, however it is spelled.
pub(super) fn same_content(one: &Object, other: &Object) -> bool {
    same_text(one, other) || one.value().ok().zip(other.value().ok()).is_some_and(|(one, other)| one == other)
}

/// Whether two objects are texts with the same bytes. White space around them does not count, but where a block keeps the line
/// breaks behind it (`|+`).
pub(super) fn same_text(one: &Object, other: &Object) -> bool {
    match (&one.body, &other.body) {
        (Body::Text(left, a), Body::Text(right, b)) => {
            if a == b && left.as_ptr() == right.as_ptr() {
                return true;
            }
            let (left, right) = (&left[a.start..a.end], &right[b.start..b.end]);
            left.trim_ascii() == right.trim_ascii()
                && (breaks_behind(left) == breaks_behind(right) || !keeps_breaks(left))
        }
        _ => false,
    }
}

/// Makes one tree of two objects where their texts are the same.
pub(super) fn read_as_one(one: &Object, other: &Object) {
    if same_text(one, other) {
        other.read_as(one);
    }
}

/// The line breaks behind a text; the last line has one whether it is written or not.
fn breaks_behind(text: &[u8]) -> usize {
    memchr::memchr_iter(b'\n', &text[text.trim_ascii_end().len()..]).count().max(1)
}

/// Whether a text may have a block that keeps the line breaks behind it: `|+`, `>2+`.
fn keeps_breaks(text: &[u8]) -> bool {
    memchr::memchr_iter(b'+', text).any(|at| {
        let before = &text[..at];
        matches!(before, [.., b'|' | b'>'] | [.., b'|' | b'>', b'0'..=b'9'])
            || matches!(text.get(at + 1), Some(b'0'..=b'9')) && matches!(before, [.., b'|' | b'>'])
    })
}
