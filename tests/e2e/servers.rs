//! What RKE2 does on its servers and the in-memory provider does not, so that a control plane of it gets more than one Machine.

use std::fs;
use std::time::Duration;

use base64::Engine as _;
use serde_json::{Value, json};

use crate::api::Api;
use crate::bench::Bench;

/// Annotations of a Node by which the control plane provider takes an etcd member out, and RKE2 says that it is out.
const ETCD_LEAVES: &str = "etcd.rke2.cattle.io/remove";
const ETCD_HAS_LEFT: &str = "etcd.rke2.cattle.io/removed-node-name";

/// Does it for the workload cluster of a namespace until that is over: Nodes have the label of a server with a value, and the Secret that
/// says that the first server is up is there.
pub(crate) fn serve(bench: &'static Bench, namespace: String, is_over: impl Fn() -> bool + Send + 'static) {
    std::thread::spawn(move || {
        let mut reached: Option<Api> = None;
        while !is_over() {
            std::thread::sleep(Duration::from_millis(500));
            match &reached {
                None => reached = workload(bench, &namespace),
                Some(api) => look_after(api),
            }
        }
    });
}

fn look_after(api: &Api) {
    let Ok(nodes) = api.send("GET", "/api/v1/nodes", None) else { return };
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let server = "node-role.kubernetes.io/master";
    for node in nodes["items"].as_array().into_iter().flatten() {
        let marks = &node["metadata"]["annotations"];
        let labels = &node["metadata"]["labels"];
        // Its etcd leaves when it is told to, and says so.
        let leaves = marks[ETCD_LEAVES] == "true" && marks[ETCD_HAS_LEFT].is_null();
        let is_server = !labels["node-role.kubernetes.io/control-plane"].is_null() || !labels[server].is_null();
        if leaves || is_server && labels[server] != "true" {
            let left = if leaves { node["metadata"]["name"].clone() } else { marks[ETCD_HAS_LEFT].clone() };
            let patch = json!({"metadata": {"labels": {server: "true"}, "annotations": {ETCD_HAS_LEFT: left}}});
            let path = format!("/api/v1/nodes/{}", text(&node["metadata"]["name"]));
            drop(api.send("PATCH", &path, Some(("application/merge-patch+json", &patch))));
        }
    }
    let secret =
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "rke2-serving", "namespace": "kube-system"}});
    drop(api.send("POST", "/api/v1/namespaces/kube-system/secrets", Some(("application/json", &secret))));
}

/// A connection to the workload cluster of a namespace, once it has one.
fn workload(bench: &'static Bench, namespace: &str) -> Option<Api> {
    let secret = bench.api.get(&format!("/api/v1/namespaces/{namespace}/secrets/demo-kubeconfig"))?;
    let content = secret["data"]["value"].as_str()?;
    let content = base64::engine::general_purpose::STANDARD.decode(content).ok()?;
    let place = bench.out.join(format!("{namespace}.kubeconfig"));
    fs::write(&place, content).ok()?;
    Some(Api::connect(&place))
}
