//! Hooks: which objects of a stream are no part of the release, and what the host does to a live object of the same name.
//! Helm looks at one document as a whole (helm `pkg/releaseutil/manifest_sorter.go` v3.22.0, `pkg/release/v1/util` v4.3.1).

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::stream::annotation;
use super::{Host, HostKind};
use crate::object::{LoadError, MetadataKey, Object};
use crate::tree::{Map, Text, Value};
use crate::world::{BaseKind, WriteMethod};

/// Annotation that makes a document a hook.
const HOOK: &str = MetadataKey::HelmHook.word();
/// Annotation that says when Helm deletes a hook.
const POLICY: &str = "helm.sh/hook-delete-policy";
/// The policy that deletes what is there before a hook is made, and the default.
const BEFORE: &str = "before-hook-creation";
/// The policy that deletes a hook that succeeded.
const SUCCEEDED: &str = "hook-succeeded";
/// Annotation that makes an object a hook of Argo CD, beside Helm's own.
const ARGO_HOOK: &str = MetadataKey::ArgoHook.word();
/// Annotation that says when Argo CD deletes a hook.
const ARGO_POLICY: &str = "argocd.argoproj.io/hook-delete-policy";

/// What Helm knows of hooks' times; a document with any other word is left out altogether.
const EVENTS: [&str; 10] = [
    "pre-install",
    "post-install",
    "pre-delete",
    "post-delete",
    "pre-upgrade",
    "post-upgrade",
    "pre-rollback",
    "post-rollback",
    "test",
    "test-success",
];

/// What an object of a stream is to the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Part of the release.
    Written,
    /// A hook: made at its time, and no part of the release.
    Hook,
    /// Neither: a document whose hook has a time that Helm does not know is skipped.
    Skipped,
    /// Neither written nor removed: Argo CD leaves what says `Skip` as it is.
    Left,
    /// A hook or part of the release, by whether a post-renderer of Helm 4 takes its list apart first.
    Unclear,
}

/// What an object of the stream is to the host.
///
/// # Errors
/// When its text may say that it is a hook, and is not what Kubernetes reads.
pub fn role(object: &Object, host: &Host) -> Result<Role, LoadError> {
    // Helm 3 hands its post-renderer what is no hook, and writes all of what comes back.
    if host.kind == Some(HostKind::Kubectl) || host.hides_hooks() {
        return Ok(Role::Written);
    }
    let role = of_document(object, host.kind)?;
    // Helm tells hooks by a document of its own cutting, which may be another one than the API server gets.
    let certain =
        role == Role::Written || host.post_rendered || host.kind == Some(HostKind::Argocd) || !object.has_rare_breaks();
    Ok(if certain { role } else { Role::Unclear })
}

/// What an object of an earlier manifest was. A release record holds no hooks, so that all that stands in it was written.
///
/// # Errors
/// As [`role`].
pub(crate) fn role_before(object: &Object, host: &Host, base: BaseKind) -> Result<Role, LoadError> {
    if host.kind == Some(HostKind::Kubectl) || base == BaseKind::Release {
        return Ok(Role::Written);
    }
    // Where its manifest goes, Argo CD removes it as any other.
    of_document(object, host.kind).map(|role| if role == Role::Left { Role::Written } else { role })
}

/// Whether Argo CD neither wrote an object of an earlier manifest nor would have, so that what it said had no effect.
pub(super) fn was_left(object: &Object, host: &Host) -> bool {
    host.kind == Some(HostKind::Argocd) && of_document(object, host.kind).is_ok_and(|role| role == Role::Left)
}

/// Whether an object may be a hook of any host; where its text cannot be read it may be one.
pub(crate) fn may_be_hook(object: &Object) -> bool {
    [Some(HostKind::Argocd), Some(HostKind::Flux), None]
        .into_iter()
        .any(|host| of_document(object, host).map_or(true, |role| role != Role::Written))
}

