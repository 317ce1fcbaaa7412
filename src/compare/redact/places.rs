//! Places whose value is secret whatever it looks like: by kind, by the name of the field, by the name of the list item.

use serde_json::Value;

use super::shapes::is_secret_word;
use crate::kinds::contract::SECRET;
use crate::object::{Key, Route, Segment};

/// Ends of file names whose content is secret.
const SECRET_FILES: [&str; 15] = [
    ".key",
    "-key.pem",
    ".p12",
    ".pfx",
    ".jks",
    ".kubeconfig",
    "/admin.conf",
    "/cloud.conf",
    "/cloud-config",
    "/clouds.yaml",
    "/azure.json",
    "/credentials",
    "/shadow",
    ".dockerconfigjson",
    "/.netrc",
];

/// Whether what stands at a place of an object is secret. `item` is the identity of the list item that it is in.
pub(super) fn is_secret(key: &Key, place: &Route<'_>, item: Option<&str>) -> bool {
    if key.group.is_empty() && key.kind == SECRET {
        let path = place.to_path();
        let below_data =
            matches!(path.segments().first(), Some(Segment::Key(top)) if top == "data" || top == "stringData");
        return below_data && path.segments().len() > 1;
    }
    let Some(field) = place.last_key() else { return false };
    match (field, item) {
        ("value" | "content", Some(item))
            if item.split(" > ").any(|item| is_secret_word(item) || is_secret_file(item)) =>
        {
            true
        }
        // A reference to a Secret only names it.
        ("secret", _) => false,
        _ => is_secret_word(field),
    }
}

/// Whether a file of this name holds a secret.
fn is_secret_file(path: &str) -> bool {
    let path = path.to_ascii_lowercase();
    let name = path.rsplit('/').next().unwrap_or_default();
    let ssh_key = name.starts_with("id_") && !has_end(name, ".pub");
    path.starts_with('/') && (ssh_key || SECRET_FILES.iter().any(|end| path.ends_with(end)))
}

/// Whether a name has this end.
fn has_end(name: &str, end: &str) -> bool {
    name.ends_with(end)
}

/// The name by which a list item is known, where it has one: of a variable, an argument, a file.
pub(super) fn name_of(item: &Value) -> Option<&str> {
    let valued = item.get("value").is_some() || item.get("content").is_some();
    valued.then(|| ["name", "path", "key"].iter().find_map(|key| item.get(key).and_then(Value::as_str))).flatten()
}
