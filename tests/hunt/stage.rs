//! A cluster that a walk goes through: it is written to by a real host and watched.

mod beside;
mod forecast;

pub(crate) use forecast::Forecast;

use std::collections::BTreeSet;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::bench::{Bench, Space};
use crate::helm::{Helm, Release, Run};
use crate::lookout::Lookout;
use crate::objects::{Objects, Shape, text};
use crate::observe::{OWNERS, Sight, condition, going};
use crate::servers;
use crate::steps::Way;

/// Nothing has moved for so long: the controllers have done what they do.
const QUIET: Duration = Duration::from_secs(5);
/// What is paused never says that it has seen a write; so long without a move then counts. It counts too where Machines are on
/// their way or out of date, once every controller was made to look again, which each would do by itself after 10 to 30 seconds.
const QUIET_UNSEEN: Duration = Duration::from_secs(8);
/// So long where a controller has not looked at an owner yet that nothing keeps it from: what fails at its preflight checks comes back
/// after 15 seconds.
const QUIET_AWAITED: Duration = Duration::from_secs(20);
/// Where nothing has moved for so long and something is unfinished, every controller is made to look again.
const STUCK: Duration = Duration::from_secs(4);
/// So long a change is watched at most.
const PATIENCE: Duration = Duration::from_secs(120);

/// Who writes the release.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Writer {
    Helm3,
    Helm4,
    Kubectl,
    KubectlServerSide,
}

impl Writer {
    pub(crate) const ALL: [Self; 4] = [Self::Helm3, Self::Helm4, Self::Kubectl, Self::KubectlServerSide];

    const fn helm(self) -> Option<Helm> {
        match self {
            Self::Helm3 => Some(Helm::V3),
            Self::Helm4 => Some(Helm::V4),
            Self::Kubectl | Self::KubectlServerSide => None,
        }
    }
}

/// What came.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outcome {
    /// What the host said, where it failed.
    pub(crate) refused: Option<String>,
    /// Machines that were there and are gone, are being deleted or were lost by their owner.
    pub(crate) gone: BTreeSet<String>,
    /// Owners that were there and are gone or being deleted: their Machines go with them, a control plane's once no workers are left.
    pub(crate) leaving: BTreeSet<String>,
    /// Machines that were made.
    pub(crate) made: BTreeSet<String>,
    /// Machines and RKE2 control planes that their owner calls outdated now and did not before.
    pub(crate) outdated: BTreeSet<String>,
    /// What was outdated or on its way out before the write: its turn comes with the write or without it.
    pub(crate) due: BTreeSet<String>,
    /// Whether the address of the control plane was taken away or became another one.
    pub(crate) cut: bool,
    /// Whether the write came while an earlier one was still being carried out.
    pub(crate) met: bool,
    /// Whether it all came to rest while it was watched.
    pub(crate) rested: bool,
    /// How long the host wrote.
    pub(crate) written: Duration,
}

/// A cluster, its writer and what was written.
pub(crate) struct Stage<'a> {
    pub(crate) space: Space,
    pub(crate) writer: Writer,
    pub(crate) objects: Objects,
    lookout: &'a Lookout,
    policy: PathBuf,
    chart: PathBuf,
    /// Whether the last write was still being carried out when it was looked at last.
    under_way: bool,
    /// What was foretold of writes that are still being carried out: it comes whatever is written next.
    announced: BTreeSet<String>,
    /// The Machines that were there before the last write: what came since is a part of what is being carried out.
    older: BTreeSet<String>,
    /// Whether the record of the release is lost.
    forgotten: bool,
    /// Who looks after its servers does so as long as this is here.
    in_use: Arc<()>,
}

/// What marks hidden values in all runs, so that a report and that of a snapshot can be compared.
const KEY: &str = "the key of the hunt, the same in all its runs";

