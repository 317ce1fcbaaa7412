//! The budget of a day: what post-renderers let out is noted, counts once, and of two at once only one takes what is left.

use super::approvals::{approve, flat, install, installing, plan_of, program};
use super::{Program, Ran, ran};

const POLICY: &str = "apiVersion: rollgate.dev/v1alpha1
kind: Policy
gates: {rollout: warn, budget: {perDay: 3, history: {file: history.yaml}}}
";

fn with_budget(policy: &str) -> Program {
    let program = program();
    program.file("rollgate.yaml", policy);
    program.file("history.yaml", "");
    program
}

fn history(program: &Program) -> String {
    std::fs::read_to_string(program.home().join("history.yaml")).expect("a history")
}

fn entries(program: &Program) -> usize {
    history(program).matches("\"digest\"").count()
}

/// Another version of the same Machines: another change.
fn second(program: &Program) {
    let text = std::fs::read_to_string(program.home().join("new.yaml")).expect("a stream");
    program.file("second.yaml", &text.replace("v1.31.1", "v1.31.2"));
}

#[test]
fn what_went_out_today_is_counted_and_a_plan_notes_nothing() {
    let program = with_budget(POLICY);
    second(&program);
    assert_eq!(plan_of(&program, "new.yaml", "08:00", &[]).0, Some(0));
    assert_eq!(entries(&program), 0);
    let first = install(&program, "new.yaml", "08:00", &[]);
    assert_eq!(first.code, Some(0), "{}", first.stderr);
    assert!(
        history(&program).contains("\"name\":\"c\"") && history(&program).contains("\"by\":\"ci\""),
        "{}",
        history(&program)
    );
    // The same install again counts once, another one does not fit.
    assert_eq!(install(&program, "new.yaml", "09:00", &[]).code, Some(0));
    assert_eq!(entries(&program), 1);
    let other = install(&program, "second.yaml", "10:00", &[]);
    assert_eq!((other.code, other.stdout.as_str()), (Some(3), ""), "{}", other.stderr);
    let says = "hold budget.perDay 2 Machines would be replaced or removed, and in the last 24 hours 2 Machines went out; the policy allows 3 a day [file history.yaml]";
    assert!(flat(&other.stderr).contains(says), "{}", other.stderr);
    assert!(
        other.stderr.contains("do: wait until 2026-11-22T09:00:00Z, or raise gates.budget.perDay"),
        "{}",
        other.stderr
    );
    assert_eq!(entries(&program), 1);
    // A day later it fits.
    let (code, report) = plan_of(&program, "second.yaml", "10:00", &["--now", "2026-11-22T09:00:00Z"]);
    assert_eq!(code, Some(0), "{report:#}");
    // What takes no Machine is not asked about, however full the day is.
    program.file(
        "same.yaml",
        &std::fs::read_to_string(program.home().join("live.yaml")).expect("a stream").replace(", uid: u1", ""),
    );
    assert_eq!(install(&program, "same.yaml", "10:00", &[]).code, Some(0));
    assert_eq!(entries(&program), 1);
    // Nothing goes out of a dry run.
    assert_eq!(install(&program, "new.yaml", "11:00", &["--release", "s", "--commit", "never"]).code, Some(3));
}

#[test]
fn a_history_that_cannot_be_read_or_written_lets_nothing_through() {
    let program = with_budget(POLICY);
    for broken in
        ["entries: [", "kind: Policy\n", "apiVersion: rollgate.dev/v1alpha1\nkind: History\nentries: [{id: a}]\n"]
    {
        program.file("history.yaml", broken);
        let ran = install(&program, "new.yaml", "08:00", &[]);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(4), ""), "{}", ran.stderr);
        assert!(flat(&ran.stderr).contains("how many Machines went in the last 24 hours is unknown"), "{}", ran.stderr);
    }
    // A file that is not there is no empty day: each run may have made it anew.
    std::fs::remove_file(program.home().join("history.yaml")).expect("a file");
    let (code, report) = plan_of(&program, "new.yaml", "08:00", &[]);
    assert_eq!(code, Some(4), "{report:#}");
    assert!(report["reasons"][0]["message"].as_str().expect("words").contains("it is not there"), "{report:#}");
    program.file("history.yaml", "");
    assert_eq!(plan_of(&program, "new.yaml", "08:00", &[]).0, Some(0));
    let never = install(&program, "new.yaml", "08:00", &["--commit", "never"]);
    assert_eq!((never.code, never.stdout.as_str()), (Some(3), ""), "{}", never.stderr);
    assert!(flat(&never.stderr).contains("--commit never would not note what goes out"), "{}", never.stderr);
    program.file("rollgate.yaml", &POLICY.replace("{file: history.yaml}", "configmap/rollgate-history"));
    let (code, report) = plan_of(&program, "new.yaml", "08:00", &[]);
    assert_eq!((code, report["reasons"][0]["gate"].as_str()), (Some(4), Some("budget.perDay")), "{report:#}");
    // Who only watches is told, and held by nothing that is known.
    program.file("rollgate.yaml", &format!("{}profile: observe\n", POLICY.replace("perDay: 3", "perDay: 1")));
    assert_eq!(install(&program, "new.yaml", "08:00", &[]).code, Some(0));
    assert_eq!(entries(&program), 1);
}

