use super::*;
use crate::tree::json;

fn source(kind: &str, path: &str) -> ObjectSource {
    ObjectSource {
        api_version: "v1".to_owned(),
        kind: kind.to_owned(),
        name: "late".to_owned(),
        selector: None,
        namespace: None,
        path: path.to_owned(),
        release: None,
    }
}

fn policy(from: Value) -> Policy {
    let value = json!({"apiVersion": "rollgate.dev/v1alpha1", "kind": "Policy",
        "lateValues": [{"name": "vip", "from": from}, {"name": "other", "from": [{"env": "OTHER"}]}]});
    crate::policy::parse("p", value.to_string().as_bytes()).expect("a policy")
}

fn vip() -> BTreeSet<String> {
    BTreeSet::from(["vip".to_owned()])
}

#[test]
fn a_field_gives_its_text() {
    let object = json!({"data": {"ip": "10.0.3.7", "empty": ""}, "status": {"port": 6443, "up": true, "none": null,
        "list": [1], "addresses": [{"type": "a", "ip": "1"}, {"type": "b", "ip": "2"}]}});
    for (path, text) in [
        ("$.data.ip", Some("10.0.3.7")),
        ("$.data.empty", Some("")),
        ("$['data']['ip']", Some("10.0.3.7")),
        ("$.status.port", Some("6443")),
        ("$.status.up", Some("true")),
        ("$.status.none", None),
        ("$.data.lacks", None),
        ("$.status.addresses[?@.type == 'b'].ip", Some("2")),
    ] {
        let found = extract(&object, &source("ConfigMap", path)).expect(path);
        assert_eq!(found.as_deref(), text, "{path}");
    }
}

#[test]
fn several_values_are_doubt_and_never_a_choice() {
    let object = json!({"a": [{"ip": "1"}, {"ip": "2"}], "map": {}});
    for (path, complaint) in [("$.a[*].ip", "finds 2 values"), ("$.a", "finds a list"), ("$.map", "finds a map")] {
        let why = extract(&object, &source("ConfigMap", path)).expect_err(path);
        assert!(why.contains(complaint), "{why}");
    }
}

#[test]
fn data_of_a_secret_is_decoded_and_that_of_others_is_not() {
    let object =
        json!({"data": {"token": "czNjcjN0", "bad": "%%%", "binary": "/w=="}, "metadata": {"uid": "czNjcjN0"}});
    let read = |kind: &str, path: &str| extract(&object, &source(kind, path));
    assert_eq!(read("Secret", "$.data.token"), Ok(Some("s3cr3t".to_owned())));
    assert_eq!(read("Secret", "$.metadata.uid"), Ok(Some("czNjcjN0".to_owned())));
    assert_eq!(read("ConfigMap", "$.data.token"), Ok(Some("czNjcjN0".to_owned())));
    assert!(read("Secret", "$.data.bad").is_err());
    assert!(read("Secret", "$.data.binary").is_err());
}

#[test]
fn an_inventory_gives_what_its_objects_hold() {
    let from = json!([{"object": {"apiVersion": "v1", "kind": "ConfigMap", "name": "c", "path": "$.data.ip"}}]);
    let object = json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "c", "namespace": "capo", "uid": "u1", "resourceVersion": "7"}, "data": {"ip": "10.0.3.7"}});
    let live = Inventory::from(vec![Object::from_value(object, 0).expect("an object")]);
    let read = |namespace| within(&policy(from.clone()), &vip(), namespace, &live).remove(0);
    let found = read(Some("capo"));
    assert_eq!(found.found.as_deref(), Some("10.0.3.7"));
    assert_eq!(found.source, "ConfigMap capo/c at $.data.ip");
    assert_eq!((found.uid.as_deref(), found.resource_version.as_deref()), (Some("u1"), Some("7")));
    assert_eq!(read(None).found.as_deref(), Some("10.0.3.7"));
    assert_eq!(read(Some("elsewhere")).found, None);
    let twin = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "namespace": "b"}, "data": {"ip": "10.0.9.9"}});
    let mut live = live.clone();
    live.push(Object::from_value(twin, 0).expect("an object"));
    let read = |namespace| within(&policy(from.clone()), &vip(), namespace, &live).remove(0);
    assert_eq!((read(None).found, read(None).unread.is_some()), (None, true), "which of the two is not known");
    assert_eq!(read(Some("b")).found.as_deref(), Some("10.0.9.9"));
}

#[test]
fn a_selector_finds_one_object_or_says_which_ones_it_found() {
    let from =
        json!([{"object": {"apiVersion": "v1", "kind": "ConfigMap", "selector": "app=vip", "path": "$.data.ip"}}]);
    let object = |name: &str, app: &str| {
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"ip": "10.0.3.7"},
            "metadata": {"name": name, "namespace": "capo", "labels": {"app": app}, "uid": name}});
        Object::from_value(object, 0).expect("an object")
    };
    let read =
        |objects: Vec<Object>| within(&policy(from.clone()), &vip(), Some("capo"), &Inventory::from(objects)).remove(0);
    let one = read(vec![object("a", "vip"), object("b", "other")]);
    assert_eq!((one.found.as_deref(), one.uid.as_deref()), (Some("10.0.3.7"), Some("a")));
    assert_eq!(one.source, "ConfigMap capo/(app=vip) at $.data.ip");
    assert_eq!(read(vec![object("b", "other")]).found, None);
    let two = read(vec![object("a", "vip"), object("b", "vip")]);
    assert_eq!(two.unread.as_deref(), Some("2 objects have the labels app=vip: a, b; make the selector find one"));
}

