//! What one object becomes when the host writes it, for each way of writing.

use super::{kinds, stored};
use crate::apiserver::apply::{Applied, Applier, apply_owned, before_first_apply};
use crate::apiserver::fields::{Ownership, owners};
use crate::apiserver::merge;
use crate::apiserver::update::{fold_string_data, kept, patched, replaced, restored};
use crate::apiserver::versions::{Versions, comes_from_another, goes_through_another};
use crate::kinds::contract::SECRET;
use crate::model::RuleId;
use crate::object::{Key, Path, Segment};
use crate::schema;
use crate::tree::{Map, Value};
use crate::world::WriteMethod;

/// Annotation in which `kubectl apply` keeps what it applied last.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// What is known about one object before the write.
pub(super) struct Before<'a> {
    /// Its identity.
    pub(super) key: &'a Key,
    /// What the API server holds.
    pub(super) live: &'a Value,
    /// What the host wrote last time: known, known not to be, or not known.
    pub(super) last: Last<'a>,
    /// Whether managed fields were asked for, so that an object that says none has none.
    pub(super) says_owners: bool,
    /// What is known of its kind.
    pub(super) definition: &'a dyn Definition,
}

/// What is known of how the API server holds objects of a kind; nothing, where nobody says more.
pub(super) trait Definition {
    /// An object with what the webhook of its kind fills in, where it has one.
    fn filled(&self, _object: &Value) -> Option<Value> {
        None
    }

    /// Whether the versions that its objects were written in before are there for sure, to be converted to.
    fn has_older_versions(&self) -> bool {
        false
    }
}

/// A kind of which nothing is known.
pub(super) struct NoDefinition;

impl Definition for NoDefinition {}

/// What the host wrote last time.
#[derive(Clone, Copy)]
pub(super) enum Last<'a> {
    /// This.
    Known(&'a Value),
    /// Nothing: the host writes this object for the first time.
    Nothing,
    /// Nothing, and a first install of Helm takes ownership of it, which merges what is rendered with live.
    Taken,
    /// Not known.
    Unknown,
}

/// The object after the write.
pub(super) enum AfterWrite {
    /// The API server holds this.
    Holds {
        /// The object.
        predicted: Value,
        /// Whether a removal could have gone unseen.
        blind: bool,
        /// Whether the host takes over an object without writing the fields that its chart renders.
        adopted: bool,
    },
    /// The write is refused.
    Refused {
        /// Which rule of the host or the server refuses it.
        rule: RuleId,
        /// One sentence.
        because: String,
    },
    /// The live object is deleted and made anew.
    Recreated,
}

impl AfterWrite {
    /// A prediction with nothing unseen.
    fn sure(predicted: Value) -> Self {
        Self::Holds { predicted, blind: false, adopted: false }
    }
}

/// Writes `rendered` over what is there.
pub(super) fn write(way: WriteMethod, before: &Before<'_>, rendered: &Value, applier: Applier<'_>) -> AfterWrite {
    let mut outcome = match way {
        WriteMethod::MergePatch => patch(before, rendered),
        WriteMethod::LastApplied => last_applied(before, rendered),
        WriteMethod::ServerSideApply => server_side(before, rendered, applier),
        WriteMethod::Replace => {
            let last = if let Last::Known(last) = before.last { Some(last) } else { None };
            AfterWrite::sure(replaced(before.live, last, rendered, applier.manager))
        }
        WriteMethod::Recreate => AfterWrite::Recreated,
    };
    if let AfterWrite::Holds { predicted, adopted: false, .. } = &mut outcome {
        kept(predicted, before.live);
        if let (WriteMethod::ServerSideApply, Last::Known(last)) = (way, before.last) {
            let mut last = last.clone();
            schema::reshape(&mut last, rendered);
            restored(predicted, before.live, Some(&last));
        }
    }
    outcome
}

