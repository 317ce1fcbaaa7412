//! `rollgate helm setup` against a stand-in that answers as Helm does; the real Helm is asked in the end-to-end tests.

#![cfg(unix)]

use std::os::unix::fs::PermissionsExt as _;

use super::{Program, ran};

/// A program that knows the two questions that setup asks.
fn helm(program: &Program, name: &str, version: &str, plugins: &str) -> String {
    let text = format!("#!/bin/sh\ncase \"$1\" in version) printf '{version}';; env) echo '{plugins}';; esac\n");
    let file = program.file(name, &text);
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).expect("a script");
    file.display().to_string()
}

#[test]
fn helm_3_gets_only_files_that_it_can_load() {
    let program = Program::new();
    let plugins = program.home().join("plugins").display().to_string();
    let helm = helm(&program, "helm3", "v3.22.0", &plugins);
    let ran = program.run(&["helm", "setup", "--helm", &helm], b"");
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    for folder in std::fs::read_dir(&plugins).expect("the plugin folder") {
        let file = folder.expect("an entry").path().join("plugin.yaml");
        let text = std::fs::read_to_string(&file).expect("a plugin file");
        assert!(!text.contains("apiVersion:"), "{} would break Helm 3", file.display());
    }
    assert!(!program.home().join("plugins/rollgate-post-render").exists());
    assert!(program.home().join("plugins/rollgate/bin/rollgate").exists());
}

#[test]
fn the_helm_4_plugin_keeps_away_from_a_folder_that_a_helm_3_reads() {
    let program = Program::new();
    let plugins = program.home().join("plugins").display().to_string();
    let helm4 = helm(&program, "helm4", "v4.3.1", &plugins);
    helm(&program, "helm", "v3.22.0", &plugins);
    let mut command = program.command();
    command.env("PATH", program.home()).args(["helm", "setup", "--helm", &helm4]);
    let ran = ran(command, b"");
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(!program.home().join("plugins/rollgate-post-render").exists());
    assert!(program.home().join(".local/share/rollgate/helm4-plugins/rollgate-post-render/plugin.yaml").exists());
    // The user's other plugins stay beside it.
    let own = program.home().join(".local/share/rollgate/helm4-plugins");
    let both = format!("{}:{plugins}", own.display());
    assert!(ran.stdout.contains(&format!("use: HELM_PLUGINS={both} {helm4} upgrade")), "{}", ran.stdout);
    let path = |env: &[(&str, &str)]| {
        let mut command = program.command();
        command.envs(env.iter().copied()).args(["helm", "setup", "--path", "--helm", &helm4]);
        super::ran(command, b"").stdout
    };
    assert_eq!(path(&[]).trim(), both);
    // Once more, with what it said: nothing moves.
    let again = helm(&program, "helm4", "v4.3.1", &both);
    assert_eq!(again, helm4);
    let mut command = program.command();
    command.env("PATH", program.home()).args(["helm", "setup", "--helm", &helm4]);
    let ran = super::ran(command, b"");
    assert!(ran.stdout.contains(&format!("HELM_PLUGINS={both} ")), "{}", ran.stdout);
    assert!(program.home().join("plugins/rollgate/plugin.yaml").exists() && !own.join("rollgate").exists());
}

#[test]
fn a_helm_4_for_which_nothing_was_linked_is_told_so() {
    let program = Program::new();
    let helm4 = helm(&program, "helm4", "v4.3.1", &program.home().join("plugins").display().to_string());
    let ran = program.run(&["helm", "setup", "--path", "--helm", &helm4], b"");
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""));
    assert!(ran.stderr.contains("run `rollgate helm setup` once"), "{}", ran.stderr);
}

/// A Helm that is asked for a release, with what it was called with in `calls`.
const RELEASE: &str = r#"#!/bin/sh
echo "$@" >> "$HOME/calls"
case "$1 $2" in
  "version "*) printf v3.22.0 ;;
  "env HELM_PLUGINS") echo "$HOME/plugins" ;;
  "env HELM_NAMESPACE"*) echo ns ;;
  "history "*) echo '[{"revision":3}]' ;;
  "get manifest") case "$*" in *"--revision 2"*) cat "$HOME/old.yaml" ;; *) cat "$HOME/new.yaml" ;; esac ;;
  "get hooks") ;;
  "rollback --help") echo "helm's own help" ;;
  "rollback "*) echo "rolled back" ;;
  *) exit 1 ;;
esac
"#;

