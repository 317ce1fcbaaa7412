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
/// `util/conversion/conversion.go`, MarshalData).
pub(crate) fn remembered(object: &Value, wanted: &str) -> Remembered {
    let Some(data) = annotation(object, CONVERSION_DATA) else { return Remembered::Nothing };
    let Ok(mut stored) = serde_json::from_str::<Value>(data) else { return Remembered::Illegible };
    if text(&stored, "/apiVersion") != Some(wanted) {
        return Remembered::Nothing;
    }
    stored.get_mut("spec").map_or(Remembered::Illegible, |spec| Remembered::Spec(spec.take()))
}
