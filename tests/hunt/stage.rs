//! A cluster that a walk goes through: it is written to by a real host and watched.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::bench::{Bench, Space};
use crate::helm::{Helm, Release, Run, rollgate};
use crate::lookout::{Lookout, watched};
use crate::objects::{Objects, Shape, text};
use crate::observe::{CAPI, OWNERS, Sight, condition, going};
use crate::steps::{Act, Way};

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

/// What was foretold.
#[derive(Clone, Debug)]
pub(crate) struct Forecast {
    pub(crate) report: Value,
    /// Whether the snapshot said something else, after several tries.
    pub(crate) snapshot_differs: bool,
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
    /// Whether the record of the release is lost.
    forgotten: bool,
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
            forgotten: false,
        };
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

    /// Remembers what was foretold of the last write for as long as it is being carried out.
    pub(crate) fn announce(&mut self, names: impl Iterator<Item = String>) {
        if !self.under_way {
            self.announced.clear();
        }
        self.announced.extend(names);
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

    /// The stream that the host would print.
    pub(crate) fn stream(objects: &Objects) -> String {
        objects.values().map(|object| format!("---\n{object}\n")).collect()
    }

    /// What rollgate expects of a write, from the cluster and from a snapshot of it.
    pub(crate) fn forecast(&self, objects: &Objects, way: Way) -> Forecast {
        let stream = Self::stream(objects);
        let world = self.world();
        let world = world.to_str().expect("a path");
        let mut last = None;
        // Controllers write all the time: only what is the same before and after is what the snapshot between them holds.
        for _ in 0..3 {
            let online = self.plan("plan", &["-o", "json"], &stream, way);
            drop(self.plan("snapshot", &["-o", world], &stream, way));
            let replayed = self.plan("plan", &["--live", world, "-o", "json"], &stream, way);
            let [one, other] = [&online, &replayed].map(|run| {
                serde_json::from_str::<Value>(&run.stdout).unwrap_or_else(
                    |_| json!({"decision": "none", "effect": "none", "error": run.stderr, "code": run.code}),
                )
            });
            let same = without_source(&one) == without_source(&other);
            last = Some(Forecast { report: one, snapshot_differs: !same });
            if same {
                break;
            }
        }
        last.expect("it was asked at least once")
    }

    /// The file of the last snapshot.
    pub(crate) fn world(&self) -> PathBuf {
        self.space.dir.join("world.json")
    }

    /// Runs rollgate on a stream as this writer would.
    fn plan(&self, command: &str, more: &[&str], stream: &str, way: Way) -> Run {
        let (host, method) = match (self.writer, way) {
            (Writer::Helm3, Way::Plain) => ("helm3", None),
            (Writer::Helm4, Way::Plain) => ("helm4", None),
            (Writer::Kubectl, Way::Plain) => ("kubectl", Some("last-applied")),
            (Writer::KubectlServerSide, Way::Plain) => ("kubectl", Some("server-side-apply")),
            (Writer::Helm3, Way::Replace) => ("helm3", Some("replace")),
            (Writer::Helm4, Way::Replace) => ("helm4", Some("replace")),
            (_, Way::Replace) => ("kubectl", Some("replace")),
        };
        let mut program = Command::new(rollgate());
        program
            .args([command, "-"])
            .args(more)
            .args(["--host", host, "--namespace", &self.space.namespace, "--policy"])
            .arg(&self.policy);
        if self.writer.helm().is_some() {
            program.args(["--release", "demo"]);
        }
        if let Some(method) = method {
            program.args(["--method", method]);
        }
        self.run(&mut program, stream)
    }

    fn run(&self, program: &mut Command, input: &str) -> Run {
        let program = program
            .env("KUBECONFIG", &self.space.bench.kubeconfig)
            .env("ROLLGATE_KEY", KEY)
            .current_dir(&self.space.dir);
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
        if refused.is_none() {
            self.objects = objects;
        }
        let going = before.all("machines").filter(|machine| going(machine).is_some());
        let mut due: BTreeSet<String> =
            going.map(|machine| text(&machine["metadata"]["name"])).chain(outdated_before.iter().cloned()).collect();
        if self.under_way {
            due.extend(self.announced.iter().cloned());
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
        outcome
    }

    /// Makes the controllers look: the one of topologies does not watch the templates of a class, and those of owners come back
    /// to a template that was missing only after minutes.
    fn poke(&self) {
        self.touch(OWNERS.into_iter().filter(|(_, resource)| *resource != "machinesets"));
    }

    /// Makes every controller look that would come back by itself: those of bootstrap configs and infra Machines hear of their Machine.
    fn nudge(&self) {
        self.touch(watched());
    }

    /// Writes an annotation that means nothing to anybody.
    fn touch(&self, resources: impl Iterator<Item = (&'static str, &'static str)>) {
        // A number: a text could be hidden, and a hidden one that is hidden again looks different.
        let now =
            std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |since| since.as_millis());
        let patch = json!({"metadata": {"annotations": {"hunt/looked": now.to_string()}}});
        let sight = self.sight();
        for (group_version, resource) in resources {
            for object in sight.all(resource) {
                let path = self.path(group_version, resource, &text(&object["metadata"]["name"]));
                drop(self.space.bench.api.send("PATCH", &path, Some(("application/merge-patch+json", &patch))));
            }
        }
    }

    fn path(&self, group_version: &str, resource: &str, name: &str) -> String {
        format!("/apis/{group_version}/namespaces/{}/{resource}/{name}", self.space.namespace)
    }

    /// Does something beside the release; what cannot be done is not.
    pub(crate) fn meddle(&mut self, act: &Act) {
        if matches!(act, Act::Forget) {
            self.forget();
            return;
        }
        let api = &self.space.bench.api;
        let namespace = &self.space.namespace;
        let sight = self.sight();
        let mut machines: Vec<String> =
            sight.all("machines").map(|machine| text(&machine["metadata"]["name"])).collect();
        machines.sort();
        let machine = |number: usize| machines.get(number % machines.len().max(1));
        let path = |group_version: &str, resource: &str, name: &str| {
            format!("/apis/{group_version}/namespaces/{namespace}/{resource}/{name}")
        };
        let merge =
            |path: &str, patch: &Value| drop(api.send("PATCH", path, Some(("application/merge-patch+json", patch))));
        match act {
            Act::Sick(number, sick) => {
                let Some(name) = machine(*number) else { return };
                let path = path(CAPI, "machines", name);
                let Some(held) = api.get(&path) else { return };
                let mut conditions = held["status"]["conditions"].as_array().cloned().unwrap_or_default();
                conditions.retain(|condition| condition["type"] != "Sick");
                if *sick {
                    conditions.push(json!({"type": "Sick", "status": "True", "reason": "Told", "message": "", "lastTransitionTime": "2020-01-01T00:00:00Z"}));
                }
                merge(&format!("{path}/status"), &json!({"status": {"conditions": conditions}}));
            }
            Act::Patch(group_version, resource, name, patch) => merge(&path(group_version, resource, name), patch),
            Act::PatchMachine(number, patch) => {
                if let Some(name) = machine(*number) {
                    merge(&path(CAPI, "machines", name), patch);
                }
            }
            Act::Delete(group_version, resource, name) => {
                drop(api.send("DELETE", &path(group_version, resource, name), None));
            }
            Act::DeleteMachine(number) => {
                if let Some(name) = machine(*number) {
                    drop(api.send("DELETE", &path(CAPI, "machines", name), None));
                }
            }
            Act::PatchSet(number, patch) => {
                let mut sets: Vec<String> =
                    sight.all("machinesets").map(|set| text(&set["metadata"]["name"])).collect();
                sets.sort();
                if let Some(name) = sets.get(number % sets.len().max(1)) {
                    merge(&path(CAPI, "machinesets", name), patch);
                }
            }
            Act::Make(list, object) => {
                let (group, resource) = list.split_once(' ').expect("a group and a resource");
                let path = format!("{group}/namespaces/{namespace}/{resource}");
                drop(api.send("POST", &path, Some(("application/json", object))));
            }
            Act::Twin => self.twin(),
            Act::End => drop(api.send("DELETE", &format!("/api/v1/namespaces/{namespace}"), None)),
            Act::Forget => {}
            Act::Orphan(name) => {
                let owner = path(CAPI, "machinedeployments", name);
                merge(&owner, &json!({"metadata": {"annotations": {"cluster.x-k8s.io/paused": ""}}}));
                std::thread::sleep(Duration::from_secs(2));
                for set in sight.all("machinesets").filter(|set| set["metadata"]["ownerReferences"][0]["name"] == *name)
                {
                    let set = path(CAPI, "machinesets", &text(&set["metadata"]["name"]));
                    merge(&set, &json!({"metadata": {"ownerReferences": null}}));
                }
                drop(api.send("DELETE", &owner, None));
                merge(&owner, &json!({"metadata": {"finalizers": null}}));
            }
        }
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

impl Stage<'_> {
    /// Takes the record of the release away, as somebody does who thinks that it only takes room.
    fn forget(&mut self) {
        if self.writer.helm().is_none() {
            return;
        }
        for record in self.records() {
            drop(self.space.bench.api.send("DELETE", &record, None));
        }
        self.forgotten = true;
    }

    /// Where the records of the release lie; one that could not be installed has one, too.
    fn records(&self) -> Vec<String> {
        let secrets = format!("/api/v1/namespaces/{}/secrets", self.space.namespace);
        let records = self.space.bench.api.list(&format!("{secrets}?labelSelector=owner%3Dhelm%2Cname%3Ddemo"));
        records.iter().map(|record| format!("{secrets}/{}", text(&record["metadata"]["name"]))).collect()
    }

    /// Makes what the release refers to in another namespace, under the same names.
    fn twin(&self) {
        let api = &self.space.bench.api;
        let other = format!("{}-twin", self.space.namespace);
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": other}});
        drop(api.send("POST", "/api/v1/namespaces", Some(("application/json", &namespace))));
        for object in self.objects.values() {
            let kind = text(&object["kind"]);
            let is_shared =
                kind.ends_with("Template") || ["ClusterClass", "MachineHealthCheck"].contains(&kind.as_str());
            if is_shared {
                let mut copy = object.clone();
                copy["metadata"] = json!({"name": object["metadata"]["name"]});
                let resource = if kind == "ClusterClass" {
                    "clusterclasses".to_owned()
                } else {
                    format!("{}s", kind.to_lowercase())
                };
                let path = format!("/apis/{}/namespaces/{other}/{resource}", text(&object["apiVersion"]));
                drop(api.send("POST", &path, Some(("application/json", &copy))));
            }
        }
    }
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

/// Where the objects of a cluster lie, from the one that all others wait for to those that nothing waits for.
const OF_A_CLUSTER: [(&str, &str); 5] = [
    ("infrastructure.cluster.x-k8s.io/v1beta2", "devclusters"),
    ("bootstrap.cluster.x-k8s.io/v1beta2", "kubeadmconfigs"),
    ("bootstrap.cluster.x-k8s.io/v1beta1", "rke2configs"),
    ("infrastructure.cluster.x-k8s.io/v1beta2", "devmachines"),
    ("cluster.x-k8s.io/v1beta2", "clusterclasses"),
];

impl Drop for Stage<'_> {
    /// Takes the cluster away at once, so that the controllers have nothing to do with it any more.
    fn drop(&mut self) {
        let api = &self.space.bench.api;
        let names = |group_version: &str, resource: &str| -> Vec<String> {
            let path = format!("/apis/{group_version}/namespaces/{}/{resource}", self.space.namespace);
            let items = api.send("GET", &path, None).ok().map(|mut list| list["items"].take());
            items.iter().filter_map(Value::as_array).flatten().map(|it| text(&it["metadata"]["name"])).collect()
        };
        let (infra, others) = OF_A_CLUSTER.split_first().expect("it is not empty");
        for name in names(infra.0, infra.1) {
            drop(api.send("DELETE", &self.path(infra.0, infra.1, &name), None));
        }
        // Its controller stops the workload cluster while the Cluster is still there.
        std::thread::sleep(Duration::from_secs(2));
        let last = json!({"metadata": {"finalizers": null}});
        for (group_version, resource) in OWNERS.into_iter().chain(watched().take(1)).chain(others.iter().copied()) {
            for name in names(group_version, resource) {
                let path = self.path(group_version, resource, &name);
                drop(api.send("DELETE", &path, None));
                drop(api.send("PATCH", &path, Some(("application/merge-patch+json", &last))));
            }
        }
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

/// A report without where the World came from and when.
fn without_source(report: &Value) -> String {
    let mut report = report.clone();
    // A snapshot gives a mark of its own to what nobody but the cluster knows, and the digest is over the marks.
    if let Some(report) = report.as_object_mut() {
        report.shift_remove("digest");
    }
    if let Some(live) = report["live"].as_object_mut() {
        for told in ["source", "resourceVersions", "taken", "ageSeconds"] {
            live.shift_remove(told);
        }
    }
    let text = report.to_string();
    let mut pieces = text.split("<redacted:");
    let first = pieces.next().unwrap_or_default().to_owned();
    pieces.fold(first, |text, piece| text + "<redacted>" + piece.split_once('>').map_or(piece, |(_, rest)| rest))
}
