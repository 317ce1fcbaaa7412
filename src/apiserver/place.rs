//! Where server-side apply is in an object, and how the values there become one: what the schema says for `spec`, what
//! Kubernetes says for `metadata`, and by key for the rest.

use super::fields::{Step, canonical};
use crate::object::Path;
use crate::schema::{Merge, SchemaNode, SchemaShape, Type};
use crate::tree::{Map, Value};

/// A place of an object.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Place<'n> {
    /// The object itself, with the schema of its `spec` where it is known.
    Root(Option<&'n SchemaNode>),
    /// Its `metadata`.
    Metadata,
    /// Labels or annotations.
    Marks,
    /// A list in `metadata`.
    MetadataList(&'static str),
    /// A place with a schema.
    Known(&'n SchemaNode),
    /// A place without one.
    Any,
}

/// How two values at a place become one.
pub(crate) enum Merging {
    /// Key by key.
    Granular,
    /// The new list takes the items of the old one with it.
    Items(Merge),
    /// The new one replaces the old one.
    Whole,
}

impl<'n> Place<'n> {
    /// How two values here become one.
    pub(crate) fn merging(self, value: &Value) -> Merging {
        let by_value = || if value.is_object() { Merging::Granular } else { Merging::Whole };
        match self {
            Self::Root(_) | Self::Metadata | Self::Marks | Self::Any => by_value(),
            Self::MetadataList("finalizers") => Merging::Items(Merge::Set),
            Self::MetadataList(_) => Merging::Items(Merge::Keys(vec!["uid".to_owned()])),
            Self::Known(node) => match &node.shape {
                SchemaShape::Fields { atomic: true, .. } | SchemaShape::Map { atomic: true, .. } => Merging::Whole,
                SchemaShape::Fields { .. } | SchemaShape::Map { .. } | SchemaShape::Leaf(Type::Any) => by_value(),
                SchemaShape::List { merge: Merge::Whole, .. } | SchemaShape::Leaf(_) => Merging::Whole,
                SchemaShape::List { merge, .. } if value.is_array() => Merging::Items(merge.clone()),
                SchemaShape::List { .. } => Merging::Whole,
            },
        }
    }

    /// Whether the schema says that a new value replaces the old one, of whatever type it is.
    pub(crate) fn is_whole(self) -> bool {
        let Self::Known(node) = self else { return false };
        match &node.shape {
            SchemaShape::Fields { atomic, .. } | SchemaShape::Map { atomic, .. } => *atomic,
            SchemaShape::List { merge, .. } => *merge == Merge::Whole,
            SchemaShape::Leaf(of) => *of != Type::Any,
        }
    }

    /// Whether the API server refuses `null` here: the schema has another type, and no default that takes its place.
    pub(crate) fn refuses_null(self) -> bool {
        let Self::Known(node) = self else { return false };
        !node.nullable && node.default.is_none() && !matches!(node.shape, SchemaShape::Leaf(Type::Any))
    }

    /// The place of one key below.
    pub(crate) fn field(self, key: &str) -> Self {
        match (self, key) {
            (Self::Root(_), "metadata") => Self::Metadata,
            (Self::Root(spec), "spec") => spec.map_or(Self::Any, Self::Known),
            (Self::Metadata, "labels" | "annotations") => Self::Marks,
            (Self::Metadata, "finalizers") => Self::MetadataList("finalizers"),
            (Self::Metadata, "ownerReferences") => Self::MetadataList("ownerReferences"),
            (Self::Known(node), _) => node.field(key).map_or(Self::Any, Self::Known),
            _ => Self::Any,
        }
    }

    /// The place of the items of a list.
    pub(crate) fn item(self) -> Self {
        match self {
            Self::Known(node) => node.items().map_or(Self::Any, Self::Known),
            _ => Self::Any,
        }
    }

    /// Whether a key below is a field with a name of its own, and not just any key of a map
    /// (structured-merge-diff `fieldpath/set.go`, `EnsureNamedFieldsAreMembers`).
    pub(crate) fn is_named(self, step: &Step) -> bool {
        let Step::Field(key) = step else { return false };
        match self {
            Self::Root(_) | Self::Metadata => true,
            Self::Known(node) => {
                matches!(&node.shape, SchemaShape::Fields { fields, .. } if fields.contains_key(key.as_str()))
            }
            _ => false,
        }
    }

    /// The place below one step.
    pub(crate) fn step(self, step: &Step) -> Self {
        match step {
            Step::Field(key) => self.field(key),
            _ => self.item(),
        }
    }

    /// The first `null` below this place that the API server refuses.
    pub(crate) fn refused_null(self, value: &Value, path: &Path) -> Option<Path> {
        match value {
            Value::Null => self.refuses_null().then(|| path.clone()),
            Value::Object(map) => {
                map.iter().find_map(|(key, value)| self.field(key).refused_null(value, &path.key(key.as_str())))
            }
            Value::Array(items) => {
                let mut items = items.iter().enumerate();
                items.find_map(|(at, value)| self.item().refused_null(value, &path.index(at)))
            }
            _ => None,
        }
    }

    /// The step that leads to an item of a list that is merged item by item. A key that the item lacks has its default.
    pub(crate) fn step_to(self, merge: &Merge, item: &Value) -> Step {
        match merge {
            Merge::Keys(keys) => {
                let default = |key: &str| match self.item() {
                    Self::Known(node) => node.field(key).and_then(|field| field.default.clone()),
                    _ => None,
                };
                let named = keys.iter().filter_map(|key| {
                    item.get(key).cloned().or_else(|| default(key)).map(|value| (key.clone(), value))
                });
                Step::Item(canonical(&Value::Object(named.collect::<Map>())))
            }
            _ => Step::Member(canonical(item)),
        }
    }
}
