//! The release record, as Helm writes it.

use std::io::Write as _;

use super::*;
use crate::tree::json;

/// A record as Helm 3 and 4 store it: base64 of gzip of JSON, and base64 once more for the API.
fn record(kind: &str, body: &Value, gzip: bool) -> Value {
    let plain = body.to_string();
    let packed = if gzip {
        let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        packer.write_all(plain.as_bytes()).expect("written");
        packer.finish().expect("finished")
    } else {
        plain.into_bytes()
    };
    let inner = STANDARD.encode(packed);
    let data = if kind == "Secret" { STANDARD.encode(inner) } else { inner };
    json!({"apiVersion": "v1", "kind": kind, "metadata": {"name": "sh.helm.release.v1.demo.v3"}, "data": {"release": data}})
}

fn body() -> Value {
    json!({"name": "demo", "namespace": "telco", "version": 3, "info": {"status": "deployed"},
        "manifest": "---\nkind: A\n", "config": {"password": "s3cr3t"}, "apply_method": "ssa"})
}

#[test]
fn the_values_of_a_revision_are_those_that_it_was_given() {
    assert_eq!(values(&record("Secret", &body(), true)), Ok(json!({"password": "s3cr3t"})));
    let error = values(&json!({"metadata": {"name": "x"}, "data": {"release": "%"}})).expect_err("no record");
    assert_eq!(error.to_string(), "the release record x cannot be read: its data is not base64");
}

#[test]
fn both_drivers_and_old_records_are_read() {
    for (kind, gzip) in [("Secret", true), ("ConfigMap", true), ("Secret", false)] {
        let revision = decode(&record(kind, &body(), gzip)).expect("a revision");
        assert_eq!(revision.number, 3);
        assert_eq!(revision.status, ReleaseStatus::Deployed);
        assert_eq!(revision.method, WriteMethod::ServerSideApply);
        assert_eq!(revision.manifest, "---\nkind: A\n");
        assert!(!format!("{revision:?}").contains("s3cr3t"));
    }
}

#[test]
fn a_record_without_a_method_was_patched() {
    for method in [None, Some(""), Some("csa")] {
        let mut body = body();
        body.as_object_mut().expect("a map").shift_remove("apply_method");
        if let Some(method) = method {
            body["apply_method"] = json!(method);
        }
        assert_eq!(decode(&record("Secret", &body, true)).expect("a revision").method, WriteMethod::MergePatch);
    }
}

#[test]
fn broken_records_are_faults_that_quote_nothing() {
    let mut table = vec![json!({"kind": "Secret", "metadata": {"name": "x"}})];
    for data in [
        "s3cr3t!",
        "czNjcjN0",
        &STANDARD.encode(STANDARD.encode("s3cr3t")),
        &STANDARD.encode(STANDARD.encode([0x1f, 0x8b, 8, 0, 1])),
    ] {
        table.push(json!({"kind": "Secret", "metadata": {"name": "x"}, "data": {"release": data}}));
    }
    for object in table {
        let error = decode(&object).expect_err("refused").to_string();
        assert!(!error.contains("s3cr3t"), "{error}");
    }
}

#[test]
fn the_base_is_the_newest_deployed_revision_else_the_newest() {
    let entry = |number, status| Entry { object: format!("v{number}"), number, status };
    use ReleaseStatus::{Deployed, Failed, PendingUpgrade, Superseded};
    let table = [
        (vec![], None),
        (vec![entry(1, Deployed)], Some((1, 1))),
        (vec![entry(1, Superseded), entry(3, Failed), entry(2, Deployed)], Some((3, 2))),
        (vec![entry(1, Failed)], Some((1, 1))),
        (vec![entry(10, PendingUpgrade), entry(9, Deployed)], Some((10, 9))),
        (vec![entry(9, Deployed), entry(10, Deployed)], Some((10, 10))),
    ];
    for (entries, expected) in table {
        assert_eq!(choose(&entries).map(|(newest, base)| (newest.number, base.number)), expected);
    }
}

#[test]
fn labels_say_revision_and_state() {
    let labels = |version: &str, status: &str| {
        BTreeMap::from([("version".to_owned(), version.to_owned()), ("status".to_owned(), status.to_owned())])
    };
    assert_eq!(entry("o", &labels("7", "pending-upgrade")).expect("an entry").status, ReleaseStatus::PendingUpgrade);
    assert_eq!(entry("o", &labels("7", "of tomorrow")).expect("an entry").status, ReleaseStatus::Unknown);
    assert_eq!(entry("o", &labels("x", "deployed")), None);
}

#[test]
fn records_of_real_helms_are_read() {
    let records = [
        ("helm3-secret", include_str!("../../testdata/records/helm3-secret.json"), WriteMethod::MergePatch),
        ("helm3-configmap", include_str!("../../testdata/records/helm3-configmap.json"), WriteMethod::MergePatch),
        ("helm4-secret", include_str!("../../testdata/records/helm4-secret.json"), WriteMethod::ServerSideApply),
        ("helm4-configmap", include_str!("../../testdata/records/helm4-configmap.json"), WriteMethod::ServerSideApply),
    ];
    for (name, text, method) in records {
        let list: Value = serde_json::from_str(text).expect("JSON");
        let items = list["items"].as_array().expect("a list");
        let label = |item: &Value| {
            let labels = crate::tree::from_value(item["metadata"]["labels"].clone()).expect("labels");
            entry(item["metadata"]["name"].as_str().expect("a name"), &labels).expect("an entry")
        };
        let entries: Vec<Entry> = items.iter().map(label).collect();
        let (newest, base) = choose(&entries).expect("a release");
        assert_eq!((newest.number, base.number, newest.status), (2, 2, ReleaseStatus::Deployed), "{name}");
        for (item, entry) in items.iter().zip(&entries) {
            let revision = decode(item).expect("a revision");
            assert_eq!((revision.number, revision.status), (entry.number, entry.status), "{name}");
            assert_eq!((revision.name.as_str(), revision.namespace.as_str()), ("demo", name));
            assert_eq!(revision.method, method, "{name}");
            let bytes = bytes::Bytes::copy_from_slice(revision.manifest.as_bytes());
            assert_eq!(crate::object::Stream::load(&bytes).expect("a stream").objects.len(), 7, "{name}");
            assert_eq!(revision.manifest.contains("canReach: 10.0.3.7"), entry.number == 2, "{name}");
        }
    }
}
