//! `plan --upgrade`: what another version of the providers replaces, what cannot be asked with it, and a snapshot for it.

use serde_json::Value;

use super::emptied::{Cluster, object};
use super::{Program, Ran, root};

const CLOCK: [&str; 4] = ["--now", "2026-11-21T12:00:00Z", "--policy", "none"];

/// The live side of a scenario.
fn live(scenario: &str) -> String {
    let file = root().join("testdata/scenarios").join(scenario).join("live.yaml");
    std::fs::read_to_string(file).expect("the live side of a scenario")
}

/// Plans an upgrade of the fleet of a scenario.
fn plan(program: &Program, scenario: &str, more: &[&str]) -> Ran {
    program.file("live.yaml", &live(scenario));
    program.run(&[&["plan", "--live", "live.yaml"], &CLOCK[..], more].concat(), b"")
}

fn report(program: &Program, scenario: &str, more: &[&str]) -> Value {
    let ran = plan(program, scenario, &[&["-o", "json"], more].concat());
    serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {}{}", ran.stdout, ran.stderr))
}

const FLEET: &str = "upgrade-joined-machines";
const FROM: [&str; 2] = ["--provider", "cluster-api=v1.11.5"];

#[test]
fn what_cannot_be_asked_with_an_upgrade_is_a_usage_error_that_says_what_to_do() {
    let program = Program::new();
    program.file("rendered.yaml", "kind: ConfigMap\n");
    let table: [(&[&str], &str); 7] = [
        (&["--upgrade", "cluster-apo=v1.14.2"], "did you mean cluster-api?"),
        (&["--upgrade", "cluster-api"], "write NAME=VERSION"),
        (&["--upgrade", "cluster-api=latest"], "latest is no version such as v1.11.3"),
        (&["--upgrade", "kubeadm=v1.13.0,core=v1.14.0"], "its parts are released together"),
        (&["--upgrade", "cluster-api=v1.14.2", "rendered.yaml"], "pass --provider cluster-api=v1.14.2"),
        (&["--upgrade", "cluster-api=v1.14.2", "--base", "rendered.yaml"], "--base would write others"),
        (&["--upgrade", "cluster-api=v1.14.2", "--all"], "--all would write others"),
    ];
    for (args, said) in table {
        let ran = plan(&program, FLEET, args);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{args:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(said), "{args:?}: {}", ran.stderr);
    }
    let none = program.run(&[&["plan", "--upgrade", "rke2=v0.25.0", "--live", "none"], &CLOCK[..]].concat(), b"");
    assert!(none.code == Some(2) && none.stderr.contains("--live none has none"), "{}", none.stderr);
}

#[test]
fn the_behaviour_to_blame_is_named_with_the_machines() {
    let report = report(&Program::new(), FLEET, &[&FROM[..], &["--upgrade", "cluster-api=v1.12.3"]].concat());
    assert_eq!(report["decision"], "hold");
    let behaviours = report["upgrade"]["behaviours"].as_array().expect("behaviours");
    let blamed: Vec<&str> =
        behaviours.iter().filter(|one| one["machines"] != 0).filter_map(|one| one["name"].as_str()).collect();
    assert_eq!(blamed, ["desired-objects"]);
    assert_eq!(report["rollouts"][0]["machineNames"], serde_json::json!(["edge-1-cp-2", "edge-1-cp-3"]));
    assert_eq!(report["objects"][0]["action"], "unchanged");
    assert_eq!(report["upgrade"]["providers"][0]["from"], "v1.11.5");
}

#[test]
fn a_behaviour_can_be_explained_by_its_name() {
    let ran = Program::new().run(&["explain", "desired-objects"], b"");
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(ran.stdout.contains("cluster-api since v1.12: control planes compare Machines with"), "{}", ran.stdout);
}

#[test]
fn another_version_is_another_digest() {
    let program = Program::new();
    let digest = |to: &str| {
        let to = format!("cluster-api={to}");
        report(&program, FLEET, &[&FROM[..], &["--upgrade", &to]].concat())["digest"].clone()
    };
    let (one, other) = (digest("v1.12.3"), digest("v1.13.6"));
    assert!(one != other && one == digest("v1.12.3"));
}

#[test]
fn every_format_says_it() {
    let program = Program::new();
    for format in ["human", "json", "markdown", "sarif", "junit", "gitlab", "github", "html"] {
        let ran = plan(&program, FLEET, &[&FROM[..], &["--upgrade", "cluster-api=v1.12.3", "-o", format]].concat());
        assert_eq!(ran.code, Some(3), "{format}: {}", ran.stderr);
        assert!(ran.stdout.contains("edge-1-cp"), "{format}: {}", ran.stdout);
    }
}