/// Whether the host leaves an object of its stream out, but for what [`meeting`] says of it: a hook, or what Helm skips.
pub(crate) fn is_left_out(object: &Object, host: &Host) -> bool {
    role(object, host).is_ok_and(|role| matches!(role, Role::Hook | Role::Skipped | Role::Left))
}

/// The role of an object by its document, and by itself where the host takes lists apart first.
fn of_document(object: &Object, host: Option<HostKind>) -> Result<Role, LoadError> {
    let alone = |object: &Object| -> Result<Role, LoadError> {
        if ![MetadataKey::HelmHook, MetadataKey::ArgoHook].into_iter().any(|key| object.may_have_in_metadata(key)) {
            return Ok(Role::Written);
        }
        Ok(of_value(&*object.value()?, host))
    };
    let Some(carrier) = &object.carrier else { return alone(object) };
    let of_list = of_value(&carrier.value, host);
    // kyaml takes only these apart, and only where Helm 4 runs a post-renderer, as Flux always does
    // (helm `pkg/action/action.go`, `annotateAndMerge`; kyaml `kio/byteio_reader.go`).
    let taken_apart = matches!(carrier.kind(), "List" | "ResourceList");
    match host {
        Some(HostKind::Argocd) => alone(object),
        Some(HostKind::Flux) if taken_apart => alone(object),
        Some(HostKind::Helm4) | None if taken_apart => {
            let own = alone(object)?;
            Ok(if own == of_list { own } else { Role::Unclear })
        }
        _ => Ok(of_list),
    }
}

/// The role of one document.
fn of_value(document: &Value, host: Option<HostKind>) -> Role {
    if host == Some(HostKind::Argocd) {
        return of_argo(document);
    }
    match Hook::of(document) {
        None => Role::Written,
        Some(hook) if hook.events.iter().all(|event| EVENTS.contains(&event.as_str())) => Role::Hook,
        Some(_) => Role::Skipped,
    }
}

/// The role of one document for Argo CD (gitops-engine `pkg/sync/hook/hook.go`, `IsHook` and `Skip`, `pkg/sync/hook/helm/hook.go`,
/// `IsHook`, of argo-cd v3.5.1): what Helm 2 called `crd-install` is an object like any other.
fn of_argo(document: &Value) -> Role {
    match (annotation(document, ARGO_HOOK), annotation(document, HOOK)) {
        (Some(_), _) if argo_types(document) == ["Skip"] => Role::Left,
        (Some(_), _) => Role::Hook,
        (None, Some(events)) if events != "crd-install" => Role::Hook,
        _ => Role::Written,
    }
}

/// When a hook of Argo CD runs: its own words, else those of Helm, of which each sync runs all (`pkg/sync/hook/hook.go`, `Types`;
/// `pkg/sync/hook/helm/type.go`).
fn argo_types(document: &Value) -> Vec<&'static str> {
    const TYPES: [&str; 7] = ["PreSync", "Sync", "PostSync", "SyncFail", "Skip", "PreDelete", "PostDelete"];
    let words = |name: &str| annotation(document, name).into_iter().flat_map(|text| text.split(',')).map(str::trim);
    let own: Vec<&str> = words(ARGO_HOOK).filter_map(|word| TYPES.into_iter().find(|one| *one == word)).collect();
    if !own.is_empty() {
        return own;
    }
    let of_helm = words(HOOK).filter_map(|word| match word {
        "pre-install" | "pre-upgrade" => Some("PreSync"),
        "post-install" | "post-upgrade" => Some("PostSync"),
        _ => None,
    });
    of_helm.collect()
}

