//! The few requests with which something is written in the cluster, by the gate and by the publisher. Each ends in time, and a write only onto what was read.

use std::time::Duration;

use http::{Request, StatusCode, header};
use http_body_util::BodyExt as _;
use kube::Client;
use kube::client::Body;

use crate::tree::Value;

/// Longest time for one answer.
const PATIENCE: Duration = Duration::from_secs(10);
/// An object without what stands in it: enough to know whether it has changed.
const METADATA: &str = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
const JSON: &str = "application/json";
const MERGE: &str = "application/merge-patch+json";

/// Why a request came to nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum ApiFault {
    /// Somebody else has written it meanwhile, or it is there already.
    #[error("somebody else has written it meanwhile")]
    Conflict,
    /// It is not there.
    #[error("it is not there")]
    Absent,
    /// Anything else.
    #[error("{0}")]
    Other(String),
}

/// The API server, as far as it is asked here.
#[derive(Clone)]
pub(super) struct Api {
    client: Client,
    /// What it calls whoever writes.
    writer: &'static str,
}

impl std::fmt::Debug for Api {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Api")
    }
}

impl Api {
    pub(super) const fn new(client: Client, writer: &'static str) -> Self {
        Self { client, writer }
    }

    /// An object.
    pub(super) async fn get(&self, path: &str) -> Result<Value, ApiFault> {
        self.send(Request::get(path).header(header::ACCEPT, JSON), None).await
    }

    /// The metadata of an object.
    pub(super) async fn metadata(&self, path: &str) -> Result<Value, ApiFault> {
        self.send(Request::get(path).header(header::ACCEPT, METADATA), None).await
    }

    /// Merges into an object.
    pub(super) async fn merge(&self, path: &str, body: &Value) -> Result<Value, ApiFault> {
        let path = format!("{path}?fieldManager={}", self.writer);
        self.send(Request::patch(path).header(header::CONTENT_TYPE, MERGE), Some(body)).await
    }

    /// Makes an object.
    pub(super) async fn create(&self, path: &str, body: &Value) -> Result<Value, ApiFault> {
        let path = format!("{path}?fieldManager={}", self.writer);
        self.send(Request::post(path).header(header::CONTENT_TYPE, JSON), Some(body)).await
    }

    async fn send(&self, request: http::request::Builder, body: Option<&Value>) -> Result<Value, ApiFault> {
        let other = |what: &str| ApiFault::Other(what.to_owned());
        let body = body.map_or_else(Body::empty, |body| Body::from(body.to_string().into_bytes()));
        let request = request.body(body).map_err(|_| other("the request has no path"))?;
        let work = async {
            let answer = self.client.send(request).await.map_err(|_| other("the API server cannot be reached"))?;
            let status = answer.status();
            let bytes = answer.into_body().collect().await.map_err(|_| other("the answer broke off"))?.to_bytes();
            Ok((status, bytes))
        };
        let late = |_| other("the API server did not answer in time");
        let (status, bytes) = tokio::time::timeout(PATIENCE, work).await.map_err(late)??;
        let read = || serde_json::from_slice::<Value>(&bytes).map_err(|_| other("the answer is no JSON"));
        match status {
            StatusCode::CONFLICT => Err(ApiFault::Conflict),
            StatusCode::NOT_FOUND => Err(ApiFault::Absent),
            status if status.is_success() => read(),
            status => {
                let said = read().ok().and_then(|value| Some(value.get("message")?.as_str()?.to_owned()));
                Err(ApiFault::Other(format!(
                    "the API server answers {}: {}",
                    status.as_u16(),
                    said.unwrap_or_default()
                )))
            }
        }
    }
}
