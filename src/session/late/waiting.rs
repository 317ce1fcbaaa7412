//! The wait of a judging question for late values that are not there yet: what is watched, and how often is looked.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use super::{object_read, objects};
use crate::cluster::plan::ObjectRead;
use crate::cluster::{Cluster, Watches};
use crate::late::wait::{self, Pace};
use crate::late::{self, Evidence, Reach};
use crate::policy::Policy;
use crate::session::{Observer, Stop, runtime};
use crate::world::{SourceReading, World};

/// What a wait of a judging question is about.
pub(in crate::session) struct Pending<'a> {
    /// The policy.
    pub(in crate::session) policy: &'a Policy,
    /// The folder that its files start from.
    pub(in crate::session) folder: &'a Path,
    /// The environment.
    pub(in crate::session) env: &'a BTreeMap<String, String>,
    /// The late values that the stream needs.
    pub(in crate::session) names: &'a BTreeSet<String>,
    /// What was read.
    pub(in crate::session) world: &'a World,
    /// The cluster that is asked again.
    pub(in crate::session) cluster: &'a Cluster,
    /// Longest time for one read.
    pub(in crate::session) deadline: Duration,
    /// How long is waited for each value; the policy says it where nothing was told.
    pub(in crate::session) told: Option<Duration>,
}

impl Pending<'_> {
    /// Waits for what is missing. `true` where there was something to wait for: then the World is old and has to be read again.
    pub(in crate::session) fn wait(&self, observer: &mut dyn Observer) -> Result<bool, Stop> {
        let namespace = self.world.host.namespace.as_deref();
        let placeholders = late::Placeholders::of(self.policy);
        let missing = |readings: &[SourceReading]| {
            let (pins, now) = (&self.world.pins, self.world.now);
            let (reach, placeholders, hidden) = (Reach::Cluster, &placeholders, &late::NOTHING_HIDDEN);
            let evidence = Evidence { readings, pins, namespace, now, reach, placeholders, hidden };
            wait::missing(self.policy, self.names, evidence, self.told)
        };
        let first = &self.world.readings;
        if missing(first).iter().map(|one| one.limit).min().is_none_or(|limit| limit.is_zero()) {
            return Ok(false);
        }
        let read = async || {
            let mut readings = late::local(self.policy, self.names, self.folder, self.env).await;
            readings.extend(objects(self.cluster, self.policy, self.names, namespace, self.deadline).await);
            readings
        };
        drop(runtime()?.block_on(async {
            let _waiting = observer.waits();
            let mut screen = observer.screen();
            let mut watch = Watched::of(Some(self.cluster), self.policy, self.names, namespace);
            wait::until_known(first.clone(), missing, read, &mut screen, &mut watch).await
        }));
        Ok(true)
    }
}

/// What tells of changes while late values are waited for.
pub(super) struct Watched {
    watches: Option<Watches>,
    /// Whether something else than objects may bring a value.
    others: bool,
}

impl Watched {
    /// Watches the objects that these late values come from, where there is a cluster.
    pub(in crate::session) fn of(
        cluster: Option<&Cluster>,
        policy: &Policy,
        names: &BTreeSet<String>,
        namespace: Option<&str>,
    ) -> Self {
        let reads: Vec<ObjectRead> = late::wanted(policy, names, namespace).iter().map(object_read).collect();
        let names = policy.with_origins(names);
        let mut sources =
            policy.late_values.iter().filter(|value| names.contains(&value.name)).flat_map(|value| &value.from);
        let others = sources.any(|from| from.object.is_none() && from.env.is_none() && from.template.is_none());
        Self { watches: cluster.filter(|_| !reads.is_empty()).map(|cluster| cluster.watch(&reads)), others }
    }
}

impl wait::Watch for Watched {
    async fn changed(&mut self) {
        match &self.watches {
            Some(watches) => watches.changed().await,
            None => std::future::pending().await,
        }
    }

    fn pace(&self) -> Pace {
        match &self.watches {
            Some(watches) if !self.others && watches.are_open() => Pace::WATCHED,
            _ => Pace::POLLED,
        }
    }
}
