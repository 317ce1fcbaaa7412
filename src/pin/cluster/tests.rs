//! The store in a cluster against an API server that keeps one object and minds its resourceVersion.

use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use super::*;
use crate::policy::StoreKind;
use crate::store::ClusterError;
use crate::tree::{Value, json};

/// What the API server holds, what it was asked, and how often somebody else writes in between.
#[derive(Default)]
struct Server {
    object: Option<Value>,
    version: u64,
    requests: Vec<String>,
    intruders: u64,
    forbidden: bool,
    /// The request at which the way to the server breaks, and whether that was done before it did.
    breaks: Option<(usize, bool)>,
}

impl Server {
    fn answer(&mut self, method: &str, body: &[u8]) -> (u16, Value) {
        self.requests.push(method.to_owned());
        let status = |code: u16, reason: &str| {
            let status = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "code": code,
                "message": format!("configmaps: {reason}"), "metadata": {}});
            (code, status)
        };
        if self.forbidden {
            return status(403, "Forbidden");
        }
        match method {
            "GET" => self.object.clone().map_or_else(|| status(404, "NotFound"), |object| (200, object)),
            _ => {
                let mut new: Value = serde_json::from_slice(body).expect("a ConfigMap");
                if self.intruders > 0 {
                    self.intruders -= 1;
                    self.version += 1;
                    let mut other = self.object.clone().unwrap_or_else(|| new.clone());
                    other["metadata"]["resourceVersion"] = json!(self.version.to_string());
                    self.object = Some(other);
                }
                let held = self.object.as_ref().map(|object| object["metadata"]["resourceVersion"].clone());
                if method == "POST" && held.is_some() {
                    return status(409, "AlreadyExists");
                }
                if method == "PUT" && held.as_ref() != new.pointer("/metadata/resourceVersion") {
                    return status(409, "Conflict");
                }
                self.version += 1;
                new["metadata"]["resourceVersion"] = json!(self.version.to_string());
                self.object = Some(new.clone());
                (200, new)
            }
        }
    }
}

async fn serve(listener: TcpListener, server: Arc<Mutex<Server>>) {
    while let Ok((connection, _)) = listener.accept().await {
        tokio::spawn(one(connection, Arc::clone(&server)));
    }
}

