//! What goes wrong around a review never lets a write through that would be held.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::client::{Connection, connector, harmless, rolling, update, workers};
use crate::server::{Server, certify, live, program};

const ENFORCE: [&str; 2] = ["--mode", "enforce"];

async fn open(server: &Server) -> Connection {
    Connection::open(server.address).await.expect("a connection")
}

#[tokio::test]
async fn a_write_is_answered_over_one_connection_again_and_again() {
    let server = Server::start(&live(), &ENFORCE);
    let mut connection = open(&server).await;
    assert_eq!(connection.get("/healthz").await.expect("an answer").status, 200);
    assert_eq!(connection.get("/readyz").await.expect("an answer").status, 200);
    for _ in 0..3 {
        let held = connection.post(&rolling("edge-1")).await.expect("an answer").review();
        assert_eq!((&held["allowed"], &held["status"]["code"]), (&json!(false), &json!(403)), "{held}");
        let message = held["status"]["message"].as_str().expect("a message");
        assert!(message.contains("spec.template.spec.version") && message.contains("next: "), "{message}");
        assert_eq!(held["auditAnnotations"]["decision"], "hold", "{held}");
        assert!(connection.post(&harmless("edge-1")).await.expect("an answer").allows());
    }
    let metrics = connection.get("/metrics").await.expect("an answer").text();
    assert!(metrics.contains("rollgate_reviews_total{decision=\"hold\",refused=\"true\"} 3"), "{metrics}");
    let line = server.says("decision", "hold");
    assert_eq!((&line["name"], &line["refused"]), (&json!("edge-1-md0"), &json!(true)), "{line}");
}

#[tokio::test]
async fn who_observes_warns_and_holds_nothing() {
    let server = Server::start(&live(), &[]);
    let answer = open(&server).await.post(&rolling("edge-1")).await.expect("an answer").review();
    assert_eq!(answer["allowed"], true, "{answer}");
    let warning = answer["warnings"][0].as_str().expect("a warning");
    assert!(warning.starts_with("rollgate would hold this: replaces 2 Machines: MachineDeployment "), "{warning}");
    assert!(warning.chars().count() <= 256, "{warning}");
    let more: Vec<&str> =
        answer["warnings"].as_array().expect("warnings")[1..].iter().filter_map(Value::as_str).collect();
    assert!(more[0].starts_with("next: ") && more[1].starts_with("digest sha256:"), "{more:?}");
}

#[tokio::test]
async fn what_is_no_review_gets_no_answer_that_an_api_server_takes_for_one() {
    let server = Server::start(&live(), &ENFORCE);
    let mut connection = open(&server).await;
    let whole: Value = serde_json::from_slice(&rolling("edge-1")).expect("JSON");
    let cut = rolling("edge-1");
    let mut bodies: Vec<Vec<u8>> =
        vec![Vec::new(), b"{}".to_vec(), b"null".to_vec(), b"\xff\xfe".to_vec(), b"[".repeat(100_000)];
    bodies.extend((1..40).map(|part| cut[..cut.len() * part / 40].to_vec()));
    for key in ["uid", "kind", "operation", "object", "oldObject", "resource"] {
        let mut lacks = whole.clone();
        lacks["request"].as_object_mut().expect("a map").shift_remove(key);
        bodies.push(lacks.to_string().into_bytes());
        lacks["request"][key] = json!(7);
        bodies.push(lacks.to_string().into_bytes());
    }
    for body in &bodies {
        let response = connection.post(body).await.expect("an answer");
        assert_eq!(response.status, 400, "{}", String::from_utf8_lossy(&body[..body.len().min(120)]));
    }
    connection.send(b"POST /validate HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\n{}").await.expect("sent");
    assert_eq!(connection.receive().await.expect("an answer").status, 415);
    assert_eq!(connection.get("/validate").await.expect("an answer").status, 405);
    assert_eq!(connection.get("/other").await.expect("an answer").status, 404);
    assert!(!connection.post(&rolling("edge-1")).await.expect("an answer").allows(), "it goes on to judge");
}

/// A write that replaces Machines, of an object of three MiB on both sides together.
fn large() -> Vec<u8> {
    let mut before = workers("edge-1");
    before["metadata"]["annotations"] = json!({"large": "x".repeat(3 * 1024 * 1024 / 2)});
    let mut after = before.clone();
    after["spec"]["template"]["spec"]["version"] = json!("v1.32.1+rke2r1");
    update(&before, &after).to_string().into_bytes()
}

#[tokio::test]
async fn a_review_of_three_mebibytes_is_judged_and_a_larger_one_than_any_is_refused() {
    let server = Server::start(&live(), &ENFORCE);
    let mut connection = open(&server).await;
    let body = large();
    assert!(body.len() > 3 * 1024 * 1024);
    assert!(!connection.post(&body).await.expect("an answer").allows());
    connection
        .send(
            b"POST /validate HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 99999999\r\n\r\n",
        )
        .await
        .expect("sent");
    assert_eq!(connection.receive().await.expect("an answer").status, 413);
}

