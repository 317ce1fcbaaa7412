//! Late values for commands that read nothing else: sources and pins are read, what is missing is waited for, and what was
//! used is pinned. The cluster is asked only where an object or the pin store is in it.

mod pins;
mod waiting;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use clap::Args;
use jiff::Timestamp;

pub(super) use pins::keys;
pub(super) use waiting::Pending;
use waiting::Watched;

use super::called::Called;
use super::policy_object::{self, Whence};
use super::{Outside, Stop, run, setup, signals};
use crate::host::{self, Detected, Signs, Told, parent};
use crate::late::wait::{self, Screen};
use crate::late::{self, Evidence, Reach, Settled, Wanted};
use crate::pin::{self, cluster as in_cluster};
use crate::policy::{self, LateValue, Loaded, PinMode, Policy};
use crate::report::LateState;
use crate::world::cluster::{self, Answer, Cluster};
use crate::world::plan::{GroupKind, ObjectRead, Use};
use crate::world::{LiveKind, SourceReading, World, files};

/// Options that say where late values are known from.
#[derive(Debug, Clone, Args)]
pub struct KnownArgs {
    /// The policy; rollgate.yaml is looked for upward where none is told.
    #[arg(long, env = "ROLLGATE_POLICY", value_name = "FILE|configmap/[NAMESPACE/]NAME")]
    pub policy: Option<String>,
    /// Where objects are read: `cluster`, a snapshot, a manifest file or folder, or `none`.
    #[arg(long, value_name = "cluster|PATH|none", default_value = "cluster")]
    pub live: String,
    /// Name of the release.
    #[arg(long, env = "ROLLGATE_RELEASE")]
    pub release: Option<String>,
    /// Namespace of the release.
    #[arg(long, short = 'n', env = "ROLLGATE_NAMESPACE")]
    pub namespace: Option<String>,
    /// Context of the kubeconfig.
    #[arg(long, value_name = "NAME")]
    pub kube_context: Option<String>,
    /// The clock, for runs that can be repeated.
    #[arg(long, value_name = "RFC3339")]
    pub now: Option<Timestamp>,
    /// Longest time for one read of the cluster.
    #[arg(long, value_name = "DURATION", default_value = "60s")]
    pub deadline: String,
}

impl KnownArgs {
    /// Where a policy of the cluster is read.
    fn whence(&self) -> Whence<'_> {
        Whence::of(self.kube_context.as_ref(), self.namespace.as_ref(), &self.deadline)
    }
}

/// What the source of a late value says now.
pub(super) enum Said {
    /// A value that may be used.
    Value { value: String, source: String },
    /// It has none.
    Nothing,
    /// It could not be asked, or what it says cannot be used: why.
    Unasked(String),
}

/// Everything that late values are known from.
pub(super) struct Known<'a> {
    policy: &'a Policy,
    folder: &'a Path,
    /// Digest of the policy, for what is written.
    digest: String,
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

impl<'a> Known<'a> {
    /// Reads the options; nothing is asked of a cluster yet.
    pub(super) fn new(args: &KnownArgs, policy: &'a Policy, folder: &'a Path) -> Result<Self, Stop> {
        let env = setup::environment();
        let told = Told {
            kind: None,
            release: args.release.clone(),
            namespace: args.namespace.clone(),
            context: args.kube_context.clone(),
            method: None,
            force: false,
        };
        let parents = parent::chain(Path::new("/proc"), std::process::id());
        let detected = host::detect(&Signs { stdin: None, env: &env, parents: &parents, told: &told });
        let now = args.now.unwrap_or_else(Timestamp::now);
        let files = match args.live.as_str() {
            "cluster" => None,
            "none" => Some(files::nothing(&detected.host, now)),
            path => Some(files::load(Path::new(path), &detected.host, now).map_err(Stop::usage)?),
        };
        Ok(Self {
            env,
            now,
            deadline: duration(&args.deadline, "--deadline")?,
            wait: Some(Duration::ZERO),
            files,
            cluster: None,
            unnamed: false,
            runtime: run::runtime()?,
            detected,
            policy,
            folder,
            digest: String::new(),
        })
    }

    /// The same with the digest of the policy, which pins remember.
    pub(super) fn under(mut self, digest: &str) -> Self {
        digest.clone_into(&mut self.digest);
        self
    }

    /// The digest of the policy.
    pub(super) fn digest(&self) -> &str {
        &self.digest
    }

    /// The clock.
    pub(super) const fn now(&self) -> Timestamp {
        self.now
    }

    /// Longest time for one step.
    pub(super) const fn deadline(&self) -> Duration {
        self.deadline
    }

    /// Waits for missing values as long as was told, else as the policy says. Without this call nothing is waited for.
    pub(super) fn wait_for(&mut self, told: Option<&str>) -> Result<(), Stop> {
        self.wait = told.map(|text| duration(text, "--wait")).transpose()?;
        Ok(())
    }

