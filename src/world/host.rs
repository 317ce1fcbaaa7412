//! The host of a run: which program writes, for which release, how that is known, and what an API server answered to its writes.

#[cfg(test)]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::WriteMethod;
use crate::object::Key;
use crate::tree::Value;

/// The program that writes the objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, clap::ValueEnum)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the names of the programs say it.")]
pub enum HostKind {
    Helm3,
    Helm4,
    Flux,
    Argocd,
    Kubectl,
}

impl HostKind {
    /// The word as it stands in reports and options.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Helm3 => "helm3",
            Self::Helm4 => "helm4",
            Self::Flux => "flux",
            Self::Argocd => "argocd",
            Self::Kubectl => "kubectl",
        }
    }
}

/// Who writes, and which release.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Host {
    /// Which program; `None` where it is not known, and then both ways of writing count.
    pub kind: Option<HostKind>,
    /// How the program is known: told, from the stream, from the parent.
    pub evidence: String,
    /// Release name.
    pub release: Option<String>,
    /// Namespace of the release, which is also that of objects without one.
    pub namespace: Option<String>,
    /// Whether the namespace was told on the command line, so that kubectl writes to no other one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub in_one_namespace: bool,
    /// Whether kubectl deletes what it applied before and is not rendered (`kubectl apply --prune`).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub prune: bool,
    /// Context of the kubeconfig.
    pub context: Option<String>,
    /// How it writes, where a flag or the release record says so.
    pub method: Option<WriteMethod>,
    /// Whether conflicts are forced.
    pub force: bool,
    /// Whether objects are replaced where they would be patched (`--force` of Helm 3, `--force-replace` of Helm 4).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub replace: bool,
    /// Whether objects of somebody else are taken over (`--take-ownership`).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub take_ownership: bool,
    /// Whether the parent is known not to write (`helm template`, a dry run).
    pub writes_nothing: bool,
    /// Whether the stream is what the host hands to a post-renderer. Helm 3 keeps its hooks from that.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub post_rendered: bool,
    /// Whether a stored revision is written again (`helm rollback`), with its hooks.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub rolls_back: bool,
    /// Whether no hook runs (`--no-hooks`).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub no_hooks: bool,
}

impl Host {
    /// Whether what is not rendered any more stays in place: kubectl deletes nothing unless it is told to.
    #[must_use]
    pub fn leaves_removed(&self) -> bool {
        self.kind == Some(HostKind::Kubectl) && !self.prune
    }

    /// Whether the release has hooks that the stream does not show.
    #[must_use]
    pub fn hides_hooks(&self) -> bool {
        self.post_rendered && self.kind == Some(HostKind::Helm3) && !self.rolls_back
    }
}

/// Name and namespace of a release.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ReleaseName {
    /// Name.
    pub name: String,
    /// Namespace.
    pub namespace: String,
}

/// What the API server answered to a write that it did not carry out.
#[derive(Clone, PartialEq)]
pub struct ServerAnswer {
    /// The object.
    pub key: Key,
    /// How it would be written.
    pub way: WriteMethod,
    /// The answer.
    pub said: ServerSaid,
}

impl std::fmt::Debug for ServerAnswer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ServerAnswer").field("key", &self.key).field("way", &self.way).finish_non_exhaustive()
    }
}

/// What an answer says.
#[derive(Clone, PartialEq)]
pub enum ServerSaid {
    /// It would hold this.
    Holds(Box<Value>),
    /// It refuses the write, in its own words.
    Refuses(String),
    /// It was not asked: why.
    NotAsked(String),
}
