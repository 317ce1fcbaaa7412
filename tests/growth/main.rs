//! What a plan costs must grow with what is planned, and no faster: each size that can grow is planned three times, each
//! time twice as large, and the instructions are counted (by `valgrind`, which no noise moves). Cost that grows with size to
//! the power of e grows by two to the power of e from one step to the next. ROLLGATE_DECADES=1 makes each ten times as large instead
//! (half an hour), ROLLGATE_PROBE says which sizes (a part of their names), and ROLLGATE_BIN which program.

mod sides;

use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Exponent above which growth is not linear any more; the tenth is for logarithms and for hash tables that grow by doubling.
const LIMIT: f64 = 1.1;
/// One size that can grow.
struct Probe {
    name: &'static str,
    /// Smallest size.
    start: usize,
    /// Options of `plan` beside the two files.
    options: &'static [&'static str],
    /// What is live or was rendered before, and what is rendered now.
    sides: fn(usize) -> (String, String),
}

const PROBES: &[Probe] = &[
    Probe { name: "workers of one cluster, with Machines", start: 30, options: &[], sides: sides::workers },
    Probe { name: "items of a list under server-side apply", start: 100, options: APPLY, sides: sides::applied_items },
    Probe { name: "control planes of one cluster", start: 15, options: &[], sides: sides::planes },
    Probe { name: "clusters of one name in many namespaces", start: 10, options: &[], sides: sides::namesakes },
    Probe { name: "files of a control plane", start: 400, options: &[], sides: sides::files },
    Probe { name: "commands of a control plane", start: 200, options: &[], sides: sides::commands },
    Probe { name: "arguments of the API server", start: 100, options: &[], sides: sides::arguments },
    Probe { name: "places of a late value", start: 300, options: &["--policy", "policy.yaml"], sides: sides::late },
    Probe {
        name: "places of a late value in one text",
        start: 1000,
        options: &["--policy", "policy.yaml"],
        sides: sides::late_text,
    },
    Probe {
        name: "late values, twenty places each",
        start: 25,
        options: &["--policy", "many.yaml"],
        sides: sides::many_late,
    },
    Probe { name: "groups of a topology", start: 25, options: &[], sides: sides::topology },
    Probe { name: "clusters removed", start: 40, options: &[], sides: sides::removed_clusters },
    Probe { name: "Namespaces removed", start: 60, options: &[], sides: sides::removed_namespaces },
    Probe { name: "objects that stay", start: 200, options: &[], sides: sides::unchanged },
    Probe { name: "objects that change", start: 40, options: &[], sides: sides::changed },
    Probe { name: "objects that are new", start: 40, options: &[], sides: sides::new },
    Probe { name: "objects that stand twice", start: 40, options: &[], sides: sides::doubled },
    Probe { name: "hooks removed", start: 40, options: &[], sides: sides::hooks },
    Probe { name: "clusters with health checks, upgraded", start: 8, options: &[], sides: sides::watched },
    Probe { name: "Machines under a health check that arrives", start: 100, options: &[], sides: sides::check_arrives },
    Probe { name: "owners of a cluster that is unpaused", start: 12, options: &[], sides: sides::unpaused },
    Probe { name: "Machines of a control plane", start: 15, options: &[], sides: sides::control_plane_machines },
    Probe { name: "Machines of one group, rolled", start: 50, options: &[], sides: sides::group_machines },
    Probe { name: "MachineSets of one group", start: 20, options: &[], sides: sides::machine_sets },
    Probe { name: "clusters of a class", start: 6, options: &[], sides: sides::class_members },
    Probe { name: "variables of a class", start: 25, options: &[], sides: sides::class_variables },
    Probe { name: "patches of a class", start: 25, options: &[], sides: sides::class_patches },
    Probe { name: "labels of a cluster", start: 50, options: &[], sides: sides::labels },
    Probe { name: "templates renamed", start: 20, options: &[], sides: sides::renamed },
    Probe { name: "Secrets that clusters name", start: 30, options: &[], sides: sides::secrets },
    Probe { name: "releases that Flux installs", start: 30, options: &[], sides: sides::carriers },
    Probe { name: "hosts removed", start: 30, options: &[], sides: sides::hosts },
    Probe {
        name: "documents beside ten late values",
        start: 50,
        options: &["--policy", "ten.yaml"],
        sides: sides::unchanged,
    },
];

const POLICY: &str = "apiVersion: rollgate.dev/v1alpha1\nkind: Policy\nlateValues:\n- {name: vip, placeholders: [\"55.55.55.55\"], type: ip, from: [{env: VIP}]}\n";

