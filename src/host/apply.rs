//! Server-side apply: what the API server merges, removes and refuses
//! (structured-merge-diff `merge/update.go`, `Updater.Apply` and `prune`).

use serde_json::Value;

use super::fields::{FieldSet, Ownership, Step, canonical, owners};
use super::merge;

/// Who applies, and with what power.
#[derive(Debug, Clone, Copy)]
pub(super) struct Applier<'a> {
    /// Its field manager.
    pub(super) manager: &'a str,
    /// Whether what it wrote by patches before counts as applied (helm moves its `Update` entries when a release
    /// changes its way of writing; client-go `csaupgrade`).
    pub(super) adopts_updates: bool,
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
}

/// The object after `rendered` was applied to `live`.
pub(super) fn apply(live: &Value, rendered: &Value, applier: Applier<'_>) -> Applied {
    let rendered = merge::pruned(rendered.clone());
    let (mine, others): (Vec<Ownership>, Vec<Ownership>) =
        owners(live).into_iter().partition(|entry| is_mine(entry, applier));
    let sent = sent_fields(&rendered);
    if !applier.force
        && let Some(conflict) = conflict(live, &rendered, &others)
    {
        return conflict;
    }
    let mut merged = merge::overlay(live, &rendered);
    let mut last = FieldSet::default();
    mine.iter().for_each(|entry| last.add(&entry.fields));
    let mut kept = sent;
    others.iter().for_each(|entry| kept.add(&entry.fields));
    remove(&mut merged, &last, &kept);
    Applied::Merged(merged)
}

/// Whether an entry is what this applier applied before.
pub(super) fn is_mine(entry: &Ownership, applier: Applier<'_>) -> bool {
    entry.manager == applier.manager
        && entry.subresource.is_empty()
        && (entry.operation == "Apply" || applier.adopts_updates)
}

/// The fields that an applied object owns: every leaf, and every list as a whole.
fn sent_fields(value: &Value) -> FieldSet {
    let mut set = FieldSet::default();
    match value {
        Value::Object(map) if !map.is_empty() => {
            for (key, value) in map {
                set.below.insert(Step::Field(key.clone()), sent_fields(value));
            }
        }
        _ => set.owned = true,
    }
    set
}

/// Removes what was applied before and is in no set any more.
fn remove(value: &mut Value, last: &FieldSet, kept: &FieldSet) {
    for (step, last) in &last.below {
        match kept.below.get(step) {
            Some(kept) if kept.below.is_empty() => {}
            Some(kept) => {
                if let Some(value) = child(value, step) {
                    remove(value, last, kept);
                }
            }
            None => drop_child(value, step),
        }
    }
}

/// The value at one step.
fn child<'v>(value: &'v mut Value, step: &Step) -> Option<&'v mut Value> {
    match (value, step) {
        (Value::Object(map), Step::Field(key)) => map.get_mut(key),
        (Value::Array(items), Step::Item(keys)) => items.iter_mut().find(|item| has_keys(item, keys)),
        (Value::Array(items), Step::Member(member)) => items.iter_mut().find(|item| canonical(item) == *member),
        (Value::Array(items), Step::Place(place)) => items.get_mut(*place),
        _ => None,
    }
}

/// Takes the value at one step away.
fn drop_child(value: &mut Value, step: &Step) {
    match (value, step) {
        (Value::Object(map), Step::Field(key)) => {
            map.shift_remove(key);
        }
        (Value::Array(items), Step::Item(keys)) => items.retain(|item| !has_keys(item, keys)),
        (Value::Array(items), Step::Member(member)) => items.retain(|item| canonical(item) != *member),
        _ => {}
    }
}

/// Whether a list item has the keys of a `k:{...}` step.
fn has_keys(item: &Value, keys: &str) -> bool {
    let Ok(Value::Object(keys)) = serde_json::from_str::<Value>(keys) else { return false };
    keys.iter().all(|(key, value)| item.get(key) == Some(value))
}

/// The first other manager that owns a field to which another value is given.
fn conflict(live: &Value, rendered: &Value, others: &[Ownership]) -> Option<Applied> {
    others.iter().find_map(|entry| {
        let mut paths = Vec::new();
        contested(Some(live), rendered, &entry.fields, "", &mut paths);
        (!paths.is_empty()).then(|| Applied::Conflict { manager: entry.manager.clone(), paths })
    })
}

/// Collects the leaves of `rendered` that differ from `live` and that a set owns.
fn contested(live: Option<&Value>, rendered: &Value, owned: &FieldSet, path: &str, found: &mut Vec<String>) {
    if live == Some(rendered) {
        return;
    }
    match rendered {
        Value::Object(map) if live.is_none_or(Value::is_object) && !map.is_empty() => {
            for (key, value) in map {
                if let Some(owned) = owned.below.get(&Step::Field(key.clone())) {
                    let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                    contested(live.and_then(|live| live.get(key)), value, owned, &path, found);
                }
            }
        }
        _ if live.is_some() => found.push(path.to_owned()),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const HELM: Applier<'_> = Applier { manager: "helm", adopts_updates: false, force: false };

    fn live(spec: Value, owned: Value, other: Value) -> Value {
        json!({"spec": spec, "metadata": {"managedFields": [
            {"manager": "helm", "operation": "Apply", "fieldsV1": {"f:spec": owned}},
            {"manager": "autoscaler", "operation": "Update", "fieldsV1": {"f:spec": other}}]}})
    }

    fn spec(applied: Applied) -> Value {
        match applied {
            Applied::Merged(value) => value["spec"].clone(),
            Applied::Conflict { .. } => panic!("a conflict: {applied:?}"),
        }
    }

    #[test]
    fn what_is_rendered_wins_and_what_nobody_sends_stays() {
        let live = live(json!({"a": 1, "defaulted": 5}), json!({"f:a": {}}), json!({}));
        assert_eq!(spec(apply(&live, &json!({"spec": {"a": 2}}), HELM)), json!({"a": 2, "defaulted": 5}));
    }

    #[test]
    fn what_the_manager_sent_before_and_no_longer_sends_goes() {
        let live = live(json!({"a": 1, "b": {"c": 1, "filled": 2}}), json!({"f:a": {}, "f:b": {"f:c": {}}}), json!({}));
        assert_eq!(spec(apply(&live, &json!({"spec": {"a": 1}}), HELM)), json!({"a": 1}));
    }

    #[test]
    fn what_another_manager_owns_too_stays() {
        let live =
            live(json!({"a": 1, "replicas": 3}), json!({"f:a": {}, "f:replicas": {}}), json!({"f:replicas": {}}));
        assert_eq!(spec(apply(&live, &json!({"spec": {"a": 1}}), HELM)), json!({"a": 1, "replicas": 3}));
    }

    #[test]
    fn another_value_for_a_field_of_another_manager_is_a_conflict_unless_forced() {
        let live = live(json!({"replicas": 3}), json!({}), json!({"f:replicas": {}}));
        let rendered = json!({"spec": {"replicas": 1}});
        assert_eq!(
            apply(&live, &rendered, HELM),
            Applied::Conflict { manager: "autoscaler".into(), paths: vec!["spec.replicas".into()] }
        );
        assert_eq!(spec(apply(&live, &rendered, Applier { force: true, ..HELM })), json!({"replicas": 1}));
    }

    #[test]
    fn the_same_value_is_no_conflict() {
        let live = live(json!({"replicas": 3}), json!({}), json!({"f:replicas": {}}));
        assert_eq!(spec(apply(&live, &json!({"spec": {"replicas": 3}}), HELM)), json!({"replicas": 3}));
    }
}
