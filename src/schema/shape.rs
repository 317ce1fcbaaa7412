//! One place of a schema, as those ask who merge and compare.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::OnceLock;

use super::table::{self, CrdNode};
use crate::tree::Value;

/// One place of a schema.
#[derive(Debug, Clone)]
pub struct SchemaNode {
    /// What stands there.
    pub shape: SchemaShape,
    /// What the API server fills in where nothing stands.
    pub default: Option<Value>,
    /// Whether `null` is a value of its own.
    pub nullable: bool,
    /// Whether an empty list or map is refused here.
    pub filled: bool,
}

/// What stands at a place.
#[derive(Debug, Clone)]
pub enum SchemaShape {
    /// Named fields.
    Fields {
        /// The fields.
        fields: BTreeMap<&'static str, Below>,
        /// Whether they are written as a whole.
        atomic: bool,
        /// Whether other names are kept too.
        open: bool,
    },
    /// Any keys, with values of one shape.
    Map {
        /// The shape of the values.
        values: Below,
        /// Whether it is written as a whole.
        atomic: bool,
    },
    /// A list.
    List {
        /// The shape of the items.
        items: Below,
        /// How two lists become one.
        merge: Merge,
    },
    /// A value without places inside.
    Leaf(Type),
}

/// How two lists become one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Merge {
    /// The new one replaces the old one.
    Whole,
    /// As sets.
    Set,
    /// Item by item, by these keys.
    Keys(Vec<String>),
}

/// The type of a value without places inside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Type {
    /// Text.
    Text,
    /// `true` or `false`.
    Boolean,
    /// A number.
    Number,
    /// A number, or a text such as `50%`.
    IntOrString,
    /// An amount such as `1Gi`.
    Quantity,
    /// A point in time.
    Time,
    /// A length of time.
    Duration,
    /// An object without fields.
    Empty,
    /// Anything, merged by key where it is a map.
    Any,
}

/// The place below another one, made when somebody comes to it: an object has few of the places that its schema knows.
#[derive(Debug, Clone)]
pub struct Below {
    place: Option<usize>,
    node: OnceLock<Box<SchemaNode>>,
}

impl Below {
    /// A place of the table; any value where it names none.
    const fn of(place: Option<usize>) -> Self {
        Self { place, node: OnceLock::new() }
    }
}

impl Deref for Below {
    type Target = SchemaNode;

    fn deref(&self) -> &SchemaNode {
        self.node.get_or_init(|| {
            let node = self.place.and_then(table::node);
            Box::new(node.map_or_else(SchemaNode::any, SchemaNode::from))
        })
    }
}

impl From<SchemaNode> for Below {
    fn from(node: SchemaNode) -> Self {
        Self { place: None, node: OnceLock::from(Box::new(node)) }
    }
}

impl From<&'static CrdNode> for SchemaNode {
    fn from(node: &'static CrdNode) -> Self {
        Self {
            shape: SchemaShape::from(node),
            default: node.default.clone(),
            nullable: node.nullable,
            filled: node.count.0.max(node.size.0).is_some_and(|least| least > 0),
        }
    }
}

impl From<&'static CrdNode> for SchemaShape {
    fn from(node: &'static CrdNode) -> Self {
        if node.kind == "x" {
            let is_amount = node.pattern.as_ref().is_some_and(|pattern| pattern.contains("KMGTPE"));
            return Self::Leaf(if is_amount { Type::Quantity } else { Type::IntOrString });
        }
        if node.others.is_some() {
            return Self::Map { values: Below::of(node.others), atomic: node.atomic };
        }
        if node.kind == "a" {
            let merge = match node.list {
                Some("set") => Merge::Set,
                Some("map") => Merge::Keys(node.keys.clone()),
                _ => Merge::Whole,
            };
            return Self::List { items: Below::of(node.items), merge };
        }
        if node.fields.is_empty() {
            return Self::Leaf(Type::of(node));
        }
        let fields = node.fields.iter().map(|(name, place)| (name, Below::of(Some(place)))).collect();
        Self::Fields { fields, atomic: node.atomic, open: node.open }
    }
}

impl Type {
    /// The type of a place without named fields.
    fn of(node: &CrdNode) -> Self {
        match (node.kind, node.format) {
            _ if node.open => Self::Any,
            // An object without fields keeps none.
            ("o", _) => Self::Empty,
            ("s", Some("date-time")) => Self::Time,
            ("s", Some("duration")) => Self::Duration,
            ("s", _) => Self::Text,
            ("b", _) => Self::Boolean,
            ("i" | "n", _) => Self::Number,
            _ => Self::Any,
        }
    }
}

impl SchemaNode {
    /// A place that may hold anything.
    #[must_use]
    pub fn any() -> Self {
        Self { shape: SchemaShape::Leaf(Type::Any), default: None, nullable: false, filled: false }
    }

    /// The place of one key below this one; `None` where the schema has none or does not say.
    #[must_use]
    pub fn field(&self, key: &str) -> Option<&Self> {
        match &self.shape {
            SchemaShape::Fields { fields, .. } => fields.get(key).map(Deref::deref),
            SchemaShape::Map { values, .. } => Some(values),
            _ => None,
        }
    }

    /// The place of the items of a list.
    #[must_use]
    pub fn items(&self) -> Option<&Self> {
        match &self.shape {
            SchemaShape::List { items, .. } => Some(items),
            _ => None,
        }
    }
}
