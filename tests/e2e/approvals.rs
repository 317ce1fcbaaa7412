//! An approved upgrade on a real API server, with both Helms: exactly that change goes through, once; a second change that is
//! smuggled in is held; and of fifty uses at once one passes. No controllers are needed for it.

use std::path::Path;
use std::process::Command;

use rollgate::facade::approval::{Approval, Ledger, Object, Use};
use rollgate::facade::policy::StoreKind;
use serde_json::json;

use crate::bench::{Space, api_only};
use crate::helm::{Helm, Release, Run, rollgate};

const POLICY: &str =
    "apiVersion: rollgate.dev/v1alpha1\nkind: Policy\napprovals: {from: [configmap/rollgate-approvals]}\n";

/// `rollgate approve ...` as a person runs it, who has the reports of `release`.
fn approve(space: &Space, release: &Release<'_>, policy: &Path, args: &[&str]) -> Run {
    let output = Command::new(rollgate())
        .arg("approve")
        .args(args)
        .arg("--policy")
        .arg(policy)
        .args(["--namespace", &space.namespace])
        .env("KUBECONFIG", &space.bench.kubeconfig)
        .env("XDG_STATE_HOME", release.state())
        .output();
    Run::of(output.expect("the program runs"))
}

fn play(helm: Helm) {
    let Some(bench) = api_only() else { return };
    let space = Space::new(bench, &format!("approvals-{}", helm.name()));
    let policy = space.file("rollgate.yaml", POLICY);
    let release =
        Release { space: &space, helm, name: "demo", chart: "kubeadm", values: Vec::new(), policy: policy.clone() };
    let (old, new) = ("vip=10.0.3.7", "version=v1.34.1");
    release.install(&[old]).succeeded();
    let held = release.upgrade(&[old, new]).refused("rollgate approve sha256:");
    assert!(held.stderr.contains(&format!("-n {} --reason TEXT", space.namespace)), "{}", held.stderr);
    approve(&space, &release, &policy, &["last", "--once", "--reason", "CHG0042"]).succeeded();

    // The address moves in the same render.
    release.upgrade(&["vip=10.0.3.9", new]).refused("it is for another change");
    release.upgrade(&[old, new]).succeeded();
    let listed = approve(&space, &release, &policy, &["--list"]).succeeded().stdout;
    assert!(listed.contains("used up at") && listed.contains("CHG0042"), "{listed}");
    let object = format!("/api/v1/namespaces/{}/configmaps/rollgate-approvals", space.namespace);
    let kept = bench.api.get(&object).expect("the ConfigMap is there");
    assert_eq!(kept["metadata"]["labels"]["clusterctl.cluster.x-k8s.io/move"], "", "{kept}");

    // Back again is another change; there and back and there again is the first one, which was used.
    release.upgrade(&[old]).refused("rollgate approve sha256:");
    approve(&space, &release, &policy, &["last", "--reason", "back"]).succeeded();
    release.upgrade(&[old]).succeeded();
    release.upgrade(&[old, new]).refused("it was for one install, and was used up");
}

#[test]
fn an_approved_upgrade_goes_through_once_with_helm3() {
    play(Helm::V3);
}

#[test]
fn an_approved_upgrade_goes_through_once_with_helm4() {
    play(Helm::V4);
}

#[test]
fn of_fifty_uses_at_once_on_a_real_api_server_one_passes() {
    let Some(bench) = api_only() else { return };
    let space = Space::new(bench, "approvals-at-once");
    let store = Object::new(bench.api.client(), StoreKind::ConfigMap, space.namespace.as_str(), "rollgate-approvals");
    let approval: Approval =
        serde_json::from_value(json!({"id": "a1", "digest": "sha256:00", "gates": [], "once": true,
        "reason": "x", "time": "2026-11-21T10:00:00Z", "expires": "2026-11-22T10:00:00Z"}))
        .expect("an approval");
    let answers: Vec<Result<(), String>> = bench.api.run(async {
        store.update(|ledger: &mut Ledger| ledger.give(approval.clone(), true)).await.expect("written");
        let takers = (0..50).map(|number| {
            let (store, approval) = (store.clone(), approval.clone());
            let time = "2026-11-21T11:00:00Z".parse().expect("a time");
            tokio::spawn(async move {
                let used = Use { time, by: Some(format!("job {number}")) };
                store.update(|ledger| ledger.take(&approval, &used)).await.map_err(|error| error.to_string())
            })
        });
        let mut answers = Vec::new();
        for taker in takers.collect::<Vec<_>>() {
            answers.push(taker.await.expect("no panic"));
        }
        answers
    });
    assert_eq!(answers.iter().filter(|answer| answer.is_ok()).count(), 1, "{answers:?}");
    for error in answers.into_iter().filter_map(Result::err) {
        assert!(error.contains("used up at 2026-11-21T11:00:00Z by job"), "{error}");
    }
    let ledger = bench.api.run(store.read()).expect("readable");
    assert_eq!(ledger.approvals()[0].uses.len(), 1);
}
