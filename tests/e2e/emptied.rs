//! A chart that renders nothing of Cluster API any more: Helm would delete the whole cluster, so the gate holds.

use std::time::Duration;

use serde_json::json;

use crate::bench::{Space, bench};
use crate::helm::{Helm, Release};
use crate::observe::wait_for;

/// Long enough for a small cluster to come up on a busy machine.
const INSTALL: Duration = Duration::from_secs(240);
/// The cluster may go where the gate is not asked: that shows that it held for a reason.
const GONE: Duration = Duration::from_secs(120);

fn play(helm: Helm, options: &[&str]) {
    let Some(bench) = bench() else { return };
    let name = format!("emptied-{}-{}", helm.name(), options.len());
    let space = Space::new(bench, &name);
    let policy = space.file("rollgate.yaml", "apiVersion: rollgate.dev/v1alpha1\nkind: Policy\n");
    let values = ["controlPlane.replicas=1", "workers.replicas=1"].map(str::to_owned).to_vec();
    let full = Release { space: &space, helm, name: "demo", chart: "kubeadm", values, policy: policy.clone() };
    full.run_with("install", &[], options).succeeded();
    wait_for(&space, "two Machines running", INSTALL, |sight| sight.running() == (2, 2) && sight.settled());

    let left = Release { space: &space, helm, name: "demo", chart: "emptied", values: Vec::new(), policy };
    for value in ["deployment=false", "deployment=true"] {
        let (code, report) = left.forecast(&[value]);
        assert_eq!((code, &report["decision"]), (Some(3), &json!("hold")), "{report:#}");
        let deleted = |kind: &str| {
            let objects = report["objects"].as_array().expect("objects");
            objects.iter().any(|one| {
                (&one["kind"], &one["action"], &one["effect"]) == (&json!(kind), &json!("delete"), &json!("delete"))
            })
        };
        assert!(deleted("Cluster") && deleted("MachineDeployment"), "{report:#}");
        left.upgrade(&[value]).refused("");
    }
    std::thread::sleep(Duration::from_secs(2));
    assert_eq!(space.list("cluster.x-k8s.io/v1beta2", "machines").len(), 2, "a held upgrade deletes nothing");

    // Helm alone deletes all of it.
    left.upgrade_ungated(&[]).succeeded();
    // The rest is the controllers' work, and takes them minutes on a busy machine.
    wait_for(&space, "the Cluster and its Machines being deleted", GONE, |_| {
        ["clusters", "machines"].iter().all(|kind| {
            let objects = space.list("cluster.x-k8s.io/v1beta2", kind);
            let going = objects.iter().filter(|object| object.pointer("/metadata/deletionTimestamp").is_some()).count();
            objects.is_empty() || going == objects.len() || *kind == "machines" && going > 0
        })
    });
}

#[test]
fn helm3() {
    play(Helm::V3, &[]);
}

#[test]
fn helm4_applies() {
    play(Helm::V4, &[]);
}

#[test]
fn helm4_patches() {
    play(Helm::V4, &["--server-side=false"]);
}
