//! What the API server fills in after a write, and what it refuses as empty (apiextensions-apiserver `pkg/apiserver/schema/defaulting`).

use std::ops::Deref;

use super::{SchemaNode, SchemaShape};
use crate::hashed::HashSet;
use crate::object::{Path, Segment};
use crate::tree::{Map, Value};

/// Fills in the defaults that the API server fills in after a write, as far as `live` shows that it has them: in what is
/// new, and where `live` has a value that went away. A server of another version may have other defaults.
pub(crate) fn refilled(value: &mut Value, live: Option<&Value>, node: &SchemaNode) {
    match (&node.shape, value) {
        (SchemaShape::Fields { fields, .. }, Value::Object(map)) => {
            let live = live.and_then(Value::as_object);
            drop_nulls(map, |key| fields.get(key).map(Deref::deref));
            for (&key, field) in fields {
                let before = live.and_then(|live| live.get(key));
                if let (false, Some(default)) = (map.contains_key(key), &field.default)
                    && (live.is_none() || before.is_some())
                {
                    map.insert(key, default.clone());
                }
                if let Some(value) = map.get_mut(key) {
                    refilled(value, before, field);
                }
            }
        }
        (SchemaShape::Map { values, .. }, Value::Object(map)) => {
            drop_nulls(map, |_| Some(values));
            for (key, value) in map {
                refilled(value, live.and_then(|live| live.get(key)), values);
            }
        }
        (SchemaShape::List { items, .. }, Value::Array(list)) => {
            let before = live.and_then(Value::as_array);
            // Most items stand where they stood; the others are looked up, once there is one.
            let mut elsewhere: Option<HashSet<&Value>> = None;
            for (place, item) in list.iter_mut().enumerate() {
                // An item that is in live as it is has all its defaults.
                let same = before.is_some_and(|before| {
                    before.get(place) == Some(item)
                        || elsewhere.get_or_insert_with(|| before.iter().collect()).contains(&*item)
                });
                if !same {
                    refilled(item, None, items);
                }
            }
        }
        _ => {}
    }
}

/// Takes out `null` where it is no value of its own.
fn drop_nulls<'n>(map: &mut Map, node: impl Fn(&str) -> Option<&'n SchemaNode>) {
    map.retain(|key, value| !value.is_null() || node(key).is_some_and(|node| node.nullable));
}

/// The places of a value that are empty where the schema wants something, so that the API server refuses the object. A place
/// that is as `live` has it passes: validation is about what changes (apiextensions-apiserver `ValidateCustomResourceUpdate`,
/// ratcheting).
#[must_use]
pub(crate) fn refused_empty(value: &Value, live: Option<&Value>, node: &SchemaNode) -> Vec<Path> {
    let mut found = Vec::new();
    empty(value, live, node, &mut Path::root(), &mut found);
    found
}

/// Adds the refused places below one.
fn empty(value: &Value, live: Option<&Value>, node: &SchemaNode, path: &mut Path, found: &mut Vec<Path>) {
    if live == Some(value) {
        return;
    }
    let is_empty = value.as_object().is_some_and(Map::is_empty) || value.as_array().is_some_and(Vec::is_empty);
    if is_empty && node.filled {
        found.push(path.clone());
    }
    match (&node.shape, value) {
        (SchemaShape::Fields { fields, .. }, Value::Object(map)) => {
            for (key, value) in map {
                let Some(field) = fields.get(key.as_str()) else { continue };
                let live = live.and_then(|live| live.get(key));
                below(path, Segment::Key(key.to_string()), |path| empty(value, live, field, path, found));
            }
        }
        (SchemaShape::Map { values, .. }, Value::Object(map)) => {
            for (key, value) in map {
                let live = live.and_then(|live| live.get(key));
                below(path, Segment::Key(key.to_string()), |path| empty(value, live, values, path, found));
            }
        }
        (SchemaShape::List { items, .. }, Value::Array(list)) => {
            for (place, value) in list.iter().enumerate() {
                let live = live.and_then(|live| live.get(place));
                below(path, Segment::Index(place), |path| empty(value, live, items, path, found));
            }
        }
        _ => {}
    }
}

/// Visits one step further down.
fn below(path: &mut Path, segment: Segment, visit: impl FnOnce(&mut Path)) {
    path.push(segment);
    visit(path);
    path.pop();
}
