//! Wrong command lines, and what the other exit codes look like.

use super::{MACHINE_DEPLOYMENT, Program, ran};

#[test]
fn a_wrong_option_is_exit_2_and_says_so() {
    let ran = Program::new().run(&["plan", "--nonsense"], b"");
    assert_eq!(ran.code, Some(2));
    assert!(ran.stdout.is_empty());
    assert!(ran.stderr.contains("--nonsense"), "{}", ran.stderr);
}

#[test]
fn a_missing_file_is_exit_2_and_named() {
    let ran = Program::new().run(&["plan", "gone.yaml", "--live", "none"], b"");
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("gone.yaml"), "{}", ran.stderr);
}

#[test]
fn a_stream_that_kubernetes_refuses_is_exit_2_with_its_line() {
    let program = Program::new();
    program.file("broken.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n\tdata: x\n");
    let ran = program.run(&["plan", "broken.yaml", "--live", "none"], b"");
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("broken.yaml:5"), "{}", ran.stderr);
    assert!(ran.stdout.is_empty());
}

#[test]
fn an_empty_stream_is_a_render_that_failed() {
    let program = Program::new();
    program.file("old.yaml", MACHINE_DEPLOYMENT);
    program.file("comments.yaml", "# nothing\n---\n");
    for stdin in ["", "\n", "# only words\n---\n# more\n", "---\nnull\n"] {
        for command in ["plan", "snapshot"] {
            let ran = program.run(&[command, "--live", "old.yaml"], stdin.as_bytes());
            assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{command} {stdin:?}: {}", ran.stderr);
            assert!(ran.stderr.contains("the stream holds no object"), "{}", ran.stderr);
        }
    }
    let ran = program.run(&["plan", "comments.yaml", "comments.yaml", "--live", "none"], b"");
    assert_eq!(ran.code, Some(2), "{}", ran.stdout);
}

#[test]
fn only_a_cluster_can_be_asked_for_a_dry_run() {
    let program = Program::new();
    let cluster = "apiVersion: cluster.x-k8s.io/v1beta1\nkind: Cluster\nmetadata: {name: a, namespace: b}\nspec: {}\n";
    program.file("new.yaml", cluster);
    let ran = program.run(&["plan", "new.yaml", "--live", "new.yaml", "--dry-run-server"], b"");
    assert_eq!(ran.code, Some(2), "{}", ran.stdout);
    assert!(ran.stderr.contains("--dry-run-server asks the API server"), "{}", ran.stderr);
    let ran = program.run(&["plan", "new.yaml", "--dry-run-server"], b"");
    assert_eq!(ran.code, Some(4), "a cluster that is not reached is undecided: {}{}", ran.stdout, ran.stderr);
}

#[test]
fn no_cluster_to_read_is_undecided() {
    let program = Program::new();
    let cluster = "apiVersion: cluster.x-k8s.io/v1beta1\nkind: Cluster\nmetadata: {name: a, namespace: b}\nspec: {}\n";
    program.file("new.yaml", cluster);
    let ran = program.run(&["plan", "new.yaml"], b"");
    assert_eq!(ran.code, Some(4), "{}{}", ran.stdout, ran.stderr);
}

#[test]
fn debug_yaml_reads_as_kubernetes_does() {
    let ran = Program::new().run(&["debug", "yaml"], b"a: yes\n---\n# nothing\n---\nb: 0777\n");
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "{\"a\":true}\nnull\n{\"b\":511}\n"), "{}", ran.stderr);
}

#[test]
fn debug_yaml_names_file_line_and_column() {
    let program = Program::new();
    program.file("bad.yaml", "a: 1\n---\nb: [\n");
    let ran = program.run(&["debug", "yaml", "bad.yaml"], b"");
    assert_eq!(ran.code, Some(2));
    assert!(ran.stdout.is_empty());
    assert!(ran.stderr.contains("bad.yaml:4:1: "), "{}", ran.stderr);
}

