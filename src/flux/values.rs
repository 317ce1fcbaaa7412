//! The values of a HelmRelease as helm-controller composes them: each reference in its order, a value at a path on what is inline,
//! and what is inline last.

use std::collections::BTreeMap;

use super::strvals::{self, Refusal, Taken};
use super::tree::{self, Shared};
use crate::kinds::contract::{CONFIG_MAP, SECRET};
use crate::kinds::fields::{list, text};
use crate::tree::{Map, Value};
use crate::yaml;

/// One entry of `spec.valuesFrom`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reference {
    /// `ConfigMap` or `Secret`.
    pub kind: String,
    /// Its name, in the namespace of the HelmRelease.
    pub name: String,
    /// The key of its data.
    pub key: String,
    /// Where the value is put; at the root where nothing is said.
    pub path: Option<String>,
    /// Whether it may be absent.
    pub optional: bool,
    /// Whether the value is taken as it is.
    pub literal: bool,
}

/// What a source of values holds: its data, decoded. `None` is an object that is proven absent.
pub(crate) type Data = BTreeMap<String, Vec<u8>>;

/// Why there are no values. It names the object and the key, and never what stands there.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ValuesFault {
    /// The object is not there, so helm-controller waits.
    #[error("{0} is not there, so Flux does not install or upgrade")]
    Missing(String),
    /// The object lacks the key, so helm-controller waits.
    #[error("{0} has no key {1}, so Flux does not install or upgrade")]
    Key(String, String),
    /// What stands there is no map of values.
    #[error("key {1} of {0} holds no map of values")]
    Data(String, String),
    /// The value cannot be put at its path.
    #[error("key {1} of {0} cannot be put at {2}: {3}")]
    Path(String, String, String, Refusal),
    /// The object could not be read.
    #[error("{0} {1}")]
    Unread(String, String),
    /// The API server takes no such reference.
    #[error("valuesFrom: {0}")]
    Refused(String),
}

/// Values, ready for Helm.
#[derive(Debug, Clone)]
pub(crate) struct Values(Shared);

impl Values {
    /// As a values file.
    #[must_use]
    pub(crate) fn to_map(&self) -> Map {
        tree::to_map(&self.0)
    }

    /// What has to be set beside that file, as `--set` takes it, so that templates see the type that they see in Flux.
    #[must_use]
    pub(crate) fn integers(&self) -> Vec<String> {
        tree::integers(&self.0)
    }

    #[cfg(test)]
    pub(super) const fn shared(&self) -> &Shared {
        &self.0
    }
}

/// The references of a HelmRelease, refused where the API server refuses them (helm-controller
/// `config/crd/bases/helm.toolkit.fluxcd.io_helmreleases.yaml`, v1.6).
///
/// # Errors
/// The first that is refused.
pub(crate) fn references(release: &Value) -> Result<Vec<Reference>, ValuesFault> {
    list(release, "/spec/valuesFrom").map(reference).collect()
}

fn reference(value: &Value) -> Result<Reference, ValuesFault> {
    let refused = |why: String| Err(ValuesFault::Refused(why));
    let word = |field: &str| match value.get(field) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.to_string())),
        Some(_) => Err(ValuesFault::Refused(format!("{field} is no text"))),
    };
    let flag = |field: &str| match value.get(field) {
        None | Some(Value::Null) => Ok(false),
        Some(Value::Bool(is)) => Ok(*is),
        Some(_) => Err(ValuesFault::Refused(format!("{field} is neither true nor false"))),
    };
    let (kind, name) = (word("kind")?.unwrap_or_default(), word("name")?.unwrap_or_default());
    if !matches!(kind.as_str(), CONFIG_MAP | SECRET) {
        return refused("kind must be ConfigMap or Secret".to_owned());
    }
    if name.is_empty() || name.len() > 253 {
        return refused("name must have 1 to 253 characters".to_owned());
    }
    let key = word("valuesKey")?.filter(|key| !key.is_empty()).unwrap_or_else(|| "values.yaml".to_owned());
    if key.len() > 253 || !key.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._".contains(&byte)) {
        return refused(format!("valuesKey of {kind} {name} must be of letters, digits, dots, - and _"));
    }
    let path = word("targetPath")?.filter(|path| !path.is_empty());
    if let Some(path) = path.as_deref().filter(|path| !is_path(path)) {
        return refused(format!("targetPath {path:?} of {kind} {name} is none that the API server takes"));
    }
    Ok(Reference { kind, name, key, path, optional: flag("optional")?, literal: flag("literal")? })
}

