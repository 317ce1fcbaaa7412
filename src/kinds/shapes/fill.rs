//! What the API server does to an object before any webhook sees it: unknown fields go, nulls go, defaults come.
//! Read beside `k8s.io/apiextensions-apiserver` `pkg/apiserver/schema/{pruning,defaulting}`, v0.33.

use super::Shape;
use crate::object::{Path, Route};
use crate::schema::table::{CrdNode, node};
use crate::tree::{List, Map, Text, Value, json};

impl Shape {
    /// Takes out the fields that the kind does not have and says where they were.
    pub fn prune(&self, value: &mut Value, at: &Path) -> Vec<Path> {
        let mut dropped = Vec::new();
        replace(value, prune(self.root, (value, None), &Route::At(at), &mut dropped));
        dropped
    }

    /// Takes out nulls that cannot stay and fills in defaults.
    pub fn fill(&self, value: &mut Value) {
        replace(value, fill(self.root, (value, None)));
    }

    /// Takes out the fields that the kind does not have, takes out nulls that cannot stay and fills in defaults, on both sides of a write;
    /// says which fields of each side were taken out. Parts that are one memory on both sides are one memory afterwards.
    pub(crate) fn prune_and_fill(&self, (old, new): (&mut Value, &mut Value), at: &Path) -> (Vec<Path>, Vec<Path>) {
        let read = old.clone();
        let mut gone = (self.prune(old, at), Vec::new());
        // What goes is named by its place, so each side is looked through where anything does.
        let done = gone.0.is_empty().then_some(Done { read: &read, made: old });
        replace(new, prune(self.root, (new, done), &Route::At(at), &mut gone.1));
        let read = old.clone();
        self.fill(old);
        replace(new, fill(self.root, (new, Some(Done { read: &read, made: old }))));
        gone
    }
}

/// A place of the other side, which was done already.
#[derive(Clone, Copy)]
struct Done<'v> {
    /// What stood there.
    read: &'v Value,
    /// What was made of it.
    made: &'v Value,
}

impl<'v> Done<'v> {
    /// What is made of a value, where it is the one that was done already.
    fn of(self, value: &Value) -> Option<Option<Value>> {
        self.read.is_same(value).then(|| (!self.made.is_same(value)).then(|| self.made.clone()))
    }

    fn key(self, key: &str) -> Option<Self> {
        Some(Self { read: self.read.get(key)?, made: self.made.get(key)? })
    }

    fn item(self, place: usize) -> Option<Self> {
        Some(Self { read: self.read.get(place)?, made: self.made.get(place)? })
    }
}

impl Shape {
    /// What a mutating webhook of before 1.11 leaves of an object by reading it into Go's types and writing it again:
    /// empty texts that may be absent go unless they are pointers in Go, required fields that are absent come with their zero
    /// value.
    pub fn round_trip(&self, value: &mut Value, pointers: &[&str]) {
        replace(value, round_trip(self.root, value, pointers));
    }
}

impl Shape {
    /// What a mutating webhook of 1.11 and later adds to an object by reading it into Go's types and writing it again.
    pub fn add_zeros(&self, value: &mut Value) {
        replace(value, add_zeros(self.root, value, ""));
    }
}

impl Shape {
    /// What a mutating webhook adds to an object by reading it into Go's types and writing it again: required fields that
    /// are absent come with their zero value everywhere, and so do the blocks that Go cannot leave out, which are named.
    /// What comes gets its defaults.
    pub fn write_zeros(&self, value: &mut Value, blocks: &[&str]) {
        replace(value, write_zeros(self.root, value, blocks));
        self.fill(value);
    }
}

/// Texts of Cluster API's v1beta1 and of RKE2 that are pointers in Go: an empty one is not an absent one.
pub(crate) const POINTERS: &[&str] = &[
    "dataSecretName",
    "deletePolicy",
    "failureDomain",
    "gecos",
    "groups",
    "homeDir",
    "partition",
    "passwd",
    "primaryGroup",
    "providerID",
    "replaceFS",
    "shell",
    "sudo",
    "tableType",
    "unhealthyRange",
    "version",
];

/// A map that is only copied where something in it changes: most of them stay as they are, and stay shared.
struct Draft<'v> {
    read: &'v Map,
    made: Option<Map>,
}

