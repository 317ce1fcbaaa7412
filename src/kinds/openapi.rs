//! Values under the schemas that a class gives its variables.
//! Read beside `pkg/apiserver/validation` of `k8s.io/apiextensions-apiserver` v0.33 and `pkg/validation` of `k8s.io/kube-openapi`. Rules in
//! CEL are not computed. `nullable` and `multipleOf` are no fields of Cluster API's schemas, so that they say nothing.

mod format;

use regex::Regex;

use super::fields::{list, text};
use crate::tree::Value;

/// What is wrong with a value under a schema of OpenAPI v3, with the place below it.
#[must_use]
pub(crate) fn fault(value: &Value, schema: &Value) -> Option<String> {
    of_part(value, schema, Part::Whole)
}

/// Which part of a schema is asked: below `allOf`, `anyOf`, `oneOf` and `not` stand no types, and what is not named there may be there.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Whole,
    Beside,
}

fn of_part(value: &Value, schema: &Value, part: Part) -> Option<String> {
    if let Some(all) = schema.get("enum").and_then(Value::as_array)
        && !all.contains(value)
    {
        return Some(" is none of the values that it may have".to_owned());
    }
    if let Some(why) = of_type(value, schema) {
        return Some(why);
    }
    let fault = match value {
        Value::String(told) => of_text(told, schema),
        Value::Number(number) => number.as_f64().and_then(|number| of_number(number, schema)),
        Value::Array(items) => of_list(items, schema, part),
        Value::Object(map) => of_map(map, schema, part),
        _ => None,
    };
    fault.or_else(|| of_choices(value, schema))
}