/// Helm's patch from its last manifest to the new one (helm `pkg/kube/client.go`, `createPatch`): custom resources get a
/// two-way merge patch that does not look at live, built-in kinds a three-way one.
fn patch(before: &Before<'_>, rendered: &Value) -> AfterWrite {
    let built_in = kinds::is_built_in(before.key);
    match before.last {
        Last::Known(last) if built_in => {
            AfterWrite::sure(patched(before.live, merge::three_way(last, rendered, before.live)))
        }
        Last::Known(last) => AfterWrite::sure(patched(before.live, merge::diff(last, rendered))),
        // What Helm adopts is compared with itself: a custom resource stays as it is, a built-in one is repaired.
        Last::Nothing if built_in => {
            AfterWrite::sure(patched(before.live, merge::three_way(rendered, rendered, before.live)))
        }
        Last::Nothing => AfterWrite::Holds { predicted: before.live.clone(), blind: false, adopted: true },
        // A first install that takes ownership does not compare with itself only (helm `pkg/action/install.go`,
        // `performInstall`, since 3.18): what is rendered wins over live.
        Last::Taken => AfterWrite::sure(patched(before.live, merge::three_way(rendered, rendered, before.live))),
        Last::Unknown => blind(before, rendered),
    }
}

/// `kubectl apply`: what it applied last is in the live object itself (kubectl `pkg/cmd/apply/patcher.go`).
fn last_applied(before: &Before<'_>, rendered: &Value) -> AfterWrite {
    AfterWrite::sure(patched(before.live, last_applied_patch(before, rendered)))
}

/// The patch of `kubectl apply`, without the annotation that it writes anew.
pub(super) fn last_applied_patch(before: &Before<'_>, rendered: &Value) -> Value {
    let annotations = before.live.get("metadata").and_then(|metadata| metadata.get("annotations"));
    let text = annotations.and_then(|annotations| annotations.get(LAST_APPLIED)).and_then(Value::as_str);
    // Without the annotation nothing can be removed, and kubectl only warns about it.
    let last = text.and_then(|text| serde_json::from_str(text).ok()).unwrap_or(Value::Null);
    let last = if last.is_object() { last } else { Value::Object(Map::new()) };
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
    let last = crate::kinds::fields::annotation(live, LAST_APPLIED).and_then(read);
    last.is_some() && last == read(&last_applied_text(rendered))
}

/// Adds that annotation to an object or a patch.
pub(super) fn annotate(object: &mut Value, text: &str) {
    super::ask::mark(object, "annotations", LAST_APPLIED, text);
}

/// Server-side apply. Of an object that says no managed fields all that is there belongs to a manager of its own, where that is known to
/// be so (apimachinery `util/managedfields/internal/skipnonapplied.go`, `Apply`); else what was sent last time stands in for what is owned.
fn server_side(before: &Before<'_>, rendered: &Value, applier: Applier<'_>) -> AfterWrite {
    let word = |key: &str| rendered.get(key).and_then(Value::as_str).unwrap_or_default();
    let schema = schema::builtin(word("apiVersion"), word("kind"));
    let mut entries = owners(before.live);
    if entries.is_empty() {
        if !before.says_owners {
            return unowned(before, rendered);
        }
        entries.push(before_first_apply(before.live, schema));
    }
    // Places are named in the version of each entry; another version may name them otherwise.
    let last = if let Last::Known(last) = before.last { Some(last) } else { None };
    let versions = Versions { live: before.live, rendered, last };
    let entries: Vec<Ownership> = entries.into_iter().map(|entry| versions.entry(entry).0).collect();
    let keeps_nulls = !goes_through_another(before.live, rendered, applier);
    match apply_owned((before.live, entries), rendered, schema, applier, keeps_nulls) {
        Applied::Merged(mut predicted) => {
            if comes_from_another(before.live, rendered, applier) {
                // Without that version nothing is converted (`prune` of the same file); then what differs from live counts.
                let live = Some(before.live).filter(|_| !before.definition.has_older_versions());
                stored::sort(before.key, &mut predicted, live);
            }
            AfterWrite::sure(predicted)
        }
        Applied::Conflict { manager, paths } => AfterWrite::Refused {
            rule: RuleId::of("host/conflict"),
            because: format!(
                "the API server refuses the apply: {manager:?} owns {} with another value; the upgrade stops half-way",
                paths.join(", ")
            ),
        },
        Applied::Nulled { nulls, merged } => nulled(before, &nulls, merged),
    }
}

