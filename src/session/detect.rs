//! Who writes, and the way to the cluster that it writes to.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use anyhow::anyhow;

use super::{Stop, runtime};
use crate::cluster::{self, Cluster};
use crate::host::{self, Detected, Signs, ToldHost, parent};

/// Who writes, by what was told, the environment, the processes above this one, and the stream where it came from the host itself.
#[must_use]
pub(crate) fn detect(told: &ToldHost, stdin: Option<&[u8]>, env: &BTreeMap<String, String>) -> Detected {
    let parents = parent::chain(Path::new("/proc"), std::process::id());
    host::detect(&Signs { stdin, env, parents: &parents, told })
}

/// Connects to the cluster that a host writes to.
///
/// # Errors
/// As undecided, when there is no way to it.
pub(crate) fn connect(
    detected: &Detected,
    env: &BTreeMap<String, String>,
    deadline: Duration,
) -> Result<Cluster, Stop> {
    let connected = runtime()?.block_on(cluster::connect(detected, env, deadline));
    connected.map_err(|unread| Stop::undecided(anyhow!("{}: {}; {}", unread.what, unread.why, unread.remedy)))
}
