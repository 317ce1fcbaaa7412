//! Late values for commands that read nothing else: sources and pins are read, what is missing is waited for, and what was
//! used is pinned. The cluster is asked only where an object or the pin store is in it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use anyhow::anyhow;
use jiff::Timestamp;

use super::commit::{self, Commit, Store, configmap_name};
use super::{Live, Options, Screen, Stop, environment, runtime};
use crate::host::Detected;
use crate::late::wait::{self, Pace};
use crate::late::{self, Evidence, Reach, Settled, Wanted};
use crate::pin::{Book, BookError, Pin, configmap};
use crate::policy::Policy;
use crate::world::cluster::{self, Answer, Cluster};
use crate::world::plan::{GroupKind, ObjectRead, Use};
use crate::world::{LiveKind, SourceReading, World, files};

/// Everything that late values are known from.
pub struct LateValues<'a> {
    policy: &'a Policy,
    folder: &'a Path,
    env: BTreeMap<String, String>,
    detected: Detected,
    now: Timestamp,
    deadline: Duration,
    wait: Option<Duration>,
    /// The files of `--live PATH`.
    files: Option<World>,
    cluster: Option<Cluster>,
    runtime: &'static tokio::runtime::Runtime,
}

impl<'a> LateValues<'a> {
    /// Reads the options; nothing is asked of a cluster yet.
    ///
    /// # Errors
    /// When the files of `live` cannot be read.
    pub fn new(options: &Options, policy: &'a Policy, folder: &'a Path) -> Result<Self, Stop> {
        let env = environment();
        let detected = options.detect(None, &env);
        let now = options.now.unwrap_or_else(Timestamp::now);
        let files = match &options.live {
            Live::Cluster => None,
            Live::Nothing => Some(files::nothing(&detected.host, now)),
            Live::Path(path) => Some(files::load(path, &detected.host, now).map_err(Stop::usage)?),
        };
        Ok(Self {
            env,
            now,
            deadline: options.deadline,
            wait: Some(Duration::ZERO),
            files,
            cluster: None,
            runtime: runtime()?,
            detected,
            policy,
            folder,
        })
    }

    /// The clock.
    #[must_use]
    pub const fn now(&self) -> Timestamp {
        self.now
    }

    /// Waits for missing values as long as was told, else as the policy says. Without this call nothing is waited for.
    pub const fn wait_for(&mut self, told: Option<Duration>) {
        self.wait = told;
    }

