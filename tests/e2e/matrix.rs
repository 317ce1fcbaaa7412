//! Forecast against observation: many changes to live clusters, each forecast by `rollgate plan`, then written by Helm,
//! then judged by what the controllers do.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::sync::Mutex;
use std::time::Duration;

use serde_json::{Value, json};

use crate::bench::{Space, bench, say};
use crate::cases::{Case, Objects, kubeadm, rke2, topology};
use crate::helm::{Helm, Release, Run};
use crate::observe::{Observation, Sight, observe, wait_for};

const QUIET: Duration = Duration::from_secs(4);
const PATIENCE: Duration = Duration::from_secs(240);

/// What was foretold and what came.
struct Row {
    name: String,
    forecast: String,
    observed: String,
    /// Machines that are to be replaced, as far as both sides name them.
    machines: (Vec<String>, Vec<String>),
    why: String,
}

impl Row {
    /// Whether the forecast came true. That nothing moves is all that can be seen of a change that is latent.
    fn agrees(&self) -> bool {
        let effect = match (self.forecast.as_str(), self.observed.as_str()) {
            ("latent", "none") => true,
            (forecast, observed) => forecast == observed,
        };
        effect && (self.forecast != "rollout" || self.machines.0 == self.machines.1)
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

const PLAYS: [Play; 3] = [
    Play { name: "kubeadm", base: kubeadm::objects, cases: kubeadm::CASES, machines: 3, available: 3 },
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
        let fit = |sight: &Sight| {
            let (running, available) = sight.running();
            let all = running == self.play.machines && sight.all("machines").count() == running;
            all && available >= self.play.available && sight.settled() && !sight.until(sight).rolls()
        };
        loop {
            let sight = wait_for(self.space, "all Machines up to date", PATIENCE, fit);
            std::thread::sleep(Duration::from_secs(2));
            let later = Sight::of(self.space);
            if fit(&later) && sight.until(&later).in_place.is_empty() {
                return;
            }
        }
    }

    /// Forecasts a change, makes it, looks, and takes it back.
    fn act(&self, case: &Case) -> Row {
        let objects = case.apply(&self.base);
        self.render(&objects);
        let (_, report) = self.release.forecast(&[]);
        let (run, seen) = observe(self.space, QUIET, || self.release.upgrade_ungated(&[]));
        let observed = observed(&run, &seen, &objects);
        let foretold = names(&report);
        // CAPRKE2 names the control plane and not its Machines.
        let outdated = if self.play.name == "rke2" { foretold.clone() } else { sorted(seen.outdated.clone()) };
        let why = reason(&report, &run, &seen);
        let forecast = report["effect"].as_str().unwrap_or("(no effect)").to_owned();
        let row = Row { name: case.name.to_owned(), forecast, observed, machines: (foretold, outdated), why };
        self.render(&self.base);
        self.release.upgrade_ungated(&[]).succeeded();
        self.wait();
        row
    }
}

fn copy_chart(to: &Path) {
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/e2e/charts/objects");
    fs::create_dir_all(to.join("templates")).expect("the chart's folder can be made");
    for file in ["Chart.yaml", "templates/objects.yaml"] {
        fs::copy(from.join(file), to.join(file)).expect("the chart can be copied");
    }
}

/// The effect that the controllers showed.
fn observed(run: &Run, seen: &Observation, objects: &Objects) -> String {
    let on_delete = objects.get("md").is_some_and(|md| md["spec"]["rollout"]["strategy"]["type"] == "OnDelete");
    let word = if run.code != Some(0) {
        "rejected"
    } else if !seen.outdated.is_empty() && seen.created.is_empty() && on_delete {
        "latent"
    } else if !seen.outdated.is_empty() || (!seen.created.is_empty() && !seen.deleted.is_empty()) {
        "rollout"
    } else if !seen.created.is_empty() {
        "scale"
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

/// Plays every second case of each play, from the given one on, with one Helm. `ROLLGATE_E2E_CASE` picks those whose name
/// holds it.
fn half(helm: Helm, from: usize, rows: &Mutex<Vec<Row>>) {
    let Some(bench) = bench() else { return };
    let only = std::env::var("ROLLGATE_E2E_CASE").unwrap_or_default();
    for play in &PLAYS {
        let mine = play.cases.iter().skip(from).step_by(2).filter(|case| case.name.contains(&only));
        let mine: Vec<_> = mine.collect();
        if mine.is_empty() {
            continue;
        }
        let space = Space::new(bench, &format!("matrix-{}-{}", play.name, helm.name()));
        let chart = space.dir.join("chart");
        let stage = Stage::new(&space, &chart, helm, play);
        for case in mine {
            let mut row = stage.act(case);
            row.name = format!("{} ({})", row.name, helm.name());
            let mark = if row.agrees() { " " } else { "!" };
            say(&format!("{mark} {}: forecast {}, observed {}", row.name, row.forecast, row.observed));
            if !row.agrees() {
                say(&format!("    {}", row.why));
            }
            rows.lock().expect("no test panics here").push(row);
        }
    }
}

#[test]
fn forecasts_come_true() {
    if bench().is_none() {
        return;
    }
    let rows = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        scope.spawn(|| half(Helm::V3, 0, &rows));
        scope.spawn(|| half(Helm::V4, 1, &rows));
    });
    let rows = rows.into_inner().expect("both halves have ended");
    say(&confusion(&rows));
    let agreed = rows.iter().filter(|row| row.agrees()).count();
    say(&format!("{agreed} of {} forecasts came true", rows.len()));
    let known = known_differences();
    let surprise = |row: &&Row| row.agrees() == known.contains_key(&row.name);
    let surprises: Vec<_> = rows.iter().filter(surprise).map(|row| &row.name).collect();
    assert!(surprises.is_empty(), "new, or no longer so, in tests/e2e/known-differences.toml: {surprises:#?}");
}
