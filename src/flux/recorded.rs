//! Replays what helm-controller's own library made of seeded values and references (`tests/oracle/flux`).

use std::io::Read as _;

use super::tree::ValueNode;
use super::values::{Data, Reference, ValuesFault, compose};
use crate::tree::{Value, json};

const CASES: &[u8] = include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/flux/values.jsonl.gz"));

/// A tree as the recorder writes it: integers of Go marked, all other numbers as floating-point ones.
fn marked(node: &ValueNode) -> Value {
    match node {
        ValueNode::Integer(number) => json!({"$int": number}),
        ValueNode::Plain(Value::Number(number)) => json!(number.as_f64()),
        ValueNode::Plain(value) => value.clone(),
        ValueNode::List(items) => items.borrow().iter().map(marked).collect(),
        ValueNode::Map(map) => {
            Value::Object(map.borrow().iter().map(|(name, node)| (name.clone(), marked(node))).collect())
        }
    }
}

/// The recorded tree, its numbers as floating-point ones.
fn floating(value: &Value) -> Value {
    match value {
        Value::Number(number) => json!(number.as_f64()),
        Value::Array(items) => items.iter().map(floating).collect(),
        Value::Object(map) if map.contains_key("$int") => value.clone(),
        Value::Object(map) => map.iter().map(|(name, value)| (name.clone(), floating(value))).collect(),
        plain => plain.clone(),
    }
}

fn outcome(case: &Value) -> Result<Value, &'static str> {
    let word = |one: &Value, field: &str| one[field].as_str().map(str::to_owned);
    let references = case["from"].as_array().into_iter().flatten().map(|one| Reference {
        // Both kinds were recorded, and hold the same; of a Secret integers are handed on in another way.
        kind: "ConfigMap".to_owned(),
        name: word(one, "name").expect("a name"),
        key: word(one, "valuesKey").unwrap_or_else(|| "values.yaml".to_owned()),
        path: word(one, "targetPath"),
        optional: one["optional"] == true,
        literal: one["literal"] == true,
    });
    let references: Vec<Reference> = references.collect();
    let release = json!({"spec": {"values": case["values"]}});
    let look = |one: &Reference| {
        let map = case["maps"][&one.name].as_object();
        let bytes = |text: &Value| text.as_str().expect("a text").as_bytes().to_vec();
        Ok(map.map(|map| map.iter().map(|(key, text)| (key.to_string(), bytes(text))).collect::<Data>()))
    };
    match compose(&release, &references, look) {
        Ok(values) => Ok(marked(&ValueNode::Map(values.shared().clone()))),
        Err(ValuesFault::Missing(_)) => Err("missing"),
        Err(ValuesFault::Key(..)) => Err("key"),
        Err(ValuesFault::Data(..)) => Err("read"),
        Err(ValuesFault::Path(..)) => Err("merge"),
        Err(ValuesFault::Unread(..) | ValuesFault::Refused(_)) => Err("never"),
    }
}

#[test]
fn values_are_composed_as_helm_controller_composes_them() {
    let mut text = String::new();
    flate2::read::GzDecoder::new(CASES).read_to_string(&mut text).expect("recorded cases");
    let (mut total, mut composed, mut wrong) = (0, 0, Vec::new());
    for line in text.lines() {
        let case: Value = serde_json::from_str(line).expect("a case");
        let told = match case["reason"].as_str() {
            Some(reason) => Err(reason.to_owned()),
            None => Ok(floating(&case["after"])),
        };
        let found = outcome(&case).map_err(str::to_owned);
        total += 1;
        composed += usize::from(told.is_ok());
        if found != told {
            wrong.push(format!("{line}\n  found {found:?}"));
        }
    }
    assert!(total > 6000 && composed > 3000, "{composed} of {total}");
    assert!(wrong.is_empty(), "{} of {total}:\n{}", wrong.len(), wrong[..wrong.len().min(12)].join("\n"));
}
