//! Where a value stands: a key, a position, a step of a JSON pointer.

use std::borrow::Cow;
use std::ops::{Index, IndexMut};

use super::{Map, Text, Value};

static NULL: Value = Value::Null;

/// A key of a map, or a position in a list.
pub trait Place {
    /// What stands there.
    fn of<'v>(&self, value: &'v Value) -> Option<&'v Value>;
    /// What stands there, to be changed.
    fn of_mut<'v>(&self, value: &'v mut Value) -> Option<&'v mut Value>;
    /// What stands there, or null that is put there; nothing where nothing can be put there.
    fn of_or_null<'v>(&self, value: &'v mut Value) -> Option<&'v mut Value>;
}

impl Place for str {
    fn of<'v>(&self, value: &'v Value) -> Option<&'v Value> {
        value.as_object()?.get(self)
    }

    fn of_mut<'v>(&self, value: &'v mut Value) -> Option<&'v mut Value> {
        value.as_object_mut()?.get_mut(self)
    }

    fn of_or_null<'v>(&self, value: &'v mut Value) -> Option<&'v mut Value> {
        if value.is_null() {
            *value = Value::Object(Map::new());
        }
        Some(value.as_object_mut()?.entry(self).or_insert(Value::Null))
    }
}

impl Place for usize {
    fn of<'v>(&self, value: &'v Value) -> Option<&'v Value> {
        value.as_array()?.get(*self)
    }

    fn of_mut<'v>(&self, value: &'v mut Value) -> Option<&'v mut Value> {
        value.as_array_mut()?.get_mut(*self)
    }

    fn of_or_null<'v>(&self, value: &'v mut Value) -> Option<&'v mut Value> {
        self.of_mut(value)
    }
}

macro_rules! as_texts {
    ($($kind:ty),*) => {$(
        impl Place for $kind {
            fn of<'v>(&self, value: &'v Value) -> Option<&'v Value> {
                self.as_str().of(value)
            }

            fn of_mut<'v>(&self, value: &'v mut Value) -> Option<&'v mut Value> {
                self.as_str().of_mut(value)
            }

            fn of_or_null<'v>(&self, value: &'v mut Value) -> Option<&'v mut Value> {
                self.as_str().of_or_null(value)
            }
        }
    )*};
}

as_texts!(String, Text);

impl<P: Place + ?Sized> Place for &P {
    fn of<'v>(&self, value: &'v Value) -> Option<&'v Value> {
        (**self).of(value)
    }

    fn of_mut<'v>(&self, value: &'v mut Value) -> Option<&'v mut Value> {
        (**self).of_mut(value)
    }

    fn of_or_null<'v>(&self, value: &'v mut Value) -> Option<&'v mut Value> {
        (**self).of_or_null(value)
    }
}

impl<P: Place> Index<P> for Value {
    type Output = Self;

    /// What stands there, or null.
    fn index(&self, place: P) -> &Self {
        or_null(place.of(self))
    }
}

impl<P: Place> IndexMut<P> for Value {
    /// What stands there; a key that is missing is put there with null, a null becomes a map.
    ///
    /// # Panics
    /// Where nothing can be put there: a key of a text, a position behind the end.
    fn index_mut(&mut self, place: P) -> &mut Self {
        place.of_or_null(self).expect("a place in a map or a list")
    }
}

/// A value, or null.
pub(super) fn or_null(value: Option<&Value>) -> &Value {
    value.unwrap_or(&NULL)
}

/// The steps of a JSON pointer (RFC 6901); nothing where it is none.
pub(super) fn steps(pointer: &str) -> Option<impl Iterator<Item = Cow<'_, str>>> {
    if !pointer.is_empty() && !pointer.starts_with('/') {
        return None;
    }
    let plain = |step| match memchr::memchr(b'~', str::as_bytes(step)) {
        None => Cow::Borrowed(step),
        Some(_) => Cow::Owned(step.replace("~1", "/").replace("~0", "~")),
    };
    Some(pointer.split('/').skip(1).map(plain))
}

/// A position in a list, as a pointer writes it: digits without a zero before them.
pub(super) fn position(step: &str) -> Option<usize> {
    if step.starts_with('+') || (step.starts_with('0') && step.len() != 1) { None } else { step.parse().ok() }
}
