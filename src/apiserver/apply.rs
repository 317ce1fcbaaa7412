//! Server-side apply: what the API server merges, removes and refuses
//! (structured-merge-diff v6 `merge/update.go`: `Updater.Apply`, `prune`, `update`; `typed/merge.go`: `visitListItems`).

use super::contested::{conflict, last_applied};
use super::fields::{FieldSet, Ownership, Step, owners};
use super::merge;
use super::omitted::without_empty_lists;
use super::place::{Merging, Place};
use super::removed::remove;
use crate::hashed::{HashMap, HashSet};
use crate::object::Path;
use crate::schema::{Merge, SchemaNode};
use crate::tree::Value;

/// Who applies, and with what power.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Applier<'a> {
    /// Its field manager.
    pub(crate) manager: &'a str,
    /// Whether what it wrote by patches before counts as applied (helm moves its `Update` entries when a release
    /// changes its way of writing, and when it adopts; client-go `csaupgrade`).
    pub(crate) adopts_updates: bool,
    /// Whose fields it makes its own with an apply.
    pub(crate) takes: Takes,
    /// Whether it takes fields from other managers.
    pub(crate) force: bool,
}

/// Annotation in which `kubectl apply` keeps what it applied last.
pub(crate) const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";
/// What an object says that `kubectl apply` applied last; `None` where it says nothing that can be read.
pub(crate) fn noted(live: &Value) -> Option<Value> {
    let text = live.get("metadata")?.get("annotations")?.get(LAST_APPLIED)?.as_str()?;
    serde_json::from_str(text).ok().filter(Value::is_object)
}

/// The field manager of Flux's Kustomizations.
pub(crate) const KUSTOMIZE: &str = "kustomize-controller";

/// Whose fields an applier makes its own, beside what it applied before, so that what it no longer sends of them goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Takes {
    /// Nobody's.
    Nothing,
    /// Those of whoever wrote as `kubectl apply` does: it owns the annotation with what was applied last (kubectl `pkg/cmd/apply/apply.go`,
    /// `migrateToSSAIfNecessary`, which Argo CD calls too; gitops-engine `pkg/sync/common/types.go` for the name).
    ClientSide,
    /// Those that kubectl wrote in any way, by hand too, and whoever wrote before the first apply (kustomize-controller
    /// `internal/controller/kustomization_controller.go`, `apply`; fluxcd/pkg `ssa/patch.go`, `matchFieldManager`: names that begin so). An object
    /// that says `ssa: Merge` is left out.
    Kubectl,
}

impl Takes {
    /// Whether an entry becomes the applier's own.
    fn takes(self, entry: &Ownership) -> bool {
        const CLIENT_SIDE: &str = "kubectl-client-side-apply";
        const BEFORE: &str = "before-first-apply";
        let is_update = entry.operation != "Apply";
        match self {
            Self::Nothing => false,
            Self::ClientSide => entry.manager == CLIENT_SIDE || is_update && says_last_applied(&entry.fields),
            Self::Kubectl => {
                let is_own = entry.manager == KUSTOMIZE || entry.manager.starts_with(BEFORE);
                entry.manager.starts_with("kubectl") || is_update && is_own
            }
        }
    }
}

/// Whether a set of fields has the annotation with what was applied last.
fn says_last_applied(fields: &FieldSet) -> bool {
    let places = ["metadata", "annotations", LAST_APPLIED];
    places.iter().try_fold(fields, |set, key| set.below.get(&Step::Field((*key).to_owned()))).is_some()
}

/// Whether an object says that Flux leaves the fields of others alone.
fn says_merge(object: &Value) -> bool {
    let told = object.pointer("/metadata/annotations/kustomize.toolkit.fluxcd.io~1ssa").and_then(Value::as_str);
    told.is_some_and(|told| told.eq_ignore_ascii_case("merge"))
}

/// What an apply keeps of what another version of the object leaves out: nulls, and lists without items (structured-merge-diff v6
/// `merge/update.go`, `prune`, and seen with Kubernetes 1.34).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keeps {
    /// All: nothing is converted.
    All,
    /// Lists: it goes through another version, and nobody knows whether that is there.
    Lists,
    /// Lists that this one did not apply before: what others own is looked up in another version.
    Foreign,
    /// Nothing: it comes from another version, in which this one applied before.
    Nothing,
}

