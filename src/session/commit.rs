//! The one commit of pins: into the file or the ConfigMap that the policy names, before anything that uses them goes out.

use std::path::Path;

use anyhow::anyhow;

use super::{Stop, runtime};
use crate::pin::{Book, BookError, ConfigMapStore, FileStore, Pin};
use crate::policy::Policy;
use crate::world::cluster::Cluster;

/// Whether what was found out is recorded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Commit {
    /// Unless the host is known not to write (`helm template`, a dry run).
    #[default]
    Auto,
    /// In any case.
    Always,
    /// Not at all.
    Never,
}

impl Commit {
    /// Whether this run records, where its host may be known not to write.
    #[must_use]
    pub const fn records(self, writes_nothing: bool) -> bool {
        match self {
            Self::Always => true,
            Self::Never => false,
            Self::Auto => !writes_nothing,
        }
    }
}

/// Where the pins of a policy are kept.
pub(super) enum Store {
    File(FileStore),
    ConfigMap(ConfigMapStore),
}

impl Store {
    /// The store that a policy names; `None` where it names none, or where that is in a cluster that is not asked.
    pub(super) fn of(policy: &Policy, folder: &Path, cluster: Option<&Cluster>, namespace: Option<&str>) -> Option<Self> {
        if let Some(file) = file(policy, folder) {
            return Some(Self::File(file));
        }
        let (name, cluster) = (configmap_name(policy)?, cluster?);
        let namespace = namespace.unwrap_or_else(|| cluster.namespace());
        Some(Self::ConfigMap(ConfigMapStore::new(cluster.client().clone(), namespace, name)))
    }

    /// The pins as they stand.
    pub(super) fn read(&self) -> Result<Book, Stop> {
        match self {
            Self::File(file) => file.read().map_err(Stop::undecided),
            Self::ConfigMap(store) => runtime()?.block_on(store.read()).map_err(Stop::undecided),
        }
    }

    /// Changes the pins.
    pub(super) fn update<T>(&self, change: impl Fn(&mut Book) -> Result<T, BookError>) -> Result<T, Stop> {
        match self {
            Self::File(file) => file.update(change).map_err(Stop::undecided),
            Self::ConfigMap(store) => runtime()?.block_on(store.update(change)).map_err(Stop::undecided),
        }
    }
}

/// The file of the pins, where the policy names one.
pub(super) fn file(policy: &Policy, folder: &Path) -> Option<FileStore> {
    Some(FileStore::new(folder.join(policy.pins.file.as_ref()?)))
}

/// The name of the ConfigMap of the pins, where the policy names one.
pub(super) fn configmap_name(policy: &Policy) -> Option<&str> {
    policy.pins.store.as_deref()?.strip_prefix("configmap/")
}

/// Records pins that are used; where the policy names a place that cannot be reached, that is doubt.
pub(super) fn record(store: Option<&Store>, policy: &Policy, pins: &[Pin]) -> Result<(), Stop> {
    match (store, &policy.pins.store) {
        _ if pins.is_empty() => Ok(()),
        (Some(store), _) => store.update(|book| book.record(pins)).map(drop),
        (None, Some(name)) => Err(Stop::undecided(anyhow!(
            "pins cannot be recorded in {name} without a cluster; use pins.file, or --live cluster"
        ))),
        (None, None) => Ok(()),
    }
}
