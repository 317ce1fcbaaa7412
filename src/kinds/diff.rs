//! Values as Go's types hold them: what Go leaves out is not there, and two trees differ at places.

use crate::hashed::HashSet;
use crate::object::{Path, Route, Segment};
use crate::tree::{Map, Text, Value};

/// What a family of Go types keeps apart although JSON readers would not.
#[derive(Debug, Clone, Copy)]
pub struct Style {
    /// Fields whose empty list or map differs from an absent one (pointers in Go).
    pub keep_empty: &'static [&'static str],
    /// Fields whose `false` or `0` equals an absent one (plain values in Go).
    pub drop_zero: &'static [&'static str],
    /// Fields whose empty text differs from an absent one (pointers in Go).
    pub keep_blank: &'static [&'static str],
}

/// What the Go types of Cluster API and of kubeadm configurations keep apart.
pub(crate) const CLUSTER_API: Style = Style {
    keep_empty: &["taints", "valueFrom", "fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef"],
    drop_zero: &["certificateValidityPeriodDays", "caCertificateValidityPeriodDays", "bindPort", "percentage"],
    keep_blank: &["value"],
};

/// Lists of items of Kubernetes' own types (`core/v1` EnvVar, Taint), in which every text is a plain one.
const OF_KUBERNETES: [&str; 2] = ["extraEnvs", "taints"];

/// Takes away what Go would not keep: null, empty lists, maps and texts, and the zeros that the style names.
pub(crate) fn prune(value: &mut Value, style: Style) {
    prune_beside(value, style, &[]);
}

/// As [`prune`], but the fields named in `maps` are maps in Go, whose keys anyone chooses: each of their entries stays.
pub(crate) fn prune_beside(value: &mut Value, style: Style, maps: &[&str]) {
    if let Some(pruned) = pruned(value, style, maps) {
        *value = pruned;
    }
}

/// What is left of a value; `None` where all of it stays, so that it is still the same memory.
fn pruned(value: &Value, style: Style, maps: &[&str]) -> Option<Value> {
    match value {
        Value::Object(fields) => {
            let inner = fields.changed(|key, child| match child {
                Value::Object(entries) if maps.contains(&key.as_str()) => {
                    entries.changed(|_, entry| pruned(entry, style, maps)).map(Value::Object)
                }
                Value::Array(_) if OF_KUBERNETES.contains(&key.as_str()) => {
                    pruned(child, Style { keep_blank: &[], ..style }, maps)
                }
                _ => pruned(child, style, maps),
            });
            let left = inner.as_ref().unwrap_or(fields).filtered(|key, child| keeps(key, child, style));
            left.or(inner).map(Value::Object)
        }
        Value::Array(list) => list.changed(|_, child| pruned(child, style, maps)).map(Value::Array),
        _ => None,
    }
}

/// Whether a field stays.
fn keeps(key: &str, value: &Value, style: Style) -> bool {
    match value {
        Value::Null => false,
        Value::Object(map) => !map.is_empty() || style.keep_empty.contains(&key),
        Value::Array(list) => !list.is_empty() || style.keep_empty.contains(&key),
        Value::String(text) => !text.is_empty() || style.keep_blank.contains(&key),
        Value::Bool(false) => !style.drop_zero.contains(&key),
        Value::Number(number) => number.as_f64() != Some(0.0) || !style.drop_zero.contains(&key),
        Value::Bool(true) => true,
    }
}

/// The places at which two trees differ, as deep as both have the same shape.
#[must_use]
pub(crate) fn places(before: Option<&Value>, after: Option<&Value>, at: &Path) -> Vec<Path> {
    let mut out = Vec::new();
    differing(before, after, &Route::At(at), &mut out);
    out
}

/// The leaves of both sides at which two trees differ, each once.
#[must_use]
pub(crate) fn differing_leaves(before: &Value, after: &Value) -> Vec<Path> {
    let mut out = Vec::new();
    for place in places(Some(before), Some(after), &Path::root()) {
        let of = |side| place.get(side).map(|value| leaves(value, &place)).unwrap_or_default();
        let mut below: Vec<Path> = of(before);
        let known: HashSet<Path> = below.iter().cloned().collect();
        below.extend(of(after).into_iter().filter(|path| !known.contains(path)));
        out.extend(below);
    }
    out
}

/// The places at which two maps differ once what Go would not keep is taken away.
#[must_use]
pub(crate) fn places_pruned(before: &Map, after: &Map, style: Style) -> Vec<Path> {
    // What is the same memory on both sides comes out the same, so nobody looks into it.
    let own = |map: &Map, other: &Map| {
        let differs = |key: &Text, value: &Value| !other.get(key).is_some_and(|other| other.is_same(value));
        let mut own = Value::Object(map.filtered(differs).unwrap_or_else(|| map.clone()));
        prune(&mut own, style);
        own
    };
    places(Some(&own(before, after)), Some(&own(after, before)), &Path::root())
}

