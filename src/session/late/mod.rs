//! Late values for those who read nothing else: sources and pins are read, what is missing is waited for, and what was
//! used is pinned. The cluster is asked only where an object or the pin store is in it.

pub(crate) mod apart;
pub(crate) mod fill;
pub(crate) mod publish;
mod waiting;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use anyhow::anyhow;
use jiff::Timestamp;

pub(super) use waiting::Pending;
use waiting::Watched;

use super::pins::{self, PinPlace};
use super::{Commit, Live, Observer, Stop, connect, detect, environment, runtime};
use crate::cluster::plan::{GroupKind, ObjectRead, Use};
use crate::cluster::{Cluster, Lookup};
use crate::host::{Detected, Host, ToldHost};
use crate::late::wait;
use crate::late::{self, Evidence, Reach, Settled, Wanted};
use crate::pin::{self, Book, BookError, cluster as in_cluster};
use crate::policy::{LateValue, PinMode, Policy};
use crate::report::LateState;
use crate::world::{LiveKind, SourceReading, World, files};

/// Where late values come from.
#[derive(Debug, Clone)]
pub(crate) struct LateSources<'a> {
    /// The policy.
    pub policy: &'a Policy,
    /// The folder that its files start from.
    pub folder: &'a Path,
    /// Its digest, for what is written; empty where nothing is.
    pub digest: &'a str,
    /// What was told of the release and its cluster.
    pub told: ToldHost,
    /// Where objects are read.
    pub live: Live,
    /// The clock, where it was told.
    pub now: Option<Timestamp>,
    /// Longest time for one read of the cluster.
    pub deadline: Duration,
    /// How long is waited for each value; the policy says it where nothing was told.
    pub wait: Option<Duration>,
}

/// What the source of a late value says now.
#[derive(Debug)]
pub(crate) enum SourceSaid {
    /// A value that may be used.
    Value {
        /// The value.
        value: String,
        /// Where it comes from.
        source: String,
    },
    /// It has none.
    Nothing,
    /// It could not be asked, or what it says cannot be used: why.
    Unasked(String),
}

/// Everything that late values are known from.
pub(crate) struct LateValues<'a> {
    policy: &'a Policy,
    folder: &'a Path,
    /// Digest of the policy, for what is written.
    digest: &'a str,
    env: BTreeMap<String, String>,
    detected: Detected,
    now: Timestamp,
    deadline: Duration,
    wait: Option<Duration>,
    /// The files of `--live PATH`.
    files: Option<World>,
    cluster: Option<Cluster>,
    /// Whether the namespace is `default` because nobody names one: nothing is written there.
    unnamed: bool,
    runtime: &'static tokio::runtime::Runtime,
}

impl<'a> LateValues<'a> {
    /// Nothing is asked of a cluster yet.
    ///
    /// # Errors
    /// When the files that were told cannot be read.
    pub(crate) fn new(asked: LateSources<'a>) -> Result<Self, Stop> {
        let LateSources { policy, folder, digest, told, live, now, deadline, wait } = asked;
        let env = environment();
        let detected = detect(&told, None, &env);
        let now = now.unwrap_or_else(Timestamp::now);
        let files = match live {
            Live::Cluster => None,
            Live::Nothing => Some(files::nothing(&detected.host, now)),
            Live::Path(path) => Some(files::load(&path, &detected.host, now).map_err(Stop::usage)?),
        };
        Ok(Self {
            env,
            now,
            deadline,
            wait,
            files,
            cluster: None,
            unnamed: false,
            runtime: runtime()?,
            detected,
            policy,
            folder,
            digest,
        })
    }

    /// The digest of the policy.
    #[must_use]
    pub(crate) const fn digest(&self) -> &str {
        self.digest
    }

    /// The policy.
    #[must_use]
    pub(crate) const fn policy(&self) -> &Policy {
        self.policy
    }

    /// Namespace and context, where they are known.
    #[must_use]
    pub(crate) fn host(&self) -> &Host {
        &self.detected.host
    }

    /// The clock.
    #[must_use]
    pub(crate) const fn now(&self) -> Timestamp {
        self.now
    }

    /// Longest time for one step.
    #[must_use]
    pub(crate) const fn deadline(&self) -> Duration {
        self.deadline
    }

