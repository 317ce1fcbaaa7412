//! Many trees as one memory wherever parts of them are equal: the objects of a fleet come from a few charts and mostly say the same.

use std::hash::{BuildHasher as _, Hash as _, Hasher as _};

use super::Value;
use crate::hashed::HashMap;

/// The parts that were seen, by a hash of what they say. Of two with one hash the second is not shared, so that no document can make
/// it slow.
#[derive(Debug, Default)]
pub(crate) struct Pool {
    parts: HashMap<u64, Value>,
}

impl Pool {
    /// Takes over every part of a tree that a tree before it had, with the same order of keys. Nothing that the tree says changes.
    pub(crate) fn share(&mut self, value: &mut Value) {
        self.hash_of(value);
    }

    fn hash_of(&mut self, value: &mut Value) -> u64 {
        let mut hash = self.parts.hasher().build_hasher();
        std::mem::discriminant(&*value).hash(&mut hash);
        match value {
            Value::Object(map) => match map.own() {
                Some(entries) => entries.iter_mut().for_each(|(key, value)| {
                    key.hash(&mut hash);
                    hash.write_u64(self.hash_of(value));
                }),
                // What somebody else holds stays as it is, inside.
                None => map.iter().for_each(|entry| entry.hash(&mut hash)),
            },
            Value::Array(list) => match list.own() {
                Some(items) => items.iter_mut().for_each(|item| hash.write_u64(self.hash_of(item))),
                None => list.iter().for_each(|item| item.hash(&mut hash)),
            },
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.hash(&mut hash),
        }
        let hash = hash.finish();
        if has_memory(value) {
            let known = self.parts.entry(hash).or_insert_with(|| value.clone());
            if is_equal(known, value) {
                value.clone_from(known);
            }
        }
        hash
    }
}

/// Whether a part takes memory beside its node.
fn has_memory(value: &Value) -> bool {
    match value {
        Value::Object(_) | Value::Array(_) => true,
        Value::String(text) => text.is_heap_allocated(),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Whether two parts say the same in the same order, where their own parts are one memory as far as they are equal.
fn is_equal(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Object(one), Value::Object(other)) => {
            let mut entries = one.iter().zip(other.iter());
            one.len() == other.len() && entries.all(|((a, one), (b, other))| a == b && one.is_same(other))
        }
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other.iter()).all(|(one, other)| one.is_same(other))
        }
        _ => one == other,
    }
}
