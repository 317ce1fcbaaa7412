//! Watches the objects that late values come from, so that a value is heard of when it comes. What a watch says is only that there may be
//! something new: it is read as always. Where the API server allows no watch, it is asked again and again instead.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use http::{Request, StatusCode};
use http_body_util::BodyExt as _;
use kube::Client;
use kube::client::Body;
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::call::Caller;
use super::discover::{Catalogue, Served};
use super::list::escaped;
use crate::cluster::plan::{ObjectRead, Use};

/// How long the API server keeps one watch open; then it is asked for the next one.
const OPEN: Duration = Duration::from_secs(240);
/// A watch that ends sooner, twice in a row, is none.
const SHORT: Duration = Duration::from_secs(1);

/// Watches of some objects; they end with this.
#[derive(Debug)]
pub struct Watches {
    news: Arc<Notify>,
    /// How many are open.
    open: Arc<AtomicUsize>,
    /// How many there should be.
    wanted: usize,
    tasks: JoinSet<()>,
}

impl Watches {
    /// Watches what is read, until this is dropped.
    pub(super) fn of(client: &Client, reads: &[ObjectRead]) -> Self {
        let (news, open) = (Arc::new(Notify::new()), Arc::new(AtomicUsize::new(0)));
        let mut tasks = JoinSet::new();
        for read in reads {
            tasks.spawn(watch(client.clone(), read.clone(), Arc::clone(&news), Arc::clone(&open)));
        }
        Self { news, open, wanted: reads.len(), tasks }
    }

    /// Ends when one of them may have changed.
    pub async fn changed(&self) {
        self.news.notified().await;
    }

    /// Whether each of them is watched now.
    #[must_use]
    pub fn are_open(&self) -> bool {
        self.open.load(Ordering::SeqCst) == self.wanted
    }
}

impl Drop for Watches {
    fn drop(&mut self) {
        self.tasks.abort_all();
    }
}

/// Counts a watch that is open.
struct Open(Arc<AtomicUsize>);

impl Open {
    fn new(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::SeqCst);
        Self(Arc::clone(count))
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Watches one object, or those with some labels, as long as the API server lets it.
async fn watch(client: Client, read: ObjectRead, news: Arc<Notify>, open: Arc<AtomicUsize>) {
    let Some(path) = path(&client, &read).await else { return };
    let mut short = 0;
    while short < 2 {
        let start = Instant::now();
        let Ok(request) = Request::get(&path).body(Body::empty()) else { return };
        let Ok(response) = client.send(request).await else { return };
        if response.status() != StatusCode::OK {
            return;
        }
        let counted = Open::new(&open);
        let mut body = response.into_body();
        // The events themselves are of no interest: they may hold secrets, and what counts is read.
        while let Some(Ok(frame)) = body.frame().await {
            if frame.data_ref().is_some_and(|data| !data.is_empty()) {
                news.notify_one();
            }
        }
        drop(counted);
        // What happened between two watches was seen by none.
        news.notify_one();
        short = if start.elapsed() < SHORT { short + 1 } else { 0 };
    }
}

/// Path and query of the watch; `None` where there is nothing to watch.
async fn path(client: &Client, read: &ObjectRead) -> Option<String> {
    let caller = Caller::new(client.clone(), Instant::now() + OPEN);
    let wanted = std::iter::once((read.kind.clone(), read.version.clone())).collect();
    let catalogue = Catalogue::read(&caller, &wanted).await.ok()?;
    let resource = match catalogue.find(&read.kind, read.version.as_deref()) {
        Ok(Served::As(resource) | Served::Otherwise(resource)) => resource,
        Ok(Served::Absent) | Err(_) => return None,
    };
    let which = match &read.used {
        Use::Late(_, _, Some(selector)) => format!("labelSelector={}", escaped(selector)),
        _ => format!("fieldSelector=metadata.name%3D{}", escaped(&read.name)),
    };
    // Without a resourceVersion the API server tells first what is there, then what changes.
    let path = resource.path(read.namespace.as_deref());
    Some(format!("{path}?watch=true&{which}&timeoutSeconds={}", OPEN.as_secs()))
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    use super::*;
    use crate::cluster::plan::GroupKind;

    /// A server that answers each request with this head, and after a while with a piece of a body.
    async fn client(head: &'static str) -> (Client, Arc<std::sync::Mutex<Vec<String>>>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let asked = Arc::new(std::sync::Mutex::new(Vec::new()));
        let list = Arc::clone(&asked);
        tokio::spawn(async move {
            while let Ok((mut connection, _)) = listener.accept().await {
                let mut bytes = [0; 4096];
                let read = connection.read(&mut bytes).await.unwrap_or(0);
                let text = String::from_utf8_lossy(&bytes[..read]).lines().next().unwrap_or_default().to_owned();
                list.lock().expect("no panic").push(text);
                drop(connection.write_all(head.as_bytes()).await);
                tokio::time::sleep(Duration::from_millis(100)).await;
                drop(connection.write_all(b"4\r\n{}\r\n\r\n").await);
                // The watch stays open.
                tokio::spawn(async move {
                    tokio::time::sleep(Duration::from_secs(30)).await;
                    drop(connection);
                });
            }
        });
        // Another test may have installed it already.
        drop(rustls::crypto::ring::default_provider().install_default());
        let config = kube::Config::new(format!("http://{address}").parse().expect("a URL"));
        (Client::try_from(config).expect("a client"), asked)
    }

    fn read(selector: Option<&str>) -> ObjectRead {
        ObjectRead {
            kind: GroupKind::new("", "ConfigMap"),
            version: Some("v1".to_owned()),
            namespace: Some("capo".to_owned()),
            name: "resources".to_owned(),
            used: Use::Late("vip".to_owned(), 0, selector.map(str::to_owned)),
        }
    }

    #[tokio::test]
    async fn a_change_is_heard_of_and_nothing_is_asked_meanwhile() {
        let (client, asked) = client("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n").await;
        let watches = Watches::of(&client, &[read(None)]);
        tokio::time::timeout(Duration::from_secs(20), watches.changed()).await.expect("it is heard of");
        assert!(watches.are_open());
        assert_eq!(
            *asked.lock().expect("no panic"),
            [
                "GET /api/v1/namespaces/capo/configmaps?watch=true&fieldSelector=metadata.name%3Dresources&timeoutSeconds=240 HTTP/1.1"
            ]
        );
        let watches = Watches::of(&client, &[read(Some("app=vip,tier!=test"))]);
        tokio::time::timeout(Duration::from_secs(20), watches.changed()).await.expect("it is heard of");
        let last = asked.lock().expect("no panic").pop().expect("a request");
        assert!(last.contains("&labelSelector=app%3Dvip%2Ctier%21%3Dtest&"), "{last}");
    }

    #[tokio::test]
    async fn where_no_watch_is_allowed_it_is_asked_again_and_again() {
        let (client, _) = client("HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n").await;
        let watches = Watches::of(&client, &[read(None)]);
        tokio::time::timeout(Duration::from_millis(300), watches.changed()).await.expect_err("nothing is heard");
        assert!(!watches.are_open());
    }
}
