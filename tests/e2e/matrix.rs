//! Forecast against observation: many changes to live clusters, each forecast by `rollgate plan`, then written by Helm,
//! then judged by what the controllers do.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::bench::{Bench, Space, bench, say};
use crate::cases::{Case, Objects, kubeadm, rke2, states, topology};
use crate::helm::{Helm, Release, Run};
use crate::observe::{Observation, Sight, observe, wait_for};

const QUIET: Duration = Duration::from_secs(4);
const PATIENCE: Duration = Duration::from_secs(240);
/// Every change, or only those that are told fast and a few rollouts.
const ALL: bool = cfg!(feature = "forecasts");

/// What was foretold and what came.
struct Row {
    name: String,
    forecast: String,
    observed: String,
    /// Machines that are to be replaced, as far as both sides name them.
    machines: (Vec<String>, Vec<String>),
    /// One owner follows the other, as in a topology: what is seen at first is not all that comes.
    in_turn: bool,
    why: String,
}

impl Row {
    /// Prints the row, and what explains it where it does not agree.
    fn tell(&self) {
        let mark = if self.agrees() { " " } else { "!" };
        say(&format!("{mark} {}: forecast {}, observed {}", self.name, self.forecast, self.observed));
        if !self.agrees() {
            say(&format!("    foretold {:?}; {}", self.machines.0, self.why));
        }
    }

    /// Whether the forecast came true. That nothing moves is all that can be seen of a change that is latent.
    fn agrees(&self) -> bool {
        let effect = match (self.forecast.as_str(), self.observed.as_str()) {
            ("latent", "none") => true,
            (forecast, observed) => forecast == observed,
        };
        let (foretold, outdated) = &self.machines;
        let machines = if self.in_turn {
            !outdated.is_empty() && outdated.iter().all(|name| foretold.contains(name))
        } else {
            foretold == outdated
        };
        effect && (self.forecast != "rollout" || machines)
    }
}

/// A cluster and what is done to it.
struct Play {
    name: &'static str,
    base: fn() -> Objects,
    cases: &'static [Case],
    /// Machines that run when it is up, and how many of them the controllers call available.
    machines: usize,
    available: usize,
}

/// Plays that follow each other; each group has a thread for each Helm.
/// The states are played with every change only: they were written without a bench at hand and wait for their first play.
const GROUPS: &[&[&str]] =
    if ALL { &[&["kubeadm"], &["topology", "rke2"], &["states"]] } else { &[&["kubeadm"], &["topology", "rke2"]] };

const PLAYS: [Play; 4] = [
    Play { name: "kubeadm", base: kubeadm::objects, cases: kubeadm::CASES, machines: 3, available: 3 },
    Play { name: "states", base: kubeadm::objects, cases: states::CASES, machines: 3, available: 3 },
    Play { name: "rke2", base: rke2::objects, cases: rke2::CASES, machines: 1, available: 0 },
    Play { name: "topology", base: topology::objects, cases: topology::CASES, machines: 2, available: 2 },
];

/// A cluster that changes are made to.
struct Stage<'a> {
    space: &'a Space,
    release: Release<'a>,
    base: Objects,
    play: &'a Play,
}

impl<'a> Stage<'a> {
    /// Installs the objects and waits for their Machines.
    fn new(space: &'a Space, chart: &'a Path, helm: Helm, play: &'a Play) -> Self {
        copy_chart(chart);
        let policy = space.file("rollgate.yaml", "apiVersion: rollgate.dev/v1alpha1\nkind: Policy\n");
        let chart = chart.to_str().expect("the path is UTF-8");
        let release = Release { space, helm, name: "demo", chart, values: Vec::new(), policy };
        let stage = Self { space, release, base: (play.base)(), play };
        stage.render(&stage.base);
        stage.release.install_ungated(&[]).succeeded();
        stage.wait();
        stage
    }

    fn render(&self, objects: &Objects) {
        let values = json!({"objects": objects.values().collect::<Vec<_>>()});
        fs::write(Path::new(self.release.chart).join("values.yaml"), values.to_string())
            .expect("the values can be written");
    }

    /// Waits until the cluster is as the base wants it and nothing moves.
    fn wait(&self) {
        loop {
            let sight = wait_for(self.space, "all Machines up to date", PATIENCE, |sight| self.fits(sight));
            if self.rests(&sight) {
                return;
            }
        }
    }

    fn fits(&self, sight: &Sight) -> bool {
        let (running, available) = sight.running();
        let all = running == self.play.machines && sight.all("machines").count() == running;
        all && available >= self.play.available && sight.settled() && !sight.until(sight).rolls()
    }

