//! The one read of every judging command: who writes is detected, what is needed is read, late values are waited for.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::OnceLock;
use std::time::Duration;

use anyhow::{Context as _, anyhow};

use super::args::CommonArgs;
use super::input::Input;
use super::known::{Pending, keys};
use super::plan::fault_stop;
use super::setup::Setup;
use super::{Outside, Stop, bound, trailers};
use crate::approval::{Found, Ledger, trailer};
use crate::compare::redact::MarkKey;
use crate::history::{self, History};
use crate::host::{self, Detected, HostKind, Signs, Told, parent, say};
use crate::late::{self, Reach};
use crate::object::{Object, Stream};
use crate::pin::{Book, Pin};
use crate::pipeline::{self, Question};
use crate::policy::{self, Doubt, HealthGates, Policy, StoreKind};
use crate::store;
use crate::world::cluster::{self, Answer, Online, Outcome, SourceObject};
use crate::world::{Base, BaseKind, LiveKind, SourceReading, Unread, World, files, snapshot};

/// How long a workload cluster may take where the policy says nothing.
const WORKLOAD: Duration = Duration::from_secs(10);

/// What one read gave, ready to be judged.
pub(super) struct Seen {
    pub(super) question: Question,
    pub(super) world: World,
    pub(super) detected: Detected,
    /// The cluster, where it answered.
    pub(super) cluster: Option<cluster::Cluster>,
    /// What a person should know.
    pub(super) warnings: Vec<String>,
    /// Kinds and requests, for `--explain-reads`.
    pub(super) reads: Vec<String>,
    /// Whether readings and pins were recorded with the World.
    recorded: bool,
}

impl Seen {
    /// Asks the API server about the writes of the host, and puts its answers into the World.
    pub(super) fn ask(&mut self, writes: Vec<host::Write>, setup: &Setup) -> Result<(), Stop> {
        // A cluster that was not reached is a doubt already.
        let Some(cluster) = &self.cluster else { return Ok(()) };
        let (answers, unread) = runtime()?.block_on(cluster.dry_run(writes, setup.deadline));
        self.world.answers = Some(answers);
        self.world.unread.extend(unread);
        Ok(())
    }
}

/// Everything that one look needs.
pub(super) struct Look<'a> {
    pub(super) setup: &'a Setup,
    pub(super) args: &'a CommonArgs,
    /// The stream.
    pub(super) input: &'a Input,
    /// Whether the stream came on the standard input of a post-renderer.
    pub(super) piped: bool,
}

/// What the options say of the host.
pub(super) fn told(args: &CommonArgs) -> Told {
    Told {
        kind: args.host,
        release: args.release.clone(),
        namespace: args.namespace.clone(),
        context: args.kube_context.clone(),
        method: args.method,
        force: args.force_conflicts,
    }
}