    /// What a template may name beside late values.
    pub(super) fn variables(&self) -> BTreeMap<&'static str, String> {
        let host = &self.detected.host;
        let known = [("namespace", &host.namespace), ("release", &host.release), ("context", &host.context)];
        known.into_iter().filter_map(|(name, text)| Some((name, text.clone()?))).collect()
    }

    /// Settles the late values with these names, waiting for them where the policy or `--wait` says so.
    pub(super) fn settle(&mut self, names: &BTreeSet<String>, outside: &mut Outside<'_>) -> Result<Vec<Settled>, Stop> {
        let policy = self.policy;
        self.connect(!late::wanted(policy, names, None).is_empty())?;
        let pins = self.book()?.pins().to_vec();
        let namespace = self.detected.host.namespace.clone();
        let reach = match self.files.as_ref().map(|world| world.source.kind) {
            None => Reach::Cluster,
            Some(LiveKind::Cluster) => Reach::Snapshot,
            Some(_) => Reach::Files,
        };
        let evidence = |readings: &[SourceReading]| -> Vec<Settled> {
            let evidence = Evidence {
                readings,
                pins: &pins,
                namespace: namespace.as_deref(),
                now: self.now,
                reach,
                hidden: &late::NOTHING_HIDDEN,
            };
            let asked = policy.late_values.iter().filter(|value| names.contains(&value.name));
            asked.map(|value| late::settle(policy, value, evidence)).collect()
        };
        let missing = |readings: &[SourceReading]| {
            let evidence = Evidence {
                readings,
                pins: &pins,
                namespace: namespace.as_deref(),
                now: self.now,
                reach,
                hidden: &late::NOTHING_HIDDEN,
            };
            wait::missing(policy, names, evidence, self.wait)
        };
        let mut screen = Screen { out: outside.err, terminal: outside.err_is_terminal };
        let readings = self.runtime.block_on(async {
            let first = self.read(names).await;
            if missing(&first).iter().all(|one| one.limit.is_zero()) {
                return first;
            }
            let _waiting = signals::waiting(screen.terminal);
            let mut watch = Watched::of(self.cluster.as_ref(), policy, names, namespace.as_deref());
            wait::until_known(first, missing, async || self.read(names).await, &mut screen, &mut watch).await
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
    pub(super) fn place(&self) -> String {
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
    pub(super) fn author(&self) -> Option<String> {
        pin::author(&self.env)
    }

    /// What the source of a late value says now. What cannot be asked is not silent.
    pub(super) fn said(&mut self, value: &LateValue, outside: &mut Outside<'_>) -> Said {
        let names = BTreeSet::from([value.name.clone()]);
        if let Err(stop) = self.connect(!late::wanted(self.policy, &names, None).is_empty()) {
            return Said::Unasked(format!("{:#}", stop.error));
        }
        let readings = self.runtime.block_on(self.read(&names));
        drop(outside.err.flush());
        let alone = LateValue { pin: PinMode::Follow, ..value.clone() };
        let namespace = self.detected.host.namespace.as_deref();
        let evidence = Evidence {
            readings: &readings,
            pins: &[],
            namespace,
            now: self.now,
            reach: Reach::Files,
            hidden: &late::NOTHING_HIDDEN,
        };
        let settled = late::settle(self.policy, &alone, evidence);
        match (&settled.value, settled.state) {
            (Some(value), _) => Said::Value { value: value.clone(), source: settled.source },
            (None, LateState::Missing | LateState::Symbolic) => Said::Nothing,
            (None, _) => Said::Unasked(settled.reason.map(|reason| reason.message).unwrap_or_default()),
        }
    }

    /// How this run was called.
    pub(super) fn called<'s>(&'s self, args: &'s KnownArgs, policy: Option<&'s str>) -> Called<'s> {
        Called {
            policy,
            packs: &[],
            live: Some(args.live.as_str()).filter(|live| *live != "cluster" && self.policy.pins.file.is_some()),
            namespace: self.detected.host.namespace.as_deref(),
            context: self.detected.host.context.as_deref(),
        }
    }
}

/// The policy that was told, else the nearest one above `near` or the working directory; `None` where there is none.
pub(super) fn policy(args: &KnownArgs, near: Option<&Path>) -> Result<Option<Loaded>, Stop> {
    let file = match args.policy.as_deref() {
        Some("none") => None,
        Some(told) if policy_object::is_object(told) => return policy_object::load(told, args.whence()).map(Some),
        Some(file) => Some(PathBuf::from(file)),
        None => policy::find(near.filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new(".")))
            .map_err(Stop::usage)?,
    };
    file.map(|file| Loaded::from_file(&file)).transpose().map_err(Stop::usage)
}

/// A length of time that an option names.
pub(super) fn duration(text: &str, option: &str) -> Result<Duration, Stop> {
    policy::duration(text).with_context(|| format!("{option} {text}")).map_err(Stop::usage)
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
        Answer::Found(value) => late::reading(wanted, Ok(Some(&value))),
        Answer::Absent => late::reading(wanted, Ok(None)),
        Answer::NoKind => late::no_kind(wanted),
        Answer::Unread(unread) => late::reading(wanted, Err(format!("{}; {}", unread.why, unread.remedy))),
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
