//! The API server as tests see it: paths in, JSON out. No types, so that nothing is lost on the way.

use std::path::Path;

use kube::client::Client;
use kube::config::{Config, KubeConfigOptions, Kubeconfig};
use serde_json::Value;
use tokio::runtime::Runtime;

/// A connection to the bench's API server, usable from every test thread.
pub(crate) struct Api {
    runtime: Runtime,
    client: Client,
}

impl Api {
    /// Connects with a kubeconfig file.
    pub(crate) fn connect(kubeconfig: &Path) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .expect("a runtime starts");
        let client = runtime.block_on(async {
            let kubeconfig = Kubeconfig::read_from(kubeconfig).expect("the kubeconfig can be read");
            let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default())
                .await
                .expect("the kubeconfig is complete");
            Client::try_from(config).expect("the kubeconfig's certificates are good")
        });
        Self { runtime, client }
    }

    /// The connection itself.
    pub(crate) fn client(&self) -> Client {
        self.client.clone()
    }

    /// Runs something where the connection lives.
    pub(crate) fn run<T>(&self, work: impl Future<Output = T>) -> T {
        self.runtime.block_on(work)
    }

    /// The object at a path, `None` where there is none.
    pub(crate) fn get(&self, path: &str) -> Option<Value> {
        match self.send("GET", path, None) {
            Ok(object) => Some(object),
            Err(kube::Error::Api(status)) if status.code == 404 => None,
            Err(error) => panic!("GET {path}: {error}"),
        }
    }

    /// The items of the list at a path.
    pub(crate) fn list(&self, path: &str) -> Vec<Value> {
        let mut list = self.get(path).unwrap_or_else(|| panic!("GET {path}: no such resource"));
        match list["items"].take() {
            Value::Array(items) => items,
            other => panic!("GET {path}: items are {other}"),
        }
    }

    /// Creates an object.
    pub(crate) fn create(&self, path: &str, object: &Value) -> Value {
        self.send("POST", path, Some(("application/json", object)))
            .unwrap_or_else(|error| panic!("POST {path}: {error}"))
    }

    /// Applies a JSON merge patch.
    pub(crate) fn merge(&self, path: &str, patch: &Value) -> Value {
        self.send("PATCH", path, Some(("application/merge-patch+json", patch)))
            .unwrap_or_else(|error| panic!("PATCH {path}: {error}"))
    }

    #[cfg(feature = "forecasts")]
    /// Applies an object on the server's side as a manager who takes what he wants.
    pub(crate) fn apply(&self, path: &str, manager: &str, object: &Value) -> Value {
        let path = format!("{path}?fieldManager={manager}&force=true");
        self.send("PATCH", &path, Some(("application/apply-patch+yaml", object)))
            .unwrap_or_else(|error| panic!("PATCH {path}: {error}"))
    }

    #[cfg(feature = "forecasts")]
    /// Applies a JSON merge patch as a manager; `None` where the server refuses it.
    pub(crate) fn try_merge(&self, path: &str, manager: &str, patch: &Value) -> Option<Value> {
        self.send("PATCH", &format!("{path}?fieldManager={manager}"), Some(("application/merge-patch+json", patch)))
            .ok()
    }

    /// Paths of all lists of a namespace that the API server offers, each resource once.
    pub(crate) fn namespaced_lists(&self, namespace: &str) -> Vec<String> {
        let mut roots = vec!["/api/v1".to_owned()];
        for group in self.get("/apis").expect("there are groups")["groups"].as_array().into_iter().flatten() {
            roots.push(format!(
                "/apis/{}",
                group["preferredVersion"]["groupVersion"].as_str().expect("a group has a version")
            ));
        }
        let mut lists = Vec::new();
        for root in roots {
            let resources = self.get(&root).unwrap_or_else(|| panic!("GET {root}: no such group"));
            for resource in resources["resources"].as_array().into_iter().flatten() {
                let listable =
                    resource["verbs"].as_array().is_some_and(|verbs| verbs.iter().any(|verb| verb == "list"));
                if resource["namespaced"] == true && listable {
                    lists.push(format!(
                        "{root}/namespaces/{namespace}/{}",
                        resource["name"].as_str().expect("a resource has a name")
                    ));
                }
            }
        }
        lists
    }

    /// Sends a request; the server's refusal is an error.
    pub(crate) fn send(&self, method: &str, path: &str, body: Option<(&str, &Value)>) -> Result<Value, kube::Error> {
        let mut request = http::Request::builder().method(method).uri(path);
        let mut bytes = Vec::new();
        if let Some((content_type, object)) = body {
            request = request.header(http::header::CONTENT_TYPE, content_type);
            bytes = serde_json::to_vec(object).expect("JSON can be written");
        }
        let request = request.body(bytes).expect("method and path are valid");
        self.runtime.block_on(self.client.request::<Value>(request))
    }
}
