//! One place of a schema, in the compact form of the built-in table.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::tree::Value;

/// One place of a schema.
#[derive(Debug, Clone, Deserialize)]
#[serde(from = "Compact")]
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
        fields: BTreeMap<String, SchemaNode>,
        /// Whether they are written as a whole.
        atomic: bool,
        /// Whether other names are kept too.
        open: bool,
    },
    /// Any keys, with values of one shape.
    Map {
        /// The shape of the values.
        values: Box<SchemaNode>,
        /// Whether it is written as a whole.
        atomic: bool,
    },
    /// A list.
    List {
        /// The shape of the items.
        items: Box<SchemaNode>,
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

/// The compact form; see `tests/oracle/schema/main.go`.
#[derive(Deserialize)]
struct Compact {
    f: Option<BTreeMap<String, SchemaNode>>,
    m: Option<Box<SchemaNode>>,
    l: Option<Box<SchemaNode>>,
    t: Option<String>,
    #[serde(default)]
    k: Vec<String>,
    #[serde(default)]
    s: bool,
    #[serde(default)]
    a: bool,
    #[serde(default)]
    u: bool,
    #[serde(default)]
    n: bool,
    #[serde(default)]
    r: bool,
    d: Option<Value>,
}

impl From<Compact> for SchemaNode {
    fn from(compact: Compact) -> Self {
        let atomic = compact.a;
        let shape = match (compact.f, compact.m, compact.l) {
            (Some(fields), _, _) => SchemaShape::Fields { fields, atomic, open: compact.u },
            (_, Some(values), _) => SchemaShape::Map { values, atomic },
            (_, _, Some(items)) => {
                let merge = match (compact.s, compact.k.is_empty()) {
                    (true, _) => Merge::Set,
                    (_, false) => Merge::Keys(compact.k),
                    _ => Merge::Whole,
                };
                SchemaShape::List { items, merge }
            }
            _ => SchemaShape::Leaf(Type::named(compact.t.as_deref().unwrap_or("any"))),
        };
        Self { shape, default: compact.d, nullable: compact.n, filled: compact.r }
    }
}

impl Type {
    /// The type with this name in the compact form.
    fn named(name: &str) -> Self {
        match name {
            "string" => Self::Text,
            "boolean" => Self::Boolean,
            "integer" | "number" => Self::Number,
            "int-or-string" => Self::IntOrString,
            "quantity" => Self::Quantity,
            "date-time" => Self::Time,
            "duration" => Self::Duration,
            "empty" => Self::Empty,
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
            SchemaShape::Fields { fields, .. } => fields.get(key),
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
