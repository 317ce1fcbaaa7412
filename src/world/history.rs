//! What Helm wrote into owners of Machines and what they are made from, revision by revision. Of each revision only what
//! differs from the one before is kept, and of the record only that: values and notes may hold secrets.

use std::collections::BTreeMap;

use bytes::Bytes;
use jiff::Timestamp;
#[cfg(test)]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::release::{self, Entry, Revision};
use super::{ReleaseName, compared as kinds};
use super::{ReleaseStatus, Unread};
use crate::kinds::Role;
use crate::kinds::contract::{CONFIG_MAP, SECRET};
use crate::object::{Inventory, Key, Object, Stream};
use crate::providers::kind;
use crate::tree::Value;

/// So many revisions of a release are read, the newest ones; Helm keeps ten where nothing else is said.
pub(crate) const MOST_REVISIONS: usize = 20;
/// Of so many releases the history is read.
pub(crate) const MOST_RELEASES: usize = 16;
/// Most bytes of manifests of one release.
const MOST_BYTES: usize = 64 << 20;

/// The history of one release.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct History {
    /// Name of the release.
    pub name: String,
    /// Its namespace.
    pub namespace: String,
    /// The revisions that were read, the oldest first.
    pub revisions: Vec<Recorded>,
    /// How many older revisions there are that were not read.
    #[serde(default)]
    pub older: usize,
    /// What of it could not be read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unread: Vec<Unread>,
}

/// One revision.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Recorded {
    /// Number.
    pub number: u64,
    /// State.
    pub status: ReleaseStatus,
    /// When it was written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(with = "Option<String>"))]
    pub written: Option<Timestamp>,
    /// What Helm said about it.
    #[serde(default)]
    pub description: String,
    /// The chart with its version.
    #[serde(default)]
    pub chart: String,
    /// The objects that are new in it or not as they were in the one before.
    #[cfg_attr(test, schemars(with = "Vec<crate::tree::Value>"))]
    pub objects: Inventory,
    /// The objects that the one before had and it has not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gone: Vec<Key>,
}

impl History {
    /// An object as a revision wrote it, by the place of the revision among those that were read.
    #[must_use]
    pub fn at(&self, place: usize, key: &Key) -> Option<&Object> {
        let until = self.revisions.get(..=place)?;
        let told = until.iter().rev().find(|one| one.objects.get(key).is_some() || one.gone.contains(key))?;
        told.objects.get(key)
    }

    /// Notes something that could not be read.
    pub(crate) fn doubt(&mut self, why: impl Into<String>, remedy: impl Into<String>) {
        let what = format!("the history of release {} in namespace {}", self.name, self.namespace);
        self.unread.push(Unread { what, why: why.into(), remedy: remedy.into(), keys: Vec::new() });
    }
}

/// The newest entries that are read, the oldest of them first, and how many there are before them.
#[must_use]
pub(crate) fn newest(mut entries: Vec<Entry>) -> (Vec<Entry>, usize) {
    entries.sort_by_key(|entry| entry.number);
    let older = entries.len().saturating_sub(MOST_REVISIONS);
    (entries.split_off(older), older)
}

/// The history that revisions make, the newest first so that what is too much is old.
#[must_use]
pub(crate) fn of(name: &ReleaseName, mut revisions: Vec<Revision>, older: usize) -> History {
    let mut history =
        History { name: name.name.clone(), namespace: name.namespace.clone(), older, ..History::default() };
    revisions.sort_by_key(|revision| revision.number);
    // The record may be kept elsewhere; objects without a namespace are in that of the release.
    if let Some(namespace) = revisions.last().map(|last| &last.namespace).filter(|namespace| !namespace.is_empty()) {
        history.namespace.clone_from(namespace);
    }
    let mut bytes = 0;
    let fit = revisions.iter().rev().take_while(|revision| {
        bytes += revision.manifest.len();
        bytes <= MOST_BYTES
    });
    let skipped = revisions.len() - fit.count();
    history.older += skipped;
    let mut last: BTreeMap<Key, Object> = BTreeMap::new();
    for revision in revisions.into_iter().skip(skipped) {
        match objects(&revision.manifest, &history.namespace) {
            Some(objects) => {
                let recorded = recorded(&revision, &last, &objects);
                history.revisions.push(recorded);
                last = objects;
            }
            None => history.doubt(
                format!("the manifest of revision {} is not what Kubernetes reads", revision.number),
                format!("look at helm get manifest {} --revision {}", name.name, revision.number),
            ),
        }
    }
    history
}

