//! Every read under every fault, once and for good: the right World after a retry, or a World that says what is missing.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rollgate::facade::world::BaseKind;
use tokio::sync::Semaphore;

use crate::bench::{Bench, bench};
use crate::look::{Verdict, essence, look, look_for, verdict};
use crate::proxy::{Fault, Plan, Proxy};

/// Time that a read under a fault for good gets.
const DEADLINE: Duration = Duration::from_secs(4);
/// Time that a read gets which comes to its end in spite of a fault; the machine may have other things to do.
const PATIENCE: Duration = Duration::from_secs(30);
/// Time by which it may be late: closing, and a machine that does other things.
const LATE: Duration = Duration::from_secs(1);
/// A page in the middle of the documentation is replaced between these two lines.
const MARKS: (&str, &str) = ("<!-- table begins -->", "<!-- table ends -->");

pub(crate) fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime")
}

/// What came of one cell.
struct Cell {
    read: String,
    fault: Fault,
    once: bool,
    verdict: Verdict,
    late: bool,
    hit: bool,
}

#[test]
fn no_fault_makes_half_a_world_look_whole() {
    let Some(bench) = bench() else { return };
    let cells = runtime().block_on(matrix(bench));
    let wrong: Vec<String> = cells
        .iter()
        .filter(|cell| cell.late || cell.verdict == Verdict::Wrong || !expected(cell))
        .map(|cell| {
            format!("{} under {} (once: {}): {:?}, late: {}", cell.read, cell.fault, cell.once, cell.verdict, cell.late)
        })
        .collect();
    assert!(wrong.is_empty(), "{} of {} cells:\n{}", wrong.len(), cells.len(), wrong.join("\n"));
    document(&cells);
}

/// What a cell must be: after one fault that passes the right World, otherwise never a World that looks whole but is not.
fn expected(cell: &Cell) -> bool {
    if !cell.hit {
        return cell.verdict == Verdict::Right;
    }
    if cell.once && cell.fault.passes() {
        return cell.verdict == Verdict::Right;
    }
    match cell.verdict {
        Verdict::Undecided => true,
        Verdict::Assumed => assumed_without(&cell.read, cell.fault),
        Verdict::Right => done_without(&cell.read, cell.fault),
        Verdict::Wrong => false,
    }
}

/// What is right in spite of a fault for good, once everything else was read.
fn done_without(read: &str, fault: Fault) -> bool {
    // A list that may begin anew without pages is right in spite of all. Deployments tell feature gates, and the bench has none:
    // a gate that nobody told holds nothing back, so a World without that read is the same one. What lives in a namespace shows that
    // it is not being deleted, so who may not read namespaces knows it too. Pools are doubt only where something names one.
    fault == Fault::GoneInTheMiddle
        || ["kinds of apps/v1", "list deployments by label"].contains(&read)
        || (read.starts_with("/api/v1/namespaces/") || read == "list machinepools") && fault == Fault::Status(403)
}

/// Versions that may not be read are the newest known ones, and the report says so.
fn assumed_without(read: &str, fault: Fault) -> bool {
    read.contains("provider") && fault == Fault::Status(403)
}

async fn matrix(bench: &'static Bench) -> Vec<Cell> {
    let stream = Arc::new(bench.rendered());
    let clean_proxy = Proxy::start(&bench.kubeconfig, &bench.out, None).await;
    let clean = Arc::new(look(&stream, &clean_proxy.kubeconfig, Duration::from_secs(60)).await);
    assert!(clean.world.unread.is_empty(), "{:?}", clean.world.unread);
    assert_eq!(clean.world.providers["cluster-api"].version, "v1.14.0");
    let direct = look(&stream, &bench.kubeconfig, Duration::from_secs(60)).await;
    assert_eq!(essence(&clean), essence(&direct), "the proxy changes nothing");
    let permits = Arc::new(Semaphore::new(12));
    let mut running = tokio::task::JoinSet::new();
    for read in clean_proxy.seen() {
        for fault in Fault::ALL {
            for times in [1, usize::MAX] {
                let (stream, clean, permits) = (Arc::clone(&stream), Arc::clone(&clean), Arc::clone(&permits));
                let plan = Plan { fault, class: read.clone(), times };
                running.spawn(async move {
                    let _permit = permits.acquire().await.expect("open");
                    let proxy = Proxy::start(&bench.kubeconfig, &bench.out, Some(plan.clone())).await;
                    let start = Instant::now();
                    // What one fault only delays, or what is done without, is right only when everything else was read in time.
                    let whole =
                        times == 1 || done_without(&plan.class, plan.fault) || assumed_without(&plan.class, plan.fault);
                    let deadline = if whole { PATIENCE } else { DEADLINE };
                    let found = look(&stream, &proxy.kubeconfig, deadline).await;
                    let late = start.elapsed() > deadline + LATE;
                    let hit = proxy.hits() > 0;
                    let verdict = verdict(&clean, &found);
                    Cell { read: plan.class, fault, once: times == 1, verdict, late, hit }
                });
            }
        }
    }
    running.join_all().await
}

