//! Fills a real API server with a fleet.

use std::path::Path;

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use kube::Client;
use kube::config::{Config, KubeConfigOptions, Kubeconfig};
use serde_json::{Value, json};

use crate::objects::Layout;

/// So many objects are made at one time.
const AT_ONCE: usize = 24;

/// Makes every object of the fleet, and its status.
pub(crate) fn fill(kubeconfig: &Path, layout: Layout, clusters: usize, address: &str) {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime");
    runtime.block_on(async {
        drop(rustls::crypto::ring::default_provider().install_default());
        let kubeconfig = Kubeconfig::read_from(kubeconfig).expect("the kubeconfig can be read");
        let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.expect("complete");
        let client = Client::try_from(config).expect("a client");
        let namespaces = layout.namespaces(clusters);
        let namespaces = namespaces
            .into_iter()
            .map(|name| json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}));
        make(&client, namespaces.collect()).await;
        make(&client, layout.live(clusters, address)).await;
    });
}

async fn make(client: &Client, objects: Vec<Value>) {
    let made = stream::iter(objects.into_iter().map(|object| one(client, object)));
    let made: Result<Vec<()>, kube::Error> = made.buffer_unordered(AT_ONCE).try_collect().await;
    made.expect("the API server takes the fleet");
}

/// Makes one object, and writes its status where it has one.
async fn one(client: &Client, mut object: Value) -> Result<(), kube::Error> {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
    let (version, kind, name) = (text("/apiVersion"), text("/kind"), text("/metadata/name"));
    let plural = match kind.to_lowercase() {
        kind if kind.ends_with('s') => format!("{kind}es"),
        kind => format!("{kind}s"),
    };
    let path = match object.pointer("/metadata/namespace").and_then(Value::as_str) {
        Some(namespace) => format!("/apis/{version}/namespaces/{namespace}/{plural}"),
        None => format!("/api/{version}/{plural}"),
    };
    let status = object.as_object_mut().and_then(|map| map.remove("status"));
    let mut made = send(client, "POST", &path, &object).await?;
    if let Some(status) = status {
        made["status"] = status;
        send(client, "PUT", &format!("{path}/{name}/status"), &made).await?;
    }
    Ok(())
}

async fn send(client: &Client, method: &str, path: &str, body: &Value) -> Result<Value, kube::Error> {
    let request = http::Request::builder().method(method).uri(path).header("content-type", "application/json");
    client.request(request.body(body.to_string().into_bytes()).expect("a request")).await
}
