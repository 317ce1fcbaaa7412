//! Late values from an API server: a small one that keeps ConfigMaps, answers discovery, and lets one appear after a while.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use super::server::{self, Answers, missing};
use super::{Program, ran};

const POLICY: &str = r#"
apiVersion: rollgate.dev/v1alpha1
kind: Policy
lateValues:
  - name: vip
    placeholders: ["55.55.55.55"]
    type: ip
    from: [{object: {apiVersion: v1, kind: ConfigMap, name: capo-cluster-resources, path: "$.data.allocated_ip"}}]
    wait: 30s
pins: {store: configmap/rollgate-pins}
"#;

/// What the server holds.
#[derive(Default)]
struct Held {
    /// ConfigMaps by name.
    maps: BTreeMap<String, Value>,
    /// Reads of the source before it is there.
    late: u32,
    /// Whether the source says something else at each read.
    restless: bool,
    /// Requests, as `METHOD path`.
    asked: Vec<String>,
}

impl Held {
    fn answers(&mut self, method: &str, path: &str, body: &[u8]) -> (u16, Value) {
        let path = path.split('?').next().unwrap_or_default();
        self.asked.push(format!("{method} {path}"));
        let resource = json!({"name": "configmaps", "singularName": "", "namespaced": true, "kind": "ConfigMap",
            "verbs": ["get", "list", "create", "update"]});
        match path {
            "/version" => (200, json!({"major": "1", "minor": "33", "gitVersion": "v1.33.0"})),
            "/api" => (200, json!({"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []})),
            "/apis" => (200, server::groups(&[])),
            "/api/v1" => (200, json!({"kind": "APIResourceList", "groupVersion": "v1", "resources": [resource]})),
            _ => self.configmap(method, path.rsplit('/').next().unwrap_or_default(), body),
        }
    }

    fn configmap(&mut self, method: &str, name: &str, body: &[u8]) -> (u16, Value) {
        if name == "capo-cluster-resources" && self.late > 0 {
            self.late -= 1;
            return missing(name);
        }
        if self.restless && name == "capo-cluster-resources" {
            let address = format!("10.0.3.{}", self.asked.len());
            self.maps.get_mut(name).expect("the map")["data"]["allocated_ip"] = json!(address);
        }
        if method == "GET" {
            return self.maps.get(name).map_or_else(|| missing(name), |map| (200, map.clone()));
        }
        let mut map: Value = serde_json::from_slice(body).expect("JSON");
        map["metadata"]["resourceVersion"] = json!(self.asked.len().to_string());
        let name = map["metadata"]["name"].as_str().expect("a name").to_owned();
        self.maps.insert(name, map.clone());
        (200, map)
    }
}

impl Answers for Held {
    fn answer(&mut self, method: &str, path: &str, body: &[u8]) -> (u16, Value) {
        self.answers(method, path, body)
    }
}

/// A home with the policy and a kubeconfig for a server that holds the ConfigMap, `late` reads from now.
fn program(late: u32) -> (Program, Arc<Mutex<Held>>) {
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"allocated_ip": "10.0.3.7"},
        "metadata": {"name": "capo-cluster-resources", "namespace": "capo", "uid": "u1", "resourceVersion": "5"}});
    let maps = BTreeMap::from([("capo-cluster-resources".to_owned(), map)]);
    let held = Arc::new(Mutex::new(Held { maps, late, ..Held::default() }));
    let kubeconfig = server::serve(&held, "capo");
    let program = Program::new();
    program.file("rollgate.yaml", POLICY);
    program.file("values.yaml.j2", "vip: {{ late('vip') }}\n");
    program.file("kubeconfig", &kubeconfig);
    (program, held)
}

#[test]
fn values_wait_for_the_object_and_pin_it_in_the_cluster() {
    let (program, held) = program(1);
    let run = |args: &[&str]| {
        let mut command = program.command();
        command.env("KUBECONFIG", program.home().join("kubeconfig")).args(args);
        ran(command, b"")
    };
    let first = run(&["values", "-f", "values.yaml.j2"]);
    assert_eq!((first.code, first.stdout.as_str()), (Some(0), "vip: 10.0.3.7\n"), "{}", first.stderr);
    let waiting = "rollgate: waiting, 30s left: late value vip has no value yet: ConfigMap capo/capo-cluster-resources at $.data.allocated_ip: there is no such object yet\n";
    assert_eq!(first.stderr, waiting);
    let pins = held.lock().expect("no panic").maps.get("rollgate-pins").cloned().expect("pins");
    assert!(pins["data"]["vip"].as_str().expect("a pin").contains("\"value\":\"10.0.3.7\""), "{pins}");

    let listed = run(&["pin", "list"]);
    assert_eq!(listed.code, Some(0), "{}", listed.stderr);
    assert!(listed.stdout.contains("10.0.3.7"), "{}", listed.stdout);
    held.lock().expect("no panic").maps.get_mut("capo-cluster-resources").expect("the map")["data"]["allocated_ip"] =
        json!("10.0.9.9");
    assert_eq!(run(&["values", "-f", "values.yaml.j2"]).code, Some(3));
    assert_eq!(run(&["pin", "verify"]).code, Some(3));
    let set = run(&["pin", "set", "vip", "10.0.9.9", "--reason", "moved by ticket 4"]);
    assert_eq!((set.code, set.stdout.as_str()), (Some(0), "vip: 10.0.3.7 to 10.0.9.9\n"), "{}", set.stderr);
    assert_eq!(run(&["values", "-f", "values.yaml.j2"]).stdout, "vip: 10.0.9.9\n");
}

