//! Forecasts of a real Helm against what real controllers did: a hold that an approval let through, an allowed change, and a change that
//! somebody made past rollgate.

use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};

use crate::bench::{Space, bench};
use crate::helm::{Helm, Release, Run, rollgate};
use crate::observe::{CAPI, wait_for};

const POLICY: &str = "apiVersion: rollgate.dev/v1alpha1
kind: Policy
approvals: {from: [configmap/rollgate-approvals]}
gates: {health: {etcd: allow, machines: allow}}
forecasts: {keep: configmap/rollgate-forecasts, worlds: worlds}
";

fn run(space: &Space, release: &Release<'_>, args: &[&str]) -> Run {
    let output = Command::new(rollgate())
        .args(args)
        .args(["--namespace", &space.namespace, "--policy"])
        .arg(&release.policy)
        .env("KUBECONFIG", &space.bench.kubeconfig)
        .env("XDG_STATE_HOME", release.state())
        .current_dir(&space.dir)
        .output();
    Run::of(output.expect("the program runs"))
}

/// The score once nothing is under way.
fn score(space: &Space, release: &Release<'_>) -> Value {
    let ran = run(space, release, &["score", "--settle", "1s", "-o", "json"]).succeeded();
    serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {ran:#?}"))
}

#[test]
fn what_was_foretold_is_compared_with_what_came() {
    let Some(bench) = bench() else { return };
    let space = Space::new(bench, "score");
    let policy = space.file("rollgate.yaml", POLICY);
    let release = Release { space: &space, helm: Helm::V3, name: "demo", chart: "kubeadm", values: Vec::new(), policy };
    release.install(&["vip=10.0.3.7"]).succeeded();
    let patience = Duration::from_secs(240);
    let rests = |sight: &crate::observe::Sight| {
        let (running, _) = sight.running();
        let wanted: u64 = ["kubeadmcontrolplanes", "machinedeployments"]
            .iter()
            .flat_map(|resource| sight.all(resource))
            .map(|owner| owner["spec"]["replicas"].as_u64().unwrap_or(1))
            .sum();
        let current = |machine: &Value| {
            let up = crate::observe::condition(machine, "UpToDate");
            up.is_none_or(|up| up["status"] == "True") && machine["metadata"]["deletionTimestamp"].is_null()
        };
        running as u64 == wanted && sight.all("machines").count() == running && sight.all("machines").all(current)
    };
    wait_for(&space, "the cluster is up", patience, rests);

    // Held, and then let through by an approval.
    release.upgrade(&["vip=10.0.3.9"]).refused("rollgate approve sha256:");
    run(&space, &release, &["approve", "last", "--reason", "CHG1"]).succeeded();
    let old: Vec<String> = space.list(CAPI, "machines").iter().map(name).collect();
    release.upgrade(&["vip=10.0.3.9"]).succeeded();
    let is_new = |sight: &crate::observe::Sight| {
        rests(sight) && sight.control_plane().iter().all(|machine| !old.contains(machine))
    };
    wait_for(&space, "the control plane is replaced", patience, is_new);
    std::thread::sleep(Duration::from_secs(3));
    let told = score(&space, &release);
    assert!(told["matrix"]["rollout"]["rollout"].as_u64() >= Some(1), "{told:#}");
    assert_eq!((&told["misses"], &told["told"]), (&json!([]), &told["cameTrue"]), "{told:#}");

    // An allowed change; then somebody changes the workers by hand, which nobody asked about.
    release.upgrade(&["vip=10.0.3.9", "workers.drainTimeout=60"]).succeeded();
    std::thread::sleep(Duration::from_secs(3));
    let group = name(&space.list(CAPI, "machinedeployments")[0]);
    let before: Vec<String> = space.list(CAPI, "machines").iter().map(name).collect();
    let path = format!("/apis/{CAPI}/namespaces/{}/machinedeployments/{group}", space.namespace);
    // Machines that are older than this time are replaced.
    let now = jiff::Timestamp::from_second(jiff::Timestamp::now().as_second()).expect("now");
    let by_hand = json!({"spec": {"rollout": {"after": now.to_string()}}});
    bench.api.merge(&format!("{path}?fieldManager=kubectl-edit"), &by_hand);
    let is_replaced =
        |sight: &crate::observe::Sight| rests(sight) && sight.workers().iter().any(|machine| !before.contains(machine));
    wait_for(&space, "the workers are replaced", patience, is_replaced);
    std::thread::sleep(Duration::from_secs(3));
    let told = score(&space, &release);
    assert_eq!(told["matrix"]["unforeseen"]["rollout"], 1, "{told:#}");
    let miss = &told["misses"][0];
    assert!(
        miss["why"].as_str().is_some_and(|why| why.starts_with("kubectl-edit wrote MachineDeployment")),
        "{told:#}"
    );
    assert!(std::path::Path::new(miss["world"].as_str().expect("its World is kept")).exists(), "{told:#}");
    // Nothing that a chart holds is kept.
    let kept = bench.api.get(&format!("/api/v1/namespaces/{}/configmaps/rollgate-forecasts", space.namespace));
    assert!(!kept.expect("the forecasts").to_string().contains("10.0.3"), "an address is no forecast");
}

fn name(object: &Value) -> String {
    object["metadata"]["name"].as_str().unwrap_or_default().to_owned()
}
