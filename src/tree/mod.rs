//! The tree of an object: what a document reads as, and what the API server holds.
//!
//! A copy of a tree is a count: maps and lists are shared until one side writes, short texts stand in the node itself. Two trees that
//! are the same memory are equal without a look at what is in them, so that what did not change costs nothing in any stage.

mod convert;
mod entries;
mod equal;
mod list;
pub(crate) mod literal;
mod map;
mod place;
mod pool;
mod share;
mod wire;

use std::fmt;

pub(crate) use entries::print;
pub(crate) use list::List;
pub(crate) use literal::json;
pub use map::Map;
pub(crate) use place::Place;
pub(crate) use pool::Pool;
pub(crate) use serde_json::Number;
pub(crate) use smol_str::SmolStr as Text;
pub use wire::from_value;
pub(crate) use wire::to_value;

/// A value of JSON.
#[derive(Clone, Default)]
pub enum Value {
    /// Nothing.
    #[default]
    Null,
    /// True or false.
    Bool(bool),
    /// A number.
    Number(Number),
    /// A text.
    String(Text),
    /// A list.
    Array(List),
    /// A map.
    Object(Map),
}

impl Value {
    /// Whether both are the same memory, or scalars that are equal. Where this is false they may still be equal.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Array(a), Self::Array(b)) => a.is_same(b),
            (Self::Object(a), Self::Object(b)) => a.is_same(b),
            (Self::Array(_) | Self::Object(_), _) | (_, Self::Array(_) | Self::Object(_)) => false,
            _ => self == other,
        }
    }

    /// What stands at a key or at a position.
    #[must_use]
    pub fn get<P: Place>(&self, place: P) -> Option<&Self> {
        place.of(self)
    }

    /// What stands at a key or at a position, to be changed.
    pub fn get_mut<P: Place>(&mut self, place: P) -> Option<&mut Self> {
        place.of_mut(self)
    }

    /// What stands at a JSON pointer (RFC 6901).
    #[must_use]
    pub fn pointer(&self, pointer: &str) -> Option<&Self> {
        let Some(rest) = pointer.strip_prefix('/') else { return pointer.is_empty().then_some(self) };
        let (mut at, mut rest) = (self, rest);
        loop {
            match rest.bytes().position(|byte| matches!(byte, b'/' | b'~')) {
                None => return at.step(rest),
                Some(end) if rest.as_bytes()[end] == b'/' => {
                    at = at.step(&rest[..end])?;
                    rest = &rest[end + 1..];
                }
                Some(_) => return place::steps(pointer)?.try_fold(self, |at, step| at.step(&step)),
            }
        }
    }

    /// Whether another tree has something else at a JSON pointer of plain keys, or only one of both has something there. What is one memory
    /// on the way is not looked into.
    #[must_use]
    pub(crate) fn differs_at(&self, other: &Self, pointer: &str) -> bool {
        let (mut one, mut two) = (self, other);
        for step in pointer.split('/').skip(1) {
            if one.is_same(two) {
                return false;
            }
            match (one.step(step), two.step(step)) {
                (Some(below), Some(beside)) => (one, two) = (below, beside),
                (None, None) => return false,
                _ => return self.pointer(pointer).is_some() != other.pointer(pointer).is_some(),
            }
        }
        one != two
    }

    /// What stands at one step of a JSON pointer.
    fn step(&self, step: &str) -> Option<&Self> {
        match self {
            Self::Object(map) => map.get(step),
            Self::Array(list) => list.get(place::position(step)?),
            _ => None,
        }
    }

    /// What stands at a JSON pointer (RFC 6901), to be changed.
    pub fn pointer_mut(&mut self, pointer: &str) -> Option<&mut Self> {
        // What is not there must not make a copy of what is shared.
        self.pointer(pointer)?;
        place::steps(pointer)?.try_fold(self, |at, step| match at {
            Self::Object(map) => map.get_mut(&step),
            Self::Array(list) => list.get_mut(place::position(&step)?),
            _ => None,
        })
    }

    /// Takes the value out and leaves null.
    pub fn take(&mut self) -> Self {
        std::mem::take(self)
    }

    /// The map, where it is one.
    #[must_use]
    pub fn as_object(&self) -> Option<&Map> {
        if let Self::Object(map) = self { Some(map) } else { None }
    }

    /// The map, where it is one, to be changed.
    pub fn as_object_mut(&mut self) -> Option<&mut Map> {
        if let Self::Object(map) = self { Some(map) } else { None }
    }

    /// The items, where it is a list.
    #[must_use]
    pub fn as_array(&self) -> Option<&Vec<Self>> {
        if let Self::Array(list) = self { Some(list) } else { None }
    }

    /// The items, where it is a list, to be changed.
    pub fn as_array_mut(&mut self) -> Option<&mut Vec<Self>> {
        if let Self::Array(list) = self { Some(list) } else { None }
    }

    /// The text, where it is one.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        if let Self::String(text) = self { Some(text) } else { None }
    }

    /// True or false, where it is one of them.
    #[must_use]
    pub fn as_bool(&self) -> Option<bool> {
        if let Self::Bool(value) = self { Some(*value) } else { None }
    }

    /// The number, where it is one.
    #[must_use]
    pub fn as_number(&self) -> Option<&Number> {
        if let Self::Number(number) = self { Some(number) } else { None }
    }

    /// The number, where it is an integer of 64 bits.
    #[must_use]
    pub fn as_i64(&self) -> Option<i64> {
        self.as_number()?.as_i64()
    }

    /// The number, where it is an integer of 64 bits that is not negative.
    #[must_use]
    pub fn as_u64(&self) -> Option<u64> {
        self.as_number()?.as_u64()
    }

    /// The number as a float, where it is a number.
    #[must_use]
    pub fn as_f64(&self) -> Option<f64> {
        self.as_number()?.as_f64()
    }

    /// Whether it is null.
    #[must_use]
    pub fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    /// Whether it is true or false.
    #[must_use]
    pub fn is_boolean(&self) -> bool {
        matches!(self, Self::Bool(_))
    }

    /// Whether it is a number.
    #[must_use]
    pub fn is_number(&self) -> bool {
        matches!(self, Self::Number(_))
    }

    /// Whether it is an integer of 64 bits.
    #[must_use]
    pub fn is_i64(&self) -> bool {
        self.as_number().is_some_and(Number::is_i64)
    }

    /// Whether it is an integer of 64 bits that is not negative.
    #[must_use]
    pub fn is_u64(&self) -> bool {
        self.as_number().is_some_and(Number::is_u64)
    }

    /// Whether it is a number that is no integer.
    #[must_use]
    pub fn is_f64(&self) -> bool {
        self.as_number().is_some_and(Number::is_f64)
    }

    /// Whether it is a text.
    #[must_use]
    pub fn is_string(&self) -> bool {
        matches!(self, Self::String(_))
    }

    /// Whether it is a list.
    #[must_use]
    pub fn is_array(&self) -> bool {
        matches!(self, Self::Array(_))
    }

    /// Whether it is a map.
    #[must_use]
    pub fn is_object(&self) -> bool {
        matches!(self, Self::Object(_))
    }
}

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("Null"),
            Self::Bool(value) => write!(f, "Bool({value})"),
            Self::Number(number) => fmt::Debug::fmt(number, f),
            Self::String(text) => write!(f, "String({text:?})"),
            Self::Array(list) => {
                f.write_str("Array ")?;
                f.debug_list().entries(list.iter()).finish()
            }
            Self::Object(map) => {
                f.write_str("Object ")?;
                f.debug_map().entries(map.iter()).finish()
            }
        }
    }
}

#[cfg(test)]
mod tests;
