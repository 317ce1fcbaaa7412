//! Where approvals are kept, as the policy names the places: a file beside it, or a ConfigMap of the cluster.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use anyhow::anyhow;

use super::ApproveArgs;
use crate::approval::{self, Ledger, LedgerError};
use crate::cli::Stop;
use crate::cluster;
use crate::host::ToldHost;
use crate::policy::{ApprovalPlace, Policy, StoreKind};
use crate::session::{connect, detect, runtime};
use crate::store::{ClusterError, FileError};

/// The places of the policy, and the way to them.
pub(super) struct ApprovalPlaces<'a> {
    pub(super) args: &'a ApproveArgs,
    pub(super) env: &'a BTreeMap<String, String>,
    pub(super) policy: &'a Policy,
    pub(super) folder: &'a Path,
    pub(super) deadline: Duration,
    pub(super) cluster: Option<cluster::Cluster>,
    /// Namespace of the release, as a report names it.
    pub(super) home: Option<String>,
}

impl ApprovalPlaces<'_> {
    /// The places that were asked for.
    pub(super) fn asked(&self) -> Result<Vec<ApprovalPlace>, Stop> {
        match self.args.to {
            Some(_) => Ok(vec![self.wanted()?]),
            None => Ok(self.policy.approvals.from.clone()),
        }
    }

    /// The place that was told, else the first one.
    pub(super) fn wanted(&self) -> Result<ApprovalPlace, Stop> {
        let from = &self.policy.approvals.from;
        let is = |place: &ApprovalPlace, told: &str| match place {
            ApprovalPlace::Object(text) => text == told,
            ApprovalPlace::File(file) => file.file == told,
            ApprovalPlace::Trailer(trailer) => trailer.git_trailer == told || told == "git-trailer",
        };
        let place = match self.args.to.as_deref() {
            Some(told) => from.iter().find(|place| is(place, told)),
            None => from.first(),
        };
        let names = || from.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        place.cloned().ok_or_else(|| Stop::usage(anyhow!("--to: no such place in the policy; there are {}", names())))
    }

    /// How a person calls a place.
    pub(super) fn name(&self, place: &ApprovalPlace) -> String {
        match place {
            ApprovalPlace::File(file) => self.folder.join(&file.file).display().to_string(),
            ApprovalPlace::Trailer(_) => place.to_string(),
            ApprovalPlace::Object(_) => {
                let namespace = self.namespace().unwrap_or_default();
                format!("ConfigMap {namespace}/{}", place.config_map().unwrap_or_default())
            }
        }
    }

    pub(super) fn namespace(&self) -> Option<String> {
        let told = self.args.namespace.clone().or_else(|| self.home.clone());
        told.or_else(|| Some(self.cluster.as_ref()?.namespace().to_owned()))
    }

    pub(super) fn read(&mut self, place: &ApprovalPlace) -> Result<Ledger, Stop> {
        match self.store(place)? {
            Store::File(file) => file.read().map_err(Stop::undecided),
            Store::Object(object) => self.within(object.read())?.map_err(Stop::undecided),
        }
    }

    pub(super) fn update(
        &mut self,
        place: &ApprovalPlace,
        change: impl Fn(&mut Ledger) -> Result<(), LedgerError>,
    ) -> Result<(), Stop> {
        match self.store(place)? {
            Store::File(file) => file.update(change).map_err(|error| match error {
                FileError::Kept(why) => refused(why),
                other => Stop::undecided(other),
            }),
            Store::Object(object) => self.within(object.update(change))?.map_err(|error| match error {
                ClusterError::Kept(why) => refused(why),
                other => Stop::undecided(other),
            }),
        }
    }

    /// Waits for an answer of the cluster no longer than was told.
    fn within<T>(&self, asked: impl Future<Output = T>) -> Result<T, Stop> {
        let bounded = runtime()?.block_on(async { tokio::time::timeout(self.deadline, asked).await });
        bounded.map_err(|_| Stop::undecided(anyhow!("the cluster did not answer in {}", self.args.deadline)))
    }

    fn store(&mut self, place: &ApprovalPlace) -> Result<Store, Stop> {
        let name = match place {
            ApprovalPlace::File(file) => return Ok(Store::File(approval::File::new(self.folder.join(&file.file)))),
            ApprovalPlace::Object(_) => place.config_map().unwrap_or_default(),
            ApprovalPlace::Trailer(trailer) => {
                let name = &trailer.git_trailer;
                return Err(Stop::usage(anyhow!(
                    "what a trailer {name} approves goes and comes with its commit; git log shows it"
                )));
            }
        };
        if self.cluster.is_none() {
            let told = ToldHost {
                namespace: self.args.namespace.clone().or_else(|| self.home.clone()),
                context: self.args.kube_context.clone(),
                ..ToldHost::default()
            };
            let detected = detect(&told, None, self.env);
            self.cluster = Some(connect(&detected, self.env, self.deadline)?);
        }
        let (Some(cluster), Some(namespace)) = (&self.cluster, self.namespace()) else {
            return Err(Stop::usage(anyhow!("no namespace is known for the approvals; pass --namespace")));
        };
        Ok(Store::Object(approval::Object::new(cluster.client().clone(), StoreKind::ConfigMap, namespace, name)))
    }
}

/// What cannot be done with approvals is the user's mistake; what cannot be read is a doubt.
fn refused(why: LedgerError) -> Stop {
    match why {
        LedgerError::Unreadable { .. } => Stop::undecided(why),
        _ => Stop::usage(why),
    }
}

/// A place that can be read and written.
enum Store {
    File(approval::File),
    Object(approval::Object),
}
