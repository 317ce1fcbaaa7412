//! One request to the API server, which changes nothing there: bounded by the deadline, tried again where a later try can
//! succeed, and never more certain than what was received. Nothing of a body reaches an error text, since a body may hold
//! secrets.

use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use http::{Method, Request, StatusCode, header};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use jiff::Timestamp;
use jiff::fmt::rfc2822::DateTimeParser;
use kube::Client;
use kube::client::Body;
use tokio::sync::Semaphore;
use tokio::time::Instant;

use crate::memory;
use crate::tree::Value;

/// So many requests are under way at one time.
const PARALLEL: usize = 8;
/// Most bytes of one answer, unpacked: a page of 500 objects has a few.
const LARGEST_ANSWER: usize = 64 * 1024 * 1024;
/// First pause before another try; doubled each time.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
/// Longest pause that is ours to choose.
const LONGEST_PAUSE: Duration = Duration::from_secs(4);
/// A try that takes longer than a third of the time that is left is given up and made again, within these bounds.
const PATIENCE: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(20));
/// Tries where the answer is broken, which waiting rarely mends.
const BROKEN_TRIES: u32 = 6;
/// Tries where nothing has ever answered: most likely the address is wrong.
const DEAF_TRIES: u32 = 4;

/// How the words for a 404 begin.
pub(super) const NOT_FOUND: &str = "not found (404)";

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum CallFault {
    /// 401: who we are is not known to the server.
    Unauthorized,
    /// 403, with the server's sentence.
    Forbidden(String),
    /// 404 in the API server's own words, with the name of what is not there.
    NotFound(String),
    /// 410: the list has to start anew.
    Gone,
    /// 400, 409 or 422 in the API server's own words: it understood, and will not.
    Refused {
        /// The status.
        code: u16,
        /// The server's sentence.
        message: String,
    },
    /// The deadline passed; what went wrong last.
    Deadline(String),
    /// Anything else.
    Other(String),
}

impl CallFault {
    /// The fault as a phrase.
    pub(super) fn why(&self) -> String {
        match self {
            Self::Unauthorized => "the API server does not accept the credentials (401)".to_owned(),
            Self::Forbidden(message) => format!("forbidden: {message}"),
            Self::NotFound(_) => format!("{NOT_FOUND}, though the API server says that it has it"),
            Self::Refused { code, message } => format!("the server answers {code}: {message}"),
            Self::Gone => "the list expired while it was read (410), again and again".to_owned(),
            Self::Deadline(last) if last.is_empty() => "the deadline passed".to_owned(),
            Self::Deadline(last) => format!("the deadline passed; last: {last}"),
            Self::Other(why) => why.clone(),
        }
    }
}

/// What is asked.
#[derive(Clone)]
pub(super) struct Ask<'a> {
    /// The verb.
    pub(super) method: Method,
    /// Path and query.
    pub(super) path: &'a str,
    /// Content type and content; `None` for a read.
    pub(super) body: Option<(&'static str, Vec<u8>)>,
    /// What the answer should be.
    pub(super) accept: &'a str,
}

/// Makes requests, all under one deadline.
pub(super) struct Caller {
    client: Client,
    deadline: Instant,
    permits: Semaphore,
    requests: AtomicU64,
    bytes: AtomicU64,
    /// Most bytes of all answers together.
    most: u64,
    /// Most bytes of one answer.
    largest: usize,
    answered: AtomicBool,
    /// Seconds by which the server's clock is ahead of ours, in the answer where the two are closest; the maximum where no
    /// answer had a date.
    skew: AtomicI64,
}

/// What one try brought.
enum Try<T> {
    Done(T),
    Never(CallFault),
    Again { why: String, after: Option<Duration>, broken: bool },
}

impl Caller {
    /// Requests by `client` until `deadline`.
    pub(super) fn new(client: Client, deadline: Instant) -> Self {
        Self {
            client,
            deadline,
            permits: Semaphore::new(PARALLEL),
            requests: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            most: memory::largest_input(),
            largest: LARGEST_ANSWER,
            answered: AtomicBool::new(false),
            skew: AtomicI64::new(i64::MAX),
        }
    }

    /// This caller with lower bounds of all bytes together, and of one answer.
    pub(super) fn with_most(self, most: u64, largest: usize) -> Self {
        Self { most: most.min(self.most), largest: largest.min(self.largest), ..self }
    }

    /// Seconds by which the server's clock is ahead of ours; `None` where it did not say.
    pub(super) fn skew(&self) -> Option<i64> {
        Some(self.skew.load(Ordering::Relaxed)).filter(|skew| *skew != i64::MAX)
    }