impl<'v> Draft<'v> {
    fn of(read: &'v Map) -> Self {
        Self { read, made: None }
    }

    fn now(&self) -> &Map {
        self.made.as_ref().unwrap_or(self.read)
    }

    fn keep(&mut self, is_kept: impl FnMut(&Text, &Value) -> bool) {
        let kept = self.now().filtered(is_kept);
        self.made = kept.or(self.made.take());
    }

    fn insert(&mut self, key: &str, value: Value) {
        self.made.get_or_insert_with(|| self.read.clone()).insert(key, value);
    }

    fn change(&mut self, other: impl FnMut(&Text, &Value) -> Option<Value>) {
        let changed = self.now().changed(other);
        self.made = changed.or(self.made.take());
    }

    fn end(self) -> Option<Value> {
        self.made.map(Value::Object)
    }
}

/// What `step` makes of each item of a list; `None` where all stay as they are.
fn items(
    shape: &CrdNode,
    list: &List,
    mut step: impl FnMut(&CrdNode, usize, &Value) -> Option<Value>,
) -> Option<Value> {
    let below = shape.items.and_then(node)?;
    list.changed(|place, item| step(below, place, item)).map(Value::Array)
}

/// Puts the other value in the place of one, where there is another.
fn replace(value: &mut Value, other: Option<Value>) {
    if let Some(other) = other {
        *value = other;
    }
}

impl CrdNode {
    /// What stands at a key.
    fn below(&self, key: &str) -> Option<&'static Self> {
        self.fields.get(key).or(self.others).and_then(node)
    }
}

/// Reads into Go's types and writes again.
fn round_trip(shape: &CrdNode, value: &Value, pointers: &[&str]) -> Option<Value> {
    match value {
        Value::Object(map) => {
            let mut draft = Draft::of(map);
            if !shape.fields.is_empty() {
                draft.keep(|key, child| {
                    let is_time = || {
                        let below = shape.fields.get(key).and_then(node);
                        below.is_some_and(|below| below.format == Some("date-time"))
                    };
                    // Go reads null as nothing, and writes nothing again.
                    let is_nothing = child.is_null() && shape.fields.contains_key(key);
                    let is_said = *child != ""
                        || shape.required.iter().any(|name| key == name)
                        || pointers.contains(&key.as_str())
                        || is_time();
                    is_said && !is_nothing
                });
                zeros(shape, &mut draft);
            }
            draft.change(|key, child| round_trip(shape.below(key)?, child, pointers));
            draft.end()
        }
        Value::Array(list) => items(shape, list, |below, _, child| round_trip(below, child, pointers)),
        // Under a free key and in a list Go has a value for it: the zero of its type (encoding/json, Unmarshal).
        Value::Null if shape.kind == "o" && !shape.fields.is_empty() => {
            let empty = Value::Object(Map::new());
            Some(round_trip(shape, &empty, pointers).unwrap_or(empty))
        }
        Value::Null => scalar_zero(shape),
        _ => None,
    }
}

/// The zero value of a scalar that is no pointer.
fn scalar_zero(shape: &CrdNode) -> Option<Value> {
    match shape.kind {
        "s" => Some(Value::from("")),
        "i" | "n" => Some(Value::from(0)),
        "b" => Some(Value::Bool(false)),
        _ => None,
    }
}

/// Adds zeros at every place.
fn write_zeros(shape: &CrdNode, value: &Value, blocks: &[&str]) -> Option<Value> {
    match value {
        Value::Object(map) => {
            let mut draft = Draft::of(map);
            if !shape.fields.is_empty() {
                zeros(shape, &mut draft);
            }
            let is_block = |key: &str| shape.fields.get(key).and_then(node).is_some_and(|below| below.kind == "o");
            for block in blocks.iter().filter(|block| is_block(block)) {
                if !draft.now().contains_key(block) {
                    draft.insert(block, json!({}));
                }
            }
            draft.change(|key, child| write_zeros(shape.below(key)?, child, blocks));
            draft.end()
        }
        Value::Array(list) => items(shape, list, |below, _, child| write_zeros(below, child, blocks)),
        _ => None,
    }
}

