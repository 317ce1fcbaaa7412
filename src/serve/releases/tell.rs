//! Where people look: an Event of the HelmRelease, its Ready condition while something of it waits, its report in a ConfigMap beside it,
//! and notification-controller, where one is told.

use std::path::Path;
use std::time::Duration;

use jiff::Timestamp;

use super::super::api::{Api, ApiFault};
use super::super::event::{self, Reporter, SPEAKER, seconds};
use super::look::Name;
use super::marks;
use super::next::NextSaid;
use super::state::{Phase, State};
use crate::flux::RELEASES;
use crate::kinds::contract::CONFIG_MAP;
use crate::kinds::fields::{list, text};
use crate::late::Address;
use crate::report::Report;
use crate::store::cluster::OURS;
use crate::tree::{Value, json};

/// Longest time for notification-controller.
const PATIENCE: Duration = Duration::from_secs(5);
/// Most bytes of a report that is kept: an object may have one MiB.
const LARGEST: usize = 900_000;

/// Tells people.
#[derive(Debug, Clone)]
pub(super) struct Teller {
    pub(super) api: Api,
    pub(super) reporter: Reporter,
    /// Address of notification-controller.
    pub(super) notify: Option<String>,
}

impl Teller {
    /// Says something of a HelmRelease. What cannot be said is given back, for the log: nothing waits for it.
    pub(super) async fn say(&self, release: &Value, said: &NextSaid) -> Vec<String> {
        let mut faults = Vec::new();
        let event = crate::serve::event::EventSaid { reason: said.reason, warns: said.warns, line: said.line.clone() };
        let message = event.message();
        if let Err(fault) =
            self.reporter.event(&format!("{RELEASES}/{}", super::look::VERSION), "HelmRelease", release, &event).await
        {
            faults.push(format!("Event: {fault}"));
        }
        if let Some(url) = &self.notify
            && let Err(why) = notify(url, release, said, &message).await
        {
            faults.push(format!("notification-controller: {why}"));
        }
        faults
    }

    /// Says in the Ready condition why it waits, which is what `flux get helmreleases` shows. helm-controller writes it anew as soon as
    /// it acts; where it has what there is already, and only what drifted is held, its own word stays.
    pub(super) async fn condition(&self, name: &Name, release: &Value, state: &State) -> Result<(), ApiFault> {
        let reason = match state.phase {
            Phase::Held => "HeldByRollgate",
            Phase::Undecided => "UndecidedByRollgate",
            Phase::Waiting => "WaitsForRollgate",
            _ => return Ok(()),
        };
        if state.made.is_some() && state.made == state.applied {
            return Ok(());
        }
        let generation = release.pointer("/metadata/generation").cloned().unwrap_or_default();
        let ready = json!({"type": "Ready", "status": "False", "reason": reason, "message": state.why,
            "lastTransitionTime": seconds(state.since), "observedGeneration": generation});
        let others = list(release, "/status/conditions").filter(|one| text(one, "/type") != Some("Ready"));
        let conditions: Vec<Value> = others.cloned().chain([ready]).collect();
        let version = release.pointer("/metadata/resourceVersion").cloned().unwrap_or_default();
        let body = json!({"metadata": {"resourceVersion": version}, "status": {"conditions": conditions}});
        self.api.merge(&format!("{}/status", name.path()), &body).await.map(drop)
    }

    /// Keeps a report where a person finds it.
    pub(super) async fn report(&self, name: &Name, release: &Value, report: &Report) -> Result<(), String> {
        let text = serde_json::to_string(report).map_err(|error| error.to_string())?;
        if text.len() > LARGEST {
            return Err(format!("the report has {} bytes, more than an object holds", text.len()));
        }
        let path = format!("/api/v1/namespaces/{}/configmaps", name.namespace);
        let object = marks::report(&name.name);
        let owner = about(release);
        let mut body = json!({"apiVersion": "v1", "kind": CONFIG_MAP,
            "metadata": {"name": object, "namespace": name.namespace, "labels": {OURS.0: OURS.1},
                "ownerReferences": [{"apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": owner["name"], "uid": owner["uid"]}]},
            "data": {"report.json": text}});
        match self.api.get(&format!("{path}/{object}")).await {
            Ok(there) if crate::kinds::fields::label(&there, OURS.0) != Some(OURS.1) => {
                Err(format!("ConfigMap {object} is somebody else's"))
            }
            Ok(there) => {
                body["metadata"]["resourceVersion"] =
                    there.pointer("/metadata/resourceVersion").cloned().unwrap_or_default();
                let merged = self.api.merge(&format!("{path}/{object}"), &body).await;
                merged.map(drop).map_err(|fault| fault.to_string())
            }
            Err(ApiFault::Absent) => self.api.create(&path, &body).await.map(drop).map_err(|fault| fault.to_string()),
            Err(fault) => Err(fault.to_string()),
        }
    }
}

/// The HelmRelease as others refer to it.
fn about(release: &Value) -> Value {
    event::about(&format!("{RELEASES}/{}", super::look::VERSION), "HelmRelease", release)
}

/// An event as Flux's controllers send it to notification-controller (fluxcd/pkg `apis/event/v1beta1`).
fn notice(release: &Value, said: &NextSaid, message: &str) -> Value {
    let severity = if said.warns { "error" } else { "info" };
    json!({"involvedObject": about(release), "severity": severity, "timestamp": seconds(Timestamp::now()), "message": message,
        "reason": said.reason, "reportingController": SPEAKER})
}

async fn notify(url: &str, release: &Value, said: &NextSaid, message: &str) -> Result<(), String> {
    let address = Address { url, ca: None, folder: Path::new("."), limit: PATIENCE };
    address.post(notice(release, said, message).to_string().into_bytes()).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notification_controller_hears_what_flux_would_send() {
        let release = json!({"metadata": {"name": "edge", "namespace": "telco", "uid": "u", "resourceVersion": "7"}});
        let said = NextSaid { reason: "Held", warns: true, waits: true, line: "hold: x".to_owned() };
        let notice = notice(&release, &said, &said.line);
        assert_eq!(notice["involvedObject"]["kind"], "HelmRelease");
        assert_eq!(notice["involvedObject"]["uid"], "u");
        assert_eq!((&notice["severity"], &notice["reason"]), (&json!("error"), &json!("Held")));
        assert!(notice["timestamp"].as_str().is_some_and(|time| time.ends_with('Z') && !time.contains('.')));
    }
}