impl Look<'_> {
    /// Who writes.
    fn detect(&self) -> Detected {
        let told = told(self.args);
        let parents = parent::chain(Path::new("/proc"), std::process::id());
        host::detect(&Signs {
            stdin: self.piped.then_some(&*self.input.bytes),
            env: &self.setup.env,
            parents: &parents,
            told: &told,
        })
    }

    /// Reads everything that the judgement needs, once the late values are there or their time is up.
    pub(super) fn read(&self, outside: &mut Outside<'_>) -> Result<Seen, Stop> {
        let bound = bound::deadline("looking for late values", self.setup.deadline);
        let names = late::needed(&self.input.bytes, &self.setup.policy);
        drop(bound);
        let asked = self.asked(&names)?;
        let seen = self.look(&asked, outside)?;
        let waited = match &seen.cluster {
            Some(cluster) => self.pending(&names, &seen.world, cluster).wait(outside)?,
            None => false,
        };
        // What was read before the wait may be minutes old.
        let mut seen = if waited { self.look(&asked, outside)? } else { seen };
        self.look_into(&mut seen)?;
        Ok(seen)
    }

    /// Looks into the clusters of which Machines go, where the policy allows it and a gate asks for it.
    fn look_into(&self, seen: &mut Seen) -> Result<(), Stop> {
        let Policy { workload, gates, .. } = &self.setup.policy;
        let HealthGates { vip, pdb, etcd, .. } = &gates.health;
        let asks = [*vip, *pdb, Some(*etcd)].iter().any(|told| *told != Some(policy::Answer::Allow));
        let Some(cluster) = seen.cluster.as_ref().filter(|_| workload.read && asks) else { return Ok(()) };
        let bound = bound::deadline("judging", self.setup.deadline);
        // What cannot be judged is said by the judgement itself.
        let mut clusters = pipeline::drained(&seen.question, &seen.world).unwrap_or_default();
        drop(bound);
        clusters.retain(|(namespace, name)| workload.includes(namespace.as_deref(), name));
        let told = workload.timeout.as_deref().map(policy::duration).transpose().map_err(Stop::usage)?;
        let timeout = told.unwrap_or(WORKLOAD);
        seen.world.workloads = runtime()?.block_on(cluster.workloads(&clusters, timeout, self.setup.deadline));
        for (namespace, name) in &clusters {
            let place = namespace.as_ref().map_or_else(String::new, |namespace| format!("{namespace}/"));
            seen.reads.push(format!(
                "look into workload cluster {place}{name}, by its Secret {place}{name}-kubeconfig: Nodes, Leases of kube-vip, \
                 PodDisruptionBudgets that allow none and where their Pods are, what MetalLB announces and by which Pods, Pods of etcd: gates \
                 health.vip, health.pdb and health.etcd"
            ));
        }
        Ok(())
    }

    /// The late values whose sources are read: beside those that the stream needs all others, where it holds objects that are
    /// compared. Whether their values stand in it shows whether their placeholders are still the chart's.
    fn asked(&self, needed: &BTreeSet<String>) -> Result<BTreeSet<String>, Stop> {
        let all = &self.setup.policy.late_values;
        if all.iter().all(|value| needed.contains(&value.name) || value.placeholders.is_empty()) {
            return Ok(needed.clone());
        }
        let rendered = Stream::load(&self.input.bytes).map_err(|error| self.unreadable(&error))?;
        let compared = rendered.objects.objects().iter().any(|object| host::kinds::is_compared(&object.key));
        let names =
            all.iter().filter(|value| needed.contains(&value.name) || compared && !value.placeholders.is_empty());
        Ok(names.map(|value| value.name.clone()).collect())
    }

    /// What there is to wait for. Only a post-renderer waits as the policy says; a person who plans says so.
    fn pending<'p>(
        &'p self,
        names: &'p BTreeSet<String>,
        world: &'p World,
        cluster: &'p cluster::Cluster,
    ) -> Pending<'p> {
        let setup = self.setup;
        Pending {
            policy: &setup.policy,
            folder: &setup.policy_folder,
            env: &setup.env,
            names,
            world,
            cluster,
            deadline: setup.deadline,
            told: setup.wait.or_else(|| (!self.piped).then_some(Duration::ZERO)),
        }
    }

    /// Reads once.
    fn look(&self, names: &BTreeSet<String>, outside: &mut Outside<'_>) -> Result<Seen, Stop> {
        let setup = self.setup;
        let detected = self.detect();
        let mut seen = match self.args.live.as_str() {
            "cluster" if self.needs_nothing(&detected, names)? => self.offline(detected, names, None)?,
            "cluster" => self.online(detected, names, outside)?,
            "none" => self.offline(detected, names, None)?,
            path => self.offline(detected, names, Some(Path::new(path)))?,
        };
        if !seen.recorded {
            self.local(names, &mut seen.world)?;
        }
        self.approved(&mut seen.world);
        self.went_out(&mut seen.world);
        let keys = keys(&seen.world.pins, &setup.env)?;
        seen.world.pins = std::mem::take(&mut seen.world.pins).into_iter().map(|pin| pin.opened(&keys)).collect();
        seen.warnings.extend(setup.idle());
        setup.tell(&mut seen.world);
        Ok(seen)
    }

    /// What this machine knows of late values and pins.
    fn local(&self, names: &BTreeSet<String>, world: &mut World) -> Result<(), Stop> {
        let setup = self.setup;
        world.readings.extend(runtime()?.block_on(late::local(&setup.policy, names, &setup.policy_folder, &setup.env)));
        world.readings.sort_by_key(|reading| reading.place);
        if let Some(store) = setup.pin_file() {
            let book = store.read().map_err(Stop::undecided)?;
            world.pins.extend_from_slice(book.pins());
        }
        Ok(())
    }

    /// What files and commits approve. They are read now, also where the World was recorded: like the policy they lie beside, they are part of
    /// what is asked.
    fn approved(&self, world: &mut World) {
        world.approvals.retain(|found| !found.is_file);
        for place in &self.setup.policy.approvals.from {
            if let Some(file) = self.setup.approval_file(place) {
                let ledger = file.read().map_err(|error| error.to_string());
                world.approvals.push(Found::of(&place.to_string(), &place.to_string(), true, ledger));
            }
            if let (Some(rules), Some(range)) = (place.trailer(), &self.setup.commits) {
                let commits = trailers::read(rules, range, &self.setup.policy_folder);
                world.approvals.push(trailer::found(rules, &place.to_string(), commits));
            }
        }
    }

    /// What a file says went out before. One that is not there says nothing of the day: it could be one that each run makes anew.
    fn went_out(&self, world: &mut World) {
        if world.history.as_ref().is_some_and(|found| found.is_file) {
            world.history = None;
        }
        let (Some(file), Some(place)) = (self.setup.history_file(), &self.setup.policy.gates.budget.history) else {
            return;
        };
        let history = match file.file().try_exists() {
            Ok(true) => file.read().map_err(|error| error.to_string()),
            Ok(false) => Err("it is not there".to_owned()),
            Err(error) => Err(error.to_string()),
        };
        world.history = Some(history::Found::of(&place.to_string(), true, history));
    }

    /// Whether there is nothing to ask a cluster for: no object that is compared or carries others, no late value, and no
    /// release whose last manifest may hold objects that this stream lacks.
    fn needs_nothing(&self, detected: &Detected, names: &BTreeSet<String>) -> Result<bool, Stop> {
        if !names.is_empty() || detected.host.release.is_some() || self.args.base.is_some() {
            return Ok(false);
        }
        let deletes = !matches!(detected.host.kind, Some(HostKind::Kubectl | HostKind::Argocd));
        if deletes && self.setup.policy.unseen.release != Doubt::Allow {
            return Ok(false);
        }
        let rendered = Stream::load(&self.input.bytes).map_err(|error| self.unreadable(&error))?;
        let matters = |object: &Object| {
            host::kinds::is_compared(&object.key)
                || host::inside::is_carrier(object)
                || host::controllers::is_one(object)
        };
        Ok(!rendered.objects.objects().iter().any(matters))
    }

    /// The base that was told; `None` where it is to be found out.
    fn base(&self, detected: &Detected) -> Result<Option<Base>, Stop> {
        match self.args.base.as_deref() {
            None | Some("release") => Ok(None),
            Some("none") => Ok(Some(Base { kind: BaseKind::Unknown, ..Base::default() })),
            Some(path) => {
                let world = files::load(Path::new(path), &detected.host, self.setup.now).map_err(Stop::usage)?;
                Ok(Some(Base { kind: BaseKind::File, objects: world.live, ..Base::default() }))
            }
        }
    }

    /// The World of `--live none`: what the host wrote last time is compared with, where that is told.
    fn nothing_live(&self, detected: &Detected) -> Result<World, Stop> {
        match self.args.base.as_deref() {
            None | Some("release" | "none") => Ok(files::nothing(&detected.host, self.setup.now)),
            Some(path) => files::old_render(Path::new(path), &detected.host, self.setup.now).map_err(Stop::usage),
        }
    }

    fn offline(&self, detected: Detected, names: &BTreeSet<String>, path: Option<&Path>) -> Result<Seen, Stop> {
        let setup = self.setup;
        let (mut world, key_id, redact) = match path {
            Some(path) => {
                let opened = files::open(path, &detected.host, setup.now).map_err(Stop::usage)?;
                (opened.world, opened.key_id, opened.redact)
            }
            None => (self.nothing_live(&detected)?, None, Vec::new()),
        };
        let mut warnings = detected.warnings.clone();
        let mut snapshot_key = None;
        if let (Some(id), Some(path)) = (&key_id, path) {
            let report = say::report_path(&setup.env);
            let folder = report.as_deref().and_then(Path::parent);
            let key = snapshot::key_of(path, id, &setup.key, folder);
            if key.is_none() {
                warnings.push(snapshot::without_key(path));
            }
            self.reveal(&mut world, key.as_ref(), &redact, !names.is_empty())?;
            snapshot_key = key;
            let age = files::age(&world, setup.now);
            world.source.age = Some(age);
            match setup.max_age {
                Some(oldest) => world.unread.extend(files::too_old(&world, age, oldest)),
                None => warnings.extend(files::stale(&world, age)),
            }
        }
        if let (None, Some(_)) = (&key_id, setup.max_age) {
            world.unread.extend(files::ageless(&world));
        }
        if setup.now != world.now && self.args.now.is_some() {
            world.now = setup.now;
        }
        if let Some(base) = self.base(&detected)?.filter(|_| world.source.kind != LiveKind::OldRender || path.is_some())
        {
            world.base = base;
        }
        if key_id.is_none() {
            let namespace = detected.host.namespace.as_deref();
            world.readings = late::within(&setup.policy, names, namespace, &world.live);
        }
        let reach = match world.source.kind {
            LiveKind::Cluster => Reach::Snapshot,
            // What a post-renderer prints is written: nothing in it may be a mere symbol.
            _ if self.piped => Reach::Files,
            _ => Reach::Plan,
        };
        let mut question = setup.question(self.input, reach);
        if let Some(key) = snapshot_key {
            (question.key, question.key_lasts) = (key, true);
        }
        let (reads, recorded) = (Vec::new(), key_id.is_some());
        Ok(Seen { question, world, detected, cluster: None, warnings, reads, recorded })
    }

    /// Reveals of a snapshot what the stream holds too, as it came and with its late values filled in: of those the snapshot
    /// has the answers.
    fn reveal(&self, world: &mut World, key: Option<&MarkKey>, redact: &[String], late: bool) -> Result<(), Stop> {
        let rendered = Stream::load(&self.input.bytes).map_err(|error| self.unreadable(&error))?.objects;
        let hidden = late.then(|| world.clone());
        snapshot::reveal(world, key, redact, &[&rendered]);
        if let Some(hidden) = hidden {
            let question = self.setup.question(self.input, Reach::Cluster);
            let filled = pipeline::rendered(&question, world).map_err(fault_stop)?;
            *world = hidden;
            snapshot::reveal(world, key, redact, &[&rendered, &filled]);
        }
        Ok(())
    }

    fn online(&self, detected: Detected, names: &BTreeSet<String>, outside: &mut Outside<'_>) -> Result<Seen, Stop> {
        let setup = self.setup;
        let rendered = Stream::load(&self.input.bytes).map_err(|error| self.unreadable(&error))?;
        let online = Online {
            rendered: &rendered.objects,
            policy: &setup.policy,
            late: names,
            base: self.base(&detected)?,
            detected: detected.clone(),
            env: &setup.env,
            storage_namespace: self.args.storage_namespace.as_deref(),
            deadline: setup.deadline,
            now: setup.now,
            owners: None,
        };
        let runtime = runtime()?;
        let mut progress = std::io::stderr();
        let progress = outside.err_is_terminal.then_some(&mut progress as &mut (dyn std::io::Write + Send));
        let outcome = runtime.block_on(cluster::read(online, progress)).map_err(Stop::usage)?;
        let Outcome { mut world, sources, pins, approvals, history, warnings, plan, cluster, requests, bytes, .. } =
            outcome;
        world.readings = readings(&setup.policy, names, world.host.namespace.as_deref(), &sources);
        world.pins = pins_of(&setup.policy, pins, &mut world.unread);
        world.approvals = approvals_of(&setup.policy, approvals);
        world.history = history_of(&setup.policy, history);
        let question = setup.question(self.input, Reach::Cluster);
        let mut all = detected.warnings.clone();
        all.extend(warnings);
        let mut reads = plan.lines();
        reads.push(format!("read in {requests} requests and {bytes} bytes: {} objects", world.live.len()));
        let (warnings, recorded) = (all, false);
        Ok(Seen { question, world, detected, cluster, warnings, reads, recorded })
    }

    /// A stream that Kubernetes would refuse.
    pub(super) fn unreadable(&self, error: &dyn std::fmt::Display) -> Stop {
        Stop::usage(anyhow!("{error}"))
    }
}

