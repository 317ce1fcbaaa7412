//! Snapshots: no secret in them, and the same World out of them.

use jiff::Timestamp;

use super::*;
use crate::tree::{Value, json};
use crate::world::Host;
use crate::world::{LiveKind, SourceReading, files};

fn inventory(values: &[Value]) -> Inventory {
    values.iter().map(|value| Object::from_value(value.clone(), 0).expect("an object")).collect::<Vec<_>>().into()
}

fn secret(value: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": "n", "uid": "1"},
        "data": {"password": value, "same": "c2FtZS1zZWNyZXQtdGV4dA=="}})
}

fn control_plane(content: &str) -> Value {
    json!({"apiVersion": "controlplane.cluster.x-k8s.io/v1beta1", "kind": "RKE2ControlPlane",
        "metadata": {"name": "cp", "namespace": "n", "uid": "2"},
        "spec": {"files": [{"path": "/etc/app", "content": content}], "version": "v1.31.0"}})
}

fn world(live: Inventory) -> World {
    let mut world = files::nothing(&Host::default(), Timestamp::UNIX_EPOCH);
    world.source.kind = LiveKind::Cluster;
    world.live = live;
    world
}

const CANARY: &str = "Y2FuYXJ5LXNlY3JldC10ZXh0";

#[test]
fn nothing_secret_is_in_the_file() {
    let live = inventory(&[secret(CANARY), control_plane("a: canary-secret-text\n")]);
    let mut world = world(live);
    world.readings.push(SourceReading {
        value: "v".to_owned(),
        place: 0,
        found: Some("canary-secret-text".to_owned()),
        source: "Secret n/s".to_owned(),
        uid: None,
        resource_version: None,
        unread: None,
        gap: None,
        clone_of: None,
        fits: false,
        secret: true,
    });
    let text = serde_json::to_string(&Snapshot::of(world, &MarkKey::fresh(), &[])).expect("JSON");
    assert!(!text.contains(CANARY) && !text.contains("canary-secret-text"), "{text}");
}

#[test]
fn nothing_secret_of_what_the_host_wrote_is_in_the_file() {
    let hidden = |put: fn(&mut World, Inventory)| {
        let mut world = world(inventory(&[]));
        put(&mut world, inventory(&[secret(CANARY)]));
        let text = serde_json::to_string(&Snapshot::of(world, &MarkKey::fresh(), &[])).expect("JSON");
        assert!(text.contains("\"Secret\"") && !text.contains(CANARY), "{text}");
    };
    hidden(|world, objects| world.base.objects = objects);
    hidden(|world, objects| world.base.hooks = objects);
    hidden(|world, objects| world.base.unfinished = objects);
}

#[test]
fn equal_secrets_are_equal_again_beside_what_is_rendered_and_others_are_not() {
    let live = inventory(&[secret(CANARY), control_plane("a: canary-secret-text\n")]);
    let key = MarkKey::fresh();
    let text = serde_json::to_vec(&Snapshot::of(world(live.clone()), &key, &[])).expect("JSON");
    let again = |rendered: &Inventory| {
        let Snapshot { mut world, .. } = Snapshot::read(&text).expect("a snapshot");
        reveal(&mut world, Some(&key), &[], &[rendered]);
        world.live
    };
    let same = again(&live);
    for (old, new) in live.objects().iter().zip(same.objects()) {
        assert_eq!(old.value().expect("a tree"), new.value().expect("a tree"));
    }
    let other = again(&inventory(&[secret("b3RoZXItc2VjcmV0LXRleHQ="), control_plane("a: b\n")]));
    let value = other.objects()[0].value().expect("a tree").into_owned();
    assert!(value["data"]["password"].as_str().expect("text").starts_with("<redacted:"));
    assert_eq!(value["data"]["same"], "c2FtZS1zZWNyZXQtdGV4dA==");
}

#[test]
fn two_snapshots_of_one_secret_do_not_agree() {
    let world = world(inventory(&[secret(CANARY)]));
    let shown = |key: &MarkKey| {
        Snapshot::of(world.clone(), key, &[]).world.live.objects()[0].value().expect("a tree").into_owned()
    };
    assert_ne!(shown(&MarkKey::fresh()), shown(&MarkKey::fresh()));
}

