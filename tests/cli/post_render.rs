//! The promises of the post-renderer about bytes, streams and exit codes.

use super::Program;

const CONFIG_MAP: &str = "---\n# Source: app/templates/cm.yaml\r\napiVersion: v1\nkind: ConfigMap\nmetadata:   {name: a}\n# a comment\ndata:\n  on: 'yes'\n";

#[test]
fn a_stream_without_cluster_api_objects_passes_byte_for_byte() {
    let ran = Program::new().run(&["post-render", "--policy", "none", "--live", "none"], CONFIG_MAP.as_bytes());
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), CONFIG_MAP), "{}", ran.stderr);
    assert!(ran.stderr.contains("no Cluster API object in this stream"), "{}", ran.stderr);
}

#[test]
fn no_policy_told_is_exit_2() {
    let ran = Program::new().run(&["post-render", "--live", "none"], CONFIG_MAP.as_bytes());
    assert_eq!(ran.code, Some(2));
    assert!(ran.stdout.is_empty());
    assert!(ran.stderr.contains("--policy none"), "{}", ran.stderr);
}

#[test]
fn an_empty_stream_is_refused_because_helm_would_delete_the_release() {
    for stdin in ["", "\n", "# only words\n---\n# more\n"] {
        let ran = Program::new().run(&["post-render", "--policy", "none", "--live", "none"], stdin.as_bytes());
        assert_eq!(ran.code, Some(2), "{stdin:?}: {}", ran.stderr);
        assert!(ran.stdout.is_empty());
        assert!(ran.stderr.contains("delete every object of the release"), "{}", ran.stderr);
    }
}

#[test]
fn a_hold_writes_nothing_and_leaves_a_report() {
    let program = Program::new();
    let root = super::root().join("examples/vip-moved");
    let live = root.join("before.yaml").display().to_string();
    let stream = std::fs::read(root.join("after.yaml")).expect("the example");
    let ran = program.run(&["post-render", "--policy", "none", "--live", &live], &stream);
    assert_eq!(ran.code, Some(3), "{}", ran.stderr);
    assert!(ran.stdout.is_empty());
    let first = super::sentence(&ran.stderr, "RKE2ControlPlane");
    for word in ["canReach", "55.55.55.55", "10.0.3.7", "3 Machines"] {
        assert!(first.contains(word), "{word} is missing in {first:?}");
    }
    let last = program.run(&["explain", "last"], b"");
    assert_eq!(last.code, Some(0), "{}", last.stderr);
    assert!(last.stdout.contains("RKE2ControlPlane"), "{}", last.stdout);
}

#[test]
fn a_report_file_that_cannot_be_written_is_said_and_nothing_goes_out() {
    let args = ["post-render", "--policy", "none", "--live", "none", "-o", "json=/nonexistent/report.json"];
    let ran = Program::new().run(&args, CONFIG_MAP.as_bytes());
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    assert!(ran.stdout.is_empty());
    assert!(ran.stderr.contains("/nonexistent/report.json"), "{}", ran.stderr);
}
