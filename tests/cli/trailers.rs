//! Approvals in commits of the change that is judged, with real Git and real signatures.

use std::process::{Command, Output};

use serde_json::Value;

use super::{MACHINE_DEPLOYMENT, Program, Ran, ran};

const RENDER: &str = "sed s/v1.31.0/$(cat version)/ chart.yaml";
const KEY: &str = "0123456789abcdef0123456789abcdef";

/// Git as somebody.
fn git_as(program: &Program, who: &str, args: &[&str], stdin: &str) -> Output {
    let mut command = Command::new("git");
    let mail = format!("user.email={who}@example.org");
    command.args(["-c", &format!("user.name={who}"), "-c", &mail, "-c", "gpg.format=ssh"]);
    command.args(["-c", &format!("user.signingKey={}", program.home().join(who).display())]);
    command.args(args).current_dir(program.home()).env("HOME", program.home()).env_remove("SSH_AUTH_SOCK");
    for name in ["AUTHOR", "COMMITTER"] {
        command.env(format!("GIT_{name}_NAME"), who).env(format!("GIT_{name}_EMAIL"), format!("{who}@example.org"));
    }
    command
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped());
    let mut child = command.spawn().expect("git runs");
    std::io::Write::write_all(&mut child.stdin.take().expect("a pipe"), stdin.as_bytes()).expect("written");
    child.wait_with_output().expect("git runs")
}

