use super::super::{PolicyErrors, parse};
use crate::tree::{Value, json};

fn policy(edit: impl FnOnce(&mut Value)) -> Result<super::Policy, PolicyErrors> {
    let mut value = json!({
        "apiVersion": "rollgate.dev/v1alpha1", "kind": "Policy",
        "lateValues": [{"name": "vip", "placeholders": ["55.55.55.55"], "type": "ip", "within": "10.0.0.0/8",
            "from": [{"object": {"apiVersion": "v1", "kind": "ConfigMap", "name": "c", "path": "$.data.allocated_ip"}},
                     {"env": "VIP"}], "wait": "10m"}],
        "pins": {"store": "configmap/rollgate-pins"},
        "gates": {"windows": [{"cron": "0 2 * * SAT", "for": "3h", "timeZone": "Europe/Paris"}]}
    });
    edit(&mut value);
    parse("rollgate.yaml", value.to_string().as_bytes())
}

/// Sets one place of the policy above, also where nothing stood before.
fn set(root: &mut Value, pointer: &str, value: Value) {
    let (above, last) = pointer.rsplit_once('/').expect("a pointer");
    match root.pointer_mut(above).expect("a place") {
        Value::Array(list) => list[last.parse::<usize>().expect("a number")] = value,
        map => map[last] = value,
    }
}

/// A list of one expectation with one field set.
fn expected(field: &str, value: Value) -> Value {
    let mut one = json!({"kind": "A", "path": "spec.version", "to": "v1.34.2", "until": "2026-12-01T00:00:00Z"});
    one[field] = value;
    json!([one])
}

#[test]
fn a_policy_that_says_what_it_means_is_read() {
    let policy = policy(|_| {}).expect("a policy");
    assert_eq!(policy.late_values[0].name, "vip");
    assert_eq!(policy.gates.windows[0].length, "3h");
}

#[test]
fn what_can_never_work_is_named() {
    let late = "/lateValues/0";
    for (pointer, value, complaint) in [
        ("/apiVersion".to_owned(), json!("v1"), "apiVersion: found \"v1\"; this version reads rollgate.dev/v1alpha1"),
        ("/kind".to_owned(), json!("Gate"), "kind: found \"Gate\""),
        (format!("{late}/name"), json!("a b"), "lateValues[0].name: a name is made of"),
        (format!("{late}/from"), json!([]), "lateValues[0].from: vip has no source"),
        (format!("{late}/from/1"), json!({"env": "A", "file": "b"}), "exactly one of object, file, env"),
        (format!("{late}/from/1"), json!({}), "exactly one of object, file, env"),
        (format!("{late}/from/1/env"), json!("A=B"), "cannot be the name of an environment variable"),
        (format!("{late}/from/0/object/path"), json!("{.data.ip}"), "is not a JSONPath"),
        (format!("{late}/from/0/object/path"), json!("{.data.ip}"), "write $.data.ip"),
        (format!("{late}/from/0/object/name"), json!(""), "from[0].object.name: name is empty"),
        (format!("{late}/placeholders/0"), json!(""), "belong under equivalent"),
        (format!("{late}/placeholders/0"), json!("a\nb"), "one token"),
        (format!("{late}/placeholders"), json!(["5.5.5.5", "5.5.5.5/32"]), "placeholders[1]"),
        (format!("{late}/pattern"), json!("("), "lateValues[0].pattern: not a regular expression"),
        (format!("{late}/within"), json!("10.0.0.0"), "is not a network"),
        (format!("{late}/type"), json!("hostname"), "set type: ip"),
        (format!("{late}/type"), json!("ipv4"), "\"ipv4\" is not ip, cidr, hostname"),
        (format!("{late}/wait"), json!("10"), "write it as 10m"),
        ("/pins".to_owned(), json!({"store": "configmap/a", "file": "b"}), "not both"),
        ("/pins/store".to_owned(), json!("vault/a"), "write configmap/NAME or secret/NAME"),
        ("/pins/store".to_owned(), json!("configmap/"), "write configmap/NAME"),
        ("/approvals".to_owned(), json!({"from": ["secret/a"]}), "approvals.from[0]: \"secret/a\" is no place"),
        ("/approvals".to_owned(), json!({"from": ["configmap/rollgate-pins"]}), "the pins are there"),
        ("/approvals".to_owned(), json!({"from": [{"file": ""}]}), "approvals.from[0].file: the file has no name"),
        ("/approvals".to_owned(), json!({"from": [{"file": "a"}, {"file": "a", "of": "change"}]}), "stands twice"),
        ("/approvals".to_owned(), json!({"from": [{"file": "a", "of": "request"}]}), "approvals.from[0]: "),
        ("/approvals".to_owned(), json!({"by": [" "]}), "approvals.by[0]: the name is empty"),
        ("/approvals".to_owned(), json!({"longest": "1 day"}), "approvals.longest: "),
        ("/expect".to_owned(), expected("clusters", json!("a b")), "expect[0].clusters: "),
        ("/expect".to_owned(), expected("kind", json!("")), "expect[0].kind: the kind is empty"),
        ("/expect".to_owned(), expected("path", json!("spec.*")), "expect[0].path: name one field"),
        ("/expect".to_owned(), expected("path", json!("")), "expect[0].path: the path is empty"),
        ("/expect".to_owned(), expected("to", json!({"a": 1})), "expect[0].to: an expected value is a text"),
        ("/expect".to_owned(), expected("with", json!(["**"])), "expect[0].with[0]: name the places"),
        ("/expect".to_owned(), expected("until", json!("tomorrow")), "expect[0].until: "),
        ("/gates/windows/0/cron".to_owned(), json!("0 25 * * *"), "does not fit in a field of 0 to 23"),
        ("/gates/windows/0/cron".to_owned(), json!("@daily"), "it has 1 field; it needs five"),
        ("/gates/windows/0/for".to_owned(), json!("0"), "never opens"),
        ("/gates/windows/0/timeZone".to_owned(), json!("Paris"), "is not a time zone"),
        ("/gates/health".to_owned(), json!({"vip": "hold"}), "gates.health.vip: hold cannot be kept"),
        ("/gates/health".to_owned(), json!({"pdb": "hold"}), "gates.health.pdb: hold cannot be kept"),
        ("/workload".to_owned(), json!({"read": true, "timeout": "5"}), "workload.timeout: "),
        ("/workload".to_owned(), json!({"read": true, "timeout": "0s"}), "no time at all is too little"),
        ("/workload".to_owned(), json!({"read": true, "clusters": ["a", "a/b/c"]}), "workload.clusters[1]: "),
        ("/workload".to_owned(), json!({"reads": true}), "reads"),
        ("/rules".to_owned(), json!([{"id": "a/b"}]), "rules[0]: the field `paths` is missing"),
        (
            "/rules".to_owned(),
            json!([{"id": "a/b", "paths": ["spec.x"], "effect": "roll", "because": "B."}]),
            "rules[0].effect: \"roll\" is not a choice here; known are none",
        ),
    ] {
        let error = policy(|root| set(root, &pointer, value)).expect_err(&pointer);
        assert!(error.0[0].message.contains(complaint), "{pointer}: {}", error.0[0].message);
    }
}