    /// What a template may name beside late values.
    #[must_use]
    pub(crate) fn variables(&self) -> BTreeMap<&'static str, String> {
        let host = &self.detected.host;
        let known = [("namespace", &host.namespace), ("release", &host.release), ("context", &host.context)];
        known.into_iter().filter_map(|(name, text)| Some((name, text.clone()?))).collect()
    }

    /// Settles the late values with these names, waiting for them where the policy or the caller says so.
    ///
    /// # Errors
    /// When the pins cannot be read, or no way leads to the cluster that is asked.
    pub(crate) fn settle(
        &mut self,
        names: &BTreeSet<String>,
        observer: &mut dyn Observer,
    ) -> Result<Vec<Settled>, Stop> {
        let policy = self.policy;
        self.connect(!late::wanted(policy, names, None).is_empty())?;
        let pins = self.book()?.pins().to_vec();
        let namespace = self.detected.host.namespace.clone();
        let reach = match self.files.as_ref().map(|world| world.source.kind) {
            None => Reach::Cluster,
            Some(LiveKind::Cluster) => Reach::Snapshot,
            Some(_) => Reach::Files,
        };
        let placeholders = late::Placeholders::of(policy);
        let nothing = Evidence {
            readings: &[],
            pins: &pins,
            namespace: namespace.as_deref(),
            now: self.now,
            reach,
            placeholders: &placeholders,
            hidden: &late::NOTHING_HIDDEN,
        };
        let missing =
            |readings: &[SourceReading]| wait::missing(policy, names, Evidence { readings, ..nothing }, self.wait);
        let readings = self.runtime.block_on(async {
            let first = self.read(names).await;
            if missing(&first).iter().all(|one| one.limit.is_zero()) {
                return first;
            }
            let _waiting = observer.waits();
            let mut screen = observer.screen();
            let mut watch = Watched::of(self.cluster.as_ref(), policy, names, namespace.as_deref());
            wait::until_known(first, missing, async || self.read(names).await, &mut screen, &mut watch).await
        });
        let evidence = Evidence { readings: &readings, ..nothing };
        let asked = policy.late_values.iter().filter(|value| names.contains(&value.name));
        Ok(asked.map(|value| late::settle(policy, value, evidence)).collect())
    }

    /// Connects to the cluster where objects or pins are in it.
    fn connect(&mut self, objects: bool) -> Result<(), Stop> {
        let needed = objects || self.policy.pins.store.is_some();
        if !needed || self.files.is_some() || self.cluster.is_some() {
            return Ok(());
        }
        let cluster = connect(&self.detected, &self.env, self.deadline)?;
        if self.detected.host.namespace.is_none() {
            // Helm itself goes into `default` where nobody names a namespace, and then that is the one of its release.
            self.unnamed = cluster.named_namespace().is_none() && self.detected.host.release.is_none();
            self.detected.host.namespace = Some(cluster.namespace().to_owned());
        }
        self.cluster = Some(cluster);
        Ok(())
    }

    /// What every source of these values gives now.
    async fn read(&self, names: &BTreeSet<String>) -> Vec<SourceReading> {
        let (policy, namespace) = (self.policy, self.detected.host.namespace.as_deref());
        let mut readings = late::local(policy, names, self.folder, &self.env).await;
        match (&self.files, &self.cluster) {
            (Some(world), _) => readings.extend(late::within(policy, names, namespace, &world.live)),
            (None, Some(cluster)) => {
                readings.extend(objects(cluster, policy, names, namespace, self.deadline).await);
            }
            (None, None) => {}
        }
        readings
    }

    /// Where the pins are, for people.
    #[must_use]
    pub(crate) fn place(&self) -> String {
        match (&self.policy.pins.file, self.policy.pins.in_cluster()) {
            (Some(file), _) => format!("file {}", self.folder.join(file).display()),
            (None, Some((kind, name))) => {
                let namespace = self.detected.host.namespace.as_deref().unwrap_or("(no namespace)");
                format!("{} {namespace}/{name}", in_cluster::word(kind))
            }
            (None, None) => "nowhere: the policy names no place for pins".to_owned(),
        }
    }

    /// Who runs this.
    #[must_use]
    pub(crate) fn author(&self) -> Option<String> {
        pin::author(&self.env)
    }

    /// What the source of a late value says now. What cannot be asked is not silent.
    pub(crate) fn said(&mut self, value: &LateValue) -> SourceSaid {
        let names = BTreeSet::from([value.name.clone()]);
        if let Err(stop) = self.connect(!late::wanted(self.policy, &names, None).is_empty()) {
            return SourceSaid::Unasked(format!("{:#}", stop.error));
        }
        let readings = self.runtime.block_on(self.read(&names));
        let alone = LateValue { pin: PinMode::Follow, ..value.clone() };
        let namespace = self.detected.host.namespace.as_deref();
        let placeholders = late::Placeholders::of(self.policy);
        let evidence = Evidence {
            readings: &readings,
            pins: &[],
            namespace,
            now: self.now,
            reach: Reach::Files,
            placeholders: &placeholders,
            hidden: &late::NOTHING_HIDDEN,
        };
        let settled = late::settle(self.policy, &alone, evidence);
        match (&settled.value, settled.state) {
            (Some(value), _) => SourceSaid::Value { value: value.clone(), source: settled.source },
            (None, LateState::Missing | LateState::Symbolic) => SourceSaid::Nothing,
            (None, _) => SourceSaid::Unasked(settled.reason.map(|reason| reason.message).unwrap_or_default()),
        }
    }
}

