//! `rollgate values`: what reaches standard output, and what never does.

use super::{Program, Ran, ran};

const POLICY: &str = r#"
apiVersion: rollgate.dev/v1alpha1
kind: Policy
lateValues:
  - name: cluster_virtual_ip
    placeholders: ["55.55.55.55"]
    type: ip
    from:
      - object: {apiVersion: v1, kind: ConfigMap, name: capo-cluster-resources, path: "$.data.allocated_ip"}
      - env: CLUSTER_VIP
  - name: token
    from:
      - object: {apiVersion: v1, kind: Secret, name: cloud, path: "$.data.token"}
pins: {file: rollgate.pins.yaml}
"#;

const TEMPLATE: &str =
    "# by hand\nvip: {{ late(\"cluster_virtual_ip\") }}\nsans: ['{{ late('cluster_virtual_ip') }}']\n";

/// A cluster with the ConfigMap, whose address may be left out, and a Secret.
fn live(address: Option<&str>) -> String {
    let data = address.map(|address| format!("data: {{allocated_ip: '{address}'}}\n")).unwrap_or_default();
    format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: capo-cluster-resources, namespace: capo, uid: u1, resourceVersion: '7'}}\n{data}---\n\
         apiVersion: v1\nkind: Secret\nmetadata: {{name: cloud, namespace: capo, uid: u2}}\ndata: {{token: aHVudGVyMg==}}\n"
    )
}

fn program(address: Option<&str>) -> Program {
    let program = Program::new();
    program.file("rollgate.yaml", POLICY);
    program.file("values.yaml.j2", TEMPLATE);
    program.file("live.yaml", &live(address));
    program
}

fn values(program: &Program, more: &[&str]) -> Ran {
    let args = ["values", "--live", "live.yaml", "-n", "capo", "--now", "2026-11-21T12:00:00Z"];
    program.run(&[&args, more].concat(), b"")
}

/// What goes out where no values can be had.
const NO_VALUES: &str = "\"rollgate gives no values: the reason is on standard error\n";

#[test]
fn what_goes_out_without_values_is_no_yaml() {
    assert!(rollgate::facade::yaml::read(NO_VALUES.as_bytes()).is_err());
}

#[test]
fn a_known_value_is_rendered_and_pinned_with_its_origin() {
    let program = program(Some("10.0.3.7"));
    let ran = values(&program, &["-f", "values.yaml.j2"]);
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (Some(0), "# by hand\nvip: 10.0.3.7\nsans: ['10.0.3.7']\n"),
        "{}",
        ran.stderr
    );
    let pins = std::fs::read_to_string(program.home().join("rollgate.pins.yaml")).expect("pins");
    for line in [
        "value: \"10.0.3.7\"",
        "uid: \"u1\"",
        "resourceVersion: \"7\"",
        "path: \"$.data.allocated_ip\"",
        "time: \"2026-11-21T12:00:00Z\"",
    ] {
        assert!(pins.contains(line), "{line} is missing in\n{pins}");
    }
    let again = values(&program, &["-f", "values.yaml.j2"]);
    assert_eq!((again.code, again.stdout), (Some(0), ran.stdout));
    assert_eq!(std::fs::read_to_string(program.home().join("rollgate.pins.yaml")).expect("pins"), pins);
}

#[test]
fn a_missing_value_is_exit_4_and_names_value_and_source() {
    let ran = values(&program(None), &["-f", "values.yaml.j2"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(4), NO_VALUES));
    assert!(ran.stderr.contains("late value cluster_virtual_ip has no value yet: ConfigMap capo/capo-cluster-resources at $.data.allocated_ip"), "{}", ran.stderr);
    assert!(ran.stderr.contains("env CLUSTER_VIP is not set"), "{}", ran.stderr);
}

#[test]
fn waiting_is_seen_and_ends_and_is_not_done_in_vain() {
    let start = std::time::Instant::now();
    let program = program(None);
    let ran = values(&program, &["-f", "values.yaml.j2", "--wait", "60s"]);
    assert_eq!(ran.code, Some(4));
    assert!(!ran.stderr.contains("waiting"), "neither a variable nor a file of objects changes: {}", ran.stderr);
    assert!(ran.stderr.contains("do: run with --live cluster"), "{}", ran.stderr);
    program.file("rollgate.yaml", &POLICY.replace("- env: CLUSTER_VIP", "- file: vip.txt"));
    let ran = values(&program, &["-f", "values.yaml.j2", "--wait", "1s"]);
    assert_eq!(ran.code, Some(4));
    assert!(
        ran.stderr.starts_with("rollgate: waiting, 1s left: late value cluster_virtual_ip has no value yet"),
        "{}",
        ran.stderr
    );
    assert!(start.elapsed() < std::time::Duration::from_secs(20));
}

