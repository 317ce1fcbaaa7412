//! The one read of a judgement: who writes, what there is to read, the wait for late values, and the World that comes of it.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::anyhow;

use super::commit::{self, Commit, Store};
use super::values::{Pending, reading_of};
use super::{BaseFrom, Input, Live, Screen, Session, Stop, runtime};
use crate::host::{self, Detected};
use crate::late::{self, Reach};
use crate::object::Stream;
use crate::pin::Pin;
use crate::pipeline::Question;
use crate::policy::Policy;
use crate::world::cluster::{self, Answer, Online, Outcome, SourceObject};
use crate::world::{Base, BaseKind, LiveKind, SourceReading, Unread, World, files, snapshot};

/// What one read gave, ready to be judged.
pub struct Seen {
    /// What is asked.
    pub question: Question,
    /// What was read.
    pub world: World,
    /// Who writes, and how that is known.
    pub detected: Detected,
    /// The cluster, where it answered.
    pub cluster: Option<cluster::Cluster>,
    /// What a person should know.
    pub warnings: Vec<String>,
    /// Kinds and requests, a line each.
    pub reads: Vec<String>,
    /// Whether readings and pins were recorded with the World.
    recorded: bool,
}

impl Seen {
    /// Asks the API server about the writes of the host, and puts its answers into the World.
    ///
    /// # Errors
    /// When the system gives no threads.
    pub fn ask(&mut self, writes: Vec<host::Write>, session: &Session) -> Result<(), Stop> {
        // A cluster that was not reached is a doubt already.
        let Some(cluster) = &self.cluster else { return Ok(()) };
        let (answers, unread) = runtime()?.block_on(cluster.dry_run(writes, session.options.deadline));
        self.world.answers = Some(answers);
        self.world.unread.extend(unread);
        Ok(())
    }

    /// Records the pins of an allowed run, before anything goes out: a value that is used is a value that is kept.
    ///
    /// # Errors
    /// When they cannot be recorded.
    pub fn commit(&self, session: &Session, wish: Commit, pins: &[Pin]) -> Result<(), Stop> {
        if !wish.records(self.world.host.writes_nothing) {
            return Ok(());
        }
        let namespace = self.world.host.namespace.as_deref();
        let store = Store::of(&session.policy, &session.policy_folder, self.cluster.as_ref(), namespace);
        commit::record(store.as_ref(), &session.policy, pins)
    }
}

/// Everything that one look needs.
pub struct Look<'a> {
    /// Options and policy.
    pub session: &'a Session,
    /// The stream.
    pub input: &'a Input,
    /// Whether the stream came on the standard input of a post-renderer.
    pub piped: bool,
}

