//! What is refused about Secrets and ConfigMaps: data that is no text or not base64, a type that changes, an immutable one.
//! Read beside `k8s.io/kubernetes` v1.36 `pkg/apis/core/validation/validation.go` (ValidateSecret, ValidateSecretUpdate,
//! ValidateConfigMapUpdate).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::{Reach, Refusal, word};
use crate::kinds::contract::{CONFIG_MAP, SECRET};
use crate::object::{Key, Object, Path};
use crate::tree::{Text, Value};

/// Bytes of the data of one object.
const SIZE: usize = 1024 * 1024;

/// Types of Secrets and the keys that their data must have.
const TYPES: [(&str, &[&str]); 4] = [
    ("kubernetes.io/tls", &["tls.crt", "tls.key"]),
    ("kubernetes.io/ssh-auth", &["ssh-privatekey"]),
    ("kubernetes.io/dockercfg", &[".dockercfg"]),
    ("kubernetes.io/dockerconfigjson", &[".dockerconfigjson"]),
];

/// What is refused about a Secret or a ConfigMap; `after` is the object as it would be stored.
#[must_use]
pub(crate) fn refusals(key: &Key, after: &Value, live: Option<&Value>) -> Vec<Refusal> {
    let mut out = Vec::new();
    let is_secret = key.kind == SECRET;
    if !key.group.is_empty() || !(is_secret || key.kind == CONFIG_MAP) {
        return out;
    }
    for field in ["data", "stringData", "binaryData"] {
        for (name, value) in map(after, field) {
            out.extend(entry(field, name, value, is_secret));
        }
    }
    out.extend(of_shape(after, is_secret));
    if out.is_empty() {
        out.extend(too_big(after));
        if is_secret {
            out.extend(of_type(after, live));
        }
    }
    out
}

/// Whether nothing is refused about an object as a Secret or a ConfigMap, by a look at its text; false where only the tree can tell.
#[must_use]
pub(crate) fn is_harmless(object: &Object) -> bool {
    let key = &object.key;
    if !key.group.is_empty() || !(key.kind == SECRET || key.kind == CONFIG_MAP) {
        return true;
    }
    // Texts that stand in a document without escapes are no longer than it.
    key.kind == CONFIG_MAP
        && object.text_length().is_some_and(|length| length <= SIZE)
        && object.holds_texts_alone("data", &["stringData", "binaryData", "immutable"], is_key)
}

/// A field, whether a value is of its type, and what that is called.
type Field = (&'static str, fn(&Value) -> bool, &'static str);

/// What the kind's type in Go does not take: data that is no map, a mark that is neither true nor false, a type that is no text.
fn of_shape(after: &Value, is_secret: bool) -> Vec<Refusal> {
    let is_map: fn(&Value) -> bool = Value::is_object;
    let own: &[Field] = match is_secret {
        true => &[("stringData", is_map, "a map"), ("type", Value::is_string, "a text")],
        false => &[("binaryData", is_map, "a map")],
    };
    let both: &[Field] = &[("data", is_map, "a map"), ("immutable", Value::is_boolean, "true or false")];
    let wrong = both.iter().chain(own).filter_map(|(field, is, wanted)| {
        let value = after.get(field).filter(|value| !value.is_null() && !is(value))?;
        Some(Refusal::at(&[field], format!("it must be {wanted} and is {}", word(value))))
    });
    wrong.collect()
}

/// Whether a map of data may have a key.
fn is_key(name: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    !name.is_empty() && name.len() <= 253 && name.bytes().all(is_letter) && !matches!(name, "." | "..")
}

/// The entries of a map of an object.
fn map<'v>(object: &'v Value, field: &str) -> impl Iterator<Item = (&'v Text, &'v Value)> {
    object.get(field).and_then(Value::as_object).into_iter().flatten()
}

/// What is refused about one entry. Its content is never told, nor is a key of a Secret, which may hold what belongs into it.
fn entry(field: &str, name: &str, value: &Value, is_secret: bool) -> Option<Refusal> {
    let place: &[&str] = if is_secret { &[field] } else { &[field, name] };
    let at = |because: String| Some(Refusal::at(place, because));
    let text = match value {
        Value::Null => return None,
        Value::String(text) => text,
        other => return at(format!("a value must be a text and is {}: put it in quotes", word(other))),
    };
    if !is_key(name) {
        return at("a key must be letters, digits, dashes, underscores and dots".to_owned());
    }
    let is_encoded = field == "binaryData" || (is_secret && field == "data");
    // Go's decoder passes over line breaks.
    let is_broken = || {
        let plain: String = text.chars().filter(|letter| !matches!(letter, '\n' | '\r')).collect();
        STANDARD.decode(plain).is_err()
    };
    let plain = if is_secret { "stringData" } else { "data" };
    (is_encoded && is_broken()).then(|| at(format!("a value is not base64; plain text belongs into {plain}"))).flatten()
}