    /// What a template may name beside late values.
    #[must_use]
    pub fn variables(&self) -> BTreeMap<&'static str, String> {
        let host = &self.detected.host;
        let known = [("namespace", &host.namespace), ("release", &host.release), ("context", &host.context)];
        known.into_iter().filter_map(|(name, text)| Some((name, text.clone()?))).collect()
    }

    /// Settles the late values with these names, waiting for them where the policy or the caller says so.
    ///
    /// # Errors
    /// When the cluster or the pins cannot be reached.
    pub fn settle(&mut self, names: &BTreeSet<String>, screen: &mut Screen<'_>) -> Result<Vec<Settled>, Stop> {
        let policy = self.policy;
        self.connect(!late::wanted(policy, names, None).is_empty())?;
        let pins = self.book()?.pins().to_vec();
        let namespace = self.detected.host.namespace.clone();
        let offline = self.files.as_ref().is_some_and(|world| world.source.kind != LiveKind::Cluster);
        let reach = if offline { Reach::Files } else { Reach::Cluster };
        let evidence = |readings: &[SourceReading]| -> Vec<Settled> {
            let evidence = Evidence { readings, pins: &pins, namespace: namespace.as_deref(), now: self.now, reach };
            let asked = policy.late_values.iter().filter(|value| names.contains(&value.name));
            asked.map(|value| late::settle(policy, value, evidence)).collect()
        };
        let missing = |readings: &[SourceReading]| {
            let evidence = Evidence { readings, pins: &pins, namespace: namespace.as_deref(), now: self.now, reach };
            wait::missing(policy, names, evidence, self.wait)
        };
        let readings = self.runtime.block_on(async {
            let first = self.read(names).await;
            wait::until_known(first, missing, async || self.read(names).await, screen, Pace::default()).await
        });
        Ok(evidence(&readings))
    }

    /// Connects to the cluster where objects or pins are in it.
    fn connect(&mut self, objects: bool) -> Result<(), Stop> {
        let needed = objects || self.policy.pins.store.is_some();
        if !needed || self.files.is_some() || self.cluster.is_some() {
            return Ok(());
        }
        let connected = self.runtime.block_on(cluster::connect(&self.detected, &self.env, self.deadline));
        let cluster = connected
            .map_err(|unread| Stop::undecided(anyhow!("{}: {}; {}", unread.what, unread.why, unread.remedy)))?;
        if self.detected.host.namespace.is_none() {
            self.detected.host.namespace = Some(cluster.namespace().to_owned());
        }
        self.cluster = Some(cluster);
        Ok(())
    }

    /// What every source of these values gives now.
    async fn read(&self, names: &BTreeSet<String>) -> Vec<SourceReading> {
        let sources = match (&self.files, &self.cluster) {
            (Some(world), _) => Source::Files(world),
            (None, Some(cluster)) => Source::Cluster(cluster, self.deadline),
            (None, None) => Source::Nothing,
        };
        let mut readings = late::local(self.policy, names, self.folder, &self.env);
        readings.extend(sources.read(self.policy, names, self.detected.host.namespace.as_deref()).await);
        readings
    }

    /// The pins as they stand, from wherever the policy keeps them.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn pins(&mut self) -> Result<Book, Stop> {
        self.connect(false)?;
        self.book()
    }

    fn book(&self) -> Result<Book, Stop> {
        match self.store() {
            Some(store) => store.read(),
            None => self.pins_among_files(),
        }
    }

    /// Changes the pins where the policy keeps them; `None` where it names no place, or that place is in a cluster that is not asked.
    ///
    /// # Errors
    /// When they cannot be changed.
    pub fn update<T>(&mut self, change: impl Fn(&mut Book) -> Result<T, BookError>) -> Result<Option<T>, Stop> {
        self.connect(false)?;
        self.store().map(|store| store.update(change)).transpose()
    }

    fn store(&self) -> Option<Store> {
        let namespace = self.detected.host.namespace.as_deref();
        Store::of(self.policy, self.folder, self.cluster.as_ref(), namespace)
    }

    /// The pins in a ConfigMap that lies among the files of `--live`.
    fn pins_among_files(&self) -> Result<Book, Stop> {
        let (Some(name), Some(world)) = (configmap_name(self.policy), &self.files) else { return Ok(Book::default()) };
        let namespace = self.detected.host.namespace.as_deref();
        let found = world.live.objects().iter().find(|object| {
            let key = &object.key;
            let here = key.namespace.is_none() || namespace.is_none() || key.namespace.as_deref() == namespace;
            key.group.is_empty() && key.kind == "ConfigMap" && key.name == name && here
        });
        let Some(object) = found else { return Ok(Book::default()) };
        let value = object.value().map_err(Stop::usage)?;
        configmap::from_object(&value).map_err(Stop::undecided)
    }

    /// Records the pins of values that are used.
    ///
    /// # Errors
    /// When they cannot be recorded.
    pub fn commit<'s>(&self, wish: Commit, settled: impl Iterator<Item = &'s Settled>) -> Result<(), Stop> {
        let pins: Vec<Pin> = settled.filter_map(|one| one.pin.clone()).collect();
        match self.store() {
            // Files stand for a cluster that is not there to keep anything.
            Some(store) if wish.records(self.detected.host.writes_nothing) => {
                commit::record(Some(&store), self.policy, &pins)
            }
            _ => Ok(()),
        }
    }
}

