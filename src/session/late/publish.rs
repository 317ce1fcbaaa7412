//! Puts values where Flux reads them: into an object of the cluster that only exists once they are known.

use anyhow::anyhow;

use super::LateValues;
use crate::flux::published::{Became, PublishError, Published};
use crate::late::Settled;
use crate::policy::StoreKind;
use crate::session::{Commit, Stop, runtime};
use crate::store::cluster::word;
use crate::store::{ClusterError, ClusterStore};

/// Where values go.
#[derive(Debug, Clone)]
pub(crate) struct Destination {
    /// ConfigMap or Secret.
    pub kind: StoreKind,
    /// Its name.
    pub name: String,
    /// The key, `valuesKey` of a HelmRelease.
    pub key: String,
    /// Whether a late value may be another one than what was published, although no pin says so.
    pub replace: bool,
}

impl LateValues<'_> {
    /// Publishes a text, and says in which object and what became of that. The pins are recorded before anybody can read it, and not
    /// at all where a late value has moved.
    ///
    /// # Errors
    /// When no cluster is asked, the namespace is not known, a secret would stand in a ConfigMap, the object is somebody else's, a late
    /// value has moved, or the API server refuses.
    pub(crate) fn publish(
        &mut self,
        place: &Destination,
        text: &str,
        used: &[&Settled],
    ) -> Result<(String, Became), Stop> {
        let Destination { kind, name, key, replace } = place;
        if let Some(secret) = used.iter().find(|one| one.secret).filter(|_| *kind == StoreKind::ConfigMap) {
            return Err(Stop::usage(anyhow!(
                "late value {} is secret, and a ConfigMap is not; write the values into a Secret with --secret, and name it with \
                 `kind: Secret` in valuesFrom",
                secret.name
            )));
        }
        self.connect(true)?;
        let Some(cluster) = &self.cluster else {
            return Err(Stop::usage(anyhow!("the values are published in a cluster, and --live names none")));
        };
        let namespace = self.namespace("the values")?;
        let object = format!("{} {namespace}/{name}", word(*kind));
        let fresh: Vec<(String, String)> = used
            .iter()
            .filter(|one| one.pin.is_some() && !replace)
            .filter_map(|one| Some((one.name.clone(), one.value.clone()?)))
            .collect();
        let store = ClusterStore::<Published>::new(cluster.client().clone(), *kind, namespace, name);
        let put = |values: &mut Published| values.put(&object, (key, text), &fresh);
        let mut before = runtime()?.block_on(store.read()).map_err(stop)?;
        put(&mut before).map_err(|error| stop(ClusterError::Kept(error)))?;
        self.commit(Commit::Always, used.iter().copied())?;
        let became = runtime()?.block_on(store.update(put)).map_err(stop)?;
        Ok((object, became))
    }
}

/// A value that has moved is held; what cannot be read or written is doubt.
fn stop(error: ClusterError<PublishError>) -> Stop {
    match error {
        ClusterError::Kept(error @ PublishError::Moved { .. }) => Stop::hold(error),
        error => Stop::undecided(error),
    }
}