/// An apply that leaves nulls: the schema refuses those that no webhook fills in or takes away first.
fn nulled(before: &Before<'_>, nulls: &[Path], merged: Value) -> AfterWrite {
    let mut sent = merged.clone();
    nulls.iter().for_each(|path| put_null(&mut sent, path.segments()));
    let filled = before.definition.filled(&sent);
    let is_null = |path: &&Path| filled.as_ref().is_none_or(|filled| path.get(filled).is_some_and(Value::is_null));
    let Some(path) = nulls.iter().find(is_null) else { return AfterWrite::sure(merged) };
    AfterWrite::Refused {
        rule: RuleId::of("host/schema"),
        because: format!(
            "the API server refuses the apply: {path} is sent empty and loses its last part, which makes it null; leave {path} out; the upgrade stops half-way"
        ),
    }
}

/// Puts a null under the last key of a path, where the rest of it is there.
fn put_null(value: &mut Value, path: &[Segment]) {
    match (path, value) {
        ([Segment::Key(key)], Value::Object(map)) => drop(map.insert(key.clone(), Value::Null)),
        ([Segment::Key(key), rest @ ..], Value::Object(map)) => {
            map.get_mut(key.as_str()).into_iter().for_each(|value| put_null(value, rest));
        }
        ([Segment::Index(at), rest @ ..], Value::Array(list)) => {
            list.get_mut(*at).into_iter().for_each(|value| put_null(value, rest));
        }
        _ => {}
    }
}

/// An apply where nobody is said to own anything.
fn unowned(before: &Before<'_>, rendered: &Value) -> AfterWrite {
    match before.last {
        Last::Known(last) => {
            let mut last = last.clone();
            schema::reshape(&mut last, rendered);
            AfterWrite::sure(patched(before.live, merge::three_way(&last, rendered, before.live)))
        }
        Last::Nothing | Last::Taken => AfterWrite::sure(merge::overlay(before.live, rendered)),
        Last::Unknown => blind(before, rendered),
    }
}

/// What is rendered laid over live, where removals cannot be seen.
fn blind(before: &Before<'_>, rendered: &Value) -> AfterWrite {
    let blind = lacks_something(before.live.get("spec"), rendered.get("spec"));
    AfterWrite::Holds { predicted: merge::overlay(before.live, rendered), blind, adopted: false }
}

/// Whether `live` has a field that `rendered` does not have, so that it may be one that the host removes.
fn lacks_something(live: Option<&Value>, rendered: Option<&Value>) -> bool {
    match (live, rendered) {
        (Some(Value::Object(live)), Some(Value::Object(rendered))) => {
            live.iter().any(|(key, value)| lacks_something(Some(value), rendered.get(key)))
        }
        (Some(live), None) => !live.is_null(),
        _ => false,
    }
}

