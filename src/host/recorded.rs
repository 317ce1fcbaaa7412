//! Replays what the API server's own code made of seeded writes (`tests/oracle/hosts`), and what Helm 3, Helm 4, kubectl and
//! Flux wrote to a real one (`tests/e2e/predict.rs`): the object that it then holds equals the predicted one, for every way
//! of writing.

use std::io::Read as _;

use super::write::{AfterWrite, Before, Last, NoDefinition, write};
use crate::apiserver::apply::{Applied, Applier, apply};
use crate::kinds::{Shape, Versions};
use crate::model::Effect;
use crate::object::{Inventory, Key, Object, Path};
use crate::schema;
use crate::tree::Value;
use crate::world::{World, WriteMethod};

const CASES: &[u8] = include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/hosts/merge.jsonl.gz"));

/// What is compared: everything that is rendered.
fn content(object: &Value) -> Value {
    let mut labels = object["metadata"]["labels"].clone();
    if labels.as_object().is_some_and(crate::tree::Map::is_empty) {
        labels = Value::Null;
    }
    crate::tree::json!({"spec": object["spec"], "labels": labels})
}

/// The recorder drops every `null` after the merge; a real API server looks at it by the schema first, and refuses it.
const NULLED: &str = "a null is left";

/// The content after the write, or a conflict.
fn predicted(case: &Value) -> Result<Value, String> {
    let (live, rendered) = (&case["live"], &case["rendered"]);
    let flag = |name: &str| case[name].as_bool().unwrap_or_default();
    let applier = Applier {
        manager: "helm",
        adopts_updates: flag("adopts"),
        takes: crate::apiserver::apply::Takes::Nothing,
        force: flag("force"),
    };
    let way: WriteMethod = crate::tree::from_value(case["way"].clone()).expect("a way of writing");
    let api_version = rendered["apiVersion"].as_str().expect("a version");
    let kind = rendered["kind"].as_str().expect("a kind");
    let key = Key::new(api_version, kind, Some("n"), "x");
    if way == WriteMethod::ServerSideApply {
        match apply(live, rendered, schema::builtin(api_version, kind), applier) {
            Applied::Conflict { manager, paths } => return Err(format!("{manager}: {paths:?}")),
            Applied::Nulled { .. } => return Err(NULLED.to_owned()),
            Applied::Merged(_) => {}
        }
    }
    let before =
        Before { key: &key, live, last: Last::Known(&case["last"]), says_owners: false, definition: &NoDefinition };
    match write(way, &before, rendered, applier) {
        AfterWrite::Holds { mut predicted, .. } => {
            // The newest version has fields with defaults that the recorded one does not have.
            let shape = Shape::of(kind, api_version, &Versions::told("openstack", "v0.11.3"));
            if let Some((shape, spec)) = shape.zip(predicted.get_mut("spec")) {
                shape.prune(spec, &Path::root());
            }
            Ok(content(&predicted))
        }
        AfterWrite::Refused { because, .. } => Err(because),
        AfterWrite::Recreated => Err("made again".to_owned()),
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
        if got.as_ref().is_err_and(|why| why == NULLED) {
            continue;
        }
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

const WRITTEN: &[u8] = include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/hosts/written.jsonl.gz"));

/// What is compared: everything that is rendered, without what the hosts add for themselves.
fn rendered_content(object: &Value) -> Value {
    let marks = |name: &str| {
        let mut marks = object["metadata"][name].as_object().cloned().unwrap_or_default();
        let own = ["meta.helm.sh/", "kubectl.", "helm.toolkit.fluxcd.io/", "app.kubernetes.io/managed-by"];
        marks.retain(|key, _| !own.iter().any(|prefix| key.starts_with(prefix)));
        marks
    };
    crate::tree::json!({"spec": object["spec"], "labels": marks("labels"), "annotations": marks("annotations")})
}

#[test]
fn every_release_that_a_host_wrote_is_predicted() {
    let mut text = String::new();
    flate2::read::GzDecoder::new(WRITTEN).read_to_string(&mut text).expect("recorded releases");
    let mut wrong = Vec::new();
    let mut totals = std::collections::BTreeMap::<String, usize>::new();
    for line in text.lines() {
        let mut release: Value = serde_json::from_str(line).expect("a release");
        let world: World = serde_json::from_str(&release["world"].take().to_string()).expect("a World");
        let rendered = release["rendered"].as_array().expect("objects").iter();
        let rendered: Inventory =
            rendered.map(|value| Object::from_value(value.clone(), 1).expect("an object")).collect::<Vec<_>>().into();
        let prediction = super::predict(&rendered, &world).expect("a prediction");
        for after in release["after"].as_array().expect("objects") {
            let is_it = |key: &Key| after["kind"] == key.kind && after["name"] == key.name;
            let pair = prediction.pairs.iter().find(|pair| is_it(&pair.key));
            let refused = pair.is_some_and(|pair| pair.effect == Effect::Rejected);
            let live = world.live.objects().iter().find(|object| is_it(&object.key));
            let expected = match pair {
                Some(pair) if !refused => pair.predicted.as_ref().map(rendered_content),
                _ => live.map(|live| rendered_content(&live.value().expect("a tree"))),
            };
            let host = format!("{:?} {:?}", world.host.kind.expect("a host"), prediction.way.expect("a way"));
            *totals.entry(host.clone()).or_default() += 1;
            if after["held"] != expected.clone().unwrap_or_default() || after["refused"] != refused {
                wrong.push(format!(
                    "{host} {} {}\n  predicted {}\n  held      {}",
                    after["kind"],
                    after["name"],
                    expected.unwrap_or_default(),
                    after["held"]
                ));
            }
        }
    }
    assert!(totals.len() >= 8 && totals.values().all(|count| *count >= 15), "{totals:?}");
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong[..wrong.len().min(8)].join("\n"));
}
