//! Server-side apply: what the API server merges, removes and refuses
//! (structured-merge-diff v6 `merge/update.go`: `Updater.Apply`, `prune`, `update`; `typed/merge.go`: `visitListItems`).

use super::fields::{FieldSet, Ownership, Step, owners};
use super::merge;
use super::omitted::without_empty_lists;
use super::place::{Merging, Place};
use crate::hashed::{HashMap, HashSet};
use crate::object::{Path, Segment};
use crate::schema::{Merge, SchemaNode};
use crate::tree::{List, Map, Value};

/// Who applies, and with what power.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Applier<'a> {
    /// Its field manager.
    pub(crate) manager: &'a str,
    /// Whether what it wrote by patches before counts as applied (helm moves its `Update` entries when a release
    /// changes its way of writing, and when it adopts; client-go `csaupgrade`).
    pub(crate) adopts_updates: bool,
    /// Another manager whose updates it takes over before it applies.
    pub(crate) migrates: Option<&'a str>,
    /// Whether it takes fields from other managers.
    pub(crate) force: bool,
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

/// The same where `owners` say who owns what, each in the version of what is sent, of which `read` is what a webhook makes of its nulls. What
/// loses its last part is refused only where all is kept; a conversion between versions drops it.
pub(crate) fn apply_owned(
    (live, owners): (&Value, Vec<Ownership>),
    (sent, read): (&Value, &Value),
    spec: Option<&SchemaNode>,
    applier: Applier<'_>,
    keeps: Keeps,
) -> Applied {
    let rendered = merge::pruned(read.clone());
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
        let former = mine.iter().filter(|entry| applier.migrates == Some(entry.manager.as_str()));
        let last = if applier.manager == KUBECTL { last_applied(live, &rendered) } else { None };
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

/// The field manager of `kubectl apply --server-side`.
const KUBECTL: &str = "kubectl";

/// What `kubectl apply` applied last without the server: where live still is so, an apply under the name of kubectl takes the
/// field without a conflict (apimachinery `managedfields/internal/lastappliedmanager.go`, since 1.21).
fn last_applied(live: &Value, rendered: &Value) -> Option<Value> {
    let text = live.pointer("/metadata/annotations/kubectl.kubernetes.io~1last-applied-configuration")?.as_str()?;
    let last: Value = serde_json::from_str(text).ok()?;
    (last.get("apiVersion") == rendered.get("apiVersion")).then_some(last)
}

/// Whether an entry is what this applier applied before.
pub(crate) fn is_mine(entry: &Ownership, applier: Applier<'_>) -> bool {
    let own = entry.manager == applier.manager && (entry.operation == "Apply" || applier.adopts_updates);
    entry.subresource.is_empty() && (own || applier.migrates == Some(entry.manager.as_str()))
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
fn places_of(steps: &[Step]) -> HashMap<&Step, usize> {
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

/// Removes what was applied before and is in no set any more, and says whether nothing is left. What loses its last key
/// becomes `null` (structured-merge-diff `typed/remove.go`): the API server fills in the default, drops it from `metadata`, and
/// refuses it in a `spec` that has another type for it; what holds it stays.
fn remove(
    value: &mut Value,
    last: &FieldSet,
    kept: &FieldSet,
    (place, path): (Place<'_>, &Path),
    nulls: &mut Vec<Path>,
) -> bool {
    let nothing = FieldSet::default();
    let (mut dropped, mut nulled) = (false, false);
    let items = Items::of(value, place);
    let above = nulls.len();
    let mut gone: HashSet<&Step> = HashSet::default();
    for (step, last) in &last.below {
        let named = place.is_named(step);
        let Some(inner) = items.child(value, step) else { continue };
        // An empty list that is merged by item is no field of its own.
        if is_empty(inner) && matches!(place.step(step).merging(inner), Merging::Items(_)) {
            continue;
        }
        let covered = kept.below.get(step).filter(|kept| named || kept.owned);
        if covered.is_none() && (named || last.owned) {
            gone.insert(step);
            dropped = true;
            continue;
        }
        let kept = covered.or_else(|| kept.below.get(step)).unwrap_or(&nothing);
        let below = place.step(step);
        let held = !sent_fields(inner, below).is_empty();
        let at = match (step.field(), items.0.get(step)) {
            (Some(key), _) => path.key(key),
            (None, Some(at)) => path.index(*at),
            (None, None) => path.clone(),
        };
        if remove(inner, last, kept, (below, &at), nulls) {
            gone.insert(step);
            nulled = true;
            if below.refuses_null() {
                nulls.push(at);
            }
        } else if held && (named || last.owned) && sent_fields(inner, below).is_empty() {
            // What is left holds no field, only lists without items: the server finds it gone.
            gone.insert(step);
            dropped = true;
        }
    }
    items.move_up(&mut nulls[above..], path, &gone);
    items.drop(value, &gone);
    dropped && !nulled && is_empty(value)
}

/// Whether a map or a list has nothing in it.
fn is_empty(value: &Value) -> bool {
    value.as_object().is_some_and(Map::is_empty) || value.as_array().is_some_and(Vec::is_empty)
}

/// Where the items of a list stand by the step that leads to each; nothing where the value is no such list.
struct Items(HashMap<Step, usize>);

impl Items {
    fn of(value: &Value, place: Place<'_>) -> Self {
        let (Value::Array(items), Merging::Items(how)) = (value, place.merging(&Value::Array(List::default()))) else {
            return Self(HashMap::default());
        };
        // The first one is meant where a step stands twice.
        Self(items.iter().enumerate().rev().map(|(at, item)| (place.step_to(&how, item), at)).collect())
    }

    /// The value at one step.
    fn child<'v>(&self, value: &'v mut Value, step: &Step) -> Option<&'v mut Value> {
        match (value, step) {
            (Value::Object(map), Step::Field(key)) => map.get_mut(key),
            (Value::Array(items), _) => self.0.get(step).and_then(|at| items.get_mut(*at)),
            _ => None,
        }
    }

    /// Gives paths below items the places that these have once the values at some steps are gone.
    fn move_up(&self, below: &mut [Path], path: &Path, gone: &HashSet<&Step>) {
        let places: Vec<usize> = gone.iter().filter_map(|step| self.0.get(*step).copied()).collect();
        for one in below {
            if let Some(Segment::Index(at)) = one.segments().get(path.segments().len()) {
                let now = at - places.iter().filter(|place| *place < at).count();
                let rest = one.segments()[path.segments().len() + 1..].iter().cloned();
                *one = rest.fold(path.index(now), |path, segment| path.with(segment));
            }
        }
    }

    /// Takes the values at some steps away.
    fn drop(&self, value: &mut Value, gone: &HashSet<&Step>) {
        if gone.is_empty() {
            return;
        }
        match value {
            Value::Object(map) => {
                let keys: HashSet<&str> = gone.iter().filter_map(|step| step.field()).collect();
                map.retain(|key, _| !keys.contains(key.as_str()));
            }
            Value::Array(items) => {
                let places: HashSet<usize> = gone.iter().filter_map(|step| self.0.get(*step).copied()).collect();
                let mut at = 0;
                items.retain(|_| {
                    at += 1;
                    !places.contains(&(at - 1))
                });
            }
            _ => {}
        }
    }
}

/// The first other manager that owns a field to which another value is given; `last` is what may be taken all the same.
fn conflict<'e, 'm>(
    (live, last): (&Value, Option<&Value>),
    written: impl Fn(&Ownership) -> &'m Value,
    mut others: impl Iterator<Item = &'e Ownership>,
    root: Place<'_>,
) -> Option<Applied> {
    others.find_map(|entry| {
        let mut paths = Vec::new();
        contested((Some(live), last), written(entry), entry, &entry.fields, (root, &Path::root()), &mut paths);
        (!paths.is_empty()).then(|| Applied::Conflict { manager: entry.manager.clone(), paths })
    })
}

/// Collects the places that a set owns and whose value becomes another one. A place that is not there may be owned all the same: what a
/// webhook or a conversion leaves out of an object stays with whoever sent it (structured-merge-diff v6 `merge/update.go`, `update`, which
/// compares with what is modified and what is added).
fn contested(
    (live, last): (Option<&Value>, Option<&Value>),
    merged: &Value,
    entry: &Ownership,
    owned: &FieldSet,
    (place, path): (Place<'_>, &Path),
    found: &mut Vec<String>,
) {
    if live == Some(merged) {
        return;
    }
    match (place.merging(merged), live, merged) {
        (Merging::Granular, Some(Value::Object(_)) | None, Value::Object(merged))
            if live.is_some() || !merged.is_empty() =>
        {
            for (key, value) in merged {
                let step = Step::Field(key.to_string());
                // The types of the other version leave an empty text out, and what is left out is neither modified nor added. Under a free
                // key, as of a label, it stays.
                if entry.is_converted && value.as_str() == Some("") && place.is_named(&step) {
                    continue;
                }
                if let Some(owned) = owned.below.get(&step) {
                    let both = (live.and_then(|live| live.get(key)), last.and_then(|last| last.get(key)));
                    contested(both, value, entry, owned, (place.field(key), &path.key(key.as_str())), found);
                }
            }
        }
        (Merging::Items(how), Some(Value::Array(_)) | None, Value::Array(merged))
            if live.is_some() || !merged.is_empty() =>
        {
            let steps = |items: &[Value]| items.iter().map(|item| place.step_to(&how, item)).collect::<Vec<_>>();
            let live = live.and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
            let live_steps = steps(live);
            let was_at = places_of(&live_steps);
            let last = last.and_then(Value::as_array);
            let last_steps = last.map(|last| steps(last)).unwrap_or_default();
            let last_at = places_of(&last_steps);
            for (at, item) in merged.iter().enumerate() {
                let step = place.step_to(&how, item);
                let before = was_at.get(&step).map(|at| &live[*at]);
                let last = last_at.get(&step).and_then(|at| last?.get(*at));
                if let Some(owned) = owned.below.get(&step) {
                    contested((before, last), item, entry, owned, (place.item(), &path.index(at)), found);
                }
            }
        }
        // A map or a list that is sent as null is merged as an empty one; what is replaced as a whole is added.
        (_, None, Value::Null) if !place.is_whole() => {}
        (_, Some(live), Value::Null) if !matches!(place.merging(live), Merging::Whole) => {}
        _ if owned.owned && (live.is_none() || last != live) => found.push(path.to_string()),
        _ => {}
    }
}

#[cfg(test)]
mod tests;
