//! What needs more than one read: pins that are written with the least rights, records that lie elsewhere, and what a large
//! namespace costs. Runs the program itself.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::bench::{Bench, NAMESPACE, RELEASE, bench};
use crate::rights::{rules, user};

/// Runs the program; its exit code and all that it says.
fn rollgate(bench: &Bench, kubeconfig: &Path, env: &[(&str, &str)], args: &[&str]) -> (Option<i32>, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_rollgate"))
        .env("COLUMNS", "1000")
        .args(args)
        .env("KUBECONFIG", kubeconfig)
        .envs(env.iter().copied())
        .current_dir(&bench.out)
        .output()
        .expect("the program runs");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout) + &text(&output.stderr))
}

#[test]
fn the_role_for_pins_is_enough_and_a_missing_right_is_named() {
    let Some(bench) = bench() else { return };
    let policy = bench.out.join("pins.yaml");
    let text = "apiVersion: rollgate.dev/v1alpha1\nkind: Policy\nlateValues:\n- {name: vip, placeholders: [\"55.55.55.55\"], \
                type: ip, from: [{env: VIP}]}\npins: {store: configmap/rollgate-pins}\n";
    std::fs::write(&policy, text).expect("a file");
    let policy = policy.to_str().expect("a path");
    let set = |kubeconfig: &Path, value: &str| {
        let args = ["pin", "set", "vip", value, "--reason", "a test", "--policy", policy, "--namespace", NAMESPACE];
        rollgate(bench, kubeconfig, &[], &args)
    };
    let mut commit = rules("rollgate-commit");
    for (name, of) in [("rollgate-forecasts", "forecasts that are kept"), ("rollgate-history", "budgets of a day")] {
        assert!(commit.pop_if(|rule| rule["resourceNames"][0] == name).is_some(), "the last rule is that of {of}");
    }
    assert_eq!(commit.len(), 2);
    let only = |name: &str, place: usize| user(bench, name, &[commit[place].clone()], &[]);
    let named = |verbs: &str| {
        format!("add to the role: - {{apiGroups: [\"\"], resources: [\"configmaps\"], verbs: [{verbs}]}}")
    };
    // The first pin makes the ConfigMap, later ones change it.
    let (code, said) = set(&only("pins-no-create", 1), "10.0.3.7");
    assert_eq!(code, Some(4), "{said}");
    assert!(said.contains(&named("\"create\"")), "{said}");
    let (code, said) = set(&only("pins-no-get", 0), "10.0.3.7");
    assert_eq!(code, Some(4), "{said}");
    assert!(said.contains(&named("\"get\"")), "{said}");
    let least = user(bench, "pins", &commit, &[]);
    for value in ["10.0.3.7", "10.0.3.8"] {
        let (code, said) = set(&least, value);
        assert_eq!(code, Some(0), "{said}");
    }
    let mut no_update = commit.clone();
    no_update[1]["verbs"] = json!(["get"]);
    let (code, said) = set(&user(bench, "pins-no-update", &no_update, &[]), "10.0.3.9");
    assert_eq!(code, Some(4), "{said}");
    assert!(said.contains(&named("\"update\"")), "{said}");
}

#[test]
fn a_record_elsewhere_is_read_where_it_is_and_doubted_where_it_cannot_be() {
    let Some(bench) = bench() else { return };
    let stream = bench.out.join("elsewhere.yaml");
    std::fs::write(&stream, bench.rendered()).expect("a file");
    let plan = |env: &[(&str, &str)], more: &[&str]| {
        let mut args = vec!["plan", stream.to_str().expect("a path"), "--policy", "none", "--host", "helm3"];
        args.extend(["--release", RELEASE, "--namespace", NAMESPACE]);
        args.extend(more);
        rollgate(bench, &bench.kubeconfig, env, &args)
    };
    let (code, said) = plan(&[], &[]);
    assert_eq!(code, Some(0), "{said}");
    // Live objects say that they belong to the release, so a namespace without its record is doubt.
    bench.run("kubectl", &["create", "namespace", "store"]);
    let (code, said) = plan(&[], &["--storage-namespace", "store"]);
    assert_eq!(code, Some(4), "{said}");
    let record = bench.run("kubectl", &["get", "secret", "-n", NAMESPACE, "-l", "owner=helm", "-o", "json"]);
    let mut record: Value = serde_json::from_str(&record).expect("JSON");
    let copies: Vec<Value> = record["items"].as_array_mut().expect("a list").iter_mut().map(moved).collect();
    bench.create("record", &copies);
    let (code, said) = plan(&[], &["--storage-namespace", "store"]);
    assert_eq!(code, Some(0), "{said}");
    for driver in ["configmap", "sql", "memory"] {
        let (code, said) = plan(&[("HELM_DRIVER", driver)], &[]);
        assert_eq!(code, Some(4), "{driver}: {said}");
    }
}

/// A record as it lies in another namespace.
fn moved(record: &mut Value) -> Value {
    let metadata =
        json!({"name": record["metadata"]["name"], "namespace": "store", "labels": record["metadata"]["labels"]});
    record["metadata"] = metadata;
    record.take()
}

#[test]
fn a_namespace_with_200_machines_takes_few_requests() {
    let Some(bench) = bench() else { return };
    bench.run("kubectl", &["create", "namespace", "big"]);
    let chart = format!("{}/tests/e2e/charts/kubeadm", env!("CARGO_MANIFEST_DIR"));
    bench.run("helm3", &["install", "big", &chart, "-n", "big"]);
    let mut objects = Vec::new();
    for number in 0..200 {
        let name = format!("big-{number}");
        let mut labels = json!({"cluster.x-k8s.io/cluster-name": "big"});
        if number < 5 {
            labels["cluster.x-k8s.io/control-plane"] = json!("");
        }
        let object = |group: &str, kind: &str, spec: Value| {
            json!({"apiVersion": format!("{group}/v1beta2"), "kind": kind, "spec": spec,
                "metadata": {"name": name, "namespace": "big", "labels": labels}})
        };
        let spec = json!({"clusterName": "big", "version": "v1.34.0",
            "bootstrap": {"configRef": {"apiGroup": "bootstrap.cluster.x-k8s.io", "kind": "KubeadmConfig", "name": name}},
            "infrastructureRef": {"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "DevMachine", "name": name}});
        objects.push(object("cluster.x-k8s.io", "Machine", spec));
        objects.push(object("bootstrap.cluster.x-k8s.io", "KubeadmConfig", json!({"verbosity": 2})));
        objects.push(object("infrastructure.cluster.x-k8s.io", "DevMachine", json!({"backend": {"inMemory": {}}})));
    }
    bench.create("big", &objects);
    let stream = bench.out.join("big.yaml");
    std::fs::write(&stream, bench.run("helm3", &["template", "big", &chart, "-n", "big"])).expect("a file");
    let mut args = vec!["plan", stream.to_str().expect("a path"), "--policy", "none", "--host", "helm3"];
    args.extend(["--release", "big", "--namespace", "big", "--explain-reads"]);
    let (code, said) = rollgate(bench, &bench.kubeconfig, &[], &args);
    assert_eq!(code, Some(0), "{said}");
    let last = said.lines().last().expect("a line");
    eprintln!("a namespace with 200 Machines: {last}");
    let requests: Vec<u64> = last.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    assert!(matches!(requests.as_slice(), [requests, ..] if *requests < 50), "{said}");
}
