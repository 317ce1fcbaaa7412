//! From a hold to an install that goes through: what a person approved counts for exactly that change, and for nothing else.

use std::process::Command;

use serde_json::Value;

use super::{MACHINE_DEPLOYMENT, Program, Ran, ran};

pub(super) const POLICY: &str = "apiVersion: rollgate.dev/v1alpha1
kind: Policy
approvals: {from: [{file: approvals.yaml}]}
";
const KEY: &str = "0123456789abcdef0123456789abcdef";
const DAY: &str = "2026-11-21";

/// A home with a policy, and a cluster whose workers are to be replaced: a new version in `new.yaml`.
pub(super) fn program() -> Program {
    let program = Program::new();
    program.file("rollgate.yaml", POLICY);
    program.file("live.yaml", &live("c", "u1"));
    program.file("new.yaml", &stream().replace("v1.31.0", "v1.31.1"));
    program
}

/// What is rendered.
pub(super) fn stream() -> String {
    format!("{MACHINE_DEPLOYMENT}---\n{}", cluster("c", ""))
}

pub(super) fn live(name: &str, uid: &str) -> String {
    format!("{MACHINE_DEPLOYMENT}---\n{}", cluster(name, &format!(", uid: {uid}")))
}

fn cluster(name: &str, more: &str) -> String {
    format!(
        "apiVersion: cluster.x-k8s.io/v1beta1\nkind: Cluster\nmetadata: {{name: {name}, namespace: ns{more}}}\nspec: {{paused: false}}\n"
    )
}

/// The options of every run, but for those that are told otherwise.
pub(super) fn with<'a>(options: &[&'a str], more: &[&'a str]) -> Vec<&'a str> {
    let common = ["--live", "live.yaml", "--base", "live.yaml", "--release", "r", "-n", "ns"];
    let all = [options, &common].concat();
    let kept = all.chunks(2).filter(|pair| !more.contains(&pair[0]));
    kept.flatten().chain(more).copied().collect()
}

pub(super) fn at(clock: &str) -> String {
    format!("{DAY}T{clock}:00Z")
}

/// A plan, and its report.
pub(super) fn plan_of(program: &Program, file: &str, clock: &str, more: &[&str]) -> (Option<i32>, Value) {
    let now = at(clock);
    let options = with(&["-o", "json", "--now", &now], more);
    let ran = program.run(&[&["plan", file], &options[..]].concat(), b"");
    let report = serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("no report: {}", ran.stderr));
    (ran.code, report)
}

pub(super) fn plan(program: &Program) -> (Option<i32>, Value) {
    plan_of(program, "new.yaml", "12:00", &[])
}

pub(super) fn approve(program: &Program, args: &[&str]) -> Ran {
    let now = at("12:00");
    program.run_with(&[&["approve", "--now", &now], args].concat(), b"", &[("USER", "anna")])
}

fn approved(program: &Program, args: &[&str]) -> String {
    let ran = approve(program, &[&["--reason", "CHG1: upgrade"], args].concat());
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    ran.stdout.split_whitespace().nth(1).expect("an id").to_owned()
}

/// An install as a post-renderer sees it.
pub(super) fn install(program: &Program, file: &str, clock: &str, more: &[&str]) -> Ran {
    ran(installing(program, clock, more), &std::fs::read(program.home().join(file)).expect("a stream"))
}

pub(super) fn installing(program: &Program, clock: &str, more: &[&str]) -> Command {
    let mut command = program.command();
    let now = at(clock);
    let options = ["--policy", "rollgate.yaml", "--host", "helm3", "--commit", "always", "--now", &now];
    command.arg("post-render").args(with(&options, more)).env("USER", "ci");
    command
}

/// A report for people without its line ends.
pub(super) fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// How the first approval of a report stands to it.
fn standing(report: &Value) -> (&str, &str) {
    let first = &report["approvals"][0];
    (first["standing"].as_str().unwrap_or_default(), first["message"].as_str().unwrap_or_default())
}

