//! A proxy in front of the API server that breaks requests. It speaks just enough HTTP/1.1 for a client that sends GETs,
//! and asks for small pages so that every list has a middle.

use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use http::{Request, header};
use kube::Client;
use kube::client::Body;
use kube::config::{KubeConfigOptions, Kubeconfig};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};

/// Ways to break an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Fault {
    Status(u16),
    /// 404 as a web server gives it, not the API server.
    ForeignNotFound,
    /// 429 or 503 with a time to wait.
    RetryAfter(u16),
    /// 410 on every page but the first.
    GoneInTheMiddle,
    Reset,
    SlowBody,
    Truncated,
    /// A chunked answer that ends before its last chunk, as a watch does.
    ChunkCut,
    WrongType,
    NotAList,
    Redirect,
    /// A right answer of a server whose clock is so many days ahead; no fault of the table.
    Clock(i32),
    /// Every watch has expired, by its status and by an event in turn; a read has none, so this is no fault of the table either.
    WatchExpired,
}

impl Fault {
    pub(crate) const ALL: [Self; 17] = [
        Self::Status(401),
        Self::Status(403),
        Self::Status(404),
        Self::ForeignNotFound,
        Self::GoneInTheMiddle,
        Self::Status(429),
        Self::RetryAfter(429),
        Self::Status(500),
        Self::Status(503),
        Self::RetryAfter(503),
        Self::Reset,
        Self::SlowBody,
        Self::Truncated,
        Self::ChunkCut,
        Self::WrongType,
        Self::NotAList,
        Self::Redirect,
    ];

    /// Whether the next try can bring the right answer.
    pub(crate) fn passes(self) -> bool {
        !matches!(self, Self::Status(401 | 403 | 404) | Self::Redirect)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Status(code) => write!(f, "{code}"),
            Self::ForeignNotFound => f.write_str("404 in HTML"),
            Self::RetryAfter(code) => write!(f, "{code} with Retry-After"),
            Self::GoneInTheMiddle => f.write_str("410 inside a list"),
            Self::Reset => f.write_str("reset"),
            Self::SlowBody => f.write_str("slow body"),
            Self::Truncated => f.write_str("truncated JSON"),
            Self::ChunkCut => f.write_str("stream cut short"),
            Self::WrongType => f.write_str("wrong content type"),
            Self::NotAList => f.write_str("JSON of another kind"),
            Self::Redirect => f.write_str("redirect"),
            Self::Clock(days) => write!(f, "clock {days} days ahead"),
            Self::WatchExpired => f.write_str("410 for each watch"),
        }
    }
}

/// What is broken, and how often.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    pub(crate) fault: Fault,
    /// The read, as [`class`] names it; empty for all of them.
    pub(crate) class: String,
    /// So many requests are broken, then none.
    pub(crate) times: usize,
}

/// A running proxy.
pub(crate) struct Proxy {
    pub(crate) kubeconfig: PathBuf,
    state: Arc<State>,
    port: u16,
    accept: Mutex<tokio::task::JoinHandle<()>>,
}

struct State {
    client: Client,
    plan: Option<Mutex<Plan>>,
    seen: Mutex<BTreeSet<String>>,
    /// Whether a paged list was begun anew after a fault in its middle.
    hits: Mutex<usize>,
}

impl Proxy {
    /// Starts a proxy to the cluster of `kubeconfig`; its own kubeconfig lies in `out`.
    pub(crate) async fn start(kubeconfig: &Path, out: &Path, plan: Option<Plan>) -> Self {
        drop(rustls::crypto::ring::default_provider().install_default());
        let config = Kubeconfig::read_from(kubeconfig).expect("a kubeconfig");
        let config = kube::Config::from_custom_kubeconfig(config, &KubeConfigOptions::default()).await.expect("a way");
        let client = Client::try_from(config).expect("a client");
        let state = Arc::new(State {
            client,
            plan: plan.map(Mutex::new),
            seen: Mutex::new(BTreeSet::new()),
            hits: Mutex::new(0),
        });
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let kubeconfig = out.join(format!("proxy-{port}.json"));
        let text = serde_json::json!({"apiVersion": "v1", "kind": "Config", "current-context": "p",
            "contexts": [{"name": "p", "context": {"cluster": "p", "user": "p"}}], "users": [{"name": "p", "user": {}}],
            "clusters": [{"name": "p", "cluster": {"server": format!("http://127.0.0.1:{port}")}}]});
        std::fs::write(&kubeconfig, text.to_string()).expect("a file");
        let accept = tokio::spawn(serve(listener, Arc::clone(&state)));
        Self { kubeconfig, state, port, accept: Mutex::new(accept) }
    }

