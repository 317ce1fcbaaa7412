//! Text of a stream as objects: documents keep their bytes, lists are taken apart.

use std::sync::Arc;

use serde_json::Value;

use crate::object::{Inventory, LoadError, Object};
use crate::yaml;

/// The objects of a stream. Empty documents are skipped, `kind: List` is expanded.
///
/// # Errors
/// When a document is not what Kubernetes reads, or not an object.
pub fn objects(bytes: &Arc<[u8]>) -> Result<Inventory, LoadError> {
    let span = yaml::Span { start: 0, end: bytes.len() };
    let mut inventory = Inventory::default();
    add(&mut inventory, yaml::read_json(bytes, span)?, 1)?;
    Ok(inventory)
}

/// Adds one document: nothing, an object, or the items of a list.
pub(super) fn add(inventory: &mut Inventory, value: Value, line: usize) -> Result<(), LoadError> {
    match value {
        Value::Null => Ok(()),
        Value::Object(mut map) if is_list(&map) => match map.shift_remove("items") {
            Some(Value::Array(items)) => items.into_iter().try_for_each(|item| add(inventory, item, line)),
            _ => Ok(()),
        },
        other => {
            inventory.push(Object::from_value(other, line)?);
            Ok(())
        }
    }
}

/// Whether a tree is a list of objects: `List`, or `XList` with items (apimachinery `unstructured.IsList`).
fn is_list(map: &serde_json::Map<String, Value>) -> bool {
    let kind = map.get("kind").and_then(Value::as_str).unwrap_or_default();
    kind.ends_with("List") && map.get("items").is_some_and(Value::is_array)
}
