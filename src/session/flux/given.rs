//! What a HelmRelease refers to: among the objects that were given, else in the cluster. What nobody has looked for is never taken
//! for absent.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::Api;

use crate::cluster::{self, Cluster};
use crate::flux::SOURCES;
use crate::flux::values::{self, Data};
use crate::host::{self, Signs, ToldHost};
use crate::kinds::contract::SECRET;
use crate::object::{Key, Object};
use crate::session;
use crate::tree::Value;

/// Where objects are looked for.
#[derive(Debug, Default)]
pub(crate) struct Given {
    /// What was given.
    pub objects: Vec<Object>,
    /// The namespace of those that name none.
    pub home: String,
    /// Sources of values that somebody said are not there: kind and name.
    pub absent: BTreeSet<(String, String)>,
    /// The cluster, where it may be asked.
    pub cluster: Option<Live>,
}

/// A cluster that is asked for sources of values.
#[derive(Debug)]
pub(crate) struct Live {
    cluster: Cluster,
    deadline: Duration,
    known: RefCell<BTreeMap<(String, String, String), Answer>>,
    /// Where artifacts are served, where that is not where their sources say.
    pub(super) artifacts: Option<String>,
}

/// The data of an object of the cluster, `None` where it is absent, or why it is not known.
type Answer = Result<Option<Data>, String>;

impl Live {
    /// Finds the way to the cluster.
    ///
    /// # Errors
    /// Where there is none.
    pub(crate) fn connect(told: &ToldHost, deadline: Duration) -> anyhow::Result<Self> {
        let env = session::environment();
        let detected = host::detect(&Signs { stdin: None, env: &env, parents: &[], told });
        let runtime = session::runtime().map_err(|stop| stop.error)?;
        let connected = runtime.block_on(cluster::connect(&detected, &env, deadline));
        let cluster = connected.map_err(|error| anyhow::anyhow!("{}: {}; {}", error.what, error.why, error.remedy))?;
        Ok(Self { cluster, deadline, known: RefCell::default(), artifacts: None })
    }

    /// This cluster with another address of source-controller: inside of a cluster its Service has a name that nobody knows outside.
    #[must_use]
    pub(crate) fn served_at(self, address: Option<String>) -> Self {
        Self { artifacts: address, ..self }
    }

    /// A cluster that is known already. What it answers is kept for as long as this is.
    #[must_use]
    #[cfg(feature = "serve")]
    pub(crate) fn of(cluster: Cluster, deadline: Duration) -> Self {
        Self { cluster, deadline, known: RefCell::default(), artifacts: None }
    }

    /// A source of Flux by its name in paths; `None` where it is not there.
    ///
    /// # Errors
    /// Where it cannot be read.
    pub(super) fn source(&self, plural: &str, namespace: &str, name: &str) -> Result<Option<Value>, String> {
        let runtime = session::runtime().map_err(|stop| stop.error.to_string())?;
        let path = format!("/apis/{SOURCES}/v1/namespaces/{namespace}/{plural}/{name}");
        let title = format!("{plural} {namespace}/{name}");
        let request = http::Request::get(path).body(Vec::new()).map_err(|_| format!("{title} is no name"))?;
        let asked = self.cluster.client().request::<Value>(request);
        match runtime.block_on(async { tokio::time::timeout(self.deadline, asked).await }) {
            Ok(Ok(found)) => Ok(Some(found)),
            Ok(Err(kube::Error::Api(status))) if status.code == 404 && status.reason == "NotFound" => Ok(None),
            Ok(Err(error)) => Err(format!("{title} cannot be read from the cluster: {error}")),
            Err(_) => Err(format!("{title} cannot be read: the cluster did not answer in time")),
        }
    }

    fn data(&self, kind: &str, namespace: &str, name: &str) -> Answer {
        let key = (kind.to_owned(), namespace.to_owned(), name.to_owned());
        if let Some(known) = self.known.borrow().get(&key) {
            return known.clone();
        }
        let answer = self.ask(kind, namespace, name);
        self.known.borrow_mut().insert(key, answer.clone());
        answer
    }

    fn ask(&self, kind: &str, namespace: &str, name: &str) -> Answer {
        let runtime = session::runtime().map_err(|stop| stop.error.to_string())?;
        let client = self.cluster.client().clone();
        let asked = async {
            if kind == SECRET {
                let objects: Api<Secret> = Api::namespaced(client, namespace);
                let found = objects.get_opt(name).await?;
                return Ok(
                    found.map(|found| found.data.unwrap_or_default().into_iter().map(|(k, v)| (k, v.0)).collect())
                );
            }
            let objects: Api<ConfigMap> = Api::namespaced(client, namespace);
            let found = objects.get_opt(name).await?;
            let bytes = |(key, text): (String, String)| (key, text.into_bytes());
            Ok::<_, kube::Error>(found.map(|found| found.data.unwrap_or_default().into_iter().map(bytes).collect()))
        };
        match runtime.block_on(async { tokio::time::timeout(self.deadline, asked).await }) {
            Ok(Ok(found)) => Ok(found),
            Ok(Err(error)) => Err(format!("cannot be read from the cluster: {error}")),
            Err(_) => Err("cannot be read: the cluster did not answer in time".to_owned()),
        }
    }
}

impl Given {
    /// The namespace that an object is in.
    pub(crate) fn namespace<'k>(&'k self, key: &'k Key) -> &'k str {
        key.namespace.as_deref().unwrap_or(&self.home)
    }

    /// The objects of a name. There is one at most, unless two were given.
    fn named(&self, group: &str, kind: &str, namespace: &str, name: &str) -> impl Iterator<Item = &Object> {
        self.objects.iter().filter(move |object| {
            let key = &object.key;
            key.kind == kind && key.name == name && key.group == group && self.namespace(key) == namespace
        })
    }

    /// One object among those that were given; an error where there are two.
    pub(crate) fn object(&self, group: &str, kind: &str, namespace: &str, name: &str) -> Result<Option<Value>, String> {
        let mut named = self.named(group, kind, namespace, name);
        let (first, second) = (named.next(), named.next());
        if second.is_some() {
            return Err(format!("{kind} {namespace}/{name} was given twice, and which one counts is not known"));
        }
        first
            .map(|object| object.value().map(|value| value.into_owned()).map_err(|error| error.to_string()))
            .transpose()
    }

    /// The data of a source of values; `None` where it is proven absent.
    pub(crate) fn data(&self, kind: &str, namespace: &str, name: &str) -> Result<Option<Data>, String> {
        if let Some(object) = self.object("", kind, namespace, name)? {
            return values::data(&object).map(Some);
        }
        if self.absent.contains(&(kind.to_owned(), name.to_owned())) {
            return Ok(None);
        }
        match &self.cluster {
            Some(cluster) => cluster.data(kind, namespace, name),
            None => Err(format!(
                "of namespace {namespace} is in no file that was given; give it by --values-from FILE, read it by --from-cluster, or \
                 pass --absent {kind}/{name}"
            )),
        }
    }
}
