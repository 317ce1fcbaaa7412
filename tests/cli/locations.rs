//! Every change says where it stands: file, line, column, and the template of the chart.

use serde_json::{Value, json};

use super::{MACHINE_DEPLOYMENT, Program};

/// A render in two files, as Helm names their templates, and what was rendered before.
fn program() -> Program {
    let program = Program::new();
    let other = MACHINE_DEPLOYMENT.replace("name: md,", "name: other,");
    program.file("old.yaml", &format!("{MACHINE_DEPLOYMENT}---\n{other}"));
    let new = |text: &str| text.replace("v1.31.0", "v1.32.0");
    program.file("a.yaml", &format!("---\n# Source: demo/templates/workers.yaml\n{}", new(MACHINE_DEPLOYMENT)));
    program.file("b.yaml", &format!("# words\n\n---\n# Source: demo/templates/other.yaml\n{}", new(&other)));
    program
}

fn report(program: &Program, args: &[&str], stdin: &str) -> Value {
    let ran = program.run(&[&["plan", "--live", "old.yaml", "-o", "json"], args].concat(), stdin.as_bytes());
    serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {}", ran.stderr))
}

/// Name of each object with the locations of its changes.
fn locations(report: &Value) -> Vec<(String, Value)> {
    let objects = report["objects"].as_array().expect("objects");
    objects
        .iter()
        .flat_map(|object| {
            let changes = object["changes"].as_array().expect("changes");
            changes
                .iter()
                .map(|change| (object["name"].as_str().unwrap_or_default().to_owned(), change["location"].clone()))
        })
        .collect()
}

#[test]
fn several_files_keep_their_names_and_lines() {
    let program = program();
    let report = report(&program, &["a.yaml", "b.yaml"], "");
    let at =
        |file: &str, line: u64, template: &str| json!({"file": file, "line": line, "column": 7, "template": template});
    assert_eq!(
        locations(&report),
        [
            ("md".to_owned(), at("a.yaml", 12, "demo/templates/workers.yaml")),
            ("other".to_owned(), at("b.yaml", 14, "demo/templates/other.yaml")),
        ]
    );
    let objects: Vec<&Value> =
        report["objects"].as_array().expect("objects").iter().map(|one| &one["location"]).collect();
    assert_eq!(objects[1], &json!({"file": "b.yaml", "line": 5, "column": 1, "template": "demo/templates/other.yaml"}));
}

#[test]
fn a_stream_from_a_pipe_has_lines_and_templates_and_no_file() {
    let program = program();
    let stdin = std::fs::read_to_string(program.home().join("a.yaml")).expect("a.yaml");
    let report = report(&program, &["-"], &stdin);
    assert_eq!(locations(&report)[0].1, json!({"line": 12, "column": 7, "template": "demo/templates/workers.yaml"}));
}

#[test]
fn people_read_file_and_line() {
    let program = program();
    let ran = program.run(&["plan", "a.yaml", "b.yaml", "--live", "old.yaml"], b"");
    let places = "rollout, a.yaml:3, from demo/templates/workers.yaml, b.yaml:5, from demo/templates/other.yaml";
    assert!(ran.stdout.contains(places), "{}", ran.stdout);
    assert!(ran.stdout.contains("spec.template.spec.version  rollout, a.yaml:12, b.yaml:14"), "{}", ran.stdout);
}

#[test]
fn what_is_wrong_in_one_of_several_files_is_said_with_its_name_and_line() {
    let program = program();
    program.file("broken.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n\tdata: x\n");
    program.file("nameless.yaml", "apiVersion: v1\nkind: ConfigMap\n");
    for (file, place) in [("broken.yaml", "broken.yaml:5"), ("nameless.yaml", "nameless.yaml:1:")] {
        let ran = program.run(&["plan", "a.yaml", file, "--live", "old.yaml"], b"");
        assert_eq!(ran.code, Some(2), "{}", ran.stdout);
        assert!(ran.stderr.contains(&format!("rollgate: {place}")), "{}", ran.stderr);
    }
}

#[test]
fn a_reason_names_what_it_is_about_and_nobody_parses_its_sentence() {
    let program = program();
    let report = report(&program, &["a.yaml", "b.yaml"], "");
    let reason = &report["reasons"][1];
    let object = json!({"group": "cluster.x-k8s.io", "kind": "MachineDeployment", "namespace": "ns", "name": "other"});
    assert_eq!(reason["object"], object);
    let told = ["path", "rule", "effect", "machines"].map(|field| &reason[field]);
    assert_eq!(told, [&json!("spec.template.spec.version"), &json!("md/version"), &json!("rollout"), &json!(2)]);
    assert_eq!((&reason["location"]["file"], &reason["location"]["line"]), (&json!("b.yaml"), &json!(14)));
}

#[test]
fn a_finding_about_an_object_that_does_not_change_says_where_it_stands() {
    let program = program();
    program.file(
        "policy.yaml",
        "apiVersion: rollgate.dev/v1alpha1\nkind: Policy\nlateValues: [{name: vip, type: ip, placeholders: [55.55.55.55], from: [{env: VIP}]}]\n",
    );
    let report = report(&program, &["a.yaml", "b.yaml", "--policy", "policy.yaml"], "");
    let finding = report["findings"].as_array().expect("findings").iter().find(|one| one["id"] == "late-value-unseen");
    let place = &finding.expect("a value of which nothing stands in the stream")["location"];
    assert_eq!((&place["file"], &place["line"]), (&json!("a.yaml"), &json!(3)));
}
