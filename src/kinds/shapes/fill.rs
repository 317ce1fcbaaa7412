//! What the API server does to an object before any webhook sees it: unknown fields go, nulls go, defaults come.
//! Read beside `k8s.io/apiextensions-apiserver` `pkg/apiserver/schema/{pruning,defaulting}`, v0.33.

use super::{Node, Shape, node};
use crate::object::{Path, Route};
use crate::tree::{Map, Value, json};

impl Shape {
    /// Takes out the fields that the kind does not have and says where they were.
    pub fn prune(&self, value: &mut Value, at: &Path) -> Vec<Path> {
        let mut dropped = Vec::new();
        prune(self.root, value, &Route::At(at), &mut dropped);
        dropped
    }

    /// Takes out nulls that cannot stay and fills in defaults.
    pub fn fill(&self, value: &mut Value) {
        fill(self.root, value);
    }
}

impl Shape {
    /// What a mutating webhook of before 1.11 leaves of an object by reading it into Go's types and writing it again:
    /// empty texts that may be absent go unless they are pointers in Go, required fields that are absent come with their zero
    /// value.
    pub fn round_trip(&self, value: &mut Value, pointers: &[&str]) {
        round_trip(self.root, value, pointers);
    }
}

impl Shape {
    /// What a mutating webhook of 1.11 and later adds to an object by reading it into Go's types and writing it again.
    pub fn add_zeros(&self, value: &mut Value) {
        add_zeros(self.root, value, "");
    }
}

impl Shape {
    /// What a mutating webhook adds to an object by reading it into Go's types and writing it again: required fields that
    /// are absent come with their zero value everywhere, and so do the blocks that Go cannot leave out, which are named.
    /// What comes gets its defaults.
    pub fn write_zeros(&self, value: &mut Value, blocks: &[&str]) {
        write_zeros(self.root, value, blocks);
        fill(self.root, value);
    }
}