#[test]
fn the_next_line_of_a_hold_approves_exactly_that_change() {
    let program = program();
    let (code, report) = plan(&program);
    assert_eq!(code, Some(3), "{report:#}");
    let next = report["reasons"][0]["next"].as_str().expect("a command");
    let policy = program.home().join("rollgate.yaml").canonicalize().expect("a path");
    let digest = report["digest"].as_str().expect("a digest");
    assert_eq!(next, format!("rollgate approve {digest} --policy {} -n ns --reason TEXT", policy.display()));
    let or = report["reasons"][0]["or"][0].as_str().expect("another command");
    assert!(or.starts_with("rollgate explain "), "{or}");
    let words: Vec<&str> = next.split_whitespace().skip(2).collect();
    let ran = approve(&program, &words);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    for part in [
        "until 2026-11-22T12:00:00Z\n",
        digest,
        "release   ns/r\n",
        "cluster   ns/c (uid u1)\n",
        "Machines  2\n",
        "rollout   MachineDeployment ns/md: ",
    ] {
        assert!(ran.stdout.contains(part), "{part:?} is not in {}", ran.stdout);
    }

    let (code, report) = plan(&program);
    assert_eq!((code, standing(&report)), (Some(0), ("counts", "")), "{report:#}");
    let first = &report["approvals"][0];
    assert_eq!((first["by"].as_str(), first["reason"].as_str()), (Some("anna"), Some("TEXT")));
    assert_eq!((&first["lifts"][0], &report["reasons"][0]["decision"]), (&"rollout".into(), &"warn".into()));

    // The same change in another order and with comments is the same change.
    let text = stream()
        .replace("v1.31.0", "v1.31.1 # wanted")
        .replace("kind: MachineDeployment\n", "# words\nkind: MachineDeployment\n");
    program.file("again.yaml", &text);
    assert_eq!(plan_of(&program, "again.yaml", "12:00", &[]).0, Some(0));
    // One more field is another change, and so is another version.
    for (name, text) in [
        ("more.yaml", stream().replace("v1.31.0", "v1.31.1").replace("5m0s", "6m0s")),
        ("other.yaml", stream().replace("v1.31.0", "v1.31.2")),
        ("both.yaml", stream().replace("v1.31.0", "v1.31.1").replace("name: t}", "name: u}")),
    ] {
        program.file(name, &text);
        let (code, report) = plan_of(&program, name, "12:00", &[]);
        assert_eq!((code, standing(&report).0), (Some(3), "other-change"), "{name}: {report:#}");
        assert!(standing(&report).1.contains(digest), "{report:#}");
    }
}

#[test]
fn a_policy_that_names_no_place_counts_no_approval() {
    let program = program();
    let (_, report) = plan(&program);
    approved(&program, &[report["digest"].as_str().expect("a digest")]);
    program.file("rollgate.yaml", "apiVersion: rollgate.dev/v1alpha1\nkind: Policy\n");
    let (code, report) = plan(&program);
    assert_eq!((code, report.get("approvals")), (Some(3), None));
    assert!(!report["reasons"][0]["next"].as_str().expect("a command").contains("approve"), "{report:#}");
    let ran = approve(&program, &["--reason", "x"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("approvals: {from: [configmap/rollgate-approvals]}"), "{}", ran.stderr);
}

#[test]
fn one_install_uses_a_single_use_up_and_a_plan_does_not() {
    let program = program();
    plan(&program);
    let id = approved(&program, &["last", "--once"]);
    for _ in 0..2 {
        let (code, report) = plan(&program);
        assert_eq!(code, Some(0));
        let warning = format!("approval {id} in file approvals.yaml is for one install; a plan does not use it up");
        assert!(report["warnings"].as_array().expect("warnings").contains(&warning.into()), "{report:#}");
    }
    // What does not write neither uses it up nor lets anything through that could write.
    let never = install(&program, "new.yaml", "12:10", &["--commit", "never"]);
    assert_eq!((never.code, never.stdout.as_str()), (Some(3), ""), "{}", never.stderr);
    assert!(flat(&never.stderr).contains("--commit never would not use it up"), "{}", never.stderr);
    let first = install(&program, "new.yaml", "12:30", &[]);
    assert_eq!(first.code, Some(0), "{}", first.stderr);
    assert!(first.stdout.contains("v1.31.1") && first.stderr.contains(&format!("approval {id} is used up")));
    let second = install(&program, "new.yaml", "12:31", &[]);
    assert_eq!((second.code, second.stdout.as_str()), (Some(3), ""), "{}", second.stderr);
    assert!(
        second.stderr.contains("it was for one install, and was used up at 2026-11-21T12:30:00Z by ci"),
        "{}",
        second.stderr
    );
    assert_eq!(standing(&plan(&program).1).0, "used");
    let listed = approve(&program, &["--list"]);
    assert!(listed.stdout.contains(&format!("{id}  was for one install")), "{}", listed.stdout);
}

#[test]
fn of_fifty_installs_at_once_a_single_use_lets_one_through() {
    let program = program();
    plan(&program);
    approved(&program, &["last", "--once"]);
    let stream = std::fs::read(program.home().join("new.yaml")).expect("a stream");
    let all: Vec<Ran> = std::thread::scope(|scope| {
        let running: Vec<_> = (0..50)
            .map(|_| {
                let command = installing(&program, "12:30", &[]);
                let stream = &stream;
                scope.spawn(move || ran(command, stream))
            })
            .collect();
        running.into_iter().map(|one| one.join().expect("no panic")).collect()
    });
    let through: Vec<&Ran> = all.iter().filter(|ran| ran.code == Some(0)).collect();
    assert_eq!(through.len(), 1, "{:?}", all.iter().map(|ran| ran.code).collect::<Vec<_>>());
    for ran in all.iter().filter(|ran| ran.code != Some(0)) {
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(3), ""), "{}", ran.stderr);
        assert!(flat(&ran.stderr).contains("was used up"), "{}", ran.stderr);
    }
}

