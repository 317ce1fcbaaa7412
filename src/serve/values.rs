//! Values that are published for HelmReleases as soon as their late values are known: what `rollgate flux values` does, again and again.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::watch;

use super::api::{Api, ApiFault};
use super::event::{EventSaid, Reporter};
use super::lease::{self, Lease};
use super::log::Log;
use crate::cluster::Cluster;
use crate::exit::Exit;
use crate::flux::published::Became;
use crate::host::ToldHost;
use crate::kinds::contract::CONFIG_MAP;
use crate::late::{Settled, template};
use crate::model::Decision;
use crate::policy::{FluxValues, StoreKind};
use crate::report::escape;
use crate::session::late::fill::{Filled, Input, whole};
use crate::session::late::publish::Destination;
use crate::session::late::{LateSources, LateValues};
use crate::session::{Live, Setup, Stop, Unobserved};
use crate::tree::{Value, json};

/// What is said of values that are there.
const PUBLISHED: &str = "ValuesPublished";
/// The end of a line about values that were there already.
const STANDS: &str = "says what is known";
/// How often sources are asked.
const EVERY: Duration = Duration::from_secs(10);

/// Publishes what the policy names.
pub(super) struct Publisher {
    setup: Arc<Setup>,
    api: Api,
    lease: Lease,
    reporter: Reporter,
    log: Log,
    /// What was said last of each entry.
    said: Mutex<BTreeMap<usize, EntryResult>>,
}

/// What became of one entry.
#[derive(Debug, Clone, PartialEq, Eq)]
struct EntryResult {
    reason: &'static str,
    warns: bool,
    line: String,
}

impl EntryResult {
    /// Whether people have not heard it yet: that what was published still stands is no news.
    fn is_news(&self, before: Option<&Self>) -> bool {
        let stands = |one: &Self| one.reason == PUBLISHED && self.reason == PUBLISHED && self.line.ends_with(STANDS);
        before.is_none_or(|before| before != self && !stands(before))
    }
}

impl Publisher {
    /// One that publishes while it has the Lease in `namespace`.
    pub(super) fn new(setup: &Setup, cluster: &Cluster, namespace: &str, log: Log) -> Self {
        let api = Api::new(cluster.client().clone(), "rollgate-values");
        let holder = lease::holder();
        let lease = Lease::new(api.clone(), namespace, "rollgate-values", holder.clone());
        let reporter = Reporter { api: api.clone(), holder };
        Self { setup: Arc::new(setup.clone()), api, lease, reporter, log, said: Mutex::default() }
    }

    /// Publishes until it is told to stop. What is being written then is written whole: it is one request.
    pub(super) async fn run(self, mut stop: watch::Receiver<bool>) {
        let told = |is: bool| {
            let said = if is { "this replica publishes values now" } else { "this replica no longer publishes values" };
            self.log.line("info", said, json!({}));
        };
        tokio::select! {
            () = self.lease.keep(told) => {}
            () = self.rounds() => {}
            _ = stop.wait_for(|stop| *stop) => {}
        }
        self.lease.give_up().await;
    }

    async fn rounds(&self) {
        loop {
            for (place, values) in self.setup.policy.flux.values.iter().enumerate() {
                if self.lease.is_ours() {
                    self.round(place, values).await;
                }
            }
            tokio::time::sleep(if self.lease.is_ours() { EVERY } else { Duration::from_secs(1) }).await;
        }
    }

    /// Publishes one entry, and says what became of it where that is news.
    async fn round(&self, place: usize, values: &FluxValues) {
        let FluxValues { namespace, template: name, key, .. } = values;
        let path = format!("/api/v1/namespaces/{namespace}/configmaps/{name}");
        let (object, outcome) = match self.api.get(&path).await {
            Err(ApiFault::Absent) => {
                (None, waits(format!("its template, {CONFIG_MAP} {namespace}/{name}, is not there")))
            }
            Err(fault) => (None, undecided(format!("{CONFIG_MAP} {namespace}/{name} cannot be read: {fault}"))),
            Ok(object) => match object.get("data").and_then(|data| data.get(key.as_str())).and_then(Value::as_str) {
                None => (Some(object.clone()), undecided(format!("{CONFIG_MAP} {namespace}/{name} has no key {key}"))),
                Some(text) => {
                    let (setup, values, text) = (Arc::clone(&self.setup), values.clone(), text.to_owned());
                    let work = tokio::task::spawn_blocking(move || publish(&setup, &values, text));
                    let outcome = work.await.unwrap_or_else(|_| {
                        undecided("publishing broke off; this is a defect, please report it".to_owned())
                    });
                    (Some(object), outcome)
                }
            },
        };
        let line = format!("{namespace}/{}: {}", values.name, outcome.line);
        let is_news = {
            let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
            let is_news = outcome.is_news(said.get(&place));
            said.insert(place, outcome.clone());
            is_news
        };
        if !is_news {
            return;
        }
        let level = if outcome.warns { "error" } else { "info" };
        self.log.line(level, "values", json!({"values": line, "reason": outcome.reason}));
        if let Some(object) = object {
            let said = EventSaid { reason: outcome.reason, warns: outcome.warns, line: outcome.line };
            if let Err(fault) = self.reporter.event("v1", CONFIG_MAP, &object, &said).await {
                self.log.line("error", "people cannot be told", json!({"values": line, "why": fault.to_string()}));
            }
        }
    }
}

