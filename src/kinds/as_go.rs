//! What Go writes of a provider's types beside what a person wrote: a name that says nothing, a block with nothing in it. The
//! mutating webhook of the kind hands the object back as Go has it, and only then the schema is asked.

use crate::tree::{Map, Value};

/// Whether nothing is said: Go leaves out empty texts and lists.
pub(crate) fn is_blank(value: Option<&Value>) -> bool {
    match value {
        None | Some(Value::Null) => true,
        Some(Value::String(text)) => text.is_empty(),
        Some(Value::Array(list)) => list.is_empty(),
        Some(_) => false,
    }
}

/// Gives a field its value where nothing is said.
pub(crate) fn give(map: &mut Map, key: &str, value: impl FnOnce() -> Value) {
    if is_blank(map.get(key)) {
        map.insert(key.to_owned(), value());
    }
}

/// Gives a field the value that Go writes where there is none, such as an empty text.
pub(crate) fn blank(map: &mut Map, key: &str, value: Value) {
    if map.get(key).is_none_or(Value::is_null) {
        map.insert(key.to_owned(), value);
    }
}

/// The maps in a list.
pub(crate) fn list_of<'m>(map: &'m mut Map, key: &str) -> impl Iterator<Item = &'m mut Map> + use<'m> {
    map.get_mut(key).and_then(Value::as_array_mut).into_iter().flatten().filter_map(Value::as_object_mut)
}
