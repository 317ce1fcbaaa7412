//! A ConfigMap or a Secret of the cluster, one key an entry. Written only onto the version that was read: two runs at once cannot lose
//! each other's, the later one reads again and is compared again.

use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::api::{ApiResource, DynamicObject, PostParams};
use kube::{Api, Client};

use super::Kept;
use crate::kinds::contract::{CONFIG_MAP, SECRET};
use crate::policy::StoreKind;
use crate::tree::Value;

/// What keeps the object when a cluster moves and when its release changes: `clusterctl move` takes it along, and neither Helm,
/// nor Flux, nor Argo CD takes it away although no chart renders it.
const LABELS: [(&str, &str); 2] = [OURS, ("clusterctl.cluster.x-k8s.io/move", "")];
/// The label of every object that is written here.
pub(crate) const OURS: (&str, &str) = ("app.kubernetes.io/managed-by", "rollgate");
const ANNOTATIONS: [(&str, &str); 3] = [
    ("helm.sh/resource-policy", "keep"),
    ("kustomize.toolkit.fluxcd.io/prune", "disabled"),
    ("argocd.argoproj.io/sync-options", "Prune=false"),
];
/// Attempts before the other writers have won: each time one of them gets through, so many at once all come to their turn.
const ATTEMPTS: usize = 120;

/// A ConfigMap or a Secret that keeps a `K`.
#[derive(Clone)]
pub struct ClusterStore<K> {
    client: Client,
    kind: StoreKind,
    namespace: String,
    name: String,
    kept: PhantomData<K>,
}

impl<K> std::fmt::Debug for ClusterStore<K> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ClusterStore({} {}/{})", word(self.kind), self.namespace, self.name)
    }
}

/// Why what an object keeps could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum ClusterError<F: std::error::Error + 'static> {
    /// The API server refused or could not be reached.
    #[error("{noun} in {kind} {namespace}/{name}: cannot {action}: {why}; {remedy}")]
    Api {
        /// What it keeps.
        noun: &'static str,
        /// Kind of the object.
        kind: &'static str,
        /// Namespace.
        namespace: String,
        /// Name.
        name: String,
        /// What was tried.
        action: &'static str,
        /// What to do: the line of a role where a right is missing.
        remedy: String,
        /// Why not, in one line.
        why: String,
    },
    /// Others kept writing in between.
    #[error("{noun} in {kind} {namespace}/{name}: others wrote it {ATTEMPTS} times in between; run again")]
    Busy {
        /// What it keeps.
        noun: &'static str,
        /// Kind of the object.
        kind: &'static str,
        /// Namespace.
        namespace: String,
        /// Name.
        name: String,
    },
    /// What it keeps is in the way itself.
    #[error(transparent)]
    Kept(F),
}

impl<K: Kept> ClusterStore<K> {
    /// The object of this kind and name; it need not exist yet.
    #[must_use]
    pub fn new(client: Client, kind: StoreKind, namespace: impl Into<String>, name: impl Into<String>) -> Self {
        Self { client, kind, namespace: namespace.into(), name: name.into(), kept: PhantomData }
    }

    /// What it keeps; nothing where there is no such object.
    ///
    /// # Errors
    /// When the API server does not answer, or the object holds something else.
    pub async fn read(&self) -> Result<K, ClusterError<K::Fault>> {
        Ok(self.current().await?.1)
    }

    /// Reads what it keeps, lets `change` change it, and writes it onto the very version that was read; where somebody else wrote
    /// in between, all of that again, so that `change` always sees what it changes.
    ///
    /// # Errors
    /// When the API server refuses, others keep writing, or `change` refuses. Then nothing is written.
    pub async fn update<T>(&self, change: impl Fn(&mut K) -> Result<T, K::Fault>) -> Result<T, ClusterError<K::Fault>> {
        for attempt in 0..ATTEMPTS {
            tokio::time::sleep(pause(attempt)).await;
            let (object, before) = self.current().await?;
            let mut after = before.clone();
            let answer = change(&mut after).map_err(ClusterError::Kept)?;
            if after == before || self.write(object, &after).await? {
                return Ok(answer);
            }
        }
        let (kind, namespace, name) = (word(self.kind), self.namespace.clone(), self.name.clone());
        Err(ClusterError::Busy { noun: K::NOUN, kind, namespace, name })
    }

    async fn current(&self) -> Result<(Option<DynamicObject>, K), ClusterError<K::Fault>> {
        let object = self.api().get_opt(&self.name).await.map_err(|error| self.fail("read it", "get", error))?;
        let place = format!("{} {}/{}", word(self.kind), self.namespace, self.name);
        let kept = match &object {
            Some(object) => K::takes(&place, object.metadata.labels.as_ref().unwrap_or(&BTreeMap::new()))
                .and_then(|()| data::<K>(&place, &object.data.clone().into(), self.kind))
                .and_then(|data| K::of_data(&place, &data)),
            None => Ok(K::default()),
        };
        Ok((object, kept.map_err(ClusterError::Kept)?))
    }

