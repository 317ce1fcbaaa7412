//! Helm's release record: what the host wrote last time, and how. Decoded as Helm's storage drivers do
//! (helm `pkg/storage/driver/util.go`), and never kept beyond its manifest: values and notes may hold secrets, and are read where a late value asks for one.

use std::collections::BTreeMap;
use std::io::Read as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use serde::Deserialize;

use super::{Release, ReleaseStatus, WriteMethod};
use crate::kinds::contract::SECRET;
use crate::tree::Value;

/// A record may unpack to so many bytes; an object of etcd holds 1.5 MiB packed.
const LARGEST: u64 = 256 << 20;

/// What is kept of one revision.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Revision {
    /// Release name.
    pub name: String,
    /// Namespace.
    pub namespace: String,
    /// Number.
    pub number: u64,
    /// State.
    pub status: ReleaseStatus,
    /// How it was written.
    pub method: WriteMethod,
    /// What was written, hooks excluded.
    pub manifest: String,
    /// The hooks, each as it was rendered.
    pub hooks: Vec<String>,
    /// When it was written, where the record says so.
    pub written: Option<Timestamp>,
    /// What Helm said about it; a failure may quote what was written.
    pub description: String,
    /// The chart with its version; empty where the record has none.
    pub chart: String,
}

impl std::fmt::Debug for Revision {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Revision")
            .field("name", &self.name)
            .field("namespace", &self.namespace)
            .field("number", &self.number)
            .field("status", &self.status)
            .field("method", &self.method)
            .field("manifest", &format_args!("({} bytes)", self.manifest.len()))
            .field("hooks", &self.hooks.len())
            .finish()
    }
}

/// A revision as its labels show it, before its content is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    /// Name of the Secret or ConfigMap.
    pub object: String,
    /// Number.
    pub number: u64,
    /// State.
    pub status: ReleaseStatus,
}

/// Why a record could not be read; nothing of its content is quoted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the release record {object} cannot be read: {what}")]
pub(crate) struct RecordError {
    /// Name of the Secret or ConfigMap.
    pub object: String,
    /// What is wrong.
    pub what: String,
}

/// The part of Helm's record that is read.
#[derive(Deserialize)]
struct Record {
    name: String,
    #[serde(default)]
    namespace: String,
    version: u64,
    info: Info,
    #[serde(default)]
    manifest: String,
    #[serde(default)]
    apply_method: String,
    #[serde(default, deserialize_with = "Option::deserialize")]
    hooks: Option<Vec<HookRecord>>,
    #[serde(default)]
    chart: Option<ChartRecord>,
}

/// The chart of a record.
#[derive(Deserialize)]
struct ChartRecord {
    #[serde(default)]
    metadata: Option<ChartMetadata>,
}

/// What a chart says of itself.
#[derive(Deserialize)]
struct ChartMetadata {
    #[serde(default)]
    name: String,
    #[serde(default)]
    version: String,
}

/// A hook of a record.
#[derive(Deserialize)]
struct HookRecord {
    #[serde(default)]
    manifest: String,
}

/// State of a record.
#[derive(Deserialize)]
struct Info {
    status: ReleaseStatus,
    #[serde(default)]
    last_deployed: Option<Value>,
    #[serde(default)]
    description: Option<String>,
}

/// The text of the record in its Secret or ConfigMap.
fn plain(object: &Value, is_secret: bool) -> Result<Vec<u8>, RecordError> {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str);
    let name = text("/metadata/name").unwrap_or_default().to_owned();
    let fault = |what: &str| RecordError { object: name.clone(), what: what.to_owned() };
    let data = text("/data/release").ok_or_else(|| fault("it has no data.release"))?;
    let packed = if is_secret {
        let outer = STANDARD.decode(data).map_err(|_| fault("its data is not base64"))?;
        STANDARD.decode(outer).map_err(|_| fault("its release is not base64"))?
    } else {
        STANDARD.decode(data).map_err(|_| fault("its release is not base64"))?
    };
    unpack(packed).ok_or_else(|| fault("its release does not unpack"))
}