/// Adds the zero values that Go cannot leave out: fields that must be there and are no pointers.
fn zeros(shape: &CrdNode, draft: &mut Draft<'_>) {
    // A pointer that is required and not there stays away, and the schema refuses it.
    for key in shape.required.iter().filter(|key| **key != "rolloutStrategy") {
        let zero = shape.fields.get(key).and_then(node).and_then(|below| match below.kind {
            // A map of free keys is nil, and null is no value.
            "o" => below.others.is_none().then(|| Value::Object(Map::new())),
            _ => scalar_zero(below),
        });
        if let (false, Some(zero)) = (draft.now().contains_key(key), zero) {
            draft.insert(key, zero);
        }
    }
}

/// Fields of v1beta2 whose values are Kubernetes' own types, with the field they stand in where that matters: only those
/// write required fields that are not set.
const OF_KUBERNETES: &[(&str, &str)] = &[
    ("", "extraEnvs"),
    ("nodeRegistration", "taints"),
    ("valueFrom", "fieldRef"),
    ("valueFrom", "configMapKeyRef"),
    ("valueFrom", "secretKeyRef"),
    ("valueFrom", "resourceFieldRef"),
    ("", "matchExpressions"),
];

/// Adds zeros in the values that are Kubernetes' own types.
fn add_zeros(shape: &CrdNode, value: &Value, parent: &str) -> Option<Value> {
    match value {
        Value::Object(map) => {
            let mut draft = Draft::of(map);
            draft.change(|key, child| {
                let below = shape.below(key)?;
                let own =
                    OF_KUBERNETES.iter().any(|(outer, name)| name == key && (outer.is_empty() || *outer == parent));
                match (own, child) {
                    (true, Value::Array(list)) => items(below, list, |item, _, child| with_zeros(item, child)),
                    (true, child) => with_zeros(below, child),
                    _ => None,
                }
            });
            draft.change(|key, child| add_zeros(shape.below(key)?, child, key));
            draft.end()
        }
        Value::Array(list) => items(shape, list, |below, _, child| add_zeros(below, child, parent)),
        _ => None,
    }
}

/// A map with the zeros of its shape.
fn with_zeros(shape: &CrdNode, value: &Value) -> Option<Value> {
    let mut draft = Draft::of(value.as_object()?);
    zeros(shape, &mut draft);
    draft.end()
}

/// Takes out what a node does not name.
fn prune(
    shape: &CrdNode,
    (value, done): (&Value, Option<Done<'_>>),
    at: &Route<'_>,
    dropped: &mut Vec<Path>,
) -> Option<Value> {
    if let Some(made) = done.and_then(|done| done.of(value)) {
        return made;
    }
    match value {
        Value::Object(map) => {
            let mut draft = Draft::of(map);
            if !shape.open && shape.kind != "*" && shape.others.is_none() {
                draft.keep(|key, _| {
                    let known = shape.fields.contains_key(key);
                    if !known {
                        dropped.push(at.key(key).to_path());
                    }
                    known
                });
            }
            draft.change(|key, child| {
                let done = done.and_then(|done| done.key(key));
                prune(shape.below(key)?, (child, done), &at.key(key), dropped)
            });
            draft.end()
        }
        Value::Array(list) => items(shape, list, |below, place, child| {
            let done = done.and_then(|done| done.item(place));
            prune(below, (child, done), &at.index(place), dropped)
        }),
        _ => None,
    }
}

/// Fills in what a node says.
fn fill(shape: &CrdNode, (value, done): (&Value, Option<Done<'_>>)) -> Option<Value> {
    if let Some(made) = done.and_then(|done| done.of(value)) {
        return made;
    }
    match value {
        Value::Object(map) => {
            let mut draft = Draft::of(map);
            draft.keep(|key, child| {
                !child.is_null() || shape.below(key).is_none_or(|below| below.nullable || below.kind == "*")
            });
            for (key, below) in shape.fields.iter() {
                if let Some(default) = node(below).and_then(|below| below.default.as_ref())
                    && !draft.now().contains_key(key)
                {
                    draft.insert(key, default.clone());
                }
            }
            draft.change(|key, child| fill(shape.below(key)?, (child, done.and_then(|done| done.key(key)))));
            draft.end()
        }
        Value::Array(list) => {
            items(shape, list, |below, place, child| fill(below, (child, done.and_then(|done| done.item(place)))))
        }
        _ => None,
    }
}