/// What the API server answers to an apply.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Applied {
    /// The object after the write.
    Merged(Value),
    /// Another manager owns a field to which this one gives another value.
    Conflict {
        /// The first such manager.
        manager: String,
        /// The fields, as paths.
        paths: Vec<String>,
    },
    /// Maps and lists that stay in the manifest lose their last part, become `null`, and may not be that, unless a webhook fills them in.
    Nulled {
        /// Where they stand.
        nulls: Vec<Path>,
        /// The object after the write, without them.
        merged: Value,
    },
}

/// The object after `rendered` was applied to `live`. `spec` is the schema of the spec, where it is known.
pub(crate) fn apply(live: &Value, rendered: &Value, spec: Option<&SchemaNode>, applier: Applier<'_>) -> Applied {
    apply_owned((live, owners(live)), (rendered, rendered), spec, applier, Keeps::All)
}

/// The object after `sent` was applied to `live`, where `owners` say who owns what, each in the version of what is sent, of which `read` is
/// what a webhook makes of its nulls. What loses its last part is refused only where all is kept; a conversion between versions drops it.
pub(crate) fn apply_owned(
    (live, owners): (&Value, Vec<Ownership>),
    (sent, read): (&Value, &Value),
    spec: Option<&SchemaNode>,
    applier: Applier<'_>,
    keeps: Keeps,
) -> Applied {
    let rendered = merge::pruned(read.clone());
    let applier = match applier.takes {
        Takes::Kubectl if says_merge(live) || says_merge(&rendered) => Applier { takes: Takes::Nothing, ..applier },
        _ => applier,
    };
    let (mine, others): (Vec<Ownership>, Vec<Ownership>) =
        owners.into_iter().partition(|entry| is_mine(entry, applier));
    let root = Place::Root(spec);
    let mut merged = merged(live, &rendered, root);
    let mut last = FieldSet::default();
    mine.iter().for_each(|entry| last.add(&entry.fields));
    let mut kept = sent_fields(&rendered, root);
    others.iter().for_each(|entry| kept.add(&entry.fields));
    let mut nulls = Vec::new();
    remove(&mut merged, &last, &kept, (root, &Path::root()), &mut nulls);
    let left = match keeps {
        Keeps::All | Keeps::Lists => None,
        Keeps::Foreign => without_empty_lists(&merged, Some(&last)),
        Keeps::Nothing => without_empty_lists(&merged, None),
    };
    let merged = left.unwrap_or(merged);
    if !applier.force {
        // Fields of the former manager become its own only after the first apply, which conflicts with them like with any other.
        let former = mine.iter().filter(|entry| applier.takes.takes(entry));
        let last = last_applied(live, &rendered, applier.manager);
        // What is sent as null is another value than the one that is there; a conversion drops it, and lists without items.
        let with_nulls = (*sent != rendered).then(|| self::merged(live, sent, root));
        let is_converted = others.iter().any(|entry| entry.is_converted);
        let converted = is_converted.then(|| without_empty_lists(&merged, None)).flatten();
        let written =
            |entry: &Ownership| if entry.is_converted { &converted } else { &with_nulls }.as_ref().unwrap_or(&merged);
        if let Some(conflict) = conflict((live, last.as_ref()), written, others.iter().chain(former), root) {
            return conflict;
        }
    }
    if keeps == Keeps::All && !nulls.is_empty() {
        return Applied::Nulled { nulls, merged };
    }
    Applied::Merged(merged)
}

/// Who owns all of an object that says no managed fields when it is applied to for the first time (apimachinery
/// `util/managedfields/fieldmanager.go`, `NewDefaultFieldManager`).
pub(crate) fn before_first_apply(live: &Value, spec: Option<&SchemaNode>) -> Ownership {
    Ownership {
        manager: "before-first-apply".to_owned(),
        operation: "Update".to_owned(),
        api_version: live.get("apiVersion").and_then(Value::as_str).unwrap_or_default().to_owned(),
        subresource: String::new(),
        fields: sent_fields(live, Place::Root(spec)),
        is_converted: false,
    }
}