    /// Whether the cluster still fits a moment later and nothing has moved.
    fn rests(&self, sight: &Sight) -> bool {
        std::thread::sleep(Duration::from_secs(2));
        let later = Sight::of(self.space);
        self.fits(&later) && sight.until(&later).in_place.is_empty()
    }

    /// Forecasts a change, makes it and looks.
    fn act(&self, case: &Case) -> Row {
        if let Some(state) = case.state(&self.base) {
            self.render(&state);
            self.release.upgrade_ungated(&[]).succeeded();
            std::thread::sleep(QUIET);
        }
        let objects = case.apply(&self.base);
        self.render(&objects);
        let (_, report) = self.release.forecast(&[]);
        // Where work waits, health checks and errors that are tried again take their time.
        let waits = self.play.name == "states";
        let quiet = if waits { 5 * QUIET } else { QUIET };
        let (run, seen) = observe(self.space, quiet, || self.release.upgrade_ungated(&[]));
        let observed = observed(&run, &seen, &objects, waits);
        let foretold = names(&report);
        // CAPRKE2 names the control plane and not its Machines.
        let outdated = if self.play.name == "rke2" {
            foretold.clone()
        } else {
            let mut names = [seen.outdated.clone(), seen.lost.clone()].concat();
            // What a health check has replaced was never outdated.
            names.extend(seen.deleted.iter().filter(|_| waits).cloned());
            names.sort();
            names.dedup();
            names
        };
        let why = reason(&report, &run, &seen);
        let forecast = report["effect"].as_str().unwrap_or("(no effect)").to_owned();
        let name = format!("{} ({})", case.name, self.release.helm.name());
        let in_turn = self.play.name == "topology";
        Row { name, forecast, observed, machines: (foretold, outdated), in_turn, why }
    }

    /// Takes the change back. Not every one can be: what it has broken the next change must not meet.
    fn restore(&self) -> bool {
        self.render(&self.base);
        if self.release.upgrade_ungated(&[]).code != Some(0) {
            return false;
        }
        let began = Instant::now();
        while began.elapsed() < PATIENCE / 2 {
            let sight = Sight::of(self.space);
            if self.fits(&sight) && self.rests(&sight) {
                return true;
            }
            std::thread::sleep(Duration::from_millis(500));
        }
        false
    }
}

fn copy_chart(to: &Path) {
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/e2e/charts/objects");
    fs::create_dir_all(to.join("templates")).expect("the chart's folder can be made");
    for file in ["Chart.yaml", "templates/objects.yaml"] {
        fs::copy(from.join(file), to.join(file)).expect("the chart can be copied");
    }
}

/// The effect that the controllers showed. A Machine that its owner no longer finds is replaced by the one that is made for
/// it, though it runs on; where none is made, no effect but unknown tells that.
fn observed(run: &Run, seen: &Observation, objects: &Objects, waits: bool) -> String {
    let heals = waits;
    let waits = waits && seen.deleted.is_empty();
    let on_delete =
        waits || objects.get("md").is_some_and(|md| md["spec"]["rollout"]["strategy"]["type"] == "OnDelete");
    let word = if run.code != Some(0) {
        "rejected"
    } else if !seen.lost.is_empty() {
        if seen.created.is_empty() { "unknown" } else { "rollout" }
    } else if !seen.outdated.is_empty() && seen.created.is_empty() && on_delete {
        "latent"
    } else if !seen.outdated.is_empty() || (!seen.created.is_empty() && !seen.deleted.is_empty()) {
        "rollout"
    } else if !seen.created.is_empty() {
        "scale"
    } else if !seen.deleted.is_empty() && heals {
        // No case of these makes an owner smaller: a new Machine comes once the old one has gone.
        "rollout"
    } else if !seen.deleted.is_empty() {
        let gone =
            ["md", "ms"].iter().any(|owner| objects.get(owner).is_none_or(|owner| owner["spec"]["replicas"] == 0));
        if gone { "delete" } else { "scale" }
    } else if seen.in_place.is_empty() {
        "none"
    } else {
        "in-place"
    };
    word.to_owned()
}

/// Machines that the report says will be replaced.
fn names(report: &Value) -> Vec<String> {
    let rollouts = report["rollouts"].as_array().into_iter().flatten();
    let machines = rollouts.flat_map(|rollout| rollout["machineNames"].as_array().into_iter().flatten());
    sorted(machines.filter_map(|name| name.as_str().map(str::to_owned)).collect())
}

fn sorted(mut names: Vec<String>) -> Vec<String> {
    names.sort();
    names
}