/// Data that is larger than an object may be.
fn too_big(after: &Value) -> Option<Refusal> {
    let length = |field: &str, of: fn(usize) -> usize| -> usize {
        map(after, field).filter_map(|(_, value)| value.as_str()).map(|text| of(text.len())).sum()
    };
    let is_secret = after.get("kind").and_then(Value::as_str) == Some(SECRET);
    let decoded = |length: usize| length / 4 * 3;
    let data = if is_secret { length("data", decoded) } else { length("data", |length| length) };
    (data + length("stringData", |length| length) + length("binaryData", decoded) > SIZE)
        .then(|| Refusal::at(&["data"], format!("it is longer than {SIZE} bytes")))
}

/// What is refused about the type of a Secret.
fn of_type(after: &Value, live: Option<&Value>) -> Option<Refusal> {
    let of = |object: &Value| {
        let told = object.get("type").and_then(Value::as_str).filter(|text| !text.is_empty());
        told.unwrap_or("Opaque").to_owned()
    };
    let wanted = of(after);
    if let Some(have) = live.map(of).filter(|have| *have != wanted) {
        return Some(Refusal::at(&["type"], format!("it is {have} and cannot become {wanted}")));
    }
    let (_, keys) = TYPES.iter().find(|(name, _)| *name == wanted)?;
    let has = |key: &str| ["data", "stringData"].iter().any(|field| map(after, field).any(|(name, _)| name == key));
    let missing = keys.iter().find(|key| !has(key))?;
    Some(Refusal::at(&["data", missing], format!("a Secret of type {wanted} must have it")))
}

/// What cannot change of an immutable Secret or ConfigMap.
pub(crate) const FIXED: [&str; 4] = ["immutable", "data", "binaryData", "stringData"];

/// Whether an object says that its data never changes.
#[must_use]
pub(crate) fn is_immutable(object: &Value) -> bool {
    object.get("immutable") == Some(&Value::Bool(true))
}

/// What is refused because the live object is immutable; `changed` are the places that the write changes.
#[must_use]
pub(crate) fn of_immutable(live: &Value, changed: &[Path]) -> Option<Refusal> {
    if !is_immutable(live) {
        return None;
    }
    let is_fixed = |path: &&Path| FIXED.iter().any(|field| Path::root().key(*field).covers(path));
    let found = changed.iter().find(is_fixed)?;
    let path = Path::from(found.segments()[..1].to_vec());
    let because = "the object is immutable: its data and that it is immutable cannot change".to_owned();
    Some(Refusal { path, because, reach: Reach::Object })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::json;

    fn found(after: &Value, live: Option<&Value>) -> Vec<String> {
        let kind = after["kind"].as_str().unwrap_or_default().to_owned();
        let key = Key::of("", kind, None, "x");
        refusals(&key, after, live).iter().map(|refusal| refusal.path.to_string()).collect()
    }

    #[test]
    fn data_is_base64_and_text() {
        let secret = |data: Value| json!({"kind": "Secret", "data": data});
        assert!(found(&secret(json!({"a": "aGk=", "b": "aG\nk=", "c": null})), None).is_empty());
        assert_eq!(found(&secret(json!({"a": "hi there"})), None), ["data"]);
        assert_eq!(found(&secret(json!({"a": 1, "b c": "aGk="})), None), ["data", "data"]);
        assert!(found(&json!({"kind": "ConfigMap", "data": {"a": "hi there"}}), None).is_empty());
        assert_eq!(found(&json!({"kind": "ConfigMap", "data": {"a": true}}), None), ["data.a"]);
    }

    #[test]
    fn what_no_type_of_go_takes_is_refused() {
        for (field, value) in [("data", json!(["a"])), ("data", json!("a")), ("immutable", json!("yes"))] {
            assert_eq!(found(&json!({"kind": "ConfigMap", (field): value}), None), [field]);
        }
        assert_eq!(found(&json!({"kind": "Secret", "type": 5}), None), ["type"]);
        let plain = json!({"kind": "Secret", "type": "Opaque", "immutable": true, "data": null});
        assert!(found(&plain, None).is_empty());
        assert!(found(&json!({"kind": "ConfigMap", "type": 5}), None).is_empty(), "a field that it does not have");
    }

    #[test]
    fn a_type_stays_and_has_its_keys() {
        let live = json!({"kind": "Secret", "type": "Opaque"});
        assert_eq!(found(&json!({"kind": "Secret", "type": "kubernetes.io/tls"}), Some(&live)), ["type"]);
        assert!(found(&json!({"kind": "Secret"}), Some(&live)).is_empty());
        let tls = json!({"kind": "Secret", "type": "kubernetes.io/tls", "stringData": {"tls.crt": "a"}});
        assert_eq!(found(&tls, None), ["data[\"tls.key\"]"]);
    }

    #[test]
    fn what_is_immutable_stays() {
        let live = json!({"kind": "ConfigMap", "immutable": true, "data": {"a": "1"}});
        let path = |text: &str| Path::parse(text).expect("a path");
        assert!(of_immutable(&live, &[path("metadata.labels.a")]).is_none());
        let found = of_immutable(&live, &[path("metadata.labels.a"), path("data.a")]).expect("a refusal");
        assert_eq!(found.path, path("data"));
        assert!(of_immutable(&live, &[path("immutable")]).is_some());
        assert!(of_immutable(&json!({"kind": "ConfigMap"}), &[path("data.a")]).is_none());
    }
}
