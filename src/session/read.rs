//! The one read of every judging question: who writes is detected, what is needed is read, late values are waited for.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;
use std::time::Duration;

use anyhow::anyhow;

use super::answers::{Ready, approvals_of, history_of, pins_of, readings};
use super::late::Pending;
use super::pins::keys;
use super::{Base, Input, Live, Observer, Setup, Stop, detect, images, runtime, trailers};
use crate::approval::{FoundLedger, trailer};
use crate::cluster::{self, Online, Owners, WorldRead};
use crate::compare::redact::MarkKey;
use crate::history;
use crate::host::{self, Detected, HostKind, say};
use crate::late::{self, Reach};
use crate::object::{Object, Stream};
use crate::pipeline;
use crate::policy::{self, Doubt, HealthGates, Policy};
use crate::world::{self, BaseKind, LiveKind, World, files, snapshot};

/// How long a workload cluster may take where the policy says nothing.
const WORKLOAD: Duration = Duration::from_secs(10);

/// One question: may this stream be written?
pub struct Session<'a> {
    /// What is known before anything is read.
    pub setup: &'a Setup,
    /// The stream.
    pub input: &'a Input,
    /// Whether the host itself hands the stream over, and writes what comes back.
    pub is_hosts: bool,
}

impl std::fmt::Debug for Session<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session").field("input", &self.input.name).finish_non_exhaustive()
    }
}

