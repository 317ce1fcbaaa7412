//! The webhook while its API server stands still, dies and comes back, and its own certificate moves: thousands of writes that would be
//! held, and none is let through.

#[expect(dead_code, reason = "the tests of the server alone use the rest.")]
#[path = "../serve/client.rs"]
pub(crate) mod client;
#[expect(dead_code, reason = "the tests of the server alone use the rest.")]
#[path = "../serve/server.rs"]
pub(crate) mod server;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::task::JoinSet;

use self::client::{Connection, update};
use self::server::{Server, certify, program};
use crate::bench::{Bench, NAMESPACE, own};
use crate::proxy::{Fault, Plan, Proxy};

/// So many reviews at least are sent while something is wrong.
const REVIEWS: usize = 10_000;

/// So many reviews at least are sent while each fault that comes again and again is there.
const ENOUGH: usize = 500;

/// What writers have seen.
#[derive(Default)]
struct Seen {
    held: AtomicUsize,
    unanswered: AtomicUsize,
    over: AtomicBool,
}

/// Sends one write again and again, also over new connections, until it is told that it is over.
async fn writes(address: std::net::SocketAddr, body: Arc<Vec<u8>>, seen: Arc<Seen>) {
    while !seen.over.load(Ordering::Relaxed) {
        let Ok(mut connection) = Connection::open(address).await else {
            seen.unanswered.fetch_add(1, Ordering::Relaxed);
            tokio::time::sleep(Duration::from_millis(20)).await;
            continue;
        };
        for _ in 0..200 {
            if seen.over.load(Ordering::Relaxed) {
                return;
            }
            match connection.post(&body).await {
                Ok(answer) => {
                    assert!(!answer.allows(), "a wrong allow: {}", answer.text());
                    seen.held.fetch_add(1, Ordering::Relaxed);
                }
                Err(_) => {
                    seen.unanswered.fetch_add(1, Ordering::Relaxed);
                    break;
                }
            }
        }
    }
}

/// How long something may take on a machine that does other things.
const PATIENCE: Duration = Duration::from_mins(5);