/// The answers of the cluster as readings.
fn readings(
    policy: &Policy,
    names: &BTreeSet<String>,
    namespace: Option<&str>,
    sources: &[SourceObject],
) -> Vec<SourceReading> {
    late::wanted(policy, names, namespace)
        .iter()
        .map(|wanted| {
            let source = sources.iter().find(|one| one.value == wanted.value.name && one.place == wanted.place);
            match source.map(|source| &source.answer) {
                Some(Answer::Found(value)) => late::reading(wanted, Ok(Some(value))),
                Some(Answer::Absent) => late::reading(wanted, Ok(None)),
                Some(Answer::NoKind) => late::no_kind(wanted),
                Some(Answer::Unread(unread)) => {
                    late::reading(wanted, Err(format!("{}; {}", unread.why, unread.remedy)))
                }
                None => late::reading(wanted, Err("it was not read".to_owned())),
            }
        })
        .collect()
}

/// The pins of a store in the cluster; one that could not be read is a doubt.
fn pins_of(policy: &Policy, answer: Option<Answer>, unread: &mut Vec<Unread>) -> Vec<Pin> {
    let Some((kind, _)) = policy.pins.in_cluster() else { return Vec::new() };
    match answer {
        None | Some(Answer::Absent | Answer::NoKind) => Vec::new(),
        Some(Answer::Unread(why)) => {
            unread.push(why);
            Vec::new()
        }
        Some(Answer::Found(map)) => match crate::pin::cluster::from_object::<Book>(&map, kind) {
            Ok(book) => book.pins().to_vec(),
            Err(error) => {
                unread.push(Unread {
                    what: "the pins".to_owned(),
                    why: error.to_string(),
                    remedy: format!("mend the {}, or take the broken key out", crate::pin::cluster::word(kind)),
                    keys: Vec::new(),
                });
                Vec::new()
            }
        },
    }
}

