//! The one read from a live cluster: connect, plan, list, follow, and say of everything that was asked for whether it is
//! there, proven absent, or unread. Always ends at the deadline, and always with a World.

mod call;
mod called_for;
mod connect;
mod data;
mod discover;
mod dry_run;
mod follow;
mod history;
mod inline;
mod installed;
mod kubeconfig;
mod list;
mod named_by;
pub(crate) mod needs;
pub(crate) mod plan;
mod prune;
mod read;
mod record;
mod reflect;
mod remote;
mod second;
mod standing;
mod taken;
mod unserved;
mod watch;
mod workload;

#[cfg(feature = "serve")]
pub(crate) use self::follow::pointed;
pub(crate) use self::history::Recorded;
#[cfg(feature = "serve")]
pub(crate) use self::reflect::{Installed, News, Watched, is_unserved};
pub(crate) use self::watch::Watches;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write as _};
use std::time::Duration;

use jiff::Timestamp;
use tokio::time::Instant;

use self::needs::PlannedFrom;
use self::plan::{GroupKind, ObjectRead, ReadPlan};
use crate::host::{Detected, ServerAnswer, Write, detect};
use crate::object::{Inventory, LoadError, Veil};
use crate::policy::Policy;
use crate::tree::Value;
use crate::world::history::History;
use crate::world::remote::Own;
use crate::world::workload::Workload;
use crate::world::{Asked as Answered, Base, LiveKind, LiveSource, Unread, World};

/// What one online run asks.
#[derive(Debug, Clone)]
pub struct Online<'a> {
    /// The rendered objects.
    pub rendered: &'a Inventory,
    /// The policy.
    pub policy: &'a Policy,
    /// Names of the late values that the stream needs.
    pub late: &'a BTreeSet<String>,
    /// The host, as far as it is known before the cluster is asked.
    pub detected: Detected,
    /// The environment.
    pub env: &'a BTreeMap<String, String>,
    /// The base where a file was given for it; no release record is read then.
    pub base: Option<Base>,
    /// Namespace where Flux keeps the record, where it was told.
    pub storage_namespace: Option<&'a str>,
    /// How long all of it may take.
    pub deadline: Duration,
    /// The clock of the judgement.
    pub now: Timestamp,
    /// Where no stream says what is read: all owners of Machines, in a namespace or everywhere.
    pub owners: Option<Owners<'a>>,
}

/// The owners of Machines that are asked about.
#[derive(Debug, Clone, Copy)]
pub struct Owners<'a> {
    /// Their namespace; everywhere where none is said.
    pub namespace: Option<&'a str>,
    /// Whether pools are read too, of which nobody here knows how their controllers decide.
    pub with_pools: bool,
}

/// What one object turned out to be.
#[derive(Clone, PartialEq)]
pub enum Lookup {
    /// There.
    Found(Box<Value>),
    /// Known not to be there.
    Absent,
    /// Its kind is not known to the API server, so it cannot be there.
    NoKind,
    /// Not known.
    Unread(Unread),
}

impl std::fmt::Debug for Lookup {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Found(value) => write!(f, "Found({:?})", Veil(value)),
            Self::Absent => f.write_str("Absent"),
            Self::NoKind => f.write_str("NoKind"),
            Self::Unread(unread) => f.debug_tuple("Unread").field(unread).finish(),
        }
    }
}

/// An object that a late value may come from.
#[derive(Debug, Clone, PartialEq)]
pub struct SourceObject {
    /// Name of the late value.
    pub value: String,
    /// Place of the source in the policy's list, from 0.
    pub place: usize,
    /// Where it is, for people: `ConfigMap telco/capo-cluster-resources`.
    pub source: String,
    /// The object.
    pub answer: Lookup,
}

