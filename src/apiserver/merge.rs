//! JSON merge patches as Helm and `kubectl apply` make them and as the API server applies them
//! (evanphx/json-patch `merge.go`: `getDiff`, `mergeDocs`). Lists go whole; `null` removes.

use crate::tree::{Map, Value};

/// The merge patch that leads from `old` to `new`; an empty map where nothing differs.
pub(crate) fn diff(old: &Value, new: &Value) -> Value {
    match (old, new) {
        (Value::Object(old), Value::Object(new)) => Value::Object(diff_maps(old, new)),
        _ => new.clone(),
    }
}

/// The merge patch between two maps.
fn diff_maps(old: &Map, new: &Map) -> Map {
    let mut patch = Map::new();
    for (key, value) in new {
        match (old.get(key), value) {
            (None, _) => {
                patch.insert(key.clone(), value.clone());
            }
            (Some(Value::Object(old)), Value::Object(new)) => {
                let inner = diff_maps(old, new);
                if !inner.is_empty() {
                    patch.insert(key.clone(), Value::Object(inner));
                }
            }
            (Some(old), _) if old == value => {}
            (Some(_), _) => {
                patch.insert(key.clone(), value.clone());
            }
        }
    }
    for key in old.keys().filter(|key| !new.contains_key(key)) {
        patch.insert(key.clone(), Value::Null);
    }
    patch
}

/// `target` after the API server has applied a merge patch to it.
pub(crate) fn apply(target: &mut Value, patch: Value) {
    let Value::Object(patch) = patch else {
        // Where a map was, a list is taken as it is sent.
        *target = if target.is_object() { patch } else { pruned(patch) };
        return;
    };
    if !target.is_object() {
        *target = pruned(Value::Object(patch));
        return;
    }
    let Some(map) = target.as_object_mut() else { return };
    for (key, value) in patch {
        if value.is_null() {
            map.shift_remove(&key);
            continue;
        }
        match map.get_mut(&key) {
            Some(old) if !old.is_null() => apply(old, value),
            _ => {
                map.insert(key, pruned(value));
            }
        }
    }
}

/// A value without the `null` entries of its maps. Those of lists stay (json-patch v4 `merge.go`, `pruneAryNulls`), and the schema
/// refuses them: an empty item is no way to leave one out.
pub(crate) fn pruned(value: Value) -> Value {
    match value {
        Value::Object(map) => Value::Object(
            map.into_iter().filter(|(_, value)| !value.is_null()).map(|(key, value)| (key, pruned(value))).collect(),
        ),
        Value::Array(items) => Value::Array(items.into_iter().map(pruned).collect()),
        other => other,
    }
}

/// The three-way patch of `kubectl apply` on custom resources, and of Helm 3 on built-in kinds as far as they hold maps:
/// what `new` adds or changes against `live`, and what it drops against `last`
/// (apimachinery `jsonmergepatch/patch.go`, `CreateThreeWayJSONMergePatch`).
pub(crate) fn three_way(last: &Value, new: &Value, live: &Value) -> Value {
    let mut patch = keep(diff(live, new), false);
    let drops = keep(diff(last, new), true);
    merge_patches(&mut patch, drops);
    patch
}

/// Keeps only the removals of a patch, or only the rest of it.
fn keep(patch: Value, removals: bool) -> Value {
    let Value::Object(map) = patch else { return Value::Object(Map::new()) };
    let kept = map.into_iter().filter_map(|(key, value)| match value {
        Value::Null => removals.then_some((key, Value::Null)),
        // An empty map that is set is a value, not an empty patch.
        Value::Object(map) if map.is_empty() => (!removals).then_some((key, Value::Object(map))),
        Value::Object(_) => {
            let inner = keep(value, removals);
            inner.as_object().is_some_and(|map| !map.is_empty()).then_some((key, inner))
        }
        other => (!removals).then_some((key, other)),
    });
    Value::Object(kept.collect())
}

/// Adds the entries of one patch to another, with `null` as an entry of its own.
fn merge_patches(into: &mut Value, from: Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            for (key, value) in from {
                match into.get_mut(&key) {
                    Some(old) if old.is_object() && value.is_object() => merge_patches(old, value),
                    _ => {
                        into.insert(key, value);
                    }
                }
            }
        }
        (into, from) => *into = from,
    }
}

/// `rendered` laid over `live`: what is rendered wins, nothing is removed.
pub(crate) fn overlay(live: &Value, rendered: &Value) -> Value {
    let mut result = live.clone();
    apply(&mut result, pruned(rendered.clone()));
    result
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::tree::json;

    fn patched(live: Value, old: &Value, new: &Value) -> Value {
        let mut live = live;
        apply(&mut live, diff(old, new));
        live
    }

    #[test]
    fn drift_outside_the_patch_stays() {
        let base = json!({"spec": {"replicas": 1, "version": "v1.30.0"}});
        let new = json!({"spec": {"replicas": 1, "version": "v1.31.0"}});
        assert_eq!(
            patched(json!({"spec": {"replicas": 9, "version": "v1.30.0"}}), &base, &new),
            json!({"spec": {"replicas": 9, "version": "v1.31.0"}})
        );
    }

    #[test]
    fn a_list_goes_whole_when_one_item_changes() {
        let base = json!({"spec": {"files": ["a"]}});
        let new = json!({"spec": {"files": ["b"]}});
        assert_eq!(
            patched(json!({"spec": {"files": ["a", "by hand"]}}), &base, &new),
            json!({"spec": {"files": ["b"]}})
        );
    }

    #[test]
    fn a_dropped_field_is_removed_even_where_it_drifted() {
        assert_eq!(
            patched(json!({"spec": {"a": 7, "b": 1}}), &json!({"spec": {"a": 1}}), &json!({"spec": {}})),
            json!({"spec": {"b": 1}})
        );
    }

    #[test]
    fn three_ways_repair_drift_and_drop_what_was_applied_before() {
        let last = json!({"data": {"a": "1", "b": "2"}});
        let new = json!({"data": {"a": "1"}});
        let mut live = json!({"data": {"a": "x", "b": "2", "c": "3"}});
        let patch = three_way(&last, &new, &live);
        apply(&mut live, patch);
        assert_eq!(live, json!({"data": {"a": "1", "c": "3"}}));
    }

    #[test]
    fn an_empty_item_of_a_list_stays_and_an_empty_field_goes() {
        let new = json!({"spec": {"list": ["a", null, {"b": null}], "gone": null}});
        let meant = json!({"spec": {"list": ["a", null, {}]}});
        assert_eq!(patched(json!({}), &json!({}), &new), meant);
        assert_eq!(patched(json!({"spec": {"list": ["a"]}}), &json!({"spec": {"list": ["a"]}}), &new), meant);
    }

    fn tree() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![any::<bool>().prop_map(Value::from), (0..4i64).prop_map(Value::from)];
        let inner = leaf.prop_recursive(3, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
                prop::collection::hash_map("[a-d]", inner, 0..4)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        });
        prop::collection::hash_map("[a-d]", inner, 0..4).prop_map(|map| Value::Object(map.into_iter().collect()))
    }

    proptest! {
        #[test]
        fn applying_the_difference_gives_the_new_tree(old in tree(), new in tree()) {
            prop_assert_eq!(patched(old.clone(), &old, &new), new);
        }

        #[test]
        fn no_difference_is_an_empty_patch(tree in tree()) {
            prop_assert_eq!(diff(&tree, &tree), json!({}));
        }
    }
}