#[test]
fn a_source_that_moved_is_exit_3() {
    let program = program(Some("10.0.3.7"));
    assert_eq!(values(&program, &["-f", "values.yaml.j2"]).code, Some(0));
    program.file("live.yaml", &live(Some("10.0.9.9")));
    let ran = values(&program, &["-f", "values.yaml.j2"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(3), NO_VALUES));
    for word in
        ["pinned to 10.0.3.7", "now says 10.0.9.9", "next: rollgate pin set cluster_virtual_ip 10.0.3.7 --policy"]
    {
        assert!(ran.stderr.contains(word), "{word} is missing in {}", ran.stderr);
    }
}

#[test]
fn the_environment_fills_in_where_the_object_does_not() {
    let program = program(Some(""));
    let mut command = program.command();
    command
        .args(["values", "--live", "live.yaml", "-n", "capo", "-f", "values.yaml.j2"])
        .env("CLUSTER_VIP", "10.0.3.8");
    let ran = ran(command, b"");
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(ran.stdout.contains("vip: 10.0.3.8"));
}

#[test]
fn a_template_that_is_wrong_is_exit_2_with_file_and_line() {
    let program = program(Some("10.0.3.7"));
    program.file("bad.yaml.j2", "a: 1\nb: {{ late('cluster_vip') }}\n");
    let ran = values(&program, &["-f", "bad.yaml.j2"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), NO_VALUES));
    assert!(ran.stderr.contains("bad.yaml.j2:2: the policy has no late value \"cluster_vip\""), "{}", ran.stderr);
    program.file("bad.yaml", "a: [1\n");
    let ran = values(&program, &["-f", "bad.yaml"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("bad.yaml:"), "{}", ran.stderr);
}

#[test]
fn plain_values_pass_untouched_and_need_no_policy_and_no_cluster() {
    let program = Program::new();
    let text = "# comment\r\na:   'x'   # {{ .Values.b }}\r\n";
    program.file("values.yaml", text);
    let ran = program.run(&["values", "-f", "values.yaml"], b"");
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), text), "{}", ran.stderr);
    let ran = program.run(&["values", "-f", "-"], b"a: 1\n");
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "a: 1\n"), "{}", ran.stderr);
    program.file("values.yaml.j2", TEMPLATE);
    let ran = program.run(&["values", "-f", "values.yaml.j2"], b"");
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("no policy says where they come from"), "{}", ran.stderr);
}

#[test]
fn several_files_are_laid_over_each_other_as_helm_does() {
    let program = program(Some("10.0.3.7"));
    program.file("base.yaml", "vip: none\ncluster: {name: a, size: 1}\n");
    program.file("over.yaml", "cluster: {size: 3}\n");
    let ran = values(&program, &["-f", "base.yaml", "-f", "values.yaml.j2", "-f", "over.yaml"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_eq!(ran.stdout, "vip: \"10.0.3.7\"\ncluster:\n  name: \"a\"\n  size: 3\nsans: [\"10.0.3.7\"]\n");
}

#[test]
fn helm_can_call_it_as_a_getter() {
    let program = program(Some("10.0.3.7"));
    let mut command = program.command();
    command.env("HELM_NAMESPACE", "capo").current_dir("/");
    let url = format!("rollgate://{0}/values.yaml.j2?live={0}/live.yaml#x", program.home().display());
    command.args(["values", "--getter", "", "", "", &url]);
    let ran = ran(command, b"");
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (Some(0), "# by hand\nvip: 10.0.3.7\nsans: ['10.0.3.7']\n"),
        "{}",
        ran.stderr
    );
}

#[test]
fn a_secret_is_in_the_values_and_nowhere_else() {
    let program = program(Some("10.0.3.7"));
    program.file("secret.yaml.j2", "token: {{ late('token') | quote }}\n");
    let ran = values(&program, &["-f", "secret.yaml.j2"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "token: \"hunter2\"\n"), "{}", ran.stderr);
    let pins = std::fs::read_to_string(program.home().join("rollgate.pins.yaml")).expect("pins");
    assert!(pins.contains("secret: true") && !pins.contains("hunter2"), "{pins}");
    assert!(!ran.stderr.contains("hunter2"));
    for args in [
        &["pin", "list"][..],
        &["pin", "show", "token"],
        &["pin", "show", "token", "--json"],
        &["pin", "list", "--json"],
    ] {
        let ran = program.run(args, b"");
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        assert!(!ran.stdout.contains("hunter2") && !ran.stdout.contains("sealed:"), "{}", ran.stdout);
    }
}
