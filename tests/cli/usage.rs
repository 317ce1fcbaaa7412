//! Wrong command lines, and what the other exit codes look like.

use super::Program;

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
    program.file("old.yaml", super::MACHINE_DEPLOYMENT);
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
    program.file("new.yaml", super::MACHINE_DEPLOYMENT);
    let ran = program.run(&["plan", "new.yaml", "--live", "old.yaml", "--policy", "none"], b"");
    assert!(ran.code == Some(2) && ran.stderr.contains("old.yaml holds no object"), "{}{}", ran.stdout, ran.stderr);
}

#[test]
fn a_provider_that_nobody_knows_is_refused() {
    let ran = Program::new().run(&["plan", "--live", "none", "--provider", "cluster-api-provider-foo=v1.2.3"], b"");
    assert!(ran.code == Some(2) && ran.stderr.contains("known are rke2, openstack"), "{}", ran.stderr);
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
        .map(|number| {
            format!("---\n{}", super::MACHINE_DEPLOYMENT.replace("name: md,", &format!("name: md-{number},")))
        })
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
