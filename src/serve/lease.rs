//! Of several replicas one acts: the one that holds a Lease. Whoever cannot renew it in time stops acting before another one may begin, by
//! its own clock alone, as client-go does it (`tools/leaderelection`); and since each write is onto exactly what was read, two that act at
//! once after all do no harm.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use jiff::Timestamp;

use super::api::{Api, ApiFault};
use crate::tree::{Value, json};

/// How long a Lease counts after its last renewal.
const LASTS: Duration = Duration::from_secs(15);
/// How long whoever holds it goes on acting after the last renewal that was heard of.
const ACTS: Duration = Duration::from_secs(10);
/// How often it is renewed, or asked for.
const EVERY: Duration = Duration::from_secs(2);

/// The Lease, as this replica sees it.
#[derive(Debug)]
pub(super) struct Lease {
    api: Api,
    namespace: String,
    name: String,
    holder: String,
    start: Instant,
    /// Until when this replica may act, in milliseconds since `start`.
    until: AtomicU64,
}

/// What is to be done about a Lease that was read.
#[derive(Debug, PartialEq, Eq)]
enum Turn {
    /// It is ours: renew it.
    Renew,
    /// Nobody holds it, or nobody has renewed it in time: take it.
    Take,
    /// Somebody else holds it.
    Wait,
}

impl Lease {
    pub(super) fn new(api: Api, namespace: &str, name: &str, holder: String) -> Self {
        let (namespace, name) = (namespace.to_owned(), name.to_owned());
        Self { api, namespace, name, holder, start: Instant::now(), until: AtomicU64::new(0) }
    }

    /// Whether this replica may act now.
    pub(super) fn is_ours(&self) -> bool {
        self.start.elapsed() < Duration::from_millis(self.until.load(Ordering::Acquire))
    }

    /// Holds it as far as it can be had, for as long as this is polled.
    pub(super) async fn keep(&self, told: impl Fn(bool)) {
        let mut was = false;
        // When another holder's last renewal was first seen here: its clock is not ours.
        let mut seen: Option<(String, Instant)> = None;
        loop {
            let asked = Instant::now();
            if self.ask(&mut seen).await == Ok(true) {
                let until = asked.duration_since(self.start) + ACTS;
                self.until.store(u64::try_from(until.as_millis()).unwrap_or(u64::MAX), Ordering::Release);
            }
            let is = self.is_ours();
            if std::mem::replace(&mut was, is) != is {
                told(is);
            }
            tokio::time::sleep(EVERY).await;
        }
    }

    /// Gives it up, so that another replica need not wait.
    pub(super) async fn give_up(&self) {
        if !self.is_ours() {
            return;
        }
        self.until.store(0, Ordering::Release);
        let path = self.path();
        let Ok(found) = self.api.get(&format!("{path}/{}", self.name)).await else { return };
        if turn(&found, &self.holder, None) == Turn::Renew {
            let version = found.pointer("/metadata/resourceVersion").cloned().unwrap_or_default();
            let body = json!({"metadata": {"resourceVersion": version}, "spec": {"holderIdentity": ""}});
            // Whoever waits takes it a few seconds later otherwise.
            drop(self.api.merge(&format!("{path}/{}", self.name), &body).await);
        }
    }

    fn path(&self) -> String {
        format!("/apis/coordination.k8s.io/v1/namespaces/{}/leases", self.namespace)
    }

    async fn ask(&self, seen: &mut Option<(String, Instant)>) -> Result<bool, ApiFault> {
        let path = self.path();
        let now = Timestamp::now().to_string();
        let mut spec =
            json!({"holderIdentity": self.holder, "leaseDurationSeconds": LASTS.as_secs(), "renewTime": micro(&now)});
        let found = match self.api.get(&format!("{path}/{}", self.name)).await {
            Ok(found) => found,
            Err(ApiFault::Absent) => {
                spec["acquireTime"] = json!(micro(&now));
                let body = json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
                    "metadata": {"name": self.name, "namespace": self.namespace}, "spec": spec});
                return self.api.create(&path, &body).await.map(|_| true);
            }
            Err(fault) => return Err(fault),
        };
        let mark = found.pointer("/spec/renewTime").and_then(Value::as_str).unwrap_or_default().to_owned();
        let since = match seen {
            Some((known, since)) if *known == mark => since.elapsed(),
            _ => {
                *seen = Some((mark, Instant::now()));
                Duration::ZERO
            }
        };
        match turn(&found, &self.holder, Some(since)) {
            Turn::Wait => return Ok(false),
            Turn::Take => spec["acquireTime"] = json!(micro(&now)),
            Turn::Renew => {}
        }
        let version = found.pointer("/metadata/resourceVersion").cloned().unwrap_or_default();
        let body = json!({"metadata": {"resourceVersion": version}, "spec": spec});
        self.api.merge(&format!("{path}/{}", self.name), &body).await.map(|_| true)
    }
}

/// A time as a Lease has it: microseconds, always.
fn micro(now: &str) -> String {
    let time: Timestamp = now.parse().unwrap_or_default();
    format!("{}", time.strftime("%Y-%m-%dT%H:%M:%S.%6fZ"))
}

/// Whose turn it is. `since` is how long the last renewal has been known here.
fn turn(lease: &Value, holder: &str, since: Option<Duration>) -> Turn {
    let spec = |field: &str| lease.pointer(&format!("/spec/{field}"));
    match spec("holderIdentity").and_then(Value::as_str).filter(|text| !text.is_empty()) {
        Some(other) if other == holder => Turn::Renew,
        None => Turn::Take,
        Some(_) => {
            let lasts = spec("leaseDurationSeconds").and_then(Value::as_u64).map_or(LASTS, Duration::from_secs);
            if since.is_some_and(|since| since >= lasts) { Turn::Take } else { Turn::Wait }
        }
    }
}

/// A name that no other replica has.
pub(super) fn holder() -> String {
    let host = std::env::var("HOSTNAME").unwrap_or_else(|_| "rollgate".to_owned());
    let since = Timestamp::now().duration_since(Timestamp::UNIX_EPOCH).as_nanos();
    format!("{host}_{}_{since:x}", std::process::id())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_is_taken_only_where_nobody_renews_it() {
        let lease = |holder: &str| json!({"spec": {"holderIdentity": holder, "leaseDurationSeconds": 15}});
        let after = |seconds| Some(Duration::from_secs(seconds));
        assert_eq!(turn(&lease("a"), "a", after(99)), Turn::Renew);
        assert_eq!(turn(&lease(""), "a", after(0)), Turn::Take);
        assert_eq!(turn(&lease("b"), "a", after(14)), Turn::Wait);
        assert_eq!(turn(&lease("b"), "a", after(15)), Turn::Take);
        assert_eq!(turn(&lease("b"), "a", None), Turn::Wait);
        assert_eq!(micro("2026-01-01T00:00:00Z"), "2026-01-01T00:00:00.000000Z");
    }

    #[test]
    fn whoever_holds_it_stops_before_another_may_begin() {
        // What was asked for at a moment counts from before that moment on the other side.
        assert!(ACTS + EVERY < LASTS);
    }
}
