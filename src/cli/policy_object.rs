//! A policy that is kept in the cluster: `configmap/NAME` in the namespace of the release, or `configmap/NAMESPACE/NAME`, where those whose
//! changes are judged cannot write it. Its text stands under the key `rollgate.yaml`.

use std::path::Path;

use anyhow::anyhow;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;

use super::known::duration;
use super::{Stop, run, setup};
use crate::host::{self, Signs, Told, parent};
use crate::policy::{self, FILE_NAME, Loaded};
use crate::world::cluster;

/// Which cluster and namespace a policy is read from.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Whence<'a> {
    /// `--kube-context`.
    pub(super) context: Option<&'a str>,
    /// `--namespace`.
    pub(super) namespace: Option<&'a str>,
    /// `--deadline`; a minute where nothing is said.
    pub(super) deadline: Option<&'a str>,
}

impl<'a> Whence<'a> {
    /// Where these options say.
    pub(super) fn of(context: Option<&'a String>, namespace: Option<&'a String>, deadline: &'a str) -> Self {
        Self {
            context: context.map(String::as_str),
            namespace: namespace.map(String::as_str),
            deadline: Some(deadline),
        }
    }
}

/// Whether a policy that was told stands in the cluster.
pub(super) fn is_object(told: &str) -> bool {
    told.starts_with("configmap/")
}

/// Reads the policy of an object. A policy that cannot be read leaves everything undecided; one that is not there is a mistake of the
/// caller, as a file would be.
pub(super) fn load(told: &str, whence: Whence<'_>) -> Result<Loaded, Stop> {
    let (namespace, name) = parts(told)?;
    let env = setup::environment();
    let deadline = duration(whence.deadline.unwrap_or("60s"), "--deadline")?;
    let said = Told {
        kind: None,
        release: None,
        namespace: whence.namespace.map(str::to_owned),
        context: whence.context.map(str::to_owned),
        method: None,
        force: false,
    };
    let parents = parent::chain(Path::new("/proc"), std::process::id());
    let detected = host::detect(&Signs { stdin: None, env: &env, parents: &parents, told: &said });
    let runtime = run::runtime()?;
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