impl<'a> Stage<'a> {
    /// Installs a cluster and waits for its Machines; `None` where they do not come.
    pub(crate) fn new(
        bench: &'static Bench,
        name: &str,
        lookout: &'a Lookout,
        shape: Shape,
        writer: Writer,
    ) -> Option<Self> {
        let space = Space::new(bench, name);
        let policy = space.file("rollgate.yaml", "apiVersion: rollgate.dev/v1alpha1\nkind: Policy\n");
        let chart = space.dir.join("chart");
        let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/e2e/charts/objects");
        fs::create_dir_all(chart.join("templates")).expect("the chart's folder can be made");
        for file in ["Chart.yaml", "templates/objects.yaml"] {
            fs::copy(from.join(file), chart.join(file)).expect("the chart can be copied");
        }
        let mut stage = Self {
            space,
            writer,
            objects: shape.objects(),
            lookout,
            policy,
            chart,
            under_way: false,
            announced: BTreeSet::new(),
            older: BTreeSet::new(),
            forgotten: false,
            in_use: Arc::default(),
        };
        if let Shape::Rke2Servers(_) = shape {
            let used = Arc::downgrade(&stage.in_use);
            servers::serve(bench, stage.space.namespace.clone(), move || used.strong_count() == 0);
        }
        let run = stage.write("install", &stage.objects, Way::Plain);
        if run.code != Some(0) {
            return None;
        }
        let began = Instant::now();
        while began.elapsed() < 2 * PATIENCE * strain() {
            let sight = stage.sight();
            let (running, _) = sight.running();
            if running == shape.machines() && sight.all("machines").count() == running && sight.settled() {
                stage.rest();
                return Some(stage);
            }
        }
        None
    }

    /// Remembers what was foretold of the last write for as long as it is being carried out: workers of a topology wait for the control
    /// plane, and then for each other, and in between nothing moves.
    pub(crate) fn announce(&mut self, names: impl Iterator<Item = String>, gone: &BTreeSet<String>) {
        let goes_on = !self.announced.is_disjoint(gone);
        if !self.under_way && !goes_on {
            self.announced.clear();
        }
        self.announced.extend(names);
        let has_begun = goes_on || !self.announced.is_disjoint(gone);
        self.announced.retain(|name| !gone.contains(name));
        self.under_way |= has_begun && !self.announced.is_empty();
    }

    /// Whether the last write is still being carried out.
    pub(crate) const fn is_under_way(&self) -> bool {
        self.under_way
    }

    /// What the namespace holds.
    pub(crate) fn sight(&self) -> Sight {
        self.lookout.of(&self.space.namespace)
    }

    /// Waits until nothing moves; `false` where it does not come to that.
    pub(crate) fn rest(&mut self) -> bool {
        self.under_way = !self.rests();
        !self.under_way
    }

    fn rests(&self) -> bool {
        self.watch(self.sight(), |_| false)
    }

    /// Looks until nothing moves any more, or until it is said of what is seen that it is enough; `true` where nothing moves.
    fn watch(&self, from: Sight, mut is_enough: impl FnMut(&Sight) -> bool) -> bool {
        let began = Instant::now();
        let (mut last, mut still, mut nudged) = (from, Instant::now(), None);
        while began.elapsed() < PATIENCE * strain() {
            let now = self.sight();
            if is_enough(&now) {
                return false;
            }
            // What moves within a moment of the nudge is the nudge.
            let is_nudge = nudged.is_some_and(|at: Instant| at.elapsed() < Duration::from_secs(1));
            if now != last {
                (last, still) = (now, Instant::now());
                nudged = nudged.filter(|_| is_nudge);
                continue;
            }
            let unfinished = is_unfinished(&last);
            let quiet = match () {
                () if is_awaited(&last) => QUIET_AWAITED,
                () if unfinished || !last.settled() => QUIET_UNSEEN,
                () => QUIET,
            };
            if still.elapsed() >= quiet * strain() && (nudged.is_some() || !unfinished) {
                return true;
            }
            if unfinished && nudged.is_none() && still.elapsed() >= STUCK * strain() {
                self.nudge();
                nudged = Some(Instant::now());
            }
        }
        false
    }

    fn run(&self, program: &mut Command, input: &str) -> Run {
        self.run_as(&self.space.bench.kubeconfig, program, input)
    }

    fn run_as(&self, kubeconfig: &Path, program: &mut Command, input: &str) -> Run {
        let program = program.env("KUBECONFIG", kubeconfig).env("ROLLGATE_KEY", KEY).current_dir(&self.space.dir);
        let mut child = program
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program runs");
        let mut pipe = child.stdin.take().expect("stdin is a pipe");
        // A program that refuses at once does not read to the end.
        drop(pipe.write_all(input.as_bytes()));
        drop(pipe);
        Run::of(child.wait_with_output().expect("the program ends"))
    }