#[test]
fn what_no_longer_counts_says_why() {
    let program = program();
    let (_, report) = plan(&program);
    let id = approved(&program, &["last", "--expires", "1h"]);
    let file = || std::fs::read_to_string(program.home().join("approvals.yaml")).expect("a file");
    let text = file();
    let held = |clock: &str, more: &[&str]| {
        let (code, report) = plan_of(&program, "new.yaml", clock, more);
        assert_eq!(code, Some(3), "{report:#}");
        let (standing, message) = standing(&report);
        (standing.to_owned(), message.to_owned())
    };
    let (state, why) = held("13:00", &[]);
    assert_eq!((state.as_str(), why.as_str()), ("expired", "it ended at 2026-11-21T13:00:00Z"));
    assert_eq!(plan_of(&program, "new.yaml", "12:59", &[]).0, Some(0));
    let (state, why) = held("12:10", &["--release", "other"]);
    assert_eq!((state.as_str(), why.as_str()), ("other-release", "it is for ns/r, and this is ns/other"));
    program.file("live.yaml", &live("c", "u2"));
    let (state, why) = held("12:10", &[]);
    assert_eq!(
        (state.as_str(), why.as_str()),
        ("other-cluster", "it is for the cluster ns/c (uid u1), and this is ns/c (uid u2)")
    );
    program.file("live.yaml", &live("c", "u1"));
    program.file("rollgate.yaml", &POLICY.replace("approvals.yaml}]", "approvals.yaml}], by: [berta]"));
    assert_eq!(
        held("12:10", &[]),
        ("not-by".to_owned(), "it is by anna, and the policy counts those of berta".to_owned())
    );
    program.file("rollgate.yaml", &POLICY.replace("approvals.yaml}]", "approvals.yaml}], longest: 30m"));
    assert_eq!(held("12:10", &[]).0, "too-long");
    program.file("rollgate.yaml", POLICY);

    let revoked = approve(&program, &["--revoke", &id, "--reason", "the window moved"]);
    assert_eq!(revoked.code, Some(0), "{}", revoked.stderr);
    let (state, why) = held("12:10", &[]);
    assert_eq!(
        (state.as_str(), why.as_str()),
        ("revoked", "it was revoked at 2026-11-21T12:00:00Z by anna: the window moved")
    );
    assert_eq!(approve(&program, &["--revoke", &id, "--reason", "again"]).code, Some(2));
    assert_eq!(approve(&program, &["--revoke", "nobody", "--reason", "x"]).code, Some(2));

    for (broken, state, why) in [
        (text.replace("once", "twice").replace("    reason:", "    why:"), "malformed", "approvals.yaml:"),
        (text.replace("digest: ", "digest: 7 # "), "malformed", "digest: "),
        (
            text.replace("kind: Approvals", "kind: Policy"),
            "unread",
            "expected apiVersion rollgate.dev/v1alpha1 and kind Approvals",
        ),
        (format!("{text}approvals: []\n"), "unread", "stands here again"),
    ] {
        program.file("approvals.yaml", &broken);
        let (found, message) = held("12:10", &[]);
        assert_eq!(found, state, "{message}");
        assert!(message.contains(why), "{message}");
    }
    std::fs::remove_file(program.home().join("approvals.yaml")).expect("a file");
    std::fs::create_dir(program.home().join("approvals.yaml")).expect("a folder");
    let (state, why) = held("12:10", &[]);
    assert!(state == "unread" && why.contains("it is no file"), "{why}");
    assert_eq!(approve(&program, &["--list"]).code, Some(4));
    drop(report);
}

