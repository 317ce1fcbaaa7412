//! What the API server says of every object alike, whatever its kind.

use crate::tree::Value;

/// Whether an object is being deleted.
#[must_use]
pub(crate) fn is_deleting(object: &Value) -> bool {
    object.pointer("/metadata/deletionTimestamp").is_some_and(|stamp| !stamp.is_null())
}