/// Whether an entry is what this applier applied before.
pub(crate) fn is_mine(entry: &Ownership, applier: Applier<'_>) -> bool {
    let own = entry.manager == applier.manager && (entry.operation == "Apply" || applier.adopts_updates);
    entry.subresource.is_empty() && (own || applier.takes.takes(entry))
}

/// Two values of one place as one; the new one wins where both say something.
fn merged(old: &Value, new: &Value, place: Place<'_>) -> Value {
    match (place.merging(new), old, new) {
        (Merging::Granular, Value::Object(old), Value::Object(new)) => {
            let mut map = old.clone();
            for (key, value) in new {
                let value = match old.get(key) {
                    Some(old) => merged(old, value, place.field(key)),
                    None => value.clone(),
                };
                map.insert(key.clone(), value);
            }
            Value::Object(map)
        }
        (Merging::Items(how), Value::Array(old), Value::Array(new)) => {
            Value::Array(merged_items(old, new, &how, place).into())
        }
        _ => new.clone(),
    }
}

/// Two lists as one, item by item. The new order wins among the items that both have; an item that only the old list
/// has stays before the next one that both have.
fn merged_items(old: &[Value], new: &[Value], how: &Merge, place: Place<'_>) -> Vec<Value> {
    let steps = |items: &[Value]| items.iter().map(|item| place.step_to(how, item)).collect::<Vec<_>>();
    let (old_steps, new_steps) = (steps(old), steps(new));
    let in_old: HashSet<&Step> = old_steps.iter().collect();
    let in_new: HashSet<&Step> = new_steps.iter().collect();
    let was_at = places_of(&old_steps);
    let one = |step: &Step, new: &Value| match was_at.get(step) {
        Some(at) => merged(&old[*at], new, place.item()),
        None => new.clone(),
    };
    let mut shared = new_steps.iter().filter(|step| in_old.contains(step));
    let mut next_shared = shared.next();
    let mut done: HashSet<&Step> = HashSet::default();
    let mut out = Vec::with_capacity(old.len().max(new.len()));
    let (mut left, mut right) = (0, 0);
    while left < old.len() || right < new.len() {
        if left < old.len() && right < new.len() {
            let step = &old_steps[left];
            if *step == new_steps[right] {
                out.push(one(step, &new[right]));
                done.insert(step);
                (left, right) = (left + 1, right + 1);
                next_shared = shared.next();
                continue;
            }
            if in_new.contains(step) && next_shared.is_some_and(|next| next != step) {
                left += 1;
                continue;
            }
        }
        if left < old.len() {
            let step = &old_steps[left];
            if !in_new.contains(step) {
                out.push(old[left].clone());
                left += 1;
                continue;
            }
            if done.contains(step) {
                left += 1;
            }
        }
        if right < new.len() {
            let step = &new_steps[right];
            out.push(one(step, &new[right]));
            done.insert(step);
            right += 1;
            if next_shared == Some(step) {
                next_shared = shared.next();
            }
        }
    }
    out
}

/// Where each step stands; the first place where one stands twice.
pub(super) fn places_of(steps: &[Step]) -> HashMap<&Step, usize> {
    steps.iter().enumerate().rev().map(|(at, step)| (step, at)).collect()
}

/// The fields that an applied object owns (structured-merge-diff `typed/tofieldset.go`).
pub(super) fn sent_fields(value: &Value, place: Place<'_>) -> FieldSet {
    let mut set = FieldSet::default();
    match (place.merging(value), value) {
        (Merging::Granular, Value::Object(map)) if !map.is_empty() => {
            for (key, value) in map {
                let step = Step::Field(key.to_string());
                let mut below = sent_fields(value, place.field(key));
                below.owned |= !place.is_named(&step);
                // A list without items that is merged by item is no field.
                if below.owned || !below.below.is_empty() {
                    set.below.insert(step, below);
                }
            }
        }
        (Merging::Items(how), Value::Array(items)) => {
            for item in items {
                let mut below = match how {
                    Merge::Keys(_) => sent_fields(item, place.item()),
                    _ => FieldSet::default(),
                };
                below.owned = true;
                set.below.insert(place.step_to(&how, item), below);
            }
        }
        _ => set.owned = true,
    }
    set
}

#[cfg(test)]
mod tests;
