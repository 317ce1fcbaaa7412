//! How soon the webhook is ready in front of a real API server that holds a fleet, and what it takes there. Needs the bench.

use std::time::{Duration, Instant};

use crate::client::Connection;
use crate::fill::fill;
use crate::load::{MIB, SECONDS, goal, number};
use crate::objects::Layout;
use crate::server::{Server, program};
use crate::starter;

/// Asks for a path until the answer is what is wanted; gives its text.
async fn until(server: &Server, path: &str, wanted: impl Fn(u16, &str) -> bool) -> String {
    let end = Instant::now() + Duration::from_secs(120);
    let mut connection = Connection::open(server.address).await.expect("a connection");
    loop {
        let answer = connection.get(path).await.expect("an answer");
        let text = answer.text();
        if wanted(answer.status, &text) {
            return text;
        }
        assert!(Instant::now() < end, "{path}: {text}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

fn gauge(text: &str, name: &str) -> usize {
    let line = text.lines().find_map(|line| line.strip_prefix(name)).expect("a gauge");
    line.trim().parse().expect("a number")
}

/// Starts the webhook before the API server, and waits until it knows the whole fleet.
fn start(runtime: &tokio::runtime::Runtime, kubeconfig: &std::path::Path) -> (Server, Duration) {
    let mut command = program();
    command.env("KUBECONFIG", kubeconfig).args(["--mode", "enforce"]);
    let start = Instant::now();
    let server = Server::run(command);
    runtime.block_on(until(&server, "/readyz", |status, _| status == 200));
    (server, start.elapsed())
}

#[test]
#[ignore = "measures, and needs the bench; give ROLLGATE_BIN the optimised binary"]
fn ready() {
    let bin = match starter::find(&[]) {
        Ok(bin) => bin,
        Err(missing) => {
            return println!("skipped: ready in front of a real API server, because {missing} (make bench)");
        }
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut bench = starter::start(&bin, folder.path(), &["--api-only"]);
    let known = |server: &Server| {
        let text = runtime.block_on(until(server, "/metrics", |_, _| true));
        gauge(&text, "rollgate_cache_objects ")
    };
    let (first, _) = start(&runtime, &bench.kubeconfig);
    // An API server has some objects of its own.
    let (empty, own) = (first.memory(), known(&first));
    drop(first);
    println!("a real API server without clusters: {} KiB", empty / 1024);
    println!("{}", goal("without objects", "MiB", empty as f64 / 1024.0 / 1024.0, MIB));
    let clusters = number("LOAD_CLUSTERS", 1_000);
    let objects = Layout::Chart.live(clusters, "10.0.3.7").len();
    fill(&bench.kubeconfig, Layout::Chart, clusters, "10.0.3.7");
    for _ in 0..3 {
        let (server, ready) = start(&runtime, &bench.kubeconfig);
        let memory = server.memory();
        println!(
            "a real API server of {clusters} clusters, {objects} objects: ready in {ready:?}, {:?} on cores, {} KiB, {} bytes an object",
            server.cpu(),
            memory / 1024,
            memory.saturating_sub(empty) / objects as u64
        );
        println!("{}", goal("ready, from a real API server, within", "s", ready.as_secs_f64(), SECONDS));
        assert_eq!(known(&server), objects + own, "who is ready knows all");
    }
    drop(bench.process.stdin.take());
    bench.process.wait().expect("the bench ends");
}
