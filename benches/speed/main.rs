//! The table of `docs/speed.md`, made in one run: `make speed`.
//!
//! Whole processes beside their peers (`dyff`, `jq`, `cat`, and `kubectl diff` where the bench is built), in turns; instructions by
//! valgrind. Peers are found on PATH or named by DYFF. What is measured is this build, or ROLLGATE_BIN. ROLLGATE_SPEED_TURNS says how
//! often (5), ROLLGATE_SPEED_ONLY which rows (a part of their names), ROLLGATE_SPEED_DIR keeps the inputs in a folder, and
//! ROLLGATE_SPEED_WRITE=1 writes the table into the page.

#![expect(clippy::print_stdout, reason = "a bench is its output.")]

#[path = "../fleet/cost.rs"]
#[expect(dead_code, reason = "the bench of fleets needs the rest.")]
mod cost;
#[path = "../fleet/file.rs"]
#[expect(dead_code, reason = "the bench of fleets needs the rest.")]
mod file;
mod inputs;
mod measure;
#[path = "../fleet/objects.rs"]
#[expect(dead_code, reason = "the bench of fleets needs the rest.")]
mod objects;
mod page;
mod recorded;
mod review;

use std::path::{Path, PathBuf};

use measure::{Call, Median, in_turns};
use objects::Layout;
use page::Row;

/// Cases of the largest recording that are planned at once: every object differs.
const RECORDED: usize = 6000;
/// Clusters of a fleet.
const CLUSTERS: usize = 1000;
/// Renders of the chart: 10 MB.
const CHARTS: usize = 415;

/// Versions of the providers of the chart.
const TOLD: [&str; 4] = ["--provider", "cluster-api=v1.14.2", "--provider", "capo=v0.11.3"];

/// Runs that take longer, in milliseconds, are not counted by instructions.
const COUNTED: f64 = 4000.0;

/// What all rows need.
pub(crate) struct Bench {
    folder: PathBuf,
    turns: usize,
    only: String,
    rows: Vec<Row>,
}

fn main() {
    let temporary = tempfile::tempdir().expect("a temporary folder");
    let told = |name: &str| std::env::var(name).unwrap_or_default();
    let mut bench = Bench {
        folder: std::env::var_os("ROLLGATE_SPEED_DIR").map_or_else(|| temporary.path().to_owned(), PathBuf::from),
        turns: told("ROLLGATE_SPEED_TURNS").parse().unwrap_or(5),
        only: told("ROLLGATE_SPEED_ONLY"),
        rows: Vec::new(),
    };
    std::fs::create_dir_all(&bench.folder).expect("a folder for the inputs");
    let load = page::load();
    bench.renders();
    bench.fleets();
    bench.passing();
    bench.small();
    bench.review();
    let table = page::table(&bench.rows, &load, &rollgate());
    println!("{table}");
    if !told("ROLLGATE_SPEED_WRITE").is_empty() {
        page::write(&table);
    }
}

/// The program that is measured.
fn rollgate() -> PathBuf {
    std::env::var_os("ROLLGATE_BIN").map_or_else(|| PathBuf::from(env!("CARGO_BIN_EXE_rollgate")), PathBuf::from)
}

/// A program that is compared with, if it is here.
fn peer(name: &str) -> Option<PathBuf> {
    let named = std::env::var_os(name.to_uppercase()).map(PathBuf::from);
    let path = std::env::var_os("PATH").unwrap_or_default();
    named.or_else(|| std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file()))
}

impl Bench {
    fn write(&self, name: &str, text: &str) -> PathBuf {
        let file = self.folder.join(name);
        std::fs::write(&file, text).expect("the folder can be written");
        file
    }