const APPLY: &[&str] = &["--host", "helm4", "--method", "server-side-apply"];

/// The instructions that a plan takes.
fn instructions(folder: &Path, probe: &Probe, size: usize) -> u64 {
    let (old, new) = (probe.sides)(size);
    std::fs::write(folder.join("old.yaml"), old).expect("the temporary folder can be written");
    std::fs::write(folder.join("new.yaml"), new).expect("the temporary folder can be written");
    std::fs::write(folder.join("policy.yaml"), POLICY).expect("the temporary folder can be written");
    std::fs::write(folder.join("ten.yaml"), sides::many_policy(10)).expect("the temporary folder can be written");
    std::fs::write(folder.join("many.yaml"), sides::many_policy(size)).expect("the temporary folder can be written");
    let output = Command::new("valgrind")
        .args(["--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"])
        .arg(std::env::var_os("ROLLGATE_BIN").unwrap_or_else(|| env!("CARGO_BIN_EXE_rollgate").into()))
        .args(["plan", "new.yaml", "--live", "old.yaml", "--now", "2026-11-21T12:00:00Z", "-o", "human=/dev/null"])
        // Under valgrind a run takes fifty times as long, and one that is cut off counts too little.
        .args(["--deadline", "1h"])
        .args(probe.options)
        // Threads that have nothing to do look for work, and valgrind counts that.
        .env("RAYON_NUM_THREADS", "1")
        .env("ROLLGATE_POLICY", "none")
        .current_dir(folder)
        .env("VIP", "10.0.3.7")
        .env("SAYS", "it's \"x\": y")
        .output()
        .expect("valgrind runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(matches!(output.status.code(), Some(0 | 3 | 4)), "{}: {said}", probe.name);
    let count = said
        .lines()
        .find(|line| line.contains(" I ") && line.contains("refs:"))
        .and_then(|line| line.split_once("refs:"));
    let count = count.unwrap_or_else(|| panic!("{}: no count in {said}", probe.name)).1;
    count.replace(',', "").trim().parse().expect("a number")
}

#[test]
fn no_cost_grows_faster_than_its_size() {
    let there = Command::new("valgrind").arg("--version").output().is_ok_and(|output| output.status.success());
    if !there {
        assert!(std::env::var_os("CI").is_none(), "valgrind is missing, and without it growth is not looked at");
        eprintln!("valgrind is missing: growth was not looked at");
        return;
    }
    let only = std::env::var("ROLLGATE_PROBE").unwrap_or_default();
    let wanted: Vec<&Probe> = PROBES.iter().filter(|probe| probe.name.contains(&only)).collect();
    let next = AtomicUsize::new(0);
    let (wanted, next) = (&wanted, &next);
    let one_after_the_other = || {
        let turn = std::iter::from_fn(|| wanted.get(next.fetch_add(1, Ordering::Relaxed)));
        turn.map(|probe| measured(probe)).collect::<Vec<_>>()
    };
    // Instructions are counted, so that probes may run side by side.
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let all: Vec<(String, bool)> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..cores).map(|_| scope.spawn(one_after_the_other)).collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("no probe panics")).collect()
    });
    all.iter().for_each(|(line, _)| println!("{line}"));
    let faults: Vec<&str> = all.iter().filter(|(_, fits)| !fits).map(|(line, _)| line.as_str()).collect();
    assert!(faults.is_empty(), "grow faster than their size:\n{}", faults.join("\n"));
}

/// How a size grows, as a line: the instructions of the three sizes and the power that they grow by; and whether that is linear.
fn measured(probe: &Probe) -> (String, bool) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let step: usize = if std::env::var_os("ROLLGATE_DECADES").is_some() { 10 } else { 2 };
    let count = || [1, step, step * step].map(|times| instructions(folder.path(), probe, probe.start * times));
    let power = |counts: &[u64; 3]| {
        let steps = (counts[1].saturating_sub(counts[0]), counts[2].saturating_sub(counts[1]));
        (steps.1 as f64 / steps.0.max(1) as f64).log(step as f64)
    };
    let mut counts = count();
    // Threads that wait for each other on a busy machine add instructions and never take any away.
    if power(&counts) > LIMIT {
        let again = count();
        counts = std::array::from_fn(|size| counts[size].min(again[size]));
    }
    let exponent = power(&counts);
    let [first, second, third] = counts;
    (format!("{:45} {:6} {first:14} {second:14} {third:14} {exponent:.2}", probe.name, probe.start), exponent <= LIMIT)
}
