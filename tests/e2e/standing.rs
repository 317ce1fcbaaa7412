//! What Helm and the API server refuse because of what stands there: an object of somebody else under the name of a new one, and a
//! namespace that is being deleted. What is foretold, from the cluster and from a snapshot, is what then comes.

use std::path::Path;
use std::{fs, process};

use serde_json::{Value, json};

use crate::bench::{Space, api_only};
use crate::helm::{Helm, Release, rollgate};

/// A chart that prints the objects of its values.
fn chart(space: &Space) -> String {
    let chart = space.dir.join("chart");
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/e2e/charts/objects");
    fs::create_dir_all(chart.join("templates")).expect("the chart's folder can be made");
    for file in ["Chart.yaml", "templates/objects.yaml"] {
        fs::copy(from.join(file), chart.join(file)).expect("the chart can be copied");
    }
    chart.to_str().expect("a path").to_owned()
}

fn values(space: &Space, objects: &[Value]) {
    fs::write(space.dir.join("chart/values.yaml"), json!({"objects": objects}).to_string()).expect("values");
}

fn config(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"a": "b"}})
}

fn cluster() -> Value {
    json!({"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "metadata": {"name": "demo"}, "spec": {"paused": true}})
}

fn rules(report: &Value) -> Vec<String> {
    let objects = report["objects"].as_array().into_iter().flatten();
    objects.filter_map(|object| object["rule"].as_str().map(str::to_owned)).collect()
}

fn play(helm: Helm) {
    let Some(bench) = api_only() else { return };
    let space = Space::new(bench, &format!("standing-{}", helm.name()));
    let policy = space.file("rollgate.yaml", "apiVersion: rollgate.dev/v1alpha1\nkind: Policy\n");
    let chart = chart(&space);
    let release = Release { space: &space, helm, name: "demo", chart: &chart, values: Vec::new(), policy };
    values(&space, &[config("own")]);
    release.install_ungated(&[]).succeeded();

    // Somebody else's, then the one of another release, then none: Helm refuses the first two before it writes anything.
    space.config_map("theirs", &Value::Null, &json!({"a": "b"}));
    values(&space, &[config("own"), config("theirs")]);
    let (code, report) = release.forecast(&[]);
    assert_eq!((code, report["effect"].as_str()), (Some(3), Some("rejected")), "{report:#}");
    assert!(rules(&report).contains(&"host/ownership".to_owned()), "{report:#}");
    release.upgrade_ungated(&[]).refused("invalid ownership metadata");
    let path = format!("/api/v1/namespaces/{}/configmaps/theirs", space.namespace);
    let of = |release: &str| {
        json!({"metadata": {"labels": {"app.kubernetes.io/managed-by": "Helm"},
            "annotations": {"meta.helm.sh/release-name": release, "meta.helm.sh/release-namespace": space.namespace}}})
    };
    bench.api.merge(&path, &of("web"));
    assert_eq!(release.forecast(&[]).0, Some(3));
    release.upgrade_ungated(&[]).refused("invalid ownership metadata");
    bench.api.merge(&path, &of("demo"));
    assert_eq!(release.forecast(&[]).0, Some(0));
    release.upgrade_ungated(&[]).succeeded();

    // Helm 4 applies what it takes over, and stops where somebody else has given a field another value.
    if helm == Helm::V4 {
        space.config_map("edited", &Value::Null, &json!({"a": "by hand"}));
        bench.api.merge(&format!("/api/v1/namespaces/{}/configmaps/edited", space.namespace), &of("demo"));
        values(&space, &[config("own"), config("theirs"), config("edited")]);
        let (code, report) = release.forecast(&[]);
        assert_eq!((code, report["decision"].as_str()), (Some(4), Some("undecided")), "{report:#}");
        assert!(report.to_string().contains("another value"), "{report:#}");
        release.upgrade_ungated(&[]).refused("conflict");
        // The same of what the last manifest has: Helm 4 applies it again, changed or not.
        values(&space, &[config("own"), config("theirs")]);
        release.upgrade_ungated(&[]).succeeded();
        let own = format!("/api/v1/namespaces/{}/configmaps/own", space.namespace);
        bench.api.merge(&own, &json!({"data": {"more": "by hand"}}));
        assert_eq!(release.forecast(&[]).0, Some(0), "a field that the chart does not have is nobody's");
        bench.api.merge(&own, &json!({"data": {"a": "by hand"}}));
        let (code, report) = release.forecast(&[]);
        assert_eq!((code, report["decision"].as_str()), (Some(4), Some("undecided")), "{report:#}");
        assert!(report.to_string().contains("another value"), "{report:#}");
        release.upgrade_ungated(&[]).refused("conflict");
        bench.api.merge(&own, &json!({"data": {"a": "b"}}));
        release.upgrade_ungated(&[]).succeeded();
    }

    // Nothing is made in a namespace that goes, and the record of a release is new.
    let clusters = format!("/apis/cluster.x-k8s.io/v1beta2/namespaces/{}/clusters", space.namespace);
    bench.api.create(&clusters, &cluster());
    drop(bench.api.send("DELETE", &format!("/api/v1/namespaces/{}", space.namespace), None));
    values(&space, &[config("own")]);
    let (code, report) = release.forecast(&[]);
    assert_eq!((code, report["effect"].as_str()), (Some(3), Some("rejected")), "{report:#}");
    assert!(rules(&report).contains(&"host/namespace-ends".to_owned()), "{report:#}");
    release.upgrade_ungated(&[]).refused("is being terminated");
    kubectl(&space);
}

/// kubectl writes what is there, and fails at what is new.
fn kubectl(space: &Space) {
    let plan = |objects: &[Value]| {
        let stream: String = objects.iter().map(|object| format!("---\n{object}\n")).collect();
        let file = space.file("stream.yaml", &stream);
        let output = process::Command::new(rollgate())
            .args(["plan", "--host", "kubectl", "--policy", "none", "--namespace", &space.namespace])
            .arg(file)
            .env("KUBECONFIG", &space.bench.kubeconfig)
            .output();
        output.expect("the program runs").status.code()
    };
    assert_eq!(plan(&[cluster(), config("own"), config("more")]), Some(3));
    assert_eq!(plan(&[cluster(), config("own")]), Some(0));
}

#[test]
fn helm3() {
    play(Helm::V3);
}

#[test]
fn helm4() {
    play(Helm::V4);
}