/// Adds the places below `at`.
fn differing(before: Option<&Value>, after: Option<&Value>, at: &Route<'_>, out: &mut Vec<Path>) {
    match (before, after) {
        (Some(left), Some(right)) if left.is_same(right) => {}
        (Some(Value::Object(left)), Some(Value::Object(right))) => {
            for (key, value) in left {
                differing(Some(value), right.get(key), &at.key(key), out);
            }
            for (key, value) in right.iter().filter(|(key, _)| !left.contains_key(key)) {
                differing(None, Some(value), &at.key(key), out);
            }
        }
        (Some(Value::Array(left)), Some(Value::Array(right))) if left.len() == right.len() => {
            for (place, (left, right)) in left.iter().zip(right).enumerate() {
                differing(Some(left), Some(right), &at.index(place), out);
            }
        }
        (Some(left), Some(right)) if same(left, right) => {}
        (None, None) => {}
        _ => out.push(at.to_path()),
    }
}

/// Whether two plain values are the same; numbers by value.
fn same(left: &Value, right: &Value) -> bool {
    left == right || (left.is_number() && right.is_number() && left.as_f64() == right.as_f64())
}

/// The leaves of a value, as paths; an empty map or list is a leaf.
#[must_use]
pub(crate) fn leaves(value: &Value, at: &Path) -> Vec<Path> {
    let mut out = Vec::new();
    leaf(value, &Route::At(at), &mut out);
    out
}

/// Adds the leaves below `at`.
fn leaf(value: &Value, at: &Route<'_>, out: &mut Vec<Path>) {
    match value {
        Value::Object(map) if !map.is_empty() => map.iter().for_each(|(key, value)| leaf(value, &at.key(key), out)),
        Value::Array(list) if !list.is_empty() => {
            list.iter().enumerate().for_each(|(place, value)| leaf(value, &at.index(place), out));
        }
        _ => out.push(at.to_path()),
    }
}

/// The path up to its first list place: lists are compared as wholes, and two readers may count their items differently.
#[must_use]
pub(crate) fn above_lists(path: &Path) -> Path {
    let keys = path.segments().iter().take_while(|segment| matches!(segment, Segment::Key(_))).cloned();
    Path::from(keys.collect::<Vec<_>>())
}

/// Whether one of two places lies in the other, lists taken as wholes.
#[must_use]
pub(crate) fn touch(left: &Path, right: &Path) -> bool {
    let (left, right) = (above_lists(left), above_lists(right));
    left.covers(&right) || right.covers(&left)
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::tree::json;

    #[test]
    fn what_go_leaves_out_goes_and_what_it_keeps_stays() {
        let style = Style { keep_empty: &["taints"], drop_zero: &["strict"], keep_blank: &["value"] };
        let mut value = json!({"a": {"b": []}, "taints": [], "strict": false, "append": false, "x": "", "value": ""});
        prune(&mut value, style);
        assert_eq!(value, json!({"taints": [], "append": false, "value": ""}));
        let mut value = json!({"extraEnvs": [{"name": "a", "value": ""}], "taints": [{"key": "a", "value": ""}],
            "extraArgs": [{"name": "a", "value": ""}]});
        prune(&mut value, CLUSTER_API);
        let left =
            json!({"extraEnvs": [{"name": "a"}], "taints": [{"key": "a"}], "extraArgs": [{"name": "a", "value": ""}]});
        assert_eq!(value, left);
    }

    #[test]
    fn places_of_what_go_keeps_are_those_of_the_pruned_maps() {
        let shared = json!({"files": [{"path": "/a", "owner": ""}], "users": [], "a": {"b": {"c": ""}, "d": 1}});
        let mut other = shared.clone();
        other["a"]["d"] = json!(2);
        other["a"]["e"] = json!([]);
        other["n"] = json!({});
        let style = Style { keep_empty: &["n"], drop_zero: &[], keep_blank: &[] };
        for (one, two) in [(&shared, &other), (&other, &shared), (&shared, &shared)] {
            let (mut left, mut right) = (one.clone(), two.clone());
            prune(&mut left, style);
            prune(&mut right, style);
            let whole = places(Some(&left), Some(&right), &Path::root());
            let maps = (one.as_object().expect("a map"), two.as_object().expect("a map"));
            assert_eq!(places_pruned(maps.0, maps.1, style), whole);
        }
    }

    #[test]
    fn entries_of_maps_stay_and_empty_maps_go() {
        let style = Style { keep_empty: &[], drop_zero: &["strict"], keep_blank: &[] };
        let mut value = json!({"mirrors": {"a": {"endpoint": []}, "b": ""}, "env": {}, "other": {"a": ""}});
        prune_beside(&mut value, style, &["mirrors", "env"]);
        assert_eq!(value, json!({"mirrors": {"a": {}, "b": ""}}));
    }

    #[test]
    fn places_are_as_deep_as_they_can_be() {
        let before = json!({"a": {"b": 1, "c": [1, 2]}, "d": 1, "n": 1});
        let after = json!({"a": {"b": 2, "c": [1, 3]}, "e": [], "n": 1.0});
        let found: Vec<String> =
            places(Some(&before), Some(&after), &Path::root()).iter().map(ToString::to_string).collect();
        assert_eq!(found, ["a.b", "a.c[1]", "d", "e"]);
    }
}
