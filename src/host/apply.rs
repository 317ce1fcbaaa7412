//! Server-side apply: what the API server merges, removes and refuses
//! (structured-merge-diff v6 `merge/update.go`: `Updater.Apply`, `prune`, `update`; `typed/merge.go`: `visitListItems`).

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use super::fields::{FieldSet, Ownership, Step, owners};
use super::merge;
use super::place::{Kind, Place};
use crate::object::Path;
use crate::schema::{Merge, Node};

/// Who applies, and with what power.
#[derive(Debug, Clone, Copy)]
pub(super) struct Applier<'a> {
    /// Its field manager.
    pub(super) manager: &'a str,
    /// Whether what it wrote by patches before counts as applied (helm moves its `Update` entries when a release
    /// changes its way of writing, and when it adopts; client-go `csaupgrade`).
    pub(super) adopts_updates: bool,
    /// Another manager whose updates it takes over before it applies.
    pub(super) migrates: Option<&'a str>,
    /// Whether it takes fields from other managers.
    pub(super) force: bool,
}

/// What the API server answers to an apply.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Applied {
    /// The object after the write.
    Merged(Value),
    /// Another manager owns a field to which this one gives another value.
    Conflict {
        /// The first such manager.
        manager: String,
        /// The fields, as paths.
        paths: Vec<String>,
    },
    /// A map or list that stays in the manifest loses its last part, becomes `null`, and may not be that.
    Nulled(Path),
}

