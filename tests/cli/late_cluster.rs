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
    let waiting = "rollgate: waiting, 30s left: late value vip is not known yet: ConfigMap capo/capo-cluster-resources at $.data.allocated_ip: there is no such object yet\n";
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
    assert!(rollgate::yaml::read(ran.stdout.as_bytes()).is_err(), "Helm would take it for values: {}", ran.stdout);
    assert!(ran.stderr.contains("cluster"), "{}", ran.stderr);
}
