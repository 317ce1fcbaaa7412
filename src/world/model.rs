//! The World: what was read, when, from where, and what could not be read.
//! Doubt is part of it: a missing answer is an `Unread`, never an absence.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
#[cfg(test)]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::history::History;
use super::images::Image;
use super::remote::RemoteReading;
use super::workload::Workload;
use super::{Coverage, Host, ServerAnswer, Standing};
use crate::approval::FoundLedger;
use crate::hashed::HashSet;
use crate::object::{Inventory, Key};
use crate::pin::Pin;
use crate::providers::versions::ToldVersion;

/// Everything that one judgement may know.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct World {
    /// When the cluster was read; equal to `now` for a live run.
    #[cfg_attr(test, schemars(with = "String"))]
    pub taken: Timestamp,
    /// The clock of the judgement.
    #[cfg_attr(test, schemars(with = "String"))]
    pub now: Timestamp,
    /// Where `live` came from.
    pub source: LiveSource,
    /// What the API server holds.
    #[cfg_attr(test, schemars(with = "Vec<crate::tree::Value>"))]
    pub live: Inventory,
    /// What the host wrote last time.
    pub base: Base,
    /// The release that is about to be written, as far as its record was read.
    pub release: Option<Release>,
    /// Who writes.
    pub host: Host,
    /// What each source of a late value gave, in the policy's order.
    pub readings: Vec<SourceReading>,
    /// The pins as they stood.
    #[cfg_attr(test, schemars(with = "Vec<crate::tree::Value>"))]
    pub pins: Vec<Pin>,
    /// What people have approved, place by place.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub approvals: Vec<FoundLedger>,
    /// What went out before, where the policy asks for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub history: Option<crate::history::FoundHistory>,
    /// Provider name (`cluster-api`, `rke2`, ...) to its version.
    pub providers: BTreeMap<String, Provider>,
    /// Feature gates of the controllers that were told.
    pub feature_gates: BTreeMap<String, bool>,
    /// What was asked for and could not be read. Never empty without a reason in it.
    pub unread: Vec<Unread>,
    /// What was asked for and is known not to be there.
    pub absent: Vec<Absent>,
    /// Of which objects `live` would show that they are there.
    #[serde(default)]
    pub coverage: Coverage,
    /// What stands where the stream writes, beyond what is compared.
    #[serde(default, skip_serializing_if = "Standing::is_empty")]
    pub standing: Standing,
    /// Where the clusters are that objects of the stream, or those that were written last, name for others to write into.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remotes: Vec<RemoteReading>,
    /// What Helm wrote into the owners of Machines, revision by revision, for the releases of which that was read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub histories: Vec<History>,
    /// What clusters of which Machines go said of themselves, where the policy let them be asked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub workloads: Vec<Workload>,
    /// What servers of images said, where the policy let them be asked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<Image>,
    /// What the API server answered to the writes that it was asked about; `None` where it was not asked, as in a file.
    #[serde(skip)]
    pub answers: Option<Vec<ServerAnswer>>,
    /// The marks in it that stand for what a snapshot hides: marks of marks, by the key of the snapshot.
    #[serde(skip)]
    pub marks: HashSet<String>,
}

/// Where `live` came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct LiveSource {
    /// What kind of source it is.
    pub kind: LiveKind,
    /// How a person calls it: a context, a file.
    pub name: String,
    /// The state of the cluster that each list shows: kind, with the namespace where it is one of several, to resourceVersion.
    /// A snapshot writes it beside the World.
    #[serde(skip)]
    pub resource_versions: BTreeMap<String, String>,
    /// How old it is, where it is a snapshot.
    #[serde(skip)]
    pub age: Option<Duration>,
}

impl World {
    /// What is live somewhere, and nothing else yet.
    #[must_use]
    pub fn new(source: LiveSource, live: Inventory, now: Timestamp) -> Self {
        Self {
            taken: now,
            now,
            source,
            live,
            base: Base::default(),
            release: None,
            host: Host::default(),
            readings: Vec::new(),
            pins: Vec::new(),
            approvals: Vec::new(),
            history: None,
            providers: BTreeMap::new(),
            feature_gates: BTreeMap::new(),
            unread: Vec::new(),
            absent: Vec::new(),
            coverage: Coverage::default(),
            standing: Standing::default(),
            remotes: Vec::new(),
            histories: Vec::new(),
            workloads: Vec::new(),
            images: Vec::new(),
            answers: None,
            marks: HashSet::default(),
        }
    }

    /// The versions that are told in it.
    #[must_use]
    pub fn told_versions(&self) -> Vec<ToldVersion<'_>> {
        self.providers
            .iter()
            .map(|(provider, found)| ToldVersion {
                provider,
                version: &found.version,
                by_person: found.evidence == "told",
            })
            .collect()
    }
}

impl LiveSource {
    /// A source of which no more is known.
    #[must_use]
    pub fn new(kind: LiveKind, name: impl Into<String>) -> Self {
        Self { kind, name: name.into(), resource_versions: BTreeMap::new(), age: None }
    }
}

/// What kind of source `live` has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum LiveKind {
    /// The API server, or a snapshot or dump of it: Machines, uids and managed fields can be expected.
    Cluster,
    /// An earlier render: it is its own base, and what the new one lacks is removed.
    OldRender,
    /// Nothing: everything is new, as far as is known.
    None,
}

