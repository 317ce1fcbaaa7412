//! `rollgate policy`: all that is wrong in one run, what is in force, and a team's own cases.

use super::{MACHINE_DEPLOYMENT, Program};

const POLICY: &str = "apiVersion: rollgate.dev/v1alpha1\nkind: Policy\ngates:\n  rollout: warn\n  maxMachines: 2\n";

#[test]
fn check_says_everything_that_is_wrong_with_its_line_and_what_was_expected() {
    let program = Program::new();
    program.file("rollgate.yaml", &POLICY.replace("warn", "true").replace("maxMachines: 2", "maxMachine: 2"));
    let ran = program.run(&["policy", "check"], b"");
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""));
    for line in [
        "rollgate.yaml:4:3: gates.rollout: expected allow, warn or hold",
        "rollgate.yaml:5:3: gates.maxMachine: there is no such field here; did you mean `maxMachines`?",
    ] {
        assert!(ran.stderr.contains(line), "{}", ran.stderr);
    }
    program.file("rollgate.yaml", POLICY);
    let ran = program.run(&["policy", "check"], b"");
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(ran.stdout.ends_with("rollgate.yaml: nothing is wrong with it\n"), "{}", ran.stdout);
}

#[test]
fn show_tells_what_is_in_force_and_where_it_is_said() {
    let program = Program::new();
    program.file("rollgate.yaml", POLICY);
    let ran = program.run(&["policy", "show"], b"");
    let said = |field: &str| ran.stdout.lines().find(|line| line.starts_with(field)).unwrap_or_default().to_owned();
    assert!(said("gates.rollout: warn").ends_with("line 4"), "{}", ran.stdout);
    assert!(said("gates.maxMachines: 2").ends_with("line 5"), "{}", ran.stdout);
    assert!(said("gates.delete: hold").ends_with("default"), "{}", ran.stdout);
    let ran = program.run(&["policy", "show", "--policy", "none"], b"");
    assert!(ran.stdout.starts_with("policy built-in"), "{}", ran.stdout);
}

#[test]
fn show_tells_what_a_profile_filled_in_from_what_was_there_without_it() {
    let program = Program::new();
    let shown = |profile: &str| {
        program.file(
            "rollgate.yaml",
            &POLICY.replace("gates:\n", &format!("profile: {profile}\ngates:\n  latent: warn\n")),
        );
        program.run(&["policy", "show"], b"").stdout
    };
    let said = |shown: &str, field: &str, from: &str| {
        let line = shown.lines().find(|line| line.starts_with(field)).unwrap_or_default();
        assert!(line.trim_start_matches(field).trim() == from, "{field}: {shown}");
    };
    let strict = shown("strict");
    said(&strict, "gates.infrastructure: hold", "profile strict");
    said(&strict, "gates.inPlace: warn", "profile strict");
    said(&strict, "gates.latent: warn", "line 5");
    said(&strict, "gates.delete: hold", "default");
    said(&shown("default"), "gates.delete: hold", "default");
    said(&shown("observe"), "gates.delete: hold", "default; profile observe only says it");
    said(&shown("observe"), "gates.latent: warn", "line 5");
}

