//! The roles of `docs/rbac.yaml` on a real API server: enough as they stand, and each rule that is taken away is named with
//! the line that puts it back.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};

use crate::bench::{Bench, NAMESPACE, bench};
use crate::look::{Verdict, essence, look, verdict};

/// The rules of one role of the documentation.
pub(crate) fn rules(role: &str) -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/rbac.yaml");
    let bytes: bytes::Bytes = std::fs::read(path).expect("the roles").into();
    let stream = rollgate::facade::object::Stream::load(&bytes).expect("a stream");
    let object = stream.objects.objects().iter().find(|object| object.key.name == role).expect("the role");
    Value::from(&object.value().expect("a tree")["rules"]).as_array().expect("rules").clone()
}

/// A user with these rights in the namespace, and these in the whole cluster.
pub(crate) fn user(bench: &Bench, name: &str, inside: &[Value], everywhere: &[Value]) -> PathBuf {
    let rbac = "rbac.authorization.k8s.io";
    let object = |kind: &str, namespace: Option<&str>, more: Value| {
        let mut object = json!({"apiVersion": format!("{rbac}/v1"), "kind": kind, "metadata": {"name": name}});
        if let Some(namespace) = namespace {
            object["metadata"]["namespace"] = json!(namespace);
        }
        object.as_object_mut().expect("a map").extend(more.as_object().expect("a map").clone());
        object
    };
    let subjects = json!([{"kind": "User", "apiGroup": rbac, "name": name}]);
    let bind = |kind: &str| json!({"subjects": subjects, "roleRef": {"apiGroup": rbac, "kind": kind, "name": name}});
    bench.create(
        &format!("user-{name}"),
        &[
            object("Role", Some(NAMESPACE), json!({"rules": inside})),
            object("RoleBinding", Some(NAMESPACE), bind("Role")),
            object("ClusterRole", None, json!({"rules": everywhere})),
            object("ClusterRoleBinding", None, bind("ClusterRole")),
        ],
    );
    PathBuf::from(bench.run("bench", &["user", "--out", bench.out.to_str().expect("a path"), name]).trim())
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime")
}

#[test]
fn the_roles_are_enough_and_every_missing_right_is_named() {
    let Some(bench) = bench() else { return };
    let stream = bench.rendered();
    let read = |kubeconfig: &Path| runtime().block_on(look(&stream, kubeconfig, Duration::from_secs(20)));
    let admin = read(&bench.kubeconfig);
    let (inside, everywhere) = (rules("rollgate-read"), rules("rollgate-versions"));
    let least = read(&user(bench, "least", &inside, &everywhere));
    assert_eq!(essence(&least), essence(&admin), "{:?}", least.world.unread);
    assert!(least.warnings.is_empty(), "{:?}", least.warnings);

    let mut needed = 0;
    for (place, rule) in inside.iter().enumerate() {
        let without: Vec<Value> =
            inside.iter().enumerate().filter(|(at, _)| *at != place).map(|(_, rule)| rule.clone()).collect();
        let found = read(&user(bench, &format!("without-{place}"), &without, &everywhere));
        let group = rule["apiGroups"][0].as_str().expect("a group");
        if is_unused(rule) {
            assert_eq!(verdict(&admin, &found), Verdict::Right, "{rule}");
            continue;
        }
        needed += 1;
        assert_eq!(verdict(&admin, &found), Verdict::Undecided, "{rule}");
        let named =
            found.world.unread.iter().any(|unread| unread.remedy.contains(&format!("apiGroups: [\"{group}\"]")));
        assert!(named, "{rule}: {:?}", found.world.unread);
    }
    assert_eq!(needed, 6, "rules that this chart needs");

    let blind = read(&user(bench, "blind", &inside, &[]));
    assert_eq!(verdict(&admin, &blind), Verdict::Assumed, "{:?} {:?}", blind.world.unread, blind.warnings);
    assert!(
        blind.warnings.iter().any(|warning| warning.contains("clusterctl.cluster.x-k8s.io")),
        "{:?}",
        blind.warnings
    );
}

/// Rules for what this chart does not have: hosts of Metal3, ConfigMaps, and a namespace in which nothing lives yet.
fn is_unused(rule: &Value) -> bool {
    let resource = rule["resources"][0].as_str().unwrap_or_default();
    rule["apiGroups"][0] == "metal3.io" || ["configmaps", "namespaces"].contains(&resource)
}

#[test]
fn putting_back_what_is_named_makes_the_read_whole() {
    let Some(bench) = bench() else { return };
    let stream = bench.rendered();
    let read = |kubeconfig: &Path| runtime().block_on(look(&stream, kubeconfig, Duration::from_secs(20)));
    let mut granted: Vec<Value> = Vec::new();
    for round in 0..6 {
        let found = read(&user(bench, &format!("round-{round}"), &granted, &rules("rollgate-versions")));
        if found.world.unread.is_empty() {
            let admin = read(&bench.kubeconfig);
            assert_eq!(essence(&found), essence(&admin));
            return;
        }
        for unread in &found.world.unread {
            let line = unread.remedy.strip_prefix("add to the role: - ").expect("a rule");
            let bytes = line.as_bytes();
            let span = rollgate::facade::yaml::Span { start: 0, end: bytes.len() };
            granted.push(rollgate::facade::yaml::read_json(bytes, span).expect("a rule that can be pasted").into());
        }
    }
    panic!("the read asks for ever more rights: {granted:?}");
}
