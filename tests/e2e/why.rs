//! The accident played for real, and asked about afterwards: a chart goes out with the placeholder, the address follows, the
//! controllers act, and `rollgate why` names the revision, the field, who wrote it and when.

use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use crate::bench::{Space, bench};
use crate::helm::{Helm, Release, Run, rollgate};
use crate::observe::{Sight, condition, wait_for};

/// Long enough for one Machine on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);
const ADDRESS: &str = "10.0.0.14";
const PLACEHOLDER: &str = "55.55.55.55";

fn release<'a>(space: &'a Space, helm: Helm, chart: &'a str, values: &[&str]) -> Release<'a> {
    let values = values.iter().map(|&value| value.to_owned()).collect();
    Release { space, helm, name: "demo", chart, values, policy: space.file("none.yaml", "") }
}

/// Asks as a person does who knows nothing but the name of the cluster.
fn why(space: &Space, more: &[&str]) -> Run {
    let output = Command::new(rollgate())
        .args(["why", "--namespace", &space.namespace, "--policy", "none"])
        .args(more)
        .env("KUBECONFIG", &space.bench.kubeconfig)
        .env("ROLLGATE_KEY", "the key of the end-to-end tests, no secret")
        .env_remove("COLUMNS")
        .current_dir(&space.dir)
        .output()
        .expect("rollgate runs");
    Run::of(output)
}

fn json(space: &Space, more: &[&str]) -> Value {
    let run = why(space, &[more, &["-o", "json"]].concat()).succeeded();
    serde_json::from_str(&run.stdout).expect("a report")
}

/// One sentence, wherever its lines end.
fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The whole accident on a control plane whose Machines are really replaced.
fn replaced(helm: Helm) {
    let Some(bench) = bench() else { return };
    let space = Space::new(bench, &format!("why-{}", helm.name()));
    let release = release(&space, helm, "kubeadm", &["controlPlane.replicas=1", "workers.replicas=0"]);
    release.install_ungated(&[]).succeeded();
    let before =
        wait_for(&space, "one Machine running", PATIENCE, |sight| sight.running() == (1, 1) && sight.settled());
    let quiet = why(&space, &["demo"]).succeeded();
    assert!(quiet.stdout.starts_with("rollgate: no outdated Machine of demo was found\n"), "{}", quiet.stdout);
    let dump = space.dir.join("before.json");
    let saved = snapshot(&space, &release, &dump);

    release.upgrade_ungated(&[&format!("vip={ADDRESS}")]).succeeded();
    // A further revision, which changes nothing of Machines, must not be taken for the cause.
    release.upgrade_ungated(&[&format!("vip={ADDRESS}"), "controlPlane.labels.tier=gold"]).succeeded();
    wait_for(&space, "a new control plane", PATIENCE, |sight| {
        let now = sight.control_plane();
        now.len() == 1 && sight.running() == (1, 1) && now.iter().all(|uid| !before.control_plane().contains(uid))
    });
    let run = why(&space, &["demo"]).succeeded();
    let said = flat(&run.stdout);
    let owner = format!("KubeadmControlPlane {}/demo-cp", space.namespace);
    assert!(said.starts_with(&format!("rollgate: {owner} replaced 1 Machine since 20")), "{}", run.stdout);
    for words in [
        &format!("canReach {PLACEHOLDER} -> {ADDRESS}"),
        "spec.kubeadmConfigSpec.files[0].content",
        "(release demo, revision 2)",
        "revision 2 of demo, 20",
        "Upgrade complete",
    ] {
        assert!(said.contains(words), "{words:?} is not in\n{}", run.stdout);
    }
    assert!(run.stdout.lines().all(|line| line.chars().count() <= 100), "{}", run.stdout);
    let report = json(&space, &["demo"]);
    let field = &report["owners"][0]["rollouts"][0]["fields"][0];
    assert_eq!(report["owners"][0]["rollouts"][0]["replaced"], 1, "{report:#}");
    assert_eq!((&field["revisions"][0]["revision"], &field["revisions"][1]), (&2.into(), &Value::Null), "{field:#}");
    let writers = field["writers"].to_string();
    assert!(writers.contains("helm") && writers.contains("20"), "{field:#}");

    // The same from two snapshots, with no cluster: then the Machines that are gone have names.
    let after = space.dir.join("after.json");
    assert!(saved && snapshot(&space, &release, &after), "both Worlds can be saved");
    let (after, before) = (after.to_str().expect("a path"), dump.to_str().expect("a path"));
    let offline = why(&space, &["demo", "--live", after, "--before", before]).succeeded();
    let said = flat(&offline.stdout);
    assert!(said.contains("replaced: demo-cp-") && said.contains("(release demo, revision 2)"), "{}", offline.stdout);
    // What a snapshot hides may keep a document from being read; then the line that differs is told.
    let line = format!("canReach: {PLACEHOLDER} -> canReach: {ADDRESS}");
    assert!(
        said.contains(&line) || said.contains(&format!("canReach {PLACEHOLDER} -> {ADDRESS}")),
        "{}",
        offline.stdout
    );
}