fn waits(line: String) -> EntryResult {
    EntryResult { reason: "ValuesWait", warns: false, line }
}

fn undecided(line: String) -> EntryResult {
    EntryResult { reason: "ValuesUndecided", warns: true, line }
}

/// Publishes one entry. It blocks, as long as the sources of its late values take.
fn publish(setup: &Setup, values: &FluxValues, text: String) -> EntryResult {
    let mut why = Vec::new();
    match published(setup, values, text, &mut why) {
        Ok(Ok((object, became))) => {
            let line = match became {
                Became::Created => format!("wrote {} of {object}: helm-controller may install now", values.key),
                Became::Changed => {
                    format!("changed {} of {object}: helm-controller upgrades with it at once", values.key)
                }
                Became::Unchanged => format!("{} of {object} {STANDS}", values.key),
            };
            EntryResult { reason: PUBLISHED, warns: false, line }
        }
        Ok(Err(Exit::Hold)) => EntryResult { reason: "ValuesHeld", warns: true, line: why.join("; ") },
        Ok(Err(_)) => waits(why.join("; ")),
        Err(stop) => {
            let line = escape::line(&format!("{:#}", stop.error)).into_owned();
            if stop.exit == Exit::Hold {
                EntryResult { reason: "ValuesHeld", warns: true, line }
            } else {
                undecided(line)
            }
        }
    }
}

/// Publishes as `rollgate flux values` does, with the template and the place that the policy names.
fn published(
    setup: &Setup,
    values: &FluxValues,
    text: String,
    why: &mut Vec<String>,
) -> Result<Result<(String, Became), Exit>, Stop> {
    let told = ToldHost {
        namespace: Some(values.namespace.clone()),
        context: setup.told.context.clone(),
        ..ToldHost::default()
    };
    let asked = LateSources {
        policy: &setup.policy,
        folder: &setup.policy_folder,
        digest: "",
        told,
        live: Live::Cluster,
        now: None,
        deadline: setup.deadline,
        // The next round is the wait.
        wait: Some(Duration::ZERO),
    };
    let mut known = LateValues::new(asked)?;
    let name = format!("{CONFIG_MAP} {}/{}", values.namespace, values.template);
    let inputs = [Input { template: template::is_template(&name, &text), name, text }];
    let policy = Some(setup.policy_report.source.as_str()).filter(|source| source.starts_with("configmap/"));
    let options: Vec<(&str, &str)> =
        policy.map(|policy| ("--policy", policy)).into_iter().chain([("-n", values.namespace.as_str())]).collect();
    let mut said = |_: &LateValues<'_>, found: &mut [Settled], _: &mut Unobserved| {
        for reason in found.iter_mut().filter_map(|one| one.reason.as_mut()) {
            reason.complete(|call| call.line(&options));
            // What is only waited for needs nobody: the next round asks again.
            let next = reason.steps().next().filter(|_| reason.decision == Decision::Hold);
            let next = next.map(|(word, step)| format!("; {word}: {step}")).unwrap_or_default();
            why.push(escape::line(&format!("{}: {}{next}", reason.decision, reason.message)).into_owned());
        }
    };
    let (texts, settled) = match known.fill(&inputs, &mut Unobserved::default(), &mut said)? {
        Filled::Waits(exit) => return Ok(Err(exit)),
        Filled::Texts(texts, settled) => (texts, settled),
    };
    let text = texts.first().map(String::as_str).unwrap_or_default();
    whole(text, &setup.policy)?;
    let used: Vec<&Settled> = settled.iter().collect();
    let kind = if values.secret { StoreKind::Secret } else { StoreKind::ConfigMap };
    let place = Destination { kind, name: values.name.clone(), key: values.key.clone(), replace: false };
    known.publish(&place, text, &used).map(Ok)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_is_said_once() {
        let outcome = |reason, line: &str| EntryResult { reason, warns: false, line: line.to_owned() };
        let stands = outcome(PUBLISHED, "values.yaml of it says what is known");
        let wrote = outcome(PUBLISHED, "wrote values.yaml of it: helm-controller may install now");
        assert!(stands.is_news(None) && !stands.is_news(Some(&stands)) && !stands.is_news(Some(&wrote)));
        assert!(wrote.is_news(Some(&stands)) && stands.is_news(Some(&outcome("ValuesHeld", "hold: vip"))));
        assert!(!outcome("ValuesHeld", "hold: vip").is_news(Some(&outcome("ValuesHeld", "hold: vip"))));
    }
}
