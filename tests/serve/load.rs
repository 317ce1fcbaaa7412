//! A load as API servers make it: reviews over TLS on connections that stay open. Prints what was measured and which goal is met, and
//! asserts only that no answer was wrong.

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::client::{Connection, harmless, rolling, workers};
use crate::server::Server;

/// Objects of one cluster, twenty of them.
fn cluster(name: &str, out: &mut String) {
    let mut add = |object: serde_json::Value| writeln!(out, "---\n{object}").expect("a text takes it");
    let meta = |suffix: &str| {
        json!({"name": format!("{name}{suffix}"), "namespace": name, "uid": format!("uid-{name}{suffix}"),
        "labels": {"cluster.x-k8s.io/cluster-name": name}})
    };
    let reference = |group: &str, kind: &str, suffix: &str| {
        json!({"apiVersion": format!("{group}.cluster.x-k8s.io/v1beta1"), "kind": kind,
        "name": format!("{name}{suffix}"), "namespace": name})
    };
    add(json!({"apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "Cluster", "metadata": meta(""), "spec": {
        "controlPlaneRef": reference("controlplane", "RKE2ControlPlane", "-cp"),
        "infrastructureRef": reference("infrastructure", "OpenStackCluster", "")}}));
    add(
        json!({"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "OpenStackCluster", "metadata": meta(""), "spec": {}}),
    );
    add(
        json!({"apiVersion": "controlplane.cluster.x-k8s.io/v1beta1", "kind": "RKE2ControlPlane", "metadata": meta("-cp"), "spec": {
        "replicas": 3, "version": "v1.31.5+rke2r1", "machineTemplate": {"infrastructureRef":
            reference("infrastructure", "OpenStackMachineTemplate", "-cp-t")}}}),
    );
    for suffix in ["-cp-t", "-md0-93b1d0ee5c"] {
        add(
            json!({"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "OpenStackMachineTemplate", "metadata": meta(suffix),
            "spec": {"template": {"spec": {"flavor": "m1.xlarge", "image": {"filter": {"name": "ubuntu"}}}}}}),
        );
    }
    add(
        json!({"apiVersion": "bootstrap.cluster.x-k8s.io/v1beta1", "kind": "RKE2ConfigTemplate", "metadata": meta("-md0-0a41ce7790"),
        "spec": {"template": {"spec": {"agentConfig": {"format": "cloud-config"}}}}}),
    );
    let mut owner = workers(name);
    owner["metadata"]["uid"] = json!(format!("uid-{name}-md0"));
    add(owner);
    let owned = |kind: &str, suffix: &str, api: &str| {
        json!([{"apiVersion": api, "kind": kind, "name": format!("{name}{suffix}"),
        "uid": format!("uid-{name}{suffix}"), "controller": true}])
    };
    let template = workers(name)["spec"]["template"].clone();
    let mut set = json!({"apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "MachineSet", "metadata": meta("-md0-s"),
        "spec": {"clusterName": name, "replicas": 2, "selector": {"matchLabels": {"cluster.x-k8s.io/deployment-name": format!("{name}-md0")}},
            "template": template}});
    set["metadata"]["ownerReferences"] = owned("MachineDeployment", "-md0", "cluster.x-k8s.io/v1beta1");
    add(set);
    for number in 0..5 {
        let (suffix, is_worker) = (format!("-m{number}"), number > 2);
        let owner = if is_worker {
            owned("MachineSet", "-md0-s", "cluster.x-k8s.io/v1beta1")
        } else {
            owned("RKE2ControlPlane", "-cp", "controlplane.cluster.x-k8s.io/v1beta1")
        };
        let mut machine = json!({"apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "Machine", "metadata": meta(&suffix), "spec": {
            "clusterName": name, "version": "v1.31.5+rke2r1",
            "bootstrap": {"configRef": reference("bootstrap", "RKE2Config", &suffix), "dataSecretName": format!("{name}{suffix}")},
            "infrastructureRef": reference("infrastructure", "OpenStackMachine", &suffix)},
            "status": {"phase": "Running", "nodeRef": {"kind": "Node", "name": format!("{name}{suffix}")}}});
        machine["metadata"]["ownerReferences"] = owner;
        if !is_worker {
            machine["metadata"]["labels"]["cluster.x-k8s.io/control-plane"] = json!("");
        }
        add(machine);
        if number < 4 {
            add(
                json!({"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "OpenStackMachine", "metadata": meta(&suffix),
                "spec": {"flavor": "m1.xlarge", "image": {"filter": {"name": "ubuntu"}}}}),
            );
        }
        if number < 3 {
            add(
                json!({"apiVersion": "bootstrap.cluster.x-k8s.io/v1beta1", "kind": "RKE2Config", "metadata": meta(&suffix), "spec": {}}),
            );
        }
    }
}