#[test]
fn an_old_render_without_an_object_is_refused() {
    let program = Program::new();
    program.file("old.yaml", "# helm: error\n");
    program.file("new.yaml", MACHINE_DEPLOYMENT);
    let ran = program.run(&["plan", "new.yaml", "--live", "old.yaml", "--policy", "none"], b"");
    assert!(ran.code == Some(2) && ran.stderr.contains("old.yaml holds no object"), "{}{}", ran.stdout, ran.stderr);
}

#[test]
fn a_provider_that_nobody_knows_is_refused() {
    let ran = Program::new().run(&["plan", "--live", "none", "--provider", "cluster-api-provider-foo=v1.2.3"], b"");
    assert!(ran.code == Some(2) && ran.stderr.contains("known are rke2, k0smotron, openstack"), "{}", ran.stderr);
}

#[test]
fn a_variable_that_is_set_to_nothing_names_no_policy_and_the_usual_helm() {
    let program = Program::new();
    program.file("rollgate.yaml", "apiVersion: rollgate.dev/v1alpha1\nkind: Policy\ngates: {rollout: allow}\n");
    program.file("a.yaml", MACHINE_DEPLOYMENT);
    let with = |name: &str| {
        let mut command = program.command();
        command.env(name, "").args(["plan", "a.yaml", "--live", "a.yaml"]);
        ran(command, b"")
    };
    let policy = with("ROLLGATE_POLICY");
    assert!(policy.code == Some(2) && policy.stderr.contains("has an empty name"), "{}", policy.stderr);
    let helm = with("HELM_BIN");
    assert_eq!(helm.code, Some(0), "{}", helm.stderr);
}

#[test]
fn kubectl_calls_its_plugin_by_its_own_name() {
    let program = Program::new();
    let link = program.home().join("kubectl-rollgate");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_rollgate"), &link).expect("a link");
    let run = |args: &[&str]| {
        let output = std::process::Command::new(&link).args(args).output().expect("it runs");
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
    };
    assert!(run(&["plan", "--help"]).contains("Usage: kubectl rollgate plan"), "{}", run(&["plan", "--help"]));
    assert!(run(&["plan", "--nonsense"]).contains("Usage: kubectl rollgate plan"), "{}", run(&["plan", "--nonsense"]));
    let own = program.run(&["plan", "--help"], b"");
    assert!(own.stdout.contains("Usage: rollgate plan") && !own.stdout.contains("kubectl rollgate"), "{}", own.stdout);
}

#[test]
fn a_reader_that_has_read_enough_is_no_message_and_no_allow() {
    let program = Program::new();
    let many: String = (0..400)
        .map(|number| format!("---\n{}", MACHINE_DEPLOYMENT.replace("name: md,", &format!("name: md-{number},"))))
        .collect();
    program.file("new.yaml", &many.replace("v1.31.0", "v1.32.0"));
    program.file("old.yaml", &many);
    let mut command = std::process::Command::new("sh");
    let plan = format!(
        "{{ {} plan new.yaml --live old.yaml --policy none -o json; echo $? >code; }} | head -c 10",
        env!("CARGO_BIN_EXE_rollgate")
    );
    command.args(["-c", &plan]).current_dir(program.home());
    let output = command.output().expect("sh runs");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    let code = std::fs::read_to_string(program.home().join("code")).expect("a code");
    assert_eq!(code.trim(), "1", "what was not said whole is never an allow");
}

#[test]
fn a_feature_gate_that_is_mistyped_is_refused_and_one_that_nothing_asks_for_is_said() {
    let program = Program::new();
    program.file("md.yaml", MACHINE_DEPLOYMENT);
    let plan = |gate: &str| program.run(&["plan", "md.yaml", "--live", "none", "--feature-gate", gate], b"");
    let ran = plan("MachineTaintPropogation=true");
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""));
    assert!(ran.stderr.contains("did you mean MachineTaintPropagation?"), "{}", ran.stderr);
    let said = "--feature-gate PriorityQueue: nothing here depends on it; known are ";
    assert!(super::sentence(&plan("PriorityQueue=true").stdout, "PriorityQueue").contains(said));
    assert!(!plan("MachineTaintPropagation=true").stdout.contains("--feature-gate"));
}