    /// The reads that came through.
    pub(crate) fn seen(&self) -> BTreeSet<String> {
        self.state.seen.lock().expect("no panic").clone()
    }

    /// How many answers were broken.
    pub(crate) fn hits(&self) -> usize {
        *self.state.hits.lock().expect("no panic")
    }

    /// Closes the port for a while, as an API server that is started anew does.
    pub(crate) async fn restart(&self, away: Duration) {
        self.accept.lock().expect("no panic").abort();
        tokio::time::sleep(away).await;
        let listener = loop {
            match TcpListener::bind(("127.0.0.1", self.port)).await {
                Ok(listener) => break listener,
                Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
            }
        };
        *self.accept.lock().expect("no panic") = tokio::spawn(serve(listener, Arc::clone(&self.state)));
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.accept.lock().expect("no panic").abort();
        drop(std::fs::remove_file(&self.kubeconfig));
    }
}

/// The name of a read: its verb and what it asks for, whatever the object is called.
pub(crate) fn class(target: &str) -> String {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
    match parts.as_slice() {
        ["apis"] => "list of groups".to_owned(),
        ["apis", "clusterctl.cluster.x-k8s.io", _] => "kinds of the provider inventory".to_owned(),
        ["apis", group, version] => format!("kinds of {group}/{version}"),
        ["api", version] => format!("kinds of {version}"),
        [.., "namespaces", _, kind] | ["apis", _, _, kind] => {
            let labelled = if query.contains("labelSelector") { " by label" } else { "" };
            format!("list {kind}{labelled}")
        }
        [.., "namespaces", _, kind, _] => format!("get {kind}"),
        _ => path.to_owned(),
    }
}

async fn serve(listener: TcpListener, state: Arc<State>) {
    let mut open = tokio::task::JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        let state = Arc::clone(&state);
        open.spawn(async move { drop(connection(stream, &state).await) });
    }
}

/// One request and its answer; each connection carries one.
async fn connection(stream: TcpStream, state: &State) -> std::io::Result<()> {
    let mut stream = BufReader::new(stream);
    let mut line = String::new();
    stream.read_line(&mut line).await?;
    let target = line.split_whitespace().nth(1).unwrap_or_default().to_owned();
    if target.is_empty() {
        return Ok(());
    }
    let mut accept = "application/json".to_owned();
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line).await? <= 2 {
            break;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("accept:") {
            accept = line[line.len() - value.len()..].trim().to_owned();
        }
    }
    state.seen.lock().expect("no panic").insert(class(&target));
    let fault = state.take(&target);
    if fault == Some(Fault::WatchExpired) {
        return expired(stream.into_inner(), state.hits.lock().map_or(0, |hits| *hits)).await;
    }
    let small = target.replace("limit=500", "limit=3").replace("limit=0", "");
    let request = Request::get(small).header(header::ACCEPT, accept).body(Body::empty()).expect("a request");
    let (status, kind, body) = match state.client.send(request).await {
        Ok(answer) => {
            let status = answer.status().as_u16();
            let kind = answer.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
            let kind = kind.unwrap_or_default().to_owned();
            (status, kind, answer.into_body().collect_bytes().await.map(|body| body.to_vec()).unwrap_or_default())
        }
        Err(_) => (502, "text/plain".to_owned(), Vec::new()),
    };
    answer(stream.into_inner(), fault, status, &kind, &body).await
}

impl State {
    /// The fault for a request, if it is its turn.
    fn take(&self, target: &str) -> Option<Fault> {
        let mut plan = self.plan.as_ref()?.lock().expect("no panic");
        let middle = target.contains("continue=");
        let other = !plan.class.is_empty() && class(target) != plan.class;
        let is_watch = target.contains("watch=true");
        if plan.times == 0
            || other
            || (plan.fault == Fault::GoneInTheMiddle && !middle)
            || (plan.fault == Fault::WatchExpired && !is_watch)
        {
            return None;
        }
        plan.times -= 1;
        *self.hits.lock().expect("no panic") += 1;
        Some(plan.fault)
    }
}

