//! The policy in force: the one that was told, a file or an object of the cluster, else the nearest file above a folder.
//! `configmap/NAME` is one in the namespace of the release, `configmap/NAMESPACE/NAME` one where those whose changes are judged cannot
//! write it; the text stands under the key `rollgate.yaml`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::anyhow;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;

use super::{Stop, detect, environment, runtime};
use crate::cluster;
use crate::host::ToldHost;
use crate::policy::{self, FILE_NAME, Loaded, Policy};
use crate::report::PolicyReport;

/// Which cluster and namespace a policy is read from.
#[derive(Debug, Clone, Copy)]
pub struct Whence<'a> {
    /// Context of the kubeconfig.
    pub context: Option<&'a str>,
    /// Namespace of the release.
    pub namespace: Option<&'a str>,
    /// Longest time for it.
    pub deadline: Duration,
}

impl Default for Whence<'_> {
    fn default() -> Self {
        Self { context: None, namespace: None, deadline: Duration::from_secs(60) }
    }
}

/// Which policy is in force where none is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Untold<'a> {
    /// The nearest `rollgate.yaml` above this folder, else the safe defaults.
    Look(&'a Path),
    /// None: a post-renderer must not change its mind with the folder that it is run from.
    Refuse,
}

impl Untold<'static> {
    /// The nearest one above the folder that the program runs in.
    #[must_use]
    pub fn look() -> Self {
        Self::Look(Path::new("."))
    }
}

/// A policy in force.
#[derive(Debug, Clone)]
pub struct InForce {
    /// The policy.
    pub policy: Policy,
    /// How the report calls it.
    pub report: PolicyReport,
    /// The folder that its files start from.
    pub folder: PathBuf,
}

impl InForce {
    /// The policy that was told, else what is in force where none is.
    ///
    /// # Errors
    /// As [`load`].
    pub fn of(told: Option<&str>, untold: Untold<'_>, whence: Whence<'_>) -> Result<Self, Stop> {
        Ok(load(told, untold, whence)?.map_or_else(Self::built_in, Self::loaded))
    }

    /// The safe defaults.
    fn built_in() -> Self {
        let report = PolicyReport { source: PolicyReport::BUILT_IN.to_owned(), digest: policy::digest(b"") };
        Self { policy: Policy::default(), report, folder: PathBuf::from(".") }
    }

    fn loaded(loaded: Loaded) -> Self {
        let report = PolicyReport { source: loaded.file.display().to_string(), digest: loaded.digest };
        Self { policy: loaded.policy, report, folder: loaded.folder }
    }
}

/// The policy that was told, else the nearest one; `None` where that is none.
///
/// # Errors
/// When it is not there or anything is wrong with it, or none was told that has to be. As undecided, when the cluster that it stands in
/// cannot be read: then everything is.
pub(crate) fn load(told: Option<&str>, untold: Untold<'_>, whence: Whence<'_>) -> Result<Option<Loaded>, Stop> {
    let file = match (told, untold) {
        // Whoever set a variable to nothing meant a policy, and another one may allow what that would hold.
        (Some(""), _) => {
            return Err(Stop::usage(anyhow!(
                "the policy has an empty name (--policy or ROLLGATE_POLICY); name a file, unset both, or say none for the safe defaults"
            )));
        }
        (Some("none"), _) => None,
        (Some(told), _) if is_object(told) => return of_object(told, whence).map(Some),
        (Some(file), _) => Some(PathBuf::from(file)),
        (None, Untold::Look(near)) => policy::find(near).map_err(Stop::usage)?,
        (None, Untold::Refuse) => {
            return Err(Stop::usage(anyhow!(
                "no policy is named; pass --policy FILE or set ROLLGATE_POLICY, or --policy none for the safe defaults"
            )));
        }
    };
    file.map(|file| Loaded::from_file(&file)).transpose().map_err(Stop::usage)
}

/// Whether a policy that was told stands in the cluster.
pub(super) fn is_object(told: &str) -> bool {
    told.starts_with("configmap/")
}

/// Reads the policy of an object. A policy that cannot be read leaves everything undecided; one that is not there is a mistake of the
/// caller, as a file would be.
fn of_object(told: &str, whence: Whence<'_>) -> Result<Loaded, Stop> {
    let (namespace, name) = parts(told)?;
    let env = environment();
    let deadline = whence.deadline;
    let said = ToldHost {
        namespace: whence.namespace.map(str::to_owned),
        context: whence.context.map(str::to_owned),
        ..ToldHost::default()
    };
    let detected = detect(&said, None, &env);
    let runtime = runtime()?;
    let unread = |why: String| Stop::undecided(anyhow!("the policy {told} cannot be read: {why}"));
    let connected = runtime.block_on(cluster::connect(&detected, &env, deadline));
    let way = connected.map_err(|error| unread(format!("{}: {}; {}", error.what, error.why, error.remedy)))?;
    let namespace = namespace.or_else(|| detected.host.namespace.clone()).unwrap_or_else(|| way.namespace().to_owned());
    let objects: Api<ConfigMap> = Api::namespaced(way.client().clone(), &namespace);
    let answer = runtime.block_on(async { tokio::time::timeout(deadline, objects.get_opt(&name)).await });
    let answer = answer.map_err(|_| unread("the cluster did not answer in time".to_owned()))?;
    let object = answer.map_err(|error| unread(error.to_string()))?;
    let text = object
        .ok_or_else(|| Stop::usage(anyhow!("there is no ConfigMap {namespace}/{name} for --policy {told}")))?
        .data
        .and_then(|mut data| data.remove(FILE_NAME))
        .ok_or_else(|| Stop::usage(anyhow!("ConfigMap {namespace}/{name} has no key {FILE_NAME} with the policy")))?;
    let source = format!("configmap/{namespace}/{name}");
    let policy = policy::parse(&source, text.as_bytes()).map_err(Stop::usage)?;
    Ok(Loaded { policy, file: source.into(), folder: ".".into(), digest: policy::digest(text.as_bytes()) })
}

/// The namespace, where one is said, and the name.
fn parts(told: &str) -> Result<(Option<String>, String), Stop> {
    let parts: Vec<&str> = told.split('/').skip(1).collect();
    match parts.as_slice() {
        [name] if !name.is_empty() => Ok((None, (*name).to_owned())),
        [namespace, name] if !namespace.is_empty() && !name.is_empty() => {
            Ok((Some((*namespace).to_owned()), (*name).to_owned()))
        }
        _ => Err(Stop::usage(anyhow!("--policy {told}: write configmap/NAME or configmap/NAMESPACE/NAME"))),
    }
}
