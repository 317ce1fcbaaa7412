//! `rollgate why` from saved clusters: which field says that a Machine is out of date, who wrote it, what is due by itself.

use super::{Program, Ran, root};

const CLOCK: [&str; 4] = ["--now", "2026-11-21T12:00:00Z", "--policy", "none"];

/// What a scenario has read of its cluster.
fn live(scenario: &str) -> String {
    let file = root().join("testdata/scenarios").join(scenario).join("live.yaml");
    std::fs::read_to_string(file).expect("the live side of a scenario")
}

/// The cluster of kcp-vip-moved, its control plane changed by hand: only what stands in the document of its owner.
fn with_owner(change: impl Fn(&str) -> String) -> String {
    let live = live("kcp-vip-moved");
    let documents = live.split("\n---\n").map(|text| match text.contains("\nkind: KubeadmControlPlane\n") {
        true => change(text),
        false => text.to_owned(),
    });
    documents.collect::<Vec<_>>().join("\n---\n")
}

fn moved() -> String {
    with_owner(|text| text.replace("value: 10.0.3.7", "value: 10.0.3.42"))
}

fn why(program: &Program, live: &str, more: &[&str]) -> Ran {
    program.file("live.yaml", live);
    program.run(&[&["why", "--live", "live.yaml"], &CLOCK[..], more].concat(), b"")
}

#[test]
fn a_cluster_that_is_as_wanted_says_so() {
    let ran = why(&Program::new(), &live("kcp-vip-moved"), &[]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.starts_with("rollgate: no Machine is out of date\n"), "{}", ran.stdout);
}

#[test]
fn the_field_that_makes_machines_out_of_date_is_named_with_both_values_and_its_writer() {
    let program = Program::new();
    let fields = "managedFields: [{manager: helm-controller, operation: Apply, apiVersion: controlplane.cluster.x-k8s.io/v1beta1, \
        time: '2026-11-20T03:00:00Z', fieldsType: FieldsV1, fieldsV1: {'f:spec': {'f:kubeadmConfigSpec': {'f:files': {}}}}}]";
    let labels = "labels: {helm.toolkit.fluxcd.io/name: edge-2-release}";
    let owner = with_owner(|text| {
        let text = text.replace("value: 10.0.3.7", "value: 10.0.3.42");
        let name = "  name: edge-2-control-plane\n";
        let text = text.replacen(name, &format!("{name}  {fields}\n"), 1);
        // What stands there already would be a second map of labels.
        if text.contains("  labels:\n") { text } else { text.replacen(name, &format!("{name}  {labels}\n"), 1) }
    });
    let ran = why(&program, &owner, &[]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.starts_with("rollgate: 3 Machines out of date\n"), "{}", ran.stdout);
    let said = super::sentence(&ran.stdout, "out of date: edge-2-control-plane-b6lxn");
    for words in [
        "spec.kubeadmConfigSpec.files[0].content",
        "value: 10.0.3.7 -> value: 10.0.3.42 [kcp/files]",
        "written by helm-controller (Apply), which last wrote the object 2026-11-20T03:00:00Z",
    ] {
        assert!(said.contains(words), "{words} is not in {said}\n{}", ran.stdout);
    }
    let json = why(&program, &owner, &["-o", "json"]);
    let report: serde_json::Value = serde_json::from_str(&json.stdout).expect("JSON");
    assert_eq!(report["owners"][0]["outdated"][0]["fields"][0]["rule"], "kcp/files", "{report}");
    assert_eq!(report["isWhole"], true);
}

#[test]
fn one_machine_or_another_owner_is_asked_about_by_name() {
    let program = Program::new();
    let one = why(&program, &moved(), &["Machine/edge-2-control-plane-f2gqs"]);
    assert!(one.stdout.contains("1 Machine of Machine/edge-2-control-plane-f2gqs out of date"), "{}", one.stdout);
    assert!(!one.stdout.contains("b6lxn"), "{}", one.stdout);
    for name in ["edge-2", "edge-2/edge-2", "kubeadmcontrolplane/edge-2-control-plane"] {
        let ran = why(&program, &moved(), &[name]);
        assert!(ran.stdout.starts_with(&format!("rollgate: 3 Machines of {name} out of date")), "{}", ran.stdout);
    }
    let gone = why(&program, &moved(), &["gone"]);
    assert_eq!(gone.code, Some(2), "{}", gone.stdout);
    assert!(gone.stderr.contains("nothing is called \"gone\""), "{}", gone.stderr);
}

