//! Pins in a ConfigMap or a Secret of the cluster, one key a pin. Written only onto the version that was read: two runs at once cannot lose each other's,
//! the later one reads again and is compared again.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::api::{ApiResource, DynamicObject, PostParams};
use kube::{Api, Client};
use serde_json::{Map, Value};

use super::{Book, BookError, Event, Pin};
use crate::kinds::contract::{CONFIG_MAP, SECRET};
use crate::policy::{Pins, StoreKind};

/// Key of the history. No late value can have this name: names start with a letter, a digit or `_`.
const HISTORY: &str = ".history";
/// What keeps the pins when a cluster moves and when their release changes: `clusterctl move` takes them along, and neither Helm, nor
/// Flux, nor Argo CD takes them away although no chart renders them.
const LABELS: [(&str, &str); 2] =
    [("app.kubernetes.io/managed-by", "rollgate"), ("clusterctl.cluster.x-k8s.io/move", "")];
const ANNOTATIONS: [(&str, &str); 3] = [
    ("helm.sh/resource-policy", "keep"),
    ("kustomize.toolkit.fluxcd.io/prune", "disabled"),
    ("argocd.argoproj.io/sync-options", "Prune=false"),
];
/// Attempts before the other writers have won: each time one of them gets through, so many at once all come to their turn.
const ATTEMPTS: usize = 120;

/// A ConfigMap or a Secret that holds pins.
#[derive(Clone)]
pub struct ClusterStore {
    client: Client,
    kind: StoreKind,
    namespace: String,
    name: String,
}

impl std::fmt::Debug for ClusterStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ClusterStore({} {}/{})", word(self.kind), self.namespace, self.name)
    }
}

