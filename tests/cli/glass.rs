//! Breaking the glass: what is held goes out without an approval where the policy allows it, loudly, and never unwritten.

use serde_json::Value;

use super::approvals::{POLICY, approve, flat, install, installing, plan_of, program};
use super::{Program, Ran, ran};

const REASON: &str = "INC7: the site is down";

fn allowed(more: &str) -> String {
    POLICY.replace("approvals.yaml}]", &format!("approvals.yaml}}], breakGlass: {{allow: true{more}}}"))
}

/// An install with the wish; its report lies in report.json.
fn broken(program: &Program, file: &str, clock: &str, more: &[&str]) -> Ran {
    install(program, file, clock, &[&["--break-glass", REASON, "-o", "json=report.json", "-o", "human"], more].concat())
}

fn report(program: &Program) -> Value {
    serde_json::from_str(&std::fs::read_to_string(program.home().join("report.json")).expect("a report")).expect("JSON")
}

/// Held, with nothing on standard output, and the reason why the glass is whole.
fn whole(program: &Program, ran: &Ran, code: i32, says: &str) {
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(code), ""), "{}", ran.stderr);
    assert!(!ran.stderr.contains("BREAK GLASS"), "{}", ran.stderr);
    let report = report(program);
    assert_eq!(report["breakGlass"]["opened"], false, "{report:#}");
    let why = report["breakGlass"]["message"].as_str().unwrap_or_default();
    assert!(why.contains(says) && flat(&ran.stderr).contains(says), "{says:?} is not in {why}\n{}", ran.stderr);
}

#[test]
fn where_the_policy_says_nothing_nobody_breaks_the_glass() {
    let program = program();
    let ran = broken(&program, "new.yaml", "12:00", &[]);
    whole(&program, &ran, 3, "the policy does not allow it (approvals.breakGlass)");
    assert!(!program.home().join("approvals.yaml").exists());
}

