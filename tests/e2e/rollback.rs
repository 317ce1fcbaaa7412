//! `helm rollgate rollback` with the real Helms and a real API server: what it would change is judged first, and a held one writes
//! no revision.

use std::process::Command;

use serde_json::Value;

use crate::bench::{Space, bench};
use crate::helm::{Helm, Release, Run, rollgate};

/// A policy that holds what reaches Machines without replacing them.
const STRICT: &str = "apiVersion: rollgate.dev/v1alpha1\nkind: Policy\ngates: {inPlace: hold}\n";
const MILD: &str = "apiVersion: rollgate.dev/v1alpha1\nkind: Policy\n";

/// Runs a program of the bench, or ours, as a user of this Helm alone.
fn run(space: &Space, helm: Helm, program: &str, args: &[&str]) -> Run {
    let mut command = Command::new(program);
    command.env_clear().env("PATH", "/usr/bin:/bin").env("HOME", space.dir.join("home"));
    command.env("KUBECONFIG", &space.bench.kubeconfig).env("HELM_BIN", space.bench.bin.join(helm.name()));
    Run::of(command.args(args).args(["-n", &space.namespace]).current_dir(&space.dir).output().expect("it runs"))
}

fn revisions(space: &Space, helm: Helm) -> usize {
    let program = space.bench.bin.join(helm.name()).display().to_string();
    let history = run(space, helm, &program, &["history", "demo", "-o", "json"]).succeeded();
    let list: Value = serde_json::from_str(&history.stdout).expect("JSON");
    list.as_array().expect("a list").len()
}

fn rolled_back(helm: Helm) {
    let Some(bench) = bench() else { return };
    let space = Space::new(bench, &format!("rollback-{}", helm.name()));
    let (strict, mild) = (space.file("strict.yaml", STRICT), space.file("mild.yaml", MILD));
    let policy = mild.clone();
    let release = Release { space: &space, helm, name: "demo", chart: "kubeadm", values: Vec::new(), policy };
    release.install_ungated(&["vip=10.0.3.7"]).succeeded();
    release.upgrade_ungated(&["vip=10.0.3.7", "controlPlane.drainTimeout=120"]).succeeded();
    let roll_back = |policy: &std::path::Path, more: &[&str]| {
        let policy = policy.display().to_string();
        run(&space, helm, &rollgate(), &[&["helm", "rollback", "demo", "--policy", &policy], more].concat())
    };
    let held = roll_back(&strict, &[]);
    assert_eq!((held.code, revisions(&space, helm)), (Some(3), 2), "{held:#?}");
    assert!(held.stderr.contains("hold in-place") && held.stderr.contains("demo-cp"), "{held:#?}");
    let dry = roll_back(&mild, &["--dry-run"]);
    assert_eq!((dry.code, revisions(&space, helm)), (Some(0), 2), "{dry:#?}");
    let done = roll_back(&mild, &[]);
    assert_eq!((done.code, revisions(&space, helm)), (Some(0), 3), "{done:#?}");
    // A release that is not there is no allow.
    let none = run(&space, helm, &rollgate(), &["helm", "rollback", "nothing-of-this-name", "--policy", "none"]);
    assert_eq!(none.code, Some(4), "{none:#?}");
}

#[test]
fn a_rollback_of_helm3_is_judged_before_it_is_written() {
    rolled_back(Helm::V3);
}

#[test]
fn a_rollback_of_helm4_is_judged_before_it_is_written() {
    rolled_back(Helm::V4);
}
