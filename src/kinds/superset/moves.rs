//! How values and places move into the superset form: one table entry is one move, read once.

use crate::object::{ApiVersion, Path, Segment, go_seconds};
use crate::schema::moves::{How, IGNITION};
use crate::tree::{Map, Text, Value};

/// A pattern's steps under a prefix; `None` is any list place.
pub(crate) fn steps(prefix: &str, pattern: &str) -> Vec<Option<Segment>> {
    let mut out = Vec::new();
    for word in prefix.split('.').chain(pattern.split('.')).filter(|word| !word.is_empty()) {
        match word.strip_suffix("[*]") {
            Some(key) => out.extend([Some(Segment::Key(key.to_owned())), None]),
            None => out.push(Some(Segment::Key(word.to_owned()))),
        }
    }
    out
}

/// Moves a path that lies at or below `from`.
pub(crate) fn carry_path(path: &Path, from: &[Option<Segment>], to: &[Option<Segment>], how: How) -> Option<Path> {
    let segments = path.segments();
    let below = segments.get(from.len()..)?;
    let mut places = Vec::new();
    for (step, segment) in from.iter().zip(segments) {
        match step {
            Some(step) if step == segment => {}
            None => places.push(segment.clone()),
            Some(_) => return None,
        }
    }
    let mut places = places.into_iter();
    let mut out: Vec<Segment> = to.iter().filter_map(|step| step.clone().or_else(|| places.next())).collect();
    match (how, below) {
        (How::Reference, [Segment::Key(key), rest @ ..]) if key == "apiVersion" => {
            out.push(Segment::Key("apiGroup".to_owned()));
            out.extend_from_slice(rest);
        }
        _ => out.extend_from_slice(below),
    }
    Some(Path::from(out))
}

/// Moves the values at `from` to `to`.
pub(crate) fn carry(object: &mut Value, from: &[Option<Segment>], to: &[Option<Segment>], how: How) {
    // Only bootstrap tokens go through a list, and both patterns share the way there.
    if let Some(at) = from.iter().position(Option::is_none) {
        if from[..at].iter().flatten().try_fold(&*object, |value, segment| value.get(key_of(segment)?)).is_none() {
            return;
        }
        let list = from[..at].iter().flatten().try_fold(object, |value, segment| step_mut(value, segment));
        for item in list.and_then(Value::as_array_mut).into_iter().flatten() {
            carry(item, &from[at + 1..], &to[at + 1..], how);
        }
        return;
    }
    let keys = || from.iter().flatten().filter_map(key_of);
    // Most objects have few of the fields that move, and what is not there must not make a copy of what is shared.
    if keys().try_fold(&*object, |value, key| value.get(key)).is_none() {
        return;
    }
    let keys: Vec<&str> = keys().collect();
    let Some((last, parents)) = keys.split_last() else { return };
    let parent = parents.iter().try_fold(&mut *object, |value, key| value.get_mut(*key));
    let Some(taken) = parent.and_then(Value::as_object_mut).and_then(|map| map.remove(last)) else { return };
    let mut target: Vec<&str> = to.iter().flatten().filter_map(key_of).collect();
    put(object, &target, changed(taken, how));
    if let (How::Ignition, Some(last)) = (how, target.last_mut()) {
        *last = "type";
        put(object, &target, Value::from(IGNITION));
    }
}

/// One step down.
fn step_mut<'v>(value: &'v mut Value, segment: &Segment) -> Option<&'v mut Value> {
    match segment {
        Segment::Key(key) => value.get_mut(key.as_str()),
        Segment::Index(place) => value.get_mut(*place),
    }
}

/// The key of a step that is one.
pub(super) fn key_of(segment: &Segment) -> Option<&str> {
    match segment {
        Segment::Key(key) => Some(key),
        Segment::Index(_) => None,
    }
}

/// Puts a value in its place, making the maps on the way; maps are merged.
fn put(object: &mut Value, target: &[&str], value: Value) {
    let Some((first, rest)) = target.split_first() else { return };
    if !object.is_object() {
        *object = Value::Object(Map::new());
    }
    let Some(map) = object.as_object_mut() else { return };
    if rest.is_empty() {
        match (map.get_mut(first), value) {
            (Some(Value::Object(old)), Value::Object(new)) => old.extend(new),
            (_, value) => {
                map.insert((*first).to_owned(), value);
            }
        }
    } else {
        put(map.entry((*first).to_owned()).or_insert_with(|| Value::Object(Map::new())), rest, value);
    }
}

/// The value as it stands in the superset form.
fn changed(value: Value, how: How) -> Value {
    match how {
        How::Seconds => value.as_str().and_then(go_seconds).map_or(value, Value::from),
        How::Reference => reference(value),
        How::Arguments => arguments(value),
        _ => value,
    }
}

/// A reference by group, kind and name; its namespace is kept because old MachineDeployments compared it.
fn reference(value: Value) -> Value {
    let Value::Object(mut map) = value else { return value };
    let group = map.remove("apiVersion").and_then(|text| Some(ApiVersion::parse(text.as_str()?).group.to_owned()));
    if let Some(group) = group {
        map.insert("apiGroup", Value::from(group));
    }
    Value::Object(map)
}

/// A list of names and values, sorted by name.
fn arguments(value: Value) -> Value {
    let Value::Object(map) = value else { return value };
    let mut pairs: Vec<(Text, Value)> = map.into_iter().collect();
    pairs.sort_by(|left, right| left.0.cmp(&right.0));
    pairs.into_iter().map(|(name, value)| crate::json!({"name": name, "value": value})).collect()
}
