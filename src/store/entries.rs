//! A list of entries, each with a name: how it stands in a file (`apiVersion`, `kind`, `entries`) and in an object (a key for each).

use std::collections::BTreeMap;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::tree::{Value, json};
use crate::yaml;

const API_VERSION: &str = "rollgate.dev/v1alpha1";

/// Reads the entries of a file of this kind.
///
/// # Errors
/// What is wrong with it, without what stands there.
pub(crate) fn parse<E: DeserializeOwned>(kind: &str, bytes: &[u8]) -> Result<Vec<E>, String> {
    let mut value =
        yaml::read_strict(bytes).map_err(|error| format!("{}:{}: {}", error.line, error.column, error.message))?;
    if value.is_null() {
        return Ok(Vec::new());
    }
    let says = |field: &str, wanted: &str| value.get(field).and_then(Value::as_str) == Some(wanted);
    if !says("apiVersion", API_VERSION) || !says("kind", kind) {
        return Err(format!("expected apiVersion {API_VERSION} and kind {kind}"));
    }
    match value.get_mut("entries").map(Value::take) {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Array(entries)) => entries.into_iter().map(entry).collect(),
        Some(_) => Err("entries: expected a list".to_owned()),
    }
}

/// The text of such a file. `head` is a comment.
pub(crate) fn render(head: &str, kind: &str, entries: &[impl Serialize]) -> String {
    let lines: String = entries.iter().map(|one| format!("  - {}\n", json!(one))).collect();
    format!("# {head}\napiVersion: {API_VERSION}\nkind: {kind}\nentries:\n{lines}")
}

/// Reads the entries of an object.
///
/// # Errors
/// The key whose entry is none, and why.
pub(crate) fn of_data<E: DeserializeOwned>(
    data: &BTreeMap<String, String>,
    id: impl Fn(&E) -> &str,
) -> Result<Vec<E>, (String, String)> {
    let read = data.iter().map(|(key, text)| {
        let read: Result<E, String> = yaml::read_strict(text.as_bytes()).map_err(|error| error.message).and_then(entry);
        let read = read.and_then(|one| match id(&one) {
            own if own == key => Ok(one),
            own => Err(format!("it is the entry {own}")),
        });
        read.map_err(|why| (key.clone(), why))
    });
    read.collect()
}

/// Entries as the data of an object, each under its id.
pub(crate) fn data<E: Serialize>(entries: &[E], id: impl Fn(&E) -> &str) -> BTreeMap<String, String> {
    entries.iter().map(|one| (id(one).to_owned(), json!(one).to_string())).collect()
}

fn entry<E: DeserializeOwned>(value: Value) -> Result<E, String> {
    serde_path_to_error::deserialize(serde_json::Value::from(value)).map_err(|error| {
        let (path, why) = (error.path().to_string(), yaml::plain(&error.inner().to_string()));
        if path == "." { why } else { format!("{path}: {why}") }
    })
}