/// What a hook of Argo CD does to a live object of the same name: it is deleted first unless a policy says otherwise, in the words of
/// Argo CD or of Helm (`pkg/sync/hook/delete_policy.go`).
fn argo_meeting(document: &Value) -> Meeting {
    // Those of a deletion run when the application goes.
    let runs = argo_types(document).iter().any(|one| matches!(*one, "PreSync" | "Sync" | "PostSync" | "SyncFail"));
    let words = |name: &str| annotation(document, name).into_iter().flat_map(|text| text.split(',')).map(str::trim);
    let own = words(ARGO_POLICY).filter(|word| matches!(*word, "BeforeHookCreation" | "HookSucceeded" | "HookFailed"));
    let of_helm = words(POLICY).filter(|word| matches!(*word, BEFORE | SUCCEEDED | "hook-failed"));
    let policies: Vec<&str> = own.chain(of_helm).collect();
    match runs {
        false => Meeting::None,
        true if policies.is_empty() || policies.iter().any(|one| matches!(*one, "BeforeHookCreation" | BEFORE)) => {
            Meeting::Replaces
        }
        true => Meeting::Changes,
    }
}

/// What Helm reads of a hook.
struct Hook {
    /// When it runs.
    events: Vec<String>,
    /// When it is deleted; `None` where nothing is said.
    policies: Option<Vec<String>>,
}

impl Hook {
    fn of(document: &Value) -> Option<Self> {
        let annotations = annotations(document);
        let words = |text: &str| text.split(',').map(|word| word.trim().to_lowercase()).collect();
        let events = words(annotations.get(HOOK)?);
        Some(Self { events, policies: annotations.get(POLICY).map(|text| words(text)) })
    }

    /// Whether it runs when the release is installed or upgraded, as far as it is known which of the two happens, or rolled back. Flux
    /// runs the tests, too, where its release says so (helm-controller `internal/reconcile/test.go`).
    fn runs(&self, base: BaseKind, host: &Host) -> bool {
        if host.rolls_back {
            return self.events.iter().any(|event| matches!(event.as_str(), "pre-rollback" | "post-rollback"));
        }
        let installs = !matches!(base, BaseKind::Release);
        let upgrades = base != BaseKind::FirstInstall;
        self.events.iter().any(|event| match event.as_str() {
            "pre-install" | "post-install" => installs,
            "pre-upgrade" | "post-upgrade" => upgrades,
            "test" | "test-success" => host.kind == Some(HostKind::Flux),
            _ => false,
        })
    }

    fn has(&self, policy: &str) -> bool {
        self.policies.as_ref().map_or(policy == BEFORE, |all| all.iter().any(|one| one == policy))
    }
}

/// The annotations of a document as Helm reads them (`SimpleHead`): names of fields in any case, as encoding/json takes
/// them, one after the other by the order of their bytes, and scalars as text, as sigs.k8s.io/yaml makes them.
fn annotations(document: &Value) -> BTreeMap<&str, Cow<'_, str>> {
    let mut found: BTreeMap<&str, Cow<'_, str>> = BTreeMap::new();
    let Some(document) = document.as_object() else { return found };
    for metadata in fields(document, "metadata") {
        let Value::Object(metadata) = metadata else {
            found.clear();
            continue;
        };
        for annotations in fields(metadata, "annotations") {
            let Value::Object(annotations) = annotations else {
                found.clear();
                continue;
            };
            for (name, value) in annotations {
                let text = match value {
                    Value::String(text) => Cow::Borrowed(text.as_str()),
                    Value::Null => Cow::Borrowed(""),
                    Value::Bool(_) | Value::Number(_) => Cow::Owned(value.to_string()),
                    // Helm stops here, before it writes anything.
                    Value::Array(_) | Value::Object(_) => continue,
                };
                found.insert(name, text);
            }
        }
    }
    found
}

/// The values of all fields with this name in any case, in the order of their bytes.
fn fields<'v>(map: &'v Map, name: &str) -> Vec<&'v Value> {
    let mut found: Vec<(&Text, &Value)> = map.iter().filter(|(key, _)| folds_to(key, name)).collect();
    found.sort_unstable_by_key(|(key, _)| *key);
    found.into_iter().map(|(_, value)| value).collect()
}

/// Whether encoding/json takes a key for a field: without case, and two letters beyond ASCII fold to ASCII ones.
fn folds_to(key: &str, name: &str) -> bool {
    let fold = |c: char| match c {
        'ſ' => 's',
        '\u{212A}' => 'k',
        c => c.to_ascii_lowercase(),
    };
    key.chars().map(fold).eq(name.chars())
}

