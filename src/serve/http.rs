//! Connections and requests: bounded in number, size and time, so that nobody who is slow or large keeps others waiting.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use http::{Method, Request, Response, StatusCode, header};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::{Body as _, Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};
use tokio_rustls::TlsAcceptor;

use super::judge::Judge;
use super::log::Log;
use super::metrics::Metrics;
use super::review::{self, Request as Review};
use super::said::Said;
use super::tls::Certificate;
use crate::policy;
use crate::tree::{Value, json};

/// How long a handshake may take.
const HANDSHAKE: Duration = Duration::from_secs(5);
/// How long the head of a request may take, and with it how long a connection may rest.
const HEAD: Duration = Duration::from_secs(120);
/// How long a body may take.
const BODY: Duration = Duration::from_secs(10);
/// How long an answer may take where the caller does not say.
const ANSWER: Duration = Duration::from_secs(10);
/// Longest an API server waits.
const LONGEST: Duration = Duration::from_secs(30);
/// Most bytes of one review: an object has at most 3 MiB on each side, and JSON escapes some of them.
const LARGEST: usize = 16 * 1024 * 1024;
/// Most bytes of all bodies that are held at one time, in KiB.
const HELD: u32 = 64 * 1024;

/// What answers requests.
#[derive(Debug)]
pub(super) struct Desk {
    /// Judges reviews.
    pub(super) judge: Arc<Judge>,
    /// What connections are made with.
    certificate: Arc<Certificate>,
    /// What is counted.
    pub(super) metrics: Arc<Metrics>,
    /// What is written down.
    pub(super) log: Log,
    held: Arc<Semaphore>,
}

impl Desk {
    /// A desk for a judge.
    #[must_use]
    pub(super) fn new(judge: Arc<Judge>, certificate: Arc<Certificate>, metrics: Arc<Metrics>, log: Log) -> Self {
        Self { judge, certificate, metrics, log, held: Arc::new(Semaphore::new(HELD as usize)) }
    }

    /// Why it should not be asked yet; nothing where it can be.
    fn lacks(&self) -> Option<String> {
        self.judge.lacks().or_else(|| self.certificate.lacks())
    }
}

/// Takes connections until it is told to stop, then answers what is under way; `false` where that took longer than `drain`.
pub(super) async fn serve(
    listener: TcpListener,
    tls: TlsAcceptor,
    desk: Arc<Desk>,
    connections: usize,
    mut stop: watch::Receiver<bool>,
    drain: Duration,
) -> bool {
    let places = Arc::new(Semaphore::new(connections));
    let mut open = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = stop.wait_for(|stop| *stop) => break,
            Some(_) = open.join_next() => continue,
        };
        let Ok((stream, _)) = accepted else {
            // Without room for another file descriptor, asking again at once asks in vain.
            tokio::time::sleep(Duration::from_millis(20)).await;
            continue;
        };
        let Ok(place) = Arc::clone(&places).try_acquire_owned() else {
            desk.metrics.turned_away.fetch_add(1, Ordering::Relaxed);
            continue;
        };
        let (tls, desk, stop) = (tls.clone(), Arc::clone(&desk), stop.clone());
        open.spawn(async move {
            desk.metrics.connections.fetch_add(1, Ordering::Relaxed);
            connection(stream, tls, &desk, stop).await;
            desk.metrics.connections.fetch_sub(1, Ordering::Relaxed);
            drop(place);
        });
    }
    drop(listener);
    timeout(drain, async { while open.join_next().await.is_some() {} }).await.is_ok()
}

/// One connection from its handshake to its end.
async fn connection(stream: TcpStream, tls: TlsAcceptor, desk: &Arc<Desk>, mut stop: watch::Receiver<bool>) {
    // Answers are small and waited for.
    drop(stream.set_nodelay(true));
    let Ok(Ok(stream)) = timeout(HANDSHAKE, tls.accept(stream)).await else { return };
    let service = service_fn(|request| async { Ok::<_, Infallible>(answer(request, desk).await) });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD)
        .max_buf_size(64 * 1024)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = std::pin::pin!(connection);
    tokio::select! {
        // Whatever ends a connection is the other side's affair.
        _ = connection.as_mut() => return,
        _ = stop.wait_for(|stop| *stop) => connection.as_mut().graceful_shutdown(),
    }
    drop(connection.await);
}

type Out = Response<Full<Bytes>>;

/// Answers one request.
async fn answer(request: Request<Incoming>, desk: &Arc<Desk>) -> Out {
    let path = request.uri().path();
    let wanted = if path == "/validate" { Method::POST } else { Method::GET };
    if matches!(path, "/validate" | "/healthz" | "/readyz" | "/metrics") && *request.method() != wanted {
        return text(StatusCode::METHOD_NOT_ALLOWED, format!("only {wanted} is answered here"));
    }
    match path {
        "/validate" => validate(request, desk).await,
        "/healthz" => text(StatusCode::OK, "ok".to_owned()),
        "/readyz" => match desk.lacks() {
            None => text(StatusCode::OK, "ok".to_owned()),
            Some(why) => text(StatusCode::SERVICE_UNAVAILABLE, why),
        },
        "/metrics" => text(StatusCode::OK, desk.metrics.print(desk.judge.known(), desk.lacks().is_none())),
        _ => text(StatusCode::NOT_FOUND, "there are /validate, /healthz, /readyz and /metrics".to_owned()),
    }
}

