//! The read plan: which kinds are listed, which single objects are read, where, and what for.
//! Every entry carries its reasons, so that a person can see that nothing is read that nobody asked for.

use std::collections::{BTreeMap, BTreeSet};

use crate::host::{Driver, ReleaseName};
use crate::model::some_of;
pub(crate) use crate::object::GroupKind;

/// Which namespaces are read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Scope {
    /// Every namespace at once; each of these one by one where that is forbidden.
    Everywhere(BTreeSet<String>),
    /// Only these.
    Only(BTreeSet<String>),
    /// None is known.
    #[default]
    Nowhere,
}

impl Scope {
    /// The namespaces that must be read.
    #[must_use]
    pub fn namespaces(&self) -> Option<&BTreeSet<String>> {
        match self {
            Self::Everywhere(names) | Self::Only(names) => Some(names),
            Self::Nowhere => None,
        }
    }
}

/// What is kept of an object that was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Keep {
    /// Who owns which field: what server-side apply removes can only be told from it.
    pub managed_fields: bool,
}

/// One kind that is listed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct KindRead {
    /// Version as the chart renders it; `None` where the chart has none of this group, and the server's choice is taken.
    pub version: Option<String>,
    /// What is kept of each object.
    pub keep: Keep,
    /// Whether objects anywhere in the cluster matter, not only those in the namespaces of the chart.
    pub everywhere: bool,
    /// Whether a list that is forbidden is doubt only where it matters: where something says that there may be such objects, or a gate asks.
    pub optional: bool,
    /// Labels that an object must have to be of use.
    pub selector: Option<&'static str>,
    /// What for, one phrase each.
    pub reasons: BTreeSet<String>,
}

/// What a single object is read for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Use {
    /// Source of a late value: its name and the place of the source in the policy's list.
    Late(String, usize, Option<String>),
    /// The pins.
    Pins,
    /// Approvals: the place of the object in the policy's list.
    Approvals(usize),
    /// What went out before.
    History,
    /// It is rendered, and rendered CAPI objects refer to it.
    Referenced,
    /// A live object points at it.
    Pointed,
    /// It is the Application of Argo CD that writes.
    Application,
    /// It is rendered, and what is there may say which release it belongs to, or that it stays as it is.
    Kin,
    /// It says into which cluster releases of the stream write.
    Remote,
}

/// One object that is read by its name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ObjectRead {
    /// Group and kind.
    pub kind: GroupKind,
    /// Version, where one was said.
    pub version: Option<String>,
    /// Namespace; `None` for a cluster-wide kind or where none is known.
    pub namespace: Option<String>,
    /// Name.
    pub name: String,
    /// What for.
    pub used: Use,
}

/// How the release record is found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ReleaseRead {
    /// Name and namespace, where both are known before anything was read; else live annotations name it.
    pub known: Option<ReleaseName>,
    /// What kind of object holds the record.
    pub driver: Driver,
    /// Namespace of the record, where it is not that of the release (Flux `storageNamespace`).
    pub storage_namespace: Option<String>,
}

/// Everything that one run reads from a cluster, before a second look follows what Machines point at.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ReadPlan {
    /// The namespaces.
    pub scope: Scope,
    /// Kinds to list.
    pub kinds: BTreeMap<GroupKind, KindRead>,
    /// Single objects.
    pub objects: Vec<ObjectRead>,
    /// The release record; `None` where the host keeps none.
    pub release: Option<ReleaseRead>,
    /// Whether the versions of the providers are asked for.
    pub providers: bool,
    /// Whether only the versions of those of which there are objects count, as nothing is written.
    pub only_there: bool,
    /// Whether the feature gates of the controllers are asked for.
    pub gates: bool,
    /// Objects without a namespace while none is known: their keys cannot be looked up.
    pub homeless: Vec<crate::object::Key>,
}

impl ReadPlan {
    /// Asks for a kind; asking twice adds the reasons.
    pub fn list(&mut self, kind: GroupKind, reason: impl Into<String>) -> &mut KindRead {
        let read = self.kinds.entry(kind).or_default();
        read.reasons.insert(reason.into());
        read.optional = false;
        read
    }

    /// Asks for a kind that may be forbidden, unless it was asked for already.
    pub fn may_list(&mut self, kind: GroupKind, reason: impl Into<String>) -> &mut KindRead {
        let read = self.kinds.entry(kind).or_insert_with(|| KindRead { optional: true, ..KindRead::default() });
        read.reasons.insert(reason.into());
        read
    }

    /// The plan as lines for a person, one a read, each with what it is for.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        let place = match &self.scope {
            Scope::Everywhere(names) => format!("all namespaces, or else {}", join(names)),
            Scope::Only(names) => format!("namespace {}", join(names)),
            Scope::Nowhere => "no namespace is known".to_owned(),
        };
        let mut lines: Vec<String> = self.kinds.iter().map(|(kind, read)| list_line(kind, read, &place)).collect();
        lines.extend(self.objects.iter().map(object_line));
        if let Some(release) = &self.release {
            lines.push(release_line(release));
        }
        if self.providers {
            lines.push("list the provider versions: Providers, CAPIProviders, controller Deployments, CRDs".to_owned());
        }
        if self.gates {
            lines.push("list the controller Deployments: feature gates that the chart needs".to_owned());
        }
        lines
    }
}

/// One kind as a line.
fn list_line(kind: &GroupKind, read: &KindRead, place: &str) -> String {
    let version = read.version.as_deref().unwrap_or("preferred version");
    let place = if read.everywhere { "all namespaces" } else { place };
    let selector = read.selector.map(|text| format!(" with label {text}")).unwrap_or_default();
    format!("list {kind} ({version}) in {place}{selector}: {}", join(&read.reasons))
}

/// One object as a line.
fn object_line(read: &ObjectRead) -> String {
    let place = read.namespace.as_deref().map(|namespace| format!("{namespace}/")).unwrap_or_default();
    let reason = match &read.used {
        Use::Late(name, source, _) => format!("source {} of late value {name}", source + 1),
        Use::Pins => "the pins".to_owned(),
        Use::Approvals(_) => "what people have approved".to_owned(),
        Use::History => "what went out in the last day".to_owned(),
        Use::Referenced => "rendered, and CAPI objects refer to it".to_owned(),
        Use::Pointed => "a live object points at it".to_owned(),
        Use::Application => "how Argo CD writes, and what it leaves alone".to_owned(),
        Use::Kin => "rendered, and it may say which release it belongs to".to_owned(),
        Use::Remote => "into which cluster releases of the stream write".to_owned(),
    };
    format!("get {} {place}{}: {reason}", read.kind, read.name)
}

/// The release record as a line.
fn release_line(read: &ReleaseRead) -> String {
    let kind = if read.driver == Driver::ConfigMap { "ConfigMaps" } else { "Secrets" };
    match &read.known {
        Some(release) => {
            let namespace = read.storage_namespace.as_deref().unwrap_or(&release.namespace);
            format!("list {kind} of release {} in namespace {namespace}: what the host wrote last time", release.name)
        }
        None => format!("list {kind} of the release that live objects name: what the host wrote last time"),
    }
}

/// Words with commas; of many only the first ones.
fn join(words: &BTreeSet<String>) -> String {
    some_of(words, 8)
}
