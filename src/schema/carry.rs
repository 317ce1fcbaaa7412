//! Carries values and paths from their places in v1beta1 to those in v1beta2 and back, a move at a time: the one executor of `moves.rs`.

use super::moves::{How, IGNITION, Move};
use crate::object::{ApiVersion, Path, Segment, go_seconds};
use crate::tree::{Map, Text, Value};

/// The steps to a place; `None` is any item of a list.
pub(crate) type Steps = Vec<Option<Segment>>;

/// A move, read: where from, where to, and how.
#[derive(Debug)]
pub(crate) struct Carry {
    /// Its place in v1beta1.
    pub(crate) from: Steps,
    /// Its place in v1beta2.
    pub(crate) to: Steps,
    /// What becomes of the value.
    pub(crate) how: How,
}

/// What an object is brought into.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// The other version, with what conversion takes away.
    Version,
    /// A form that has what either version has.
    Superset,
}

/// The steps of a pattern under a prefix.
pub(crate) fn steps(prefix: &str, pattern: &str) -> Steps {
    let mut out = Vec::new();
    for word in prefix.split('.').chain(pattern.split('.')).filter(|word| !word.is_empty()) {
        match word.strip_suffix("[*]") {
            Some(key) => out.extend([Some(Segment::Key(key.to_owned())), None]),
            None => out.push(Some(Segment::Key(word.to_owned()))),
        }
    }
    out
}

/// The key of a step that is one.
pub(crate) fn key_of(segment: &Segment) -> Option<&str> {
    match segment {
        Segment::Key(key) => Some(key),
        Segment::Index(_) => None,
    }
}

impl Carry {
    /// A move of the table below a prefix.
    pub(crate) fn of(prefix: &str, one: &Move) -> Self {
        Self { from: steps(prefix, one.from), to: steps(prefix, one.to), how: one.how }
    }

    /// Whether an object has what it moves from v1beta1.
    pub(crate) fn is_in(&self, object: &Value) -> bool {
        is_there(object, &self.from)
    }

    /// Brings the values of an object to their places in v1beta2.
    pub(crate) fn forward(&self, object: &mut Value, form: Form) {
        if !self.is_in(object) {
            return;
        }
        each(object, None, (&self.from, &self.to), &mut |object, _, (from, to)| {
            let Some(value) = take(object, from).and_then(|value| newer(value, self.how, form)) else { return };
            put(object, to, value);
            if let (How::Ignition, Some((_, around))) = (self.how, to.split_last()) {
                put(object, &[around, &["type"]].concat(), Value::from(IGNITION));
            }
        });
    }

    /// Brings the values of an object back to their places in v1beta1. What v1beta2 does not say is as in `wanted`.
    pub(crate) fn back(&self, object: &mut Value, wanted: &Value) {
        if self.how == How::Gone || !is_there(object, &self.to) {
            return;
        }
        each(object, Some(wanted), (&self.to, &self.from), &mut |object, wanted, (to, from)| {
            let model = wanted.and_then(|wanted| get(wanted, from));
            let Some(value) = take(object, to).and_then(|value| older(value, self.how, model)) else { return };
            put(object, from, value);
        });
    }

    /// Where a path that lies at or below its place in v1beta1 goes.
    pub(crate) fn path(&self, path: &Path) -> Option<Path> {
        let segments = path.segments();
        let below = segments.get(self.from.len()..)?;
        let mut places = Vec::new();
        for (step, segment) in self.from.iter().zip(segments) {
            match step {
                Some(step) if step == segment => {}
                None => places.push(segment.clone()),
                Some(_) => return None,
            }
        }
        let mut places = places.into_iter();
        let mut out: Vec<Segment> = self.to.iter().filter_map(|step| step.clone().or_else(|| places.next())).collect();
        match (self.how, below) {
            (How::Reference, [Segment::Key(key), rest @ ..]) if key == "apiVersion" => {
                out.push(Segment::Key("apiGroup".to_owned()));
                out.extend_from_slice(rest);
            }
            _ => out.extend_from_slice(below),
        }
        Some(Path::from(out))
    }
}

