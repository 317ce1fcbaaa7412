//! What goes out of a real Helm is noted in the cluster and counted for a day, and a broken glass is seen past Helm and written down.

use std::process::Command;

use rollgate::facade::history::{Limits, Object, Spent};
use rollgate::facade::policy::StoreKind;
use serde_json::json;

use crate::bench::{Space, api_only};
use crate::helm::{Helm, Release, Run, rollgate};

const POLICY: &str = "apiVersion: rollgate.dev/v1alpha1
kind: Policy
approvals: {from: [configmap/rollgate-approvals], breakGlass: {allow: true}}
gates: {budget: {perDay: 1000, history: configmap/rollgate-history}}
";

fn play(helm: Helm) {
    let Some(bench) = api_only() else { return };
    let space = Space::new(bench, &format!("budget-{}", helm.name()));
    let policy = space.file("rollgate.yaml", POLICY);
    let release =
        Release { space: &space, helm, name: "demo", chart: "kubeadm", values: Vec::new(), policy: policy.clone() };
    let (old, new) = ("vip=10.0.3.7", "version=v1.34.1");
    let object = |name: &str| bench.api.get(&format!("/api/v1/namespaces/{}/configmaps/{name}", space.namespace));
    release.install(&[old]).succeeded();
    assert!(object("rollgate-history").is_none(), "a first install takes no Machine");
    release.upgrade(&[old, new]).refused("rollgate approve sha256:");
    let broken = release.gated_as(None, "upgrade", &[old, new], &[("ROLLGATE_BREAK_GLASS", "INC7"), ("USER", "anna")]);
    let broken = broken.succeeded();
    assert!(broken.stderr.contains("BREAK GLASS by anna (INC7)"), "{broken:#?}");
    let output = Command::new(rollgate())
        .args(["approve", "--list", "--namespace", &space.namespace, "--policy"])
        .arg(&policy)
        .env("KUBECONFIG", &bench.kubeconfig)
        .output();
    let listed = Run::of(output.expect("the program runs")).succeeded().stdout;
    assert!(listed.contains("nobody approved it: the glass was broken at") && listed.contains("INC7"), "{listed}");
    let history = object("rollgate-history").expect("what went out is noted");
    let entries: Vec<&str> =
        history["data"].as_object().expect("entries").values().filter_map(|entry| entry.as_str()).collect();
    let [entry] = entries[..] else { panic!("{history:#}") };
    assert!(entry.contains(&format!("\"release\":\"{}/demo\"", space.namespace)), "{entry}");

    // Nothing is left of a day that allows what went out already, and no approval is asked for.
    let full =
        POLICY.replace("perDay: 1000", "perDay: 1").replace("gates: {", "gates: {rollout: allow, latent: allow, ");
    space.file("rollgate.yaml", &full);
    release.upgrade(&["vip=10.0.3.7", "version=v1.34.2"]).refused("budget.perDay");
}

#[test]
fn a_broken_glass_and_a_budget_hold_with_helm3() {
    play(Helm::V3);
}

#[test]
fn a_broken_glass_and_a_budget_hold_with_helm4() {
    play(Helm::V4);
}

#[test]
fn of_fifty_installs_at_once_on_a_real_api_server_as_many_go_out_as_the_day_has() {
    let Some(bench) = api_only() else { return };
    let space = Space::new(bench, "budget-at-once");
    let store = Object::new(bench.api.client(), StoreKind::ConfigMap, space.namespace.as_str(), "rollgate-history");
    let limits = Limits { per_day: Some(7), per_cluster: None };
    let answers: Vec<Result<(), String>> = bench.api.run(async {
        let takers = (0..50).map(|number| {
            let store = store.clone();
            let entry: Spent = serde_json::from_value(json!({"id": "", "time": "2026-11-21T11:00:00Z",
                "digest": "sha256:00", "release": format!("ns/r{number}"),
                "clusters": [{"namespace": "ns", "name": "c", "machines": 3}]}))
            .expect("an entry");
            let entry = entry.named();
            tokio::spawn(async move {
                let spent = store.update(|history| history.spend(&entry, limits, Some(&[])));
                spent.await.map_err(|error| error.to_string())
            })
        });
        let mut answers = Vec::new();
        for taker in takers.collect::<Vec<_>>() {
            answers.push(taker.await.expect("no panic"));
        }
        answers
    });
    assert_eq!(answers.iter().filter(|answer| answer.is_ok()).count(), 2, "{answers:?}");
    for error in answers.into_iter().filter_map(Result::err) {
        assert!(error.contains("6 Machines went out; the policy allows 7 a day"), "{error}");
    }
    assert_eq!(bench.api.run(store.read()).expect("readable").entries().len(), 2);
}