/// Compares the table with the one in the documentation, or writes it there.
fn document(cells: &[Cell]) {
    let mut rows: BTreeMap<&str, BTreeMap<Fault, (Verdict, Verdict, bool)>> = BTreeMap::new();
    for cell in cells {
        let entry = rows.entry(&cell.read).or_default();
        let (once, always, hit) = entry.entry(cell.fault).or_insert((Verdict::Right, Verdict::Right, false));
        *(if cell.once { once } else { always }) = cell.verdict;
        *hit |= cell.hit;
    }
    let mut table = String::from("\n| read \\ fault |");
    for fault in Fault::ALL {
        write!(table, " {fault} |").expect("written");
    }
    table.push_str("\n|---|");
    table.push_str(&"---|".repeat(Fault::ALL.len()));
    table.push('\n');
    for (read, faults) in &rows {
        write!(table, "| {read} |").expect("written");
        for fault in Fault::ALL {
            let word = |verdict| match verdict {
                Verdict::Right => "right",
                Verdict::Undecided => "4",
                Verdict::Assumed => "warns",
                Verdict::Wrong => "WRONG",
            };
            match faults.get(&fault) {
                Some((once, always, true)) => write!(table, " {}, {} |", word(*once), word(*always)),
                _ => write!(table, " - |"),
            }
            .expect("written");
        }
        table.push('\n');
    }
    writeln!(
        table,
        "\n{} reads, {} faults, {} runs; nothing allowed by mistake.\n",
        rows.len(),
        Fault::ALL.len(),
        cells.len()
    )
    .expect("written");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/reliability.md");
    let text = std::fs::read_to_string(&path).expect("the documentation");
    let (head, rest) = text.split_once(MARKS.0).expect("a mark");
    let (old, tail) = rest.split_once(MARKS.1).expect("a mark");
    if std::env::var_os("ROLLGATE_UPDATE").is_some() {
        std::fs::write(&path, format!("{head}{}{table}{}{tail}", MARKS.0, MARKS.1)).expect("written");
    } else {
        let stale: Vec<String> = differing(old, &table);
        assert!(
            stale.is_empty(),
            "docs/reliability.md is stale; run this test with ROLLGATE_UPDATE=1:\n{}",
            stale.join("\n")
        );
    }
    eprintln!("{table}");
}

/// The lines that only one of two tables has.
fn differing(old: &str, new: &str) -> Vec<String> {
    let (before, after): (BTreeSet<&str>, BTreeSet<&str>) = (old.lines().collect(), new.lines().collect());
    let gone = before.difference(&after).map(|line| format!("- {line}"));
    let come = after.difference(&before).map(|line| format!("+ {line}"));
    gone.chain(come).collect()
}

#[test]
fn an_api_server_that_goes_away_and_comes_back_is_waited_for() {
    let Some(bench) = bench() else { return };
    runtime().block_on(async {
        let stream = bench.rendered();
        let proxy = Proxy::start(&bench.kubeconfig, &bench.out, None).await;
        let clean = look(&stream, &proxy.kubeconfig, Duration::from_secs(60)).await;
        let proxy = Proxy::start(&bench.kubeconfig, &bench.out, None).await;
        let reading = look(&stream, &proxy.kubeconfig, Duration::from_secs(30));
        let away = async {
            // In the middle: what has never answered is not waited for. A second request shows that the first was answered.
            while proxy.seen().len() < 2 {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            proxy.restart(Duration::from_millis(1500)).await;
        };
        let (found, ()) = tokio::join!(reading, away);
        assert_eq!(verdict(&clean, &found), Verdict::Right, "{:?}", found.world.unread);
    });
}

#[test]
fn an_address_where_nothing_answers_ends_soon() {
    let Some(bench) = bench() else { return };
    runtime().block_on(async {
        let stream = bench.rendered();
        let proxy = Proxy::start(&bench.kubeconfig, &bench.out, None).await;
        let copy = bench.out.join("gone.json");
        std::fs::copy(&proxy.kubeconfig, &copy).expect("a copy");
        drop(proxy);
        let start = Instant::now();
        let found = look(&stream, &copy, Duration::from_secs(30)).await;
        assert!(start.elapsed() < Duration::from_secs(5));
        assert_eq!(found.world.unread.len(), 1, "{:?}", found.world.unread);
        assert!(found.world.unread[0].why.contains("no connection"), "{:?}", found.world.unread);
    });
}

#[test]
fn another_certificate_is_not_accepted_and_not_waited_for() {
    let Some(bench) = bench() else { return };
    let text = std::fs::read_to_string(&bench.kubeconfig).expect("a kubeconfig");
    let (from, mut lines) = ("certificate-authority-data", String::new());
    for line in text.lines() {
        if line.contains(from) {
            let indent = &line[..line.len() - line.trim_start().len()];
            writeln!(lines, "{indent}certificate-authority: {}", foreign_authority().display()).expect("written");
        } else {
            writeln!(lines, "{line}").expect("written");
        }
    }
    let path = bench.out.join("other-ca.yaml");
    std::fs::write(&path, lines).expect("a file");
    let start = Instant::now();
    let found = runtime().block_on(look(&bench.rendered(), &path, Duration::from_secs(30)));
    assert!(start.elapsed() < Duration::from_secs(3));
    assert!(found.world.unread.iter().any(|unread| unread.why.contains("certificate")), "{:?}", found.world.unread);
    assert!(found.world.live.is_empty());
}

/// A certificate authority that has signed nothing here.
fn foreign_authority() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/faults/foreign-ca.pem")
}