#[test]
fn what_is_asked_of_a_workload_cluster_holds_only_where_it_is_read() {
    let holds = |read: bool| {
        policy(|root| {
            root["gates"]["health"] = json!({"vip": "hold", "pdb": "hold"});
            root["workload"] = json!({"read": read, "timeout": "5s", "clusters": ["fleet/*", "edge-1"]});
        })
    };
    assert!(holds(true).is_ok() && holds(false).is_err());
    assert!(policy(|root| root["gates"]["health"] = json!({"vip": "warn", "pdb": "allow"})).is_ok());
}

#[test]
fn a_pinned_field_has_a_value_where_a_person_sets_it() {
    for (field, complaint) in [
        (json!({"kind": "A", "path": "spec.a", "pin": "manual"}), "has the value that it is"),
        (json!({"kind": "A", "path": "spec.a", "value": 1}), "only a field with pin: manual has a value"),
        (json!({"kind": "ATemplate", "path": "metadata.name", "pin": "manual", "value": "x"}), "is kept or not"),
    ] {
        let error = policy(|root| root["pins"]["fields"] = json!([field])).expect_err(complaint).0[0].message.clone();
        assert!(error.contains(complaint), "{error}");
    }
}

#[test]
fn places_say_something_that_can_be_read() {
    for (places, complaint) in [
        (json!({}), "say which places"),
        (json!({"path": "spec..a"}), "a step is empty"),
        (json!({"path": ""}), "is empty"),
    ] {
        let error =
            policy(|root| root["resolve"] = json!({"skip": [places]})).expect_err(complaint).0[0].message.clone();
        assert!(error.contains(complaint), "{error}");
    }
}

#[test]
fn two_values_do_not_share_a_name_or_a_placeholder() {
    for (name, placeholder, complaint) in [
        ("vip", "6.6.6.6", "stands twice"),
        ("fip", "55.55.55.55", "contain each other"),
        ("fip", "155.55.55.55", "contain each other"),
        ("fip", "5.55.55.5", "contain each other"),
    ] {
        let error = policy(|root| {
            let twin = json!({"name": name, "placeholders": [placeholder], "from": [{"env": "A"}]});
            root["lateValues"].as_array_mut().expect("a list").push(twin);
        });
        let message = error.expect_err(complaint).0[0].message.clone();
        assert!(message.contains(complaint), "{message}");
    }
}

#[test]
fn unknown_fields_are_named_with_the_nearest_one() {
    let error = policy(|root| root["lateValues"][0]["placeholder"] = json!("x")).expect_err("unknown field");
    assert_eq!(
        error.0[0].message,
        "lateValues[0].placeholder: there is no such field here; did you mean `placeholders`?"
    );
}

#[test]
fn an_empty_policy_says_how_one_starts() {
    let error = parse("rollgate.yaml", b"null").expect_err("nothing in it");
    assert!(error.0[0].message.contains("apiVersion: rollgate.dev/v1alpha1"), "{error}");
}

#[test]
fn what_is_said_of_flux_can_work() {
    let values = json!({"namespace": "edge-1", "name": "values", "template": "template"});
    assert!(policy(|root| root["flux"] = json!({"gate": ["tier in (prod)"], "values": [values]})).is_ok());
    let other = |field: &str, value: &str| {
        let mut other = values.clone();
        other[field] = json!(value);
        other
    };
    for (wrong, says) in [
        (json!({"gate": ["tier in prod"]}), "selector"),
        (json!({"values": [other("namespace", "Edge")]}), "no name"),
        (json!({"values": [other("key", "")]}), "empty"),
        (json!({"values": [other("template", "values")]}), "written over"),
        (json!({"values": [values, values]}), "an entry above"),
    ] {
        let error = policy(|root| root["flux"] = wrong.clone()).expect_err("it is wrong").to_string();
        assert!(error.contains(says), "{wrong}: {error}");
    }
}