/// The object after `rendered` was applied to `live`. `spec` is the schema of the spec, where it is known.
pub(super) fn apply(live: &Value, rendered: &Value, spec: Option<&Node>, applier: Applier<'_>) -> Applied {
    let rendered = merge::pruned(rendered.clone());
    let (mine, others): (Vec<Ownership>, Vec<Ownership>) =
        owners(live).into_iter().partition(|entry| is_mine(entry, applier));
    let root = Place::Root(spec);
    let mut merged = merged(live, &rendered, root);
    let mut last = FieldSet::default();
    mine.iter().for_each(|entry| last.add(&entry.fields));
    let mut kept = sent_fields(&rendered, root);
    others.iter().for_each(|entry| kept.add(&entry.fields));
    let mut nulls = Vec::new();
    remove(&mut merged, &last, &kept, (root, &Path::root()), &mut nulls);
    if !applier.force {
        // Fields of the former manager become its own only after the first apply, which conflicts with them like with any other.
        let former = mine.iter().filter(|entry| applier.migrates == Some(entry.manager.as_str()));
        let last = if applier.manager == KUBECTL { last_applied(live, &rendered) } else { None };
        if let Some(conflict) = conflict((live, last.as_ref()), &merged, others.iter().chain(former), root) {
            return conflict;
        }
    }
    nulls.into_iter().next().map_or(Applied::Merged(merged), Applied::Nulled)
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
pub(super) fn is_mine(entry: &Ownership, applier: Applier<'_>) -> bool {
    let own = entry.manager == applier.manager && (entry.operation == "Apply" || applier.adopts_updates);
    entry.subresource.is_empty() && (own || applier.migrates == Some(entry.manager.as_str()))
}

/// Two values of one place as one; the new one wins where both say something.
fn merged(old: &Value, new: &Value, place: Place<'_>) -> Value {
    match (place.kind(new), old, new) {
        (Kind::Granular, Value::Object(old), Value::Object(new)) => {
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
        (Kind::Items(how), Value::Array(old), Value::Array(new)) => Value::Array(merged_items(old, new, &how, place)),
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
    let mut done: HashSet<&Step> = HashSet::new();
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
fn sent_fields(value: &Value, place: Place<'_>) -> FieldSet {
    let mut set = FieldSet::default();
    match (place.kind(value), value) {
        (Kind::Granular, Value::Object(map)) if !map.is_empty() => {
            for (key, value) in map {
                let step = Step::Field(key.clone());
                let mut below = sent_fields(value, place.field(key));
                below.owned |= !place.is_named(&step);
                set.below.insert(step, below);
            }
        }
        (Kind::Items(how), Value::Array(items)) => {
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
    let mut gone: HashSet<&Step> = HashSet::new();
    for (step, last) in &last.below {
        let named = place.is_named(step);
        let Some(inner) = items.child(value, step) else { continue };
        // An empty list that is merged by item is no field of its own.
        if is_empty(inner) && matches!(place.step(step).kind(inner), Kind::Items(_)) {
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
        let at = step.field().map_or_else(|| path.clone(), |key| path.key(key));
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
        let (Value::Array(items), Kind::Items(how)) = (value, place.kind(&Value::Array(Vec::new()))) else {
            return Self(HashMap::new());
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
fn conflict<'e>(
    (live, last): (&Value, Option<&Value>),
    merged: &Value,
    mut others: impl Iterator<Item = &'e Ownership>,
    root: Place<'_>,
) -> Option<Applied> {
    others.find_map(|entry| {
        let mut paths = Vec::new();
        contested((live, last), merged, &entry.fields, (root, &Path::root()), &mut paths);
        (!paths.is_empty()).then(|| Applied::Conflict { manager: entry.manager.clone(), paths })
    })
}

/// Collects the places that a set owns and whose value becomes another one.
fn contested(
    (live, last): (&Value, Option<&Value>),
    merged: &Value,
    owned: &FieldSet,
    (place, path): (Place<'_>, &Path),
    found: &mut Vec<String>,
) {
    if live == merged {
        return;
    }
    match (place.kind(merged), live, merged) {
        (Kind::Granular, Value::Object(live), Value::Object(merged)) => {
            for (key, value) in merged {
                let owned = owned.below.get(&Step::Field(key.clone()));
                if let (Some(owned), Some(live)) = (owned, live.get(key)) {
                    let last = last.and_then(|last| last.get(key));
                    contested((live, last), value, owned, (place.field(key), &path.key(key.as_str())), found);
                }
            }
        }
        (Kind::Items(how), Value::Array(live), Value::Array(merged)) => {
            let steps = |items: &[Value]| items.iter().map(|item| place.step_to(&how, item)).collect::<Vec<_>>();
            let live_steps = steps(live);
            let was_at = places_of(&live_steps);
            let last = last.and_then(Value::as_array);
            let last_steps = last.map(|last| steps(last)).unwrap_or_default();
            let last_at = places_of(&last_steps);
            for (at, item) in merged.iter().enumerate() {
                let step = place.step_to(&how, item);
                let before = was_at.get(&step).map(|at| &live[*at]);
                let last = last_at.get(&step).and_then(|at| last?.get(*at));
                if let (Some(owned), Some(before)) = (owned.below.get(&step), before) {
                    contested((before, last), item, owned, (place.item(), &path.index(at)), found);
                }
            }
        }
        _ if owned.owned && last != Some(live) => found.push(path.to_string()),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const HELM: Applier<'_> = Applier { manager: "helm", adopts_updates: false, migrates: None, force: false };

    /// A schema with one of each sort of place.
    fn schema() -> Node {
        serde_json::from_value(json!({"f": {
            "a": {"t": "integer"}, "replicas": {"t": "integer"}, "b": {"f": {"c": {"t": "integer"}, "filled": {"t": "integer"}}},
            "labels": {"m": {"t": "string"}}, "whole": {"l": {"t": "string"}}, "set": {"l": {"t": "string"}, "s": true},
            "args": {"l": {"f": {"name": {"t": "string"}, "value": {"t": "string"}}}, "k": ["name"]},
            "ref": {"f": {"name": {"t": "string"}, "namespace": {"t": "string"}}, "a": true},
            "filled": {"m": {"t": "string"}, "d": {}}}}))
        .expect("a schema")
    }

    fn live(spec: Value, owned: Value, other: Value) -> Value {
        json!({"spec": spec, "metadata": {"managedFields": [
            {"manager": "helm", "operation": "Apply", "fieldsV1": {"f:spec": owned}},
            {"manager": "autoscaler", "operation": "Update", "fieldsV1": {"f:spec": other}}]}})
    }

    fn applied(live: &Value, spec: Value, applier: Applier<'_>) -> Applied {
        apply(live, &json!({"spec": spec}), Some(&schema()), applier)
    }

    fn spec(applied: Applied) -> Value {
        match applied {
            Applied::Merged(value) => value["spec"].clone(),
            Applied::Conflict { .. } | Applied::Nulled(_) => panic!("it is refused: {applied:?}"),
        }
    }

    #[test]
    fn what_is_rendered_wins_and_what_nobody_sends_stays() {
        let live = live(json!({"a": 1, "replicas": 5}), json!({"f:a": {}}), json!({}));
        assert_eq!(spec(applied(&live, json!({"a": 2}), HELM)), json!({"a": 2, "replicas": 5}));
    }

    #[test]
    fn what_the_manager_sent_before_and_no_longer_sends_goes() {
        let live = live(json!({"a": 1, "b": {"c": 1, "filled": 2}}), json!({"f:a": {}, "f:b": {"f:c": {}}}), json!({}));
        assert_eq!(spec(applied(&live, json!({"a": 1}), HELM)), json!({"a": 1}));
    }

    #[test]
    fn what_another_manager_owns_too_stays() {
        let live =
            live(json!({"a": 1, "replicas": 3}), json!({"f:a": {}, "f:replicas": {}}), json!({"f:replicas": {}}));
        assert_eq!(spec(applied(&live, json!({"a": 1}), HELM)), json!({"a": 1, "replicas": 3}));
    }

    #[test]
    fn another_value_for_a_field_of_another_manager_is_a_conflict_unless_forced() {
        let live = live(json!({"replicas": 3}), json!({}), json!({"f:replicas": {}}));
        assert_eq!(
            applied(&live, json!({"replicas": 1}), HELM),
            Applied::Conflict { manager: "autoscaler".into(), paths: vec!["spec.replicas".into()] }
        );
        let forced = Applier { force: true, ..HELM };
        assert_eq!(spec(applied(&live, json!({"replicas": 1}), forced)), json!({"replicas": 1}));
    }

    #[test]
    fn kubectl_takes_what_it_applied_itself_and_conflicts_with_what_a_webhook_made_of_it() {
        let kubectl = Applier {
            manager: KUBECTL,
            adopts_updates: false,
            migrates: Some("kubectl-client-side-apply"),
            force: false,
        };
        let last = r#"{"apiVersion":"v1","spec":{"a":1,"ref":{"name":"x"}}}"#;
        let live = |a: i64, reference: Value| {
            json!({"apiVersion": "v1", "spec": {"a": a, "ref": reference}, "metadata": {
                "annotations": {"kubectl.kubernetes.io/last-applied-configuration": last},
                "managedFields": [{"manager": "kubectl-client-side-apply", "operation": "Update",
                    "fieldsV1": {"f:spec": {"f:a": {}, "f:ref": {}}}}]}})
        };
        let sent = |a: i64, name: &str| json!({"apiVersion": "v1", "spec": {"a": a, "ref": {"name": name}}});
        let applied = |live: &Value, sent: &Value| apply(live, sent, Some(&schema()), kubectl);
        let own = live(1, json!({"name": "x"}));
        assert!(matches!(applied(&own, &sent(2, "y")), Applied::Merged(_)));
        let filled = live(1, json!({"name": "x", "namespace": "n"}));
        assert_eq!(
            applied(&filled, &sent(2, "x")),
            Applied::Conflict { manager: "kubectl-client-side-apply".into(), paths: vec!["spec.ref".into()] }
        );
        let drifted = live(7, json!({"name": "x"}));
        assert!(matches!(applied(&drifted, &sent(2, "x")), Applied::Conflict { .. }), "somebody else wrote it");
        assert!(matches!(applied(&drifted, &sent(7, "x")), Applied::Merged(_)));
    }

    #[test]
    fn the_same_value_is_no_conflict() {
        let live = live(json!({"replicas": 3}), json!({}), json!({"f:replicas": {}}));
        assert_eq!(spec(applied(&live, json!({"replicas": 3}), HELM)), json!({"replicas": 3}));
    }

    #[test]
    fn lists_are_whole_or_merged_as_the_schema_says() {
        let live = live(
            json!({"whole": ["x"], "set": ["x"], "args": [{"name": "x", "value": "1"}, {"name": "y", "value": "1"}]}),
            json!({}),
            json!({}),
        );
        let sent =
            json!({"whole": ["a"], "set": ["a"], "args": [{"name": "y", "value": "2"}, {"name": "a", "value": "1"}]});
        assert_eq!(
            spec(applied(&live, sent, HELM)),
            json!({"whole": ["a"], "set": ["x", "a"],
                "args": [{"name": "x", "value": "1"}, {"name": "y", "value": "2"}, {"name": "a", "value": "1"}]})
        );
    }

    #[test]
    fn items_that_the_manager_sent_before_go_and_those_of_others_stay() {
        let live = live(
            json!({"args": [{"name": "x", "value": "1"}, {"name": "y", "value": "1"}, {"name": "z", "value": "1"}]}),
            json!({"f:args": {"k:{\"name\":\"x\"}": {".": {}, "f:name": {}, "f:value": {}},
                "k:{\"name\":\"y\"}": {".": {}, "f:name": {}, "f:value": {}}}}),
            json!({"f:args": {"k:{\"name\":\"z\"}": {".": {}, "f:name": {}, "f:value": {}}}}),
        );
        assert_eq!(
            spec(applied(&live, json!({"args": [{"name": "y", "value": "1"}]}), HELM)),
            json!({"args": [{"name": "y", "value": "1"}, {"name": "z", "value": "1"}]})
        );
    }

    #[test]
    fn a_map_that_loses_its_last_key_goes() {
        let live = live(json!({"labels": {"a": "1"}, "a": 1}), json!({"f:labels": {"f:a": {}}, "f:a": {}}), json!({}));
        assert_eq!(spec(applied(&live, json!({"a": 1}), HELM)), json!({"a": 1}));
    }

    #[test]
    fn an_empty_map_that_is_sent_becomes_null_and_is_refused_unless_it_has_a_default() {
        let live = live(json!({"labels": {"a": "1"}}), json!({"f:labels": {"f:a": {}}}), json!({}));
        assert_eq!(
            applied(&live, json!({"labels": {}}), HELM),
            Applied::Nulled(Path::root().key("spec").key("labels"))
        );
        let others = json!({"spec": {"labels": {"a": "1", "b": "2"}}, "metadata": {"managedFields": [
            {"manager": "helm", "operation": "Apply", "fieldsV1": {"f:spec": {"f:labels": {"f:a": {}}}}}]}});
        assert_eq!(spec(applied(&others, json!({"labels": {}}), HELM)), json!({"labels": {"b": "2"}}));
        let filled = json!({"spec": {"filled": {"a": "1"}}, "metadata": {"managedFields": [
            {"manager": "helm", "operation": "Apply", "fieldsV1": {"f:spec": {"f:filled": {"f:a": {}}}}}]}});
        assert_eq!(spec(applied(&filled, json!({"filled": {}}), HELM)), json!({}));
    }

    #[test]
    fn a_reference_is_written_whole() {
        let live = live(json!({"ref": {"name": "a", "namespace": "n"}}), json!({"f:ref": {}}), json!({}));
        assert_eq!(spec(applied(&live, json!({"ref": {"name": "b"}}), HELM)), json!({"ref": {"name": "b"}}));
    }
}