pub(crate) async fn until(what: &str, is: impl AsyncFn() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !is().await {
        assert!(Instant::now() < end, "never: {what}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

async fn get(server: &Server, path: &str) -> (u16, String) {
    let mut connection = Connection::open(server.address).await.expect("a connection");
    let answer = connection.get(path).await.expect("an answer");
    (answer.status, answer.text())
}

async fn is_ready(server: &Server) -> bool {
    get(server, "/readyz").await.0 == 200
}

async fn objects(server: &Server) -> usize {
    let text = get(server, "/metrics").await.1;
    let line = text.lines().find_map(|line| line.strip_prefix("rollgate_cache_objects "));
    line.expect("a line").parse().expect("a number")
}

/// A write that replaces the workers of the bench.
pub(crate) fn rolling(bench: &Bench) -> Vec<u8> {
    let read = bench.run("kubectl", &["get", "machinedeployment", "demo-md", "-n", NAMESPACE, "-o", "json"]);
    let before: Value = serde_json::from_str(&read).expect("JSON");
    let mut after = before.clone();
    after["spec"]["template"]["spec"]["version"] = json!("v1.35.0");
    update(&before, &after).to_string().into_bytes()
}

#[tokio::test(flavor = "multi_thread")]
async fn no_wrong_write_passes_whatever_becomes_of_the_api_server() {
    let Some(bench) = own("webhook") else { return };
    let mut command = program();
    command.args(["--mode", "enforce"]).env("KUBECONFIG", &bench.kubeconfig);
    let start = Instant::now();
    let mut server = Server::run(command);
    until("ready", async || is_ready(&server).await).await;
    eprintln!("ready after {:?}, {} objects", start.elapsed(), objects(&server).await);
    let (body, seen) = (Arc::new(rolling(&bench)), Arc::new(Seen::default()));
    let mut writers = JoinSet::new();
    for _ in 0..6 {
        writers.spawn(writes(server.address, Arc::clone(&body), Arc::clone(&seen)));
    }
    // It stands still, and goes on.
    bench.signal("-STOP");
    tokio::time::sleep(Duration::from_secs(5)).await;
    bench.signal("-CONT");
    certify(server.folder.path(), "second");
    // It dies, and comes back with all that it has.
    let again = bench.restart();
    let before = objects(&server).await;
    until("it takes writes again", async || {
        let set = json!({"apiVersion": "v1", "kind": "List", "items": [{"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "MachineHealthCheck",
            "metadata": {"name": "late", "namespace": NAMESPACE}, "spec": {"clusterName": "demo", "selector": {"matchLabels": {"a": "b"}}}}]});
        let file = bench.out.join("late.json");
        std::fs::write(&file, set.to_string()).expect("a file");
        let made = std::process::Command::new(bench.bin.join("kubectl"))
            .args(["apply", "--validate=false", "-f"])
            .arg(&file)
            .env("KUBECONFIG", &bench.kubeconfig)
            .output();
        made.expect("kubectl runs").status.success()
    })
    .await;
    until("what came meanwhile is heard of", async || objects(&server).await == before + 1).await;
    until("ready again", async || is_ready(&server).await).await;
    until("enough reviews", async || seen.held.load(Ordering::Relaxed) >= REVIEWS).await;
    // It dies for good: what is known of it is soon no longer taken for what is there.
    drop(again);
    until("not ready", async || !is_ready(&server).await).await;
    let held = seen.held.load(Ordering::Relaxed);
    until("reviews while it is not ready", async || seen.held.load(Ordering::Relaxed) > held + 200).await;
    server.signal("TERM");
    assert_eq!(server.ends().code(), Some(0));
    seen.over.store(true, Ordering::Relaxed);
    while let Some(done) = writers.join_next().await {
        done.expect("no wrong answer");
    }
    let (held, unanswered) = (seen.held.load(Ordering::Relaxed), seen.unanswered.load(Ordering::Relaxed));
    eprintln!("{held} reviews held, {unanswered} connections without an answer, no wrong allow");
}

/// Writers over six connections until `during` has ended; says how many reviews were held.
async fn under_load(server: &Server, body: Vec<u8>, during: impl Future<Output = ()>) -> usize {
    let (body, seen) = (Arc::new(body), Arc::new(Seen::default()));
    let mut writers = JoinSet::new();
    for _ in 0..6 {
        writers.spawn(writes(server.address, Arc::clone(&body), Arc::clone(&seen)));
    }
    during.await;
    until("enough reviews", async || seen.held.load(Ordering::Relaxed) >= ENOUGH).await;
    seen.over.store(true, Ordering::Relaxed);
    while let Some(done) = writers.join_next().await {
        done.expect("no wrong answer");
    }
    assert_eq!(seen.unanswered.load(Ordering::Relaxed), 0, "each is answered");
    seen.held.load(Ordering::Relaxed)
}

/// Makes something that was not there before, past any proxy.
fn more(bench: &Bench, name: &str) {
    let check = json!({"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "MachineHealthCheck", "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {"clusterName": "demo", "selector": {"matchLabels": {"a": "b"}}}});
    bench.create(name, &[check]);
}

/// No watch of a real API server lasts: each has expired as it begins. What changes is heard of by lists then.
#[tokio::test(flavor = "multi_thread")]
async fn watches_that_expire_for_ever_are_lists_and_let_nothing_through() {
    let Some(bench) = own("expired") else { return };
    let plan = Plan { fault: Fault::WatchExpired, class: String::new(), times: usize::MAX };
    let proxy = Proxy::start(&bench.kubeconfig, &bench.out, Some(plan)).await;
    let mut command = program();
    command.args(["--mode", "enforce"]).env("KUBECONFIG", &proxy.kubeconfig);
    let server = Server::run(command);
    until("ready", async || is_ready(&server).await).await;
    let held = under_load(&server, rolling(&bench), async {
        for round in 0..3 {
            let before = objects(&server).await;
            more(&bench, &format!("expired-{round}"));
            until("what came is heard of", async || objects(&server).await == before + 1).await;
            assert!(is_ready(&server).await, "what is listed again and again is known");
        }
    })
    .await;
    eprintln!("{held} reviews held while {} watches expired, no wrong allow", proxy.hits());
    assert!(proxy.hits() > 30, "{} watches", proxy.hits());
}

/// The clock of the machine jumps under it, as a virtual machine's does when it wakes or is set right.
#[tokio::test(flavor = "multi_thread")]
async fn a_clock_that_jumps_lets_nothing_through() {
    let Some(bench) = own("clock") else { return };
    let clock = Clock::build(&bench);
    let mut command = program();
    command.args(["--mode", "enforce"]).env("KUBECONFIG", &bench.kubeconfig);
    clock.lead(&mut command);
    let server = Server::run(command);
    until("ready", async || is_ready(&server).await).await;
    let day = 24 * 3_600;
    let held = under_load(&server, rolling(&bench), async {
        for (round, jump) in [day, -day, 400 * day, -400 * day, 0].into_iter().enumerate() {
            clock.jumps(jump);
            let before = objects(&server).await;
            more(&bench, &format!("clock-{round}"));
            until("what came is heard of", async || objects(&server).await == before + 1).await;
            tokio::time::sleep(Duration::from_secs(1)).await;
            assert!(is_ready(&server).await, "how old something is does not hang on the time of day");
        }
    })
    .await;
    let stamps: std::collections::BTreeSet<String> =
        server.log().iter().filter_map(|line| line["time"].as_str()?.get(..4).map(str::to_owned)).collect();
    assert!(stamps.len() > 1, "the clock did jump: {stamps:?}");
    eprintln!("{held} reviews held while the clock jumped five times, no wrong allow");
}

/// A time of day that can be moved under one program: a library that is loaded before it, and a file that holds how far.
struct Clock {
    preloaded: std::path::PathBuf,
    offset: std::path::PathBuf,
}

impl Clock {
    fn build(bench: &Bench) -> Self {
        let (preloaded, offset) = (bench.out.join("clock.so"), bench.out.join("clock.offset"));
        let source = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/faults/clock.c");
        let built = std::process::Command::new("cc")
            .args(["-shared", "-fPIC", "-O1", "-o"])
            .arg(&preloaded)
            .arg(source)
            .output();
        let built = built.expect("cc, which links this test too");
        assert!(built.status.success(), "{built:?}");
        let clock = Self { preloaded, offset };
        clock.jumps(0);
        clock
    }

    fn lead(&self, command: &mut std::process::Command) {
        command.env("LD_PRELOAD", &self.preloaded).env("CLOCK_OFFSET", &self.offset);
    }

    /// Moves it so many seconds from the true one. The file is written in place, since it is mapped.
    fn jumps(&self, seconds: i64) {
        use std::os::unix::fs::FileExt as _;
        let file =
            std::fs::OpenOptions::new().create(true).truncate(false).write(true).open(&self.offset).expect("a file");
        file.write_all_at(&seconds.to_ne_bytes(), 0).expect("it is written");
    }
}
