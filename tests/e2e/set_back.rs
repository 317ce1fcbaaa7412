//! `setBack: rolling` on a real API server, with both Helms: what would replace Machines stays as it is, the rest goes out, and with an
//! approval all of it does. No controllers are needed for it.

use std::process::Command;

use serde_json::Value;

use crate::bench::{Space, api_only};
use crate::helm::{Helm, Release, Run, rollgate};

const POLICY: &str = "apiVersion: rollgate.dev/v1alpha1\nkind: Policy\nsetBack: rolling\n\
                      approvals: {from: [configmap/rollgate-approvals]}\n";

/// What the API server holds of the control plane: version, name of the template, drain timeout and content of the file.
fn held(space: &Space) -> [Value; 4] {
    let object =
        space.get("controlplane.cluster.x-k8s.io/v1beta2", "kubeadmcontrolplanes", "demo-cp").expect("it is there");
    let deletion = "/spec/machineTemplate/spec/deletion/nodeDrainTimeoutSeconds";
    let template = "/spec/machineTemplate/spec/infrastructureRef/name";
    ["/spec/version", template, deletion, "/spec/kubeadmConfigSpec/files/0/content"]
        .map(|pointer| object.pointer(pointer).cloned().unwrap_or_default())
}

fn play(helm: Helm) {
    let Some(bench) = api_only() else { return };
    let space = Space::new(bench, &format!("set-back-{}", helm.name()));
    let policy = space.file("rollgate.yaml", POLICY);
    let release =
        Release { space: &space, helm, name: "demo", chart: "kubeadm", values: Vec::new(), policy: policy.clone() };
    release.install(&["vip=10.0.3.7"]).succeeded();
    let [version, template, none, file] = held(&space);
    assert!(none.is_null() && file.as_str().is_some_and(|file| file.contains("canReach: 10.0.3.7")), "{file}");

    let wanted = [
        "vip=10.0.3.9",
        "version=v1.34.1",
        "controlPlane.template=b",
        "controlPlane.drainTimeout=120",
        "workers.template=b",
    ];
    for _ in 0..2 {
        let done = release.upgrade(&wanted).succeeded();
        assert_eq!(held(&space), [version.clone(), template.clone(), Value::from(120), file.clone()], "{done:#?}");
    }
    let machines = "infrastructure.cluster.x-k8s.io/v1beta2";
    let there = |name: &str| space.get(machines, "devmachinetemplates", name).is_some();
    assert!(there("demo-cp-a") && there("demo-md-a") && !there("demo-cp-b") && !there("demo-md-b"));

    // A person says yes to all of it.
    let output = Command::new(rollgate())
        .args(["approve", "last", "--reason", "CHG0042", "--policy"])
        .arg(&policy)
        .args(["--namespace", &space.namespace])
        .env("KUBECONFIG", &space.bench.kubeconfig)
        .env("XDG_STATE_HOME", release.state())
        .output();
    Run::of(output.expect("the program runs")).succeeded();
    release.upgrade(&wanted).succeeded();
    let [version, template, _, file] = held(&space);
    assert_eq!([version, template], ["v1.34.1", "demo-cp-b"].map(Value::from));
    assert!(file.as_str().is_some_and(|file| file.contains("canReach: 10.0.3.9")), "{file}");
    assert!(there("demo-cp-b") && !there("demo-cp-a"));
}

#[test]
fn what_rolls_is_set_back_and_the_rest_goes_out_with_helm3() {
    play(Helm::V3);
}

#[test]
fn what_rolls_is_set_back_and_the_rest_goes_out_with_helm4() {
    play(Helm::V4);
}