#[test]
fn post_render_waits_fills_in_and_pins_before_anything_goes_out() {
    let (program, held) = program(2);
    let mut command = program.command();
    command.env("KUBECONFIG", program.home().join("kubeconfig"));
    command.args([
        "post-render",
        "--policy",
        "rollgate.yaml",
        "--host",
        "helm3",
        "-n",
        "capo",
        "--release",
        "r",
        "--base",
        "none",
    ]);
    let stream = "# 55.55.55.55\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: capo}\ndata:\n  url: https://55.55.55.55:6443\n";
    let ran = ran(command, stream.as_bytes());
    assert_eq!(ran.code, Some(0), "{}\n{:#?}", ran.stderr, held.lock().expect("no panic").asked);
    assert_eq!(ran.stdout, stream.replace("//55.55.55.55", "//10.0.3.7"));
    assert!(ran.stderr.contains("rollgate: waiting, 30s left"), "{}", ran.stderr);
    assert!(held.lock().expect("no panic").maps.contains_key("rollgate-pins"));
}

#[test]
fn a_cluster_that_cannot_be_reached_is_exit_4_and_named() {
    let program = Program::new();
    program.file("rollgate.yaml", POLICY);
    program.file("values.yaml.j2", "vip: {{ late('vip') }}\n");
    let ran = program.run(&["values", "-f", "values.yaml.j2", "--deadline", "2s"], b"");
    assert_eq!(ran.code, Some(4), "{}", ran.stderr);
    assert!(
        rollgate::facade::yaml::read(ran.stdout.as_bytes()).is_err(),
        "Helm would take it for values: {}",
        ran.stdout
    );
    assert!(ran.stderr.contains("cluster"), "{}", ran.stderr);
}

const STREAM: &str =
    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: capo}\ndata:\n  url: https://55.55.55.55:6443\n";

const POST_RENDER: [&str; 11] =
    ["post-render", "--policy", "rollgate.yaml", "--host", "helm3", "-n", "capo", "--release", "r", "--base", "none"];

/// A run against the server of the test.
fn against(program: &Program, args: &[&str], stdin: &str) -> super::Ran {
    let mut command = program.command();
    command.env("KUBECONFIG", program.home().join("kubeconfig")).args(args);
    ran(command, stdin.as_bytes())
}

fn allocate(held: &Mutex<Held>, address: &str) {
    let mut held = held.lock().expect("no panic");
    held.late = 0;
    held.maps.get_mut("capo-cluster-resources").expect("the map")["data"]["allocated_ip"] = json!(address);
}

#[cfg(unix)]
#[test]
fn a_signal_ends_a_wait_and_nothing_goes_out() {
    use std::io::{BufRead as _, BufReader, Read as _, Write as _};
    use std::process::Stdio;
    for (args, signal) in
        [(&["values", "-f", "values.yaml.j2"][..], "-INT"), (&POST_RENDER[..], "-INT"), (&POST_RENDER[..], "-TERM")]
    {
        let (program, held) = program(u32::MAX);
        let mut command = program.command();
        command.env("KUBECONFIG", program.home().join("kubeconfig")).args(args);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the program starts");
        drop(child.stdin.take().expect("a pipe").write_all(STREAM.as_bytes()));
        let mut err = BufReader::new(child.stderr.take().expect("a pipe"));
        let mut said = String::new();
        while !said.contains("waiting") {
            assert!(err.read_line(&mut said).expect("readable") > 0, "{said}");
        }
        let id = child.id().to_string();
        std::process::Command::new("kill").args([signal, &id]).status().expect("it is sent");
        let ended = child.wait_with_output().expect("it ends");
        err.read_to_string(&mut said).expect("readable");
        assert_eq!(ended.status.code(), Some(4), "{args:?} {signal}: {said}");
        assert!(
            said.ends_with("rollgate: interrupted while late values were waited for; nothing was written\n"),
            "{said}"
        );
        let out = String::from_utf8(ended.stdout).expect("text");
        if args[0] == "values" {
            assert!(rollgate::facade::yaml::read(out.as_bytes()).is_err(), "Helm would take it for values: {out:?}");
        } else {
            assert_eq!(out, "", "{said}");
        }
        assert!(!held.lock().expect("no panic").maps.contains_key("rollgate-pins"), "nothing is pinned");
    }
}