/// Answers one request and closes the connection.
async fn one(mut connection: TcpStream, server: Arc<Mutex<Server>>) {
    let mut bytes = Vec::new();
    let mut piece = [0; 4096];
    let (head, length) = loop {
        let read = connection.read(&mut piece).await.unwrap_or(0);
        bytes.extend_from_slice(&piece[..read]);
        let text = String::from_utf8_lossy(&bytes).to_lowercase();
        if let Some(end) = text.find("\r\n\r\n") {
            let length = text.lines().find_map(|line| line.strip_prefix("content-length: ")?.trim().parse().ok());
            break (end + 4, length.unwrap_or(0));
        }
        if read == 0 {
            return;
        }
    };
    while bytes.len() < head + length {
        let read = connection.read(&mut piece).await.unwrap_or(0);
        bytes.extend_from_slice(&piece[..read]);
    }
    let method =
        String::from_utf8_lossy(&bytes[..bytes.iter().position(|byte| *byte == b' ').unwrap_or(0)]).into_owned();
    let (code, value) = {
        let mut server = server.lock().expect("no panic");
        let breaks = server.breaks.filter(|(request, _)| *request == server.requests.len() + 1);
        if let Some((_, false)) = breaks {
            server.requests.push(method);
            return;
        }
        let answer = server.answer(&method, &bytes[head..]);
        if breaks.is_some() {
            return;
        }
        answer
    };
    let body = value.to_string();
    let answer = format!(
        "HTTP/1.1 {code} X\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    drop(connection.write_all(answer.as_bytes()).await);
}

async fn store(server: Server) -> (ClusterStore, Arc<Mutex<Server>>) {
    store_of(StoreKind::ConfigMap, server).await
}

async fn store_of(kind: StoreKind, server: Server) -> (ClusterStore, Arc<Mutex<Server>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let server = Arc::new(Mutex::new(server));
    tokio::spawn(serve(listener, Arc::clone(&server)));
    // Another test may have installed it already.
    drop(rustls::crypto::ring::default_provider().install_default());
    let mut config = kube::Config::new(format!("http://{address}").parse().expect("a URL"));
    // As the program has it: what is tried again is tried by the store.
    config.default_retry = false;
    let client = Client::try_from(config).expect("a client");
    (ClusterStore::new(client, kind, "capo", "rollgate-pins"), server)
}

fn pin(name: &str, value: &str) -> Pin {
    let pin = json!({"name": name, "value": value, "source": "env X", "time": "2026-11-21T10:00:00Z"});
    crate::tree::from_value(pin).expect("a pin")
}

#[tokio::test]
async fn the_first_pin_makes_the_configmap_and_the_next_one_joins_it() {
    let (store, server) = store(Server::default()).await;
    assert_eq!(store.read().await.expect("readable").pins(), []);
    store.update(|book| book.record(&[pin("vip", "10.0.3.7")])).await.expect("written");
    store.update(|book| book.record(&[pin("fip", "1.2.3.4")])).await.expect("written");
    store.update(|book| book.record(&[pin("fip", "1.2.3.4")])).await.expect("nothing to write");
    let server = server.lock().expect("no panic");
    assert_eq!(server.requests, ["GET", "GET", "POST", "GET", "PUT", "GET"]);
    let object = server.object.as_ref().expect("an object");
    assert_eq!(object["metadata"]["name"], "rollgate-pins");
    assert_eq!(object["metadata"]["labels"]["app.kubernetes.io/managed-by"], "rollgate");
    let keys: Vec<&crate::tree::Text> = object["data"].as_object().expect("data").keys().collect();
    assert_eq!(keys, [".history", "fip", "vip"]);
    let book = from_object::<Book>(object, StoreKind::ConfigMap).expect("pins");
    assert_eq!(book.get("vip").map(|pin| pin.value.as_str()), Some("10.0.3.7"));
    assert_eq!(book.history().len(), 2);
}

#[tokio::test]
async fn a_run_that_came_second_looks_again() {
    let (store, server) = store(Server { intruders: 1, ..Server::default() }).await;
    store.update(|book| book.record(&[pin("vip", "10.0.3.7")])).await.expect("the intruder wrote the same");
    assert_eq!(server.lock().expect("no panic").requests, ["GET", "POST", "GET"]);
}

#[tokio::test]
async fn a_pin_of_another_value_survives_the_race() {
    let held = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "rollgate-pins", "resourceVersion": "0"},
        "data": {"fip": serde_json::to_string(&pin("fip", "1.2.3.4")).expect("json")}});
    let (store, server) = store(Server { intruders: 2, object: Some(held), ..Server::default() }).await;
    store.update(|book| book.record(&[pin("vip", "10.0.3.7")])).await.expect("written at the third attempt");
    let server = server.lock().expect("no panic");
    assert_eq!(server.requests, ["GET", "PUT", "GET", "PUT", "GET", "PUT"]);
    assert_eq!(
        from_object::<Book>(server.object.as_ref().expect("an object"), StoreKind::ConfigMap)
            .expect("pins")
            .pins()
            .len(),
        2
    );
}

#[tokio::test]
async fn a_pin_that_another_run_wrote_is_never_overwritten() {
    let (store, server) = store(Server::default()).await;
    store.update(|book| book.record(&[pin("vip", "10.0.3.7")])).await.expect("written");
    let error = store.update(|book| book.record(&[pin("vip", "10.0.9.9")])).await.expect_err("it moved");
    assert!(matches!(error, ClusterError::Kept(BookError::Moved { .. })), "{error}");
    let object = server.lock().expect("no panic").object.clone().expect("an object");
    assert_eq!(
        from_object::<Book>(&object, StoreKind::ConfigMap).expect("pins").get("vip").map(|pin| pin.value.clone()),
        Some("10.0.3.7".to_owned())
    );
}

#[tokio::test]
async fn others_that_never_stop_writing_win() {
    let (store, _server) = store(Server {
        intruders: 1000,
        object: Some(json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "rollgate-pins", "resourceVersion": "0"}})),
        ..Server::default()
    })
    .await;
    let error = store.update(|book| book.record(&[pin("vip", "10.0.3.7")])).await.expect_err("busy").to_string();
    assert_eq!(error, "pins in ConfigMap capo/rollgate-pins: others wrote it 120 times in between; run again");
}

#[tokio::test]
async fn a_missing_right_is_named() {
    let (store, _server) = store(Server { forbidden: true, ..Server::default() }).await;
    let error = store.read().await.expect_err("forbidden").to_string();
    assert!(
        error.contains("cannot read it") && error.ends_with("resources: [\"configmaps\"], verbs: [\"get\"]}"),
        "{error}"
    );
}

