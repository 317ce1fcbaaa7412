//! A chart that renders nothing of Cluster API any more, under every fault: never a run that allows it.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rollgate::facade::compare::redact::MarkKey;
use rollgate::facade::late::Reach;
use rollgate::facade::model::Decision;
use rollgate::facade::pipeline::{self, Question};
use rollgate::facade::policy::Policy;
use rollgate::facade::report::PolicyReport;
use rollgate::facade::world::World;
use rollgate::facade::world::snapshot::Snapshot;
use tokio::sync::Semaphore;

use crate::bench::{Bench, bench};
use crate::look::look;
use crate::matrix::{program, runtime};
use crate::proxy::{Fault, Plan, Proxy};

/// What is left of the chart.
const STREAM: &str = "---
# Source: demo/templates/left.yaml
apiVersion: v1
kind: ConfigMap
metadata: {name: left, namespace: telco}
---
# Source: demo/templates/left.yaml
apiVersion: apps/v1
kind: Deployment
metadata: {name: left, namespace: telco}
spec: {replicas: 0}
";
/// Time that a read gets under a fault for good.
const DEADLINE: Duration = Duration::from_secs(4);

/// What plan and post-render decide.
fn decision(world: &World) -> Decision {
    let question = Question {
        stream: STREAM.as_bytes().to_vec().into(),
        files: rollgate::facade::object::Files::default(),
        policy: Policy::default(),
        policy_report: PolicyReport { source: "test".to_owned(), digest: String::new() },
        reach: Reach::Cluster,
        key: MarkKey::fresh(),
        key_lasts: true,
        goes_out: false,
        break_glass: None,
        apart: Arc::default(),
        upgrade: Default::default(),
    };
    pipeline::judge(&question, world).expect("the stream is good").report.decision
}

/// What plan decides from a snapshot of the same read.
fn replayed(world: &World) -> Decision {
    let saved = serde_json::to_vec(&Snapshot::of(world.clone(), &MarkKey::fresh(), &[])).expect("JSON");
    decision(&Snapshot::read(&saved).expect("a snapshot").world)
}

#[test]
fn no_fault_lets_a_chart_pass_that_lost_its_clusters() {
    let Some(bench) = bench() else { return };
    let reads = runtime().block_on(every_fault(bench));
    for needed in ["list of groups", "list secrets by label", "get secrets", "list machinedeployments", "list machines"]
    {
        assert!(reads.contains(needed), "{needed} is not among {reads:?}");
    }
}

async fn every_fault(bench: &'static Bench) -> BTreeSet<String> {
    let clean = Proxy::start(&bench.kubeconfig, &bench.out, None).await;
    let found = look(STREAM, &clean.kubeconfig, Duration::from_secs(60)).await;
    assert!(found.world.unread.is_empty(), "{:?}", found.world.unread);
    assert_eq!((decision(&found.world), replayed(&found.world)), (Decision::Hold, Decision::Hold));
    let permits = Arc::new(Semaphore::new(12));
    let mut running = tokio::task::JoinSet::new();
    for read in clean.seen() {
        for fault in Fault::ALL {
            let (permits, plan) = (Arc::clone(&permits), Plan { fault, class: read.clone(), times: usize::MAX });
            running.spawn(async move {
                let _permit = permits.acquire().await.expect("open");
                let proxy = Proxy::start(&bench.kubeconfig, &bench.out, Some(plan.clone())).await;
                let found = look(STREAM, &proxy.kubeconfig, DEADLINE).await;
                for decision in [decision(&found.world), replayed(&found.world)] {
                    let passes = matches!(decision, Decision::Allow | Decision::Warn);
                    assert!(!passes, "{} under {}: {:?}", plan.class, plan.fault, found.world.unread);
                }
            });
        }
    }
    running.join_all().await;
    clean.seen()
}

#[test]
fn no_command_says_0_of_it() {
    let Some(bench) = bench() else { return };
    let world = bench.out.join("emptied-world.json");
    let saved = program(&["snapshot", "-", "-o", &world.display().to_string()], bench, &bench.kubeconfig, STREAM);
    assert_eq!(saved.0, Some(0), "{}", saved.2);
    let replay = ["plan", "-", "--live", &world.display().to_string()];
    for command in [&["plan", "-"][..], &["post-render"], &replay] {
        let (code, _, err) = program(command, bench, &bench.kubeconfig, STREAM);
        assert_eq!(code, Some(3), "{command:?}: {err}");
    }
    runtime().block_on(async {
        let mut running = tokio::task::JoinSet::new();
        for fault in Fault::ALL {
            for class in ["list of groups", "list secrets by label", "list machinedeployments"] {
                if fault == Fault::GoneInTheMiddle {
                    continue;
                }
                running.spawn(async move {
                    let plan = Plan { fault, class: class.to_owned(), times: usize::MAX };
                    let proxy = Proxy::start(&bench.kubeconfig, &bench.out, Some(plan)).await;
                    let kubeconfig = proxy.kubeconfig.clone();
                    let codes =
                        tokio::task::spawn_blocking(move || commands(bench, &kubeconfig)).await.expect("it ran");
                    for (command, code, out) in codes {
                        assert!(matches!(code, Some(3 | 4)), "{class} under {fault}: {command} ends with {code:?}");
                        assert!(command != "post-render" || out.is_empty(), "{class} under {fault}: {out}");
                    }
                });
            }
        }
        running.join_all().await;
    });
}

/// Every command on the stream, with its exit code and standard output. A snapshot that lacks something says 4.
fn commands(bench: &Bench, kubeconfig: &Path) -> Vec<(&'static str, Option<i32>, String)> {
    let world = kubeconfig.with_extension("world");
    let file = world.display().to_string();
    let run = |name: &'static str, command: &[&str]| {
        let (code, out, _) = program(command, bench, kubeconfig, STREAM);
        (name, code, out)
    };
    let done = vec![
        run("plan", &["plan", "-"]),
        run("post-render", &["post-render"]),
        run("snapshot", &["snapshot", "-", "-o", &file]),
        run("plan of the snapshot", &["plan", "-", "--live", &file]),
    ];
    drop(std::fs::remove_file(world));
    done
}