/// The World and what came to light beside it.
#[derive(Debug, Clone)]
pub struct WorldRead {
    /// The World; late values and pins are still to be filled in from `sources` and `pins`.
    pub world: World,
    /// The objects that late values come from.
    pub sources: Vec<SourceObject>,
    /// The ConfigMap with the pins, where the policy names one.
    pub pins: Option<Lookup>,
    /// The objects with approvals, by their place in the policy's list, with what each is called.
    pub approvals: Vec<(usize, String, Lookup)>,
    /// The object with the history, where the policy names one.
    pub history: Option<Lookup>,
    /// Kinds whose objects have no namespace.
    pub cluster_wide: BTreeSet<GroupKind>,
    /// State of the cluster that each list shows.
    pub versions: BTreeMap<String, String>,
    /// What was planned, with what the second look added.
    pub plan: ReadPlan,
    /// Requests made.
    pub requests: u64,
    /// Bytes received, unpacked.
    pub bytes: u64,
    /// What a person should know, beside what the detection of the host said.
    pub warnings: Vec<String>,
    /// The way to the cluster, for what is still to be read or committed; `None` where there is none.
    pub cluster: Option<Cluster>,
}

/// A cluster that answers.
#[derive(Clone)]
pub struct Cluster {
    way: connect::Way,
}

impl std::fmt::Debug for Cluster {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cluster").field("name", &self.way.name).finish_non_exhaustive()
    }
}

impl Cluster {
    /// The client, for what is committed.
    #[must_use]
    pub fn client(&self) -> &kube::Client {
        &self.way.client
    }

    /// How a person calls it.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.way.name
    }

    /// Namespace of the context.
    #[must_use]
    pub fn namespace(&self) -> &str {
        &self.way.namespace
    }

    /// Reads single objects again, as a wait for late values does, within `deadline`.
    pub async fn objects(&self, reads: &[ObjectRead], deadline: Duration) -> Vec<Lookup> {
        let caller = call::Caller::new(self.way.client.clone(), Instant::now() + deadline);
        read::singles(&caller, reads).await
    }

    /// Watches single objects, where the API server allows it.
    #[must_use]
    pub fn watch(&self, reads: &[ObjectRead]) -> Watches {
        Watches::of(&self.way.client, reads)
    }

    /// The namespace that the context of the kubeconfig names; without one kubectl takes `default`, which nobody has said.
    #[must_use]
    pub fn named_namespace(&self) -> Option<&str> {
        Some(self.way.namespace.as_str()).filter(|_| self.way.names_namespace)
    }

    /// Reads what Helm recorded of releases, revision by revision, within `deadline`.
    pub async fn histories(&self, releases: &[Recorded], deadline: Duration) -> Vec<History> {
        let caller = call::Caller::new(self.way.client.clone(), Instant::now() + deadline);
        history::read(&caller, releases).await
    }

    /// Looks into clusters that are managed here (namespace and name), each within `timeout` and all within `deadline`, by the
    /// kubeconfig that Cluster API keeps for them. What could not be read is in the answer.
    pub async fn workloads(
        &self,
        clusters: &BTreeSet<(Option<String>, String)>,
        timeout: Duration,
        deadline: Duration,
    ) -> Vec<Workload> {
        let ends = (timeout, Instant::now() + deadline);
        workload::all(&self.way.client, clusters.iter().cloned(), ends).await
    }

    /// Asks what the API server would hold after each write, within `deadline`; nothing is written. What could not be asked
    /// is unread. `hide` hides in the words of a refusal what they quote of an object.
    pub async fn dry_run(
        &self,
        writes: Vec<Write>,
        deadline: Duration,
        hide: &dry_run::Hide<'_>,
    ) -> (Vec<ServerAnswer>, Vec<Unread>) {
        let caller = call::Caller::new(self.way.client.clone(), Instant::now() + deadline);
        dry_run::ask(&caller, writes, hide).await
    }
}

/// Finds the cluster without reading anything from it.
///
/// # Errors
/// When there is no way to it, with what to do.
pub async fn connect(
    detected: &Detected,
    env: &BTreeMap<String, String>,
    deadline: Duration,
) -> Result<Cluster, Unread> {
    match connect::connect(&detected.reach, env, Instant::now() + deadline).await {
        Ok(way) => Ok(Cluster { way }),
        Err(none) => {
            Err(Unread { what: "the cluster".to_owned(), why: none.why, remedy: none.remedy, keys: Vec::new() })
        }
    }
}