/// Texts of Cluster API's v1beta1 and of RKE2 that are pointers in Go: an empty one is not an absent one.
pub const POINTERS: &[&str] = &[
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

/// Reads into Go's types and writes again.
fn round_trip(shape: &Node, value: &mut Value, pointers: &[&str]) {
    match value {
        Value::Object(map) => {
            if !shape.fields.is_empty() {
                map.retain(|key, child| {
                    let is_time = || {
                        let below = shape.fields.get(key.as_str()).copied().and_then(node);
                        below.is_some_and(|below| below.format.as_deref() == Some("date-time"))
                    };
                    *child != ""
                        || shape.required.iter().any(|name| key == name)
                        || pointers.contains(&key.as_str())
                        || is_time()
                });
                zeros(shape, map);
            }
            for (key, child) in map.iter_mut() {
                if let Some(below) = shape.fields.get(key.as_str()).copied().or(shape.others).and_then(node) {
                    round_trip(below, child, pointers);
                }
            }
        }
        Value::Array(list) => {
            if let Some(below) = shape.items.and_then(node) {
                list.iter_mut().for_each(|child| round_trip(below, child, pointers));
            }
        }
        _ => {}
    }
}

/// Adds zeros at every place.
fn write_zeros(shape: &Node, value: &mut Value, blocks: &[&str]) {
    match value {
        Value::Object(map) => {
            if !shape.fields.is_empty() {
                zeros(shape, map);
            }
            let is_block =
                |key: &str| shape.fields.get(key).copied().and_then(node).is_some_and(|below| below.kind == "o");
            for block in blocks.iter().filter(|block| is_block(block)) {
                map.entry(*block).or_insert_with(|| json!({}));
            }
            for (key, child) in map.iter_mut() {
                if let Some(below) = shape.fields.get(key.as_str()).copied().or(shape.others).and_then(node) {
                    write_zeros(below, child, blocks);
                }
            }
        }
        Value::Array(list) => {
            if let Some(below) = shape.items.and_then(node) {
                list.iter_mut().for_each(|child| write_zeros(below, child, blocks));
            }
        }
        _ => {}
    }
}

/// Adds the zero values that Go cannot leave out: fields that must be there and are no pointers.
fn zeros(shape: &Node, map: &mut Map) {
    // A pointer that is required and not there stays away, and the schema refuses it.
    for key in shape.required.iter().filter(|key| *key != "rolloutStrategy") {
        let zero = shape.fields.get(key).copied().and_then(node).map(|below| match below.kind.as_str() {
            // A map of free keys is nil, and null is no value.
            "o" if below.others.is_none() => Value::Object(Map::new()),
            "s" => Value::from(""),
            "i" | "n" => Value::from(0),
            "b" => Value::Bool(false),
            _ => Value::Null,
        });
        if let (false, Some(zero)) = (map.contains_key(key), zero.filter(|zero| !zero.is_null())) {
            map.insert(key.clone(), zero);
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
fn add_zeros(shape: &Node, value: &mut Value, parent: &str) {
    match value {
        Value::Object(map) => {
            for (key, child) in map.iter_mut() {
                let Some(below) = shape.fields.get(key.as_str()).copied().or(shape.others).and_then(node) else {
                    continue;
                };
                let own =
                    OF_KUBERNETES.iter().any(|(outer, name)| name == key && (outer.is_empty() || *outer == parent));
                match (own, child) {
                    (true, Value::Array(list)) => {
                        let item = below.items.and_then(node);
                        for (item, child) in list.iter_mut().filter_map(|child| Some((item?, child.as_object_mut()?))) {
                            zeros(item, child);
                        }
                    }
                    (true, Value::Object(child)) => zeros(below, child),
                    _ => {}
                }
            }
            for (key, child) in map.iter_mut() {
                if let Some(below) = shape.fields.get(key.as_str()).copied().or(shape.others).and_then(node) {
                    add_zeros(below, child, key);
                }
            }
        }
        Value::Array(list) => {
            if let Some(below) = shape.items.and_then(node) {
                list.iter_mut().for_each(|child| add_zeros(below, child, parent));
            }
        }
        _ => {}
    }
}

/// Takes out what a node does not name.
fn prune(shape: &Node, value: &mut Value, at: &Route<'_>, dropped: &mut Vec<Path>) {
    match value {
        Value::Object(map) => {
            let open = shape.open || shape.kind == "*";
            map.retain(|key, _| {
                let known = open || shape.others.is_some() || shape.fields.contains_key(key.as_str());
                if !known {
                    dropped.push(at.key(key).to_path());
                }
                known
            });
            for (key, child) in map.iter_mut() {
                if let Some(below) = shape.fields.get(key.as_str()).copied().or(shape.others).and_then(node) {
                    prune(below, child, &at.key(key), dropped);
                }
            }
        }
        Value::Array(list) => {
            if let Some(below) = shape.items.and_then(node) {
                for (place, child) in list.iter_mut().enumerate() {
                    prune(below, child, &at.index(place), dropped);
                }
            }
        }
        _ => {}
    }
}

/// Fills in what a node says.
fn fill(shape: &Node, value: &mut Value) {
    match value {
        Value::Object(map) => {
            map.retain(|key, child| {
                let below = shape.fields.get(key.as_str()).copied().or(shape.others).and_then(node);
                !child.is_null() || below.is_none_or(|below| below.nullable || below.kind == "*")
            });
            defaults(shape, map);
            for (key, child) in map.iter_mut() {
                if let Some(below) = shape.fields.get(key.as_str()).copied().or(shape.others).and_then(node) {
                    fill(below, child);
                }
            }
        }
        Value::Array(list) => {
            if let Some(below) = shape.items.and_then(node) {
                list.iter_mut().for_each(|child| fill(below, child));
            }
        }
        _ => {}
    }
}

/// Puts in the defaults of the fields of a map.
fn defaults(shape: &Node, map: &mut Map) {
    for (key, below) in &shape.fields {
        if !map.contains_key(key)
            && let Some(default) = node(*below).and_then(|below| below.default.clone())
        {
            map.insert(key.clone(), default);
        }
    }
}