    /// Writes; `false` where somebody else wrote in between.
    async fn write(&self, object: Option<DynamicObject>, kept: &K) -> Result<bool, ClusterError<K::Fault>> {
        let params = PostParams { field_manager: Some("rollgate".to_owned()), ..PostParams::default() };
        let is_new = object.is_none();
        let mut object = object.unwrap_or_else(|| DynamicObject::new(&self.name, &self.resource()));
        object.metadata.namespace = Some(self.namespace.clone());
        for (marks, wanted) in [
            (object.metadata.labels.get_or_insert_default(), &[&LABELS, K::LABELS].concat()[..]),
            (object.metadata.annotations.get_or_insert_default(), &ANNOTATIONS[..]),
        ] {
            for &(name, value) in wanted {
                // What somebody has set otherwise is meant so.
                marks.entry(name.to_owned()).or_insert_with(|| value.to_owned());
            }
        }
        let encoded = |text: String| match self.kind {
            StoreKind::ConfigMap => text,
            StoreKind::Secret => STANDARD.encode(text),
        };
        let data: BTreeMap<String, String> = kept.data().into_iter().map(|(key, text)| (key, encoded(text))).collect();
        if !object.data.is_object() {
            object.data = serde_json::json!({});
        }
        object.data["data"] = serde_json::Value::from_iter(data);
        // The resourceVersion that was read stands in `object` still: the API server refuses any other version with 409.
        let written = match is_new {
            true => self.api().create(&params, &object).await,
            false => self.api().replace(&self.name, &params, &object).await,
        };
        match written {
            Ok(_) => Ok(true),
            Err(kube::Error::Api(status)) if status.code == 409 => Ok(false),
            Err(error) => Err(self.fail("write it", if is_new { "create" } else { "update" }, error)),
        }
    }

    fn resource(&self) -> ApiResource {
        match self.kind {
            StoreKind::ConfigMap => ApiResource::erase::<ConfigMap>(&()),
            StoreKind::Secret => ApiResource::erase::<Secret>(&()),
        }
    }

    fn api(&self) -> Api<DynamicObject> {
        Api::namespaced_with(self.client.clone(), &self.namespace, &self.resource())
    }

    fn fail(&self, action: &'static str, verb: &str, source: kube::Error) -> ClusterError<K::Fault> {
        let (namespace, name) = (self.namespace.clone(), self.name.clone());
        let remedy = match &source {
            kube::Error::Api(status) if status.code == 403 => {
                let resource = self.resource().plural;
                format!("add to the role: - {{apiGroups: [\"\"], resources: [\"{resource}\"], verbs: [\"{verb}\"]}}")
            }
            _ => "try again; kubectl get --raw /readyz shows the state of the API server".to_owned(),
        };
        let kind = word(self.kind);
        ClusterError::Api { noun: K::NOUN, kind, namespace, name, action, remedy, why: one_line(&source) }
    }
}

/// How long a writer that came second waits: longer each time, and not as long as the others who came second with it.
fn pause(attempt: usize) -> Duration {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().subsec_nanos();
    let most = 2 * u64::try_from(attempt.min(20)).unwrap_or_default();
    Duration::from_millis(u64::from(now / 1000) % (most + 1))
}

/// What an API server or the way to it says, without the answer as a whole.
fn one_line(error: &kube::Error) -> String {
    let text = match error {
        kube::Error::Api(status) => status.message.clone(),
        other => other.to_string(),
    };
    let line = text.lines().next().unwrap_or_default();
    match line.char_indices().nth(300) {
        Some((end, _)) => format!("{}...", &line[..end]),
        None => line.to_owned(),
    }
}

/// The kind of object that a store is.
#[must_use]
pub(crate) const fn word(kind: StoreKind) -> &'static str {
    match kind {
        StoreKind::ConfigMap => CONFIG_MAP,
        StoreKind::Secret => SECRET,
    }
}

/// What a ConfigMap or a Secret keeps, for whoever has read it already.
///
/// # Errors
/// When a key holds something else: what cannot be read is never taken for what is not there.
pub(crate) fn from_object<K: Kept>(object: &Value, kind: StoreKind) -> Result<K, K::Fault> {
    let place = place_of(object, kind);
    K::of_data(&place, &data::<K>(&place, object, kind)?)
}

/// How an object is called in messages.
fn place_of(object: &Value, kind: StoreKind) -> String {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    format!("{} {}/{}", word(kind), text("/metadata/namespace"), text("/metadata/name"))
}

/// The texts of an object; those of a Secret are decoded.
fn data<K: Kept>(place: &str, object: &Value, kind: StoreKind) -> Result<BTreeMap<String, String>, K::Fault> {
    let entries = object.get("data").and_then(Value::as_object).into_iter().flatten();
    let read = entries.map(|(key, value)| {
        let text = value.as_str().unwrap_or_default();
        let text = match kind {
            StoreKind::ConfigMap => Some(text.to_owned()),
            StoreKind::Secret => STANDARD.decode(text).ok().and_then(|bytes| String::from_utf8(bytes).ok()),
        };
        text.map(|text| (key.to_string(), text)).ok_or_else(|| K::unreadable(place, key, &"it is no text in base64"))
    });
    read.collect()
}
