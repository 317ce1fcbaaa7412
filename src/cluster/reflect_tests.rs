//! What is told of a kind while its API server lists, watches, forgets and goes away.

use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use super::*;
use crate::cluster::connect::Way;

/// What is told of some lines, and what came of them.
fn told(lines: &[&str]) -> (Vec<String>, String, Vec<Option<CallFault>>) {
    let said = Mutex::new(Vec::new());
    let mut version = "1".to_owned();
    let tell = |news: News| {
        said.lock().expect("no panic").push(match news {
            News::Is(object) => format!("is {}", object.key.name),
            News::Gone(key) => format!("gone {}", key.name),
            other => format!("{other:?}"),
        });
    };
    let watched = Watched::config_maps("a");
    let came = lines.iter().map(|line| heard(line.as_bytes(), &watched, &mut version, &tell).err()).collect::<Vec<_>>();
    (said.into_inner().expect("no panic"), version, came)
}

#[test]
fn events_are_taken_in_and_the_state_moves_along() {
    let object = |kind: &str, version: &str| {
        format!(r#"{{"type":"{kind}","object":{{"metadata":{{"name":"a","resourceVersion":"{version}"}}}}}}"#)
    };
    let lines = [object("ADDED", "2"), object("MODIFIED", "3"), object("DELETED", "4"), String::new()];
    let bookmark = r#"{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"9"}}}"#;
    let mut all: Vec<&str> = lines.iter().map(String::as_str).collect();
    all.push(bookmark);
    let (said, version, came) = told(&all);
    assert_eq!(said, ["is a", "is a", "gone a"]);
    assert_eq!(version, "9");
    assert!(came.iter().all(Option::is_none), "{came:?}");
}

#[test]
fn what_expired_or_cannot_be_read_begins_with_a_list() {
    let lines = [
        r#"{"type":"ERROR","object":{"kind":"Status","code":410}}"#,
        "{",
        r#"{"type":"ADDED","object":{"metadata":{"name":"a"}}}"#,
        r#"{"type":"ODD","object":{"metadata":{"name":"a","resourceVersion":"2"}}}"#,
    ];
    let (said, version, came) = told(&lines);
    assert!(said.is_empty(), "{said:?}");
    assert_eq!(version, "1");
    assert!(came.iter().all(|fault| *fault == Some(CallFault::Gone)), "{came:?}");
}

/// An API server that gives these answers one after the other, and the last one again and again; with what it was asked.
async fn cluster(answers: Vec<String>) -> (Cluster, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let asked = Arc::new(Mutex::new(Vec::new()));
    let list = Arc::clone(&asked);
    tokio::spawn(async move {
        let mut number = 0;
        while let Ok((mut connection, _)) = listener.accept().await {
            let mut bytes = [0; 4096];
            let read = connection.read(&mut bytes).await.unwrap_or(0);
            let text = String::from_utf8_lossy(&bytes[..read]).lines().next().unwrap_or_default().to_owned();
            list.lock().expect("no panic").push(text);
            let answer = answers.get(number).or(answers.last()).cloned().unwrap_or_default();
            number += 1;
            drop(connection.write_all(answer.as_bytes()).await);
        }
    });
    // Another test may have installed it already.
    drop(rustls::crypto::ring::default_provider().install_default());
    let config = kube::Config::new(format!("http://{address}").parse().expect("a URL"));
    let way = Way {
        client: Client::try_from(config).expect("a client"),
        namespace: "default".to_owned(),
        names_namespace: false,
        name: "test".to_owned(),
        server: String::new(),
        authorities: Vec::new(),
    };
    (Cluster { way }, asked)
}

/// An answer that is whole, after which the connection closes.
fn whole(status: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
    )
}

fn listed(name: &str, version: &str) -> String {
    let item = format!(r#"{{"metadata":{{"name":"{name}","namespace":"n","resourceVersion":"1"}}}}"#);
    let body = format!(
        r#"{{"kind":"ConfigMapList","apiVersion":"v1","metadata":{{"resourceVersion":"{version}"}},"items":[{item}]}}"#
    );
    whole("200 OK", &body)
}

fn event(kind: &str, name: &str, version: &str) -> String {
    format!(
        "{{\"type\":\"{kind}\",\"object\":{{\"metadata\":{{\"name\":\"{name}\",\"namespace\":\"n\",\"resourceVersion\":\"{version}\"}}}}}}\n"
    )
}

/// Everything that is told until so much was.
async fn heard_of(cluster: &Cluster, most: usize) -> Vec<String> {
    let said = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&said);
    let tell = move |news: News| {
        kept.lock().expect("no panic").push(match news {
            News::All(objects) => {
                format!("all {}", objects.iter().map(|one| one.key.name.as_str()).collect::<String>())
            }
            News::Is(object) => format!("is {}", object.key.name),
            News::Gone(key) => format!("gone {}", key.name),
            News::Current => "current".to_owned(),
            News::Lost(_) => "lost".to_owned(),
        });
    };
    let watched = Watched::config_maps("a");
    let enough = async {
        while said.lock().expect("no panic").len() < most {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::select! {
        () = cluster.reflect(&watched, &tell) => {}
        () = enough => {}
        () = tokio::time::sleep(Duration::from_secs(20)) => {}
    }
    let mut said = said.lock().expect("no panic").clone();
    said.truncate(most);
    said
}

#[tokio::test]
async fn a_watch_that_expired_is_begun_anew_with_a_list() {
    let gone = r#"{"type":"ERROR","object":{"kind":"Status","code":410}}"#;
    let (cluster, asked) = cluster(vec![
        listed("a", "5"),
        whole("410 Gone", "{}"),
        listed("b", "7"),
        whole("200 OK", &(event("MODIFIED", "b", "8") + gone + "\n")),
        listed("c", "9"),
        whole("200 OK", &event("DELETED", "c", "10")),
        whole("200 OK", &event("ADDED", "d", "11")),
    ])
    .await;
    let said = heard_of(&cluster, 10).await;
    let wanted = ["all a", "lost", "all b", "is b", "current", "lost", "all c", "gone c", "current", "is d"];
    assert_eq!(said, wanted, "a watch is current once it has told something");
    let asked = asked.lock().expect("no panic").clone();
    let versions: Vec<&str> =
        asked.iter().filter_map(|line| line.split("resourceVersion=").nth(1)?.split('&').next()).collect();
    assert_eq!(&versions[..4], ["5", "7", "9", "10"], "{asked:?}");
    assert!(asked[0].contains("fieldSelector=metadata.name%3Da&limit="), "{asked:?}");
}

#[tokio::test]
async fn a_server_that_goes_away_is_told_of_and_asked_again() {
    let (cluster, _) = cluster(vec![
        listed("a", "5"),
        whole("200 OK", &event("MODIFIED", "a", "6")),
        whole("500 Internal Server Error", "{}"),
        whole("200 OK", &event("MODIFIED", "a", "7")),
    ])
    .await;
    let said = heard_of(&cluster, 6).await;
    assert_eq!(said, ["all a", "is a", "current", "lost", "is a", "current"]);
}

#[tokio::test]
async fn a_watch_that_ends_at_once_is_never_current() {
    let (cluster, _) = cluster(vec![
        listed("a", "5"),
        whole("200 OK", ""),
        whole("200 OK", "{\"type\":\"ERROR\",\"object\":{\"code\":500}}\n"),
        whole("200 OK", ""),
    ])
    .await;
    assert_eq!(heard_of(&cluster, 4).await, ["all a", "lost", "lost", "lost"]);
}