    /// Measures one row, beside a peer where there is one.
    fn row(
        &mut self,
        what: &str,
        goal: &'static str,
        own: &Call,
        peer: Option<(&'static str, Call)>,
    ) -> Option<Median> {
        if !what.contains(&self.only) {
            return None;
        }
        let turns = self.turns;
        let both: Vec<&Call> = std::iter::once(own).chain(peer.as_ref().map(|(_, call)| call)).collect();
        let measured = in_turns(turns, &both);
        let row = Row {
            what: what.to_owned(),
            goal,
            own: measured[0],
            // Valgrind takes fifty times as long.
            mega_instructions: if measured[0].best < COUNTED { own.instructions() } else { None },
            peer: peer.as_ref().and_then(|(name, _)| Some((*name, *measured.get(1)?))),
            note: String::new(),
        };
        println!("{}", row.line());
        self.rows.push(row);
        Some(measured[0])
    }

    /// Two renders, one as the live side.
    fn renders(&mut self) {
        let pair = |old: &Path, new: &Path| {
            Call::new(rollgate(), &["plan", text(new), "--live", text(old), "--policy", "none", "-o", "json"])
        };
        let dyff =
            |old: &Path, new: &Path| Some(("dyff", Call::new(peer("dyff")?, &["between", text(old), text(new)])));
        let old = self.write("charts.old.yaml", &inputs::charts(CHARTS, "1.31.4"));
        let new = self.write("charts.new.yaml", &inputs::charts(CHARTS, "1.32.0"));
        let what = "plan, two renders of 10 MB, 16 % of the objects changed";
        self.row(what, ">= 20x, <= 75 MiB", &pair(&old, &new), dyff(&old, &new));
        // Whose versions are not known are judged by each that they may be.
        let mut told = pair(&old, &new);
        told.args.extend(TOLD.map(str::to_owned));
        self.row("plan, the same renders, versions of the providers told", "", &told, dyff(&old, &new));
        self.row("plan, the same 10 MB twice: nothing differs", "<= 10 ms", &pair(&old, &old), None);
        let mut smaller = None;
        for megabytes in [10, 100] {
            let old = self.write("all.old.yaml", &inputs::control_planes(megabytes << 20, "55.55.55.55"));
            let new = self.write("all.new.yaml", &inputs::control_planes(megabytes << 20, "10.0.3.7"));
            let what = format!("plan, {megabytes} MB, every control plane changed");
            let peer = dyff(&old, &new).filter(|_| megabytes == 10);
            let goal = if megabytes == 10 { "" } else { "linear: <= 10x of 10 MB" };
            let larger = self.row(&what, goal, &pair(&old, &new), peer);
            if let (Some(small), Some(large), Some(row)) = (smaller, larger, self.rows.last_mut()) {
                let small: Median = small;
                row.note =
                    format!("{:.1}x the time, {:.1}x the memory", large.best / small.best, large.mib / small.mib);
            }
            smaller = smaller.or(larger);
        }
        let largest = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/oracle/cluster-api@v1.14.2.jsonl.gz");
        let (old, new) = recorded::streams(&largest, RECORDED);
        let (old, new) = (self.write("recorded.old.yaml", &old), self.write("recorded.new.yaml", &new));
        let what = format!("plan, {RECORDED} objects that all differ, 53 MB a side");
        self.row(&what, ">= 10x, <= 250 MiB", &pair(&old, &new), dyff(&old, &new));
    }

    /// Fleets from a World in a file.
    fn fleets(&mut self) {
        for (layout, what, goal) in [
            (Layout::Chart, "plan, fleet of 1,000 clusters from a World of 33 MB", "<= 200 ms, <= 150 MiB"),
            (Layout::Class, "plan, a ClusterClass change over 1,000 clusters", "<= 150 ms"),
        ] {
            if !what.contains(&self.only) {
                continue;
            }
            let fleet = file::write(&self.folder, layout, CLUSTERS);
            let own = Call::new(
                rollgate(),
                &[
                    "plan",
                    text(&fleet.new),
                    "--live",
                    text(&fleet.world),
                    "--policy",
                    "none",
                    "-o",
                    "json",
                    "--host",
                    "helm3",
                ],
            );
            let jq = peer("jq").map(|jq| ("jq .", Call::new(jq, &[".", text(&fleet.world)])));
            self.row(what, goal, &own, jq);
        }
    }

    /// A stream without Cluster API objects between two pipes, which is how Helm holds a post-renderer.
    fn passing(&mut self) {
        let plain = self.write("plain.yaml", &inputs::plain(10 << 20));
        let policy = self.write("ten.yaml", &page::ten_late_values());
        // Nobody is asked where nothing has to be known, so that a cluster that cannot be reached does not matter.
        let nowhere = self.write("nowhere.kubeconfig", page::NOWHERE).display().to_string();
        let own = |options: &[&str]| {
            let args: Vec<&str> = std::iter::once("post-render").chain(options.iter().copied()).collect();
            Call::new(rollgate(), &args).between_pipes(&plain).with(&[("KUBECONFIG", nowhere.clone())])
        };
        let policy = text(&policy).to_owned();
        // Without a release that may hold more than the stream, nothing has to be asked.
        let alone = self.write("alone.yaml", page::WITHOUT_RELEASE);
        for (what, options) in [
            ("post-render, 10 MB without Cluster API objects", vec!["--policy", "none", "--live", "none"]),
            ("post-render, the same with ten late values", vec!["--policy", &policy, "--live", "none"]),
            ("post-render, the same with the default --live", vec!["--policy", text(&alone)]),
        ] {
            let cat = Call::new("cat", &[]).between_pipes(&plain);
            self.row(what, "<= 2.5x cat", &own(&options), Some(("cat", cat)));
        }
    }

    /// Start-up, and a plan of one cluster.
    fn small(&mut self) {
        let turns = std::mem::replace(&mut self.turns, 25);
        self.row("start-up (--version)", "<= 1.2 ms, <= 8 MiB", &Call::new(rollgate(), &["--version"]), None);
        let old = self.write("one.old.yaml", &inputs::charts(1, "1.31.4"));
        let new = self.write("one.new.yaml", &inputs::charts(1, "1.32.0"));
        let plan = Call::new(rollgate(), &["plan", text(&new), "--live", text(&old), "--policy", "none"]);
        self.row("plan of one cluster (18 objects)", "<= 2.5 ms, <= 12 MiB", &plan, None);
        self.turns = turns;
    }

    /// One object of an admission review, judged from a warm cache.
    fn review(&mut self) {
        let what = "one object of an admission review, from a warm cache";
        if !what.contains(&self.only) {
            return;
        }
        let review = review::measure();
        let note = format!("p99 {:.0} µs, {} allocations", review.p99 * 1000.0, review.blocks);
        let goal = "p99 <= 150 µs, <= 1,000 allocations";
        let row = Row { what: what.to_owned(), goal, own: review.median, mega_instructions: None, peer: None, note };
        println!("{}", row.line());
        self.rows.push(row);
    }
}

/// A path as an argument.
fn text(path: &Path) -> &str {
    path.to_str().expect("a path of this bench")
}
