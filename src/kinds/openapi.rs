//! Values under the schemas that a class gives its variables.
//! Read beside `pkg/apiserver/validation` of `k8s.io/apiextensions-apiserver` v0.33. Rules in CEL are not computed.

use regex::Regex;

use super::fields::{list, text};
use crate::tree::Value;

/// What is wrong with a value under a schema of OpenAPI v3, with the place below it.
#[must_use]
pub(crate) fn fault(value: &Value, schema: &Value) -> Option<String> {
    let wanted = text(schema, "/type")?;
    if value.is_null() && schema.get("nullable") == Some(&Value::Bool(true)) {
        return None;
    }
    if let Some(all) = schema.get("enum").and_then(Value::as_array)
        && !all.contains(value)
    {
        return Some(" is none of the values that it may have".to_owned());
    }
    let is_type = match wanted {
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|number| number.fract() == 0.0),
        "number" => value.is_number(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => return None,
    };
    if !is_type {
        return Some(format!(" must be of the type {wanted}"));
    }
    match value {
        Value::String(text) => of_text(text, schema),
        Value::Number(number) => of_number(number.as_f64()?, schema),
        Value::Array(items) => of_list(items, schema),
        Value::Object(map) => of_map(map, schema),
        _ => None,
    }
}

/// A limit of a schema.
fn limit(schema: &Value, key: &str) -> Option<u64> {
    schema.get(key).and_then(Value::as_u64)
}

fn of_text(value: &str, schema: &Value) -> Option<String> {
    let length = value.chars().count() as u64;
    if limit(schema, "minLength").is_some_and(|least| length < least) {
        return Some(" is too short".to_owned());
    }
    if limit(schema, "maxLength").is_some_and(|most| length > most) {
        return Some(" is too long".to_owned());
    }
    let pattern = text(schema, "/pattern").and_then(|pattern| Regex::new(pattern).ok())?;
    (!pattern.is_match(value)).then(|| format!(" does not match the pattern {}", pattern.as_str()))
}

fn of_number(value: f64, schema: &Value) -> Option<String> {
    let bound = |key: &str| schema.get(key).and_then(Value::as_f64);
    let excludes = |key: &str| schema.get(key) == Some(&Value::Bool(true));
    let is_low =
        bound("minimum").is_some_and(|least| value < least || (value <= least && excludes("exclusiveMinimum")));
    let is_high = bound("maximum").is_some_and(|most| value > most || (value >= most && excludes("exclusiveMaximum")));
    if is_low { Some(" is too small".to_owned()) } else { is_high.then(|| " is too large".to_owned()) }
}

fn of_list(items: &[Value], schema: &Value) -> Option<String> {
    let length = items.len() as u64;
    if limit(schema, "minItems").is_some_and(|least| length < least) {
        return Some(" has too few items".to_owned());
    }
    if limit(schema, "maxItems").is_some_and(|most| length > most) {
        return Some(" has too many items".to_owned());
    }
    let of_item = schema.get("items")?;
    items.iter().enumerate().find_map(|(place, item)| Some(format!("[{place}]{}", fault(item, of_item)?)))
}

fn of_map(map: &crate::tree::Map, schema: &Value) -> Option<String> {
    for name in list(schema, "/required").filter_map(Value::as_str) {
        if !map.contains_key(name) {
            return Some(format!(".{name} is missing"));
        }
    }
    let count = map.len() as u64;
    if limit(schema, "minProperties").is_some_and(|least| count < least)
        || limit(schema, "maxProperties").is_some_and(|most| count > most)
    {
        return Some(" has too few or too many fields".to_owned());
    }
    let keeps = schema.get("x-kubernetes-preserve-unknown-fields") == Some(&Value::Bool(true));
    let others = schema.get("additionalProperties");
    map.iter().find_map(|(name, value)| {
        let own = schema.get("properties").and_then(|properties| properties.get(name));
        match own.or_else(|| others.filter(|others| others.is_object())) {
            Some(schema) => Some(format!(".{name}{}", fault(value, schema)?)),
            None if keeps || others == Some(&Value::Bool(true)) => None,
            None => Some(format!(".{name} is a field that its schema does not have")),
        }
    })
}
