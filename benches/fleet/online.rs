//! The same fleets on a real API server (the bench's, without controllers), beside `kubectl diff`.

use std::path::Path;

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use kube::Client;
use kube::config::{Config, KubeConfigOptions, Kubeconfig};
use serde_json::{Value, json};

use crate::cost::cost;
use crate::file::{ADDRESSES, Fleet};
use crate::{Smaller, rollgate, sizes, starter};

/// So many objects are made at one time.
const AT_ONCE: usize = 24;

/// Fills an API server with the fleet and plans against it. Says so where the bench is not built.
pub(crate) fn measure(fleet: &Fleet, smaller: &mut Smaller) {
    let bin = match starter::find(&["kubectl"]) {
        Ok(bin) => bin,
        Err(missing) => {
            println!("skipped: online, because {missing} (make bench)");
            return;
        }
    };
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut server = starter::start(&bin, folder.path(), &["--api-only"]);
    fill(&server.kubeconfig, fleet);
    let (new, old) = (fleet.new.display().to_string(), fleet.old.display().to_string());
    let args = ["plan", &new, "--base", &old, "--policy", "none", "-o", "json", "--host", "helm3"];
    let cluster = [("KUBECONFIG", server.kubeconfig.as_path())];
    let plan = cost(3, &rollgate(), &args, None, &cluster);
    smaller.row("plan online", fleet, plan, None);
    let most = sizes("ROLLGATE_FLEET_DIFF", &[100]).into_iter().max().unwrap_or_default();
    if fleet.clusters <= most {
        let peer = cost(1, &bin.join("kubectl"), &["diff", "-f", &new], None, &cluster);
        smaller.row("kubectl diff", fleet, peer, Some(peer.time.as_secs_f64() / plan.time.as_secs_f64()));
    }
    drop(server.process.stdin.take());
    server.process.wait().expect("the bench ends");
}

/// Makes every object of the fleet, and its status.
fn fill(kubeconfig: &Path, fleet: &Fleet) {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime");
    runtime.block_on(async {
        drop(rustls::crypto::ring::default_provider().install_default());
        let kubeconfig = Kubeconfig::read_from(kubeconfig).expect("the kubeconfig can be read");
        let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.expect("complete");
        let client = Client::try_from(config).expect("a client");
        let namespaces = fleet.layout.namespaces(fleet.clusters);
        let namespaces = namespaces
            .into_iter()
            .map(|name| json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}));
        make(&client, namespaces.collect()).await;
        make(&client, fleet.layout.live(fleet.clusters, ADDRESSES.0)).await;
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