/// The text with all clusters in one namespace, where that is asked for: then each review has to do with all of them.
fn placed(text: String) -> String {
    if std::env::var_os("LOAD_ONE_NAMESPACE").is_none() {
        return text;
    }
    let place = regex::Regex::new(r#""namespace":"edge-\d+""#).expect("a regular expression");
    place.replace_all(&text, r#""namespace":"edge""#).into_owned()
}

pub(crate) fn number(name: &str, otherwise: usize) -> usize {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

/// Sends reviews over some connections for a while; gives how long each took.
async fn sends(server: &Server, clusters: usize, connections: usize, length: Duration, held: bool) -> Vec<Duration> {
    let next = Arc::new(AtomicUsize::new(0));
    let all = |body: Vec<u8>| placed(String::from_utf8(body).expect("text")).into_bytes();
    let names = (0..clusters).map(|at| format!("edge-{at}"));
    let bodies: Arc<Vec<Vec<u8>>> =
        Arc::new(names.map(|name| if held { rolling(&name) } else { harmless(&name) }).map(all).collect());
    let mut writers = JoinSet::new();
    for _ in 0..connections {
        let mut connection = Connection::open(server.address).await.expect("a connection");
        let (next, bodies) = (Arc::clone(&next), Arc::clone(&bodies));
        writers.spawn(async move {
            let mut took = Vec::new();
            let end = Instant::now() + length;
            while Instant::now() < end {
                let body = &bodies[next.fetch_add(1, Ordering::Relaxed) * 7919 % bodies.len()];
                let start = Instant::now();
                let answer = connection.post(body).await.expect("an answer");
                took.push(start.elapsed());
                assert_eq!(answer.allows(), !held, "{}", answer.text());
            }
            took
        });
    }
    let mut all = Vec::new();
    while let Some(took) = writers.join_next().await {
        all.extend(took.expect("no wrong answer"));
    }
    all.sort_unstable();
    all
}

/// What is asked of it.
const RATE: u32 = 2_000;
/// Connections over which they are sent, more than are ever busy.
const WRITERS: usize = 32;
const MILLISECONDS: f64 = 2.0;
pub(crate) const SECONDS: f64 = 5.0;
pub(crate) const MIB: f64 = 40.0;
const KIB_EACH: f64 = 6.0;

/// Sends so many reviews a second, each when its time has come, whether those before are answered or not; gives how long each took from
/// then on. So a server that stands still for a moment is seen by all that would have come meanwhile.
async fn paced(server: &Server, clusters: usize, length: Duration) -> Vec<Duration> {
    let all = |body: Vec<u8>| placed(String::from_utf8(body).expect("text")).into_bytes();
    let bodies: Arc<Vec<Vec<u8>>> = Arc::new((0..clusters).map(|at| all(harmless(&format!("edge-{at}")))).collect());
    let next = Arc::new(AtomicUsize::new(0));
    let count = RATE as usize * usize::try_from(length.as_secs()).expect("some seconds");
    let start = Instant::now() + Duration::from_millis(50);
    let due =
        move |number: usize| start + Duration::from_secs(1) / RATE * u32::try_from(number).expect("some millions");
    let turns = Arc::new(Semaphore::new(0));
    let mut writers = JoinSet::new();
    for _ in 0..WRITERS {
        let mut connection = Connection::open(server.address).await.expect("a connection");
        let (next, turns, bodies) = (Arc::clone(&next), Arc::clone(&turns), Arc::clone(&bodies));
        writers.spawn(async move {
            let mut took = Vec::new();
            while let Ok(turn) = turns.acquire().await {
                turn.forget();
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= count {
                    break;
                }
                let answer = connection.post(&bodies[number * 7919 % bodies.len()]).await.expect("an answer");
                took.push(due(number).elapsed());
                assert!(answer.allows(), "{}", answer.text());
            }
            took
        });
    }
    // A thread of its own keeps the time: the timer of tokio counts whole milliseconds, which is as long as an answer takes.
    let clock = std::thread::spawn(move || {
        for number in 0..count {
            std::thread::sleep(due(number).saturating_duration_since(Instant::now()));
            turns.add_permits(1);
        }
        // A turn more for each writer, by which it ends; to close the turns would take one away that is given and not used yet.
        turns.add_permits(WRITERS);
    });
    let mut all = Vec::new();
    while let Some(took) = writers.join_next().await {
        all.extend(took.expect("no wrong answer"));
    }
    clock.join().expect("it ends");
    assert_eq!(all.len(), count, "each was answered");
    all.sort_unstable();
    all
}

/// A figure beside what is asked for.
pub(crate) fn goal(what: &str, unit: &str, is: f64, asked: f64) -> String {
    format!("  goal: {what} {is:.1} {unit}, asked for {asked} {unit}: {}", if is <= asked { "met" } else { "MISSED" })
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "measures; give ROLLGATE_BIN the optimised binary"]
async fn load() {
    let length = Duration::from_secs(number("LOAD_SECONDS", 5) as u64);
    let told = ["--provider", "cluster-api=v1.10.4", "--provider", "rke2=v0.21.0", "--provider", "openstack=v0.12.3"];
    let options = [&["--mode", "enforce"][..], &told[..]].concat();
    // One object, since a World without any is refused.
    let file = tempfile::Builder::new().suffix(".yaml").tempfile().expect("a file");
    std::fs::write(file.path(), format!("---\n{}\n", workers("edge-0"))).expect("it can be written");
    let empty = Server::start(file.path(), &options).memory();
    println!("no cluster: {} KiB", empty / 1024);
    println!("{}", goal("without objects", "MiB", empty as f64 / 1024.0 / 1024.0, MIB));
    for clusters in [10, 100, number("LOAD_CLUSTERS", 1_000)] {
        let file = tempfile::Builder::new().suffix(".yaml").tempfile().expect("a file");
        let mut text = String::new();
        (0..clusters).for_each(|at| cluster(&format!("edge-{at}"), &mut text));
        let text = placed(text);
        std::fs::write(file.path(), &text).expect("it can be written");
        let start = Instant::now();
        let server = Server::start(file.path(), &options);
        let (ready, objects) = (start.elapsed(), text.matches("---\n").count());
        let memory = server.memory();
        println!(
            "{clusters} clusters, {objects} objects of {} bytes: ready in {ready:?}, {:?} on cores, {} KiB, {} bytes an object; load average {}",
            text.len(),
            server.cpu(),
            memory / 1024,
            memory / objects as u64,
            std::fs::read_to_string("/proc/loadavg").unwrap_or_default().trim()
        );
        for connections in [1, 2, 8] {
            for (held, what) in [(false, "allowed"), (true, "held")] {
                let before = server.cpu();
                let took = sends(&server, clusters, connections, length, held).await;
                let each = (server.cpu() - before) / u32::try_from(took.len()).expect("some millions at most");
                let at = |part: usize| took[(took.len() - 1) * part / 100];
                println!(
                    "  {connections} connections, {what}: {:.0} reviews/s, p50 {:?}, p90 {:?}, p99 {:?}, longest {:?}, {each:?} on cores each",
                    took.len() as f64 / length.as_secs_f64(),
                    at(50),
                    at(90),
                    at(99),
                    at(100)
                );
            }
        }
        println!("  afterwards {} KiB", server.memory() / 1024);
        let took = paced(&server, clusters, length).await;
        let at = |part: usize| took[(took.len() - 1) * part / 100];
        println!("  at {RATE} reviews/s: p50 {:?}, p90 {:?}, p99 {:?}, longest {:?}", at(50), at(90), at(99), at(100));
        println!("{}", goal("99 of 100 at that rate within", "ms", at(99).as_secs_f64() * 1_000.0, MILLISECONDS));
        println!("{}", goal("ready, from a file that is parsed, within", "s", ready.as_secs_f64(), SECONDS));
        let each = memory.saturating_sub(empty) as f64 / 1024.0 / objects as f64;
        println!("{}", goal("for each object", "KiB", each, KIB_EACH));
    }
}
