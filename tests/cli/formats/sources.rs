//! Every format names the source: the file that was given and its line, else the template of the chart. No format changes the
//! exit code.

use serde_json::Value;

use super::super::{MACHINE_DEPLOYMENT, Program};
use super::readers;

/// Two files, each with its own change.
fn program() -> Program {
    let program = Program::new();
    let other = MACHINE_DEPLOYMENT.replace("name: md,", "name: other,");
    program.file("old.yaml", &format!("{MACHINE_DEPLOYMENT}---\n{other}"));
    std::fs::create_dir(program.home().join("out")).expect("a folder");
    for (file, text) in [("out/a.yaml", MACHINE_DEPLOYMENT), ("out/b b.yaml", &other)] {
        program.file(file, &format!("# Source: demo/templates/workers.yaml\n{}", text.replace("v1.31.0", "v1.32.0")));
    }
    program
}

const PLAN: [&str; 7] = ["plan", "./out/a.yaml", "out/b b.yaml", "--live", "old.yaml", "--policy", "none"];

#[test]
fn a_run_writes_every_format_and_each_names_file_and_line() {
    let program = program();
    let formats = ["human", "json", "markdown", "sarif", "junit", "gitlab", "github", "html"];
    let outputs: Vec<String> = formats.iter().map(|format| format!("{format}=report.{format}")).collect();
    let mut args = PLAN.to_vec();
    outputs.iter().for_each(|output| args.extend(["-o", output]));
    let ran = program.run(&args, b"");
    assert_eq!(ran.code, Some(3), "{}", ran.stderr);
    // All of them go to files, so people see one too.
    assert!(ran.stdout.starts_with("rollgate: hold"), "{}", ran.stdout);
    let text = |format: &str| {
        let text = std::fs::read_to_string(program.home().join(format!("report.{format}"))).expect("a report");
        readers::check(format, &text).unwrap_or_else(|fault| panic!("{format}: {fault}\n{text}"));
        text
    };
    for (format, place) in
        [("markdown", "out/b b.yaml&#58;11"), ("html", "out/b b.yaml:11"), ("junit", "out/b b.yaml:11: ")]
    {
        assert!(text(format).contains(place), "{format}: {}", text(format));
    }
    let log: Value = serde_json::from_str(&text("sarif")).expect("JSON");
    let places: Vec<String> = log["runs"][0]["results"]
        .as_array()
        .expect("results")
        .iter()
        .map(|one| one["locations"][0]["physicalLocation"].to_string())
        .collect();
    assert!(
        places.contains(
            &r#"{"artifactLocation":{"uri":"out/a.yaml"},"region":{"startLine":11,"startColumn":7}}"#.to_owned()
        ),
        "{places:?}"
    );
    assert!(
        places.contains(
            &r#"{"artifactLocation":{"uri":"out/b%20b.yaml"},"region":{"startLine":11,"startColumn":7}}"#.to_owned()
        ),
        "{places:?}"
    );
    let list: Value = serde_json::from_str(&text("gitlab")).expect("JSON");
    assert_eq!(list[0]["location"], serde_json::json!({"path": "out/a.yaml", "lines": {"begin": 11}}));
    assert_eq!((&list[0]["check_name"], &list[0]["severity"]), (&"md/version".into(), &"critical".into()));
    use std::os::unix::fs::PermissionsExt as _;
    let mode = std::fs::metadata(program.home().join("report.html")).expect("a file").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn a_stream_from_a_pipe_names_the_template() {
    let program = program();
    let stdin = std::fs::read(program.home().join("out/a.yaml")).expect("a stream");
    let ran = program.run(&["plan", "-", "--live", "old.yaml", "--policy", "none", "-o", "gitlab"], &stdin);
    let list: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!(list[0]["location"]["path"], "demo/templates/workers.yaml");
}

#[test]
fn a_fingerprint_outlives_another_render() {
    let program = program();
    let prints = |text: &str| {
        program.file("out/a.yaml", text);
        let ran = program.run(&[&PLAN[..], &["-o", "gitlab"]].concat(), b"");
        let list: Value = serde_json::from_str(&ran.stdout).expect("JSON");
        let all = list.as_array().expect("a list").iter();
        all.map(|one| one["fingerprint"].as_str().expect("text").to_owned()).collect::<Vec<_>>()
    };
    let new = MACHINE_DEPLOYMENT.replace("v1.31.0", "v1.32.0");
    let first = prints(&new);
    // Other lines, another version: the same thing is still what is said.
    assert_eq!(first, prints(&format!("\n# words\n{}", new.replace("v1.32.0", "v1.33.0"))));
    assert_ne!(
        first,
        prints(&new.replace("nodeDrainTimeout: 5m0s", "nodeDrainTimeout: 6m0s").replace("v1.32.0", "v1.31.0"))
    );
}

#[test]
fn no_format_changes_the_exit_code_and_a_file_that_cannot_be_written_lets_nothing_through() {
    let program = program();
    let same = MACHINE_DEPLOYMENT.as_bytes();
    for format in ["human", "json", "markdown", "sarif", "junit", "gitlab", "github", "html"] {
        assert_eq!(program.run(&[&PLAN[..], &["-o", format]].concat(), b"").code, Some(3), "{format}");
        let base =
            ["post-render", "--policy", "none", "--live", "old.yaml", "--base", "old.yaml", "--host", "kubectl", "-o"];
        let allowed = program.run(&[&base[..], &[format]].concat(), same);
        assert_eq!((allowed.code, allowed.stdout.as_bytes()), (Some(0), same), "{format}: {}", allowed.stderr);
        let lost = program.run(&[&base[..], &[&format!("{format}=/nowhere/x")]].concat(), same);
        assert_eq!((lost.code, lost.stdout.as_str()), (Some(1), ""), "{format}");
    }
    let ran = program.run(&["plan", "-", "-o", "xml"], b"");
    assert_eq!(ran.code, Some(2));
    assert!(
        ran.stderr.contains("there are human, json, markdown, sarif, junit, gitlab, github, html"),
        "{}",
        ran.stderr
    );
}
