//! Lists and single objects: whole or not at all. A page that is missing, a list that changed under way, an item that is
//! not an object: each is a fault, because half a list would make the other half look absent.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::call::{CallFault, Caller};
use super::prune::prune;
use crate::cluster::plan::Keep;
use crate::object::Object;
use crate::tree::{Pool, Value};

/// Objects on one page.
const PAGE: usize = 500;
/// A list is begun anew so often when it expires under way.
const RESTARTS: usize = 3;
/// What the API server is asked to answer with.
pub(super) const JSON: &str = "application/json";

/// A whole list.
#[derive(Debug)]
pub(super) struct Listed {
    /// Its objects.
    pub(super) objects: Vec<Object>,
    /// The state of the cluster that it shows.
    pub(super) resource_version: String,
}

/// One page as it stands in the answer.
#[derive(Deserialize)]
struct Page<'p> {
    kind: String,
    #[serde(rename = "apiVersion")]
    api_version: String,
    metadata: PageMeta,
    /// Must be there; `null` is how the API server writes an empty list of partial objects.
    #[serde(borrow, deserialize_with = "Option::deserialize")]
    items: Option<Vec<&'p RawValue>>,
}

/// What a page says about itself.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PageMeta {
    #[serde(default)]
    resource_version: String,
    #[serde(default, rename = "continue")]
    token: String,
    #[serde(default)]
    remaining_item_count: i64,
}

/// Reads all pages of the list at `path`.
pub(super) async fn list(
    caller: &Caller,
    path: &str,
    selector: Option<&str>,
    accept: &str,
    keep: Keep,
) -> Result<Listed, CallFault> {
    let mut fault = CallFault::Gone;
    for _ in 0..RESTARTS {
        match pages_of(caller, path, selector, accept, keep, PAGE).await {
            Err(CallFault::Gone) => fault = CallFault::Gone,
            other => return other,
        }
    }
    // One request without pages cannot expire between two of them.
    match pages_of(caller, path, selector, accept, keep, 0).await {
        Err(CallFault::Gone) => Err(fault),
        other => other,
    }
}

/// One pass over pages of `size` objects; 0 asks for all at once.
async fn pages_of(
    caller: &Caller,
    path: &str,
    selector: Option<&str>,
    accept: &str,
    keep: Keep,
    size: usize,
) -> Result<Listed, CallFault> {
    let mut listed = Listed { objects: Vec::new(), resource_version: String::new() };
    let mut token = String::new();
    let mut pool = Pool::default();
    loop {
        let and = if path.contains('?') { '&' } else { '?' };
        let mut query = format!("{path}{and}limit={size}");
        for (name, value) in [("labelSelector", selector.unwrap_or_default()), ("continue", &token)] {
            if !value.is_empty() {
                query.push('&');
                query.push_str(name);
                query.push('=');
                query.push_str(&escaped(value));
            }
        }
        let (meta, objects) = caller.get(&query, accept, |body| page(body, keep, &mut pool)).await?;
        if !listed.resource_version.is_empty() && listed.resource_version != meta.resource_version {
            return Err(CallFault::Gone);
        }
        listed.resource_version = meta.resource_version;
        listed.objects.extend(objects);
        if meta.token.is_empty() {
            return match meta.remaining_item_count {
                0 => Ok(listed),
                left => Err(CallFault::Other(format!("the list ends though {left} objects are left"))),
            };
        }
        token = meta.token;
    }
}

/// Reads one page, an item after the other, as most of what the server sends is not kept; what is wrong with it is said without quoting it.
fn page(body: &[u8], keep: Keep, pool: &mut Pool) -> Result<(PageMeta, Vec<Object>), String> {
    let page: Page<'_> = serde_json::from_slice(body).map_err(|error| broken(&error))?;
    let Some(kind) = page.kind.strip_suffix("List") else {
        return Err(format!("the answer is a {}, not a list", super::call::one_line(&page.kind)));
    };
    let items = page.items.unwrap_or_default();
    let mut objects = Vec::with_capacity(items.len());
    for item in items {
        let mut item =
            kept(serde_json::from_str(item.get()).map_err(|error| broken(&error))?, kind, &page.api_version, keep);
        pool.share(&mut item);
        objects.push(read(item)?);
    }
    Ok((page.metadata, objects))
}

/// An item of a list as an object; items of built-in kinds do not say what they are.
pub(super) fn object(item: Value, kind: &str, api_version: &str, keep: Keep) -> Result<Object, String> {
    read(kept(item, kind, api_version, keep))
}

fn read(item: Value) -> Result<Object, String> {
    Object::from_value(item, 0).map_err(|_| "an item of the list has no kind or name".to_owned())
}