#[test]
fn of_many_installs_at_once_as_many_go_out_as_the_day_has() {
    let program = with_budget(&POLICY.replace("perDay: 3", "perDay: 5"));
    let stream = std::fs::read(program.home().join("new.yaml")).expect("a stream");
    let all: Vec<Ran> = std::thread::scope(|scope| {
        let running: Vec<_> = (0..10)
            .map(|number| {
                let release = format!("r{number}");
                let command = installing(&program, "08:00", &["--release", &release]);
                let stream = &stream;
                scope.spawn(move || ran(command, stream))
            })
            .collect();
        running.into_iter().map(|one| one.join().expect("no panic")).collect()
    });
    let codes: Vec<Option<i32>> = all.iter().map(|ran| ran.code).collect();
    assert_eq!(codes.iter().filter(|code| **code == Some(0)).count(), 2, "{codes:?}");
    for ran in all.iter().filter(|ran| ran.code != Some(0)) {
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(3), ""), "{}", ran.stderr);
        assert!(flat(&ran.stderr).contains("4 Machines went out; the policy allows 5 a day"), "{}", ran.stderr);
    }
    assert_eq!(entries(&program), 2);
}

#[test]
fn an_approval_lifts_the_budget_that_it_was_given_for() {
    let program = with_budget(
        &POLICY
            .replace("perDay: 3", "perDay: 1")
            .replace("gates:", "approvals: {from: [{file: approvals.yaml}]}\ngates:"),
    );
    second(&program);
    assert_eq!(plan_of(&program, "new.yaml", "12:00", &[]).0, Some(3));
    let given = approve(&program, &["last", "--reason", "CHG1"]);
    assert_eq!(given.code, Some(0), "{}", given.stderr);
    assert_eq!(install(&program, "new.yaml", "12:10", &[]).code, Some(0));
    // More went out meanwhile than it says.
    program.file("history.yaml", &history(&program).replace("ns/r", "ns/other"));
    let (code, report) = plan_of(&program, "new.yaml", "13:00", &[]);
    assert_eq!(
        (code, report["approvals"][0]["message"].as_str()),
        (Some(3), Some("not lifted: budget.perDay says something else now"))
    );
}

#[test]
fn a_stream_that_writes_the_history_is_held_and_a_policy_names_one_place() {
    let program =
        with_budget(&POLICY.replace("{file: history.yaml}", "configmap/ns/h").replace("perDay: 3", "perCluster: 9"));
    let text = std::fs::read_to_string(program.home().join("new.yaml")).expect("a stream");
    program
        .file("h.yaml", &format!("{text}---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: h, namespace: ns}}\n"));
    let (code, report) = plan_of(&program, "h.yaml", "08:00", &[]);
    assert_eq!((code, report["reasons"][0]["gate"].as_str()), (Some(3), Some("budget.history")), "{report:#}");
    for (budget, says) in [
        ("{perDay: 1}", "say where it is noted what went out"),
        ("{perDay: 1, history: secret/a}", "is no place for it"),
        ("{perDay: 1, history: configmap/a/b/c}", "is no place for it"),
        ("{perDay: 1, history: configmap/pins}", "keeps something else already"),
        ("{perDay: 1, history: configmap/x/approvals}", "keeps something else already"),
        ("{perDay: 1, history: {file: a.yaml}}", "keeps something else already"),
    ] {
        let policy = format!(
            "apiVersion: rollgate.dev/v1alpha1\nkind: Policy\npins: {{store: configmap/pins}}\napprovals: {{from: [configmap/approvals, {{file: a.yaml}}]}}\ngates: {{budget: {budget}}}\n"
        );
        program.file("rollgate.yaml", &policy);
        let ran = program.run(&["policy", "check", "rollgate.yaml"], b"");
        assert!(
            ran.code == Some(2) && format!("{}{}", ran.stdout, ran.stderr).contains(says),
            "{budget}: {}{}",
            ran.stdout,
            ran.stderr
        );
    }
}