/// Whether a value has another type than its schema wants.
fn of_type(value: &Value, schema: &Value) -> Option<String> {
    if schema.get("x-kubernetes-int-or-string") == Some(&Value::Bool(true)) {
        return (!value.is_string() && !is_integer(value)).then(|| " must be of the type integer or string".to_owned());
    }
    let wanted = text(schema, "/type").filter(|wanted| !wanted.is_empty())?;
    let is_type = match wanted {
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => is_integer(value),
        "number" => value.is_number(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => true,
    };
    if !is_type {
        return Some(format!(" must be of the type {wanted}"));
    }
    let is_long = value.as_i64().is_some_and(|number| i32::try_from(number).is_err());
    (wanted == "integer" && text(schema, "/format") == Some("int32") && is_long)
        .then(|| " must fit into 32 bits (format int32)".to_owned())
}

/// Whether a number is whole, and fits into 64 bits.
fn is_integer(value: &Value) -> bool {
    let is_whole = |number: f64| number.fract() == 0.0 && number.abs() < 9.2e18;
    value.is_i64() || (!value.is_u64() && value.as_f64().is_some_and(is_whole))
}

/// Whether a value is what `allOf`, `anyOf`, `oneOf` or `not` rule out.
fn of_choices(value: &Value, schema: &Value) -> Option<String> {
    let fits = |choice: &Value| of_part(value, choice, Part::Beside).is_none();
    let choices = |key: &str| schema.get(key).and_then(Value::as_array).filter(|choices| !choices.is_empty());
    if choices("allOf").is_some_and(|all| !all.iter().all(fits)) {
        return Some(" must fit all schemas of allOf".to_owned());
    }
    if choices("anyOf").is_some_and(|any| !any.iter().any(fits)) {
        return Some(" must fit a schema of anyOf".to_owned());
    }
    if choices("oneOf").is_some_and(|one| one.iter().filter(|choice| fits(choice)).count() != 1) {
        return Some(" must fit one schema of oneOf and no other".to_owned());
    }
    let is_ruled_out = schema.get("not").filter(|not| not.is_object()).is_some_and(fits);
    is_ruled_out.then(|| " must not fit the schema of not".to_owned())
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
    let pattern = text(schema, "/pattern").and_then(|pattern| Regex::new(pattern).ok());
    if let Some(pattern) = pattern.filter(|pattern| !pattern.is_match(value)) {
        return Some(format!(" does not match the pattern {}", pattern.as_str()));
    }
    let format = text(schema, "/format").filter(|format| !format::may_be(value, format))?;
    Some(format!(" must have the format {format}"))
}

fn of_number(value: f64, schema: &Value) -> Option<String> {
    let bound = |key: &str| schema.get(key).and_then(Value::as_f64);
    let excludes = |key: &str| schema.get(key) == Some(&Value::Bool(true));
    let is_low =
        bound("minimum").is_some_and(|least| value < least || (value <= least && excludes("exclusiveMinimum")));
    let is_high = bound("maximum").is_some_and(|most| value > most || (value >= most && excludes("exclusiveMaximum")));
    if is_low { Some(" is too small".to_owned()) } else { is_high.then(|| " is too large".to_owned()) }
}

fn of_list(items: &[Value], schema: &Value, part: Part) -> Option<String> {
    let length = items.len() as u64;
    if limit(schema, "minItems").is_some_and(|least| length < least) {
        return Some(" has too few items".to_owned());
    }
    if limit(schema, "maxItems").is_some_and(|most| length > most) {
        return Some(" has too many items".to_owned());
    }
    let is_double = |(place, item): (usize, &Value)| items.iter().take(place).any(|other| other == item);
    if schema.get("uniqueItems") == Some(&Value::Bool(true)) && items.iter().enumerate().any(is_double) {
        return Some(" has an item twice".to_owned());
    }
    let of_item = schema.get("items")?;
    items.iter().enumerate().find_map(|(place, item)| Some(format!("[{place}]{}", of_part(item, of_item, part)?)))
}

fn of_map(map: &crate::tree::Map, schema: &Value, part: Part) -> Option<String> {
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
    let keeps = part == Part::Beside || schema.get("x-kubernetes-preserve-unknown-fields") == Some(&Value::Bool(true));
    let others = schema.get("additionalProperties");
    map.iter().find_map(|(name, value)| {
        let own = schema.get("properties").and_then(|properties| properties.get(name));
        match own.or_else(|| others.filter(|others| others.is_object())) {
            Some(schema) => Some(format!(".{name}{}", of_part(value, schema, part)?)),
            None if keeps || others == Some(&Value::Bool(true)) => None,
            None => Some(format!(".{name} is a field that its schema does not have")),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::json;

    #[test]
    fn a_value_is_asked_what_its_schema_asks() {
        for (schema, right, wrong) in [
            (json!({"type": "integer", "format": "int32"}), json!(3), json!(3_000_000_000_u64)),
            (json!({"type": "integer"}), json!(3.0), json!(1e20)),
            (
                json!({"type": "array", "uniqueItems": true, "items": {"type": "string"}}),
                json!(["a", "b"]),
                json!(["a", "a"]),
            ),
            (json!({"type": "string", "oneOf": [{"pattern": "^a"}, {"pattern": "b$"}]}), json!("a"), json!("ab")),
            (json!({"type": "string", "anyOf": [{"enum": ["a"]}, {"enum": ["b"]}]}), json!("b"), json!("c")),
            (json!({"type": "string", "allOf": [{"minLength": 1}, {"maxLength": 2}]}), json!("ab"), json!("abc")),
            (json!({"type": "string", "not": {"enum": ["a"]}}), json!("b"), json!("a")),
            (
                json!({"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}, "oneOf": [{"required": ["a"]}, {"required": ["b"]}]}),
                json!({"a": "x"}),
                json!({"a": "x", "b": "y"}),
            ),
            (json!({"x-kubernetes-int-or-string": true}), json!("30%"), json!(true)),
            (json!({"type": "string", "nullable": true}), json!("a"), json!(null)),
        ] {
            assert_eq!(fault(&right, &schema), None, "{right} under {schema}");
            assert!(fault(&wrong, &schema).is_some(), "{wrong} under {schema}");
        }
        assert_eq!(fault(&json!(7), &json!({"type": "integer", "multipleOf": 2})), None, "it is no field");
    }
}