#[test]
fn machines_that_were_replaced_are_told_from_two_dumps() {
    let program = Program::new();
    program.file("before.yaml", &live("kcp-vip-moved"));
    // The whole cluster as it is afterwards: the new address everywhere, and other Machines.
    let mut after = live("kcp-vip-moved").replace("value: 10.0.3.7", "value: 10.0.3.42");
    for (old, new) in [("b6lxn", "aaaaa"), ("f2gqs", "bbbbb")] {
        after = after.replace(old, new);
    }
    let ran = why(&program, &after, &["--before", "before.yaml"]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.starts_with("rollgate: 2 Machines replaced\n"), "{}", ran.stdout);
    let said = super::sentence(&ran.stdout, "replaced: edge-2-control-plane-b6lxn, edge-2-control-plane-f2gqs");
    assert!(said.contains("value: 10.0.3.7 -> value: 10.0.3.42"), "{}", ran.stdout);
    assert!(!ran.stdout.contains("w8d5j"), "one Machine is still there and as wanted: {}", ran.stdout);
}

#[test]
fn workers_are_told_by_their_machine_set() {
    let ran = why(&Program::new(), &live("mid-rollout-scaled"), &[]);
    assert!(ran.stdout.contains("MachineDeployment fleet/demo-md of cluster demo"), "{}", ran.stdout);
    let said = super::sentence(&ran.stdout, "  out of date: ");
    assert!(said.contains("spec.template.spec.version v1.33.1") && said.contains("v1.33.2"), "{}", ran.stdout);
}

#[test]
fn a_rollout_that_comes_by_itself_is_told_with_its_time() {
    let later = with_owner(|text| text.replacen("\nspec:\n", "\nspec:\n  rolloutAfter: '2026-12-24T18:00:00Z'\n", 1));
    let ran = why(&Program::new(), &later, &[]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.starts_with("rollgate: 3 Machines due later by itself\n"), "{}", ran.stdout);
    assert!(ran.stdout.contains("due 2026-12-24T18:0"), "{}", ran.stdout);
    assert!(ran.stdout.contains("[kcp/rollout-after]"), "{}", ran.stdout);
    let spent = with_owner(|text| text.replacen("\nspec:\n", "\nspec:\n  rolloutAfter: '2020-01-01T00:00:00Z'\n", 1));
    let ran = why(&Program::new(), &spent, &[]);
    assert!(ran.stdout.starts_with("rollgate: no Machine is out of date\n"), "{}", ran.stdout);
}

#[test]
fn a_remediation_that_is_tried_again_and_again_is_told_with_its_count() {
    let note = r#"controlplane.cluster.x-k8s.io/remediation-in-progress: '{"machine":"edge-2-control-plane-b6lxn","timestamp":"2026-11-21T11:00:00Z","retryCount":819}'"#;
    let name = "  name: edge-2-control-plane\n";
    let sick = with_owner(|text| match text.contains("  annotations:\n") {
        true => text.replacen("  annotations:\n", &format!("  annotations:\n    {note}\n"), 1),
        false => text.replacen(name, &format!("{name}  annotations:\n    {note}\n"), 1),
    });
    let ran = why(&Program::new(), &sick, &[]);
    assert!(
        ran.stdout.contains("being remediated: edge-2-control-plane-b6lxn, tried 819 times before"),
        "{}",
        ran.stdout
    );
}

#[test]
fn what_could_not_be_read_is_said_and_is_undecided() {
    let all = live("kcp-vip-moved");
    let none: Vec<&str> = all.split("\n---\n").filter(|text| !text.contains("kind: Machine\n")).collect();
    let ran = why(&Program::new(), &none.join("\n---\n"), &[]);
    assert_eq!(ran.code, Some(4), "{}{}", ran.stdout, ran.stderr);
    assert!(
        ran.stdout.contains("not known: the Machines of KubeadmControlPlane edge-2/edge-2-control-plane"),
        "{}",
        ran.stdout
    );
    let program = Program::new();
    for args in [&["why", "--live", "none"][..], &["why", "--live", "cluster"]] {
        let ran = program.run(args, b"");
        assert_eq!(ran.code, Some(2), "{args:?}: {}{}", ran.stdout, ran.stderr);
    }
}

#[test]
fn secrets_stay_hidden() {
    let program = Program::new();
    let secret = "canary7Zq7";
    let owner = with_owner(|text| text.replace("value: 10.0.3.7", &format!("password: {secret}")));
    for format in ["human", "json"] {
        let ran = why(&program, &owner, &["-o", format]);
        assert!(ran.stdout.contains("files[0].content"), "{}", ran.stdout);
        assert!(!ran.stdout.contains(secret) && !ran.stderr.contains(secret), "{}", ran.stdout);
    }
}