/// Where the objects are that late values come from.
#[derive(Clone, Copy)]
enum Source<'a> {
    /// Among files.
    Files(&'a World),
    /// In a cluster, which is asked for no longer than this.
    Cluster(&'a Cluster, Duration),
    /// Out of reach.
    Nothing,
}

impl Source<'_> {
    /// What they give for these late values now.
    async fn read(self, policy: &Policy, names: &BTreeSet<String>, namespace: Option<&str>) -> Vec<SourceReading> {
        match self {
            Self::Files(world) => late::within(policy, names, namespace, &world.live),
            Self::Cluster(cluster, deadline) => {
                let wanted = late::wanted(policy, names, namespace);
                let reads: Vec<ObjectRead> = wanted.iter().map(object_read).collect();
                let answers = cluster.objects(&reads, deadline).await;
                wanted.iter().zip(&answers).map(|(wanted, answer)| reading_of(wanted, Some(answer))).collect()
            }
            Self::Nothing => Vec::new(),
        }
    }
}

/// What an answer of the cluster says of a late value.
pub(super) fn reading_of(wanted: &Wanted<'_>, answer: Option<&Answer>) -> SourceReading {
    match answer {
        Some(Answer::Found(value)) => late::reading(wanted, Ok(Some(value))),
        Some(Answer::Absent) => late::reading(wanted, Ok(None)),
        Some(Answer::Unread(unread)) => late::reading(wanted, Err(format!("{}; {}", unread.why, unread.remedy))),
        None => late::reading(wanted, Err("it was not read".to_owned())),
    }
}

/// What a wait of a judging command is about.
pub(super) struct Pending<'a> {
    /// The policy.
    pub(super) policy: &'a Policy,
    /// The folder that its files start from.
    pub(super) folder: &'a Path,
    /// The environment.
    pub(super) env: &'a BTreeMap<String, String>,
    /// The late values that the stream needs.
    pub(super) names: &'a BTreeSet<String>,
    /// What was read.
    pub(super) world: &'a World,
    /// The cluster that is asked again.
    pub(super) cluster: &'a Cluster,
    /// Longest time for one read.
    pub(super) deadline: Duration,
    /// How long is waited for each value; the policy says it where nothing was told.
    pub(super) told: Option<Duration>,
}

impl Pending<'_> {
    /// Waits for what is missing. `true` where there was something to wait for: then the World is old and has to be read again.
    pub(super) fn wait(&self, screen: &mut Screen<'_>) -> Result<bool, Stop> {
        let namespace = self.world.host.namespace.as_deref();
        let missing = |readings: &[SourceReading]| {
            let (pins, now) = (&self.world.pins, self.world.now);
            let evidence = Evidence { readings, pins, namespace, now, reach: Reach::Cluster };
            wait::missing(self.policy, self.names, evidence, self.told)
        };
        let first = &self.world.readings;
        if missing(first).iter().map(|one| one.limit).min().is_none_or(|limit| limit.is_zero()) {
            return Ok(false);
        }
        let read = async || {
            let mut readings = late::local(self.policy, self.names, self.folder, self.env);
            let source = Source::Cluster(self.cluster, self.deadline);
            readings.extend(source.read(self.policy, self.names, namespace).await);
            readings
        };
        let waiting = wait::until_known(first.clone(), missing, read, screen, Pace::default());
        drop(runtime()?.block_on(waiting));
        Ok(true)
    }
}

/// The read of one source.
fn object_read(wanted: &Wanted<'_>) -> ObjectRead {
    let api = crate::object::ApiVersion::parse(&wanted.source.api_version);
    ObjectRead {
        kind: GroupKind::new(api.group, &wanted.source.kind),
        version: Some(api.version.to_owned()),
        namespace: wanted.namespace.clone(),
        name: wanted.source.name.clone(),
        used: Use::Late(wanted.value.name.clone(), wanted.place),
    }
}