#[test]
fn a_release_without_a_record_is_a_first_install_unless_live_objects_speak_against_it() {
    let Some(bench) = bench() else { return };
    let objects = bench.rendered();
    let read = |name: &'static str, stream: String| {
        runtime().block_on(async move { look_for(name, &stream, &bench.kubeconfig, Duration::from_secs(30)).await })
    };
    let fresh = read("fresh", objects.replace("demo", "fresh"));
    assert_eq!(fresh.world.base.kind, BaseKind::FirstInstall);
    assert!(fresh.world.unread.is_empty(), "{:?}", fresh.world.unread);
    let foreign = read("other", objects);
    assert!(
        foreign.world.unread.iter().any(|unread| unread.why.contains("release demo")),
        "{:?}",
        foreign.world.unread
    );
}

#[test]
fn two_runs_at_once_see_the_same() {
    let Some(bench) = bench() else { return };
    runtime().block_on(async {
        let stream = bench.rendered();
        let (one, two) = tokio::join!(
            look(&stream, &bench.kubeconfig, Duration::from_secs(30)),
            look(&stream, &bench.kubeconfig, Duration::from_secs(30))
        );
        assert_eq!(essence(&one), essence(&two));
        assert!(one.world.unread.is_empty());
    });
}

#[test]
fn under_a_fault_for_good_the_post_renderer_writes_nothing_and_says_4() {
    let Some(bench) = bench() else { return };
    let stream = bench.rendered();
    let (code, out, err) = post_render(bench, &bench.kubeconfig, &stream);
    assert_eq!((code, out.as_str()), (Some(0), stream.as_str()), "{err}");
    runtime().block_on(async {
        let mut running = tokio::task::JoinSet::new();
        for fault in Fault::ALL {
            let class = if fault == Fault::GoneInTheMiddle { continue } else { "list machines".to_owned() };
            let stream = stream.clone();
            running.spawn(async move {
                let proxy =
                    Proxy::start(&bench.kubeconfig, &bench.out, Some(Plan { fault, class, times: usize::MAX })).await;
                let kubeconfig = proxy.kubeconfig.clone();
                let run = tokio::task::spawn_blocking(move || post_render(bench, &kubeconfig, &stream));
                let (code, out, err) = run.await.expect("it ran");
                assert_eq!((code, out.as_str()), (Some(4), ""), "{fault}: {err}");
                assert!(err.contains("Machine.cluster.x-k8s.io"), "{fault}: {err}");
            });
        }
        running.join_all().await;
    });
}

/// Runs the program itself: its exit code, standard output and standard error.
pub(crate) fn post_render(bench: &Bench, kubeconfig: &Path, stream: &str) -> (Option<i32>, String, String) {
    program(&["post-render"], bench, kubeconfig, stream)
}

/// Runs the program itself with a command: its exit code, standard output and standard error.
pub(crate) fn program(
    command: &[&str],
    bench: &Bench,
    kubeconfig: &Path,
    stream: &str,
) -> (Option<i32>, String, String) {
    use std::io::Write as _;
    let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_rollgate"))
        .env("COLUMNS", "1000")
        .args(command)
        .args(["--policy", "none", "--host", "helm3", "--deadline", "6s"])
        .args(["--namespace", crate::bench::NAMESPACE, "--release", crate::bench::RELEASE])
        .env("KUBECONFIG", kubeconfig)
        .env(
            "ROLLGATE_REPORT",
            bench.out.join(format!("report-{}.json", kubeconfig.file_stem().expect("a name").display())),
        )
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .expect("the program runs");
    child.stdin.take().expect("a pipe").write_all(stream.as_bytes()).expect("written");
    let output = child.wait_with_output().expect("it ends");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}