impl LateValues<'_> {
    /// The pins as they stand, from wherever the policy keeps them.
    ///
    /// # Errors
    /// When they cannot be read.
    pub(crate) fn pins(&mut self) -> Result<Book, Stop> {
        self.connect(false)?;
        self.book()
    }

    fn book(&self) -> Result<Book, Stop> {
        let book = match (self.pin_place()?, &self.files) {
            (Some(place), _) => place.read()?,
            (None, Some(world)) => pins::among(self.policy, world, self.detected.host.namespace.as_deref())?,
            (None, None) => Book::default(),
        };
        let keys = pins::keys(book.pins(), &self.env)?;
        Ok(book.opened(&keys))
    }

    /// Changes the pins where the policy keeps them; `None` where it names no place, or that place is in a cluster that is not asked.
    ///
    /// # Errors
    /// When they cannot be read or written.
    pub(crate) fn update<T>(&mut self, change: impl Fn(&mut Book) -> Result<T, BookError>) -> Result<Option<T>, Stop> {
        self.connect(false)?;
        self.pin_place()?.map(|place| place.update(change)).transpose()
    }

    /// Records the pins of values that are used.
    ///
    /// # Errors
    /// When they cannot be written.
    pub(crate) fn commit<'s>(&self, wish: Commit, settled: impl Iterator<Item = &'s Settled>) -> Result<(), Stop> {
        let used = settled.filter_map(|one| one.pin.clone());
        let pins = pins::signed(used, self.author(), self.digest, &self.policy.pins.encrypt_to)?;
        if wish.writes(&self.detected.host) && !pins.is_empty() {
            let _: Option<bool> = self.pin_place()?.map(|place| place.update(|book| book.record(&pins))).transpose()?;
        }
        Ok(())
    }

    /// Where the policy keeps the pins, where that can be reached from here.
    fn pin_place(&self) -> Result<Option<PinPlace>, Stop> {
        if let Some(file) = pins::file(self.policy, self.folder) {
            return Ok(Some(PinPlace::File(file)));
        }
        let (Some(_), Some(cluster)) = (self.policy.pins.in_cluster(), &self.cluster) else { return Ok(None) };
        let namespace = self.namespace("the pins")?;
        Ok(in_cluster::store(&self.policy.pins, cluster.client().clone(), namespace).map(PinPlace::Object))
    }

    /// The namespace that something is written into.
    fn namespace(&self, what: &str) -> Result<&str, Stop> {
        let namespace = self.detected.host.namespace.as_deref().filter(|_| !self.unnamed);
        namespace.ok_or_else(|| {
            Stop::usage(anyhow!(
                "no namespace is known for {what}: neither an option nor the context of the kubeconfig names one, and rollgate does not \
                 assume \"default\"; pass --namespace"
            ))
        })
    }
}

/// What the objects of a cluster give for these late values now.
async fn objects(
    cluster: &Cluster,
    policy: &Policy,
    names: &BTreeSet<String>,
    namespace: Option<&str>,
    deadline: Duration,
) -> Vec<SourceReading> {
    let wanted = late::wanted(policy, names, namespace);
    let reads: Vec<ObjectRead> = wanted.iter().map(object_read).collect();
    let answers = cluster.objects(&reads, deadline).await;
    let readings = wanted.iter().zip(answers).map(|(wanted, answer)| match answer {
        Lookup::Found(value) => late::reading(wanted, Ok(Some(&value))),
        Lookup::Absent => late::reading(wanted, Ok(None)),
        Lookup::NoKind => late::no_kind(wanted),
        Lookup::Unread(unread) => late::reading(wanted, Err(format!("{}; {}", unread.why, unread.remedy))),
    });
    readings.collect()
}

/// The read of one source.
fn object_read(wanted: &Wanted<'_>) -> ObjectRead {
    let api = crate::object::ApiVersion::parse(&wanted.source.api_version);
    ObjectRead {
        kind: GroupKind::new(api.group, &wanted.source.kind),
        version: Some(api.version.to_owned()),
        namespace: wanted.namespace.clone(),
        name: wanted.source.name.clone(),
        used: Use::Late(wanted.value.name.clone(), wanted.place, wanted.source.selector.clone()),
    }
}