/// The values that were given to the revision of a Secret, without the defaults of the chart. They may hold secrets.
///
/// # Errors
/// When it is not a record that Helm would read.
pub(crate) fn values(secret: &Value) -> Result<Value, RecordError> {
    #[derive(Deserialize)]
    struct Given {
        #[serde(default)]
        config: Value,
    }
    let name = secret.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
    let fault = |what: &str| RecordError { object: name.to_owned(), what: what.to_owned() };
    let given: Given =
        serde_json::from_slice(&plain(secret, true)?).map_err(|_| fault("its release is not a record of Helm"))?;
    Ok(given.config)
}

/// Reads the record out of its Secret or ConfigMap.
///
/// # Errors
/// When it is not a record that Helm would read.
pub(crate) fn decode(object: &Value) -> Result<Revision, RecordError> {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str);
    let name = text("/metadata/name").unwrap_or_default().to_owned();
    let fault = |what: &str| RecordError { object: name.clone(), what: what.to_owned() };
    let plain = plain(object, text("/kind") == Some(SECRET))?;
    let record: Record = serde_json::from_slice(&plain).map_err(|_| fault("its release is not a record of Helm"))?;
    let method = if record.apply_method == "ssa" { WriteMethod::ServerSideApply } else { WriteMethod::MergePatch };
    // A time that nobody reads is a time that is not told: the rest of the record counts all the same.
    let written = record.info.last_deployed.as_ref().and_then(Value::as_str).and_then(|text| text.parse().ok());
    let chart = record.chart.and_then(|chart| chart.metadata);
    Ok(Revision {
        written,
        description: record.info.description.unwrap_or_default(),
        chart: chart.map(|chart| format!("{}-{}", chart.name, chart.version)).unwrap_or_default(),
        name: record.name,
        namespace: record.namespace,
        number: record.version,
        status: record.info.status,
        method,
        manifest: record.manifest,
        hooks: record.hooks.unwrap_or_default().into_iter().map(|hook| hook.manifest).collect(),
    })
}

/// Takes gzip off where it is on: records from before Helm packed them have none.
fn unpack(bytes: Vec<u8>) -> Option<Vec<u8>> {
    if !bytes.starts_with(&[0x1f, 0x8b, 0x08]) {
        return Some(bytes);
    }
    let mut plain = Vec::new();
    let read = flate2::read::GzDecoder::new(bytes.as_slice()).take(LARGEST + 1).read_to_end(&mut plain).ok()?;
    (read as u64 <= LARGEST).then_some(plain)
}

/// A revision from the name and the labels of its object; `None` where the labels are not Helm's.
#[must_use]
pub(crate) fn entry(object: &str, labels: &BTreeMap<String, String>) -> Option<Entry> {
    let status = crate::tree::from_value(Value::from(labels.get("status")?.clone())).unwrap_or(ReleaseStatus::Unknown);
    Some(Entry { object: object.to_owned(), number: labels.get("version")?.parse().ok()?, status })
}

/// Which revisions matter: the newest of all, and the one that the next upgrade starts from.
///
/// Mirrors `prepareUpgrade` of helm `pkg/action/upgrade.go` (v4.3.1): the newest deployed one, else the newest of all.
/// `None` for both where nothing is installed.
#[must_use]
pub(crate) fn choose(entries: &[Entry]) -> Option<(&Entry, &Entry)> {
    let newest = entries.iter().max_by_key(|entry| entry.number)?;
    let deployed =
        entries.iter().filter(|entry| entry.status == ReleaseStatus::Deployed).max_by_key(|entry| entry.number);
    Some((newest, deployed.unwrap_or(newest)))
}

/// What the World holds of the record. The method is that of the newest revision: Helm's `auto` follows it.
#[must_use]
pub(crate) fn summary(newest: &Revision, deployed: Option<u64>) -> Release {
    Release {
        name: newest.name.clone(),
        namespace: newest.namespace.clone(),
        deployed: deployed.unwrap_or(0),
        newest: newest.number,
        status: newest.status,
        method: newest.method,
    }
}

#[cfg(test)]
#[path = "release_tests.rs"]
mod tests;
