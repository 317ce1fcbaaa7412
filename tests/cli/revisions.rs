//! Two Git revisions, rendered and compared with no cluster.

use std::process::Command;

use super::{MACHINE_DEPLOYMENT, Program, Ran, ran};

const RENDER: &str = "sed s/v1.31.0/$(cat version)/ chart.yaml";

fn git(program: &Program, args: &[&str]) {
    let set = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"];
    let done =
        Command::new("git").args(set).args(args).current_dir(program.home()).env("HOME", program.home()).output();
    let output = done.expect("git runs");
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// A repository in which `main` holds one version and HEAD another, and HEAD a policy that would allow everything.
fn repository() -> Program {
    let program = Program::new();
    git(&program, &["init", "--quiet", "--initial-branch", "main"]);
    program.file("chart.yaml", MACHINE_DEPLOYMENT);
    program.file("version", "v1.31.0");
    program.file("rollgate.yaml", "apiVersion: rollgate.dev/v1alpha1\nkind: Policy\n");
    git(&program, &["add", "."]);
    git(&program, &["commit", "--quiet", "--message", "base"]);
    git(&program, &["checkout", "--quiet", "-b", "change"]);
    program.file("version", "v1.32.0");
    program.file("rollgate.yaml", "apiVersion: rollgate.dev/v1alpha1\nkind: Policy\ngates: {rollout: allow}\n");
    git(&program, &["commit", "--quiet", "--all", "--message", "change"]);
    program
}

/// Runs the program where Git can be found.
fn plan(program: &Program, args: &[&str]) -> Ran {
    let mut command = program.command();
    command.env("PATH", std::env::var_os("PATH").unwrap_or_default()).arg("plan").args(args);
    ran(command, b"")
}

fn worktrees(program: &Program) -> usize {
    let output = Command::new("git").args(["worktree", "list"]).current_dir(program.home()).output().expect("git runs");
    String::from_utf8_lossy(&output.stdout).lines().count()
}

#[test]
fn the_policy_of_the_base_judges_the_change() {
    let program = repository();
    let ran = plan(&program, &["--base-ref", "main", "--render", RENDER]);
    assert_eq!(ran.code, Some(3), "{}{}", ran.stdout, ran.stderr);
    let held = super::sentence(&ran.stdout, "hold rollout");
    assert!(held.contains("spec.template.spec.version v1.31.0 -> v1.32.0 replaces 2 Machines"), "{}", ran.stdout);
    assert!(ran.stdout.contains("compared 1 object with main, policy main:rollgate.yaml"), "{}", ran.stdout);
    let looser = super::sentence(&ran.stdout, "warn policy");
    let wanted = "this change changes its own policy, and is judged by that of the base; once merged, more passes: gates.rollout its default -> allow";
    assert_eq!(looser, format!("warn policy  {wanted}"), "{}", ran.stdout);
    assert_eq!(worktrees(&program), 1);
}

/// A repository whose chart holds the placeholder of a value that `main` has pinned, with a change on its way.
fn pinned() -> Program {
    let program = Program::new();
    git(&program, &["init", "--quiet", "--initial-branch", "main"]);
    program.file("chart.yaml", &MACHINE_DEPLOYMENT.replace("v1.31.0", "v0.0.0"));
    program.file(
        "rollgate.yaml",
        "apiVersion: rollgate.dev/v1alpha1\nkind: Policy\npins: {file: pins.yaml}\nlateValues:\n- {name: version, placeholders: [v0.0.0], from: \
         [{env: NOT_SET}]}\n",
    );
    program.file("pins.yaml", &pin("v1.31.0"));
    git(&program, &["add", "."]);
    git(&program, &["commit", "--quiet", "--message", "base"]);
    git(&program, &["checkout", "--quiet", "-b", "change"]);
    program
}

fn pin(value: &str) -> String {
    format!(
        "apiVersion: rollgate.dev/v1alpha1\nkind: Pins\npins: [{{name: version, value: {value}, source: env NOT_SET, time: \
         \"2026-11-20T00:00:00Z\"}}]\nhistory: []\n"
    )
}

/// Plans what is committed as the change.
fn planned(program: &Program) -> Ran {
    git(program, &["commit", "--quiet", "--all", "--message", "change"]);
    plan(program, &["--base-ref", "main", "chart.yaml"])
}

#[test]
fn a_placeholder_of_the_base_whose_value_is_pinned_is_no_change() {
    let program = pinned();
    program.file("chart.yaml", &MACHINE_DEPLOYMENT.replace("v1.31.0", "v0.0.0").replace("replicas: 2", "replicas: 3"));
    let ran = planned(&program);
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    assert!(!ran.stdout.contains("v0.0.0"), "{}", ran.stdout);
}

#[test]
fn a_pin_that_the_change_moves_is_a_change_of_its_value() {
    let program = pinned();
    program.file("pins.yaml", &pin("v1.32.0"));
    let ran = planned(&program);
    assert_eq!(ran.code, Some(3), "{}{}", ran.stdout, ran.stderr);
    let held = super::sentence(&ran.stdout, "hold rollout");
    assert!(held.contains("spec.template.spec.version v1.31.0 -> v1.32.0 replaces 2 Machines"), "{}", ran.stdout);
}

#[test]
fn a_policy_that_only_the_base_changed_is_not_the_doing_of_the_change() {
    let program = repository();
    git(&program, &["checkout", "--quiet", "main"]);
    git(&program, &["checkout", "--quiet", "-b", "other"]);
    program.file("version", "v1.33.0");
    git(&program, &["commit", "--quiet", "--all", "--message", "other"]);
    git(&program, &["checkout", "--quiet", "main"]);
    program.file("rollgate.yaml", "apiVersion: rollgate.dev/v1alpha1\nkind: Policy\ngates: {maxMachines: 1}\n");
    git(&program, &["commit", "--quiet", "--all", "--message", "stricter"]);
    git(&program, &["checkout", "--quiet", "other"]);
    let ran = plan(&program, &["--base-ref", "main", "--render", RENDER]);
    assert_eq!(ran.code, Some(3), "{}{}", ran.stdout, ran.stderr);
    assert!(!ran.stdout.contains("warn policy"), "{}", ran.stdout);
}

#[test]
fn what_is_not_committed_is_said_to_be_left_out() {
    let program = repository();
    program.file("version", "v1.33.0");
    let ran = plan(&program, &["--base-ref", "main", "--render", RENDER]);
    assert!(ran.stdout.contains("changes that are not committed were not looked at"), "{}", ran.stdout);
    assert!(!ran.stdout.contains("v1.33.0"), "{}", ran.stdout);
}

#[test]
fn a_render_that_fails_leaves_no_worktree() {
    let program = repository();
    let ran = plan(&program, &["--base-ref", "main", "--render", "echo no chart here >&2; false"]);
    assert_eq!(ran.code, Some(2));
    assert!(
        ran.stderr.contains("in main: the command of --render failed") && ran.stderr.contains("no chart here"),
        "{}",
        ran.stderr
    );
    assert!(ran.stdout.is_empty());
    assert_eq!(worktrees(&program), 1);
}

#[test]
fn a_revision_that_is_not_there_and_a_broken_policy_are_named() {
    let program = repository();
    let ran = plan(&program, &["--base-ref", "gone", "--render", RENDER]);
    assert!(ran.code == Some(2) && ran.stderr.contains("gone is not a revision of this repository"), "{}", ran.stderr);
    program.file("rollgate.yaml", "kind: Policy\n");
    git(&program, &["commit", "--quiet", "--all", "--message", "broken"]);
    let ran = plan(&program, &["--base-ref", "change", "--head-ref", "main", "--render", RENDER]);
    assert!(ran.code == Some(2) && ran.stderr.contains("change:rollgate.yaml:1:1"), "{}", ran.stderr);
}

#[test]
fn a_base_that_renders_to_nothing_is_refused_unless_the_chart_is_new() {
    let program = repository();
    let render = ["--base-ref", "main", "--render", "grep -q v1.31 version || cat chart.yaml"];
    let ran = plan(&program, &render);
    assert_eq!(ran.code, Some(2), "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stderr.contains("prints no object in main") && ran.stderr.contains("--new-chart"), "{}", ran.stderr);
    let ran = plan(&program, &[&render[..], &["--new-chart"]].concat());
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.contains("MachineDeployment ns/md is new and makes 2 Machines"), "{}", ran.stdout);
}

#[test]
fn a_pack_comes_from_the_base_however_it_is_named() {
    let program = repository();
    let pack = |effect: &str| {
        format!(
            "pack: ours\nprovider: cluster-api\nsource: us\nkinds: [{{group: cluster.x-k8s.io, kind: MachineDeployment}}]\nrules:\n- id: ours/version\n  paths: [spec.template.spec.version]\n  effect: {effect}\n  because: We say so.\n  override: true\n"
        )
    };
    git(&program, &["checkout", "--quiet", "main"]);
    program.file("pack.yaml", &pack("rollout"));
    git(&program, &["add", "."]);
    git(&program, &["commit", "--quiet", "--message", "pack"]);
    git(&program, &["checkout", "--quiet", "change"]);
    git(&program, &["merge", "--quiet", "main"]);
    program.file("pack.yaml", &pack("none"));
    git(&program, &["commit", "--quiet", "--all", "--message", "loosened"]);
    let absolute = program.home().join("pack.yaml").display().to_string();
    for pack in ["pack.yaml", "./pack.yaml", &absolute] {
        let ran = plan(&program, &["--base-ref", "main", "--render", RENDER, "--pack", pack]);
        assert_eq!(ran.code, Some(3), "{}{}", ran.stdout, ran.stderr);
    }
    let policy = program.home().join("rollgate.yaml").display().to_string();
    let ran = plan(&program, &["--base-ref", "main", "--render", RENDER, "--policy", &policy]);
    assert_eq!(ran.code, Some(3), "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.contains("policy main:rollgate.yaml"), "{}", ran.stdout);
}

#[test]
fn what_a_render_leaves_behind_ends_with_it() {
    // In the background, in a session of its own, and as the child of one that has ended.
    for start in ["sh -c 'WORK' &", "setsid sh -c 'WORK' &", "(setsid sh -c '(WORK) &' &); sleep 0.3;"] {
        let program = repository();
        let pid = program.home().join("pid");
        let work = format!("echo $$ >> {}; exec sleep 300", pid.display());
        let render = format!("{} sed s/v1.31.0/$(cat version)/ chart.yaml", start.replace("WORK", &work));
        let before = std::time::Instant::now();
        let ran = plan(&program, &["--base-ref", "main", "--render", &render]);
        assert_eq!(ran.code, Some(3), "{start}: {}{}", ran.stdout, ran.stderr);
        assert!(before.elapsed().as_secs() < 60);
        for pid in std::fs::read_to_string(&pid).unwrap_or_default().lines() {
            let state = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            assert!(state.is_empty() || state.contains(") Z "), "{start}: it still runs: {state}");
        }
    }
}

#[test]
fn a_signal_takes_everything_away() {
    let program = repository();
    for signal in ["HUP", "TERM", "INT"] {
        let temporary = program.home().join(format!("tmp-{signal}"));
        std::fs::create_dir(&temporary).expect("a folder");
        let pid = program.home().join(format!("pid-{signal}"));
        // One of them in a session of its own, where no signal to the group finds it.
        let own = if signal == "TERM" { "" } else { "setsid " };
        let render = format!("{own}sh -c 'echo $$ > {}; sleep 300; true'; cat chart.yaml", pid.display());
        let mut command = program.command();
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default()).env("TMPDIR", &temporary);
        command.args(["plan", "--base-ref", "main", "--render", &render]);
        let mut child =
            command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null()).spawn().expect("it starts");
        let wait = |until: &mut dyn FnMut() -> bool| {
            (0..600).any(|_| {
                std::thread::sleep(std::time::Duration::from_millis(50));
                until()
            })
        };
        let written = || std::fs::read_to_string(&pid).is_ok_and(|text| text.ends_with('\n'));
        assert!(wait(&mut || written()), "the command of --render runs");
        let kill = Command::new("kill").args([&format!("-{signal}"), &child.id().to_string()]).status();
        assert!(kill.expect("kill runs").success());
        let mut status = None;
        assert!(
            wait(&mut || {
                status = child.try_wait().expect("a child");
                status.is_some()
            }),
            "it ends"
        );
        assert_eq!(status.and_then(|status| status.code()), Some(1), "{signal}");
        let left = std::fs::read_to_string(&pid).expect("a process id");
        assert!(
            wait(&mut || std::fs::read_to_string(format!("/proc/{}/stat", left.trim()))
                .map_or(true, |stat| stat.contains(") Z "))),
            "what it started ends"
        );
        assert_eq!(std::fs::read_dir(&temporary).expect("a folder").count(), 0, "{signal}");
        assert_eq!(worktrees(&program), 1, "{signal}");
    }
}

