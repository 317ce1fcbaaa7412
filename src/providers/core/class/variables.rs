//! What the webhook of ClusterClass refuses about the variables that a class defines: their names, and schemas that say nothing or
//! contradict their own defaults. Read beside `internal/topology/variables/clusterclass_variable_validation.go` of Cluster API 1.14 and
//! `pkg/apiserver/schema/validation.go` of `k8s.io/apiextensions-apiserver` v0.33. Rules in CEL are not compiled.

use std::collections::BTreeSet;

use regex::Regex;

use super::RULE;
use crate::kinds::fields::{list, text};
use crate::kinds::labels;
use crate::kinds::openapi::fault;
use crate::kinds::webhook::{Refusal, refuse};
use crate::object::Path;
use crate::tree::Value;

/// What is refused about the variables of a class, in the names of v1beta2.
pub(super) fn refusals(class: &Value, spec: &Path, out: &mut Vec<Refusal>) {
    let mut names = BTreeSet::new();
    for (place, variable) in list(class, "/spec/variables").enumerate() {
        let at = spec.key("variables").index(place);
        let name = text(variable, "/name").unwrap_or_default();
        match name {
            "" => refuse(out, RULE, &at, "name", "the variable has no name"),
            "builtin" => refuse(out, RULE, &at, "name", "no variable can be called builtin"),
            _ if name.contains('.') => refuse(out, RULE, &at, "name", "the name of a variable has no dot"),
            _ if !names.insert(name) => {
                refuse(out, RULE, &at, "name", format!("the variable {name} stands there twice"));
            }
            _ => {}
        }
        labels::refusals(variable.get("deprecatedV1Beta1Metadata"), &at.key("deprecatedV1Beta1Metadata"), out);
        let at = at.key("schema").key("openAPIV3Schema");
        if let Some(schema) = variable.pointer("/schema/openAPIV3Schema") {
            one_schema(schema, &at, out);
        }
    }
}

/// One schema, and all below it.
fn one_schema(schema: &Value, at: &Path, out: &mut Vec<Refusal>) {
    let is_on = |key: &str| schema.get(key) == Some(&Value::Bool(true));
    let has = |key: &str| schema.get(key).is_some_and(|value| !value.is_null());
    match text(schema, "/type").filter(|kind| !kind.is_empty()) {
        None if !is_on("x-kubernetes-int-or-string") && !is_on("x-kubernetes-preserve-unknown-fields") => {
            refuse(out, RULE, at, "type", "the schema says no type");
        }
        Some("array") if !has("items") => {
            refuse(out, RULE, at, "items", "the schema of a list says nothing of its items");
        }
        Some("object" | "array" | "string" | "number" | "integer" | "boolean") | None => {}
        Some(other) => refuse(out, RULE, at, "type", format!("there is no type {other}")),
    }
    labels::refusals(schema.get("x-metadata"), &at.key("x-metadata"), out);
    let properties = schema.get("properties").and_then(Value::as_object);
    let others = schema.get("additionalProperties").filter(|others| others.is_object());
    if others.is_some() && properties.is_some_and(|properties| !properties.is_empty()) {
        refuse(out, RULE, at, "additionalProperties", "a schema has either properties or additionalProperties");
    }
    if text(schema, "/pattern").is_some_and(is_no_pattern) {
        refuse(out, RULE, at, "pattern", "it is no regular expression");
    }
    beside(schema, at, out);
    let own = ["default", "example"].into_iter().filter_map(|key| Some((key.to_owned(), schema.get(key)?)));
    let choices = list(schema, "/enum").enumerate().map(|(place, value)| (format!("enum[{place}]"), value));
    for (below, value) in own.chain(choices).filter(|(_, value)| !value.is_null()) {
        if let Some(why) = fault(value, schema) {
            refuse(out, RULE, at, &below, format!("the value{why}"));
        }
    }
    for (place, rule) in list(schema, "/x-kubernetes-validations").enumerate() {
        one_rule(rule, &at.key("x-kubernetes-validations").index(place), out);
    }
    for (name, below) in properties.into_iter().flatten() {
        one_schema(below, &at.key("properties").key(name.as_str()), out);
    }
    for key in ["items", "additionalProperties"] {
        if let Some(below) = schema.get(key).filter(|below| below.is_object()) {
            one_schema(below, &at.key(key), out);
        }
    }
}

/// Whether a text is no regular expression for Go either: what only one of the two does not know is not told here.
fn is_no_pattern(pattern: &str) -> bool {
    const FOR_BOTH: [&str; 3] = ["unclosed group", "unopened group", "repetition operator missing expression"];
    Regex::new(pattern).is_err_and(|error| FOR_BOTH.iter().any(|why| error.to_string().contains(why)))
}

/// What may not stand below `allOf`, `anyOf`, `oneOf` and `not` (`pkg/apiserver/schema/validation.go` ValidateStructural).
fn beside(schema: &Value, at: &Path, out: &mut Vec<Refusal>) {
    // Of a number or a text the two types are what is asked.
    if schema.get("x-kubernetes-int-or-string") == Some(&Value::Bool(true)) {
        return;
    }
    let lists = ["allOf", "anyOf", "oneOf"].into_iter();
    let mut all: Vec<(Path, &Value)> = lists
        .flat_map(|key| list(schema, &format!("/{key}")).enumerate().map(move |(place, below)| (key, place, below)))
        .map(|(key, place, below)| (at.key(key).index(place), below))
        .collect();
    all.extend(schema.get("not").map(|below| (at.key("not"), below)));
    for (at, below) in all {
        for key in ["type", "default", "additionalProperties"] {
            if below.get(key).is_some_and(|value| !value.is_null() && value.as_str() != Some("")) {
                refuse(out, RULE, &at, key, "it may stand in the schema itself only");
            }
        }
    }
}

/// What is refused about a rule in CEL without reading it.
fn one_rule(rule: &Value, at: &Path, out: &mut Vec<Refusal>) {
    let told = |key: &str| rule.get(key).and_then(Value::as_str).unwrap_or_default();
    let is_blank = |key: &str| !told(key).is_empty() && told(key).trim().is_empty();
    if told("rule").trim().is_empty() {
        refuse(out, RULE, at, "rule", "the rule is empty");
    } else if told("rule").trim().contains(['\n', '\r']) && told("message").trim().is_empty() {
        refuse(out, RULE, at, "message", "a rule of several lines needs a message");
    }
    for key in ["message", "messageExpression", "fieldPath"] {
        if is_blank(key) {
            refuse(out, RULE, at, key, "it is there and says nothing");
        }
    }
    if told("message").trim().contains(['\n', '\r']) {
        refuse(out, RULE, at, "message", "a message has one line");
    }
    let reasons = ["", "FieldValueInvalid", "FieldValueForbidden", "FieldValueRequired", "FieldValueDuplicate"];
    if !reasons.contains(&told("reason")) {
        refuse(out, RULE, at, "reason", "there is no such reason");
    }
}