    /// Lets the host write.
    fn write(&self, verb: &str, objects: &Objects, way: Way) -> Run {
        if let Some(helm) = self.writer.helm() {
            let values = json!({"objects": objects.values().collect::<Vec<_>>()});
            fs::write(self.chart.join("values.yaml"), values.to_string()).expect("the values can be written");
            let chart = self.chart.to_str().expect("a path");
            let release = Release {
                space: &self.space,
                helm,
                name: "demo",
                chart,
                values: Vec::new(),
                policy: self.policy.clone(),
            };
            let force = match (helm, way) {
                (_, Way::Plain) => &[] as &[&str],
                (Helm::V3, Way::Replace) => &["--force"],
                (Helm::V4, Way::Replace) => &["--force-replace", "--server-side=false"],
            };
            return release.run_with(verb, &[], force);
        }
        let mut kubectl = Command::new(self.space.bench.bin.join("kubectl"));
        let arguments: &[&str] = match (self.writer, way) {
            (_, Way::Replace) => &["replace", "-f", "-"],
            (Writer::KubectlServerSide, _) => &["apply", "--server-side", "-f", "-"],
            _ => &["apply", "-f", "-"],
        };
        kubectl.args(arguments).args(["--namespace", &self.space.namespace]).env("HOME", &self.space.dir);
        self.run(&mut kubectl, &Self::stream(objects))
    }

    /// Writes and watches: until nothing moves, or, where the next write is to meet it under way, until it has begun.
    pub(crate) fn act(&mut self, objects: Objects, way: Way, hurried: bool) -> Outcome {
        let before = self.sight();
        let outdated_before: BTreeSet<String> = before.until(&before).outdated.into_iter().collect();
        let verb = if self.forgotten { "install" } else { "upgrade" };
        let began = Instant::now();
        let run = self.write(verb, &objects, way);
        let written = began.elapsed();
        self.forgotten &= run.code != Some(0) && self.records().is_empty();
        let refused = (run.code != Some(0)).then(|| run.stderr.trim().to_owned());
        let class = |objects: &Objects| objects.get("ClusterClass/class").cloned();
        let wakes = class(&self.objects) != class(&objects) || topology(&before) != topology(&self.sight());
        if refused.is_none() {
            self.objects = objects;
        }
        let going = before.all("machines").filter(|machine| going(machine).is_some());
        let mut due: BTreeSet<String> =
            going.map(|machine| text(&machine["metadata"]["name"])).chain(outdated_before.iter().cloned()).collect();
        if self.under_way {
            let there = before.all("machines").map(|machine| text(&machine["metadata"]["name"]));
            due.extend(there.filter(|name| !self.older.contains(name)).chain(self.announced.iter().cloned()));
        }
        // Where this write gives the controller of topologies nothing to look at, what waits for it comes with the poke alone.
        if self.under_way || !wakes {
            due.extend(behind(&before));
        }
        let doomed = doomed(&before);
        let met = self.under_way || !doomed.is_empty();
        due.extend(doomed);
        let mut outcome = Outcome { refused, due, met, written, ..Outcome::default() };
        self.poke();
        let known = address(&before);
        let mut moved = None;
        let rested = self.watch(before.clone(), |now| {
            note(&before, now, &outdated_before, &mut outcome);
            outcome.cut |= known.is_some() && known != address(now);
            let moves = !outcome.gone.is_empty() || !outcome.outdated.is_empty();
            let since: Option<&mut Instant> = moves.then(|| moved.get_or_insert_with(Instant::now));
            hurried && since.is_some_and(|since| since.elapsed() > Duration::from_secs(3))
        });
        outcome.rested = rested;
        // A rollout that has begun and stands still for a while goes on with whatever comes next.
        let is_half_done = !outcome.gone.is_empty() && !outcome.outdated.is_subset(&outcome.gone);
        self.under_way = !outcome.rested || is_half_done;
        self.older = before.all("machines").map(|machine| text(&machine["metadata"]["name"])).collect();
        outcome
    }

    fn path(&self, group_version: &str, resource: &str, name: &str) -> String {
        format!("/apis/{group_version}/namespaces/{}/{resource}/{name}", self.space.namespace)
    }
}

