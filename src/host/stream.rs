//! The rendered objects sorted by what happens to them: compared, compared when referred to, hooks, the rest.

use std::collections::{BTreeSet, HashMap, HashSet};

use memchr::memmem;
use serde_json::Value;

use super::{HostKind, kinds};
use crate::object::{Body, Inventory, Key, LoadError, Object};

/// Annotation that makes an object a hook (helm `pkg/release/v1/hook.go`).
const HOOK: &str = "helm.sh/hook";
/// Annotation that says when Helm deletes a hook.
const HOOK_DELETE_POLICY: &str = "helm.sh/hook-delete-policy";
/// Annotation that keeps Helm from deleting an object (helm `pkg/kube/resource_policy.go`).
const RESOURCE_POLICY: &str = "helm.sh/resource-policy";
/// Annotation that makes an object a hook of Argo CD, beside Helm's own (gitops-engine `pkg/sync/hook/hook.go`).
const ARGO_HOOK: &str = "argocd.argoproj.io/hook";
/// Annotation that says when Argo CD deletes a hook.
const ARGO_HOOK_DELETE_POLICY: &str = "argocd.argoproj.io/hook-delete-policy";
/// Annotation with the ways in which Argo CD writes and deletes an object.
const ARGO_OPTIONS: &str = "argocd.argoproj.io/sync-options";

/// The rendered objects, sorted.
#[derive(Default)]
pub(super) struct Sorted<'a> {
    /// Objects that are compared; the last one where a key stands twice.
    pub(super) compared: Vec<&'a Object>,
    /// Secrets and ConfigMaps, compared where a compared object refers to them.
    pub(super) referable: Vec<&'a Object>,
    /// Objects of groups that nobody knows, compared where a compared object refers to them; counted in `rest` too.
    pub(super) foreign: Vec<&'a Object>,
    /// Hooks of compared kinds, and of kinds whose deletion takes other objects with it.
    pub(super) hooks: Vec<&'a Object>,
    /// Hooks that are Secrets or ConfigMaps.
    pub(super) referable_hooks: Vec<&'a Object>,
    /// Keys of everything that the host writes as part of the release. A hook is no part of it: its key does not keep an
    /// object of the last manifest from being deleted.
    pub(super) written: HashSet<&'a Key>,
    /// How many objects pass through.
    pub(super) rest: usize,
    /// Keys that stand more than once outside hooks.
    pub(super) doubles: BTreeSet<&'a Key>,
}

/// Sorts the objects of one stream.
///
/// # Errors
/// When an object that may be a hook is not what Kubernetes reads.
pub(super) fn sort(stream: &Inventory, host: Option<HostKind>) -> Result<Sorted<'_>, LoadError> {
    let mut sorted = Sorted::default();
    let mut seen: HashMap<&Key, usize> = HashMap::with_capacity(stream.len());
    for object in stream.objects() {
        let compared = kinds::is_compared(&object.key);
        let referable = kinds::is_compared_when_referred(&object.key);
        let foreign = kinds::is_foreign(&object.key);
        if !compared && !referable && !foreign && !kinds::may_take_others(&object.key) {
            sorted.rest += 1;
            continue;
        }
        if is_hook(object, host)? {
            sorted.rest += 1;
            if !foreign {
                if referable { &mut sorted.referable_hooks } else { &mut sorted.hooks }.push(object);
            }
            continue;
        }
        sorted.written.insert(&object.key);
        if !compared && !referable {
            sorted.rest += 1;
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

/// Whether the text of an object can hold a word; trees always can.
fn may_hold(object: &Object, word: &str) -> bool {
    match &object.body {
        Body::Text(bytes, span) => memmem::find(&bytes[span.start..span.end], word.as_bytes()).is_some(),
        Body::Value(_) => true,
    }
}

/// Whether an object is a hook of Helm or Argo CD; where its text cannot be read it may be one.
pub(crate) fn may_be_hook(object: &Object) -> bool {
    is_hook(object, Some(HostKind::Argocd)).unwrap_or(true)
}

/// Whether an object is a hook of the host. `kubectl` knows no hooks: it writes what Helm calls one like anything else.
///
/// # Errors
/// When its text holds the word and is not what Kubernetes reads.
pub(super) fn is_hook(object: &Object, host: Option<HostKind>) -> Result<bool, LoadError> {
    let names: &[&str] = match host {
        Some(HostKind::Kubectl) => &[],
        Some(HostKind::Argocd) => &[HOOK, ARGO_HOOK],
        _ => &[HOOK],
    };
    if !names.iter().any(|name| may_hold(object, name)) {
        return Ok(false);
    }
    let value = object.value()?;
    Ok(names.iter().any(|name| annotation(&value, name).is_some()))
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
        return Ok(has_option(&value, "Prune=false") || owners.is_some_and(|owners| !owners.is_empty()));
    }
    Ok(may_hold(live, RESOURCE_POLICY) && annotation(live.value()?.as_ref(), RESOURCE_POLICY) == Some("keep"))
}

/// Whether an object asks Argo CD for one way of writing (gitops-engine `pkg/sync/resource/annotations.go`).
pub(super) fn has_option(object: &Value, option: &str) -> bool {
    annotation(object, ARGO_OPTIONS).is_some_and(|text| text.split(',').any(|word| word.trim() == option))
}

/// Whether a live object is one that an application of Argo CD keeps track of, by annotation or by label
/// (argo-cd `util/argo/resource_tracking.go`).
pub(super) fn is_tracked(object: &Value, application: &str) -> bool {
    let id = annotation(object, "argocd.argoproj.io/tracking-id").and_then(|id| id.split(':').next());
    let label = object.pointer("/metadata/labels/app.kubernetes.io~1instance").and_then(Value::as_str);
    id.is_some_and(|id| id.rsplit('_').next() == Some(application)) || label == Some(application)
}

/// Whether the host deletes a live object before it makes this hook during an install or upgrade
/// (helm `pkg/action/hooks.go`: `before-hook-creation` is the default policy, as it is with Argo CD).
pub(super) fn recreates(hook: &Value, host: Option<HostKind>) -> bool {
    if host == Some(HostKind::Argocd)
        && let Some(events) = annotation(hook, ARGO_HOOK)
    {
        let policy = annotation(hook, ARGO_HOOK_DELETE_POLICY).filter(|text| !text.trim().is_empty());
        let skipped = events.split(',').any(|event| event.trim() == "Skip");
        return !skipped && policy.is_none_or(|text| text.split(',').any(|word| word.trim() == "BeforeHookCreation"));
    }
    let events = annotation(hook, HOOK).unwrap_or_default();
    let runs = events
        .split(',')
        .map(str::trim)
        .any(|event| matches!(event, "pre-install" | "post-install" | "pre-upgrade" | "post-upgrade"));
    let policy = annotation(hook, HOOK_DELETE_POLICY).filter(|text| !text.trim().is_empty());
    let deletes = policy.is_none_or(|text| text.split(',').any(|word| word.trim() == "before-hook-creation"));
    runs && deletes
}

/// Whether two objects say the same, however it is spelled.
pub(super) fn same_content(one: &Object, other: &Object) -> bool {
    same_text(one, other) || one.value().ok().zip(other.value().ok()).is_some_and(|(one, other)| one == other)
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
