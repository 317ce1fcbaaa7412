//! What Flux does by itself with a value that comes late: the gate that `rollgate flux values` relies on.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::bench::{Space, bench};
use crate::helm::rollgate;
use crate::observe::{CAPI, Sight, condition, observe, wait_for};

const RELEASES: &str = "helm.toolkit.fluxcd.io/v2";

/// Serves a chart as source-controller does.
pub(crate) fn publish(space: &Space, chart: &str) {
    publish_from(space, chart, &Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/e2e/charts").join(chart));
}

/// Serves a chart that lies in this folder as source-controller does.
pub(crate) fn publish_from(space: &Space, chart: &str, folder: &Path) {
    let output = Command::new(space.bench.bin.join("bench"))
        .args(["publish", "--namespace", &space.namespace, "--name", chart, "--out"])
        .arg(&space.bench.out)
        .arg(folder)
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
    wait_for_release(space, "demo", what, is);
}

fn wait_for_release(space: &Space, name: &str, what: &str, is: impl Fn(&Value) -> bool) {
    let began = Instant::now();
    loop {
        let release = space.get(RELEASES, "helmreleases", name).unwrap_or_default();
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

/// A job that publishes values for Flux, as it would run beside the helm-controller: its exit code and what it says.
fn values_job(space: &Space, policy: &Path, address: Option<&str>, name: &str) -> (Option<i32>, String) {
    let template = space.file("values.yaml.j2", "vip: {{ late('vip') }}\n");
    let mut command = Command::new(rollgate());
    command.args(["flux", "values", "--name", name, "-n", &space.namespace]);
    command.arg("-f").arg(&template).arg("--policy").arg(policy);
    command.env("KUBECONFIG", &space.bench.kubeconfig).env_remove("CLUSTER_VIP");
    if let Some(address) = address {
        command.env("CLUSTER_VIP", address);
    }
    let output = command.output().expect("rollgate runs");
    let said = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8(said).expect("text"))
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
    let path = |name: &str| format!("/api/v1/namespaces/{}/configmaps/{name}", space.namespace);
    let object = |name: &str| space.bench.api.get(&path(name));
    let job = |address: Option<&str>| values_job(&space, &policy, address, "late");
    assert_eq!(job(None).0, Some(4));
    assert_eq!(object("late"), None, "values that are not known are in no object");
    wait_ready(&space, "waiting for its values", |ready| ready["reason"] == "ValuesError");
    assert!(space.list(CAPI, "clusters").is_empty(), "nothing may be installed before the values are there");
    let (exit, said) = job(Some("10.0.3.7"));
    assert!(exit == Some(0) && said.contains("helm-controller may install now"), "{exit:?} {said}");
    wait_ready(&space, "installed", |ready| ready["status"] == "True");
    let spec = || {
        let owners = space.list("controlplane.cluster.x-k8s.io/v1beta2", "kubeadmcontrolplanes");
        owners.first().expect("a control plane")["spec"].to_string()
    };
    let before = spec();
    assert!(before.contains("10.0.3.7") && !before.contains("55.55.55.55"), "{before}");
    let late = || object("late").expect("the values");
    let published = late();
    let (labels, annotations) = (&published["metadata"]["labels"], &published["metadata"]["annotations"]);
    assert_eq!(labels["reconcile.fluxcd.io/watch"], "Enabled");
    assert_eq!(labels["clusterctl.cluster.x-k8s.io/move"], "");
    assert_eq!(annotations["kustomize.toolkit.fluxcd.io/prune"], "disabled");
    assert_eq!(published["data"], json!({"values.yaml": "vip: 10.0.3.7\n"}));
    assert_eq!(job(Some("10.0.3.7")).0, Some(0));
    assert_eq!(late()["metadata"]["resourceVersion"], published["metadata"]["resourceVersion"]);

    let (exit, said) = job(Some("10.0.9.9"));
    assert!(exit == Some(3) && said.contains("vip"), "the source has moved: nothing is published: {exit:?} {said}");
    // Nobody knows any more what was pinned, and what was published says it.
    space.bench.api.send("DELETE", &path("rollgate-pins"), None).expect("pins are there");
    let (exit, said) = job(Some("10.0.9.9"));
    assert!(exit == Some(3) && said.contains("published with another value of vip"), "{exit:?} {said}");
    assert_eq!(object("rollgate-pins"), None, "what is held is not pinned");
    assert_eq!(job(Some("10.0.3.7")).0, Some(0));

    space.config_map("theirs", &json!({}), &json!({"values.yaml": "vip: 10.0.3.1\n"}));
    let (exit, said) = values_job(&space, &policy, Some("10.0.3.7"), "theirs");
    assert!(exit == Some(4) && said.contains("is not one that rollgate wrote"), "{exit:?} {said}");
    assert_eq!(object("theirs").expect("theirs")["data"]["values.yaml"], "vip: 10.0.3.1\n");

    std::thread::sleep(Duration::from_secs(5));
    assert_eq!(late()["metadata"]["resourceVersion"], published["metadata"]["resourceVersion"]);
    assert_eq!(spec(), before);
}

/// One chart renders the release of another: the platform is installed at once, its cluster when its address is known, once, and nothing
/// rolls when the source moves.
#[test]
fn a_chart_of_units_waits_for_its_cluster_and_installs_it_once() {
    let Some(bench) = bench() else { return };
    let space = Space::new(bench, "flux-units");
    publish(&space, "kubeadm");
    publish(&space, "units");
    let policy = space.file(
        "rollgate.yaml",
        "apiVersion: rollgate.dev/v1alpha1\nkind: Policy\nlateValues:\n- {name: vip, placeholders: [\"55.55.55.55\"], type: ip, \
         from: [{env: CLUSTER_VIP}]}\npins: {store: configmap/rollgate-pins}\n",
    );
    let no_wait = json!({"disableWait": true});
    let units = |interval: &str| {
        json!({
            "apiVersion": RELEASES, "kind": "HelmRelease", "metadata": {"name": "units"},
            "spec": {
                "interval": "1h", "chartRef": {"kind": "OCIRepository", "name": "units"}, "install": no_wait, "upgrade": no_wait,
                "values": {"interval": interval},
            },
        })
    };
    let releases = format!("/apis/{RELEASES}/namespaces/{}/helmreleases", space.namespace);
    bench.api.create(&releases, &units("1h"));
    wait_for_release(&space, "units", "installed", |ready| ready["status"] == "True");
    wait_ready(&space, "waiting for its values", |ready| ready["reason"] == "ValuesError");
    assert!(space.list(CAPI, "clusters").is_empty(), "nothing may be installed before the values are there");
    let history = || {
        let release = space.get(RELEASES, "helmreleases", "demo").expect("the HelmRelease is there");
        let entries = release["status"]["history"].as_array().cloned().unwrap_or_default();
        entries.iter().map(|entry| format!("{} {}", entry["version"], entry["status"])).collect::<Vec<_>>()
    };
    assert!(history().is_empty(), "a release that waits has no history: {:?}", history());

    assert_eq!(values_job(&space, &policy, Some("10.0.3.7"), "late").0, Some(0));
    wait_ready(&space, "installed", |ready| ready["status"] == "True");
    assert_eq!(history(), ["1 \"deployed\""]);
    let machines = |sight: &Sight| sight.control_plane();
    let first = wait_for(&space, "a control plane", Duration::from_secs(120), |sight| {
        sight.settled() && machines(sight).len() == 1
    });

    // The source moves, and the platform is upgraded meanwhile.
    let (exit, said) = values_job(&space, &policy, Some("10.0.9.9"), "late");
    assert!(exit == Some(3) && said.contains("vip"), "{exit:?} {said}");
    let ((), seen) = observe(&space, Duration::from_secs(10), || {
        bench.api.merge(&format!("{releases}/units"), &json!({"spec": units("2h")["spec"]}));
        let is_upgraded =
            || space.get(RELEASES, "helmreleases", "demo").expect("it is there")["spec"]["interval"] == "2h";
        let began = Instant::now();
        while !is_upgraded() {
            assert!(began.elapsed() < Duration::from_secs(60), "the units are not upgraded");
            std::thread::sleep(Duration::from_millis(500));
        }
    });
    assert!(!seen.rolls(), "{seen:?}");
    wait_ready(&space, "still installed", |ready| ready["status"] == "True");
    assert_eq!(history(), ["1 \"deployed\""], "it was written once");
    assert_eq!(machines(&Sight::of(&space)), machines(&first));
}
