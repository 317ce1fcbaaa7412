//! Events: what people see of an object with `kubectl describe`.

use jiff::Timestamp;

use super::api::{Api, ApiFault};
use crate::tree::{Value, json};

/// Who says it.
pub(super) const SPEAKER: &str = "rollgate";
/// Most characters of an Event's message (`k8s.io/api/core/v1`).
const MESSAGE: usize = 1_000;

/// What people hear.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct EventSaid {
    /// One word.
    pub(super) reason: &'static str,
    /// Whether somebody has to do something.
    pub(super) warns: bool,
    /// The line.
    pub(super) line: String,
}

impl EventSaid {
    /// The line, as long as an Event holds it.
    pub(super) fn message(&self) -> String {
        self.line.chars().take(MESSAGE).collect()
    }
}

/// Writes Events.
#[derive(Debug, Clone)]
pub(super) struct Reporter {
    pub(super) api: Api,
    /// Name of this replica.
    pub(super) holder: String,
}

impl Reporter {
    /// Says something of an object that was read.
    pub(super) async fn event(
        &self,
        version: &str,
        kind: &str,
        object: &Value,
        said: &EventSaid,
    ) -> Result<(), ApiFault> {
        let word =
            |field: &str| object.pointer(&format!("/metadata/{field}")).and_then(Value::as_str).unwrap_or_default();
        let (namespace, name, now) = (word("namespace"), word("name"), Timestamp::now());
        let body = json!({
            "apiVersion": "v1", "kind": "Event",
            "metadata": {"name": format!("{name}.{:x}", now.as_nanosecond()), "namespace": namespace},
            "involvedObject": about(version, kind, object),
            "reason": said.reason, "message": said.message(), "type": if said.warns { "Warning" } else { "Normal" },
            "source": {"component": SPEAKER}, "reportingComponent": SPEAKER, "reportingInstance": self.holder,
            "action": "Gate", "count": 1, "firstTimestamp": seconds(now), "lastTimestamp": seconds(now),
        });
        self.api.create(&format!("/api/v1/namespaces/{namespace}/events"), &body).await.map(drop)
    }
}

/// An object as others refer to it.
pub(super) fn about(version: &str, kind: &str, object: &Value) -> Value {
    let word = |field: &str| object.pointer(&format!("/metadata/{field}")).cloned().unwrap_or_default();
    json!({"apiVersion": version, "kind": kind, "namespace": word("namespace"), "name": word("name"), "uid": word("uid"),
        "resourceVersion": word("resourceVersion")})
}

/// A time in whole seconds, as most fields want it.
pub(super) fn seconds(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}
