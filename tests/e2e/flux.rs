//! What Flux does by itself with a value that comes late: the gate that `rollgate flux values` relies on.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::bench::{Space, bench};
use crate::helm::rollgate;
use crate::observe::{CAPI, condition};

const RELEASES: &str = "helm.toolkit.fluxcd.io/v2";

/// Serves a chart as source-controller does.
pub(crate) fn publish(space: &Space, chart: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/e2e/charts").join(chart);
    let output = Command::new(space.bench.bin.join("bench"))
        .args(["publish", "--namespace", &space.namespace, "--name", chart, "--out"])
        .args([&space.bench.out, &folder])
        .output()
        .expect("the starter runs");
    assert!(output.status.success(), "{output:?}");
}

/// A HelmRelease that takes values from a ConfigMap.
fn install(space: &Space, values_from: &Value) {
    let release = json!({
        "apiVersion": RELEASES, "kind": "HelmRelease", "metadata": {"name": "demo"},
        "spec": {
            "interval": "1h",
            "chartRef": {"kind": "OCIRepository", "name": "kubeadm"},
            "values": {"controlPlane": {"replicas": 1}, "workers": {"replicas": 0}},
            "valuesFrom": [values_from],
        },
    });
    space.bench.api.create(&format!("/apis/{RELEASES}/namespaces/{}/helmreleases", space.namespace), &release);
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
    install(&space, &json!({"kind": "ConfigMap", "name": "late", "valuesKey": "vip", "targetPath": "vip"}));
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

/// A job that renders values for Flux and publishes them in a ConfigMap, as it would run beside the helm-controller.
fn values_job(space: &Space, policy: &Path, address: Option<&str>) -> Option<i32> {
    let template = space.file("values.yaml.j2", "vip: {{ late('vip') }}\n");
    let mut command = Command::new(rollgate());
    command.arg("values").arg("-f").arg(&template).arg("--policy").arg(policy).args(["-n", &space.namespace]);
    command.env("KUBECONFIG", &space.bench.kubeconfig).env_remove("CLUSTER_VIP");
    if let Some(address) = address {
        command.env("CLUSTER_VIP", address);
    }
    let output = command.output().expect("rollgate runs");
    if output.status.success() {
        let values = String::from_utf8(output.stdout).expect("text");
        space.config_map("late", &json!({"reconcile.fluxcd.io/watch": "Enabled"}), &json!({"values.yaml": values}));
    }
    output.status.code()
}

/// The values reach Flux when they are known, and stay what they were when their source moves.
#[test]
fn values_for_flux_come_when_they_are_known_and_stay() {
    let Some(bench) = bench() else { return };
    let space = Space::new(bench, "flux-late");
    publish(&space, "kubeadm");
    let policy = space.file(
        "rollgate.yaml",
        "apiVersion: rollgate.dev/v1alpha1\nkind: Policy\nlateValues:\n- {name: vip, placeholders: [\"55.55.55.55\"], type: ip, \
         from: [{env: CLUSTER_VIP}]}\npins: {store: configmap/rollgate-pins}\n",
    );
    install(&space, &json!({"kind": "ConfigMap", "name": "late"}));
    assert_eq!(values_job(&space, &policy, None), Some(4));
    wait_ready(&space, "waiting for its values", |ready| ready["reason"] == "ValuesError");
    assert!(space.list(CAPI, "clusters").is_empty(), "nothing may be installed before the values are there");
    assert_eq!(values_job(&space, &policy, Some("10.0.3.7")), Some(0));
    wait_ready(&space, "installed", |ready| ready["status"] == "True");
    let spec = || {
        let owners = space.list("controlplane.cluster.x-k8s.io/v1beta2", "kubeadmcontrolplanes");
        owners.first().expect("a control plane")["spec"].to_string()
    };
    let before = spec();
    assert!(before.contains("10.0.3.7") && !before.contains("55.55.55.55"), "{before}");
    assert_eq!(values_job(&space, &policy, Some("10.0.9.9")), Some(3), "the source has moved: nothing is published");
    std::thread::sleep(Duration::from_secs(5));
    assert_eq!(spec(), before);
}
