//! The same object in another API version: what moved, was renamed or changed its form between v1beta1 and v1beta2 of
//! Cluster API, in both directions (cluster-api `api/*/v1beta1/conversion.go` since 1.11, CAPRKE2 since 0.22, CAPM3 1.13, k0smotron 2.0).
//! Live objects are brought into the rendered version by it, so that a chart that moves to v1beta2 shows no change.

use super::moves::{HEALTH_CHECK_TIMEOUT, How, IGNITION, Move, is_kubeadm, of_kind};
use crate::object::ApiVersion;
use crate::tree::{Map, Text, Value};

/// Brings `object` into the API version of `wanted`, an object of the same kind; true where its form changed.
///
/// References in v1beta2 do not say a version: on the way back to v1beta1 they take that of the same reference in
/// `wanted`. A kind whose versions are not known to differ keeps its form.
pub fn reshape(object: &mut Value, wanted: &Value) -> bool {
    let text = |object: &Value, key: &str| object.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let (from, to) = (text(object, "apiVersion"), text(wanted, "apiVersion"));
    let (old, new) = (is_old(&from), is_old(&to));
    if from == to || old == new || ApiVersion::parse(&from).group != ApiVersion::parse(&to).group {
        return false;
    }
    let moves = of_kind(&text(wanted, "kind"));
    if moves.is_empty() {
        return false;
    }
    let all = moves.iter().flat_map(|(prefix, moves)| moves.iter().map(move |one| (*prefix, one)));
    if old {
        for (prefix, one) in all {
            forward(object, &join(prefix, one.from), &join(prefix, one.to), one);
        }
    } else {
        // Of a map whose parts go elsewhere the rest comes last in either direction.
        let (rest, parts): (Vec<_>, Vec<_>) = all.partition(|(_, one)| one.how == How::Rest);
        for (prefix, one) in parts.into_iter().rev().chain(rest) {
            back(object, &join(prefix, one.from), &join(prefix, one.to), one, wanted);
        }
    }
    for (prefix, _) in moves.iter().filter(|(_, moves)| is_kubeadm(moves)) {
        health_check_timeout(object, prefix, old);
        if !old {
            // v1beta1 has no other timeouts.
            ["initConfiguration.timeouts", "joinConfiguration.timeouts"].iter().for_each(|place| {
                take(object, &join(prefix, place));
            });
        }
    }
    object["apiVersion"] = Value::from(to);
    true
}

/// Moves the timeout for the API server, which v1beta2 has once for each way of making a node.
fn health_check_timeout(object: &mut Value, prefix: &str, old: bool) {
    let (from, places) = HEALTH_CHECK_TIMEOUT;
    let from = join(prefix, from);
    let [init, other] = places.map(|place| join(prefix, place));
    if old {
        let Some(value) = take(object, &from) else { return };
        let value = seconds(&value).unwrap_or(value);
        put(object, &init, value.clone());
        put(object, &other, value);
    } else if let Some(value) = take(object, &init) {
        if get(object, &other) == Some(&value) {
            take(object, &other);
        }
        put(object, &from, value.as_i64().map_or(value, |seconds| Value::from(format!("{seconds}s"))));
    }
}

/// Whether a version has the names of v1beta1.
fn is_old(api_version: &str) -> bool {
    matches!(ApiVersion::parse(api_version).version, "v1alpha3" | "v1alpha4" | "v1beta1" | "v1alpha1")
}

/// A place below a prefix.
fn join(prefix: &str, place: &str) -> String {
    if prefix.is_empty() || place.is_empty() { format!("{prefix}{place}") } else { format!("{prefix}.{place}") }
}

/// Moves one place from v1beta1 to v1beta2.
fn forward(object: &mut Value, from: &str, to: &str, one: &Move) {
    each(object, None, (from, to), &mut |object, _, (from, to)| {
        let Some(value) = take(object, from) else { return };
        let value = match one.how {
            How::Same | How::Rest => value,
            How::Ignition => {
                if let Some((around, _)) = to.rsplit_once('.') {
                    put(object, &join(around, "type"), Value::from(IGNITION));
                }
                value
            }
            How::Seconds => seconds(&value).unwrap_or(value),
            How::Reference => modern(value),
            How::Arguments => listed(value),
            How::Plain if value == Value::Bool(false) => return,
            How::Plain | How::New => value,
            How::Template => without(value, &ONLY_OLD),
            How::Named => without(value, &["apiVersion", "kind", "uid", "resourceVersion", "fieldPath"]),
            How::Gone => return,
        };
        put(object, to, value);
    });
}

/// Moves one place from v1beta2 back to v1beta1.
fn back(object: &mut Value, from: &str, to: &str, one: &Move, wanted: &Value) {
    if one.how == How::Gone {
        return;
    }
    each(object, Some(wanted), (to, from), &mut |object, wanted, (to, from)| {
        let Some(value) = take(object, to) else { return };
        let model = wanted.and_then(|wanted| get(wanted, from));
        let value = match one.how {
            How::Seconds => value.as_i64().map_or(value, |seconds| Value::from(format!("{seconds}s"))),
            How::Reference => dated(value, model),
            How::Arguments => mapped(value),
            How::Template => in_namespace(value, model),
            How::New => return,
            How::Same | How::Rest | How::Plain | How::Named | How::Ignition | How::Gone => value,
        };
        put(object, from, value);
    });
}

/// What is done with one value, the same value of the other object, and the places that follow the last list.
type Visit<'v> = dyn FnMut(&mut Value, Option<&Value>, (&str, &str)) + 'v;

