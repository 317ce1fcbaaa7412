//! What is equal: maps whatever their order, and texts, numbers and booleans beside those of Rust.

use std::hash::{Hash, Hasher};

use super::{List, Map, Value};

impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Null, Self::Null) => true,
            (Self::Bool(a), Self::Bool(b)) => a == b,
            (Self::Number(a), Self::Number(b)) => a == b,
            (Self::String(a), Self::String(b)) => a == b,
            (Self::Array(a), Self::Array(b)) => a == b,
            (Self::Object(a), Self::Object(b)) => a == b,
            _ => false,
        }
    }
}

impl Eq for Value {}

impl Hash for Value {
    fn hash<H: Hasher>(&self, to: &mut H) {
        std::mem::discriminant(self).hash(to);
        match self {
            Self::Null => {}
            Self::Bool(value) => value.hash(to),
            Self::Number(number) => number.hash(to),
            Self::String(text) => text.hash(to),
            Self::Array(list) => list.iter().for_each(|item| item.hash(to)),
            Self::Object(map) => {
                // Maps are equal whatever their order.
                let mut entries: Vec<_> = map.iter().collect();
                entries.sort_unstable_by_key(|(key, _)| *key);
                entries.hash(to);
            }
        }
    }
}

impl PartialEq for List {
    fn eq(&self, other: &Self) -> bool {
        self.is_same(other) || **self == **other
    }
}

impl Eq for List {}

impl PartialEq<Vec<Value>> for List {
    fn eq(&self, other: &Vec<Value>) -> bool {
        **self == *other
    }
}

impl PartialEq for Map {
    fn eq(&self, other: &Self) -> bool {
        self.is_same(other)
            || (self.len() == other.len()
                && self.iter().enumerate().all(|(place, (key, value))| {
                    let there = other.at(place).filter(|(name, _)| name == key).map(|(_, there)| there);
                    there.or_else(|| other.get(key)).is_some_and(|there| value == there)
                }))
    }
}

impl Eq for Map {}

impl PartialEq<str> for Value {
    fn eq(&self, other: &str) -> bool {
        self.as_str() == Some(other)
    }
}

impl PartialEq<Value> for str {
    fn eq(&self, other: &Value) -> bool {
        other == self
    }
}

macro_rules! texts {
    ($($kind:ty),*) => {$(
        impl PartialEq<$kind> for Value {
            fn eq(&self, other: &$kind) -> bool {
                let other: &str = other.as_ref();
                self == other
            }
        }

        impl PartialEq<Value> for $kind {
            fn eq(&self, other: &Value) -> bool {
                other == self
            }
        }
    )*};
}

texts!(&str, String, super::Text);

macro_rules! plain {
    ($($kind:ty => $get:ident as $wide:ty),*) => {$(
        impl PartialEq<$kind> for Value {
            fn eq(&self, other: &$kind) -> bool {
                self.$get() == Some(<$wide>::from(*other))
            }
        }

        impl PartialEq<$kind> for &Value {
            fn eq(&self, other: &$kind) -> bool {
                **self == *other
            }
        }

        impl PartialEq<Value> for $kind {
            fn eq(&self, other: &Value) -> bool {
                other == self
            }
        }
    )*};
}

plain!(bool => as_bool as bool, i32 => as_i64 as i64, i64 => as_i64 as i64, u32 => as_u64 as u64, u64 => as_u64 as u64, f64 => as_f64 as f64);

impl PartialEq<usize> for Value {
    fn eq(&self, other: &usize) -> bool {
        self.as_u64().and_then(|value| usize::try_from(value).ok()) == Some(*other)
    }
}