/// Whether the API server takes a path: up to 250 letters, digits, `_-.\/`, and indices of one to five digits.
fn is_path(path: &str) -> bool {
    let mut rest = path;
    while let Some(first) = rest.chars().next() {
        if first == '[' {
            let Some((index, behind)) = rest.get(1..).and_then(|rest| rest.split_once(']')) else { return false };
            if !(1..=5).contains(&index.len()) || !index.bytes().all(|byte| byte.is_ascii_digit()) {
                return false;
            }
            rest = behind;
        } else if first.is_ascii_alphanumeric() || r"_-.\/".contains(first) {
            rest = rest.get(1..).unwrap_or_default();
        } else {
            return false;
        }
    }
    path.len() <= 250
}

/// Whether the inline values are none that Flux sees: what is no map is dropped without a word (`HelmRelease.GetValues`).
#[must_use]
pub(crate) fn are_dropped(release: &Value) -> bool {
    release.pointer("/spec/values").is_some_and(|values| !values.is_object() && !values.is_null())
}

/// Composes the values (fluxcd/pkg `chartutil/values.go`, `ChartValuesFromReferences`, v1.27).
///
/// # Errors
/// Where helm-controller composes none, or a source could not be read.
pub(crate) fn compose(
    release: &Value,
    references: &[Reference],
    mut look: impl FnMut(&Reference) -> Result<Option<Data>, String>,
) -> Result<Values, ValuesFault> {
    let inline = release.pointer("/spec/values").and_then(Value::as_object);
    let inline = inline.map_or_else(tree::map, tree::of_map);
    let mut result = tree::map();
    for one in references {
        let object = format!("{} {}", one.kind, one.name);
        let Some(data) = look(one).map_err(|why| ValuesFault::Unread(object.clone(), why))? else {
            if one.optional {
                continue;
            }
            return Err(ValuesFault::Missing(object));
        };
        let Some(bytes) = data.get(&one.key) else {
            // Older controllers stop here even where it is optional; then nothing is written.
            if one.optional {
                continue;
            }
            return Err(ValuesFault::Key(object, one.key.clone()));
        };
        let not_values = || ValuesFault::Data(object.clone(), one.key.clone());
        match &one.path {
            Some(path) => {
                let value = std::str::from_utf8(bytes).map_err(|_| not_values())?;
                result = tree::merged(&result, &inline);
                // What is set beside the file stands in the list of processes, where no Secret may.
                let taken = if one.kind == SECRET { Taken::Read } else { Taken::Typed };
                put(&result, path, value, if one.literal { None } else { Some(taken) })
                    .map_err(|why| ValuesFault::Path(object.clone(), one.key.clone(), path.clone(), why))?;
            }
            None => {
                let read = yaml::read_first(bytes, 0, 1).and_then(|tree| tree.to_json()).map_err(|_| not_values())?;
                let read = match &read {
                    Value::Object(map) => tree::of_map(map),
                    Value::Null => tree::map(),
                    _ => return Err(not_values()),
                };
                result = tree::merged(&result, &read);
            }
        }
    }
    Ok(Values(tree::merged(&result, &inline)))
}

/// Puts one value at its path (`ReplacePathValue`; where it is not taken for anything `ReplacePathLiteralValue`).
fn put(into: &Shared, path: &str, value: &str, taken: Option<Taken>) -> Result<(), Refusal> {
    let Some(taken) = taken else {
        let mut line = format!("{path}=");
        for c in value.chars() {
            if matches!(c, '\\' | ',' | '[' | ']' | '{' | '}') {
                line.push('\\');
            }
            line.push(c);
        }
        return strvals::parse_into(&line, into, Taken::Text);
    };
    let is_quoted = ['\'', '"'].iter().any(|quote| value.starts_with(*quote) && value.ends_with(*quote));
    let bare = if is_quoted { value.trim_matches(['\'', '"']) } else { value };
    strvals::parse_into(&format!("{path}={bare}"), into, if is_quoted { Taken::Text } else { taken })
}

/// The data of a ConfigMap or Secret as the API server keeps it: `stringData` goes over `data`. `binaryData` is none.
///
/// # Errors
/// Where it is none that the API server takes, or it is encrypted.
pub(crate) fn data(object: &Value) -> Result<Data, String> {
    use base64::Engine as _;
    if object.get("sops").is_some() {
        return Err("is encrypted".to_owned());
    }
    let is_secret = text(object, "/kind") == Some(SECRET);
    let mut out = Data::new();
    for (field, is_encoded) in [("data", is_secret), ("stringData", false)] {
        if field == "stringData" && !is_secret {
            continue;
        }
        for (key, value) in object.get(field).and_then(Value::as_object).into_iter().flatten() {
            let bytes = match value {
                Value::String(text) if is_encoded => base64::prelude::BASE64_STANDARD
                    .decode(text.trim())
                    .map_err(|_| format!("has no base64 under {field}.{key}"))?,
                Value::String(text) => text.as_bytes().to_vec(),
                Value::Null => Vec::new(),
                _ => return Err(format!("has no text under {field}.{key}")),
            };
            out.insert(key.to_string(), bytes);
        }
    }
    Ok(out)
}