#[test]
fn what_is_not_a_pin_is_never_taken_for_unpinned() {
    for (key, text) in
        [("vip", "10.0.3.7"), ("fip", r#"{"name":"vip","value":"1","source":"s","time":"2026-11-21T10:00:00Z"}"#)]
    {
        let object = json!({"metadata": {"name": "p", "namespace": "n"}, "data": {key: text}});
        let error = from_object::<Book>(&object, StoreKind::ConfigMap).expect_err(key).to_string();
        assert!(error.starts_with(&format!("ConfigMap n/p, key {key}:")), "{error}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn one_hundred_writers_agree_on_one_value_and_lose_nothing() {
    let (store, _server) = store(Server::default()).await;
    let mut writers = Vec::new();
    for number in 0..100 {
        let store = store.clone();
        writers.push(tokio::spawn(async move {
            let own = pin(&format!("own{number}"), "1");
            store.update(|book| book.record(std::slice::from_ref(&own))).await.expect("its own pin is in nobody's way");
            let value = format!("10.0.{number}.7");
            let vip = pin("vip", &value);
            (value, store.update(|book| book.record(std::slice::from_ref(&vip))).await)
        }));
    }
    let mut answers = Vec::new();
    for writer in writers {
        answers.push(writer.await.expect("no panic"));
    }
    let book = store.read().await.expect("readable");
    let winner = book.get("vip").expect("pinned").value.clone();
    assert_eq!(book.pins().len(), 101, "no writer lost the pin of another");
    for (value, answer) in answers {
        match answer {
            Ok(added) => assert!(added && value == winner),
            Err(error) => assert!(value != winner && error.to_string().contains(&winner), "{error}"),
        }
    }
}

#[tokio::test]
async fn a_secret_holds_pins_as_a_configmap_does() {
    let (store, server) = store_of(StoreKind::Secret, Server::default()).await;
    store.update(|book| book.record(&[pin("vip", "10.0.3.7")])).await.expect("written");
    store.update(|book| book.record(&[pin("fip", "1.2.3.4")])).await.expect("written");
    let object = server.lock().expect("no panic").object.clone().expect("an object");
    assert_eq!(object["kind"], "Secret");
    assert!(!object.to_string().contains("10.0.3.7"), "{object}");
    assert_eq!(from_object::<Book>(&object, StoreKind::Secret).expect("pins").pins().len(), 2);
    let broken = json!({"metadata": {"name": "p", "namespace": "n"}, "data": {"vip": "%%%"}});
    let error = from_object::<Book>(&broken, StoreKind::Secret).expect_err("no base64").to_string();
    assert!(error.starts_with("Secret n/p, key vip:"), "{error}");
}

#[tokio::test]
async fn pins_move_with_the_cluster_and_nobody_prunes_them() {
    let held = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "rollgate-pins", "resourceVersion": "0",
        "annotations": {"helm.sh/resource-policy": "delete", "mine": "x"}}});
    for (held, policy) in [(None, "keep"), (Some(held), "delete")] {
        let (store, server) = store(Server { object: held, ..Server::default() }).await;
        store.update(|book| book.record(&[pin("vip", "10.0.3.7")])).await.expect("written");
        let metadata = server.lock().expect("no panic").object.clone().expect("an object")["metadata"].clone();
        assert_eq!(metadata["labels"]["clusterctl.cluster.x-k8s.io/move"], "");
        assert_eq!(metadata["annotations"]["kustomize.toolkit.fluxcd.io/prune"], "disabled");
        assert_eq!(metadata["annotations"]["argocd.argoproj.io/sync-options"], "Prune=false");
        assert_eq!(metadata["annotations"]["helm.sh/resource-policy"], policy, "what somebody has set stays");
    }
}

/// A run that ends anywhere between its first request and its last answer: the API server has the old pins or the new ones.
#[tokio::test]
async fn a_run_that_breaks_at_any_request_leaves_the_old_pins_or_the_new_ones() {
    let held = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "rollgate-pins", "resourceVersion": "0"},
        "data": {"old": serde_json::to_string(&pin("old", "1")).expect("json")}});
    for held in [None, Some(held)] {
        for breaks in [(1, false), (1, true), (2, false), (2, true)] {
            let is_there = held.is_some();
            let (store, server) =
                store(Server { object: held.clone(), breaks: Some(breaks), ..Server::default() }).await;
            store.update(|book| book.record(&[pin("vip", "10.0.3.7")])).await.expect_err("the way broke");
            let object = server.lock().expect("no panic").object.clone();
            let book = object.map(|object| from_object::<Book>(&object, StoreKind::ConfigMap).expect("pins"));
            let book = book.unwrap_or_default();
            assert_eq!(book.get("vip").is_some(), breaks == (2, true), "{breaks:?}");
            assert_eq!(book.get("old").is_some(), is_there, "{breaks:?}");
            // The next run finds the one or the other, and both end in the same.
            store.update(|book| book.record(&[pin("vip", "10.0.3.7")])).await.expect("nobody is in the way");
            let book = store.read().await.expect("readable");
            assert_eq!((book.pins().len(), book.history().len()), (1 + usize::from(is_there), 1), "{breaks:?}");
        }
    }
}