#[test]
fn a_gate_that_did_not_hold_when_it_was_given_still_holds() {
    let program = program();
    let open = format!("{POLICY}gates: {{rollout: hold, windows: [{{cron: \"0 12 * * *\", for: 1h}}]}}\n");
    program.file("rollgate.yaml", &open);
    plan(&program);
    approved(&program, &["last"]);
    assert_eq!(plan(&program).0, Some(0));
    let (code, report) = plan_of(&program, "new.yaml", "13:30", &[]);
    assert_eq!(code, Some(3), "{report:#}");
    assert_eq!(standing(&report), ("counts", "not lifted: windows did not hold when it was given, or was left out"));
    // Given outside of the window too, it lifts both, at another time as well.
    approved(&program, &["last"]);
    assert_eq!(plan_of(&program, "new.yaml", "14:30", &[]).0, Some(0));
    // Only some of the gates may be approved, and only those that hold.
    std::fs::remove_file(program.home().join("approvals.yaml")).expect("a file");
    plan_of(&program, "new.yaml", "13:30", &[]);
    let wrong = approve(&program, &["last", "--reason", "x", "--gates", "health.etcd"]);
    assert_eq!(wrong.code, Some(2));
    assert!(
        wrong
            .stderr
            .contains("health.etcd does not hold in this report, so it cannot be approved; there are rollout, windows"),
        "{}",
        wrong.stderr
    );
    let part = approve(&program, &["last", "--reason", "x", "--gates", "windows"]);
    assert!(part.code == Some(0) && part.stderr.contains("it still holds: rollout"), "{}", part.stderr);
    assert_eq!(plan_of(&program, "new.yaml", "13:30", &[]).0, Some(3));
}

#[test]
fn more_machines_than_were_approved_are_not() {
    let program = program();
    plan(&program);
    approved(&program, &["last"]);
    let scaled = |text: String, count: &str| text.replace("replicas: 2", &format!("replicas: {count}"));
    for (count, code) in [("1", Some(0)), ("2", Some(0)), ("3", Some(3))] {
        program.file("live.yaml", &scaled(live("c", "u1"), count));
        program.file("new.yaml", &scaled(stream().replace("v1.31.0", "v1.31.1"), count));
        let (found, report) = plan(&program);
        assert_eq!(found, code, "{count}: {report:#}");
        if count == "3" {
            assert_eq!(standing(&report), ("more-machines", "it is for 2 Machines, and now it would be 3"));
        }
    }
}

#[test]
fn a_doubt_is_never_lifted() {
    let program = program();
    plan(&program);
    approved(&program, &["last"]);
    // A changed object that carries others is a doubt of its own.
    let release = |interval: &str| {
        format!(
            "---\napiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {{name: x, namespace: ns}}\nspec: {{interval: 1m, values: {{a: {interval}}}}}\n"
        )
    };
    program.file("live.yaml", &format!("{}{}", live("c", "u1"), release("5m")));
    program.file("doubt.yaml", &format!("{}{}", stream().replace("v1.31.0", "v1.31.1"), release("1m")));
    let (code, report) = plan_of(&program, "doubt.yaml", "12:00", &[]);
    assert_eq!((code, report["decision"].as_str()), (Some(4), Some("undecided")), "{report:#}");
    assert_eq!(standing(&report).0, "counts");
    assert!(!report["reasons"].to_string().contains("rollgate approve"), "{report:#}");
}