/// Runs `visit` for each list item that `[*]` in both places means; `model` has the lists where the second place says.
fn each(value: &mut Value, model: Option<&Value>, (from, to): (&str, &str), visit: &mut Visit<'_>) {
    let Some((list, rest)) = from.split_once("[*].") else {
        return visit(value, model, (from, to));
    };
    let Some((other_list, other)) = to.split_once("[*].") else { return };
    let Some(items) = get_mut(value, list).and_then(Value::as_array_mut) else { return };
    let models = model.and_then(|model| get(model, other_list)).and_then(Value::as_array);
    for (place, item) in items.iter_mut().enumerate() {
        let model = models.and_then(|models| counterpart(item, place, models));
        each(item, model, (rest, other), visit);
    }
}

/// The same item in another list: by the name of its class or its own, else by its place.
fn counterpart<'m>(item: &Value, place: usize, models: &'m [Value]) -> Option<&'m Value> {
    let named = ["name", "class"].into_iter().find_map(|key| Some((key, item.get(key)?)));
    match named {
        Some((key, name)) => models.iter().find(|model| model.get(key) == Some(name)),
        None => models.get(place),
    }
}

/// The value at a dotted place.
fn get<'v>(value: &'v Value, place: &str) -> Option<&'v Value> {
    place.split('.').try_fold(value, |value, key| value.get(key))
}

/// The value at a dotted place.
fn get_mut<'v>(value: &'v mut Value, place: &str) -> Option<&'v mut Value> {
    place.split('.').try_fold(value, |value, key| value.get_mut(key))
}

/// Takes the value at a dotted place out, with the maps around it that are empty then.
fn take(value: &mut Value, place: &str) -> Option<Value> {
    let map = value.as_object_mut()?;
    let Some((key, rest)) = place.split_once('.') else {
        return map.shift_remove(place).filter(|value| !value.is_null());
    };
    let inner = map.get_mut(key)?;
    let taken = take(inner, rest);
    if taken.is_some() && inner.as_object().is_some_and(Map::is_empty) {
        map.shift_remove(key);
    }
    taken
}

/// Puts a value at a dotted place, unless there is one.
fn put(value: &mut Value, place: &str, new: Value) {
    let mut at = value;
    for key in place.split('.') {
        if !at.is_object() {
            *at = Value::Object(Map::new());
        }
        at = &mut at[key];
    }
    fill(at, new);
}

/// Adds what is not there yet.
fn fill(at: &mut Value, new: Value) {
    match (at, new) {
        (at, new) if at.is_null() => *at = new,
        (Value::Object(at), Value::Object(new)) => {
            for (key, value) in new {
                fill(at.entry(key).or_insert(Value::Null), value);
            }
        }
        _ => {}
    }
}

/// A Go duration as whole seconds.
fn seconds(value: &Value) -> Option<Value> {
    crate::object::go_seconds(value.as_str()?).map(Value::from)
}

/// A reference without its version and what only old references have.
fn modern(mut reference: Value) -> Value {
    let Some(map) = reference.as_object_mut() else { return reference };
    if let Some(version) = map.shift_remove("apiVersion") {
        let group = ApiVersion::parse(version.as_str().unwrap_or_default()).group.to_owned();
        map.insert("apiGroup".to_owned(), Value::from(group));
    }
    without(reference, &ONLY_OLD)
}

/// What only old references have.
const ONLY_OLD: [&str; 4] = ["namespace", "uid", "resourceVersion", "fieldPath"];

/// A map without some keys.
fn without(mut value: Value, keys: &[&str]) -> Value {
    if let Some(map) = value.as_object_mut() {
        keys.iter().for_each(|key| drop(map.shift_remove(key)));
    }
    value
}

/// A reference with the namespace of the same reference in the other object.
fn in_namespace(mut reference: Value, model: Option<&Value>) -> Value {
    if let (Some(map), Some(namespace)) = (reference.as_object_mut(), model.and_then(|model| model.get("namespace"))) {
        map.insert("namespace".to_owned(), namespace.clone());
    }
    reference
}

/// A reference with the version and the namespace of the same reference in the other object.
fn dated(mut reference: Value, model: Option<&Value>) -> Value {
    let Some(map) = reference.as_object_mut() else { return reference };
    let Some(group) = map.shift_remove("apiGroup") else { return reference };
    let group = group.as_str().unwrap_or_default();
    let version = model.and_then(|model| model.get("apiVersion")).and_then(Value::as_str);
    let version = version.filter(|version| ApiVersion::parse(version).group == group);
    map.insert("apiVersion".to_owned(), Value::from(version.map_or_else(|| group.to_owned(), str::to_owned)));
    in_namespace(reference, model)
}

/// A map of arguments as a list sorted by name, as the conversion sorts it.
fn listed(value: Value) -> Value {
    let Value::Object(map) = value else { return value };
    let mut pairs: Vec<(Text, Value)> = map.into_iter().collect();
    pairs.sort_by(|one, other| one.0.cmp(&other.0));
    pairs.into_iter().map(|(name, value)| crate::json!({"name": name, "value": value})).collect()
}

/// A list of arguments as a map; the last one of a name wins.
fn mapped(value: Value) -> Value {
    let Value::Array(items) = value else { return value };
    let pair = |item: &Value| {
        Some((item.get("name")?.as_str()?.to_owned(), item.get("value").cloned().unwrap_or_else(|| Value::from(""))))
    };
    Value::Object(items.iter().filter_map(pair).collect())
}

#[cfg(test)]
#[path = "moved_tests.rs"]
mod tests;
