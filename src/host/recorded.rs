//! Replays what the API server's own code made of seeded writes (`tests/oracle/hosts`): the object that it then holds
//! equals the predicted one, for every way of writing.

use std::io::Read as _;

use serde_json::Value;

use super::apply::{Applied, Applier, apply};
use super::write::{Before, Last, Outcome, write};
use crate::object::Key;
use crate::schema;
use crate::world::WriteMethod;

const CASES: &[u8] = include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/hosts/merge.jsonl.gz"));

/// What is compared: everything that is rendered.
fn content(object: &Value) -> Value {
    let mut labels = object["metadata"]["labels"].clone();
    if labels.as_object().is_some_and(serde_json::Map::is_empty) {
        labels = Value::Null;
    }
    serde_json::json!({"spec": object["spec"], "labels": labels})
}

/// The content after the write, or a conflict.
fn predicted(case: &Value) -> Result<Value, String> {
    let (live, rendered) = (&case["live"], &case["rendered"]);
    let flag = |name: &str| case[name].as_bool().unwrap_or_default();
    let applier = Applier { manager: "helm", adopts_updates: flag("adopts"), migrates: None, force: flag("force") };
    let way: WriteMethod = serde_json::from_value(case["way"].clone()).expect("a way of writing");
    let api_version = rendered["apiVersion"].as_str().expect("a version");
    let kind = rendered["kind"].as_str().expect("a kind");
    let key = Key::new(api_version, kind, Some("n"), "x");
    if way == WriteMethod::ServerSideApply
        && let Applied::Conflict { manager, paths } = apply(live, rendered, schema::builtin(api_version, kind), applier)
    {
        return Err(format!("{manager}: {paths:?}"));
    }
    let before = Before { key: &key, live, last: Last::Known(&case["last"]) };
    match write(way, &before, rendered, applier) {
        Outcome::Holds { predicted, .. } => Ok(content(&predicted)),
        Outcome::Refused { because, .. } => Err(because),
        Outcome::Recreated => Err("made anew".to_owned()),
    }
}

#[test]
fn every_recorded_write_is_predicted() {
    let mut text = String::new();
    flate2::read::GzDecoder::new(CASES).read_to_string(&mut text).expect("recorded cases");
    let mut wrong = Vec::new();
    let mut total = 0;
    for line in text.lines() {
        let case: Value = serde_json::from_str(line).expect("a case");
        total += 1;
        let expected = match case["conflict"].as_bool() {
            Some(true) => None,
            _ => Some(content(&case["after"])),
        };
        let got = predicted(&case);
        if got.as_ref().ok() != expected.as_ref() {
            wrong.push(format!(
                "seed {} by {}\n  predicted {}\n  recorded  {}",
                case["seed"],
                case["way"],
                got.map_or_else(|because| because, |value| value.to_string()),
                expected.map_or_else(|| "a conflict".to_owned(), |value| value.to_string()),
            ));
        }
    }
    assert!(total >= 400, "only {total} cases");
    assert!(wrong.is_empty(), "{} of {total} differ:\n{}", wrong.len(), wrong[..wrong.len().min(8)].join("\n"));
}
