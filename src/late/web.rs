//! Asks web servers: for a text, or only whether something is still there. Redirections are not followed, and no address that was asked
//! stands in an error, since it may hold a password.

use std::path::Path;
use std::time::Duration;

use futures_util::AsyncReadExt as _;
use http::{Method, Request, StatusCode, Uri, header};
use kube::client::Body;

use super::local::{MOST_DOCUMENT, read_file, text};

/// Longest time for an answer, where nothing is said.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);

/// What is asked, and how its server is known.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Address<'a> {
    /// The address, with `http` or `https`.
    pub url: &'a str,
    /// A file with the certificates of the authorities that the server is known by; those of this machine where none is said.
    pub ca: Option<&'a str>,
    /// Where that file lies, if its name is no whole path.
    pub folder: &'a Path,
    /// Longest time for the answer.
    pub limit: Duration,
}

impl Address<'_> {
    fn client(&self) -> Result<(kube::Client, Uri), String> {
        let uri: Uri = self.url.parse().map_err(|_| "its address cannot be read".to_owned())?;
        let mut base = http::uri::Parts::default();
        (base.scheme, base.authority) = (uri.scheme().cloned(), uri.authority().cloned());
        base.path_and_query = Some(http::uri::PathAndQuery::from_static("/"));
        let base = Uri::from_parts(base).map_err(|_| "its address cannot be read".to_owned())?;
        let mut config = kube::Config::new(base);
        if let Some(file) = self.ca {
            let pem =
                read_file(&self.folder.join(file), MOST_DOCUMENT)?.ok_or_else(|| format!("there is no file {file}"))?;
            config.root_cert = Some(certificates(&pem).ok_or_else(|| format!("{file} holds no certificates in PEM"))?);
        }
        let client = kube::Client::try_from(config);
        Ok((client.map_err(|_| "it cannot be asked: its certificates cannot be used".to_owned())?, uri))
    }

    /// The text that stands there; `None` where the server says that there is nothing (404).
    pub(super) async fn get(&self, most: u64) -> Result<Option<String>, String> {
        self.bytes(most).await?.map(|bytes| text(bytes, most)).transpose()
    }

    /// What stands there, and of what is larger than `most` bytes one more than these; `None` where the server says that there is
    /// nothing (404).
    ///
    /// # Errors
    /// When it gives another answer than a success, or none in time.
    pub(crate) async fn bytes(&self, most: u64) -> Result<Option<Vec<u8>>, String> {
        let (client, uri) = self.client()?;
        let request = Request::get(path(&uri)).body(Vec::new()).map_err(|_| "its address cannot be read".to_owned())?;
        let work = async {
            let body = match client.request_stream(request).await {
                Ok(body) => body,
                Err(kube::Error::Api(status)) if status.code == 404 => return Ok(None),
                Err(kube::Error::Api(status)) => return Err(format!("it answers {}", status.code)),
                Err(_) => return Err("it cannot be reached, or its certificate is not trusted".to_owned()),
            };
            let mut bytes = Vec::new();
            std::pin::pin!(body.take(most + 1)).read_to_end(&mut bytes).await.map_err(|error| error.to_string())?;
            Ok(Some(bytes))
        };
        self.in_time(work).await
    }

    /// Sends JSON there.
    ///
    /// # Errors
    /// When it gives another answer than a success, or none in time.
    #[cfg(feature = "serve")]
    pub(crate) async fn post(&self, body: Vec<u8>) -> Result<(), String> {
        let (client, uri) = self.client()?;
        let request = Request::post(path(&uri)).header(header::CONTENT_TYPE, "application/json").body(Body::from(body));
        let request = request.map_err(|_| "its address cannot be read".to_owned())?;
        let work = async {
            let answer = client.send(request).await.map_err(|_| "it cannot be reached".to_owned())?;
            let status = answer.status();
            if status.is_success() { Ok(()) } else { Err(format!("it answers {}", status.as_u16())) }
        };
        self.in_time(work).await
    }

    /// Whether something stands there. Only the head is asked for; where a server answers none (as for addresses that are signed for
    /// reading), the first byte.
    ///
    /// # Errors
    /// When nobody can say: another answer than a success, 404 or 410, or none in time.
    pub(crate) async fn is_there(&self) -> Result<bool, String> {
        let (client, uri) = self.client()?;
        let ask = async |method: Method| {
            let request = Request::builder().method(method).uri(path(&uri)).header(header::RANGE, "bytes=0-0");
            let request = request.body(Body::empty()).map_err(|_| "its address cannot be read".to_owned())?;
            let answer = client.send(request).await;
            answer
                .map(|answer| answer.status())
                .map_err(|_| "it cannot be reached, or its certificate is not trusted".to_owned())
        };
        let work = async {
            let head = ask(Method::HEAD).await?;
            let answer = match known(head) {
                Some(true) => return Ok(true),
                // Some servers answer no head of what is there.
                _ if head.is_client_error() || head == StatusCode::NOT_IMPLEMENTED => ask(Method::GET).await?,
                _ => head,
            };
            match known(answer) {
                Some(answer) => Ok(answer),
                None if answer.is_redirection() => {
                    Err(format!("it answers {}, and redirections are not followed", answer.as_u16()))
                }
                None => Err(format!("it answers {}", answer.as_u16())),
            }
        };
        self.in_time(work).await
    }

    async fn in_time<T>(&self, work: impl Future<Output = Result<T, String>>) -> Result<T, String> {
        let answer = tokio::time::timeout(self.limit, work).await;
        answer.map_err(|_| format!("it did not answer within {} seconds", self.limit.as_secs()))?
    }
}

fn path(uri: &Uri) -> &str {
    uri.path_and_query().map_or("/", http::uri::PathAndQuery::as_str)
}

/// What an answer says of whether something is there.
fn known(status: StatusCode) -> Option<bool> {
    match status {
        StatusCode::NOT_FOUND | StatusCode::GONE => Some(false),
        // An empty file has no first byte.
        StatusCode::RANGE_NOT_SATISFIABLE => Some(true),
        status => status.is_success().then_some(true),
    }
}

/// The certificates of a PEM file, in DER.
fn certificates(pem: &str) -> Option<Vec<Vec<u8>>> {
    use base64::Engine as _;
    let (begin, end) = ("-----BEGIN CERTIFICATE-----", "-----END CERTIFICATE-----");
    let blocks = pem.split(begin).skip(1).map(|block| {
        let letters: String = block.split(end).next()?.split_ascii_whitespace().collect();
        base64::engine::general_purpose::STANDARD.decode(letters).ok()
    });
    blocks.collect::<Option<Vec<_>>>().filter(|list| !list.is_empty())
}