#[test]
fn a_render_that_fails_on_both_sides_or_in_a_pipe_is_no_plan() {
    let program = repository();
    for render in ["true", "false | cat", "cat gone.yaml | cat", "cat gone.yaml; true"] {
        let ran = plan(&program, &["--base-ref", "main", "--render", render]);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{render}: {}", ran.stderr);
    }
    let ran = plan(&program, &["--base-ref", "main", "--new-chart", "--render", "true"]);
    assert_eq!(ran.code, Some(2), "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stderr.contains("prints no object in HEAD"), "{}", ran.stderr);
}

/// Another request was merged meanwhile: `main` holds a version that the change, which edits a README only, does not have.
fn behind() -> Program {
    let program = repository();
    git(&program, &["checkout", "--quiet", "-b", "words", "main"]);
    program.file("README.md", "words\n");
    git(&program, &["add", "."]);
    git(&program, &["commit", "--quiet", "--message", "words"]);
    git(&program, &["checkout", "--quiet", "main"]);
    program.file("version", "v1.33.0");
    git(&program, &["commit", "--quiet", "--all", "--message", "merged meanwhile"]);
    git(&program, &["checkout", "--quiet", "words"]);
    program
}

#[test]
fn what_others_merged_meanwhile_is_not_the_doing_of_a_change() {
    let program = behind();
    let ran = plan(&program, &["--base-ref", "main", "--render", RENDER]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.contains("no compared object changes"), "{}", ran.stdout);
    let warned = super::sentence(&ran.stdout, "warn judged is what HEAD adds");
    assert!(warned.contains("main has moved on since (--base-tip compares with its tip)"), "{}", ran.stdout);
    let tip = plan(&program, &["--base-ref", "main", "--base-tip", "--render", RENDER]);
    assert_eq!(tip.code, Some(3), "{}{}", tip.stdout, tip.stderr);
    let held = super::sentence(&tip.stdout, "hold rollout");
    assert!(held.contains("v1.33.0 -> v1.31.0 replaces 2 Machines"), "{}", tip.stdout);
    // A pipeline of merged results and a merge queue check out the merge of both.
    git(&program, &["merge", "--quiet", "--no-edit", "main"]);
    let merged = plan(&program, &["--base-ref", "main", "--render", RENDER]);
    assert_eq!(merged.code, Some(0), "{}{}", merged.stdout, merged.stderr);
    assert!(!merged.stdout.contains("has moved on"), "{}", merged.stdout);
}

#[test]
fn a_shallow_clone_is_told_what_to_fetch_and_then_it_works() {
    let program = behind();
    let origin = format!("file://{}", program.home().display());
    let clone = Program::new();
    git(&clone, &["clone", "--quiet", "--depth", "1", "--branch", "words", &origin, "."]);
    let args = ["--base-ref", "origin/main", "--render", RENDER];
    // What is told is run as it stands, until nothing is told any more.
    for told in ["+refs/heads/main:refs/remotes/origin/main", "--unshallow origin"] {
        let ran = plan(&clone, &args);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{}", ran.stderr);
        let (_, command) = ran.stderr.split_once("run: git ").expect("a command");
        let line = command.lines().next().unwrap_or_default();
        let words: Vec<&str> = line.split(" (").next().unwrap_or_default().split_whitespace().collect();
        assert!(words.join(" ").contains(told), "{words:?}");
        let depth: &[&str] = if told.starts_with('+') { &["--depth", "1"] } else { &[] };
        git(&clone, &[&words[..1], depth, &words[1..]].concat());
    }
    let ran = plan(&clone, &args);
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
}

#[test]
fn an_approval_in_the_change_counts_only_where_the_policy_of_the_base_says_so() {
    for of in ["base", "change"] {
        let program = repository();
        let policy = format!(
            "apiVersion: rollgate.dev/v1alpha1\nkind: Policy\napprovals: {{from: [{{file: approvals.yaml, of: {of}}}]}}\n"
        );
        let commit = |branch: &str, file: &str, text: &str| {
            git(&program, &["checkout", "--quiet", branch]);
            program.file(file, text);
            git(&program, &["add", file]);
            git(&program, &["commit", "--quiet", "--message", file]);
            git(&program, &["checkout", "--quiet", "change"]);
        };
        commit("main", "rollgate.yaml", &policy);
        let judged = || plan(&program, &["--base-ref", "main", "--render", RENDER]).code;
        assert_eq!(judged(), Some(3));
        program.file("told.yaml", &policy);
        let given = program.run(&["approve", "last", "--reason", "x", "--policy", "told.yaml"], b"");
        assert_eq!(given.code, Some(0), "{}", given.stderr);
        let text = std::fs::read_to_string(program.home().join("approvals.yaml")).expect("a file");
        // What is not committed counts nowhere.
        assert_eq!(judged(), Some(3));
        commit("change", "approvals.yaml", &text);
        assert_eq!(judged(), Some(if of == "change" { 0 } else { 3 }));
        git(&program, &["rm", "--quiet", "approvals.yaml"]);
        git(&program, &["commit", "--quiet", "--message", "none"]);
        commit("main", "approvals.yaml", &text);
        assert_eq!(judged(), Some(if of == "base" { 0 } else { 3 }));
    }
}

/// A folder of manifests and a file below it, with `change` checked out.
fn manifests() -> Program {
    let program = Program::new();
    git(&program, &["init", "--quiet", "--initial-branch", "main"]);
    std::fs::create_dir_all(program.home().join("m/below")).expect("a folder");
    program.file("m/c.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n");
    program.file("m/below/md.yaml", MACHINE_DEPLOYMENT);
    git(&program, &["add", "."]);
    git(&program, &["commit", "--quiet", "--message", "base"]);
    git(&program, &["checkout", "--quiet", "-b", "change"]);
    program
}

#[test]
fn a_sparse_clone_hides_nothing() {
    let program = manifests();
    program.file("m/below/md.yaml", &MACHINE_DEPLOYMENT.replace("v1.31.0", "v1.32.0"));
    git(&program, &["commit", "--quiet", "--all", "--message", "change"]);
    git(&program, &["sparse-checkout", "set", "--no-cone", "/m/c.yaml"]);
    assert!(!program.home().join("m/below/md.yaml").exists(), "the clone is sparse");
    let ran = plan(&program, &["m", "--base-ref", "main", "--policy", "none"]);
    assert_eq!(ran.code, Some(3), "{}{}", ran.stdout, ran.stderr);
    assert!(!program.home().join("m/below/md.yaml").exists(), "the clone stays sparse");
}

#[test]
fn what_changes_in_a_submodule_counts() {
    let newer = MACHINE_DEPLOYMENT.replace("v1.31.0", "v1.32.0");
    let (modules, program) = (manifests(), manifests());
    git(&program, &["checkout", "--quiet", "main"]);
    let from = modules.home().display().to_string();
    git(&program, &["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", &from, "sub"]);
    git(&program, &["commit", "--quiet", "--message", "a submodule"]);
    git(&program, &["checkout", "--quiet", "-B", "change"]);
    let inside = program.home().join("sub").display().to_string();
    program.file("sub/m/below/md.yaml", &newer);
    git(&program, &["-C", &inside, "commit", "--quiet", "--all", "--message", "newer"]);
    git(&program, &["commit", "--quiet", "--all", "--message", "moved"]);
    let asked = |path: &str| plan(&program, &[path, "--base-ref", "main", "--policy", "none"]);
    let ran = asked("sub/m");
    assert_eq!(ran.code, Some(3), "{}{}", ran.stdout, ran.stderr);
    assert_eq!(asked("m").code, Some(0), "what is rendered lies beside it");
    // Where the clone has it not, nobody knows what changes.
    git(&program, &["submodule", "--quiet", "deinit", "--force", "sub"]);
    program.file("c.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: d}\n");
    git(&program, &["add", "c.yaml"]);
    git(&program, &["commit", "--quiet", "--message", "more"]);
    let ran =
        plan(&program, &["--base-ref", "main", "--policy", "none", "--render", "cat m/c.yaml sub/m/c.yaml; true"]);
    assert_eq!(ran.code, Some(4), "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.contains("submodule sub changes") && asked("m").code == Some(0), "{}", ran.stdout);
}

#[test]
fn a_name_that_is_a_tag_and_a_branch_is_refused() {
    let program = repository();
    let asked = |base: &str| plan(&program, &["--base-ref", base, "--render", RENDER]);
    git(&program, &["tag", "v1", "main"]);
    assert_eq!(asked("v1").code, Some(3), "a tag alone");
    git(&program, &["tag", "main", "change"]);
    let ran = asked("main");
    assert_eq!(ran.code, Some(2), "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stderr.contains("main is both refs/tags/main and refs/heads/main"), "{}", ran.stderr);
    assert_eq!(asked("refs/heads/main").code, Some(3));
}
