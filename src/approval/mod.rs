//! Approvals: a person's yes to exactly one change, with what it was given for, until when, and what became of it. They lie in a
//! ConfigMap, in a file or in a trailer of a commit, and whoever writes there decides; this room reads and writes them, and judges nothing.

mod ledger;
mod text;
pub(crate) mod trailer;

use std::collections::BTreeMap;

use jiff::Timestamp;
#[cfg(test)]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

pub use ledger::Ledger;
pub(crate) use ledger::to_the_second;
pub(crate) use ledger::{Flaw, LedgerError, Malformed};

/// A file with approvals.
pub(crate) type File = crate::store::FileStore<Ledger>;
/// A ConfigMap with approvals.
pub type Object = crate::store::ClusterStore<Ledger>;

/// Uses that are kept of an approval; the oldest are forgotten.
pub(crate) const MOST_USES: usize = 10;

/// A yes to exactly one change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Approval {
    /// Its name.
    pub id: String,
    /// The digest of the report that it was given for.
    pub digest: String,
    /// Which key the marks of hidden values were made with, where the change has some.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// The clusters that the change touches.
    #[serde(default)]
    pub clusters: Vec<ClusterId>,
    /// The release that writes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub release: Option<ReleaseId>,
    /// The gates that held, with what they said. No other gate is lifted.
    pub gates: Vec<Held>,
    /// Machines that were to go, where they could be counted. More of them are not approved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machines: Option<u64>,
    /// Why.
    pub reason: String,
    /// By whom, as the program was told; the right to write is what proves it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// When it was given.
    #[cfg_attr(test, schemars(with = "String"))]
    pub time: Timestamp,
    /// When it ends.
    #[cfg_attr(test, schemars(with = "String"))]
    pub expires: Timestamp,
    /// Whether one install uses it up.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub once: bool,
    /// Whether nobody approved it: somebody broke through a hold, and this says so. It lets nothing through.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub break_glass: bool,
    /// The installs that it let through, the newest ten.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub uses: Vec<Use>,
    /// Who took it back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoked: Option<Revoked>,
}

/// A cluster that a change touches.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ClusterId {
    /// Namespace of its Cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Name of its Cluster.
    pub name: String,
    /// Uid of its Cluster, where that is there and was read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uid: Option<String>,
}

impl std::fmt::Display for ClusterId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let namespace = self.namespace.as_ref().map_or_else(String::new, |namespace| format!("{namespace}/"));
        let uid = self.uid.as_ref().map_or_else(|| " (its uid was not read)".to_owned(), |uid| format!(" (uid {uid})"));
        write!(f, "{namespace}{}{uid}", self.name)
    }
}

/// A release.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ReleaseId {
    /// Its namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Its name.
    pub name: String,
}

impl ReleaseId {
    /// The release of a run, as far as it is known.
    #[must_use]
    pub fn of(namespace: Option<&str>, name: Option<&str>) -> Option<Self> {
        Some(Self { namespace: namespace.map(str::to_owned), name: name?.to_owned() })
    }
}

impl std::fmt::Display for ReleaseId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.namespace {
            Some(namespace) => write!(f, "{namespace}/{}", self.name),
            None => f.write_str(&self.name),
        }
    }
}

/// A gate that held, and what it said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Held {
    /// The gate.
    pub gate: String,
    /// Its sentences.
    pub says: Vec<String>,
}

/// An install that an approval let through.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Use {
    /// When.
    #[cfg_attr(test, schemars(with = "String"))]
    pub time: Timestamp,
    /// By whom.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// How an approval was taken back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Revoked {
    /// When.
    #[cfg_attr(test, schemars(with = "String"))]
    pub time: Timestamp,
    /// By whom.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// Why.
    pub reason: String,
}

impl Approval {
    /// What ended it; `None` while it is good.
    #[must_use]
    pub fn ended(&self, now: Timestamp) -> Option<String> {
        let by = |by: &Option<String>| by.as_ref().map_or_else(String::new, |by| format!(" by {by}"));
        if self.break_glass {
            return Some(format!("nobody approved it: the glass was broken at {}{}", self.time, by(&self.by)));
        }
        if let Some(Revoked { time, by: who, reason }) = &self.revoked {
            return Some(format!("it was revoked at {time}{}: {reason}", by(who)));
        }
        if let Some(Use { time, by: who }) = self.uses.last().filter(|_| self.once) {
            return Some(format!("it was for one install, and was used up at {time}{}", by(who)));
        }
        (now >= self.expires).then(|| format!("it ended at {}", self.expires))
    }

    /// A name for an approval with this content: nobody has to think of one, and two are never the same.
    #[must_use]
    pub fn named(mut self) -> Self {
        let content = serde_json::to_string(&Self { id: String::new(), ..self.clone() }).unwrap_or_default();
        self.id = Sha256::digest(content.as_bytes()).iter().take(5).map(|byte| format!("{byte:02x}")).collect();
        self
    }
}

/// What one place holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema), schemars(rename = "Found"))]
#[serde(rename_all = "camelCase")]
pub struct FoundLedger {
    /// The place as the policy names it.
    pub place: String,
    /// The place as a person calls it.
    pub name: String,
    /// Whether it is a file: one is read again by whoever judges a snapshot.
    pub is_file: bool,
    /// Its approvals.
    pub approvals: Vec<Approval>,
    /// What stands there and is no approval.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub malformed: Vec<Malformed>,
    /// Why it could not be read. Nothing is approved there then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unread: Option<String>,
}

impl FoundLedger {
    /// What a ledger holds; the fault where it could not be read.
    #[must_use]
    pub fn of(place: &str, name: &str, is_file: bool, ledger: Result<Ledger, String>) -> Self {
        let (ledger, unread) = match ledger {
            Ok(ledger) => (ledger, None),
            Err(why) => (Ledger::default(), Some(why)),
        };
        let (approvals, malformed) = ledger.into_parts();
        Self { place: place.to_owned(), name: name.to_owned(), is_file, approvals, malformed, unread }
    }
}

/// Sentences of gates with the sentences of the same gate together, in order.
#[must_use]
pub(crate) fn held<'r>(reasons: impl IntoIterator<Item = (&'r str, &'r str)>) -> Vec<Held> {
    let mut gates: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (gate, says) in reasons {
        gates.entry(gate).or_default().push(says.to_owned());
    }
    gates.into_iter().map(|(gate, says)| Held { gate: gate.to_owned(), says }).collect()
}
