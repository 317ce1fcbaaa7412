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

/// The report that `explain last` would show.
fn last(program: &Program) -> serde_json::Value {
    let file = program.home().join(".local/state/rollgate/last.json");
    serde_json::from_slice(&std::fs::read(file).expect("a report")).expect("JSON")
}

#[test]
fn pins_that_cannot_be_kept_are_said_before_anything_says_allow() {
    let program = Program::new();
    program.file(
        "rollgate.yaml",
        "apiVersion: rollgate.dev/v1alpha1\nkind: Policy\nlateValues:\n  - {name: vip, type: ip, placeholders: [55.55.55.55], from: [{env: VIP}]}\npins: {file: gone/pins.yaml}\n",
    );
    let stream = CONFIG_MAP.replace("'yes'", "55.55.55.55");
    let args = [
        "post-render",
        "--policy",
        "rollgate.yaml",
        "--live",
        "none",
        "--commit",
        "always",
        "-o",
        "human",
        "-o",
        "json=r.json",
    ];
    let ran = program.run_with(&args, stream.as_bytes(), &[("VIP", "10.0.3.7")]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(4), ""), "{}", ran.stderr);
    assert!(ran.stderr.starts_with("rollgate: undecided"), "{}", ran.stderr);
    assert!(super::sentence(&ran.stderr, "undecided pin").contains("make the folder ./gone first"), "{}", ran.stderr);
    let report = std::fs::read(program.home().join("r.json")).expect("a report");
    let report: serde_json::Value = serde_json::from_slice(&report).expect("JSON");
    assert_eq!((&report["decision"], &last(&program)["decision"]), (&"undecided".into(), &"undecided".into()));
}

#[test]
fn a_run_that_ends_before_it_judges_leaves_no_older_report_behind() {
    let program = Program::new();
    let good = ["post-render", "--policy", "none", "--live", "none"];
    for (args, words) in [
        (&["post-render", "--policy", "nope.yaml"][..], "nope.yaml"),
        (&["post-render", "--nonsense"], "--nonsense"),
        (&["post-render", "--policy", "none", "--live", "gone.yaml"], "gone.yaml"),
        (
            &["post-render", "--policy", "none", "--live", "none", "-o", "json=/nonexistent/r.json"],
            "/nonexistent/r.json",
        ),
    ] {
        assert_eq!(program.run(&good, CONFIG_MAP.as_bytes()).code, Some(0));
        assert_eq!(last(&program)["decision"], "allow");
        let ran = program.run(args, CONFIG_MAP.as_bytes());
        assert!(matches!(ran.code, Some(1 | 2)), "{args:?}: {}", ran.stderr);
        assert_eq!(last(&program)["decision"], "undecided", "{args:?}");
        let shown = program.run(&["explain", "last"], b"");
        assert_eq!(shown.code, Some(0), "{}", shown.stderr);
        assert!(shown.stdout.starts_with("the report of 2") && shown.stdout.contains("last.json"), "{}", shown.stdout);
        // What was given is told from what could not be done, so that who runs it behind Helm ends with the same code.
        let gate = if ran.code == Some(2) { "undecided usage" } else { "undecided fault" };
        assert!(super::sentence(&shown.stdout, gate).contains(words), "{}", shown.stdout);
    }
    // Other commands leave the report of the last install alone.
    assert_eq!(program.run(&good, CONFIG_MAP.as_bytes()).code, Some(0));
    assert_eq!(program.run(&["plan", "--nonsense"], b"").code, Some(2));
    assert_eq!(last(&program)["decision"], "allow");
}

#[test]
fn a_report_that_goes_to_a_file_alone_is_shown_to_people_too() {
    let program = Program::new();
    for (output, is_shown) in [("json=r.json", true), ("json=/dev/null", false), ("json", false)] {
        let args = ["post-render", "--policy", "none", "--live", "none", "-o", output];
        let ran = program.run(&args, CONFIG_MAP.as_bytes());
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        assert_eq!(ran.stderr.contains("rollgate: allow"), is_shown, "{output}: {}", ran.stderr);
    }
    program.file("c.yaml", CONFIG_MAP);
    let ran = program.run(&["plan", "c.yaml", "--policy", "none", "--live", "none", "-o", "html=r.html"], b"");
    assert!(ran.stdout.starts_with("rollgate: allow"), "{}", ran.stdout);
}
