//! What one object becomes when the host writes it, for each way of writing.

use std::borrow::Cow;

use super::last_applied::last_applied_patch;
use super::{kinds, stored};
use crate::apiserver::apply::{Applied, Applier, Keeps, apply_owned, before_first_apply, is_mine};
use crate::apiserver::fields::{Ownership, owners};
use crate::apiserver::merge;
use crate::apiserver::update::{fold_string_data, kept, patched, replaced, restored};
use crate::apiserver::versions::{Versions, comes_from_another, goes_through_another};
use crate::kinds::contract::SECRET;
use crate::model::RuleId;
use crate::object::{Key, Path, Segment};
use crate::schema;
use crate::tree::{Map, Value};
use crate::world::{HostKind, WriteMethod};

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

    /// What is applied, with what its webhook makes of each `null` that it reads and does not leave out.
    fn nulls_read<'v>(&self, applied: &'v Value) -> Cow<'v, Value> {
        Cow::Borrowed(applied)
    }

    /// What revisions wrote of the object behind the last one that came to its end.
    fn sent_since(&self) -> &[Value] {
        &[]
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

/// What of a prediction could be otherwise.
pub(super) enum Unsure {
    Nothing,
    /// A removal could have gone unseen.
    Removals,
    /// A map that goes may become null, which is refused: somebody owns a part of it in another version.
    Emptied(Path),
    /// An apply that does not force may be refused: nobody says who owns this place, and somebody else has given it another value.
    Contested(Path),
}

/// The object after the write.
pub(super) enum AfterWrite {
    /// The API server holds this.
    Holds {
        /// The object.
        predicted: Value,
        /// What of it could be otherwise.
        unsure: Unsure,
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
    pub(super) fn sure(predicted: Value) -> Self {
        Self::Holds { predicted, unsure: Unsure::Nothing, adopted: false }
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
            // What a revision that failed has written was sent too.
            let mut last =
                before.definition.sent_since().iter().fold(last.clone(), |last, sent| merge::overlay(&last, sent));
            schema::reshape(&mut last, rendered);
            restored(predicted, before.live, (Some(&last), Some(rendered)));
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
        Last::Nothing => AfterWrite::Holds { predicted: before.live.clone(), unsure: Unsure::Nothing, adopted: true },
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

/// Server-side apply. Of an object that says no managed fields all that is there belongs to a manager of its own, where that is known to
/// be so (apimachinery `util/managedfields/internal/skipnonapplied.go`, `Apply`); else what was sent last time stands in for what is owned.
fn server_side(before: &Before<'_>, rendered: &Value, applier: Applier<'_>) -> AfterWrite {
    let word = |key: &str| rendered.get(key).and_then(Value::as_str).unwrap_or_default();
    let schema = schema::builtin(word("apiVersion"), word("kind"));
    let read = before.definition.nulls_read(rendered);
    let mut entries = owners(before.live);
    if entries.is_empty() {
        if !before.says_owners {
            return unowned(before, &read, applier);
        }
        entries.push(before_first_apply(before.live, schema));
    }
    // Places are named in the version of each entry; another version may name them otherwise.
    let last = if let Last::Known(last) = before.last { Some(last) } else { None };
    let versions = Versions { live: before.live, rendered, last };
    let entries: Vec<Ownership> = entries.into_iter().map(|entry| versions.entry(entry)).collect();
    let is_moved = comes_from_another(before.live, rendered, applier);
    let keeps = match goes_through_another(before.live, rendered, applier) {
        false => Keeps::All,
        true if !before.definition.has_older_versions() => Keeps::Lists,
        true if is_moved => Keeps::Nothing,
        true => Keeps::Foreign,
    };
    match apply_owned((before.live, entries), (rendered, &read), schema, applier, keeps) {
        Applied::Merged(mut predicted) => {
            if is_moved {
                // Without that version nothing is converted (`prune` of the same file); then what differs from live counts.
                let live = Some(before.live).filter(|_| !before.definition.has_older_versions());
                stored::come_back(before.key, &mut predicted, live);
            }
            let unsure = emptied(&versions, applier, &predicted).map_or(Unsure::Nothing, Unsure::Emptied);
            AfterWrite::Holds { predicted, unsure, adopted: false }
        }
        Applied::Conflict { manager, paths } => AfterWrite::Refused {
            rule: RuleId::of("host/conflict"),
            because: format!(
                "the API server refuses the apply: {manager:?} owns {} with another value; the upgrade stops half-way; leave \
                 the field out, or let the host take it over (--force-conflicts)",
                paths.join(", ")
            ),
        },
        Applied::Nulled { nulls, merged } => nulled(before, &nulls, merged),
    }
}

/// A map that is gone after an apply, of which somebody else owns a part in another version.
fn emptied(versions: &Versions<'_>, applier: Applier<'_>, predicted: &Value) -> Option<Path> {
    let is_gone = |path: &Path| path.get(versions.live).is_some() && path.get(predicted).is_none();
    if !loses_a_map(versions.live, predicted) {
        return None;
    }
    let entries = owners(versions.live);
    let others = entries.iter().filter(|entry| !is_mine(entry, applier));
    others.flat_map(|entry| versions.hollow(entry)).find(is_gone)
}

/// Whether a map of the one is not in the other.
fn loses_a_map(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Object(one), Value::Object(other)) => one.iter().any(|(key, value)| match other.get(key) {
            Some(other) => loses_a_map(value, other),
            None => value.is_object(),
        }),
        _ => false,
    }
}

/// An apply that leaves nulls: the schema refuses those that no webhook fills in or takes away first. What a webhook makes of the others it
/// looks at itself.
fn nulled(before: &Before<'_>, nulls: &[Path], merged: Value) -> AfterWrite {
    let mut sent = merged;
    nulls.iter().for_each(|path| put_null(&mut sent, path.segments()));
    let filled = before.definition.filled(&sent);
    let is_null = |path: &&Path| filled.as_ref().is_none_or(|filled| path.get(filled).is_some_and(Value::is_null));
    let Some(path) = nulls.iter().find(is_null) else {
        return AfterWrite::sure(merge::pruned(before.definition.nulls_read(&sent).into_owned()));
    };
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

/// An apply where nobody is said to own anything. The API server refuses it where another manager owns a field and gave it another value
/// (structured-merge-diff v6 `merge/update.go`, `update`).
fn unowned(before: &Before<'_>, rendered: &Value, applier: Applier<'_>) -> AfterWrite {
    match before.last {
        Last::Known(last) => {
            let mut last = last.clone();
            schema::reshape(&mut last, rendered);
            let unsure = match applier.force {
                true => None,
                false => {
                    let mut filled = before.definition.filled(&last).unwrap_or_else(|| last.clone());
                    fill_number(before.key, &mut filled);
                    written_by_others((before.live, Some(&filled), rendered), &Path::root())
                }
            };
            let predicted = patched(before.live, merge::three_way(&last, rendered, before.live));
            let unsure = unsure.map_or(Unsure::Nothing, Unsure::Contested);
            AfterWrite::Holds { predicted, unsure, adopted: false }
        }
        Last::Nothing | Last::Taken => AfterWrite::sure(merge::overlay(before.live, rendered)),
        Last::Unknown => blind(before, rendered),
    }
}

/// Fills in the number of Machines that an owner has where nobody says one (`core/webhooks/admission/machinedeployment.go`,
/// calculateMachineDeploymentReplicas, of Cluster API 1.14, without an autoscaler; control planes by their schema).
fn fill_number(key: &Key, sent: &mut Value) {
    let spec = sent.get_mut("spec").and_then(Value::as_object_mut).filter(|_| kinds::owns_machines(key));
    if let Some(spec) = spec.filter(|spec| !spec.contains_key("replicas")) {
        spec.insert("replicas".to_owned(), Value::from(1));
    }
}

/// The first place that holds neither what was sent last time, with what webhooks filled in, nor what is sent now, and so was written by
/// somebody else. Where nothing was sent, it may be a default of the schema, which nobody owns.
fn written_by_others((live, last, sent): (&Value, Option<&Value>, &Value), path: &Path) -> Option<Path> {
    if live == sent || last.is_none_or(|last| last.is_null() || last == live) {
        return None;
    }
    match (live, sent) {
        (Value::Object(live), Value::Object(sent)) => sent.iter().find_map(|(key, sent)| {
            let last = last.and_then(|last| last.get(key));
            written_by_others((live.get(key)?, last, sent), &path.key(key.as_str()))
        }),
        // The API server fills in what an item leaves out, so items are compared one by one.
        (Value::Array(live), Value::Array(sent)) if live.len() == sent.len() => {
            live.iter().zip(sent).enumerate().find_map(|(at, (live, sent))| {
                written_by_others((live, last.and_then(|last| last.get(at)), sent), &path.index(at))
            })
        }
        _ => Some(path.clone()),
    }
}

/// What is rendered laid over live, where removals cannot be seen.
fn blind(before: &Before<'_>, rendered: &Value) -> AfterWrite {
    let is_blind = lacks_something(before.live.get("spec"), rendered.get("spec"));
    let unsure = if is_blind { Unsure::Removals } else { Unsure::Nothing };
    AfterWrite::Holds { predicted: merge::overlay(before.live, rendered), unsure, adopted: false }
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

/// A rendered tree as a host sends it to the API server: without what Helm takes out again, with the namespace of the release. Helm adds
/// labels and annotations of its own (Helm 3.22 and 4.3 `pkg/action/validate.go` setMetadataVisitor), and by that makes a `null` of others
/// an empty text (`k8s.io/apimachinery` v0.36 `pkg/apis/meta/v1/unstructured/helpers.go` NestedNullCoercingStringMap).
pub(super) fn sent(mut rendered: Value, key: &Key, host: Option<HostKind>) -> Value {
    if let Some(metadata) = rendered.get_mut("metadata").and_then(Value::as_object_mut) {
        if matches!(host, Some(HostKind::Helm3 | HostKind::Helm4 | HostKind::Flux)) {
            texts(metadata, "labels");
            texts(metadata, "annotations");
        }
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

/// Makes each `null` of a map an empty text.
fn texts(metadata: &mut Map, key: &str) {
    let has_null = metadata.get(key).and_then(Value::as_object).is_some_and(|map| map.values().any(Value::is_null));
    if let Some(map) = metadata.get_mut(key).and_then(Value::as_object_mut).filter(|_| has_null) {
        map.values_mut().filter(|value| value.is_null()).for_each(|value| *value = "".into());
    }
}

#[cfg(test)]
mod tests;
