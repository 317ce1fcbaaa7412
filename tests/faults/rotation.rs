//! Certificates that the server makes itself, while a real API server asks without a pause: two replicas share one Secret, another
//! certificate comes into use again and again, and no review goes unanswered and no connection breaks.

use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::bench::{Bench, NAMESPACE, own};
use crate::serve::client::{Connection, knowing};
use crate::serve::server::{Server, program};
use crate::serve::{rolling, until};

/// So long is a certificate valid: another one comes every 20 seconds.
const LIFE: &str = "30s";
/// So many certificates have to come one after the other.
const ROUNDS: u64 = 3;

fn kubectl(bench: &Bench, args: &[&str]) -> Output {
    let mut command = Command::new(bench.bin.join("kubectl"));
    command.args(args).env("KUBECONFIG", &bench.kubeconfig).output().expect("kubectl runs")
}

/// What `serve manifests` prints, applied but for the configuration, which leads to two servers beside the cluster.
fn install(bench: &Bench) -> Vec<Value> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rollgate"));
    command.args([
        "serve",
        "manifests",
        "--image",
        "r.example.org/r:v1",
        "--mode",
        "enforce",
        "--failure-policy",
        "fail",
    ]);
    let printed = command.output().expect("rollgate runs");
    assert!(printed.status.success(), "{printed:?}");
    let file = bench.out.join("manifests.yaml");
    std::fs::write(&file, printed.stdout).expect("a file");
    let read =
        Command::new(env!("CARGO_BIN_EXE_rollgate")).args(["debug", "yaml"]).arg(&file).output().expect("it runs");
    let objects = String::from_utf8(read.stdout).expect("text");
    let mut objects: Vec<Value> = objects.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let hooks = objects.pop().expect("the configuration");
    bench.create("serve", &objects);
    hooks["webhooks"].as_array().expect("webhooks").clone()
}

/// A kubeconfig with the rights that are installed, and no others.
fn kubeconfig(bench: &Bench) -> PathBuf {
    let config = kubectl(bench, &["config", "view", "--raw", "-o", "json"]).stdout;
    let mut config: Value = serde_json::from_slice(&config).expect("JSON");
    config["users"][0]["user"]["as"] = json!("system:serviceaccount:rollgate-system:rollgate");
    config["users"][0]["user"]["as-groups"] = json!(["system:authenticated"]);
    let file = bench.out.join("serve.kubeconfig");
    std::fs::write(&file, config.to_string()).expect("a file");
    file
}

fn replica(kubeconfig: &PathBuf) -> Server {
    let mut command = program();
    command.args([
        "--mode",
        "enforce",
        "--tls-secret",
        "rollgate-system/rollgate-tls",
        "--tls-configuration",
        "rollgate",
    ]);
    command.args(["--tls-name", "localhost", "--tls-name", "127.0.0.1", "--tls-life", LIFE]);
    command.env("KUBECONFIG", kubeconfig);
    Server::launch(command, tempfile::tempdir().expect("a folder"))
}

/// What the API server has been told of each webhook.
fn bundles(bench: &Bench) -> Vec<Vec<u8>> {
    let read = kubectl(bench, &["get", "validatingwebhookconfiguration", "rollgate", "-o", "json"]).stdout;
    let read: Value = serde_json::from_slice(&read).expect("JSON");
    let of = |hook: &Value| {
        hook["clientConfig"]["caBundle"].as_str().map(|text| BASE64_STANDARD.decode(text).expect("base64"))
    };
    read["webhooks"].as_array().expect("webhooks").iter().filter_map(of).collect()
}

/// The certificate that a server shows to those who know what the API server has been told; nothing where they do not trust it.
async fn shown(bench: &Bench, server: &Server) -> Option<Vec<u8>> {
    let bundle = bundles(bench).into_iter().next()?;
    let connector = knowing(&bundle, &[&rustls::version::TLS13]);
    Some(Connection::open_with(server.address, &connector).await.ok()?.certificate())
}

/// What writers have seen.
#[derive(Default)]
struct Seen {
    held: AtomicUsize,
    over: AtomicBool,
}

/// A person who writes through the API server again and again: every time it is held, and never let through or unanswered.
fn writes(bench: &Bench, seen: &Seen) {
    let change = "{\"spec\":{\"template\":{\"spec\":{\"version\":\"v1.35.0\"}}}}";
    while !seen.over.load(Ordering::Relaxed) {
        let said = kubectl(
            bench,
            &[
                "patch",
                "machinedeployment",
                "demo-md",
                "-n",
                NAMESPACE,
                "--type=merge",
                "-p",
                change,
                "--dry-run=server",
                "--as",
                "anna",
                "--as-group",
                "system:masters",
            ],
        );
        let text = String::from_utf8_lossy(&said.stderr).into_owned();
        assert!(!said.status.success() && text.contains("denied the request: rollgate"), "{said:?}");
        seen.held.fetch_add(1, Ordering::Relaxed);
    }
}