#[test]
fn a_rollback_is_judged_before_helm_writes_it() {
    let program = Program::new();
    let helm = program.file("helm", RELEASE);
    std::fs::set_permissions(&helm, std::fs::Permissions::from_mode(0o755)).expect("a script");
    program.file("new.yaml", super::MACHINE_DEPLOYMENT);
    program.file("old.yaml", &super::MACHINE_DEPLOYMENT.replace("v1.31.0", "v1.30.0"));
    let path = format!("{}:/usr/bin:/bin", program.home().display());
    let run = |args: &[&str]| {
        let args = [&["helm", "rollback"], args, &["--live", "new.yaml"]].concat();
        let ran = program.run_with(&args, b"", &[("PATH", &path)]);
        let calls = std::fs::read_to_string(program.home().join("calls")).expect("calls");
        std::fs::remove_file(program.home().join("calls")).expect("removed");
        (ran, calls.lines().any(|line| line.starts_with("rollback demo")), calls)
    };
    let (held, wrote, _) = run(&["demo", "--policy", "none"]);
    assert_eq!((held.code, wrote), (Some(3), false), "{}{}", held.stdout, held.stderr);
    let said = super::sentence(&held.stderr, "MachineDeployment ns/md");
    assert!(said.contains("v1.31.0 -> v1.30.0 replaces 2 Machines"), "{}", held.stderr);
    // Without a policy nothing is judged, and so nothing is written.
    let (untold, wrote, _) = run(&["demo", "2"]);
    assert_eq!((untold.code, wrote), (Some(2), false), "{}", untold.stderr);
    program.file("allow.yaml", "apiVersion: rollgate.dev/v1alpha1\nkind: Policy\ngates: {rollout: allow}\n");
    let (allowed, _, calls) = run(&["demo", "--policy", "allow.yaml", "--timeout", "5m", "-n", "ns"]);
    assert_eq!(allowed.code, Some(0), "{}", allowed.stderr);
    assert!(calls.lines().any(|line| line == "rollback demo 2 --timeout 5m -n ns"), "{calls}");
    // What a policy would fill in is not what a rollback writes.
    program.file(
        "old.yaml",
        &super::MACHINE_DEPLOYMENT.replace("v1.31.0", "v1.30.0").replace("name: t}", "name: vip-here}"),
    );
    let late = "apiVersion: rollgate.dev/v1alpha1\nkind: Policy\nlateValues:\n- {name: t, placeholders: [vip-here], from: [{env: T}]}\ngates: {rollout: \
                allow, delete: allow}\n";
    program.file("late.yaml", late);
    let args = ["helm", "rollback", "demo", "2", "--policy", "late.yaml", "--live", "new.yaml"];
    let ran = program.run_with(&args, b"", &[("PATH", &path), ("T", "t")]);
    assert_eq!(ran.code, Some(3), "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stderr.contains("a rollback writes it as it is stored"), "{}", ran.stderr);
    for odd in [&["demo", "2", "--of-tomorrow"][..], &["demo", "2", "--kube-token", "x"], &["demo", "two"], &[]] {
        let args = [&["helm", "rollback"], odd].concat();
        assert_eq!(program.run_with(&args, b"", &[("PATH", &path)]).code, Some(2), "{odd:?}");
    }
    let help = program.run_with(&["helm", "rollback", "--help"], b"", &[("PATH", &path)]);
    assert!(help.stdout.contains("helm's own help") && help.stdout.contains("--policy"), "{}", help.stdout);
}

#[test]
fn the_helm_4_plugin_lies_beside_the_others_where_it_does_no_harm() {
    let program = Program::new();
    let plugins = program.home().join("plugins").display().to_string();
    let helm4 = helm(&program, "helm4", "v4.3.1", &plugins);
    let ran = program.run(&["helm", "setup", "--helm", &helm4], b"");
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(program.home().join("plugins/rollgate-post-render/plugin.yaml").exists());
}

/// A Helm that renders `new.yaml` through its post-renderer.
const RENDERING: &str = r#"#!/bin/sh
case "$1 $2" in
  "version "*) printf v3.22.0; exit ;;
  "env HELM_PLUGINS") echo "$HOME/plugins"; exit ;;
esac
while [ $# -gt 0 ]; do
  case "$1" in --post-renderer) program=$2; shift ;; --post-renderer-args) args="$args $2"; shift ;; esac
  shift
done
"$program" $args < "$HOME/new.yaml"
"#;

#[test]
fn what_is_held_behind_helm_is_approved_and_explained_as_any_other_hold() {
    let program = super::approvals::program();
    let helm = program.file("helm", RENDERING);
    std::fs::set_permissions(&helm, std::fs::Permissions::from_mode(0o755)).expect("a script");
    let path = format!("{}:/usr/bin:/bin", program.home().display());
    let env = [("PATH", path.as_str()), ("HELM_NAMESPACE", "ns"), ("USER", "anna")];
    let upgrade: Vec<&str> =
        "helm upgrade r ./chart --policy rollgate.yaml --live live.yaml --base live.yaml --release r --host helm3"
            .split(' ')
            .collect();
    let held = program.run_with(&upgrade, b"", &env);
    assert_eq!(held.code, Some(3), "{}{}", held.stdout, held.stderr);
    let next = held.stderr.lines().find_map(|line| line.strip_prefix("  next: rollgate ")).expect("a command");
    let shown = program.run_with(&["explain", "last"], b"", &env);
    assert!(shown.stdout.contains("rollgate: hold") && shown.stdout.contains(next), "{}", shown.stdout);
    // `last` is that of no other namespace.
    let other = program.run_with(&["approve", "last", "-n", "other", "--reason", "x"], b"", &env);
    assert_eq!(other.code, Some(2), "{}", other.stdout);
    assert!(other.stderr.contains("the newest report is of release ns/r, not of namespace other"), "{}", other.stderr);
    let words: Vec<&str> = next.split_whitespace().collect();
    let given = program.run_with(&words, b"", &env);
    assert_eq!(given.code, Some(0), "{}", given.stderr);
    let again = program.run_with(&upgrade, b"", &env);
    assert_eq!(again.code, Some(0), "{}", again.stderr);
    // Where the report is to go to a file, people read why it is held all the same.
    program.file("new.yaml", &super::approvals::stream().replace("v1.31.0", "v1.31.2"));
    let held = program.run_with(&[&upgrade[..], &["--report", "html=r.html"]].concat(), b"", &env);
    assert!(held.code == Some(3) && held.stderr.contains("v1.31.0 -> v1.31.2"), "{}", held.stderr);
}