#[test]
fn the_reads_are_said_also_where_there_are_none() {
    let program = Program::new();
    program.file("md.yaml", MACHINE_DEPLOYMENT);
    let plan = |more: &[&str]| program.run(&[&["plan", "md.yaml", "--explain-reads"], more].concat(), b"");
    let ran = plan(&["--live", "md.yaml"]);
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (Some(0), "nothing is read from a cluster: --live is md.yaml\n"),
        "{}",
        ran.stderr
    );
    let ran = plan(&["--live", "md.yaml", "-o", "json=r.json"]);
    assert_eq!(ran.code, Some(2), "{}", ran.stdout);
    let ran = plan(&[]);
    assert_eq!(ran.code, Some(4), "{}", ran.stderr);
    assert!(ran.stdout.contains("not read: "), "{}", ran.stdout);
}

#[test]
fn an_error_says_its_cause_once_and_its_place_as_tools_read_it() {
    let program = Program::new();
    program.file("md.yaml", MACHINE_DEPLOYMENT);
    program.file("bad.yaml", "a: b: c\n");
    program.file("nameless.yaml", "\nkind: ConfigMap\n");
    program.file("empty.yaml", "# nothing\n");
    for (args, words) in [
        (&["plan", "md.yaml", "--live", "gone.yaml"][..], "gone.yaml cannot be read: No such file"),
        (&["plan", "md.yaml", "--live", "none", "--policy", "gone.yaml"], "policy gone.yaml: No such file"),
        (&["plan", "md.yaml", "--live", "bad.yaml"], "rollgate: bad.yaml:1:5: a mapping value"),
        (&["plan", "md.yaml", "--live", "none", "--base", "bad.yaml"], "rollgate: bad.yaml:1:5: a mapping value"),
        (&["plan", "md.yaml", "--live", "nameless.yaml"], "rollgate: nameless.yaml:1: apiVersion is missing"),
        (&["plan", "empty.yaml"], "rollgate: empty.yaml: the stream holds no object"),
    ] {
        let ran = program.run(args, b"");
        assert_eq!(ran.code, Some(2), "{args:?}: {}", ran.stderr);
        assert_eq!(ran.stderr.matches(words.trim_start_matches("rollgate: ")).count(), 1, "{args:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(words), "{args:?}: {}", ran.stderr);
        assert!(ran.stderr.matches("No such file").count() <= 1, "{args:?}: {}", ran.stderr);
        assert!(ran.stderr.matches("mapping value").count() <= 1, "{args:?}: {}", ran.stderr);
    }
}

#[test]
fn a_dumb_terminal_gets_no_colours_and_another_one_does() {
    let program = Program::new();
    program.file("old.yaml", MACHINE_DEPLOYMENT);
    program.file("new.yaml", &MACHINE_DEPLOYMENT.replace("v1.31.0", "v1.32.0"));
    let plan = format!("{} plan new.yaml --live old.yaml --policy none", env!("CARGO_BIN_EXE_rollgate"));
    // `script` of util-linux gives a program a terminal.
    let on_terminal = |term: &str| {
        let mut command = std::process::Command::new("script");
        command.args(["-qec", &plan, "/dev/null"]).env("TERM", term).env_remove("NO_COLOR").current_dir(program.home());
        let output = command.output().expect("script of util-linux");
        (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let (code, dumb) = on_terminal("dumb");
    assert!(code == Some(3) && dumb.contains("rollgate: hold") && !dumb.contains('\u{1b}'), "{dumb}");
    let (code, smart) = on_terminal("xterm");
    assert!(code == Some(3) && smart.contains('\u{1b}'), "{smart}");
}
