//! What a policy leaves out of a report is counted and decided about all the same.

use serde_json::Value;

use super::Program;

const POLICY: &str = r#"apiVersion: rollgate.dev/v1alpha1
kind: Policy
ignore:
- {path: "metadata.labels.**", reason: the build number}
- {path: "spec.**", kinds: [MachineDeployment], reason: we know}
"#;

fn deployment(build: u8, version: &str, ready: u8) -> String {
    format!(
        "apiVersion: cluster.x-k8s.io/v1beta1\nkind: MachineDeployment\nmetadata: {{name: md, labels: {{build: '{build}'}}}}\nspec: \
         {{clusterName: demo, replicas: 3, minReadySeconds: {ready}, template: {{spec: {{clusterName: demo, version: {version}, \
         bootstrap: {{dataSecretName: x}}, infrastructureRef: {{apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: \
         DockerMachineTemplate, name: t}}}}}}}}\n"
    )
}

fn report(program: &Program, policy: &str) -> Value {
    program.file("live.yaml", &deployment(1, "v1.30.0", 0));
    let args = ["plan", "-", "--live", "live.yaml", "--policy", policy, "-o", "json"];
    let ran = program.run(&args, deployment(2, "v1.31.0", 5).as_bytes());
    serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {}", ran.stderr))
}

#[test]
fn what_is_left_out_is_counted_and_what_touches_machines_is_shown() {
    let program = Program::new();
    program.file("rollgate.yaml", POLICY);
    let (with, without) = (report(&program, "rollgate.yaml"), report(&program, "none"));
    let paths = |report: &Value| -> Vec<String> {
        let changes = report["objects"][0]["changes"].as_array().cloned().unwrap_or_default();
        changes.iter().map(|change| change["path"].as_str().unwrap_or_default().to_owned()).collect()
    };
    assert_eq!(paths(&without), ["metadata.labels.build", "spec.minReadySeconds", "spec.template.spec.version"]);
    assert_eq!(paths(&with), ["spec.template.spec.version"]);
    assert_eq!(with["ignored"][0]["changes"], 1);
    assert_eq!(with["ignored"][1]["reason"], "we know");
    for what in ["decision", "effect", "digest", "reasons", "rollouts"] {
        assert_eq!(with[what], without[what], "{what}");
    }
    assert_eq!(without.get("ignored"), None);
    program.file("new.yaml", &deployment(2, "v1.31.0", 5));
    let args = ["plan", "new.yaml", "--live", "live.yaml", "--policy", "rollgate.yaml"];
    let ran = program.run(&args, b"");
    assert!(ran.stdout.contains("not shown: 1 change at metadata.labels.** (the build number)"), "{}", ran.stdout);
}

#[test]
fn a_policy_says_what_is_wrong_with_a_path() {
    let program = Program::new();
    for (line, message) in [
        ("ignore: [{path: \"spec..a\", reason: x}]", "a step is empty"),
        ("ignore: [{path: spec.a, reason: ' '}]", "say why"),
        ("redact: [\"spec.files[0].content\"]", "with * for a list place"),
    ] {
        program.file("rollgate.yaml", &format!("apiVersion: rollgate.dev/v1alpha1\nkind: Policy\n{line}\n"));
        let ran = program.run(&["plan", "-", "--live", "none", "--policy", "rollgate.yaml"], b"");
        assert_eq!(ran.code, Some(2), "{}", ran.stderr);
        assert!(ran.stderr.contains("rollgate.yaml:3:") && ran.stderr.contains(message), "{}", ran.stderr);
    }
}
