//! Histories of releases: what is kept of each revision, and what cannot be read.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

use super::*;
use crate::tree::json;

fn record(number: u64, manifest: &str) -> (u64, Value) {
    let body = json!({"name": "edge", "namespace": "telco", "version": number, "manifest": manifest,
        "info": {"status": "superseded", "last_deployed": format!("2026-11-0{number}T02:14:05.123456789+01:00"),
            "description": "Upgrade complete"},
        "chart": {"metadata": {"name": "cluster", "version": "0.1.0"}}, "config": {"password": "s3cr3t"}});
    let data = BASE64_STANDARD.encode(BASE64_STANDARD.encode(body.to_string()));
    let labels = json!({"owner": "helm", "name": "edge", "status": "superseded", "version": number.to_string()});
    let meta = json!({"name": format!("sh.helm.release.v1.edge.v{number}"), "namespace": "telco", "labels": labels});
    (number, json!({"apiVersion": "v1", "kind": "Secret", "metadata": meta, "data": {"release": data}}))
}

fn manifest(address: &str, more: &str) -> String {
    format!(
        "---\napiVersion: controlplane.cluster.x-k8s.io/v1beta1\nkind: RKE2ControlPlane\nmetadata: {{name: cp}}\n\
         spec: {{registrationAddress: {address}}}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: c}}\n{more}"
    )
}

fn name() -> ReleaseName {
    ReleaseName { name: "edge".to_owned(), namespace: "telco".to_owned() }
}

#[test]
fn each_revision_keeps_what_differs_from_the_one_before() {
    let class = "---\napiVersion: cluster.x-k8s.io/v1beta1\nkind: Cluster\nmetadata: {name: edge, namespace: other}\n";
    let records = vec![
        record(3, &manifest("10.0.0.14", "")),
        record(1, &manifest("55.55.55.55", class)),
        record(2, &manifest("55.55.55.55", "")),
    ];
    let history = of_records(&name(), records);
    assert!(history.unread.is_empty() && history.older == 0, "{history:?}");
    let told: Vec<(u64, usize, usize)> =
        history.revisions.iter().map(|one| (one.number, one.objects.len(), one.gone.len())).collect();
    assert_eq!(told, [(1, 2, 0), (2, 0, 1), (3, 1, 0)]);
    let third = &history.revisions[2];
    assert_eq!(third.written.map(|time| time.to_string()).as_deref(), Some("2026-11-03T01:14:05.123456789Z"));
    assert_eq!((third.description.as_str(), third.chart.as_str()), ("Upgrade complete", "cluster-0.1.0"));
    let key = |kind: &str, namespace: &str, name: &str| {
        let mut all = history.revisions.iter().flat_map(|one| one.objects.objects()).map(|object| &object.key);
        let found = all.find(|key| key.kind == kind && key.namespace.as_deref() == Some(namespace) && key.name == name);
        found.cloned().expect("a key")
    };
    let (plane, cluster) = (key("RKE2ControlPlane", "telco", "cp"), key("Cluster", "other", "edge"));
    let address = |place| {
        let value = history.at(place, &plane)?.value().ok()?.into_owned();
        value.pointer("/spec/registrationAddress").and_then(Value::as_str).map(str::to_owned)
    };
    assert_eq!([0, 1, 2].map(address), ["55.55.55.55", "55.55.55.55", "10.0.0.14"].map(|text| Some(text.to_owned())));
    assert!(history.at(3, &plane).is_none());
    assert_eq!([0, 1, 2].map(|place| history.at(place, &cluster).is_some()), [true, false, false]);
    let text = serde_json::to_string(&history).expect("JSON");
    assert!(!text.contains("s3cr3t"), "{text}");
    let again: History = serde_json::from_str(&text).expect("a history");
    assert_eq!(again.revisions.len(), 3);
    assert!(again.at(1, &plane).is_some());
}

#[test]
fn what_cannot_be_read_of_a_history_is_said_and_the_rest_is_kept() {
    let (number, mut broken) = record(2, "");
    broken["data"]["release"] = json!("%%%");
    let records = vec![record(1, &manifest("a", "")), (number, broken), record(3, "a: [")];
    let history = of_records(&name(), records);
    let numbers: Vec<u64> = history.revisions.iter().map(|one| one.number).collect();
    assert_eq!(numbers, [1]);
    let unread: Vec<&str> = history.unread.iter().map(|one| one.why.as_str()).collect();
    assert_eq!(unread.len(), 2, "{unread:?}");
    assert!(unread.iter().all(|why| !why.contains("s3cr3t")), "{unread:?}");
}

#[test]
fn of_a_long_history_the_newest_revisions_are_read() {
    let entry = |number| Entry { object: String::new(), number, status: ReleaseStatus::Superseded };
    let (read, older) = newest((1..=25).rev().map(entry).collect());
    assert_eq!((read.first().map(|one| one.number), read.len(), older), (Some(6), MOST_REVISIONS, 5));
    let (read, older) = newest((1..=3).map(entry).collect());
    assert_eq!((read.len(), older), (3, 0));
}

#[test]
fn records_that_lie_in_a_dump_are_a_history() {
    let objects = [record(1, &manifest("a", "")), record(2, &manifest("b", ""))];
    let objects: Vec<Object> =
        objects.into_iter().map(|(_, value)| Object::from_value(value, 0).expect("an object")).collect();
    let found = among(&objects.into());
    assert_eq!((found.len(), found[0].revisions.len(), found[0].name.as_str()), (1, 2, "edge"));
    let other = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": "telco", "labels":
        {"owner": "helm", "name": "edge", "version": "1"}}, "data": {"password": "eA=="}});
    assert!(among(&vec![Object::from_value(other, 0).expect("an object")].into()).is_empty());
}