#[test]
fn a_value_of_the_last_revision_is_read_from_its_record() {
    let from = json!([{"release": {"name": "demo", "path": "$.cluster.vip"}}]);
    let secret = |number: u64, status: &str, values: Value| {
        let encode = |bytes: &[u8]| base64::engine::general_purpose::STANDARD.encode(bytes);
        let record = json!({"name": "demo", "version": number, "info": {"status": status}, "config": values});
        let object = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"namespace": "capo",
            "name": format!("sh.helm.release.v1.demo.v{number}"), "labels": {"owner": "helm", "name": "demo", "status": status}},
            "data": {"release": encode(encode(record.to_string().as_bytes()).as_bytes())}});
        Object::from_value(object, 0).expect("an object")
    };
    let read =
        |objects: Vec<Object>| within(&policy(from.clone()), &vip(), Some("capo"), &Inventory::from(objects)).remove(0);
    let old = secret(1, "superseded", json!({"cluster": {"vip": "10.0.3.6"}}));
    let found = read(vec![old.clone(), secret(2, "deployed", json!({"cluster": {"vip": "10.0.3.7"}}))]);
    assert_eq!((found.found.as_deref(), found.secret), (Some("10.0.3.7"), true));
    assert_eq!(found.source, "values of release capo/demo at $.cluster.vip");
    let lacks = read(vec![secret(2, "deployed", json!({"password": "x"}))]);
    assert_eq!(lacks.gap, Some(Gap::KeyMissing(Vec::new())));
    assert_eq!((read(vec![old]).found, read(Vec::new()).found), (None, None));
}

#[test]
fn a_key_that_is_missing_is_said_with_those_that_are_there() {
    let from = json!([{"heat": {"output": "allocated_ip"}}]);
    let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"allocated_fip": "", "ip": "1"},
        "metadata": {"name": "capo-cluster-resources", "namespace": "capo", "labels":
            {"generate.kyverno.io/clone-source": "", "generate.kyverno.io/source-namespace": "mgmt", "generate.kyverno.io/source-name": "c"}}});
    let live = Inventory::from(vec![Object::from_value(object, 0).expect("an object")]);
    let found = within(&policy(from), &vip(), Some("capo"), &live).remove(0);
    assert_eq!(found.gap, Some(Gap::KeyMissing(vec!["allocated_fip".to_owned(), "ip".to_owned()])));
    assert_eq!(found.clone_of.as_deref(), Some("a copy by Kyverno of mgmt/c"));
}

#[test]
fn sources_of_platforms_are_fields_of_objects() {
    for (from, described, path) in [
        (
            json!({"heat": {"output": "allocated_ip", "configMap": "outputs"}}),
            "ConfigMap capo/outputs",
            "$.data['allocated_ip']",
        ),
        (
            json!({"endpoint": {"kind": "OpenStackCluster", "name": "demo"}}),
            "OpenStackCluster capo/demo",
            "$.spec.controlPlaneEndpoint.host",
        ),
        (
            json!({"service": {"name": "api", "namespace": "x"}}),
            "Service x/api",
            "$.status.loadBalancer.ingress[*]['ip','hostname']",
        ),
        (json!({"image": {"name": "cp-1"}}), "Metal3MachineTemplate capo/cp-1", "$.spec.template.spec.image.checksum"),
    ] {
        let policy = policy(json!([from]));
        assert_eq!(describe(&policy.late_values[0].from[0], Some("capo")), (described.to_owned(), path.to_owned()));
    }
    let service = json!({"status": {"loadBalancer": {"ingress": [{"ip": "10.0.3.7"}]}}});
    let path = "$.status.loadBalancer.ingress[*]['ip','hostname']";
    assert_eq!(at_path(&service, path).map(|found| found.map(|(text, _)| text)), Ok(Some("10.0.3.7".to_owned())));
    let two = json!({"status": {"loadBalancer": {"ingress": [{"ip": "10.0.3.7"}, {"ip": "fd00::7"}]}}});
    assert!(at_path(&two, path).is_err());
}

#[test]
fn the_address_of_a_source_is_said_without_what_may_be_secret_in_it() {
    for (url, said) in [
        ("https://reader:hunter2@vault.example.org:1/x?token=t", "https://vault.example.org:1/x"),
        ("https://token@vault.example.org/x#f", "https://vault.example.org/x"),
        ("https://u:hun/ter2@vault.example.org/x", "https://"),
        ("https://u:p?hunter2@vault.example.org/x", "https://"),
        ("http://[fd00::1]:8080/a@b", "http://[fd00::1]:8080/a@b"),
        ("https://vault.example.org", "https://vault.example.org"),
    ] {
        assert_eq!(place_of(url), said, "{url}");
    }
}