/// What explains a disagreement.
fn reason(report: &Value, run: &Run, seen: &Observation) -> String {
    let changes = report["objects"].as_array().into_iter().flatten().flat_map(|object| {
        let kind = object["kind"].as_str().unwrap_or_default().to_owned();
        let own = format!("{kind} {} {}", object["action"], object["effect"]);
        let changes = object["changes"].as_array().into_iter().flatten();
        let changes =
            changes.map(move |change| format!("{kind} {} {} by {}", change["path"], change["effect"], change["rule"]));
        std::iter::once(own).chain(changes)
    });
    let failure = run.stderr.lines().find(|line| line.contains("Error") || line.contains("denied")).unwrap_or_default();
    format!(
        "said {:?}; saw in place {:?}, outdated {:?}, made {:?}, deleted {:?} {failure}",
        changes.collect::<Vec<_>>(),
        seen.in_place,
        seen.outdated,
        seen.created,
        seen.deleted
    )
}

/// The changes that are known to be forecast wrongly, with a reason each.
fn known_differences() -> BTreeMap<String, String> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/e2e/known-differences.toml");
    let text = fs::read_to_string(file).expect("known-differences.toml can be read");
    let entry = |line: &str| {
        let (name, reason) = line.split_once(" = ")?;
        Some((name.trim().trim_matches('"').to_owned(), reason.trim().trim_matches('"').to_owned()))
    };
    text.lines().filter(|line| line.starts_with('"')).filter_map(entry).collect()
}

/// Rows: forecast; columns: observed.
fn confusion(rows: &[Row]) -> String {
    let effects = ["none", "in-place", "scale", "latent", "rollout", "rejected", "delete", "unknown"];
    let mut table = format!("{:>22}", "forecast \\ observed");
    for effect in effects {
        write!(table, "{effect:>10}").expect("a string takes it");
    }
    for forecast in effects {
        write!(table, "\n{forecast:>22}").expect("a string takes it");
        for observed in effects {
            let count = rows.iter().filter(|row| row.forecast == forecast && row.observed == observed).count();
            let cell = if count == 0 { "·".to_owned() } else { count.to_string() };
            write!(table, "{cell:>10}").expect("a string takes it");
        }
    }
    table
}

/// Plays every second case of some plays, from the given one on, with one Helm. `ROLLGATE_E2E_CASE` picks those whose name
/// holds it, or the play of that name, the long ones too.
fn half(bench: &'static Bench, helm: Helm, from: usize, plays: &[&str], rows: &Mutex<Vec<Row>>) {
    let only = std::env::var("ROLLGATE_E2E_CASE").unwrap_or_default();
    for play in PLAYS.iter().filter(|play| plays.contains(&play.name)) {
        let cases = play.cases.iter().skip(from).step_by(2).filter(|case| ALL || !case.long || !only.is_empty());
        let mut mine = cases.filter(|case| play.name == only || case.name.contains(&only)).peekable();
        let mut number = 0;
        while mine.peek().is_some() {
            let space = Space::new(bench, &format!("matrix-{}-{}-{number}", play.name, helm.name()));
            let chart = space.dir.join("chart");
            let stage = Stage::new(&space, &chart, helm, play);
            for case in mine.by_ref() {
                let row = stage.act(case);
                row.tell();
                rows.lock().expect("no thread panics while it holds the rows").push(row);
                if !stage.restore() {
                    say(&format!("    {} cannot be taken back; the next change gets a new cluster", case.name));
                    break;
                }
            }
            number += 1;
        }
    }
}

#[test]
fn forecasts_come_true() {
    let Some(bench) = bench() else { return };
    let rows = Mutex::new(Vec::new());
    let ended = std::thread::scope(|scope| {
        let halves = GROUPS.iter().flat_map(|plays| [(plays, Helm::V3, 0), (plays, Helm::V4, 1)]);
        let rows = &rows;
        let threads: Vec<_> =
            halves.map(|(plays, helm, from)| scope.spawn(move || half(bench, helm, from, plays, rows))).collect();
        threads.into_iter().map(|thread| thread.join().is_ok()).filter(|ended| *ended).count()
    });
    let rows = rows.into_inner().expect("no thread panics while it holds the rows");
    say(&confusion(&rows));
    let agreed = rows.iter().filter(|row| row.agrees()).count();
    say(&format!("{agreed} of {} forecasts came true", rows.len()));
    assert_eq!(ended, 2 * GROUPS.len(), "a thread stopped; see above");
    let known = known_differences();
    let surprise = |row: &&Row| row.agrees() == known.contains_key(&row.name);
    let surprises: Vec<_> = rows.iter().filter(surprise).map(|row| &row.name).collect();
    assert!(surprises.is_empty(), "new, or no longer so, in tests/e2e/known-differences.toml: {surprises:#?}");
    let picked = std::env::var("ROLLGATE_E2E_CASE").is_ok();
    assert!(picked || rows.len() >= 40, "only {} changes were compared", rows.len());
}