#[test]
fn nothing_is_approved_blindly() {
    let program = program();
    let error = |args: &[&str]| {
        let ran = approve(&program, args);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{}", ran.stderr);
        ran.stderr
    };
    assert!(error(&["--reason", "x"]).contains("there is no report of a held change here"));
    let (_, report) = plan(&program);
    let digest = report["digest"].as_str().expect("a digest").to_owned();
    assert!(error(&["last", "--reason", " "]).contains("--reason is empty"));
    assert!(error(&["sha256:00112233445566778899", "--reason", "x"]).contains("no report here has the digest"));
    assert!(error(&["abc", "--reason", "x"]).contains("neither `last` nor a digest"));
    assert!(error(&["last", "--reason", "x", "--expires", "0s"]).contains("--expires 0s"));
    assert!(error(&["last", "--reason", "x", "--to", "configmap/other"]).contains("there are file approvals.yaml"));
    program.file("rollgate.yaml", &POLICY.replace("approvals.yaml}]", "approvals.yaml}], by: [berta], longest: 2h"));
    assert!(error(&["last", "--reason", "x"]).contains("the policy allows 2h at most"));
    assert!(
        error(&["last", "--reason", "x", "--expires", "1h"])
            .contains("it is by anna, and the policy counts those of berta")
    );
    program.file("rollgate.yaml", POLICY);
    // A report from another machine.
    program.file("report.json", &report.to_string());
    let short = &digest["sha256:".len()..][..12];
    let other = Program::new();
    other.file("rollgate.yaml", POLICY);
    let file = program.home().join("report.json");
    let ran = approve(&other, &[short, "--report", file.to_str().expect("text"), "--reason", "x"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    // What is allowed needs no approval.
    approved(&program, &[short]);
    let (_, allowed) = plan(&program);
    program.file("report.json", &allowed.to_string());
    assert!(error(&[short, "--report", "report.json", "--reason", "x"]).contains("nothing is held in this report"));
}

#[test]
fn with_one_key_hidden_values_make_one_digest_and_another_value_makes_another() {
    let program = program();
    let with = |secret: &str, version: &str| {
        let files = format!(
            "apiVersion: bootstrap.cluster.x-k8s.io/v1beta1\nkind: KubeadmConfigTemplate\nmetadata: {{name: b, namespace: ns}}\nspec: {{template: {{spec: {{files: [{{path: /etc/t, content: {secret}}}]}}}}}}\n"
        );
        let workers = MACHINE_DEPLOYMENT.replace(
            "{dataSecretName: x}",
            "{configRef: {apiVersion: bootstrap.cluster.x-k8s.io/v1beta1, kind: KubeadmConfigTemplate, name: b}}",
        );
        format!("{}---\n{}---\n{files}", workers.replace("v1.31.0", version), cluster("c", ""))
    };
    let old = with("Zw83kdK29dkwo2kd02kdl29skx", "v1.31.0")
        .replace("{name: c, namespace: ns}", "{name: c, namespace: ns, uid: u1}");
    program.file("live.yaml", &old);
    program.file("rollgate.yaml", &format!("{POLICY}gates: {{latent: hold}}\n"));
    program.file("new.yaml", &with("Qq83kdK29dkwo2kd02kdl2AAAA", "v1.31.1"));
    program.file("other.yaml", &with("Xq83kdK29dkwo2kd02kdl2BBBB", "v1.31.1"));
    program.file("same.yaml", &with("Zw83kdK29dkwo2kd02kdl29skx", "v1.31.1"));
    let now = at("12:00");
    let run = |file: &str, live: &str, key: Option<&str>| -> Value {
        let base: &[&str] = if live == "live.yaml" { &["--base", "live.yaml"] } else { &[] };
        let args =
            [&["plan", file, "--live", live, "--release", "r", "-n", "ns", "-o", "json", "--now", &now], base].concat();
        let ran = program.run_with(&args, b"", &key.map(|key| ("ROLLGATE_KEY", key)).into_iter().collect::<Vec<_>>());
        serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("no report: {}", ran.stderr))
    };
    let digest = |report: &Value| report["digest"].as_str().expect("a digest").to_owned();
    let told = run("new.yaml", "live.yaml", Some(KEY));
    let reasons = told["reasons"].to_string();
    assert!(reasons.contains("<redacted:") && reasons.contains("latent"), "{told:#}");
    assert_eq!(digest(&told), digest(&run("new.yaml", "live.yaml", Some(KEY))));
    assert_ne!(digest(&told), digest(&run("other.yaml", "live.yaml", Some(KEY))));
    assert_ne!(digest(&told), digest(&run("new.yaml", "live.yaml", Some("another key of thirty-two characters"))));
    assert_eq!(run("same.yaml", "live.yaml", None)["digestKey"], Value::Null);
    // The mark itself, rendered as a text, is not what it stands for.
    let mark = told["objects"].to_string().match_indices("<redacted:").map(|(at, _)| at).last();
    let mark = told["objects"].to_string()[mark.expect("a mark")..][.."<redacted:".len() + 33].to_owned();
    program.file("forged.yaml", &with(&mark, "v1.31.1"));
    let forged = run("forged.yaml", "live.yaml", Some(KEY));
    assert!(forged["objects"].to_string().contains(&mark));
    assert_ne!(digest(&told), digest(&forged));

    // A snapshot with the key says the same, with hidden values on both sides of the change.
    let save = [
        "snapshot",
        "new.yaml",
        "--live",
        "live.yaml",
        "--base",
        "live.yaml",
        "--release",
        "r",
        "-n",
        "ns",
        "-o",
        "world.json",
        "--now",
        &now,
    ];
    assert_eq!(program.run_with(&save, b"", &[("ROLLGATE_KEY", KEY)]).code, Some(0));
    let again = run("new.yaml", "world.json", Some(KEY));
    assert_eq!((digest(&told), told["digestKey"].clone()), (digest(&again), again["digestKey"].clone()), "{again:#}");
    assert_ne!(digest(&told), digest(&run("other.yaml", "world.json", Some(KEY))));

    // With a key of its own no later run can compare, and approving is refused.
    let alone = run("new.yaml", "live.yaml", None);
    assert_eq!(alone["digestKey"], "this-run");
    let refused = approve(&program, &[&digest(&alone), "--reason", "x"]);
    assert!(refused.code == Some(2) && refused.stderr.contains("set ROLLGATE_KEY"), "{}", refused.stderr);
    let ran = approve(&program, &[&digest(&told), "--reason", "x"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_eq!(run("new.yaml", "live.yaml", Some(KEY))["decision"], "allow");
    assert_eq!(run("new.yaml", "world.json", Some(KEY))["decision"], "allow");
    let other = run("new.yaml", "live.yaml", Some("another key of thirty-two characters"));
    assert_eq!((other["decision"].as_str(), standing(&other).0), (Some("hold"), "other-key"), "{other:#}");
}

#[test]
fn every_command_of_the_page_runs() {
    let text = std::fs::read_to_string(super::root().join("docs/approvals.md")).expect("a page");
    let block: String = text.split("```sh\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    let program = program();
    let policy = text.split("```yaml\n").find(|block| block.starts_with("apiVersion: ")).expect("a whole policy");
    program.file("rollgate.yaml", policy.split("```").next().unwrap_or_default());
    let binary = std::path::Path::new(env!("CARGO_BIN_EXE_rollgate")).parent().expect("a folder");
    let path = format!("{}:{}", binary.display(), std::env::var("PATH").unwrap_or_default());
    std::os::unix::fs::symlink(super::root().join("examples"), program.home().join("examples")).expect("a link");
    let mut count = 0;
    for line in block.lines() {
        let (words, comment) = line.split_once(" # exit ").expect("`# exit N` behind the command");
        let mut shell = Command::new("sh");
        shell.env_clear().env("PATH", &path).env("HOME", program.home()).env("ROLLGATE_KEY", KEY);
        shell.current_dir(program.home()).args(["-c", words]);
        let done = ran(shell, b"");
        assert_eq!(done.code, comment.parse().ok(), "{words}\n{}{}", done.stdout, done.stderr);
        count += 1;
    }
    assert_eq!(count, 5, "the page lost a command");
}

#[test]
fn a_stream_that_writes_approvals_itself_is_held() {
    let program = program();
    program.file("rollgate.yaml", &POLICY.replace("{file: approvals.yaml}", "configmap/rollgate-approvals"));
    let map = |name: &str, namespace: &str| {
        let text = format!("---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}{namespace}}}\n");
        program.file("new.yaml", &format!("{}{text}", stream()));
        let (code, report) = plan(&program);
        (code, report["reasons"][0]["message"].as_str().unwrap_or_default().to_owned())
    };
    for namespace in ["", ", namespace: ns"] {
        let (code, message) = map("rollgate-approvals", namespace);
        assert_eq!(code, Some(3));
        assert!(message.contains("the policy keeps approvals there"), "{message}");
    }
    assert_eq!(map("rollgate-approvals", ", namespace: other").0, Some(0));
    assert_eq!(map("other", "").0, Some(0));
}