#[test]
fn a_held_install_goes_through_loudly_and_is_written_down() {
    let program = program();
    program.file("rollgate.yaml", &allowed(""));
    let ran = broken(&program, "new.yaml", "12:00", &[]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(ran.stdout.contains("v1.31.1"));
    let lines: Vec<&str> = ran.stderr.lines().filter(|line| line.starts_with("rollgate: allow")).collect();
    assert_eq!(lines.len(), 2, "{}", ran.stderr);
    let shout = format!("rollgate: allow  BREAK GLASS by ci ({REASON}): 2 Machines would be replaced");
    assert!(lines.iter().all(|line| *line == shout), "{lines:?}");
    assert!(ran.stderr.starts_with(&shout), "{}", ran.stderr);
    // The reasons stay, as warnings.
    assert!(flat(&ran.stderr).contains("warn rollout MachineDeployment ns/md: "), "{}", ran.stderr);
    let report = report(&program);
    let glass = &report["breakGlass"];
    assert_eq!((glass["opened"].as_bool(), glass["reason"].as_str()), (Some(true), Some(REASON)), "{report:#}");
    assert_eq!((glass["by"].as_str(), &glass["lifts"]), (Some("ci"), &serde_json::json!(["rollout"])));
    assert_eq!(report["reasons"][0]["gate"], "break-glass");
    let id = glass["id"].as_str().expect("a name");

    let listed = approve(&program, &["--list"]);
    let says = format!("{id}  nobody approved it: the glass was broken at 2026-11-21T12:00:00Z by ci");
    assert!(listed.stdout.contains(&says) && listed.stdout.contains(REASON), "{}", listed.stdout);
    // What is written down is no approval.
    let (code, later) = plan_of(&program, "new.yaml", "12:01", &[]);
    assert_eq!((code, later["approvals"][0]["standing"].as_str()), (Some(3), Some("used")), "{later:#}");
    assert!(later["approvals"][0]["message"].as_str().expect("words").contains("the glass was broken"));
    // Nor is it when somebody makes it look like one.
    let text = std::fs::read_to_string(program.home().join("approvals.yaml")).expect("a file");
    let text = text.replace("expires: \"2026-11-21", "expires: \"2026-11-29").replace("once: true", "once: false");
    program.file("approvals.yaml", &text);
    assert_eq!(plan_of(&program, "new.yaml", "12:01", &[]).0, Some(3));
    // The variable does the same as the option.
    let mut command = installing(&program, "12:10", &[]);
    command.env("ROLLGATE_BREAK_GLASS", "INC8");
    let again = ran_of(&program, command);
    assert!(again.code == Some(0) && again.stderr.contains("BREAK GLASS by ci (INC8)"), "{}", again.stderr);
}

fn ran_of(program: &Program, command: std::process::Command) -> Ran {
    ran(command, &std::fs::read(program.home().join("new.yaml")).expect("a stream"))
}

#[test]
fn every_format_shows_a_broken_glass() {
    let program = program();
    program.file("rollgate.yaml", &allowed(""));
    let formats = ["human", "json", "markdown", "sarif", "junit", "gitlab", "github", "html"];
    let outputs: Vec<String> = formats.iter().map(|format| format!("{format}={format}.out")).collect();
    let mut command = installing(&program, "12:00", &[]);
    command.args(["--break-glass", REASON]);
    for output in &outputs {
        command.args(["-o", output]);
    }
    assert_eq!(ran_of(&program, command).code, Some(0));
    for format in formats {
        let text = std::fs::read_to_string(program.home().join(format!("{format}.out"))).expect("an output");
        assert!(text.contains("BREAK GLASS by ci"), "{format}: {text}");
    }
}

#[test]
fn a_reason_opens_the_gate_for_an_hour_and_not_for_ever() {
    let program = program();
    program.file("rollgate.yaml", &allowed(""));
    assert_eq!(broken(&program, "new.yaml", "12:00", &[]).code, Some(0));
    assert_eq!(broken(&program, "new.yaml", "13:00", &[]).code, Some(0));
    let late = broken(&program, "new.yaml", "13:01", &[]);
    whole(&program, &late, 3, "with the same reason at 2026-11-21T12:00:00Z already");
    let fresh = install(&program, "new.yaml", "13:01", &["--break-glass", "INC9"]);
    assert_eq!(fresh.code, Some(0), "{}", fresh.stderr);
    // Another release has its own hour, and the policy may say another time.
    assert_eq!(broken(&program, "new.yaml", "13:01", &["--release", "s"]).code, Some(0));
    program.file("rollgate.yaml", &allowed(", longest: 2h"));
    assert_eq!(broken(&program, "new.yaml", "13:01", &[]).code, Some(0));
}

#[test]
fn who_may_not_and_what_cannot_be_written_down_leave_it_whole() {
    let program = program();
    program.file("rollgate.yaml", &allowed(", by: [anna]"));
    whole(&program, &broken(&program, "new.yaml", "12:00", &[]), 3, "it is by ci, and the policy allows only anna");
    program.file("rollgate.yaml", &allowed(", by: [ci]"));
    assert_eq!(broken(&program, "new.yaml", "12:00", &[]).code, Some(0));
    std::fs::remove_file(program.home().join("approvals.yaml")).expect("a file");

    whole(&program, &broken(&program, "new.yaml", "12:00", &["--commit", "never"]), 3, "records nothing");
    program.file("approvals.yaml", "kind: Policy\n");
    whole(&program, &broken(&program, "new.yaml", "12:00", &[]), 3, "cannot be read, so it could not be written down");
    std::fs::remove_file(program.home().join("approvals.yaml")).expect("a file");
    // A folder that is not there can be read as holding nothing, and not be written.
    program.file("rollgate.yaml", &allowed("").replace("approvals.yaml", "gone/approvals.yaml"));
    whole(&program, &broken(&program, "new.yaml", "12:00", &[]), 3, "its use cannot be recorded: ");
    // A ConfigMap is out of reach without the cluster.
    program.file("rollgate.yaml", &allowed("").replace("{file: approvals.yaml}", "configmap/a"));
    whole(&program, &broken(&program, "new.yaml", "12:00", &[]), 3, "configmap/a was not read");
    program.file("rollgate.yaml", &allowed(""));
    let mut nobody = installing(&program, "12:00", &[]);
    nobody.args(["--break-glass", REASON, "-o", "json=report.json", "-o", "human"]).env_remove("USER");
    whole(&program, &ran_of(&program, nobody), 3, "who does it is not known");
    let odd = install(&program, "new.yaml", "12:00", &["--break-glass", "a\nb"]);
    assert!(odd.code == Some(2) && odd.stderr.contains("say it in one line"), "{}", odd.stderr);
}

#[test]
fn it_lifts_no_doubt_no_placeholder_and_no_pin() {
    let program = program();
    let late = "lateValues: [{name: vip, placeholders: [\"55.55.55.55\"], type: ip, from: [{env: VIP}]}]\npins: {file: pins.yaml}\n";
    program.file("rollgate.yaml", &format!("{}{late}", allowed("")));
    let text = std::fs::read_to_string(program.home().join("new.yaml")).expect("a stream");
    program.file("late.yaml", &text.replace("5m0s", "55.55.55.55"));
    let ran = broken(&program, "late.yaml", "12:00", &[]);
    assert_ne!(ran.code, Some(0), "{}", ran.stderr);
    let why = report(&program)["breakGlass"]["message"].as_str().unwrap_or_default().to_owned();
    assert!(why.contains("late") && ran.stdout.is_empty(), "{why}\n{}", ran.stderr);
    // What could not be read is a doubt.
    program.file("rollgate.yaml", &allowed(""));
    let mut command = installing(&program, "12:00", &["--live", "cluster", "--base", "none"]);
    command.args(["--break-glass", REASON, "-o", "json=report.json", "-o", "human"]);
    command.env("KUBECONFIG", "/nowhere");
    let unread = ran_of(&program, command);
    whole(&program, &unread, 4, "it cannot lift what is undecided: read");
    // Where nothing is held there is nothing to break.
    program.file("same.yaml", &text.replace("v1.31.1", "v1.31.0"));
    let idle = broken(&program, "same.yaml", "12:00", &[]);
    assert_eq!(idle.code, Some(0), "{}", idle.stderr);
    assert!(flat(&idle.stderr).contains("break-glass had no effect: nothing is held"), "{}", idle.stderr);
    assert!(!program.home().join("approvals.yaml").exists());
}

#[test]
fn a_policy_that_allows_it_names_where_it_is_written_down() {
    let program = Program::new();
    for (approvals, says) in [
        ("{breakGlass: {allow: true}}", "it has to be written down"),
        ("{from: [{gitTrailer: A}], breakGlass: {allow: true}}", "it has to be written down"),
        ("{from: [configmap/a], breakGlass: {allow: true, longest: soon}}", "soon"),
    ] {
        program.file(
            "rollgate.yaml",
            &format!("apiVersion: rollgate.dev/v1alpha1\nkind: Policy\napprovals: {approvals}\n"),
        );
        let ran = program.run(&["policy", "check", "rollgate.yaml"], b"");
        assert!(
            ran.code == Some(2) && format!("{}{}", ran.stdout, ran.stderr).contains(says),
            "{}{}",
            ran.stdout,
            ran.stderr
        );
    }
}