/// What a hook does to a live object of the same name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Meeting {
    /// Nothing, as it does not run now.
    None,
    /// It deletes the object before it makes its own.
    Replaces,
    /// It is applied over the object, and deleted when it succeeded.
    Removes,
    /// It is applied over the object.
    Changes,
    /// It cannot be made, and the release fails.
    Fails,
}

/// What a hook does to a live object of the same name (helm `pkg/action/hooks.go`, `execHook`, `deleteHookByPolicy`).
pub(super) fn meeting(
    hook: &Object,
    host: &Host,
    base: BaseKind,
    way: Option<WriteMethod>,
) -> Result<Meeting, LoadError> {
    let own = hook.value()?;
    if host.kind == Some(HostKind::Argocd) {
        return Ok(argo_meeting(&own));
    }
    // The list of an item is the hook where it says so; else Helm has taken it apart.
    let document = match &hook.carrier {
        Some(carrier) if Hook::of(&carrier.value).is_some() => &carrier.value,
        _ => &*own,
    };
    let Some(found) = Hook::of(document).filter(|hook| hook.runs(base, host) && !host.no_hooks) else {
        return Ok(Meeting::None);
    };
    // Helm deletes no hook whose document is a definition: all objects of the kind would go with it.
    let definition = document.get("kind").and_then(Value::as_str) == Some("CustomResourceDefinition");
    Ok(if found.has(BEFORE) && !definition {
        Meeting::Replaces
    } else if way != Some(WriteMethod::ServerSideApply) {
        // Helm creates, and the API server has one of that name already.
        Meeting::Fails
    } else if found.has(SUCCEEDED) && !definition {
        Meeting::Removes
    } else {
        Meeting::Changes
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::json;

    fn of(document: &Value) -> Role {
        of_value(document, Some(HostKind::Helm3))
    }

    #[test]
    fn a_hook_is_known_as_helm_knows_it() {
        let with = |annotations: Value| json!({"metadata": {"annotations": annotations}});
        assert_eq!(of(&with(json!({"helm.sh/hook": "pre-upgrade"}))), Role::Hook);
        assert_eq!(of(&with(json!({"helm.sh/hook": " Pre-Upgrade , TEST"}))), Role::Hook);
        assert_eq!(of(&with(json!({"helm.sh/Hook": "pre-upgrade"}))), Role::Written);
        assert_eq!(of(&with(json!({"helm.sh/hook-weight": "1"}))), Role::Written);
        // Words that Helm does not know: the document is in neither heap.
        for word in [json!("crd-install"), json!("pre-upgrade,"), json!(""), json!(null), json!(true), json!(1)] {
            assert_eq!(of(&with(json!({"helm.sh/hook": word}))), Role::Skipped, "{word}");
        }
    }

    #[test]
    fn fields_are_found_in_any_case_as_go_finds_them() {
        let hook = json!({"helm.sh/hook": "pre-upgrade"});
        assert_eq!(of(&json!({"METADATA": {"Annotationſ": hook}})), Role::Hook);
        assert_eq!(of(&json!({"metadata": {}, "Metadata": {"annotations": hook}})), Role::Hook);
        // What comes last by its bytes wins: a null takes all away.
        assert_eq!(of(&json!({"metadata": null, "Metadata": {"annotations": hook}})), Role::Written);
        assert_eq!(of(&json!({"Metadata": null, "metadata": {"annotations": hook}})), Role::Hook);
        assert_eq!(of(&json!({"spec": {"metadata": {"annotations": hook}}})), Role::Written);
    }

    #[test]
    fn what_a_hook_does_to_a_live_object() {
        let hook = |events: &str, policy: Option<&str>| {
            let mut value = json!({"apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "Cluster",
                "metadata": {"name": "a", "annotations": {"helm.sh/hook": events}}});
            if let Some(policy) = policy {
                value["metadata"]["annotations"]["helm.sh/hook-delete-policy"] = json!(policy);
            }
            Object::from_value(value, 1).expect("an object")
        };
        let (patch, apply) = (Some(WriteMethod::MergePatch), Some(WriteMethod::ServerSideApply));
        let met = |events: &str, policy: Option<&str>, way| {
            meeting(&hook(events, policy), &Host::default(), BaseKind::Release, way).expect("readable")
        };
        assert_eq!(met("post-upgrade", None, patch), Meeting::Replaces);
        assert_eq!(met("pre-upgrade,test", Some("hook-failed, Before-Hook-Creation"), apply), Meeting::Replaces);
        assert_eq!(met("pre-upgrade", Some(""), patch), Meeting::Fails);
        assert_eq!(met("pre-upgrade", Some("hook-succeeded"), patch), Meeting::Fails);
        assert_eq!(met("pre-upgrade", Some("hook-succeeded"), apply), Meeting::Removes);
        assert_eq!(met("pre-upgrade", Some("hook-failed"), apply), Meeting::Changes);
        for events in ["pre-install", "test", "pre-delete", "pre-rollback"] {
            assert_eq!(met(events, None, patch), Meeting::None, "{events}");
        }
        let off = Host { no_hooks: true, ..Host::default() };
        let met = meeting(&hook("pre-upgrade", None), &off, BaseKind::Release, patch).expect("readable");
        assert_eq!(met, Meeting::None);
    }

    #[test]
    fn argo_applies_a_hook_that_it_does_not_delete_first() {
        let met = |annotations: Value| {
            let value = json!({"apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "Cluster",
                "metadata": {"name": "a", "annotations": annotations}});
            let host = Host { kind: Some(HostKind::Argocd), ..Host::default() };
            let hook = Object::from_value(value, 1).expect("an object");
            meeting(&hook, &host, BaseKind::Unknown, Some(WriteMethod::LastApplied)).expect("readable")
        };
        assert_eq!(met(json!({ARGO_HOOK: "PreSync"})), Meeting::Replaces);
        assert_eq!(met(json!({ARGO_HOOK: "PreSync", ARGO_POLICY: "HookSucceeded"})), Meeting::Changes);
        assert_eq!(met(json!({ARGO_HOOK: "Skip"})), Meeting::None);
        assert_eq!(met(json!({ARGO_HOOK: "PreDelete, PostDelete"})), Meeting::None);
        assert_eq!(met(json!({ARGO_HOOK: "PostDelete,PostSync"})), Meeting::Replaces);
        assert_eq!(met(json!({HOOK: "pre-upgrade"})), Meeting::Replaces);
        assert_eq!(met(json!({HOOK: "pre-upgrade", POLICY: "hook-succeeded"})), Meeting::Changes);
        // Every sync is an installation as much as an upgrade.
        assert_eq!(met(json!({HOOK: "post-install"})), Meeting::Replaces);
        assert_eq!(met(json!({HOOK: "pre-delete"})), Meeting::None);
        assert_eq!(met(json!({HOOK: "pre-install", ARGO_POLICY: "HookFailed"})), Meeting::Changes);
        assert_eq!(met(json!({ARGO_HOOK: "Skip,PreSync"})), Meeting::Replaces);
    }

    #[test]
    fn argo_leaves_what_it_skips_and_knows_no_hook_of_definitions() {
        let of =
            |annotations: Value| of_value(&json!({"metadata": {"annotations": annotations}}), Some(HostKind::Argocd));
        assert_eq!(of(json!({ARGO_HOOK: "Skip"})), Role::Left);
        assert_eq!(of(json!({ARGO_HOOK: "Skip, PreSync"})), Role::Hook);
        assert_eq!(of(json!({ARGO_HOOK: "PostDelete"})), Role::Hook);
        assert_eq!(of(json!({HOOK: "crd-install"})), Role::Written);
        assert_eq!(of(json!({HOOK: "pre-delete"})), Role::Hook);
    }
}
