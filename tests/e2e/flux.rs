//! What Flux does by itself with a value that comes late: the gate that `rollgate flux values` relies on.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::bench::{Space, bench};
use crate::observe::{CAPI, condition};

const RELEASES: &str = "helm.toolkit.fluxcd.io/v2";

fn publish(space: &Space, chart: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/e2e/charts").join(chart);
    let output = Command::new(space.bench.bin.join("bench"))
        .args(["publish", "--namespace", &space.namespace, "--name", chart, "--out"])
        .args([&space.bench.out, &folder])
        .output()
        .expect("the starter runs");
    assert!(output.status.success(), "{output:?}");
}

fn wait_ready(space: &Space, what: &str, is: impl Fn(&Value) -> bool) {
    let began = Instant::now();
    loop {
        let release = space.get(RELEASES, "helmreleases", "demo").expect("the HelmRelease is there");
        let ready = condition(&release, "Ready").cloned().unwrap_or_default();
        if is(&ready) {
            return;
        }
        assert!(began.elapsed() < Duration::from_secs(60), "not yet {what}: {ready}");
        std::thread::sleep(Duration::from_millis(500));
    }
}

/// Scenario 6: nothing is installed until the ConfigMap exists, and then without being told.
#[test]
fn a_missing_config_map_holds_a_helm_release() {
    let Some(bench) = bench() else { return };
    let space = Space::new(bench, "flux-values");
    publish(&space, "kubeadm");
    let release = json!({
        "apiVersion": RELEASES, "kind": "HelmRelease", "metadata": {"name": "demo"},
        "spec": {
            "interval": "1h",
            "chartRef": {"kind": "OCIRepository", "name": "kubeadm"},
            "values": {"controlPlane": {"replicas": 1}, "workers": {"replicas": 0}},
            "valuesFrom": [{"kind": "ConfigMap", "name": "late", "valuesKey": "vip", "targetPath": "vip"}],
        },
    });
    bench.api.create(&format!("/apis/{RELEASES}/namespaces/{}/helmreleases", space.namespace), &release);
    wait_ready(&space, "waiting for its values", |ready| ready["reason"] == "ValuesError");
    std::thread::sleep(Duration::from_secs(5));
    assert!(space.list(CAPI, "clusters").is_empty(), "nothing may be installed before the values are there");
    wait_ready(&space, "still waiting for its values", |ready| ready["reason"] == "ValuesError");

    space.config_map("late", &json!({"reconcile.fluxcd.io/watch": "Enabled"}), &json!({"vip": "10.0.3.7"}));
    wait_ready(&space, "installed", |ready| ready["status"] == "True");
    let owner =
        space.list("controlplane.cluster.x-k8s.io/v1beta2", "kubeadmcontrolplanes").pop().expect("a control plane");
    assert!(owner["spec"].to_string().contains("10.0.3.7"), "{owner}");
}