    /// Keeps the smallest difference between the clocks: an answer may have waited on its way.
    fn note_date(&self, date: &str) {
        let Ok(date) = DateTimeParser::new().parse_timestamp(date) else { return };
        let skew = date.as_second() - Timestamp::now().as_second();
        let closer = |known: i64| (skew.unsigned_abs() < known.unsigned_abs()).then_some(skew);
        // Where another answer was closer meanwhile, that one stays.
        let _: Result<i64, i64> = self.skew.fetch_update(Ordering::Relaxed, Ordering::Relaxed, closer);
    }

    /// Requests made and bytes received so far.
    pub(super) fn counts(&self) -> (u64, u64) {
        (self.requests.load(Ordering::Relaxed), self.bytes.load(Ordering::Relaxed))
    }

    /// The answer to a GET as JSON, read by `decode`; an answer that `decode` refuses is asked for again.
    pub(super) async fn get<T>(
        &self,
        path: &str,
        accept: &str,
        decode: impl FnMut(&[u8]) -> Result<T, String>,
    ) -> Result<T, CallFault> {
        self.send(&Ask { method: Method::GET, path, body: None, accept }, decode).await
    }

    /// The answer to any request, in the same way. What is sent must be safe to send twice.
    pub(super) async fn send<T>(
        &self,
        ask: &Ask<'_>,
        mut decode: impl FnMut(&[u8]) -> Result<T, String>,
    ) -> Result<T, CallFault> {
        let mut pause = FIRST_PAUSE;
        let mut tries = 0_u32;
        let mut last = String::new();
        let Ok(Ok(permit)) = tokio::time::timeout_at(self.deadline, self.permits.acquire()).await else {
            return Err(CallFault::Deadline(last));
        };
        loop {
            let third = (self.deadline - Instant::now()) / 3;
            let patience = self.deadline.min(Instant::now() + third.clamp(PATIENCE.0, PATIENCE.1));
            let attempt = match tokio::time::timeout_at(patience, self.attempt(ask, &mut decode)).await {
                Ok(attempt) => attempt,
                Err(_) => Try::Again { why: "no answer in time".to_owned(), after: None, broken: false },
            };
            let (why, after, broken) = match attempt {
                Try::Done(answer) => {
                    drop(permit);
                    return Ok(answer);
                }
                Try::Never(fault) => return Err(fault),
                Try::Again { why, after, broken } => (why, after, broken),
            };
            tries += 1;
            let deaf = !self.answered.load(Ordering::Relaxed) && tries >= DEAF_TRIES;
            if deaf || (broken && tries >= BROKEN_TRIES) {
                return Err(CallFault::Other(format!("{why} ({tries} tries)")));
            }
            last = why;
            let wake = Instant::now() + after.unwrap_or(pause);
            if wake >= self.deadline {
                return Err(CallFault::Deadline(last));
            }
            tokio::time::sleep_until(wake).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// One try.
    async fn attempt<T>(&self, ask: &Ask<'_>, mut decode: impl FnMut(&[u8]) -> Result<T, String>) -> Try<T> {
        let mut request = Request::builder().method(&ask.method).uri(ask.path).header(header::ACCEPT, ask.accept);
        let mut body = Body::empty();
        if let Some((content, bytes)) = &ask.body {
            request = request.header(header::CONTENT_TYPE, *content);
            body = Body::from(bytes.clone());
        }
        let request = match request.body(body) {
            Ok(request) => request,
            Err(error) => return Try::Never(CallFault::Other(format!("{} is not a path: {error}", ask.path))),
        };
        self.requests.fetch_add(1, Ordering::Relaxed);
        let response = match self.client.send(request).await {
            Ok(response) => response,
            Err(error) => return unsent(&error),
        };
        self.answered.store(true, Ordering::Relaxed);
        let status = response.status();
        let (after, kind) = (text(&response, &header::RETRY_AFTER), text(&response, &header::CONTENT_TYPE));
        let after = after.parse().ok().map(Duration::from_secs);
        self.note_date(&text(&response, &header::DATE));
        let body = match Limited::new(response.into_body(), self.largest).collect().await {
            Ok(body) => body.to_bytes(),
            Err(error) if error.is::<LengthLimitError>() => {
                let most = self.largest / (1024 * 1024);
                return Try::Never(CallFault::Other(format!("one answer is larger than {most} MiB, and was not read")));
            }
            Err(_) => return again("the connection broke inside an answer", true),
        };
        let weight = memory::weight(&body);
        let before = self.bytes.fetch_add(weight, Ordering::Relaxed);
        let most = self.most;
        if before + weight > most {
            return Try::Never(CallFault::Other(memory::too_large(most)));
        }
        if matches!(status, StatusCode::OK | StatusCode::CREATED) {
            if !kind.starts_with("application/json") {
                return again(&format!("the answer is {}, not JSON", named(&kind)), true);
            }
            return match decode(&body) {
                Ok(answer) => Try::Done(answer),
                Err(why) => again(&why, true),
            };
        }
        refusal(status, &kind, &body, after)
    }
}

/// A header as text.
fn text(response: &http::Response<Body>, name: &header::HeaderName) -> String {
    response.headers().get(name).and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned()
}

/// Another try, after our own pause.
fn again<T>(why: &str, broken: bool) -> Try<T> {
    Try::Again { why: why.to_owned(), after: None, broken }
}

/// A content type as a word.
fn named(kind: &str) -> String {
    let kind: String = kind.chars().filter(|c| !c.is_control()).take(60).collect();
    if kind.is_empty() { "of no type".to_owned() } else { kind }
}

/// What a status other than 200 and 201 means.
fn refusal<T>(status: StatusCode, kind: &str, body: &[u8], after: Option<Duration>) -> Try<T> {
    // Only a Status object is the API server's own word; anything else may come from something in between.
    let own: Option<Value> = kind
        .starts_with("application/json")
        .then(|| serde_json::from_slice(body).ok())
        .flatten()
        .filter(|value: &Value| value.get("kind").and_then(Value::as_str) == Some("Status"));
    let message = own.as_ref().and_then(|value| value.get("message")).and_then(Value::as_str).map(one_line);
    let absent = own.as_ref().filter(|value| value.get("reason").and_then(Value::as_str) == Some("NotFound"));
    let absent =
        absent.map(|value| value.pointer("/details/name").and_then(Value::as_str).unwrap_or_default().to_owned());
    match status.as_u16() {
        401 => Try::Never(CallFault::Unauthorized),
        403 => Try::Never(CallFault::Forbidden(message.unwrap_or_else(|| "the server gives no reason".to_owned()))),
        404 => match absent {
            Some(name) => Try::Never(CallFault::NotFound(name)),
            None => again(&format!("{NOT_FOUND}, and not in the API server's own words"), true),
        },
        410 => Try::Never(CallFault::Gone),
        code @ (400 | 409 | 422) if message.is_some() => {
            Try::Never(CallFault::Refused { code, message: message.unwrap_or_default() })
        }
        408 | 429 | 503 | 504 => Try::Again {
            why: format!("the API server is busy ({})", status.as_u16()),
            after,
            broken: after.is_none() && status.as_u16() != 429,
        },
        500..=599 => Try::Again { why: format!("the API server failed ({})", status.as_u16()), after, broken: true },
        300..=399 => Try::Never(CallFault::Other(format!(
            "the server answers with a redirect ({}), which is not followed; give the address of the API server itself",
            status.as_u16()
        ))),
        code => Try::Never(CallFault::Other(format!("the server answers {code}: {}", message.unwrap_or_default()))),
    }
}

/// What an error before any answer means.
fn unsent<T>(error: &kube::Error) -> Try<T> {
    if let Some(why) = certificate(error) {
        return Try::Never(CallFault::Other(format!(
            "the certificate of the API server is not accepted: {why}; check certificate-authority in the kubeconfig and the clock"
        )));
    }
    if matches!(error, kube::Error::Auth(_)) {
        return Try::Never(CallFault::Other("the credentials could not be renewed; log in again".to_owned()));
    }
    let chain = chain(error);
    let last = chain.last().map_or_else(String::new, ToString::to_string);
    again(&format!("no connection: {}", one_line(&last)), false)
}

/// The errors from the outermost to the cause.
fn chain(error: &kube::Error) -> Vec<&(dyn std::error::Error + 'static)> {
    let mut found: Vec<&(dyn std::error::Error + 'static)> = vec![error];
    while let Some(source) = found.last().and_then(|error| error.source()) {
        found.push(source);
    }
    found
}

/// The TLS error in the chain, which no later try can mend; input and output errors may carry it inside.
fn certificate(error: &kube::Error) -> Option<String> {
    chain(error).into_iter().find_map(|error| {
        let inner = error.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
        let tls = error
            .downcast_ref::<rustls::Error>()
            .or_else(|| inner.and_then(|inner| inner.downcast_ref::<rustls::Error>()))?;
        matches!(tls, rustls::Error::InvalidCertificate(_) | rustls::Error::NoCertificatesPresented)
            .then(|| one_line(&tls.to_string()))
    })
}

/// A sentence without line breaks and of bounded length.
pub(super) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(300).collect()
}