/// The value appears when it has been looked for: that run does not go out, and the next one takes it.
#[test]
fn a_value_that_appears_between_look_and_write_goes_out_with_the_next_run() {
    let (program, held) = program(u32::MAX);
    let now: Vec<&str> = POST_RENDER.into_iter().chain(["--wait", "0s"]).collect();
    let first = against(&program, &now, STREAM);
    allocate(&held, "10.0.3.7");
    assert_eq!((first.code, first.stdout.as_str()), (Some(4), ""), "{}", first.stderr);
    let second = against(&program, &now, STREAM);
    assert_eq!((second.code, second.stdout), (Some(0), STREAM.replace("55.55.55.55", "10.0.3.7")), "{}", second.stderr);
}

/// A second source filled in while the first had nothing: what that says when it comes does not replace it silently.
#[test]
fn a_better_source_that_appears_after_the_write_is_held_against_what_was_written() {
    let (program, held) = program(u32::MAX);
    program.file("rollgate.yaml", &POLICY.replace("}}]\n", "}}, {env: VIP}]\n"));
    let run = || {
        let mut command = program.command();
        command.env("KUBECONFIG", program.home().join("kubeconfig")).env("VIP", "10.0.9.9").args(POST_RENDER);
        ran(command, STREAM.as_bytes())
    };
    let first = run();
    assert_eq!((first.code, first.stdout), (Some(0), STREAM.replace("55.55.55.55", "10.0.9.9")), "{}", first.stderr);
    allocate(&held, "10.0.3.7");
    let second = run();
    assert_eq!((second.code, second.stdout.as_str()), (Some(3), ""), "{}", second.stderr);
    assert!(second.stderr.contains("10.0.9.9") && second.stderr.contains("10.0.3.7"), "{}", second.stderr);
}

/// Flux renders to compare and again to write; Helm renders for a diff and again for the upgrade.
#[test]
fn a_value_that_changes_between_two_renders_of_one_upgrade_is_held() {
    let (program, held) = program(0);
    let first = against(&program, &POST_RENDER, STREAM);
    assert_eq!(first.code, Some(0), "{}", first.stderr);
    allocate(&held, "10.0.9.9");
    let second = against(&program, &POST_RENDER, STREAM);
    assert_eq!((second.code, second.stdout.as_str()), (Some(3), ""), "{}", second.stderr);
    // Values for the chart and the stream that it renders come from one pin too.
    let values = against(&program, &["values", "-f", "values.yaml.j2"], "");
    assert_eq!(values.code, Some(3), "{}", values.stderr);
    let pins = held.lock().expect("no panic").maps["rollgate-pins"].clone();
    assert!(pins["data"]["vip"].as_str().expect("a pin").contains("\"value\":\"10.0.3.7\""), "{pins}");
}

#[test]
fn what_is_written_is_what_is_pinned_though_the_source_changes_at_each_read() {
    let (program, held) = program(1);
    held.lock().expect("no panic").restless = true;
    let ran = against(&program, &POST_RENDER, STREAM);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let pins = held.lock().expect("no panic").maps["rollgate-pins"].clone();
    let pin: Value = serde_json::from_str(pins["data"]["vip"].as_str().expect("a pin")).expect("JSON");
    assert_eq!(ran.stdout, STREAM.replace("55.55.55.55", pin["value"].as_str().expect("a value")));
}

#[test]
fn pins_never_go_into_a_namespace_that_nobody_named() {
    let (program, held) = program(0);
    let text = std::fs::read_to_string(program.home().join("kubeconfig")).expect("there");
    program.file("kubeconfig", &text.replace(", namespace: capo", ""));
    let set = ["pin", "set", "vip", "10.0.3.7", "--reason", "x"];
    for args in [&set[..], &["pin", "list"]] {
        let ran = against(&program, args, "");
        assert_eq!(ran.code, Some(2), "{}", ran.stderr);
        assert!(ran.stderr.contains("no namespace is known for the pins"), "{}", ran.stderr);
    }
    assert!(!held.lock().expect("no panic").maps.contains_key("rollgate-pins"));
    let told: Vec<&str> = set.into_iter().chain(["-n", "capo"]).collect();
    let ran = against(&program, &told, "");
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(ran.stderr.contains("pins in ConfigMap capo/rollgate-pins"), "{}", ran.stderr);
}
