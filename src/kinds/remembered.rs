//! What an object that was read through an older API version says of the version in which it is stored: the API server's conversion
//! keeps it in an annotation.

use super::contract::CONVERSION_DATA;
use super::fields::{annotation, text};
use crate::tree::Value;

/// What an object that was read through an older version remembers of what it is in another one.
pub(crate) enum Remembered {
    /// Nothing of that version.
    Nothing,
    /// Something that cannot be read.
    Illegible,
    /// Its spec.
    Spec(Value),
}

/// Reads it from the annotation of conversions. It holds the order of lists, too, which an older form cannot (cluster-api
/// `util/conversion/conversion.go`, MarshalData). What no API server gave has no uid, and its annotation may be older than what stands beside it.
pub(crate) fn remembered(object: &Value, wanted: &str) -> Remembered {
    let data = object.pointer("/metadata/uid").and_then(|_| annotation(object, CONVERSION_DATA));
    let Some(data) = data else { return Remembered::Nothing };
    let Ok(mut stored) = serde_json::from_str::<Value>(data) else { return Remembered::Illegible };
    if text(&stored, "/apiVersion") != Some(wanted) {
        return Remembered::Nothing;
    }
    stored.get_mut("spec").map_or(Remembered::Illegible, |spec| Remembered::Spec(spec.take()))
}