/// One connection that stays open all the time.
async fn stays(mut connection: Connection, body: Arc<Vec<u8>>, seen: Arc<Seen>) {
    while !seen.over.load(Ordering::Relaxed) {
        let answer = connection.post(&body).await.expect("the connection is not dropped");
        assert!(!answer.allows(), "a wrong allow: {}", answer.text());
        seen.held.fetch_add(1, Ordering::Relaxed);
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

fn rounds(server: &Server) -> u64 {
    u64::try_from(server.log().iter().filter(|line| line["msg"] == "another certificate is in use").count())
        .expect("few")
}

/// Installs it, with one webhook led to each of the two replicas, so that the API server asks both.
async fn both(bench: &Bench) -> [Server; 2] {
    let hooks = install(bench);
    let config = kubeconfig(bench);
    let servers = [replica(&config), replica(&config)];
    let hook = |number: usize| {
        let mut hook = hooks[0].clone();
        hook["name"] = json!(format!("judge{number}.rollgate.dev"));
        hook["clientConfig"] = json!({"url": format!("https://{}/validate", servers[number].address)});
        hook["namespaceSelector"] = json!({"matchLabels": {"kubernetes.io/metadata.name": NAMESPACE}});
        hook
    };
    let object = json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": "rollgate"}, "webhooks": [hook(0), hook(1)]});
    bench.create("hooks", &[object]);
    servers
}

#[tokio::test(flavor = "multi_thread")]
async fn certificates_come_and_go_under_load_and_nobody_notices() {
    let Some(bench) = own("rotation") else { return };
    let bench = Arc::new(bench);
    let servers = both(&bench).await;
    until("both show one certificate", async || {
        let (one, other) = (shown(&bench, &servers[0]).await, shown(&bench, &servers[1]).await);
        one.is_some() && one == other
    })
    .await;
    for server in &servers {
        until("ready", async || {
            let connector = knowing(&bundles(&bench)[0], &[&rustls::version::TLS13]);
            let Ok(mut connection) = Connection::open_with(server.address, &connector).await else { return false };
            connection.get("/readyz").await.is_ok_and(|answer| answer.status == 200)
        })
        .await;
    }
    // The API server takes up what it was told within a moment.
    tokio::time::sleep(Duration::from_secs(2)).await;
    let (body, seen) = (Arc::new(rolling(&bench)), Arc::new(Seen::default()));
    let mut work = JoinSet::new();
    for server in &servers {
        let connector = knowing(&bundles(&bench)[0], &[&rustls::version::TLS13]);
        let connection = Connection::open_with(server.address, &connector).await.expect("a connection");
        work.spawn(stays(connection, Arc::clone(&body), Arc::clone(&seen)));
    }
    for _ in 0..2 {
        let (bench, seen) = (Arc::clone(&bench), Arc::clone(&seen));
        work.spawn_blocking(move || writes(&bench, &seen));
    }
    let (start, before) = (Instant::now(), servers.each_ref().map(rounds));
    // Whoever looks meanwhile trusts what is shown.
    let mut looks = 0;
    while servers.iter().zip(before).any(|(server, before)| rounds(server) < before + ROUNDS) {
        assert!(start.elapsed() < Duration::from_secs(240), "certificates do not come: {:?}", servers[0].log());
        while let Some(done) = work.try_join_next() {
            done.expect("nobody sees anything else than a hold");
        }
        for server in &servers {
            assert!(shown(&bench, server).await.is_some(), "it shows a certificate that was never told");
            looks += 1;
        }
        tokio::time::sleep(Duration::from_millis(300)).await;
    }
    seen.over.store(true, Ordering::Relaxed);
    while let Some(done) = work.join_next().await {
        done.expect("nobody sees anything else than a hold");
    }
    eprintln!(
        "{} reviews held in {:?}, {looks} new connections, {ROUNDS} certificates",
        seen.held.load(Ordering::Relaxed),
        start.elapsed()
    );
    // Neither has written over what the other had: at the end they show the same one still, and no more authorities than three are told.
    let (one, other) = (shown(&bench, &servers[0]).await, shown(&bench, &servers[1]).await);
    assert!(one.is_some() && one == other);
    let told = String::from_utf8(bundles(&bench).pop().expect("a bundle")).expect("text");
    assert!(told.matches("BEGIN CERTIFICATE").count() <= 3, "{told}");
    // No key is in any line of the log.
    assert!(servers.iter().all(|server| !format!("{:?}", server.log()).contains("PRIVATE")));
}

/// Where the right to write the configuration is missing, it says so by name, and is not ready.
#[tokio::test(flavor = "multi_thread")]
async fn a_missing_right_is_named_and_nobody_is_led_to_the_server() {
    let Some(bench) = own("rotation-rights") else { return };
    drop(install(&bench));
    let gone = kubectl(&bench, &["delete", "rolebinding", "rollgate-certificate", "-n", "rollgate-system"]);
    assert!(gone.status.success(), "{gone:?}");
    let server = replica(&kubeconfig(&bench));
    until("it says why", async || {
        server.log().iter().any(|line| {
            line["why"].as_str().is_some_and(|why| why.contains("Secret rollgate-system/rollgate-tls cannot be read"))
        })
    })
    .await;
    let ready = Command::new("curl")
        .args(["-sk", "-o", "/dev/null", "-w", "%{http_code}", &format!("https://{}/readyz", server.address)])
        .output();
    assert_eq!(String::from_utf8_lossy(&ready.expect("curl runs").stdout), "503");
}