#[test]
fn a_version_that_is_not_known_is_never_allowed_in_silence() {
    let program = Program::new();
    let to = ["--upgrade", "cluster-api=v1.15.0", "--provider", "cluster-api=v1.14.2"];
    let ran = plan(&program, "upgrade-nothing", &to);
    assert_eq!(ran.code, Some(4), "{}", ran.stderr);
    assert!(ran.stdout.contains("rollgate knows cluster-api up to v1.14.2"), "{}", ran.stdout);
    program.file("policy.yaml", "apiVersion: rollgate.dev/v1alpha1\nkind: Policy\nunseen: {controllers: allow}\n");
    let asked = ["plan", "--live", "live.yaml", "--policy", "policy.yaml", CLOCK[0], CLOCK[1]];
    let ran = program.run(&[&asked[..], &to[..]].concat(), b"");
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.contains("warn what cluster-api v1.15.0 does"), "{}", ran.stdout);
}

#[test]
fn without_the_version_that_runs_nothing_is_allowed() {
    let ran = plan(&Program::new(), "upgrade-nothing", &["--upgrade", "cluster-api=v1.14.2"]);
    assert_eq!(ran.code, Some(4), "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.contains("which version of cluster-api runs now"), "{}", ran.stdout);
}

#[test]
fn a_snapshot_for_an_upgrade_says_the_same() {
    let program = Program::new();
    program.file("live.yaml", &live(FLEET));
    let upgrade = ["--upgrade", "cluster-api=v1.12.3"];
    let told = [&CLOCK[..], &FROM[..], &upgrade[..]].concat();
    let saved = program.run(&[&["snapshot", "--live", "live.yaml", "-o", "world.json"], &told[..]].concat(), b"");
    assert_eq!(saved.code, Some(0), "{}", saved.stderr);
    let ask = |live: &str| {
        let ran = program.run(&[&["plan", "--live", live, "-o", "json"], &told[..]].concat(), b"");
        let report: Value = serde_json::from_str(&ran.stdout).expect("a report");
        (ran.code, report["rollouts"].clone(), report["upgrade"]["behaviours"].clone())
    };
    assert_eq!(ask("live.yaml"), ask("world.json"));
}

#[test]
fn what_a_snapshot_hides_of_the_past_of_machines_is_not_known() {
    let program = Program::new();
    // With a space in it, a part of the text is a word of its own, which nobody knows to be harmless.
    let written =
        live("upgrade-discovery-timeout").replace("{\"apiServer\":{\"certSANs\":", "{\"apiServer\": {\"certSANs\": ");
    program.file("live.yaml", &written);
    let told = [&CLOCK[..], &["--provider", "cluster-api=v1.10.10", "--upgrade", "cluster-api=v1.11.5"]].concat();
    let saved = program.run(&[&["snapshot", "--live", "live.yaml", "-o", "world.json"], &told[..]].concat(), b"");
    assert_eq!(saved.code, Some(0), "{}", saved.stderr);
    let code = |live: &str| program.run(&[&["plan", "--live", live], &told[..]].concat(), b"").code;
    assert_eq!((code("live.yaml"), code("world.json")), (Some(3), Some(4)));
}

#[test]
fn the_cluster_is_asked_for_every_owner_and_for_pools() {
    const ASKED: [&str; 5] = ["plan", "--policy", "none", "--provider", "cluster-api=v1.13.6"];
    let upgrade = ["--upgrade", "cluster-api=v1.14.2"];
    let program = Program::new();
    let mut cluster = Cluster::with(&[], false);
    // Its workers have no Machine yet, and all Machines were listed.
    let ran = cluster.run(&program, &[&ASKED[..], &upgrade[..]].concat(), "");
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.contains("no Machine is replaced"), "{}", ran.stdout);
    let pool =
        object("cluster.x-k8s.io/v1", "MachinePool", Some("telco"), "mp", serde_json::json!({"clusterName": "c"}));
    for path in ["machinepools", "namespaces/telco/machinepools"] {
        cluster.list(&format!("/apis/cluster.x-k8s.io/v1/{path}"), "MachinePool", std::slice::from_ref(&pool));
    }
    for more in [&[][..], &["-n", "telco"]] {
        let ran = cluster.run(&program, &[&ASKED[..], &upgrade[..], more].concat(), "");
        assert_eq!(ran.code, Some(4), "{}{}", ran.stdout, ran.stderr);
        assert!(ran.stdout.contains("what cluster-api v1.14.2 does to 1 pool"), "{}", ran.stdout);
    }
    // What may not be read is no absence.
    for path in ["machines", "namespaces/telco/machines"] {
        cluster.0.insert(format!("/apis/cluster.x-k8s.io/v1/{path}"), Value::Null);
    }
    let ran = cluster.run(&program, &[&ASKED[..], &upgrade[..], &["-n", "telco"]].concat(), "");
    assert_eq!(ran.code, Some(4), "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.contains("forbidden"), "{}", ran.stdout);
}