/// A revision as what differs from the one before.
fn recorded(revision: &Revision, last: &BTreeMap<Key, Object>, objects: &BTreeMap<Key, Object>) -> Recorded {
    let same = |object: &Object| {
        last.get(&object.key).is_some_and(|other| match (other.value(), object.value()) {
            (Ok(one), Ok(other)) => one == other,
            _ => false,
        })
    };
    Recorded {
        number: revision.number,
        status: revision.status,
        written: revision.written,
        description: revision.description.clone(),
        chart: revision.chart.clone(),
        objects: objects.values().filter(|object| !same(object)).cloned().collect::<Vec<_>>().into(),
        gone: last.keys().filter(|key| !objects.contains_key(*key)).cloned().collect(),
    }
}

/// The objects of a manifest by which Machines are made; those without a namespace are in that of the release.
fn objects(manifest: &str, namespace: &str) -> Option<BTreeMap<Key, Object>> {
    let stream = Stream::load(&Bytes::copy_from_slice(manifest.as_bytes())).ok()?;
    let kept = Vec::from(stream.objects).into_iter().filter(|object| is_kept(&object.key));
    let homed = kept.map(|object| {
        let mut value = object.value().ok()?.into_owned();
        if object.key.namespace.is_none() && !kinds::is_cluster_wide(&object.key) {
            value.get_mut("metadata")?.as_object_mut()?.insert("namespace".to_owned(), namespace.into());
        }
        let object = Object::from_value(value, object.line).ok()?;
        Some((object.key.clone(), object))
    });
    homed.collect()
}

/// Whether an object has a say in which Machines there are; and Secrets, so that what is in them is known wherever it stands.
fn is_kept(key: &Key) -> bool {
    kinds::is_compared(key) && kind(key).role != Role::Data || key.is_secret()
}

/// The histories that lie as Helm's own objects among others, as in a dump of a namespace.
#[must_use]
pub(crate) fn among(objects: &Inventory) -> Vec<History> {
    let records = objects.of_kind(SECRET).chain(objects.of_kind(CONFIG_MAP)).filter_map(|object| {
        let value = object.value().ok()?;
        let labels = value.pointer("/metadata/labels")?;
        let text = |key: &str| labels.get(key).and_then(Value::as_str);
        let is_record = text("owner") == Some("helm") && value.pointer("/data/release").is_some();
        let namespace = object.key.namespace.clone()?;
        is_record.then_some(())?;
        let name = ReleaseName { name: text("name")?.to_owned(), namespace };
        Some((name, text("version")?.parse::<u64>().ok()?, value.into_owned()))
    });
    let mut found: BTreeMap<ReleaseName, Vec<(u64, Value)>> = BTreeMap::new();
    for (name, number, value) in records {
        found.entry(name).or_default().push((number, value));
    }
    found.into_iter().take(MOST_RELEASES).map(|(name, records)| of_records(&name, records)).collect()
}

/// The history that records make, of which each is read by itself.
#[must_use]
pub(crate) fn of_records(name: &ReleaseName, mut records: Vec<(u64, Value)>) -> History {
    records.sort_by_key(|(number, _)| *number);
    let older = records.len().saturating_sub(MOST_REVISIONS);
    let (mut revisions, mut faults) = (Vec::new(), Vec::new());
    for (number, record) in records.split_off(older) {
        match release::decode(&record) {
            Ok(revision) if revision.number == number => revisions.push(revision),
            Ok(_) => faults.push(format!("revision {number} changed while it was read")),
            Err(fault) => faults.push(fault.to_string()),
        }
    }
    let mut history = of(name, revisions, older);
    for fault in faults {
        history.doubt(fault, format!("look at helm history {} -n {}", name.name, name.namespace));
    }
    history
}

#[cfg(test)]
#[path = "history_tests.rs"]
mod tests;
