//! Pins in a ConfigMap, one key a pin. Written only onto the version that was read: two runs at once cannot lose each other's,
//! the later one reads again and is compared again.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::PostParams;
use kube::{Api, Client};
use serde_json::Value;

use super::{Book, BookError, Event, Pin};

/// Key of the history. No late value can have this name: names start with a letter, a digit or `_`.
const HISTORY: &str = ".history";
/// Events that are kept: a ConfigMap holds one MiB at most.
const MOST_EVENTS: usize = 200;
/// Attempts before the other writers have won: each time one of them gets through, so many at once all come to their turn.
const ATTEMPTS: usize = 120;

/// A ConfigMap that holds pins.
#[derive(Clone)]
pub struct ConfigMapStore {
    client: Client,
    namespace: String,
    name: String,
}

impl std::fmt::Debug for ConfigMapStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ConfigMapStore({}/{})", self.namespace, self.name)
    }
}

/// Why the pins of a ConfigMap could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum ConfigMapError {
    /// The API server refused or could not be reached.
    #[error("pins in ConfigMap {namespace}/{name}: cannot {action}: {why}; {remedy}")]
    Api {
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
    #[error("pins in ConfigMap {namespace}/{name}: others wrote it {ATTEMPTS} times in between; run again")]
    Busy {
        /// Namespace.
        namespace: String,
        /// Name.
        name: String,
    },
    /// The pins themselves are in the way.
    #[error(transparent)]
    Book(#[from] BookError),
}

impl ConfigMapStore {
    /// The store of this name in this namespace; it need not exist yet.
    #[must_use]
    pub fn new(client: Client, namespace: impl Into<String>, name: impl Into<String>) -> Self {
        Self { client, namespace: namespace.into(), name: name.into() }
    }

    /// The pins; none where there is no ConfigMap.
    ///
    /// # Errors
    /// When the API server does not answer, or the ConfigMap holds something else than pins.
    pub async fn read(&self) -> Result<Book, ConfigMapError> {
        Ok(self.current().await?.1)
    }

    /// Reads the pins, lets `change` change them, and writes them onto the very version that was read; where somebody else wrote
    /// in between, all of that again, so that `change` always sees what it changes.
    ///
    /// # Errors
    /// When the API server refuses, others keep writing, or `change` refuses. Then nothing is written.
    pub async fn update<T>(&self, change: impl Fn(&mut Book) -> Result<T, BookError>) -> Result<T, ConfigMapError> {
        for attempt in 0..ATTEMPTS {
            tokio::time::sleep(pause(attempt)).await;
            let (object, before) = self.current().await?;
            let mut after = before.clone();
            let answer = change(&mut after)?;
            if after == before || self.write(object, &after).await? {
                return Ok(answer);
            }
        }
        Err(ConfigMapError::Busy { namespace: self.namespace.clone(), name: self.name.clone() })
    }

    async fn current(&self) -> Result<(Option<ConfigMap>, Book), ConfigMapError> {
        let object = self.api().get_opt(&self.name).await.map_err(|error| self.fail("read it", "get", error))?;
        let data = object.as_ref().and_then(|object| object.data.clone()).unwrap_or_default();
        let book = from_data(&format!("ConfigMap {}/{}", self.namespace, self.name), &data)?;
        Ok((object, book))
    }

    /// Writes; `false` where somebody else wrote in between.
    async fn write(&self, object: Option<ConfigMap>, book: &Book) -> Result<bool, ConfigMapError> {
        let params = PostParams { field_manager: Some("rollgate".to_owned()), ..PostParams::default() };
        let is_new = object.is_none();
        let mut object = object.unwrap_or_default();
        object.metadata.name = Some(self.name.clone());
        object.metadata.namespace = Some(self.namespace.clone());
        let labels = object.metadata.labels.get_or_insert_default();
        labels.insert("app.kubernetes.io/managed-by".to_owned(), "rollgate".to_owned());
        object.data = Some(to_data(book));
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

    fn api(&self) -> Api<ConfigMap> {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    fn fail(&self, action: &'static str, verb: &str, source: kube::Error) -> ConfigMapError {
        let (namespace, name) = (self.namespace.clone(), self.name.clone());
        let remedy = match &source {
            kube::Error::Api(status) if status.code == 403 => {
                format!("add to the role: - {{apiGroups: [\"\"], resources: [\"configmaps\"], verbs: [\"{verb}\"]}}")
            }
            _ => "try again; kubectl get --raw /readyz shows the state of the API server".to_owned(),
        };
        ConfigMapError::Api { namespace, name, action, remedy, why: one_line(&source) }
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

/// The pins that a ConfigMap holds, for whoever has read it already.
///
/// # Errors
/// When a key holds something else than a pin: what cannot be read is never taken for unpinned.
pub fn from_object(object: &Value) -> Result<Book, BookError> {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let place = format!("ConfigMap {}/{}", text("/metadata/namespace"), text("/metadata/name"));
    let entries = object.get("data").and_then(Value::as_object).into_iter().flatten();
    let data = entries.map(|(key, value)| (key.clone(), value.as_str().unwrap_or_default().to_owned())).collect();
    from_data(&place, &data)
}

/// Reads the data of a ConfigMap: a pin a key, as JSON.
fn from_data(place: &str, data: &BTreeMap<String, String>) -> Result<Book, BookError> {
    let fail = |key: &str, error: &dyn std::fmt::Display| BookError::Unreadable {
        file: format!("{place}, key {key}"),
        line: 1,
        column: 1,
        message: format!("not a pin: {error}"),
    };
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

/// The data of a ConfigMap with these pins.
fn to_data(book: &Book) -> BTreeMap<String, String> {
    let json = |value: serde_json::Result<String>| value.expect("pins are plain text and times");
    let recent = &book.history()[book.history().len().saturating_sub(MOST_EVENTS)..];
    let mut data: BTreeMap<String, String> =
        book.pins().iter().map(|pin| (pin.name.clone(), json(serde_json::to_string(pin)))).collect();
    if !recent.is_empty() {
        data.insert(HISTORY.to_owned(), json(serde_json::to_string(recent)));
    }
    data
}

#[cfg(test)]
mod tests;
