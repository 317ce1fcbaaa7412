//! Forecasts that are kept, and what is said of them: what they hold, and what happens where they cannot be kept or compared.

use serde_json::{Value, json};

use super::emptied::{Cluster, capi, live};
use super::{Program, Ran, root};

const HEAD: &str = "apiVersion: rollgate.dev/v1alpha1\nkind: Policy\n";

/// A stream for the cluster of the example: as it is there, with one more label, beside things that nobody may see.
fn stream() -> String {
    let cluster = json!({"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster",
        "metadata": {"name": "edge-1", "namespace": "telco", "labels": {"team": "blue"}, "annotations": {"note": "s3cr3t-in-a-note"}},
        "spec": {"paused": false}});
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "keys", "namespace": "telco"},
        "stringData": {"token": "s3cr3t-in-a-secret"}});
    format!("---\n{cluster}\n---\n{secret}\n")
}

#[test]
fn nothing_of_what_an_object_holds_is_kept_with_a_forecast() {
    let program = Program::new();
    let policy = format!("{HEAD}forecasts: {{keep: {{file: forecasts.yaml}}, plan: true, worlds: worlds}}\n");
    let policy = program.file("rollgate.yaml", &policy);
    let dump = root().join("examples/score/live.yaml");
    let told = |command: &'static str| {
        let all = [command, "--host", "kubectl", "--policy", policy.to_str().expect("a path"), "--live"];
        let mut all: Vec<&str> = all.to_vec();
        all.push(dump.to_str().expect("a path"));
        all.extend(["--now", "2026-11-21T12:00:00Z"]);
        program.run(&all, stream().as_bytes())
    };
    let ran = told("post-render");
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let kept = std::fs::read_to_string(program.home().join("forecasts.yaml")).expect("the forecasts");
    assert!(kept.contains("edge-1-md-a-new") && kept.contains("\"fate\":\"none\""), "{kept}");
    let worlds: Vec<_> = std::fs::read_dir(program.home().join("worlds")).expect("a folder").flatten().collect();
    assert_eq!(worlds.len(), 1, "{worlds:?}");
    for text in [kept, std::fs::read_to_string(worlds[0].path()).expect("a World")] {
        assert!(!text.contains("s3cr3t"), "{text}");
    }
    // What is kept can be compared, and a week later it is settled.
    let args = ["score", "--policy", policy.to_str().expect("a path"), "--live", dump.to_str().expect("a path")];
    let ran = program.run(&[&args[..], &["--now", "2026-11-28T12:00:00Z", "-o", "json"]].concat(), b"");
    let report: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {}", ran.stderr));
    assert_eq!((ran.code, &report["told"], &report["cameTrue"]), (Some(0), &json!(3), &json!(3)), "{report:#}");
}

/// A post-renderer beside a cluster, under a policy that keeps forecasts there.
fn beside(cluster: &Cluster, args: &[&str]) -> Ran {
    let program = Program::new();
    let policy = program.file("rollgate.yaml", &format!("{HEAD}forecasts: {{keep: configmap/rollgate-forecasts}}\n"));
    let mut all = args.to_vec();
    all.extend(["--policy", policy.to_str().expect("a path"), "--namespace", "telco"]);
    let text: String = capi().iter().map(|object| format!("---\n{object}\n")).collect();
    cluster.run(&program, &all, &text)
}

#[test]
fn a_forecast_that_cannot_be_kept_changes_no_decision() {
    let mut cluster = Cluster::with(&capi(), false);
    cluster.0.insert("/api/v1/namespaces/telco/configmaps/rollgate-forecasts".to_owned(), Value::Null);
    let mut changed = live(capi()[1].clone());
    changed["spec"]["replicas"] = json!(1);
    for path in [
        "/apis/cluster.x-k8s.io/v1/namespaces/telco/machinedeployments",
        "/apis/cluster.x-k8s.io/v1/machinedeployments",
    ] {
        cluster.list(path, "MachineDeployment", std::slice::from_ref(&changed));
    }
    // A merge patch of equal manifests writes nothing: nothing is foretold, and nothing is to be kept.
    let quiet = beside(&cluster, &["post-render", "--host", "helm3", "--release", "demo"]);
    assert_eq!((quiet.code, quiet.stderr.contains("forecast")), (Some(0), false), "{}", quiet.stderr);
    let ran = beside(&cluster, &["post-render", "--host", "kubectl"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(ran.stderr.contains("rollgate: the forecast is not kept:"), "{}", ran.stderr);
    assert!(!ran.stdout.is_empty());
}

#[test]
fn what_cannot_be_read_is_no_score() {
    let cluster = Cluster::with(&capi(), false);
    let none = beside(&cluster, &["score"]);
    assert_eq!(none.code, Some(0), "{}", none.stderr);
    let mut closed = cluster.clone();
    closed.0.insert("/api/v1/namespaces/telco/configmaps/rollgate-forecasts".to_owned(), Value::Null);
    let ran = beside(&closed, &["score"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(4), ""), "{}", ran.stderr);
    assert!(ran.stderr.contains("forbidden"), "{}", ran.stderr);
    let mut broken = cluster.clone();
    let held = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "rollgate-forecasts", "namespace": "telco"},
        "data": {"a1": "{\"id\": \"a1\", \"s3cr3t\": 1}"}});
    broken.0.insert("/api/v1/namespaces/telco/configmaps/rollgate-forecasts".to_owned(), held);
    let ran = beside(&broken, &["score"]);
    assert_eq!(ran.code, Some(4), "{}", ran.stderr);
    let mut blind = cluster;
    blind.0.insert("/apis/cluster.x-k8s.io/v1/namespaces/telco/machines".to_owned(), Value::Null);
    let ran = beside(&blind, &["score"]);
    assert!(ran.code == Some(4) && ran.stdout.contains("not known"), "{}{}", ran.stdout, ran.stderr);
    let nowhere = Program::new().run(&["score", "--policy", "none", "--live", "none"], b"");
    assert_eq!(nowhere.code, Some(2), "{}", nowhere.stderr);
}