#[test]
fn a_newer_version_and_a_broken_file_are_named() {
    let error = Snapshot::read(br#"{"apiVersion":"rollgate.dev/v2","kind":"World"}"#).expect_err("refused");
    assert!(error.to_string().contains("rollgate.dev/v2"), "{error}");
    let error =
        Snapshot::read(br#"{"apiVersion":"rollgate.dev/v1alpha1","kind":"World","key":"s3cr3t"#).expect_err("refused");
    assert!(matches!(error, SnapshotError::Broken { .. }) && !error.to_string().contains("s3cr3t"), "{error}");
    assert!(is_snapshot(b" {\n \"apiVersion\": \"rollgate.dev/v9\"}"));
    assert!(!is_snapshot(br#"{"apiVersion":"v1","kind":"ConfigMap"}"#));
}

#[test]
fn a_secret_that_a_controller_copied_is_equal_again_too() {
    let machine_config = json!({"apiVersion": "bootstrap.cluster.x-k8s.io/v1beta1", "kind": "RKE2Config",
        "metadata": {"name": "cp-x", "namespace": "n", "uid": "3"},
        "spec": {"users": [{"name": "a", "passwd": CANARY}, {"name": "b", "passwd": 12_345_678}],
            "files": [{"path": "/a", "content": "password: canary-secret-text\nx: 1\n"}]}});
    let owner = |passwd: &str| {
        let mut owner = control_plane("password: canary-secret-text\n");
        owner["spec"]["users"] = json!([{"name": "a", "passwd": passwd}, {"name": "b", "passwd": 12_345_678}]);
        owner
    };
    let live = inventory(&[owner(CANARY), machine_config.clone()]);
    let key = MarkKey::fresh();
    let text = serde_json::to_vec(&Snapshot::of(world(live), &key, &[])).expect("JSON");
    assert!(!String::from_utf8_lossy(&text).contains("canary"));
    let again = |rendered: Value| {
        let Snapshot { mut world, .. } = Snapshot::read(&text).expect("a snapshot");
        reveal(&mut world, Some(&key), &[], &[&inventory(&[rendered])]);
        world.live.objects()[1].value().expect("a tree").into_owned()
    };
    assert_eq!(again(owner(CANARY)), machine_config);
    let other = again(owner("b3RoZXItc2VjcmV0"));
    assert_ne!(other["spec"]["users"][0], machine_config["spec"]["users"][0]);
    assert_eq!(other["spec"]["users"][1], machine_config["spec"]["users"][1]);
}

#[test]
fn a_rendered_mark_is_no_secret_of_the_cluster() {
    let key = MarkKey::fresh();
    let text = serde_json::to_vec(&Snapshot::of(world(inventory(&[secret(CANARY)])), &key, &[])).expect("JSON");
    assert!(!String::from_utf8_lossy(&text).contains(&key.hex()));
    let Snapshot { mut world, .. } = Snapshot::read(&text).expect("a snapshot");
    let shown = world.live.objects()[0].value().expect("a tree").into_owned();
    for key in [None, Some(&key)] {
        reveal(&mut world, key, &[], &[&inventory(std::slice::from_ref(&shown))]);
        assert_ne!(*world.live.objects()[0].value().expect("a tree"), shown);
    }
}

#[test]
fn what_only_the_cluster_knows_to_be_secret_is_found_again_in_the_rendered_text() {
    let content = "note: canary-secret-text\nx: 10.0.0.1\ny: some canary-secret-text here\n";
    let live = inventory(&[secret(CANARY), control_plane(content)]);
    let key = MarkKey::fresh();
    let text = serde_json::to_vec(&Snapshot::of(world(live), &key, &[])).expect("JSON");
    assert!(!String::from_utf8_lossy(&text).contains("canary"));
    let Snapshot { mut world, .. } = Snapshot::read(&text).expect("a snapshot");
    reveal(&mut world, Some(&key), &[], &[&inventory(&[control_plane(content)])]);
    let found = world.live.objects().iter().find(|object| object.key.kind == "RKE2ControlPlane").expect("there");
    assert_eq!(*found.value().expect("a tree"), control_plane(content));
}

#[test]
fn what_controllers_keep_as_json_comes_back_as_it_was() {
    // Go escapes the signs in the first; the second has them as they are.
    const WORD: &str = "it is \"quoted\" && Zq7xW9";
    let config = |word: &str| json!({"cni": "calico", "kubeAPIServer": {"extraEnv": {"A": word}}, "tlsSan": ["a.b", "10.0.0.1"]});
    let owner = |word: &str| {
        json!({"apiVersion": "controlplane.cluster.x-k8s.io/v1beta1", "kind": "RKE2ControlPlane", "metadata": {"name": "cp", "namespace": "n"},
            "spec": {"serverConfig": config(word), "version": "v1.31.0"}})
    };
    let machine = json!({"apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "Machine", "metadata": {"name": "m", "namespace": "n", "annotations": {
        "controlplane.cluster.x-k8s.io/rke2-server-configuration": config(WORD).to_string().replace('&', "\\u0026"),
        "kubectl.kubernetes.io/last-applied-configuration": format!("{}\n", owner(WORD))}}});
    let key = MarkKey::fresh();
    let live = inventory(&[owner(WORD), machine.clone()]);
    let text = serde_json::to_vec(&Snapshot::of(world(live), &key, &[])).expect("JSON");
    assert!(!String::from_utf8_lossy(&text).contains("Zq7xW9"));
    let again = |word: &str| {
        let Snapshot { mut world, .. } = Snapshot::read(&text).expect("a snapshot");
        reveal(&mut world, Some(&key), &[], &[&inventory(&[owner(word)])]);
        let found = world.live.objects().iter().find(|object| object.key.kind == "Machine").expect("there");
        found.value().expect("a tree").into_owned()
    };
    assert_eq!(again(WORD), machine);
    assert_ne!(again("another"), machine);
}

#[test]
fn what_a_conversion_keeps_of_an_object_is_hidden_as_in_the_object() {
    let stored = json!({"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "MachineDeployment", "spec": {"clusterName": "demo", "template": {
        "spec": {"bootstrap": {"configRef": {"apiGroup": "bootstrap.cluster.x-k8s.io", "kind": "RKE2ConfigTemplate", "name": "workers"}}}}}});
    let live = json!({"apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "MachineDeployment", "metadata": {"name": "m", "namespace": "n", "annotations": {
        "cluster.x-k8s.io/conversion-data": stored.to_string(), "another": stored.to_string()}}});
    let snapshot = Snapshot::of(world(inventory(&[live])), &MarkKey::fresh(), &[]);
    let object = snapshot.world.live.objects()[0].value().expect("a tree").into_owned();
    assert_eq!(object["metadata"]["annotations"]["cluster.x-k8s.io/conversion-data"], Value::from(stored.to_string()));
    assert!(!object["metadata"]["annotations"]["another"].to_string().contains("RKE2ConfigTemplate"));
}