/// Why the pins of a cluster could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum ClusterStoreError {
    /// The API server refused or could not be reached.
    #[error("pins in {kind} {namespace}/{name}: cannot {action}: {why}; {remedy}")]
    Api {
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
    #[error("pins in {kind} {namespace}/{name}: others wrote it {ATTEMPTS} times in between; run again")]
    Busy {
        /// Kind of the object.
        kind: &'static str,
        /// Namespace.
        namespace: String,
        /// Name.
        name: String,
    },
    /// The pins themselves are in the way.
    #[error(transparent)]
    Book(#[from] BookError),
}

impl ClusterStore {
    /// The store that a policy names, in this namespace; it need not exist yet. `None` where the policy names none.
    #[must_use]
    pub fn of(pins: &Pins, client: Client, namespace: impl Into<String>) -> Option<Self> {
        let (kind, name) = pins.in_cluster()?;
        Some(Self { client, kind, namespace: namespace.into(), name: name.to_owned() })
    }

    /// The pins; none where there is no such object.
    ///
    /// # Errors
    /// When the API server does not answer, or the object holds something else than pins.
    pub async fn read(&self) -> Result<Book, ClusterStoreError> {
        Ok(self.current().await?.1)
    }

    /// Reads the pins, lets `change` change them, and writes them onto the very version that was read; where somebody else wrote
    /// in between, all of that again, so that `change` always sees what it changes.
    ///
    /// # Errors
    /// When the API server refuses, others keep writing, or `change` refuses. Then nothing is written.
    pub async fn update<T>(&self, change: impl Fn(&mut Book) -> Result<T, BookError>) -> Result<T, ClusterStoreError> {
        for attempt in 0..ATTEMPTS {
            tokio::time::sleep(pause(attempt)).await;
            let (object, before) = self.current().await?;
            let mut after = before.clone();
            let answer = change(&mut after)?;
            if after == before || self.write(object, &after).await? {
                return Ok(answer);
            }
        }
        let (kind, namespace, name) = (word(self.kind), self.namespace.clone(), self.name.clone());
        Err(ClusterStoreError::Busy { kind, namespace, name })
    }

    async fn current(&self) -> Result<(Option<DynamicObject>, Book), ClusterStoreError> {
        let object = self.api().get_opt(&self.name).await.map_err(|error| self.fail("read it", "get", error))?;
        let place = format!("{} {}/{}", word(self.kind), self.namespace, self.name);
        let book = match &object {
            Some(object) => from_data(&place, &data(&place, &object.data, self.kind)?)?,
            None => Book::default(),
        };
        Ok((object, book))
    }

    /// Writes; `false` where somebody else wrote in between.
    async fn write(&self, object: Option<DynamicObject>, book: &Book) -> Result<bool, ClusterStoreError> {
        let params = PostParams { field_manager: Some("rollgate".to_owned()), ..PostParams::default() };
        let is_new = object.is_none();
        let mut object = object.unwrap_or_else(|| DynamicObject::new(&self.name, &self.resource()));
        object.metadata.namespace = Some(self.namespace.clone());
        for (marks, wanted) in [
            (object.metadata.labels.get_or_insert_default(), LABELS.as_slice()),
            (object.metadata.annotations.get_or_insert_default(), ANNOTATIONS.as_slice()),
        ] {
            for (name, value) in wanted {
                // What somebody has set otherwise is meant so.
                marks.entry((*name).to_owned()).or_insert_with(|| (*value).to_owned());
            }
        }
        let encoded = |text: String| match self.kind {
            StoreKind::ConfigMap => text,
            StoreKind::Secret => STANDARD.encode(text),
        };
        let data: Map<String, Value> =
            to_data(book).into_iter().map(|(key, text)| (key, Value::String(encoded(text)))).collect();
        if !object.data.is_object() {
            object.data = Value::Object(Map::new());
        }
        object.data["data"] = Value::Object(data);
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

    fn fail(&self, action: &'static str, verb: &str, source: kube::Error) -> ClusterStoreError {
        let (namespace, name) = (self.namespace.clone(), self.name.clone());
        let remedy = match &source {
            kube::Error::Api(status) if status.code == 403 => {
                let resource = self.resource().plural;
                format!("add to the role: - {{apiGroups: [\"\"], resources: [\"{resource}\"], verbs: [\"{verb}\"]}}")
            }
            _ => "try again; kubectl get --raw /readyz shows the state of the API server".to_owned(),
        };
        ClusterStoreError::Api { kind: word(self.kind), namespace, name, action, remedy, why: one_line(&source) }
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
pub const fn word(kind: StoreKind) -> &'static str {
    match kind {
        StoreKind::ConfigMap => CONFIG_MAP,
        StoreKind::Secret => SECRET,
    }
}

/// The pins that a ConfigMap or a Secret holds, for whoever has read it already.
///
/// # Errors
/// When a key holds something else than a pin: what cannot be read is never taken for unpinned.
pub fn from_object(object: &Value, kind: StoreKind) -> Result<Book, BookError> {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let place = format!("{} {}/{}", word(kind), text("/metadata/namespace"), text("/metadata/name"));
    from_data(&place, &data(&place, object, kind)?)
}

/// The texts of an object; those of a Secret are decoded.
fn data(place: &str, object: &Value, kind: StoreKind) -> Result<BTreeMap<String, String>, BookError> {
    let entries = object.get("data").and_then(Value::as_object).into_iter().flatten();
    let read = entries.map(|(key, value)| {
        let text = value.as_str().unwrap_or_default();
        let text = match kind {
            StoreKind::ConfigMap => Some(text.to_owned()),
            StoreKind::Secret => STANDARD.decode(text).ok().and_then(|bytes| String::from_utf8(bytes).ok()),
        };
        text.map(|text| (key.clone(), text)).ok_or_else(|| unreadable(place, key, &"it is no text in base64"))
    });
    read.collect()
}

fn unreadable(place: &str, key: &str, error: &dyn std::fmt::Display) -> BookError {
    BookError::Unreadable {
        file: format!("{place}, key {key}"),
        line: 1,
        column: 1,
        message: format!("not a pin: {error}"),
    }
}

/// Reads texts: a pin a key, as JSON.
fn from_data(place: &str, data: &BTreeMap<String, String>) -> Result<Book, BookError> {
    let fail = |key: &str, error: &dyn std::fmt::Display| unreadable(place, key, error);
    let mut pins = Vec::new();
    let mut history: Vec<Event> = Vec::new();
    for (key, text) in data {
        if key == HISTORY {
            history = serde_json::from_str(text).map_err(|error| fail(key, &error))?;
            continue;
        }
        let pin: Pin = serde_json::from_str(text).map_err(|error| fail(key, &error))?;
        if pin.name != *key {
            return Err(fail(key, &format!("it is the pin of {}", pin.name)));
        }
        pins.push(pin);
    }
    Ok(Book::new(pins, history))
}

/// The texts of these pins and their history.
fn to_data(book: &Book) -> BTreeMap<String, String> {
    let json = |value: serde_json::Result<String>| value.expect("pins are plain text and times");
    let mut data: BTreeMap<String, String> =
        book.pins().iter().map(|pin| (pin.name.clone(), json(serde_json::to_string(pin)))).collect();
    if !book.history().is_empty() {
        data.insert(HISTORY.to_owned(), json(serde_json::to_string(book.history())));
    }
    data
}

#[cfg(test)]
mod tests;