fn git(program: &Program, who: &str, args: &[&str]) -> String {
    let output = git_as(program, who, args, "");
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// A key for somebody; the public half as a line of a file of signers.
fn key(program: &Program, who: &str) -> String {
    let file = program.home().join(who);
    let file = file.to_str().expect("a path");
    let made = Command::new("ssh-keygen").args(["-q", "-t", "ed25519", "-N", "", "-C", who, "-f", file]).status();
    assert!(made.expect("ssh-keygen runs").success());
    let public = std::fs::read_to_string(format!("{file}.pub")).expect("a key");
    format!("{who}@example.org {public}")
}

fn policy(trailer: &str, more: &str) -> String {
    format!("apiVersion: rollgate.dev/v1alpha1\nkind: Policy\napprovals:\n  from: [{trailer}]\n{more}")
}

const SIGNED: &str = "{gitTrailer: Rollgate-Approve, allowedSigners: signers}";
const UNSIGNED: &str = "{gitTrailer: Rollgate-Approve, signed: false}";

/// `main` holds one version, and the branch `change`, by mia, another one. Keys of mia, anna and berta; those of anna and berta count.
fn repository(policy: &str) -> Program {
    let program = Program::new();
    git(&program, "root", &["init", "--quiet", "--initial-branch", "main"]);
    program.file("chart.yaml", MACHINE_DEPLOYMENT);
    program.file("version", "v1.31.0");
    program.file("rollgate.yaml", policy);
    key(&program, "mia");
    program.file("signers", &format!("{}{}", key(&program, "anna"), key(&program, "berta")));
    git(&program, "root", &["add", "chart.yaml", "version", "rollgate.yaml", "signers"]);
    git(&program, "root", &["commit", "--quiet", "--message", "base"]);
    git(&program, "root", &["checkout", "--quiet", "-b", "change"]);
    program.file("version", "v1.32.0");
    git(&program, "mia", &["commit", "--quiet", "--all", "--message", "change"]);
    program
}

fn command(program: &Program, who: &str, args: &[&str]) -> Command {
    let mut command = program.command();
    command.env("PATH", std::env::var_os("PATH").unwrap_or_default()).env("ROLLGATE_KEY", KEY).env("USER", who);
    for name in ["AUTHOR", "COMMITTER"] {
        command.env(format!("GIT_{name}_NAME"), who).env(format!("GIT_{name}_EMAIL"), format!("{who}@example.org"));
    }
    command.env("GIT_CONFIG_COUNT", "2").env("GIT_CONFIG_KEY_0", "gpg.format").env("GIT_CONFIG_VALUE_0", "ssh");
    command.env("GIT_CONFIG_KEY_1", "user.signingKey").env("GIT_CONFIG_VALUE_1", program.home().join(who));
    command.args(args);
    command
}

fn plan_with(program: &Program, more: &[&str]) -> (Ran, Value) {
    let args = [&["plan", "--base-ref", "main", "--render", RENDER, "-o", "json", "--release", "r", "-n", "ns"], more];
    let ran = ran(command(program, "ci", &args.concat()), b"");
    let report = serde_json::from_str(&ran.stdout).unwrap_or_default();
    (ran, report)
}

fn plan(program: &Program) -> (Option<i32>, Value) {
    let (ran, report) = plan_with(program, &[]);
    assert!(report.is_object(), "{}", ran.stderr);
    (ran.code, report)
}

/// Makes the commit that approves what was planned last.
fn approve(program: &Program, who: &str, more: &[&str]) -> Ran {
    let args = [&["approve", "last", "--reason", "CHG1: upgrade", "--policy", "rollgate.yaml", "--make-commit"], more];
    ran(command(program, who, &args.concat()), b"")
}

fn approved(program: &Program, who: &str) {
    let ran = approve(program, who, &[]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
}

/// What the plan says of the only approval.
fn standing(report: &Value) -> (String, String) {
    let all = report["approvals"].as_array().cloned().unwrap_or_default();
    assert_eq!(all.len(), 1, "{report:#}");
    (
        all[0]["standing"].as_str().unwrap_or_default().to_owned(),
        all[0]["message"].as_str().unwrap_or_default().to_owned(),
    )
}

/// Held, with the standing and a part of its sentence.
fn held(program: &Program, wanted: &str, says: &str) {
    let (code, report) = plan(program);
    let (found, message) = standing(&report);
    assert_eq!((code, found.as_str()), (Some(3), wanted), "{report:#}");
    assert!(message.contains(says), "{says:?} is not in {message}");
}

#[test]
fn a_signed_commit_of_somebody_else_approves_exactly_that_change() {
    let program = repository(&policy(SIGNED, ""));
    let (code, report) = plan(&program);
    assert_eq!((code, report["approvals"].as_array().map(Vec::len)), (Some(3), None), "{report:#}");
    approved(&program, "anna");
    let commit = git(&program, "root", &["rev-parse", "--short=12", "HEAD"]);
    let (code, report) = plan(&program);
    assert_eq!((code, standing(&report).0.as_str()), (Some(0), "counts"), "{report:#}");
    let first = &report["approvals"][0];
    assert_eq!((first["by"].as_str(), first["lifts"][0].as_str()), (Some("anna@example.org"), Some("rollout")));
    assert!(first["id"].as_str().expect("an id").starts_with(&commit), "{first}");
    // It changes nothing, and says for people what it approves.
    assert_eq!(git(&program, "root", &["diff", "HEAD~", "HEAD"]), "");
    let message = git(&program, "root", &["log", "-1", "--format=%B"]);
    assert!(message.starts_with("Approve: CHG1: upgrade\n") && message.contains("replaces 2 Machines"), "{message}");

    // A commit on top that means the same keeps it; one more field does not.
    program.file("README", "words");
    git(&program, "mia", &["add", "README"]);
    git(&program, "mia", &["commit", "--quiet", "--message", "words"]);
    assert_eq!(plan(&program).0, Some(0));
    program.file("version", "v1.33.0");
    git(&program, "mia", &["commit", "--quiet", "--all", "--message", "another version"]);
    held(&program, "other-change", "it is for another change");
    // Another release is another one, too.
    git(&program, "mia", &["reset", "--quiet", "--hard", "HEAD~1"]);
    let (other, report) = plan_with(&program, &["--release", "s"]);
    assert!(other.code != Some(0) || standing(&report).0 != "counts", "{}", other.stderr);
}

#[test]
fn without_a_signature_that_counts_nobody_has_approved() {
    let program = repository(&policy(SIGNED, ""));
    let (_, report) = plan(&program);
    // The command that a hold names makes the commit: a message that is printed approves nothing.
    let next = report["reasons"][0]["next"].as_str().unwrap_or_default();
    assert!(next.contains(" --make-commit "), "{next}");
    let printed = ran(command(&program, "anna", &["approve", "last", "--reason", "x"]), b"");
    assert_eq!(printed.code, Some(0), "{}", printed.stderr);
    let commit = |who: &str, more: &[&str]| {
        let args = [&["commit", "--quiet", "--allow-empty", "--file=-"], more].concat();
        let output = git_as(&program, who, &args, &printed.stdout);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    let signed_by = |key: &str| {
        let key = format!("user.signingKey={}", program.home().join(key).display());
        let args = ["-c", &key, "commit", "--quiet", "--allow-empty", "-S", "--file=-"];
        assert!(git_as(&program, "anna", &args, &printed.stdout).status.success());
    };
    let back = || drop(git(&program, "root", &["reset", "--quiet", "--hard", "HEAD~1"]));
    commit("anna", &[]);
    held(&program, "unproven", "it has no signature; sign it (git commit --allow-empty -S)");
    back();
    // Her name with another key, of which nobody here knows.
    key(&program, "eve");
    signed_by("eve");
    held(&program, "unproven", "nobody here knows the key");
    back();
    // Her name with the key of somebody whom the policy does know.
    signed_by("berta");
    held(&program, "unproven", "it was signed by berta@example.org and committed by anna <anna@example.org>");
    back();
    // A key that the change itself adds to the signers is not one of the base.
    let more = format!(
        "{}eve@example.org {}",
        std::fs::read_to_string(program.home().join("signers")).expect("signers"),
        std::fs::read_to_string(program.home().join("eve.pub")).expect("a key")
    );
    program.file("signers", &more);
    git(&program, "mia", &["commit", "--quiet", "--all", "--message", "eve may sign"]);
    commit("eve", &["-S"]);
    held(&program, "unproven", "nobody here knows the key");
    back();
    commit("anna", &["-S"]);
    assert_eq!(plan(&program).0, Some(0));
}

#[test]
fn keys_that_the_checkout_itself_names_are_trusted_by_nobody() {
    let program = repository(&policy("{gitTrailer: Rollgate-Approve}", ""));
    plan(&program);
    approved(&program, "anna");
    held(&program, "unproven", "nobody here knows the key");
    // The file of the checkout could be one that the change wrote.
    git(&program, "root", &["config", "gpg.ssh.allowedSignersFile", "signers"]);
    held(&program, "unproven", "nobody here knows the key");
    git(
        &program,
        "root",
        &["config", "gpg.ssh.allowedSignersFile", program.home().join("signers").to_str().expect("a path")],
    );
    held(&program, "unproven", "nobody here knows the key");
    let elsewhere = Program::new();
    let file = elsewhere.file("signers", &std::fs::read_to_string(program.home().join("signers")).expect("signers"));
    git(&program, "root", &["config", "gpg.ssh.allowedSignersFile", file.to_str().expect("a path")]);
    assert_eq!(plan(&program).0, Some(0));
}

#[test]
fn the_author_of_the_change_does_not_approve_it_and_by_says_whose_count() {
    let program = repository(&policy(UNSIGNED, "  by: [anna@example.org, mia@example.org]\n"));
    plan(&program);
    approved(&program, "mia");
    held(&program, "own-change", "it is by mia <mia@example.org>, who had a hand in commit");
    git(&program, "root", &["reset", "--quiet", "--hard", "HEAD~1"]);
    let told = approve(&program, "berta", &[]);
    assert!(
        told.code == Some(2) && told.stderr.contains("it is by berta@example.org, and the policy counts"),
        "{}",
        told.stderr
    );
    approved(&program, "anna");
    assert_eq!(plan(&program).0, Some(0));
    // Rebased by another one, nobody knows whose it is.
    git(&program, "mia", &["-c", "user.name=mia", "commit", "--quiet", "--amend", "--allow-empty", "--no-edit"]);
    held(&program, "unproven", "written by anna <anna@example.org> and committed by mia <mia@example.org>");
    // With something in it, it is a part of the change.
    git(&program, "root", &["reset", "--quiet", "--hard", "HEAD~1"]);
    let printed = ran(command(&program, "anna", &["approve", "last", "--reason", "x"]), b"");
    program.file("README", "words");
    git(&program, "anna", &["add", "README"]);
    assert!(approve(&program, "anna", &[]).stderr.contains("there are changes in the index"));
    assert!(git_as(&program, "anna", &["commit", "--quiet", "--file=-"], &printed.stdout).status.success());
    held(&program, "own-change", "it changes files itself");
}

#[test]
fn hostile_and_broken_trailers_are_named_with_their_commit() {
    let program = repository(&policy(UNSIGNED, "  by: [anna@example.org]\n"));
    plan(&program);
    let printed = ran(command(&program, "anna", &["approve", "last", "--reason", "CHG1"]), b"").stdout;
    for (message, says) in [
        (printed.replace("CHG1\",", "CHG1\u{1b}[2J\","), "characters that cannot be shown"),
        (printed.replace("\"machines\":2", "\"machines\":2,\"machines\":9"), "again"),
        (printed.replace("{\"id\"", "{\"by\":\"berta\",\"id\""), "by: an approval in a commit cannot say that"),
        (printed.replace("CHG1\",", &format!("{}\",", "x".repeat(70_000))), "65536 are the most"),
        (format!("{printed}{}", printed.lines().last().unwrap_or_default()), "stands in the change more than once"),
        (format!("{printed}\nmore words\n"), "stands outside of the last paragraph"),
        ("x\n\nRollgate-Approve: yes\n".to_owned(), "the trailer is no approval"),
    ] {
        assert_ne!(message, printed, "{says}");
        assert!(
            git_as(&program, "anna", &["commit", "--quiet", "--allow-empty", "--file=-"], &message).status.success()
        );
        let commit = git(&program, "root", &["rev-parse", "--short=12", "HEAD"]);
        let (code, report) = plan(&program);
        let message = report["approvals"][0]["message"].as_str().unwrap_or_default();
        assert_eq!((code, report["approvals"][0]["standing"].as_str()), (Some(3), Some("malformed")), "{report:#}");
        assert!(message.starts_with(&format!("commit {commit}: ")) && message.contains(says), "{says}: {message}");
        git(&program, "root", &["reset", "--quiet", "--hard", "HEAD~1"]);
    }
}

#[test]
fn trailers_count_in_the_commits_of_the_change_alone() {
    let program = repository(&policy(UNSIGNED, "  by: [anna@example.org]\n"));
    // Without two revisions there are no commits of a change.
    program.file("new.yaml", &MACHINE_DEPLOYMENT.replace("v1.31.0", "v1.32.0"));
    let here = ran(command(&program, "ci", &["plan", "new.yaml", "--live", "chart.yaml", "-o", "json"]), b"");
    let report: Value = serde_json::from_str(&here.stdout).expect("a report");
    let (found, why) = standing(&report);
    assert!(found == "unread" && why.contains("plan --base-ref"), "{why}");
    // One that stands in the base already is not of the change.
    plan(&program);
    let printed = ran(command(&program, "anna", &["approve", "last", "--reason", "x"]), b"").stdout;
    git(&program, "root", &["checkout", "--quiet", "main"]);
    assert!(git_as(&program, "anna", &["commit", "--quiet", "--allow-empty", "--file=-"], &printed).status.success());
    git(&program, "root", &["checkout", "--quiet", "change"]);
    git(&program, "mia", &["merge", "--quiet", "--no-edit", "main"]);
    let (code, report) = plan(&program);
    assert_eq!((code, report.get("approvals")), (Some(3), None), "{report:#}");
    // A clone that lacks commits may lack the one that its author made.
    approved(&program, "anna");
    assert_eq!(plan(&program).0, Some(0));
    let clone = Program::new();
    let origin = format!("file://{}", program.home().display());
    git(
        &clone,
        "root",
        &["clone", "--quiet", "--depth", "3", "--no-single-branch", "--branch", "change", &origin, "."],
    );
    let shallow = ran(
        command(
            &clone,
            "ci",
            &["plan", "--base-ref", "origin/main", "--render", RENDER, "-o", "json", "--release", "r", "-n", "ns"],
        ),
        b"",
    );
    let report: Value = serde_json::from_str(&shallow.stdout).unwrap_or_else(|_| panic!("{}", shallow.stderr));
    let (found, why) = standing(&report);
    assert_eq!((shallow.code, found.as_str()), (Some(3), "unread"), "{report:#}");
    assert!(why.contains("run: git fetch --unshallow origin"), "{why}");
}

#[test]
fn a_policy_and_options_that_cannot_be_meant_are_refused() {
    for (trailer, says) in [
        ("{gitTrailer: Rollgate-Approve, signed: false}", "everybody who may push would approve"),
        ("{gitTrailer: \"a b\"}", "is no name of a trailer"),
        ("{gitTrailer: A, signed: false, allowedSigners: x}", "nobody has to sign"),
    ] {
        let program = Program::new();
        program.file("rollgate.yaml", &policy(trailer, ""));
        let ran = ran(command(&program, "a", &["policy", "check", "rollgate.yaml"]), b"");
        assert!(
            ran.code == Some(2) && format!("{}{}", ran.stdout, ran.stderr).contains(says),
            "{}{}",
            ran.stdout,
            ran.stderr
        );
    }
    let program = repository(&policy(SIGNED, ""));
    plan(&program);
    let once = approve(&program, "anna", &["--once"]);
    assert!(once.code == Some(2) && once.stderr.contains("--once: nothing notes in a commit"), "{}", once.stderr);
    let list = ran(command(&program, "anna", &["approve", "--list"]), b"");
    assert!(
        list.code == Some(0) && list.stdout.contains("counts in plan --base-ref"),
        "{}{}",
        list.stdout,
        list.stderr
    );
    let revoked = ran(command(&program, "anna", &["approve", "--revoke", "a1", "--reason", "x"]), b"");
    assert!(revoked.code == Some(2) && revoked.stderr.contains("take that out of the branch"), "{}", revoked.stderr);
}

#[test]
fn the_commands_of_the_page_approve_a_branch_as_they_stand() {
    let page = std::fs::read_to_string(super::root().join("docs/approvals.md")).expect("a page");
    let blocks = super::readme::blocks(&page);
    let block = blocks.iter().find(|block| block.info == "sh git").expect("the commands");
    let policy =
        blocks.iter().find(|block| block.text.contains("allowedSigners: .rollgate/signers")).expect("a policy");
    let program = Program::new();
    program.file("clusters.yaml", MACHINE_DEPLOYMENT);
    program.file("rollgate.yaml", &format!("apiVersion: rollgate.dev/v1alpha1\nkind: Policy\n{}", policy.text));
    std::fs::create_dir(program.home().join(".rollgate")).expect("a folder");
    program.file(".rollgate/signers", &key(&program, "anna"));
    git(&program, "root", &["init", "--quiet", "--initial-branch", "main"]);
    git(&program, "root", &["add", "clusters.yaml", "rollgate.yaml", ".rollgate"]);
    git(&program, "root", &["commit", "--quiet", "--message", "base"]);
    git(&program, "root", &["checkout", "--quiet", "-b", "change"]);
    program.file("clusters.yaml", &MACHINE_DEPLOYMENT.replace("v1.31.0", "v1.32.0"));
    git(&program, "mia", &["commit", "--quiet", "--all", "--message", "change"]);
    let bin = std::path::Path::new(env!("CARGO_BIN_EXE_rollgate")).parent().expect("a folder").to_owned();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap_or_default());
    for (line, code) in super::readme::commands(block) {
        let like = command(&program, "anna", &[]);
        let mut shell = Command::new("bash");
        shell.env_clear().envs(like.get_envs().filter_map(|(name, text)| Some((name, text?)))).env("PATH", &path);
        let done = ran(
            {
                shell.args(["-o", "pipefail", "-c", &line]).current_dir(program.home());
                shell
            },
            b"",
        );
        assert_eq!(done.code, Some(code), "{line}: {}{}", done.stdout, done.stderr);
    }
}