#[test]
fn what_is_encoded_in_what_kubectl_applied_last_comes_back_as_it_was() {
    let owner = |word: &str| {
        let file = BASE64_STANDARD.encode(format!("a file with the word {word} and others"));
        let files = json!([{"path": "/a", "encoding": "base64", "content": file}]);
        json!({"apiVersion": "controlplane.cluster.x-k8s.io/v1beta1", "kind": "KubeadmControlPlane", "metadata": {"name": "cp", "namespace": "n"},
            "spec": {"kubeadmConfigSpec": {"files": files}}})
    };
    let mut live = owner("Zq7xW9");
    live["metadata"]["annotations"] =
        json!({"kubectl.kubernetes.io/last-applied-configuration": format!("{}\n", owner("Zq7xW9"))});
    let key = MarkKey::fresh();
    let text =
        serde_json::to_vec(&Snapshot::of(world(inventory(std::slice::from_ref(&live))), &key, &[])).expect("JSON");
    let again = |word: &str| {
        let Snapshot { mut world, .. } = Snapshot::read(&text).expect("a snapshot");
        reveal(&mut world, Some(&key), &[], &[&inventory(&[owner(word)])]);
        world.live.objects()[0].value().expect("a tree").into_owned()
    };
    assert_eq!(again("Zq7xW9"), live);
    assert_ne!(again("another"), live);
}