#[tokio::test]
async fn who_is_slow_keeps_nobody_waiting() {
    let server = Server::start(&live(), &["--mode", "enforce", "--connections", "20"]);
    // Some never say hello, some never end their head, some never end their body.
    let mut kept = Vec::new();
    for _ in 0..5 {
        kept.push(TcpStream::connect(server.address).await.expect("a connection"));
    }
    let mut slow = Vec::new();
    for text in [
        "POST /val",
        "POST /validate HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 900\r\n\r\n{",
    ] {
        for _ in 0..5 {
            let mut connection = open(&server).await;
            connection.send(text.as_bytes()).await.expect("sent");
            slow.push(connection);
        }
    }
    let quick = async { open(&server).await.post(&rolling("edge-1")).await };
    let answer = timeout(Duration::from_secs(10), quick).await.expect("nobody waits").expect("an answer");
    assert!(!answer.allows());
    // A body that does not come is given up, and the connection with it.
    let last = slow.last_mut().expect("a connection");
    let given_up = timeout(Duration::from_secs(30), last.receive()).await.expect("it is given up");
    assert!(given_up.is_err() || given_up.is_ok_and(|response| response.status == 408));
}

#[tokio::test]
async fn older_tls_is_not_spoken() {
    let server = Server::start(&live(), &[]);
    let stream = TcpStream::connect(server.address).await.expect("a connection");
    let name = rustls::pki_types::ServerName::try_from("localhost").expect("a name");
    connector(&[&rustls::version::TLS12]).connect(name, stream).await.expect_err("it is refused");
}

#[tokio::test]
async fn another_certificate_is_taken_without_a_connection_being_dropped() {
    let server = Server::start(&live(), &ENFORCE);
    let mut old = open(&server).await;
    let before = old.certificate();
    let mut writers = JoinSet::new();
    for _ in 0..4 {
        let mut connection = open(&server).await;
        writers.spawn(async move {
            for _ in 0..60 {
                assert!(!connection.post(&rolling("edge-1")).await.expect("no connection is dropped").allows());
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        });
    }
    // Half of it: the key of another certificate.
    std::fs::copy(crate::server::beside("serve/second.key"), server.folder.path().join("tls.key")).expect("a copy");
    server.says("msg", "the certificate cannot be renewed; the old one stays");
    assert_eq!(open(&server).await.certificate(), before);
    certify(server.folder.path(), "second");
    server.says("msg", "another certificate is in use");
    assert_ne!(open(&server).await.certificate(), before);
    assert!(!old.post(&rolling("edge-1")).await.expect("it still stands").allows());
    while let Some(done) = writers.join_next().await {
        done.expect("every review was answered");
    }
}

#[tokio::test]
async fn a_signal_under_load_ends_it_when_all_are_answered() {
    let mut server = Server::start(&live(), &ENFORCE);
    let mut writers = JoinSet::new();
    for _ in 0..8 {
        let mut connection = open(&server).await;
        writers.spawn(async move {
            let (mut held, mut cut) = (0_u32, 0_u32);
            // What was sent before the end is answered, or the connection was closed between two reviews.
            while cut == 0 {
                match connection.post(&rolling("edge-1")).await {
                    Ok(response) => {
                        assert!(!response.allows());
                        held += 1;
                    }
                    Err(_) => cut += 1,
                }
            }
            held
        });
    }
    let held = || server.log().iter().filter(|line| line["decision"] == "hold").count();
    let end = tokio::time::Instant::now() + Duration::from_secs(30);
    while held() <= 16 {
        assert!(tokio::time::Instant::now() < end, "{} reviews", held());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    server.signal("TERM");
    let mut all = 0;
    while let Some(held) = writers.join_next().await {
        all += held.expect("no wrong answer");
    }
    assert!(all > 8, "{all} reviews");
    let status = server.ends();
    assert_eq!(status.code(), Some(0));
    let counted = server.log().iter().filter(|line| line["decision"] == "hold").count();
    assert!(counted >= all as usize, "{counted} lines for {all} reviews");
    assert_eq!(server.log().last().expect("a line")["msg"], "ended");
    TcpStream::connect(server.address).await.expect_err("nobody listens any more");
}

/// A Pod has so much memory and no more. Where it ends the server ends, and no write that is under way is let through by that.
#[tokio::test(flavor = "multi_thread")]
async fn where_memory_ends_no_write_passes() {
    let mut command = program();
    // Memory is asked of the kernel when it is needed and not before, so that the limit is met.
    command.arg("--live").arg(live()).args(ENFORCE).env("MIMALLOC_DISALLOW_ARENA_ALLOC", "1");
    let mut server = Server::run(command);
    assert!(!open(&server).await.post(&rolling("edge-1")).await.expect("an answer").allows());
    let mut connections = Vec::new();
    for _ in 0..24 {
        connections.push(open(&server).await);
    }
    server.limit(40 * 1024 * 1024);
    let (body, mut writers) = (std::sync::Arc::new(large()), JoinSet::new());
    for mut connection in connections {
        let body = std::sync::Arc::clone(&body);
        writers.spawn(async move {
            let mut held = 0_u32;
            while let Ok(answer) = connection.post(&body).await {
                assert!(!answer.allows(), "a wrong allow: {}", answer.text());
                held += 1;
            }
            held
        });
    }
    let status = server.ends();
    let mut held = 0;
    while let Some(done) = writers.join_next().await {
        held += done.expect("no wrong answer");
    }
    assert!(!status.success(), "it says that it did not end by itself: {status}");
    println!("{held} reviews of 3 MiB held until memory ended, no wrong allow");
}