/// What is kept of an item.
fn kept(mut item: Value, kind: &str, api_version: &str, keep: Keep) -> Value {
    if let Some(map) = item.as_object_mut() {
        for (key, value) in [("apiVersion", api_version), ("kind", kind)] {
            if !map.contains_key(key) {
                map.insert(key, Value::from(value));
            }
        }
    }
    prune(&mut item, keep);
    item
}

/// Reads one object by its path.
pub(super) async fn get(caller: &Caller, path: &str, keep: Keep) -> Result<Value, CallFault> {
    caller
        .get(path, JSON, |body| {
            let mut value: Value = serde_json::from_slice(body).map_err(|error| broken(&error))?;
            if value.pointer("/metadata/name").is_none() || value.get("kind").is_none() {
                return Err("the answer is not an object".to_owned());
            }
            prune(&mut value, keep);
            Ok(value)
        })
        .await
}

/// Asks for metadata alone.
const METADATA: &str = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
/// Asks for the metadata of a list's items alone.
const METADATA_LIST: &str = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";

/// The metadata of one object.
pub(super) async fn metadata_of(caller: &Caller, path: &str) -> Result<Value, CallFault> {
    let decode = |body: &[u8]| {
        let value: Value = serde_json::from_slice(body).map_err(|error| broken(&error))?;
        match value.get("metadata") {
            Some(metadata) if metadata.get("name").is_some() => {
                Ok(crate::tree::json!({ "metadata": metadata.clone() }))
            }
            _ => Err("the answer is not an object".to_owned()),
        }
    };
    caller.get(path, METADATA, decode).await
}

/// The metadata of the objects of a list.
pub(super) async fn metadata(caller: &Caller, path: &str) -> Result<Vec<Object>, CallFault> {
    Ok(list(caller, path, None, METADATA_LIST, Keep::default()).await?.objects)
}

/// Names and labels of the objects of a list, and nothing else.
pub(super) async fn labels(
    caller: &Caller,
    path: &str,
    selector: &str,
) -> Result<Vec<(String, BTreeMap<String, String>)>, CallFault> {
    let listed = list(caller, path, Some(selector), METADATA_LIST, Keep::default()).await?;
    let label = |object: &Object| {
        let value = object.value().ok()?;
        let labels = value.pointer("/metadata/labels").cloned().unwrap_or_default();
        Some((object.key.name.clone(), crate::tree::from_value(labels).unwrap_or_default()))
    };
    Ok(listed.objects.iter().filter_map(label).collect())
}

/// A JSON error by its place, never by its text.
pub(super) fn broken(error: &serde_json::Error) -> String {
    let what = if error.is_eof() { "ends too early" } else { "cannot be read" };
    format!("the answer {what} (line {}, column {})", error.line(), error.column())
}

/// A query value with everything but letters, digits and a few marks escaped.
pub(super) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
            out.push(char::from(byte));
        } else {
            out.push('%');
            for half in [byte >> 4, byte & 15] {
                out.push(char::from_digit(u32::from(half), 16).unwrap_or('0').to_ascii_uppercase());
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(body: &str) -> Result<usize, String> {
        page(body.as_bytes(), Keep::default(), &mut Pool::default()).map(|(_, objects)| objects.len())
    }

    #[test]
    fn an_empty_list_is_said_and_never_guessed() {
        let head =
            r#"{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"1"}"#;
        assert_eq!(read(&format!("{head},\"items\":null}}")), Ok(0));
        assert_eq!(read(&format!("{head},\"items\":[]}}")), Ok(0));
        assert!(read(&format!("{head}}}")).is_err());
        assert!(read(&format!("{head},\"items\":[{{}}]}}")).is_err());
    }

    #[test]
    fn what_is_no_list_is_refused_and_not_quoted() {
        for body in [
            r#"{"kind":"Status"}"#,
            r#"{"kind":"Secret","apiVersion":"v1","metadata":{},"items":["s3cr3t"]}"#,
            "s3cr3t",
        ] {
            let error = read(body).expect_err("refused");
            assert!(!error.contains("s3cr3t"), "{error}");
        }
    }

    #[test]
    fn items_of_built_in_kinds_are_told_what_they_are() {
        let body = r#"{"kind":"SecretList","apiVersion":"v1","metadata":{},"items":[{"metadata":{"name":"a"}}]}"#;
        let (_, objects) = page(body.as_bytes(), Keep::default(), &mut Pool::default()).expect("a page");
        assert_eq!((objects[0].key.kind.as_str(), objects[0].api_version.as_str()), ("Secret", "v1"));
    }
}