impl Session<'_> {
    /// What the stream says.
    fn rendered(&self) -> Result<&Stream, Stop> {
        self.input.text.stream().map_err(|error| Stop::usage(anyhow!("{error}")))
    }

    /// Who writes.
    fn detect(&self) -> Detected {
        let mut detected = detect(&self.setup.told, self.is_hosts.then_some(&*self.input.text), &self.setup.env);
        if !self.setup.upgrade.is_empty() {
            // Nobody writes: which release it would be is no doubt.
            detected.doubts.clear();
        }
        detected
    }

    /// Reads everything that the judgement needs, once the late values are there or their time is up.
    ///
    /// # Errors
    /// When the stream is not what Kubernetes reads, or something that was told is not there. What the cluster does not answer is no
    /// error: it is a doubt of the judgement.
    pub fn read(&self, observer: &mut dyn Observer) -> Result<Ready, Stop> {
        let bound = observer.begins("looking for late values", self.setup.deadline);
        let names = late::needed(&self.input.text, &self.setup.policy);
        drop(bound);
        let asked = self.asked(&names)?;
        let first = self.look(&asked, observer)?;
        let waited = match &first.cluster {
            Some(cluster) => self.pending(&names, &first.world, cluster).wait(observer)?,
            None => false,
        };
        // What was read before the wait may be minutes old.
        let mut ready = if waited { self.look(&asked, observer)? } else { first };
        self.look_beyond(&mut ready, observer)?;
        Ok(ready)
    }

    /// Looks into the clusters of which Machines go, and asks for the images of new ones, where the policy allows it and a gate asks.
    fn look_beyond(&self, ready: &mut Ready, observer: &dyn Observer) -> Result<(), Stop> {
        let Policy { workload, gates, images, .. } = &self.setup.policy;
        let HealthGates { vip, pdb, etcd, .. } = &gates.health;
        let asks = [*vip, *pdb, Some(*etcd)].iter().any(|told| *told != Some(policy::GateAnswer::Allow));
        let looks_into = ready.cluster.is_some() && workload.read && asks;
        // A snapshot holds what was answered when it was taken.
        let looks_at = !images.servers.is_empty() && !ready.recorded;
        if !looks_into && !looks_at {
            return Ok(());
        }
        let bound = observer.begins("judging", self.setup.deadline);
        // What cannot be judged is said by the judgement itself.
        let found = pipeline::beyond(&ready.question, &ready.world).unwrap_or_default();
        drop(bound);
        if looks_at {
            images::ask(self.setup, &found.images, ready)?;
        }
        if looks_into { self.look_into(ready, found.clusters) } else { Ok(()) }
    }

    fn look_into(&self, ready: &mut Ready, mut clusters: BTreeSet<(Option<String>, String)>) -> Result<(), Stop> {
        let workload = &self.setup.policy.workload;
        let Some(cluster) = ready.cluster.as_ref() else { return Ok(()) };
        clusters.retain(|(namespace, name)| workload.includes(namespace.as_deref(), name));
        let told = workload.timeout.as_deref().map(policy::duration).transpose().map_err(Stop::usage)?;
        let timeout = told.unwrap_or(WORKLOAD);
        ready.world.workloads = runtime()?.block_on(cluster.workloads(&clusters, timeout, self.setup.deadline));
        for (namespace, name) in &clusters {
            let place = namespace.as_ref().map_or_else(String::new, |namespace| format!("{namespace}/"));
            ready.reads.push(format!(
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
        let rendered = self.rendered()?;
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
            told: setup.wait.or_else(|| (!self.is_hosts).then_some(Duration::ZERO)),
        }
    }

    /// Reads once.
    fn look(&self, names: &BTreeSet<String>, observer: &dyn Observer) -> Result<Ready, Stop> {
        let setup = self.setup;
        let detected = self.detect();
        let mut ready = match &setup.live {
            Live::Cluster if self.needs_nothing(&detected, names)? => self.offline(detected, names, None)?,
            Live::Cluster => self.online(detected, names, observer)?,
            Live::Nothing => self.offline(detected, names, None)?,
            Live::Path(path) => self.offline(detected, names, Some(path))?,
        };
        if !ready.recorded {
            self.local(names, &mut ready.world)?;
        }
        self.approved(&mut ready.world);
        self.went_out(&mut ready.world);
        let keys = keys(&ready.world.pins, &setup.env)?;
        ready.world.pins = std::mem::take(&mut ready.world.pins).into_iter().map(|pin| pin.opened(&keys)).collect();
        ready.warnings.extend(setup.idle());
        setup.tell(&mut ready.world);
        Ok(ready)
    }

    /// Moves the pins of the base to what the change makes of them, as that is what is written once it is merged: another value counts,
    /// and one that goes is unknown again. One that only comes is left out, since what the base wrote without it nobody knows.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn pins_of_change(&self, world: &mut World) -> Result<(), Stop> {
        let setup = self.setup;
        let Some(store) = setup.pin_file_of_change() else { return Ok(()) };
        let book = store.read().map_err(Stop::undecided)?;
        let keys = keys(book.pins(), &setup.env)?;
        let named = |name: &str| book.pins().iter().find(|pin| pin.name == name);
        let old = std::mem::take(&mut world.pins);
        world.pins = old.iter().filter_map(|pin| named(&pin.name)).map(|pin| pin.clone().opened(&keys)).collect();
        Ok(())
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
                world.approvals.push(FoundLedger::of(&place.to_string(), &place.to_string(), true, ledger));
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
        world.history = Some(history::FoundHistory::of(&place.to_string(), true, history));
    }

    /// Whether there is nothing to ask a cluster for: no object that is compared or carries others, no late value, and no
    /// release whose last manifest may hold objects that this stream lacks.
    fn needs_nothing(&self, detected: &Detected, names: &BTreeSet<String>) -> Result<bool, Stop> {
        if !self.setup.upgrade.is_empty() {
            return Ok(false);
        }
        if !names.is_empty() || detected.host.release.is_some() || self.setup.base.is_some() {
            return Ok(false);
        }
        let deletes = detected.host.kind != Some(HostKind::Argocd) && !detected.host.leaves_removed();
        if deletes && self.setup.policy.unseen.release != Doubt::Allow {
            return Ok(false);
        }
        let rendered = self.rendered()?;
        let matters = |object: &Object| {
            host::kinds::is_compared(&object.key)
                || host::inside::is_carrier(object)
                || host::controllers::is_one(object)
        };
        Ok(!rendered.objects.objects().iter().any(matters))
    }

    /// The base that was told; `None` where it is to be found out.
    fn base(&self, detected: &Detected) -> Result<Option<world::Base>, Stop> {
        match &self.setup.base {
            None | Some(Base::Release) => Ok(None),
            Some(Base::Nothing) => Ok(Some(world::Base { kind: BaseKind::Unknown, ..world::Base::default() })),
            Some(Base::Path(path)) => {
                let world = files::load(path, &detected.host, self.setup.now).map_err(Stop::usage)?;
                Ok(Some(world::Base { kind: BaseKind::File, objects: world.live, ..world::Base::default() }))
            }
        }
    }

    /// The World of `--live none`: what the host wrote last time is compared with, where that is told.
    fn nothing_live(&self, detected: &Detected) -> Result<World, Stop> {
        match &self.setup.base {
            None | Some(Base::Release | Base::Nothing) => Ok(files::nothing(&detected.host, self.setup.now)),
            Some(Base::Path(path)) => files::old_render(path, &detected.host, self.setup.now).map_err(Stop::usage),
        }
    }

    fn offline(&self, detected: Detected, names: &BTreeSet<String>, path: Option<&Path>) -> Result<Ready, Stop> {
        let setup = self.setup;
        let mut warnings = detected.warnings.clone();
        let (mut world, key_id, redact) = match path {
            Some(path) => {
                // The stream is read first, so that the file shares with it what stands in both.
                self.rendered()?;
                let text = Some(&self.input.text);
                let opened = files::open_beside(path, &detected.host, setup.now, text).map_err(Stop::usage)?;
                warnings.extend(files::not_read(&opened.passed_over));
                (opened.world, opened.key_id, opened.redact)
            }
            None => (self.nothing_live(&detected)?, None, Vec::new()),
        };
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
            match (setup.max_age, files::is_to_come(&world, setup.now)) {
                (Some(_), Some(why)) => world.unread.extend([files::doubtful(&world, why)]),
                (Some(oldest), None) => world.unread.extend(files::too_old(&world, age, oldest)),
                // Whoever tells the time knows how it stands to that of the snapshot.
                (None, Some(_)) if setup.now_is_told => {}
                (None, Some(why)) => warnings.push(format!("the snapshot {}: {why}", world.source.name)),
                (None, None) => warnings.extend(files::stale(&world, age)),
            }
        }
        if let (None, Some(_)) = (&key_id, setup.max_age) {
            world.unread.extend(files::ageless(&world));
        }
        if setup.now != world.now && setup.now_is_told {
            world.now = setup.now;
        }
        let is_own_base = world.source.kind == LiveKind::OldRender && path.is_none();
        if !is_own_base && let Some(base) = self.base(&detected)? {
            world.base = base;
        }
        if key_id.is_none() {
            let namespace = detected.host.namespace.as_deref();
            world.readings = late::within(&setup.policy, names, namespace, &world.live);
        }
        let reach = match world.source.kind {
            LiveKind::Cluster => Reach::Snapshot,
            // What a post-renderer prints is written: nothing in it may be a mere symbol.
            _ if self.is_hosts => Reach::Files,
            _ => Reach::Plan,
        };
        let mut question = setup.question(self.input, reach);
        if let Some(key) = snapshot_key {
            (question.key, question.key_lasts) = (key, true);
        }
        let (reads, recorded) = (Vec::new(), key_id.is_some());
        Ok(Ready { question, world, detected, cluster: None, warnings, reads, recorded })
    }

    /// Reveals of a snapshot what the stream holds too, as it came and with its late values filled in: of those the snapshot
    /// has the answers.
    fn reveal(&self, world: &mut World, key: Option<&MarkKey>, redact: &[String], late: bool) -> Result<(), Stop> {
        let rendered = &self.rendered()?.objects;
        let hidden = late.then(|| world.clone());
        snapshot::reveal(world, key, redact, &[rendered]);
        if let Some(hidden) = hidden {
            let question = self.setup.question(self.input, Reach::Cluster);
            let filled = pipeline::rendered(&question, world).map_err(Stop::of_fault)?;
            *world = hidden;
            snapshot::reveal(world, key, redact, &[rendered, &filled]);
        }
        Ok(())
    }

    fn online(&self, detected: Detected, names: &BTreeSet<String>, observer: &dyn Observer) -> Result<Ready, Stop> {
        let setup = self.setup;
        let is_upgrade = !setup.upgrade.is_empty();
        let rendered = self.rendered()?;
        let online = Online {
            rendered: &rendered.objects,
            policy: &setup.policy,
            late: names,
            base: if is_upgrade { Some(world::Base::default()) } else { self.base(&detected)? },
            detected: detected.clone(),
            env: &setup.env,
            storage_namespace: setup.storage_namespace.as_deref(),
            deadline: setup.deadline,
            now: setup.now,
            owners: is_upgrade.then_some(Owners { namespace: setup.told.namespace.as_deref(), with_pools: true }),
        };
        let runtime = runtime()?;
        let mut progress = observer.progress();
        let progress = progress.as_mut().map(|to| &mut **to as &mut (dyn Write + Send));
        let outcome = runtime.block_on(cluster::read(online, progress)).map_err(Stop::usage)?;
        let WorldRead {
            mut world, sources, pins, approvals, history, warnings, plan, cluster, requests, bytes, ..
        } = outcome;
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
        Ok(Ready { question, world, detected, cluster, warnings, reads, recorded })
    }
}