#[test]
fn a_team_keeps_its_own_cases() {
    let program = Program::new();
    program.file("rollgate.yaml", POLICY);
    let case = |name: &str, replicas: &str, says: &str| {
        let folder = program.home().join("cases").join(name);
        std::fs::create_dir_all(&folder).expect("a folder");
        let old = MACHINE_DEPLOYMENT.replace("replicas: 2", replicas);
        std::fs::write(folder.join("live.yaml"), &old).expect("written");
        std::fs::write(folder.join("rendered.yaml"), old.replace("v1.31.0", "v1.32.0")).expect("written");
        std::fs::write(folder.join("case.yaml"), says).expect("written");
    };
    case("small", "replicas: 2", "decision: allow\neffect: rollout\ngates: [rollout]\nmachines: 2\n");
    case("large", "replicas: 3", "shows: too many\ndecision: hold\ngates: [maxMachines, rollout]\nmachines: 3\n");
    let ran = program.run(&["policy", "test", "cases"], b"");
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (Some(0), "ok    large\nok    small\n2 of 2 cases came out as expected\n"),
        "{}",
        ran.stderr
    );
    case("small", "replicas: 2", "decision: hold\ngates: []\nfindings: [pending-rollout]\nmachines: 1\n");
    let ran = program.run(&["policy", "test", "cases"], b"");
    assert_eq!(ran.code, Some(2), "{}", ran.stdout);
    assert!(
        ran.stdout.contains(
            "FAIL  small: the decision is allow, expected hold; the number of Machines is 2, expected 1; the list of gates is rollout, \
             expected ; there is no finding pending-rollout"
        ),
        "{}",
        ran.stdout
    );
    assert!(ran.stderr.contains("1 of 2 cases"), "{}", ran.stderr);
    case("small", "replicas: 2", "decison: hold\n");
    let ran = program.run(&["policy", "test", "cases"], b"");
    assert!(ran.code == Some(2) && ran.stderr.contains("did you mean `decision`?"), "{}", ran.stderr);
    let ran = program.run(&["policy", "test", "."], b"");
    assert!(ran.code == Some(2) && ran.stderr.contains("has no case"), "{}", ran.stderr);
}

#[test]
fn explain_knows_the_words_of_a_report_and_finds_near_misses() {
    let program = Program::new();
    for (what, said) in [
        ("exit 4", "exit code: 4"),
        ("maxMachines", "gate: maxMachines"),
        ("MachineDeployment", "MachineDeployment (cluster.x-k8s.io): workers"),
        ("silent-no-op", "finding: silent-no-op"),
    ] {
        let ran = program.run(&["explain", what], b"");
        assert!(ran.code == Some(0) && ran.stdout.contains(said), "{what}: {} {}", ran.stdout, ran.stderr);
    }
    let ran = program.run(&["explain", "kcp/versoin"], b"");
    assert!(ran.code == Some(2) && ran.stderr.contains("did you mean kcp/version"), "{}", ran.stderr);
}

#[test]
fn manual_pages_are_made_from_the_options() {
    let program = Program::new();
    assert!(program.run(&["man"], b"").stdout.contains(".TH"), "no page");
    assert_eq!(program.run(&["man", "pages"], b"").code, Some(0));
    assert!(program.home().join("pages/rollgate-plan.1").exists());
}

#[test]
fn a_policy_that_is_not_there_is_not_well_either() {
    let program = Program::new();
    let ran = program.run(&["policy", "check"], b"");
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""));
    assert!(ran.stderr.contains("there is no rollgate.yaml in this folder or above"), "{}", ran.stderr);
    assert_eq!(program.run(&["policy", "check", "--policy", "none"], b"").code, Some(0));
    program.file("rollgate.yml", "kind: nonsense\n");
    program.file("md.yaml", MACHINE_DEPLOYMENT);
    for args in [&["policy", "check"][..], &["plan", "md.yaml", "--live", "none"], &["pin", "list"]] {
        let ran = program.run(args, b"");
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{args:?}");
        assert!(ran.stderr.contains("rollgate.yml is not looked for; call it rollgate.yaml"), "{}", ran.stderr);
    }
    program.file("rollgate.yaml", POLICY);
    assert_eq!(program.run(&["policy", "check"], b"").code, Some(0));
}

#[test]
fn the_step_of_a_rule_of_ones_own_explains_it() {
    let program = Program::new();
    let folder = super::root().join("testdata/scenarios/user-rule-stricter");
    let file = |name: &str| folder.join(name).display().to_string();
    let (rendered, live, policy) = (file("rendered.yaml"), file("live.yaml"), file("policy.yaml"));
    let ran = program.run(&["plan", &rendered, "--live", &live, "--policy", &policy, "-o", "json"], b"");
    assert_eq!(ran.code, Some(3), "{}", ran.stderr);
    let report: serde_json::Value = serde_json::from_str(&ran.stdout).expect("JSON");
    let next = report["reasons"][0]["next"].as_str().expect("a command");
    assert_eq!(next, format!("rollgate explain ours/drain-timeout --policy {policy}"));
    let words: Vec<&str> = next.split(' ').skip(1).collect();
    let ran = program.run(&words, b"");
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(ran.stdout.contains("drain"), "{}", ran.stdout);
}