/// What the host wrote last time.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Base {
    /// Where it came from.
    pub kind: BaseKind,
    /// Its objects, hooks excluded.
    #[cfg_attr(test, schemars(with = "Vec<crate::tree::Value>"))]
    pub objects: Inventory,
    /// The hooks of the release, as its record shows them.
    #[serde(default, skip_serializing_if = "Inventory::is_empty")]
    #[cfg_attr(test, schemars(with = "Vec<crate::tree::Value>"))]
    pub hooks: Inventory,
    /// What revisions behind it wrote that did not come to their end, the oldest first.
    #[serde(default, skip_serializing_if = "Inventory::is_empty")]
    #[cfg_attr(test, schemars(with = "Vec<crate::tree::Value>"))]
    pub unfinished: Inventory,
}

impl Base {
    /// All that it holds.
    pub(super) const fn parts(&self) -> [&Inventory; 3] {
        [&self.objects, &self.hooks, &self.unfinished]
    }

    /// All that it holds, to be changed.
    pub(super) const fn parts_mut(&mut self) -> [&mut Inventory; 3] {
        [&mut self.objects, &mut self.hooks, &mut self.unfinished]
    }
}

/// Where the base came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum BaseKind {
    /// The live side itself: an old render.
    Live,
    /// The newest deployed revision of the release record.
    Release,
    /// A file that was given.
    File,
    /// There is none: a first install, known for sure.
    FirstInstall,
    /// Not known: removals cannot be seen.
    #[default]
    Unknown,
}

/// The release record, without its values.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Release {
    /// Release name.
    pub name: String,
    /// Namespace of the release.
    pub namespace: String,
    /// Newest revision that is deployed; 0 where there is none.
    pub deployed: u64,
    /// Newest revision of all and its status.
    pub newest: u64,
    /// Status of the newest revision.
    pub status: ReleaseStatus,
    /// How the newest revision was written, which is what Helm 4 and Flux follow where no flag says otherwise.
    pub method: WriteMethod,
}

/// Helm's words for the state of a revision (helm `pkg/release/v1/status.go`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "Helm's own words, one to one.")]
pub enum ReleaseStatus {
    Unknown,
    Deployed,
    Uninstalled,
    Superseded,
    Failed,
    Uninstalling,
    PendingInstall,
    PendingUpgrade,
    PendingRollback,
}

/// How a host writes custom resources.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, clap::ValueEnum)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum WriteMethod {
    /// JSON merge patch from the last manifest to the new one.
    MergePatch,
    /// Server-side apply of the whole object.
    ServerSideApply,
    /// `kubectl apply`: three-way patch from the last-applied annotation.
    LastApplied,
    /// The whole object is put in the place of the live one (`helm upgrade --force`, `kubectl replace`).
    Replace,
    /// The live object is deleted and made anew (`kubectl replace --force`).
    Recreate,
}

/// What one source of one late value gave.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct SourceReading {
    /// Name of the late value.
    pub value: String,
    /// Place of the source in the policy's list, from 0.
    pub place: usize,
    /// The text found; `None` where the source has none.
    pub found: Option<String>,
    /// Where it was found, for the report and the pin (object, file or variable, with path).
    pub source: String,
    /// Uid of the object, where it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uid: Option<String>,
    /// Its resourceVersion.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource_version: Option<String>,
    /// Why the source could not be read; doubt, not absence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unread: Option<String>,
    /// What is known of a source that has nothing, beyond that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gap: Option<Gap>,
    /// Whose copy the object is, where its labels say so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clone_of: Option<String>,
    /// Whether the value comes from a Secret and must never be shown.
    #[serde(default)]
    pub secret: bool,
    /// Whether a value that a snapshot hides is one that can be used: its mark cannot tell.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fits: bool,
}

/// What is known of a source that has nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Gap {
    /// The API server does not know the kind.
    KindUnknown,
    /// The object is there and the field is not; the keys that stand beside it.
    KeyMissing(Vec<String>),
    /// The right to read is missing.
    Forbidden,
}

impl std::fmt::Debug for SourceReading {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let found = self.found.as_ref().map(|found| if self.secret { "(secret)" } else { found.as_str() });
        f.debug_struct("SourceReading")
            .field("value", &self.value)
            .field("place", &self.place)
            .field("found", &found)
            .field("source", &self.source)
            .field("uid", &self.uid)
            .field("resource_version", &self.resource_version)
            .field("unread", &self.unread)
            .finish()
    }
}

/// The version of a provider and how it is known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Provider {
    /// Version with its `v`, such as `v1.11.3`.
    pub version: String,
    /// What it was read from, or `told` or `assumed newest`.
    pub evidence: String,
}

/// Something that was asked for and could not be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Unread {
    /// What: a kind, an object, the release record.
    pub what: String,
    /// Why: the status and message.
    pub why: String,
    /// What to do about it, in one line: a right to grant, an option to give.
    pub remedy: String,
    /// The objects that this keeps from being judged; empty where it is all of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub keys: Vec<Key>,
}

/// Something that was asked for and is known not to be there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Absent {
    /// What: a kind whose CRD is missing, an object.
    pub what: String,
    /// The object, where it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object: Option<Key>,
}
