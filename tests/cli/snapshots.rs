//! Snapshots as a base: how old they are, and what they cannot answer.

use serde_json::Value;

use super::MACHINE_DEPLOYMENT;
use super::inputs::{Home, named};

#[test]
fn the_age_of_a_snapshot_stands_in_every_report_and_may_be_too_much() {
    let home = Home::new();
    let uid = MACHINE_DEPLOYMENT.replace("namespace: ns", "namespace: ns, uid: u-1");
    home.file("dump.yaml", &uid);
    let at = "2026-01-02T03:00:00Z";
    let saved = home.run(&["snapshot", "old.yaml", "--live", "dump.yaml", "--now", at, "-o", "nightly.json"]);
    assert_eq!(saved.code, Some(0), "{}", saved.stderr);
    let plan = |more: &[&str]| {
        home.run(
            &[
                &["plan", "old.yaml", "--live", "nightly.json", "--now", "2026-01-02T17:30:00Z", "--base", "old.yaml"],
                more,
            ]
            .concat(),
        )
    };
    let json: Value = serde_json::from_str(&plan(&["-o", "json"]).stdout).expect("a report");
    assert_eq!((&json["live"]["taken"], &json["live"]["ageSeconds"]), (&at.into(), &52_200.into()));
    for format in ["human", "markdown", "html"] {
        let text = plan(&["-o", format]).stdout;
        assert!(text.contains("taken 14 hours 30 minutes ago"), "{format}: {text}");
    }
    assert!(super::sentence(&plan(&[]).stdout, "warn").contains("what changed in the cluster since is not known"));
    let fresh = plan(&["--max-age", "15h"]);
    assert_eq!(fresh.code, Some(0), "{}{}", fresh.stdout, fresh.stderr);
    assert!(!fresh.stdout.contains("warn"), "{}", fresh.stdout);
    let dump = home.run(&["plan", "old.yaml", "--live", "dump.yaml", "--base", "old.yaml", "--max-age", "12h"]);
    assert_eq!(dump.code, Some(4), "{}{}", dump.stdout, dump.stderr);
    assert!(dump.stdout.contains("nothing in it says when it was taken"), "{}", dump.stdout);
    let old = plan(&["--max-age", "12h"]);
    assert_eq!(old.code, Some(4), "{}{}", old.stdout, old.stderr);
    let said = super::sentence(&old.stdout, "undecided read");
    assert!(said.contains("14 hours 30 minutes ago, and may be 12 hours old (--max-age)"), "{}", old.stdout);
    assert!(
        old.stdout
            .contains("do: take it again where the cluster is reached: rollgate snapshot RENDERED -o nightly.json"),
        "{}",
        old.stdout
    );
}

#[test]
fn a_snapshot_that_was_taken_for_other_objects_is_no_answer() {
    let home = Home::new();
    home.file("dump.yaml", &MACHINE_DEPLOYMENT.replace("namespace: ns", "namespace: ns, uid: u-1"));
    let saved = home.run(&["snapshot", "old.yaml", "--live", "dump.yaml", "-o", "nightly.json"]);
    assert_eq!(saved.code, Some(0), "{}", saved.stderr);
    // A snapshot of a cluster says what it was asked for; a dump that somebody made is taken for the whole.
    let file = home.0.home().join("nightly.json");
    let text = std::fs::read_to_string(&file).expect("a snapshot");
    let mut snapshot: Value = serde_json::from_str(&text).expect("JSON");
    let asked = serde_json::json!({"MachineDeployment.cluster.x-k8s.io": {"namespaces": ["ns"]}});
    snapshot["world"]["coverage"] = serde_json::json!({"asked": {"kinds": asked, "absent": []}});
    std::fs::write(&file, snapshot.to_string()).expect("written");
    home.file("another.yaml", &format!("{MACHINE_DEPLOYMENT}---\n{}", named("another", "v1.31.0")));
    let within = home.run(&["plan", "another.yaml", "--live", "nightly.json", "--base", "old.yaml"]);
    assert_eq!(within.code, Some(0), "{}{}", within.stdout, within.stderr);
    assert!(within.stdout.contains("MachineDeployment ns/another is new"), "{}", within.stdout);
    home.file("elsewhere.yaml", &MACHINE_DEPLOYMENT.replace("namespace: ns", "namespace: elsewhere"));
    let beyond = home.run(&["plan", "elsewhere.yaml", "--live", "nightly.json", "--base", "none"]);
    assert_eq!(beyond.code, Some(4), "{}{}", beyond.stdout, beyond.stderr);
    assert!(beyond.stdout.contains("a new rollgate snapshot of it"), "{}", beyond.stdout);
    assert!(!beyond.stdout.contains("is new"), "{}", beyond.stdout);
}

#[test]
fn a_snapshot_takes_the_place_of_the_last_one_and_of_nothing_else() {
    let home = Home::new();
    home.file("dump.yaml", MACHINE_DEPLOYMENT);
    home.file("tls.key", "-----BEGIN EC PRIVATE KEY-----\nmine\n");
    home.file("notes.json", "{\"kind\": \"Notes\"}\n");
    home.file("empty.json", "");
    let text = |name: &str| std::fs::read_to_string(home.0.home().join(name)).expect("a file");
    let take = |to: &str| home.run(&["snapshot", "old.yaml", "--live", "dump.yaml", "-o", to]);
    for (to, why) in [
        ("old.yaml", "this run reads that file"),
        ("./dump.yaml", "this run reads that file"),
        ("notes.json", "notes.json is there and is no World"),
        ("tls", "tls.key would hold the key of this snapshot, is there and is none"),
    ] {
        let kept: Vec<String> = ["old.yaml", "dump.yaml", "notes.json", "tls.key"].map(text).to_vec();
        let ran = take(to);
        assert_eq!(ran.code, Some(2), "{to}: {}", ran.stderr);
        assert!(ran.stderr.contains(why), "{to}: {}", ran.stderr);
        assert_eq!(["old.yaml", "dump.yaml", "notes.json", "tls.key"].map(text).to_vec(), kept, "{to}");
    }
    assert!(!home.0.home().join("tls").exists());
    for to in ["world.json", "world.json", "empty.json", "/dev/null"] {
        let ran = take(to);
        assert_eq!(ran.code, Some(0), "{to}: {}", ran.stderr);
    }
    assert!(text("world.json").contains("\"kind\":\"World\""));
}