/// A rendered tree as it goes to the API server: without what Helm takes out again, with the namespace of the release.
pub(super) fn sent(mut rendered: Value, key: &Key) -> Value {
    if let Some(metadata) = rendered.get_mut("metadata").and_then(Value::as_object_mut) {
        let emptied = metadata.get_mut("annotations").and_then(Value::as_object_mut).is_some_and(|annotations| {
            annotations.shift_remove("postrenderer.helm.sh/postrender-filename").is_some() && annotations.is_empty()
        });
        if emptied {
            metadata.shift_remove("annotations");
        }
        if let (false, Some(namespace)) = (metadata.contains_key("namespace"), &key.namespace) {
            metadata.insert("namespace".to_owned(), Value::from(namespace.as_str()));
        }
    }
    if key.group.is_empty() && key.kind == SECRET {
        fold_string_data(&mut rendered);
    }
    rendered
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::json;

    const HELM: Applier<'_> = Applier { manager: "helm", adopts_updates: false, migrates: None, force: false };

    fn after(way: WriteMethod, live: &Value, last: Last<'_>, rendered: &Value) -> (Value, bool) {
        let key = Key::new("cluster.x-k8s.io/v1beta1", "MachineDeployment", Some("n"), "md");
        match write(
            way,
            &Before { key: &key, live, last, says_owners: false, definition: &NoDefinition },
            rendered,
            HELM,
        ) {
            AfterWrite::Holds { predicted, blind, .. } => (predicted["spec"].clone(), blind),
            AfterWrite::Refused { because, .. } => panic!("refused: {because}"),
            AfterWrite::Recreated => panic!("made anew"),
        }
    }

    #[test]
    fn the_same_change_by_two_ways_of_writing() {
        let live = json!({"spec": {"replicas": 9, "version": "v1.30.0", "byHand": true}});
        let last = json!({"spec": {"replicas": 1, "version": "v1.30.0"}});
        let new = json!({"spec": {"replicas": 1, "version": "v1.31.0"}});
        let known = Last::Known(&last);
        assert_eq!(
            after(WriteMethod::MergePatch, &live, known, &new).0,
            json!({"replicas": 9, "version": "v1.31.0", "byHand": true})
        );
        assert_eq!(
            after(WriteMethod::ServerSideApply, &live, known, &new).0,
            json!({"replicas": 1, "version": "v1.31.0", "byHand": true})
        );
    }

    #[test]
    fn an_adopted_custom_resource_stays_as_it_is() {
        let live = json!({"spec": {"replicas": 9}});
        assert_eq!(
            after(WriteMethod::MergePatch, &live, Last::Nothing, &json!({"spec": {"replicas": 1}})).0,
            live["spec"]
        );
    }

    #[test]
    fn without_a_base_removals_are_not_seen_and_that_is_said() {
        let live = json!({"spec": {"replicas": 9, "dropped": 1}});
        let seen = after(WriteMethod::MergePatch, &live, Last::Unknown, &json!({"spec": {"replicas": 1}}));
        assert_eq!(seen, (json!({"replicas": 1, "dropped": 1}), true));
        assert!(
            !after(WriteMethod::MergePatch, &live, Last::Unknown, &json!({"spec": {"replicas": 1, "dropped": 1}})).1
        );
    }

    #[test]
    fn an_apply_that_changes_its_version_sorts_arguments() {
        /// A kind whose older versions are there for sure.
        struct Sure;
        impl Definition for Sure {
            fn has_older_versions(&self) -> bool {
                true
            }
        }
        let args = |names: [&str; 2]| {
            let list: Vec<Value> = names.iter().map(|name| json!({"name": name, "value": "1"})).collect();
            json!({"apiVersion": "controlplane.cluster.x-k8s.io/v1beta2", "kind": "KubeadmControlPlane", "metadata": {"name": "cp"},
                "spec": {"kubeadmConfigSpec": {"clusterConfiguration": {"apiServer": {"extraArgs": list}}}}})
        };
        let key = Key::new("controlplane.cluster.x-k8s.io/v1beta2", "KubeadmControlPlane", Some("n"), "cp");
        let of = |live: [&str; 2],
                  definition: &dyn Definition,
                  (operation, mine, theirs): (&str, &str, &str),
                  applier: Applier<'_>| {
            let mut live = args(live);
            let entry = |manager: &str, operation: &str, version: &str| {
                json!({"manager": manager, "operation": operation, "apiVersion": format!("controlplane.cluster.x-k8s.io/{version}"),
                    "fieldsV1": {"f:spec": {"f:replicas": {}}}})
            };
            live["metadata"]["managedFields"] =
                json!([entry("helm", operation, mine), entry("other", "Apply", theirs)]);
            let before = Before { key: &key, live: &live, last: Last::Unknown, says_owners: true, definition };
            let written = write(WriteMethod::ServerSideApply, &before, &args(["v", "profiling"]), applier);
            let AfterWrite::Holds { predicted, .. } = written else { panic!("it is written") };
            let at = "/spec/kubeadmConfigSpec/clusterConfiguration/apiServer/extraArgs/0/name";
            predicted.pointer(at).and_then(Value::as_str).expect("a name").to_owned()
        };
        let stored = ["v", "profiling"];
        let first_of = |operation: &str, (mine, theirs): (&str, &str), applier: Applier<'_>| {
            of(stored, &NoDefinition, (operation, mine, theirs), applier)
        };
        let first = |mine: &str, theirs: &str| first_of("Apply", (mine, theirs), HELM);
        assert_eq!(first("v1beta1", "v1beta2"), "profiling");
        // Another one's older version leaves the order alone, and so do updates that the host does not make its own.
        assert_eq!(first("v1beta2", "v1beta1"), "v");
        assert_eq!(first_of("Update", ("v1beta1", "v1beta2"), HELM), "v");
        // Helm 4 makes its own what Helm 3 patched; seen with both.
        let adopts = Applier { adopts_updates: true, ..HELM };
        assert_eq!(first_of("Update", ("v1beta1", "v1beta2"), adopts), "profiling");
        // A list that would come back as it is live comes back so only where that version is there for sure.
        let again =
            |definition: &dyn Definition| of(["profiling", "v"], definition, ("Apply", "v1beta1", "v1beta2"), HELM);
        assert_eq!((again(&Sure), again(&NoDefinition)), ("profiling".to_owned(), "v".to_owned()));
    }

    #[test]
    fn kubectl_removes_what_it_applied_last() {
        let live = json!({"metadata": {"annotations": {LAST_APPLIED: r#"{"spec":{"a":1,"b":1}}"#}}, "spec": {"a": 1, "b": 1, "c": 1}});
        assert_eq!(
            after(WriteMethod::LastApplied, &live, Last::Unknown, &json!({"spec": {"a": 2}})).0,
            json!({"a": 2, "c": 1})
        );
    }

    #[test]
    fn kubectl_leaves_annotations_of_others_where_the_manifest_has_none() {
        let live = json!({"metadata": {"annotations": {"by": "hand", "mine": "1",
            LAST_APPLIED: r#"{"metadata":{"annotations":{"mine":"1"}}}"#}}});
        let key = Key::new("cluster.x-k8s.io/v1beta1", "MachineDeployment", Some("n"), "md");
        let before =
            Before { key: &key, live: &live, last: Last::Unknown, says_owners: false, definition: &NoDefinition };
        let written = write(WriteMethod::LastApplied, &before, &json!({"metadata": {"name": "md"}}), HELM);
        let AfterWrite::Holds { predicted, .. } = written else { panic!("it is written") };
        let annotations = &predicted["metadata"]["annotations"];
        assert_eq!((&annotations["by"], annotations.get("mine")), (&json!("hand"), None));
    }

    #[test]
    fn a_replace_drops_what_is_not_rendered_and_keeps_what_the_server_and_webhooks_write() {
        let live = json!({"apiVersion": "v", "metadata": {"uid": "1", "finalizers": ["f"], "annotations": {"by": "hand"},
            "labels": {"a": "1"}, "managedFields": [
            {"manager": "helm", "operation": "Update", "apiVersion": "v", "fieldsV1":
                {"f:spec": {"f:replicas": {}, "f:dropped": {}, "f:strategy": {".": {}, "f:type": {}}}}},
            {"manager": "manager", "operation": "Update", "apiVersion": "v", "fieldsV1": {"f:spec": {"f:endpoint": {}}}}]},
            "spec": {"replicas": 9, "dropped": 1, "strategy": {"type": "RollingUpdate"}, "endpoint": "x"},
            "status": {"ready": true}});
        let last = json!({"spec": {"replicas": 1, "dropped": 1}});
        let new = json!({"apiVersion": "v", "metadata": {"labels": {"a": "2"}}, "spec": {"replicas": 1}});
        let key = Key::new("cluster.x-k8s.io/v1beta1", "MachineDeployment", Some("n"), "md");
        let before =
            Before { key: &key, live: &live, last: Last::Known(&last), says_owners: false, definition: &NoDefinition };
        let AfterWrite::Holds { predicted, .. } = write(WriteMethod::Replace, &before, &new, HELM) else {
            panic!("it is written")
        };
        assert_eq!(predicted["spec"], json!({"replicas": 1, "strategy": {"type": "RollingUpdate"}}));
        assert_eq!(predicted["status"], live["status"]);
        assert_eq!(predicted["metadata"]["labels"], json!({"a": "2"}));
        assert_eq!(predicted["metadata"].get("annotations"), None);
        assert_eq!((&predicted["metadata"]["uid"], &predicted["metadata"]["finalizers"]), (&json!("1"), &json!(["f"])));
    }

    #[test]
    fn plain_data_of_a_secret_is_kept_encoded() {
        let key = Key::new("v1", "Secret", None, "s");
        assert_eq!(sent(json!({"stringData": {"a": "x"}}), &key), json!({"data": {"a": "eA=="}}));
    }
}
