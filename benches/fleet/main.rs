//! What a fleet costs, against peers: `cargo bench --bench fleet`.
//!
//! For 100, 300 and 1,000 made clusters (ROLLGATE_FLEET_SIZES=100,300,1000) of 20 objects each, a chart change and a ClusterClass
//! change that touch every one of them are planned from a World in a file, beside `jq .` of that file; and, where the bench is
//! built (`make bench`), online from a real API server that holds the fleet, beside `kubectl diff` of the same stream up to
//! ROLLGATE_FLEET_DIFF clusters (100; 0 leaves it out). ROLLGATE_FLEET_DIR keeps the files in a folder. Growth is the time for each cluster against that of the smallest fleet.

#![expect(clippy::print_stdout, reason = "a bench is its output.")]

mod cost;
mod file;
mod fill;
mod objects;
mod online;
#[path = "../../tests/bench/starter.rs"]
mod starter;

use std::collections::BTreeMap;
use std::path::PathBuf;

use cost::{Cost, cost};
use file::Fleet;
use objects::Layout;

fn main() {
    let temporary = tempfile::tempdir().expect("a temporary folder");
    let folder = std::env::var_os("ROLLGATE_FLEET_DIR").map_or_else(|| temporary.path().to_owned(), PathBuf::from);
    let sizes = sizes("ROLLGATE_FLEET_SIZES", &[100, 300, 1000]);
    println!("{:<52} {:>9} {:>9} {:>10} {:>8}", "what", "ms", "MiB", "of smaller", "ratio");
    for layout in Layout::BOTH {
        let mut smaller = Smaller::default();
        for clusters in &sizes {
            let fleet = file::write(&folder, layout, *clusters);
            from_file(&fleet, &mut smaller);
            online::measure(&fleet, &mut smaller);
        }
    }
}

/// Numbers from the environment, else the usual ones.
pub(crate) fn sizes(variable: &str, usual: &[usize]) -> Vec<usize> {
    let told = std::env::var(variable).unwrap_or_default();
    let told: Vec<usize> = told.split(',').filter_map(|word| word.trim().parse().ok()).collect();
    if told.is_empty() { usual.to_vec() } else { told }
}

/// The program that is measured: this build's, or another one (ROLLGATE_BIN).
pub(crate) fn rollgate() -> PathBuf {
    std::env::var_os("ROLLGATE_BIN").map_or_else(|| PathBuf::from(env!("CARGO_BIN_EXE_rollgate")), PathBuf::from)
}

/// The time for each cluster in the smallest fleet, by what was measured.
#[derive(Default)]
pub(crate) struct Smaller(BTreeMap<&'static str, f64>);

impl Smaller {
    /// Prints a line: growth against the smallest fleet, and the ratio of a peer.
    pub(crate) fn row(&mut self, what: &'static str, fleet: &Fleet, cost: Cost, ratio: Option<f64>) {
        let milliseconds = cost.time.as_secs_f64() * 1000.0;
        let each = milliseconds / fleet.clusters as f64;
        let growth = each / *self.0.entry(what).or_insert(each);
        let ratio = ratio.map_or_else(String::new, |ratio| format!("{ratio:.1}x"));
        let what = format!("{what}, {} of {} clusters", fleet.layout.word(), fleet.clusters);
        println!("{what:<52} {milliseconds:>9.0} {:>9.1} {growth:>9.2}x {ratio:>8}", cost.kib as f64 / 1024.0);
    }
}

/// Plans from the file, and lets jq read the file.
fn from_file(fleet: &Fleet, smaller: &mut Smaller) {
    let (new, world) = (fleet.new.display().to_string(), fleet.world.display().to_string());
    let args = ["plan", &new, "--live", &world, "--policy", "none", "-o", "json", "--host", "helm3"];
    let plan = cost(3, &rollgate(), &args, None, &[]);
    smaller.row("plan from a file", fleet, plan, None);
    if let Some(jq) = on_path("jq") {
        let peer = cost(3, &jq, &[".", &world], None, &[]);
        smaller.row("jq . of the file", fleet, peer, Some(peer.time.as_secs_f64() / plan.time.as_secs_f64()));
    }
}

/// A program on PATH.
fn on_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file())
}