/// Writes an answer, broken or not.
async fn answer(
    mut stream: TcpStream,
    fault: Option<Fault>,
    status: u16,
    kind: &str,
    body: &[u8],
) -> std::io::Result<()> {
    let json = "application/json";
    match fault {
        None => whole(&mut stream, status, kind, "", body).await,
        Some(Fault::Status(code)) => whole(&mut stream, code, json, "", &status_object(code)).await,
        Some(Fault::RetryAfter(code)) => {
            whole(&mut stream, code, json, "Retry-After: 1\r\n", &status_object(code)).await
        }
        Some(Fault::Clock(days)) => {
            let date = jiff::Timestamp::now() + jiff::SignedDuration::from_hours(24 * i64::from(days));
            let date = jiff::fmt::rfc2822::DateTimePrinter::new().timestamp_to_rfc9110_string(&date).expect("a date");
            whole(&mut stream, status, kind, &format!("Date: {date}\r\n"), body).await
        }
        // It was answered before anything was asked.
        Some(Fault::WatchExpired) => Ok(()),
        Some(Fault::GoneInTheMiddle) => whole(&mut stream, 410, json, "", &status_object(410)).await,
        Some(Fault::ForeignNotFound) => whole(&mut stream, 404, "text/html", "", b"<h1>not here</h1>").await,
        Some(Fault::WrongType) => whole(&mut stream, status, "text/html", "", b"<h1>please log in</h1>").await,
        Some(Fault::NotAList) => whole(&mut stream, 200, json, "", br#"{"kind":"Status","status":"Success"}"#).await,
        Some(Fault::Truncated) => whole(&mut stream, status, kind, "", &body[..body.len() / 2]).await,
        Some(Fault::Redirect) => {
            whole(&mut stream, 302, "text/html", "Location: http://127.0.0.1:1/login\r\n", b"").await
        }
        Some(Fault::Reset) => {
            stream.set_zero_linger()?;
            Ok(())
        }
        Some(Fault::ChunkCut) => {
            let head = format!("HTTP/1.1 200 OK\r\nContent-Type: {json}\r\nTransfer-Encoding: chunked\r\n\r\n");
            stream.write_all(head.as_bytes()).await?;
            let half = &body[..body.len() / 2];
            stream.write_all(format!("{:x}\r\n", half.len()).as_bytes()).await?;
            stream.write_all(half).await?;
            stream.write_all(b"\r\n").await?;
            stream.shutdown().await
        }
        Some(Fault::SlowBody) => {
            let head = format!("HTTP/1.1 200 OK\r\nContent-Type: {json}\r\nContent-Length: {}\r\n\r\n", body.len());
            stream.write_all(head.as_bytes()).await?;
            for byte in body {
                stream.write_all(&[*byte]).await?;
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
            Ok(())
        }
    }
}

/// The end of a watch from a state that is not kept any more.
async fn expired(mut stream: TcpStream, number: usize) -> std::io::Result<()> {
    let gone = status_object(410);
    if number.is_multiple_of(2) {
        return whole(&mut stream, 410, "application/json", "", &gone).await;
    }
    let gone: serde_json::Value = serde_json::from_slice(&gone).expect("JSON");
    let event = format!("{}\n", serde_json::json!({"type": "ERROR", "object": gone}));
    whole(&mut stream, 200, "application/json", "", event.as_bytes()).await
}

/// A whole answer.
async fn whole(stream: &mut TcpStream, status: u16, kind: &str, more: &str, body: &[u8]) -> std::io::Result<()> {
    let head = format!(
        "HTTP/1.1 {status} X\r\nContent-Type: {kind}\r\n{more}Content-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(body).await?;
    stream.shutdown().await?;
    // The client closes first; what it still sends is of no interest.
    drop(stream.read(&mut [0; 16]).await);
    Ok(())
}

/// A refusal as the API server writes it.
fn status_object(code: u16) -> Vec<u8> {
    let reason = match code {
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "NotFound",
        410 => "Expired",
        429 => "TooManyRequests",
        503 => "ServiceUnavailable",
        _ => "InternalError",
    };
    serde_json::json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "code": code,
        "message": format!("made by the proxy: {reason}")})
    .to_string()
    .into_bytes()
}