/// What objects of the cluster approve. One that could not be read approves nothing, and is no doubt of its own: what holds, holds.
fn approvals_of(policy: &Policy, answers: Vec<(usize, String, Answer)>) -> Vec<Found> {
    let found = answers.into_iter().filter_map(|(number, name, answer)| {
        let place = policy.approvals.from.get(number)?.to_string();
        let ledger = match answer {
            Answer::Absent | Answer::NoKind => Ok(Ledger::default()),
            Answer::Unread(unread) => Err(format!("{}; {}", unread.why, unread.remedy)),
            Answer::Found(map) => {
                store::cluster::from_object::<Ledger>(&map, StoreKind::ConfigMap).map_err(|error| error.to_string())
            }
        };
        Some(Found::of(&place, &name, false, ledger))
    });
    found.collect()
}

/// What an object of the cluster says went out before. Where there is none yet, nothing did.
fn history_of(policy: &Policy, answer: Option<Answer>) -> Option<history::Found> {
    let (answer, place) = (answer?, policy.gates.budget.history.as_ref()?.to_string());
    let history = match answer {
        Answer::Absent => Ok(History::default()),
        Answer::NoKind => Err("the API server knows no ConfigMaps".to_owned()),
        Answer::Unread(unread) => Err(format!("{}; {}", unread.why, unread.remedy)),
        Answer::Found(map) => {
            store::cluster::from_object::<History>(&map, StoreKind::ConfigMap).map_err(|error| error.to_string())
        }
    };
    Some(history::Found::of(&place, false, history))
}

/// The one runtime of the process: a client dies with the runtime that it was made on, and both ends use the same client.
pub(super) fn runtime() -> Result<&'static tokio::runtime::Runtime, Stop> {
    static RUNTIME: OnceLock<tokio::runtime::Runtime> = OnceLock::new();
    if let Some(runtime) = RUNTIME.get() {
        return Ok(runtime);
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .context("cannot start the runtime")
        .map_err(Stop::internal)?;
    Ok(RUNTIME.get_or_init(|| runtime))
}
