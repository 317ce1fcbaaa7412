//! Values as Go holds them: maps and lists that several places share. Flux merges without copying what lies below, so a value that
//! one reference sets shows up, or is lost, depending on which map it went into.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use crate::tree::{Map, Value};

/// A map that may be shared.
pub(crate) type Shared = Rc<RefCell<BTreeMap<String, ValueNode>>>;

/// One value.
#[derive(Debug, Clone)]
pub(crate) enum ValueNode {
    /// Anything that holds nothing further, as JSON or YAML gave it.
    Plain(Value),
    /// An integer that a reference with a path set: templates see another type than in numbers that were read.
    Integer(i64),
    /// A list that may be shared; it never grows in place.
    List(Rc<RefCell<Vec<Self>>>),
    /// A map.
    Map(Shared),
}

/// A map of its own.
#[must_use]
pub(crate) fn map() -> Shared {
    Shared::default()
}

impl ValueNode {
    /// Takes over a tree.
    #[must_use]
    pub(crate) fn of(value: &Value) -> Self {
        match value {
            Value::Object(object) => Self::Map(of_map(object)),
            Value::Array(items) => Self::List(Rc::new(RefCell::new(items.iter().map(Self::of).collect()))),
            plain => Self::Plain(plain.clone()),
        }
    }

    /// What `null` is.
    #[must_use]
    pub(crate) const fn null() -> Self {
        Self::Plain(Value::Null)
    }

    /// A text.
    #[must_use]
    pub(crate) fn text(text: impl Into<String>) -> Self {
        Self::Plain(Value::from(text.into()))
    }

    /// The tree, with the integers of [`ValueNode::Integer`] as numbers.
    #[must_use]
    pub(crate) fn to_value(&self) -> Value {
        match self {
            Self::Plain(value) => value.clone(),
            Self::Integer(number) => Value::from(*number),
            Self::List(items) => Value::Array(items.borrow().iter().map(Self::to_value).collect()),
            Self::Map(map) => Value::Object(to_map(map)),
        }
    }
}

/// Takes over a map.
#[must_use]
pub(crate) fn of_map(object: &Map) -> Shared {
    let entries = object.iter().map(|(name, value)| (name.to_string(), ValueNode::of(value)));
    Rc::new(RefCell::new(entries.collect()))
}

/// A map as JSON.
#[must_use]
pub(crate) fn to_map(map: &Shared) -> Map {
    map.borrow().iter().map(|(name, node)| (name.clone(), node.to_value())).collect()
}

/// Merges two maps: a new one, in which what both have as maps is merged, and all else is that of the second, shared with it
/// (fluxcd/pkg `chartutil/merge.go`, `MergeMaps`).
#[must_use]
pub(crate) fn merged(first: &Shared, second: &Shared) -> Shared {
    let mut out = first.borrow().clone();
    for (name, node) in second.borrow().iter() {
        let both = match (out.get(name), node) {
            (Some(ValueNode::Map(before)), ValueNode::Map(after)) => Some(ValueNode::Map(merged(before, after))),
            _ => None,
        };
        out.insert(name.clone(), both.unwrap_or_else(|| node.clone()));
    }
    Rc::new(RefCell::new(out))
}

/// The integers of a tree that templates must see as such, each as `helm --set` takes it.
#[must_use]
pub(crate) fn integers(map: &Shared) -> Vec<String> {
    let mut out = Vec::new();
    for (name, node) in map.borrow().iter() {
        collect(node, &escaped(name), &mut out);
    }
    out
}

fn collect(node: &ValueNode, path: &str, out: &mut Vec<String>) {
    match node {
        ValueNode::Integer(number) => out.push(format!("{path}={number}")),
        ValueNode::Plain(_) => {}
        ValueNode::List(items) => {
            let items = items.borrow();
            items.iter().enumerate().for_each(|(index, item)| collect(item, &format!("{path}[{index}]"), out));
        }
        ValueNode::Map(map) => {
            map.borrow().iter().for_each(|(name, inner)| collect(inner, &format!("{path}.{}", escaped(name)), out));
        }
    }
}

/// A key as the path of `--set` spells it.
fn escaped(name: &str) -> String {
    let mut out = String::new();
    for c in name.chars() {
        if matches!(c, '\\' | '.' | ',' | '=' | '[') {
            out.push('\\');
        }
        out.push(c);
    }
    out
}