/// The value as it stands in v1beta2; nothing where there is no such field.
fn newer(value: Value, how: How, form: Form) -> Option<Value> {
    let is_version = form == Form::Version;
    Some(match how {
        How::Seconds => seconds(&value).unwrap_or(value),
        How::Arguments => listed(value),
        // Old MachineDeployments compare the namespace, so the superset form keeps it.
        How::Reference if is_version => without(grouped(value), &ONLY_OLD),
        How::Reference => grouped(value),
        How::Template if is_version => without(value, &ONLY_OLD),
        How::Named => without(value, &["apiVersion", "kind", "uid", "resourceVersion", "fieldPath"]),
        How::Plain if value == Value::Bool(false) => return None,
        How::Endpoint if is_zero(&value) => return None,
        How::Gone => return None,
        How::Same | How::Rest | How::Ignition | How::Template | How::Plain | How::Endpoint | How::New => value,
    })
}

/// The value as it stands in v1beta1; `model` is what stands there in the object whose version is wanted.
fn older(value: Value, how: How, model: Option<&Value>) -> Option<Value> {
    Some(match how {
        How::Seconds => value.as_i64().map_or(value, |seconds| Value::from(format!("{seconds}s"))),
        How::Reference => dated(value, model),
        How::Arguments => mapped(value),
        How::Template => in_namespace(value, model),
        How::New => return None,
        How::Same | How::Rest | How::Plain | How::Endpoint | How::Named | How::Ignition | How::Gone => value,
    })
}

/// Whether an endpoint says neither host nor port (`api/core/v1beta2/cluster_types.go`, APIEndpoint.IsZero).
fn is_zero(endpoint: &Value) -> bool {
    let is_none = |value: &Value| matches!(value, Value::Null) || value == "" || value.as_u64() == Some(0);
    endpoint.as_object().is_some_and(|map| map.values().all(is_none))
}

/// Whether anything stands at a place: most objects have few of the fields that move, and few items of their lists have one.
fn is_there(value: &Value, steps: &[Option<Segment>]) -> bool {
    let Some((first, rest)) = steps.split_first() else { return true };
    match first {
        Some(segment) => key_of(segment).and_then(|key| value.get(key)).is_some_and(|value| is_there(value, rest)),
        None => value.as_array().into_iter().flatten().any(|item| is_there(item, rest)),
    }
}

/// What is done with one value, the same value of the other object, and the keys that follow the last list.
type Visit<'v> = dyn FnMut(&mut Value, Option<&Value>, (&[&str], &[&str])) + 'v;

/// Runs `visit` for each item of the lists on a way; `model` has the lists where the second way goes. What is not there makes no copy of
/// what is shared.
fn each(
    value: &mut Value,
    model: Option<&Value>,
    ways: (&[Option<Segment>], &[Option<Segment>]),
    visit: &mut Visit<'_>,
) {
    let (own, other) = (keys(ways.0), keys(ways.1));
    if get(value, &own).is_none() {
        return;
    }
    if own.len() == ways.0.len() {
        return visit(value, model, (&own, &other));
    }
    let Some(items) = get_mut(value, &own).and_then(Value::as_array_mut) else { return };
    let models = model.and_then(|model| get(model, &other)).and_then(Value::as_array);
    for (place, item) in items.iter_mut().enumerate() {
        let model = models.and_then(|models| counterpart(item, place, models));
        each(item, model, (&ways.0[own.len() + 1..], &ways.1[other.len() + 1..]), visit);
    }
}

/// The keys of a way up to its first list.
pub(super) fn keys(steps: &[Option<Segment>]) -> Vec<&str> {
    steps.iter().map_while(Option::as_ref).filter_map(key_of).collect()
}

