//! New objects that a change leads to: Machines are made of them from now on, so whoever approves the change approves what they hold.

use crate::compare::{Action, Pair};
use crate::hashed::{HashMap, HashSet};
use crate::kinds::Role;
use crate::kinds::references::named;
use crate::model::Effect;
use crate::object::{Key, View};
use crate::providers::kind;
use crate::tree::Value;

/// The templates, configurations and data that are new and that a changed object, or an owner whose Machines go, refers to, directly or
/// through each other, with what they hold. Labels and annotations are left out, and so is what takes the place of another template:
/// there each difference is a change.
pub(super) fn led_to<'a>(
    pairs: &'a [Pair],
    owners: impl Iterator<Item = &'a Key>,
    view: &dyn View,
) -> Vec<(&'a Key, Value)> {
    let mut new: HashMap<(&str, &str), Vec<&Pair>> = HashMap::default();
    let is_part = |pair: &&Pair| matches!(kind(&pair.key).role, Role::Template | Role::Config | Role::Data);
    let created = pairs.iter().filter(|pair| pair.action == Action::Create && pair.renamed_from.is_none());
    for pair in created.filter(is_part) {
        new.entry((&pair.key.kind, &pair.key.name)).or_default().push(pair);
    }
    if new.is_empty() {
        return Vec::new();
    }
    let mut found: Vec<&Pair> = Vec::new();
    let mut seen: HashSet<&Key> = HashSet::default();
    let mut follow = |namespace: Option<&str>, value: &Value| {
        let before = found.len();
        named(value, &mut |named| {
            let namespace = named.namespace.or(namespace);
            for pair in new.get(&(named.kind, named.name)).into_iter().flatten() {
                let is_near =
                    pair.key.namespace.is_none() || namespace.is_none() || pair.key.namespace.as_deref() == namespace;
                if is_near && seen.insert(&pair.key) {
                    found.push(pair);
                }
            }
        });
        found[before..].to_vec()
    };
    let mut open: Vec<&Pair> = Vec::new();
    for pair in pairs.iter().filter(|pair| pair.action == Action::Update && pair.effect > Effect::None) {
        let value = pair.predicted.as_ref();
        open.extend(value.map(|value| follow(pair.key.namespace.as_deref(), value)).unwrap_or_default());
    }
    for owner in owners {
        let live = view.get(owner).object().and_then(|object| object.value().ok());
        open.extend(live.map(|value| follow(owner.namespace.as_deref(), &value)).unwrap_or_default());
    }
    while let Some(pair) = open.pop() {
        let value = pair.predicted.as_ref();
        open.extend(value.map(|value| follow(pair.key.namespace.as_deref(), value)).unwrap_or_default());
    }
    found.into_iter().filter_map(|pair| Some((&pair.key, held(pair.predicted.as_ref()?)))).collect()
}

/// What an object holds.
fn held(value: &Value) -> Value {
    let mut held = value.clone();
    if let Some(map) = held.as_object_mut() {
        map.shift_remove("metadata");
        map.shift_remove("status");
    }
    held
}