impl Look<'_> {
    /// Who writes.
    fn detect(&self) -> Detected {
        self.session.options.detect(self.piped.then_some(&*self.input.bytes), &self.session.env)
    }

    /// Reads everything that the judgement needs, once the late values are there or their time is up.
    ///
    /// # Errors
    /// When a file or the stream cannot be read. What a cluster does not give is doubt in the World, and no error.
    pub fn read(&self, screen: &mut Screen<'_>) -> Result<Seen, Stop> {
        let names = late::needed(&self.input.bytes, &self.session.policy);
        let asked = self.asked(&names)?;
        let seen = self.look(&asked, screen)?;
        let waited = match &seen.cluster {
            Some(cluster) => self.pending(&names, &seen.world, cluster).wait(screen)?,
            None => false,
        };
        // What was read before the wait may be minutes old.
        if waited { self.look(&asked, screen) } else { Ok(seen) }
    }

    /// The late values whose sources are read: beside those that the stream needs all others, where it holds objects that are
    /// compared. Whether their values stand in it shows whether their placeholders are still the chart's.
    fn asked(&self, needed: &BTreeSet<String>) -> Result<BTreeSet<String>, Stop> {
        let all = &self.session.policy.late_values;
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
        let session = self.session;
        Pending {
            policy: &session.policy,
            folder: &session.policy_folder,
            env: &session.env,
            names,
            world,
            cluster,
            deadline: session.options.deadline,
            told: session.options.wait.or_else(|| (!self.piped).then_some(Duration::ZERO)),
        }
    }

    /// Reads once.
    fn look(&self, names: &BTreeSet<String>, screen: &mut Screen<'_>) -> Result<Seen, Stop> {
        let session = self.session;
        let detected = self.detect();
        let mut seen = match &session.options.live {
            Live::Cluster if self.needs_nothing(&detected, names)? => self.offline(detected, names, None)?,
            Live::Cluster => self.online(detected, names, screen)?,
            Live::Nothing => self.offline(detected, names, None)?,
            Live::Path(path) => self.offline(detected, names, Some(path))?,
        };
        if !seen.recorded {
            self.local(names, &mut seen.world)?;
        }
        seen.world.providers.extend(session.providers.clone());
        seen.world.feature_gates.extend(session.feature_gates.clone());
        Ok(seen)
    }

    /// What this machine knows of late values and pins.
    fn local(&self, names: &BTreeSet<String>, world: &mut World) -> Result<(), Stop> {
        let session = self.session;
        world.readings.extend(late::local(&session.policy, names, &session.policy_folder, &session.env));
        world.readings.sort_by_key(|reading| reading.place);
        if let Some(store) = commit::file(&session.policy, &session.policy_folder) {
            let book = store.read().map_err(Stop::undecided)?;
            world.pins.extend_from_slice(book.pins());
        }
        Ok(())
    }

    /// Whether there is nothing to ask a cluster for: no object that is compared, no late value, and no release whose
    /// last manifest may hold objects that this stream lacks.
    fn needs_nothing(&self, detected: &Detected, names: &BTreeSet<String>) -> Result<bool, Stop> {
        if !names.is_empty() || detected.host.release.is_some() || self.session.options.base != BaseFrom::Found {
            return Ok(false);
        }
        let rendered = Stream::load(&self.input.bytes).map_err(|error| self.unreadable(&error))?;
        Ok(!rendered.objects.objects().iter().any(|object| host::kinds::is_compared(&object.key)))
    }

    /// The base that was told; `None` where it is to be found out.
    fn base(&self, detected: &Detected) -> Result<Option<Base>, Stop> {
        match &self.session.options.base {
            BaseFrom::Found | BaseFrom::Release => Ok(None),
            BaseFrom::Unknown => Ok(Some(Base { kind: BaseKind::Unknown, ..Base::default() })),
            BaseFrom::Path(path) => {
                let world = files::load(path, &detected.host, self.session.now).map_err(Stop::usage)?;
                Ok(Some(Base { kind: BaseKind::File, objects: world.live }))
            }
        }
    }

    fn offline(&self, detected: Detected, names: &BTreeSet<String>, path: Option<&Path>) -> Result<Seen, Stop> {
        let session = self.session;
        let (mut world, key, redact) = match path {
            Some(path) => {
                let opened = files::open(path, &detected.host, session.now).map_err(Stop::usage)?;
                (opened.world, opened.key, opened.redact)
            }
            None => (files::nothing(&detected.host, session.now), None, Vec::new()),
        };
        let mut warnings = detected.warnings.clone();
        if let Some(key) = &key {
            let rendered = Stream::load(&self.input.bytes).map_err(|error| self.unreadable(&error))?;
            snapshot::reveal(&mut world, key, &redact, &rendered.objects);
            warnings.extend(files::stale(&world, session.now, session.options.max_age));
        }
        if session.now != world.now && session.options.now.is_some() {
            world.now = session.now;
        }
        if let Some(base) = self.base(&detected)? {
            world.base = base;
        }
        if key.is_none() {
            let namespace = detected.host.namespace.as_deref();
            world.readings = late::within(&session.policy, names, namespace, &world.live);
        }
        let reach = match world.source.kind {
            LiveKind::Cluster => Reach::Cluster,
            // What a post-renderer prints is written: nothing in it may be a mere symbol.
            _ if self.piped => Reach::Files,
            _ => Reach::Plan,
        };
        let question = self.question(reach);
        let (reads, recorded) = (Vec::new(), key.is_some());
        Ok(Seen { question, world, detected, cluster: None, warnings, reads, recorded })
    }

    fn online(&self, detected: Detected, names: &BTreeSet<String>, screen: &mut Screen<'_>) -> Result<Seen, Stop> {
        let session = self.session;
        let rendered = Stream::load(&self.input.bytes).map_err(|error| self.unreadable(&error))?;
        let online = Online {
            rendered: &rendered.objects,
            policy: &session.policy,
            late: names,
            base: self.base(&detected)?,
            detected: detected.clone(),
            env: &session.env,
            storage_namespace: session.options.storage_namespace.as_deref(),
            deadline: session.options.deadline,
            now: session.now,
        };
        let runtime = runtime()?;
        let mut progress = std::io::stderr();
        let progress = screen.terminal.then_some(&mut progress as &mut (dyn std::io::Write + Send));
        let outcome = runtime.block_on(cluster::read(online, progress)).map_err(Stop::usage)?;
        let Outcome { mut world, sources, pins, warnings, plan, cluster, requests, bytes, .. } = outcome;
        world.readings = readings(&session.policy, names, world.host.namespace.as_deref(), &sources);
        world.pins = pins_of(pins, &mut world.unread);
        let question = self.question(Reach::Cluster);
        let mut all = detected.warnings.clone();
        all.extend(warnings);
        let mut reads = plan.lines();
        reads.push(format!("read in {requests} requests and {bytes} bytes: {} objects", world.live.len()));
        let (warnings, recorded) = (all, false);
        Ok(Seen { question, world, detected, cluster, warnings, reads, recorded })
    }

    fn question(&self, reach: Reach) -> Question {
        let Session { policy, policy_report, .. } = self.session;
        let (stream, files) = (Arc::clone(&self.input.bytes), self.input.files.clone());
        Question { stream, files, policy: policy.clone(), policy_report: policy_report.clone(), reach }
    }

    /// A stream that Kubernetes would refuse.
    fn unreadable(&self, error: &dyn std::fmt::Display) -> Stop {
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
            reading_of(wanted, source.map(|source| &source.answer))
        })
        .collect()
}

/// The pins of a ConfigMap store; one that could not be read is a doubt.
fn pins_of(answer: Option<Answer>, unread: &mut Vec<Unread>) -> Vec<Pin> {
    match answer {
        None | Some(Answer::Absent) => Vec::new(),
        Some(Answer::Unread(why)) => {
            unread.push(why);
            Vec::new()
        }
        Some(Answer::Found(map)) => match crate::pin::configmap::from_object(&map) {
            Ok(book) => book.pins().to_vec(),
            Err(error) => {
                unread.push(Unread {
                    what: "the pins".to_owned(),
                    why: error.to_string(),
                    remedy: "mend the ConfigMap, or take the broken key out".to_owned(),
                    keys: Vec::new(),
                });
                Vec::new()
            }
        },
    }
}