/// Answers a review. Whatever goes wrong with it is no answer of ours, so that the API server does what its `failurePolicy` says.
async fn validate(request: Request<Incoming>, desk: &Arc<Desk>) -> Out {
    let start = Instant::now();
    let told = request.uri().query().unwrap_or_default().split('&').find_map(|pair| pair.strip_prefix("timeout="));
    let limit = told.and_then(|text| policy::duration(text).ok()).unwrap_or(ANSWER).min(LONGEST);
    let Read { bytes, share } = match body(request, desk).await {
        Ok(read) => read,
        Err((status, why)) => {
            desk.metrics.malformed.fetch_add(1, Ordering::Relaxed);
            return text(status, why.to_owned());
        }
    };
    let review = match review::parse(&bytes) {
        Ok(review) => review,
        Err(why) => {
            desk.metrics.malformed.fetch_add(1, Ordering::Relaxed);
            return text(StatusCode::BAD_REQUEST, why);
        }
    };
    drop(bytes);
    let flight = Flight::new(&desk.metrics);
    let about = about(&review);
    let uid = review.uid.clone();
    let (answer, said) = desk.judge.answer(review, start + limit).await;
    drop(flight);
    // What was read of it is as large as what was sent, and is gone only now.
    drop(share);
    let took = start.elapsed();
    let refused = answer.refusal.is_some();
    desk.metrics.count(said.why, refused, took);
    log(desk, about, &said, refused, took);
    json_body(review::print(&uid, &answer))
}

/// Counts a review that is under way.
struct Flight<'a>(&'a Metrics);

impl<'a> Flight<'a> {
    fn new(metrics: &'a Metrics) -> Self {
        metrics.in_flight.fetch_add(1, Ordering::Relaxed);
        Self(metrics)
    }
}

impl Drop for Flight<'_> {
    fn drop(&mut self) {
        self.0.in_flight.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A body that was read, with its share of what may be held.
struct Read {
    bytes: Bytes,
    share: tokio::sync::OwnedSemaphorePermit,
}

/// Reads a body, once there is room for it.
async fn body(request: Request<Incoming>, desk: &Arc<Desk>) -> Result<Read, (StatusCode, &'static str)> {
    let kind = request.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    if kind.split(';').next().map(str::trim) != Some("application/json") {
        return Err((StatusCode::UNSUPPORTED_MEDIA_TYPE, "only application/json is read"));
    }
    let told = request.body().size_hint().upper();
    let most = told.and_then(|bytes| usize::try_from(bytes).ok()).unwrap_or(LARGEST);
    if most > LARGEST {
        return Err((StatusCode::PAYLOAD_TOO_LARGE, "the body is larger than any review"));
    }
    let share = u32::try_from(most.div_ceil(1024)).unwrap_or(HELD).clamp(1, HELD);
    let room = Arc::clone(&desk.held).acquire_many_owned(share);
    let busy = (StatusCode::SERVICE_UNAVAILABLE, "too much is under way");
    let room = timeout(BODY, room).await.map_err(|_| busy)?.map_err(|_| busy)?;
    let read = timeout(BODY, Limited::new(request.into_body(), LARGEST).collect()).await;
    let slow = (StatusCode::REQUEST_TIMEOUT, "the body did not come in time");
    let broken = (StatusCode::BAD_REQUEST, "the body is larger than any review, or broke off");
    let bytes = read.map_err(|_| slow)?.map_err(|_| broken)?.to_bytes();
    Ok(Read { bytes, share: room })
}

/// What a line of the log says of a review: names, and no value.
fn about(review: &Review) -> Value {
    json!({
        "uid": review.uid,
        "operation": review.operation.word(),
        "resource": if review.part.is_empty() { review.resource.resource.clone() } else { format!("{}/{}", review.resource.resource, review.part) },
        "group": review.resource.group,
        "namespace": review.namespace,
        "name": review.name,
        "dryRun": review.dry_run,
    })
}

/// Writes down what was decided.
fn log(desk: &Desk, mut fields: Value, said: &Said, refused: bool, took: Duration) {
    fields["decision"] = json!(said.why.word());
    fields["refused"] = json!(refused);
    fields["effect"] = json!(said.effect.word());
    for (name, word) in [("gate", &said.gate), ("rule", &said.rule), ("digest", &said.digest)] {
        if !word.is_empty() {
            fields[name] = json!(word);
        }
    }
    fields["micros"] = json!(u64::try_from(took.as_micros()).unwrap_or(u64::MAX));
    desk.log.line("info", "review", fields);
}

fn text(status: StatusCode, text: String) -> Out {
    out(status, "text/plain; charset=utf-8", text.into_bytes())
}

fn json_body(bytes: Vec<u8>) -> Out {
    out(StatusCode::OK, "application/json", bytes)
}

fn out(status: StatusCode, kind: &'static str, bytes: Vec<u8>) -> Out {
    let mut response = Response::new(Full::new(Bytes::from(bytes)));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, header::HeaderValue::from_static(kind));
    response
}
