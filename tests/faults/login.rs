//! Ways in that only show on a real server: credential plugins, proxies with a password, and a clock that is wrong. None of
//! their secrets may be said.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};

use crate::bench::{Bench, bench};
use crate::look::{Verdict, look, verdict};
use crate::proxy::{Fault, Plan, Proxy};

/// A password that must not be said.
const CANARY: &str = "canary-of-the-proxy";

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime")
}

/// The administrator's kubeconfig as a tree.
pub(crate) fn kubeconfig(bench: &Bench) -> Value {
    let bytes = std::fs::read(&bench.kubeconfig).expect("a kubeconfig");
    let span = rollgate::facade::yaml::Span { start: 0, end: bytes.len() };
    rollgate::facade::yaml::read_json(&bytes, span).expect("YAML").into()
}

/// Writes a kubeconfig.
pub(crate) fn write(bench: &Bench, name: &str, config: &Value) -> PathBuf {
    let path = bench.out.join(format!("{name}.json"));
    std::fs::write(&path, config.to_string()).expect("a file");
    path
}

/// A kubeconfig whose user comes from a plugin: a shell script with these lines.
fn with_plugin(bench: &Bench, name: &str, lines: &str) -> PathBuf {
    let script = bench.out.join(format!("plugin-{name}"));
    std::fs::write(&script, format!("#!/bin/sh\n{lines}\n")).expect("a script");
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).expect("it may be run");
    let mut config = kubeconfig(bench);
    config["users"][0]["user"] = json!({"exec": {"apiVersion": "client.authentication.k8s.io/v1",
        "command": script, "interactiveMode": "Never"}});
    write(bench, &format!("exec-{name}"), &config)
}

/// What a plugin prints for the administrator.
fn credential(bench: &Bench, expires: &str) -> Value {
    let user = &kubeconfig(bench)["users"][0]["user"];
    let plain = |key: &str| {
        let data = BASE64_STANDARD.decode(user[key].as_str().expect("data")).expect("base64");
        String::from_utf8(data).expect("PEM")
    };
    json!({"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": {
        "clientCertificateData": plain("client-certificate-data"), "clientKeyData": plain("client-key-data"),
        "expirationTimestamp": expires}})
}

#[test]
fn a_credential_plugin_is_asked_and_its_failure_is_said_without_its_words() {
    let Some(bench) = bench() else { return };
    let stream = bench.rendered();
    let read = |kubeconfig: &Path, deadline| {
        let runtime = runtime();
        let found = runtime.block_on(look(&stream, kubeconfig, deadline));
        // A plugin that hangs is left behind, as the end of the process leaves it.
        runtime.shutdown_background();
        found
    };
    let clean = read(&bench.kubeconfig, Duration::from_secs(60));
    // A clock that is a day wrong makes every credential look old, or very new.
    for (name, expires) in [("old", "2020-01-01T00:00:00Z"), ("new", "2100-01-01T00:00:00Z")] {
        let file = write(bench, &format!("credential-{name}"), &credential(bench, expires));
        let found = read(&with_plugin(bench, name, &format!("cat {}", file.display())), Duration::from_secs(60));
        assert_eq!(verdict(&clean, &found), Verdict::Right, "{:?}", found.world.unread);
    }
    for (name, lines) in [
        ("fails", format!("echo '{CANARY}'; echo '{CANARY}' >&2; exit 1")),
        ("babbles", format!("echo 'token: {CANARY}'")),
        ("hangs", "exec sleep 20".to_owned()),
    ] {
        let start = Instant::now();
        let found = read(&with_plugin(bench, name, &lines), Duration::from_secs(3));
        assert!(start.elapsed() < Duration::from_secs(4), "{name}: {:?}", start.elapsed());
        assert_eq!(verdict(&clean, &found), Verdict::Undecided, "{name}");
        let said = format!("{:?}", found.world.unread);
        assert!(!said.contains(CANARY), "{said}");
        assert!(found.world.unread.iter().all(|unread| !unread.remedy.is_empty()), "{said}");
    }
}

#[test]
fn a_proxy_with_a_password_is_passed_and_the_password_is_not_said() {
    let Some(bench) = bench() else { return };
    let stream = bench.rendered();
    runtime().block_on(async {
        let clean = look(&stream, &bench.kubeconfig, Duration::from_secs(60)).await;
        let port = tunnel().await;
        for (password, expected) in [(CANARY, Verdict::Right), ("canary-that-is-wrong", Verdict::Undecided)] {
            let mut config = kubeconfig(bench);
            config["clusters"][0]["cluster"]["proxy-url"] = json!(format!("http://user:{password}@127.0.0.1:{port}"));
            let deadline = Duration::from_secs(if expected == Verdict::Right { 60 } else { 4 });
            let found = look(&stream, &write(bench, &format!("through-{password}"), &config), deadline).await;
            assert_eq!(verdict(&clean, &found), expected, "{:?}", found.world.unread);
            assert!(!format!("{:?}{:?}", found.world.unread, found.warnings).contains("canary"));
        }
    });
}

/// A proxy that knows CONNECT, and one user.
async fn tunnel() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = listener.local_addr().expect("an address").port();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(async move { drop(connect(stream).await) });
        }
    });
    port
}

async fn connect(stream: TcpStream) -> std::io::Result<()> {
    let mut stream = BufReader::new(stream);
    let (mut first, mut allowed) = (String::new(), false);
    stream.read_line(&mut first).await?;
    let right = format!("Basic {}", BASE64_STANDARD.encode(format!("user:{CANARY}")));
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line).await? <= 2 {
            break;
        }
        let (name, value) = line.split_once(':').unwrap_or_default();
        allowed |= name.eq_ignore_ascii_case("proxy-authorization") && value.trim() == right;
    }
    if !allowed {
        stream.write_all(b"HTTP/1.1 407 X\r\nProxy-Authenticate: Basic\r\nContent-Length: 0\r\n\r\n").await?;
        return Ok(());
    }
    let mut server = TcpStream::connect(first.split_whitespace().nth(1).unwrap_or_default()).await?;
    stream.write_all(b"HTTP/1.1 200 X\r\n\r\n").await?;
    tokio::io::copy_bidirectional(&mut stream, &mut server).await?;
    Ok(())
}

#[test]
fn a_clock_that_is_a_day_wrong_is_a_doubt() {
    let Some(bench) = bench() else { return };
    let stream = bench.rendered();
    for (fault, way) in [(Fault::Clock(1), "behind"), (Fault::Clock(-1), "ahead of")] {
        let found = runtime().block_on(async {
            let plan = Plan { fault, class: String::new(), times: usize::MAX };
            let proxy = Proxy::start(&bench.kubeconfig, &bench.out, Some(plan)).await;
            look(&stream, &proxy.kubeconfig, Duration::from_secs(60)).await
        });
        let said: Vec<String> = found.world.unread.iter().map(|unread| unread.why.clone()).collect();
        assert_eq!(said, [format!("the clock here is 1440 minutes {way} that of the API server")]);
    }
}