/// Reads everything that the judgement needs. `progress` gets a line that is written over, so pass it only for a terminal.
///
/// # Errors
/// When a rendered CAPI object is not what Kubernetes reads. Whatever goes wrong with the cluster is an unread of the World.
pub async fn read(
    mut online: Online<'_>,
    progress: Option<&mut (dyn io::Write + Send)>,
) -> Result<WorldRead, LoadError> {
    let end = Instant::now() + online.deadline;
    let way = connect::connect(&online.detected.reach, online.env, end).await;
    if let (Ok(way), true) = (&way, online.detected.namespace_of_context) {
        online.detected.host.namespace = Some(way.namespace.clone());
    }
    let plan = match online.owners {
        Some(owners) => {
            let home = way.as_ref().map_or("default", |way| way.namespace.as_str());
            needs::of_owners(online.policy, &owners, home)
        }
        None => needs::needs(&PlannedFrom {
            rendered: online.rendered,
            policy: online.policy,
            late: online.late,
            host: &online.detected,
            base_given: online.base.is_some(),
            storage_namespace: online.storage_namespace,
        })?,
    };
    let mut outcome = empty(&mut online, plan);
    let mut progress = Progress { out: progress };
    match way {
        Ok(way) => {
            outcome.world.source.name.clone_from(&way.name);
            if let Some(told) = online.detected.told_over_context.as_ref().filter(|told| **told != way.namespace) {
                outcome.world.unread.push(detect::wrong_namespace(told, &way.namespace));
            }
            let caller = call::Caller::new(way.client.clone(), end);
            let own = Own::new(&way.server, &way.authorities);
            outcome.cluster = Some(Cluster { way });
            read::all(&caller, &online, own, &mut outcome, &mut progress).await;
            outcome.world.unread.extend(caller.skew().and_then(clock));
            (outcome.requests, outcome.bytes) = caller.counts();
        }
        Err(none) => {
            let context = online.detected.reach.context.as_deref().unwrap_or("cluster");
            outcome.world.source.name = format!("{context} (not reached)");
            let unread =
                Unread { what: "the cluster".to_owned(), why: none.why, remedy: none.remedy, keys: Vec::new() };
            for read in outcome.plan.objects.clone() {
                read::place(&mut outcome, &read, Lookup::Unread(unread.clone()));
            }
            outcome.world.unread.push(unread);
        }
    }
    outcome.world.source.resource_versions.clone_from(&outcome.versions);
    progress.clear();
    Ok(outcome)
}

/// Clocks that are further apart than this are a doubt, in seconds.
const CLOCKS: i64 = 300;

/// The doubt about a clock that differs from that of the API server: windows, certificates that expire and rollouts at a
/// time are judged by ours and acted on by theirs.
fn clock(skew: i64) -> Option<Unread> {
    let way = if skew > 0 { "behind" } else { "ahead of" };
    (skew.abs() > CLOCKS).then(|| Unread {
        what: "the time".to_owned(),
        why: format!("the clock here is {} minutes {way} that of the API server", (skew.abs() + 30) / 60),
        remedy: "set the clock".to_owned(),
        keys: Vec::new(),
    })
}

/// An outcome in which nothing was read yet.
fn empty(online: &mut Online<'_>, plan: ReadPlan) -> WorldRead {
    let world = World {
        base: online.base.take().unwrap_or_default(),
        host: online.detected.host.clone(),
        unread: online.detected.doubts.clone(),
        coverage: Answered::default().into(),
        ..World::new(LiveSource::new(LiveKind::Cluster, String::new()), Inventory::default(), online.now)
    };
    WorldRead::of(world, plan)
}

impl WorldRead {
    /// What a World and a plan are before anything is read.
    fn of(world: World, plan: ReadPlan) -> Self {
        Self {
            world,
            sources: Vec::new(),
            pins: None,
            approvals: Vec::new(),
            history: None,
            cluster_wide: BTreeSet::new(),
            versions: BTreeMap::new(),
            plan,
            requests: 0,
            bytes: 0,
            warnings: Vec::new(),
            cluster: None,
        }
    }
}

/// A line on the terminal that shows how far the read is.
struct Progress<'a> {
    out: Option<&'a mut (dyn io::Write + Send)>,
}

impl Progress<'_> {
    /// Writes over the line. A terminal that went away changes nothing about the read.
    fn say(&mut self, text: &str) {
        if let Some(out) = &mut self.out {
            drop(write!(out, "\r\x1b[K{text}").and_then(|()| out.flush()));
        }
    }

    /// Takes the line away.
    fn clear(&mut self) {
        self.say("");
    }
}
