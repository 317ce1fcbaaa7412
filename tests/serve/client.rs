//! The side of the API server: connections that stay open, and reviews as it sends them.

use std::net::SocketAddr;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::server::beside;

/// One connection.
pub(crate) struct Connection {
    pub(crate) stream: TlsStream<TcpStream>,
    rest: Vec<u8>,
}

/// What came back.
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) body: Vec<u8>,
}

impl Response {
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The answer to a review.
    pub(crate) fn review(&self) -> Value {
        assert_eq!(self.status, 200, "{}", self.text());
        serde_json::from_slice::<Value>(&self.body).expect("JSON")["response"].clone()
    }

    /// Whether it lets a write go on.
    pub(crate) fn allows(&self) -> bool {
        self.status == 200 && self.review()["allowed"] == true
    }
}

/// A client that knows the authority of the tests, in these versions of TLS.
pub(crate) fn connector(versions: &[&'static rustls::SupportedProtocolVersion]) -> TlsConnector {
    knowing(&std::fs::read(beside("serve/authority.pem")).expect("a file"), versions)
}

/// A client that knows these authorities, in PEM.
pub(crate) fn knowing(bundle: &[u8], versions: &[&'static rustls::SupportedProtocolVersion]) -> TlsConnector {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut roots = RootCertStore::empty();
    for authority in CertificateDer::pem_slice_iter(bundle) {
        roots.add(authority.expect("a certificate")).expect("an authority");
    }
    let builder = ClientConfig::builder_with_provider(provider).with_protocol_versions(versions).expect("versions");
    TlsConnector::from(Arc::new(builder.with_root_certificates(roots).with_no_client_auth()))
}

impl Connection {
    pub(crate) async fn open(address: SocketAddr) -> std::io::Result<Self> {
        Self::open_with(address, &connector(&[&rustls::version::TLS13])).await
    }

    /// One of a client that knows other authorities.
    pub(crate) async fn open_with(address: SocketAddr, connector: &TlsConnector) -> std::io::Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        let name = ServerName::try_from("localhost").expect("a name");
        let stream = connector.connect(name, stream).await?;
        Ok(Self { stream, rest: Vec::new() })
    }

    /// The certificate that the server showed.
    pub(crate) fn certificate(&self) -> Vec<u8> {
        let (_, session) = self.stream.get_ref();
        session.peer_certificates().and_then(|chain| chain.first()).expect("a certificate").to_vec()
    }

    pub(crate) async fn get(&mut self, path: &str) -> std::io::Result<Response> {
        self.send(format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n").as_bytes()).await?;
        self.receive().await
    }

    pub(crate) async fn post(&mut self, body: &[u8]) -> std::io::Result<Response> {
        self.post_to("/validate?timeout=10s", body).await
    }

    pub(crate) async fn post_to(&mut self, path: &str, body: &[u8]) -> std::io::Result<Response> {
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        let mut whole = head.into_bytes();
        whole.extend_from_slice(body);
        self.send(&whole).await?;
        self.receive().await
    }

    pub(crate) async fn send(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.stream.write_all(bytes).await?;
        self.stream.flush().await
    }

    pub(crate) async fn receive(&mut self) -> std::io::Result<Response> {
        let broken = || std::io::Error::other("the answer is not whole");
        loop {
            if let Some(at) = self.rest.windows(4).position(|window| window == b"\r\n\r\n") {
                let head = String::from_utf8_lossy(&self.rest[..at]).to_ascii_lowercase();
                let status = head.split(' ').nth(1).and_then(|code| code.parse().ok()).ok_or_else(broken)?;
                let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
                let length: usize = length.and_then(|length| length.parse().ok()).unwrap_or_default();
                while self.rest.len() < at + 4 + length {
                    self.more().await?;
                }
                let body = self.rest[at + 4..at + 4 + length].to_vec();
                self.rest.drain(..at + 4 + length);
                return Ok(Response { status, body });
            }
            self.more().await?;
        }
    }

    async fn more(&mut self) -> std::io::Result<()> {
        let mut bytes = [0; 16 * 1024];
        match self.stream.read(&mut bytes).await? {
            0 => Err(std::io::ErrorKind::UnexpectedEof.into()),
            read => {
                self.rest.extend_from_slice(&bytes[..read]);
                Ok(())
            }
        }
    }
}

/// A review of an update of an object of the group `cluster.x-k8s.io`.
pub(crate) fn update(before: &Value, after: &Value) -> Value {
    let text = |pointer: &str| before.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let (group, version) = text("/apiVersion").split_once('/').unwrap_or_default();
    let kind = text("/kind");
    json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {
        "uid": "705ab4f5-6393-11e8-b7cc-42010a800002",
        "kind": {"group": group, "version": version, "kind": kind},
        "resource": {"group": group, "version": version, "resource": format!("{}s", kind.to_ascii_lowercase())},
        "name": text("/metadata/name"), "namespace": text("/metadata/namespace"), "operation": "UPDATE",
        "userInfo": {"username": "system:serviceaccount:flux-system:helm-controller", "groups": ["system:authenticated"]},
        "options": {"apiVersion": "meta.k8s.io/v1", "kind": "PatchOptions", "fieldManager": "helm-controller"},
        "dryRun": false, "oldObject": before, "object": after
    }})
}

/// A MachineDeployment of the cluster of most tests, or of another one.
pub(crate) fn workers(name: &str) -> Value {
    let labels =
        json!({"cluster.x-k8s.io/cluster-name": name, "cluster.x-k8s.io/deployment-name": format!("{name}-md0")});
    json!({"apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "MachineDeployment",
        "metadata": {"name": format!("{name}-md0"), "namespace": name},
        "spec": {"clusterName": name, "replicas": 2, "selector": {"matchLabels": labels}, "template": {
            "metadata": {"labels": labels},
            "spec": {"clusterName": name, "version": "v1.31.5+rke2r1", "nodeDrainTimeout": "5m0s",
                "bootstrap": {"configRef": {"apiVersion": "bootstrap.cluster.x-k8s.io/v1beta1", "kind": "RKE2ConfigTemplate",
                    "name": format!("{name}-md0-0a41ce7790")}},
                "infrastructureRef": {"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "OpenStackMachineTemplate",
                    "name": format!("{name}-md0-93b1d0ee5c")}}}}})
}

/// A write that replaces Machines.
pub(crate) fn rolling(name: &str) -> Vec<u8> {
    let before = workers(name);
    let mut after = before.clone();
    after["spec"]["template"]["spec"]["version"] = json!("v1.32.1+rke2r1");
    update(&before, &after).to_string().into_bytes()
}

/// A write that reaches no Machine.
pub(crate) fn harmless(name: &str) -> Vec<u8> {
    let before = workers(name);
    let mut after = before.clone();
    after["metadata"]["labels"] = json!({"team": "edge"});
    update(&before, &after).to_string().into_bytes()
}