/// The item of another list that stands for this one: by the name of its class or its own, else by its place.
fn counterpart<'m>(item: &Value, place: usize, models: &'m [Value]) -> Option<&'m Value> {
    let named = ["name", "class"].into_iter().find_map(|key| Some((key, item.get(key)?)));
    match named {
        Some((key, name)) => models.iter().find(|model| model.get(key) == Some(name)),
        None => models.get(place),
    }
}

/// The value at a place.
pub(super) fn get<'v>(value: &'v Value, place: &[&str]) -> Option<&'v Value> {
    place.iter().try_fold(value, |value, key| value.get(*key))
}

/// The value at a place.
fn get_mut<'v>(value: &'v mut Value, place: &[&str]) -> Option<&'v mut Value> {
    place.iter().try_fold(value, |value, key| value.get_mut(*key))
}

/// Takes the value at a place out, with the maps around it that are empty then.
pub(super) fn take(value: &mut Value, place: &[&str]) -> Option<Value> {
    let (key, rest) = place.split_first()?;
    let map = value.as_object_mut()?;
    if rest.is_empty() {
        return map.shift_remove(key).filter(|value| !value.is_null());
    }
    let inner = map.get_mut(key)?;
    let taken = take(inner, rest);
    if taken.is_some() && inner.as_object().is_some_and(Map::is_empty) {
        map.shift_remove(key);
    }
    taken
}

/// Puts a value at a place, unless there is one.
pub(super) fn put(value: &mut Value, place: &[&str], new: Value) {
    let mut at = value;
    for key in place {
        if !at.is_object() {
            *at = Value::Object(Map::new());
        }
        at = &mut at[*key];
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
pub(super) fn seconds(value: &Value) -> Option<Value> {
    go_seconds(value.as_str()?).map(Value::from)
}

/// A reference that says a group instead of a version.
fn grouped(mut reference: Value) -> Value {
    let Some(map) = reference.as_object_mut() else { return reference };
    if let Some(version) = map.shift_remove("apiVersion") {
        let group = ApiVersion::parse(version.as_str().unwrap_or_default()).group.to_owned();
        map.insert("apiGroup".to_owned(), Value::from(group));
    }
    reference
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

/// A reference with the version and the namespace of the same reference in the other object. Where that has none, the API server writes the
/// version that the definition of the kind names for its contract (Cluster API `core/webhooks/conversion/common.go`,
/// `convertToObjectReference`, v1.14.2): which one that is says nothing, but a group alone would be read as a version of the core group.
fn dated(mut reference: Value, model: Option<&Value>) -> Value {
    let Some(map) = reference.as_object_mut() else { return reference };
    let Some(group) = map.shift_remove("apiGroup") else { return reference };
    let group = group.as_str().unwrap_or_default();
    let version = model.and_then(|model| model.get("apiVersion")).and_then(Value::as_str);
    let version = version.filter(|version| ApiVersion::parse(version).group == group);
    map.insert("apiVersion".to_owned(), Value::from(version.map_or_else(|| format!("{group}/v1beta1"), str::to_owned)));
    in_namespace(reference, model)
}

/// A map of arguments as a list sorted by name, as the conversion sorts it.
fn listed(value: Value) -> Value {
    let Value::Object(map) = value else { return value };
    let mut pairs: Vec<(Text, Value)> = map.into_iter().collect();
    pairs.sort_by(|one, other| one.0.cmp(&other.0));
    pairs.into_iter().map(|(name, value)| crate::tree::json!({"name": name, "value": value})).collect()
}

/// A list of arguments as a map; the last one of a name wins.
fn mapped(value: Value) -> Value {
    let Value::Array(items) = value else { return value };
    let pair = |item: &Value| {
        Some((item.get("name")?.as_str()?.to_owned(), item.get("value").cloned().unwrap_or_else(|| Value::from(""))))
    };
    Value::Object(items.iter().filter_map(pair).collect())
}