/// Saves what a run would read.
fn snapshot(space: &Space, release: &Release<'_>, file: &std::path::Path) -> bool {
    let stream = release.template(&[]).succeeded().stdout;
    let rendered = space.file("rendered.yaml", &stream);
    let output = Command::new(rollgate())
        .arg("snapshot")
        .arg(rendered)
        .args(["--namespace", &space.namespace, "--release", "demo", "--policy", "none", "-o"])
        .arg(file)
        .env("KUBECONFIG", &space.bench.kubeconfig)
        .env("ROLLGATE_KEY", "the key of the end-to-end tests, no secret")
        .current_dir(&space.dir)
        .output()
        .expect("rollgate runs");
    let run = Run::of(output);
    assert!(matches!(run.code, Some(0 | 4)), "{run:#?}");
    file.exists()
}

/// The accident in the form in which it happened: three formats deep in an RKE2 control plane.
fn outdated_rke2(helm: Helm) {
    let Some(bench) = bench() else { return };
    let space = Space::new(bench, &format!("why-rke2-{}", helm.name()));
    let release = release(&space, helm, "rke2", &[]);
    let outdated = |sight: &Sight| {
        let is_false =
            |owner: &Value| condition(owner, "MachinesSpecUpToDate").is_some_and(|it| it["status"] == "False");
        sight.settled() && sight.all("rke2controlplanes").any(is_false)
    };
    release.install_ungated(&[]).succeeded();
    wait_for(&space, "one Machine", PATIENCE, |sight| sight.settled() && sight.running().0 == 1 && !outdated(sight));
    release.upgrade_ungated(&[&format!("vip={ADDRESS}")]).succeeded();
    wait_for(&space, "an outdated control plane", PATIENCE, outdated);
    let run = why(&space, &["demo-cp"]).succeeded();
    let said = flat(&run.stdout);
    let owner = format!("RKE2ControlPlane {}/demo-cp", space.namespace);
    assert!(said.starts_with(&format!("rollgate: {owner} has 1 Machine out of date")), "{}", run.stdout);
    for words in
        [&format!("canReach {PLACEHOLDER} -> {ADDRESS}"), "spec.files[0].content", "(release demo, revision 2)"]
    {
        assert!(said.contains(words), "{words:?} is not in\n{}", run.stdout);
    }
}

#[test]
fn why_names_the_revision_and_the_field_with_helm3() {
    replaced(Helm::V3);
}

#[test]
fn why_names_the_revision_and_the_field_with_helm4() {
    replaced(Helm::V4);
}

#[test]
fn why_reads_three_formats_deep_with_helm3() {
    outdated_rke2(Helm::V3);
}

#[test]
fn why_reads_three_formats_deep_with_helm4() {
    outdated_rke2(Helm::V4);
}