/// The Machines that a health check replaces by their annotation, whoever writes what: it selected them before.
fn doomed(before: &Sight) -> BTreeSet<String> {
    let marked = before
        .all("machines")
        .filter(|machine| machine["metadata"]["annotations"].get("cluster.x-k8s.io/remediate-machine").is_some());
    let targets: BTreeSet<String> = before
        .all("machinehealthchecks")
        .flat_map(|check| check["status"]["targets"].as_array().into_iter().flatten().map(text))
        .collect();
    marked.map(|machine| text(&machine["metadata"]["name"])).filter(|name| targets.contains(name)).collect()
}

/// All that the controller of topologies watches but the class, as it was written last.
fn topology(sight: &Sight) -> Vec<&Value> {
    let watched = ["clusters", "kubeadmcontrolplanes", "machinedeployments"];
    watched
        .into_iter()
        .flat_map(|resource| sight.all(resource))
        .map(|object| &object["metadata"]["resourceVersion"])
        .collect()
}

/// The Machines that the topology of their cluster wants at another version: each group waits for the one before it.
fn behind(before: &Sight) -> BTreeSet<String> {
    let wanted = before.all("clusters").find_map(|cluster| cluster["spec"]["topology"]["version"].as_str());
    let machines = before.all("machines").filter(|machine| machine["spec"]["version"].as_str() != wanted);
    machines.filter(|_| wanted.is_some()).map(|machine| text(&machine["metadata"]["name"])).collect()
}

/// The address of the control plane.
fn address(sight: &Sight) -> Option<String> {
    let cluster = sight.all("clusters").next()?;
    let host = &cluster["spec"]["controlPlaneEndpoint"]["host"];
    host.is_string().then(|| format!("{host}:{}", cluster["spec"]["controlPlaneEndpoint"]["port"]))
}

/// Whether the controller of an owner has not looked at it yet, although nothing keeps it from that.
fn is_awaited(sight: &Sight) -> bool {
    let is_free = |owner: &&Value| condition(owner, "Paused").is_some_and(|paused| paused["status"] == "False");
    OWNERS
        .iter()
        .flat_map(|(_, resource)| sight.all(resource))
        .filter(is_free)
        .any(|owner| owner["status"]["observedGeneration"].as_i64() < owner["metadata"]["generation"].as_i64())
}

/// Whether Machines are on their way, out of date or sick: on a busy machine a health check and then the owner need a while for what
/// they see.
fn is_unfinished(sight: &Sight) -> bool {
    let (running, _) = sight.running();
    let is_sick = |machine: &Value| condition(machine, "Sick").is_some_and(|sick| sick["status"] == "True");
    running < sight.all("machines").count()
        || !sight.until(sight).outdated.is_empty()
        || sight.all("machines").any(is_sick)
}

/// How many times as long everything takes as on a machine that has little else to do.
fn strain() -> u32 {
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load: f64 = load.split(' ').next().and_then(|load| load.parse().ok()).unwrap_or_default();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    match load / f64::from(u32::try_from(cores).unwrap_or(1)) {
        ..4.0 => 1,
        ..8.0 => 2,
        _ => 3,
    }
}

/// Adds to an outcome what a later sight shows.
fn note(before: &Sight, now: &Sight, outdated_before: &BTreeSet<String>, outcome: &mut Outcome) {
    let seen = before.until(now);
    let was_going: BTreeSet<String> = before
        .all("machines")
        .filter(|machine| going(machine).is_some())
        .map(|machine| text(&machine["metadata"]["name"]))
        .collect();
    let there: BTreeSet<String> = now.all("machines").map(|machine| text(&machine["metadata"]["name"])).collect();
    // A Machine whose deletion had begun is gone by this write only when it goes now.
    let gone =
        seen.deleted.into_iter().chain(seen.lost).filter(|name| !was_going.contains(name) || !there.contains(name));
    outcome.gone.extend(gone);
    for (_, resource) in OWNERS {
        let stays = |name: &str| now.all(resource).any(|it| it["metadata"]["name"] == name && going(it).is_none());
        let names = before.all(resource).map(|owner| text(&owner["metadata"]["name"]));
        outcome.leaving.extend(names.filter(|name| !stays(name)));
    }
    outcome.made.extend(seen.created);
    let new = seen.outdated.into_iter().filter(|name| !outdated_before.contains(name) && !outcome.made.contains(name));
    outcome.outdated.extend(new.collect::<Vec<_>>());
}
