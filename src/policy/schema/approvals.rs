//! Where a person's yes counts, and which changes are wanted without one.

#[cfg(test)]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A change that is wanted, in as many clusters as it names.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Expectation {
    /// The clusters, by the labels of their live Cluster: `env=lab`, `metadata.name in (edge-1, edge-2)`; all where nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clusters: Option<String>,
    /// Kind of the objects that change, such as `RKE2ControlPlane`.
    pub kind: String,
    /// The field, as it is rendered, such as `spec.version`.
    pub path: String,
    /// What it becomes.
    pub to: crate::tree::Value,
    /// Other places that may move with it, in the object itself and in templates of a new name that it refers to: paths of the packs,
    /// as `spec.template.spec.files[*].content`. Such a template and the image in it need not be named.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub with: Vec<String>,
    /// Most Machines that all of it may take in one run; no limit by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_machines: Option<u64>,
    /// When it ends.
    #[serde(deserialize_with = "moment")]
    #[cfg_attr(test, schemars(with = "String"))]
    pub until: jiff::Timestamp,
}

/// A moment, or an error that shows what one looks like.
fn moment<'de, D: serde::Deserializer<'de>>(told: D) -> Result<jiff::Timestamp, D::Error> {
    let text = String::deserialize(told)?;
    text.parse()
        .map_err(|_| serde::de::Error::custom(format!("expected a moment such as {text}T18:00:00Z", text = day(&text))))
}

/// The day that a text says, or any one.
fn day(text: &str) -> &str {
    if text.parse::<jiff::civil::Date>().is_ok() { text } else { "2026-12-31" }
}

/// Where a person's yes to one change counts.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Approvals {
    /// The places: `configmap/NAME` in the namespace of the release, a file beside the policy, or a trailer in a commit of the change
    /// that is judged. New ones go to the first.
    pub from: Vec<ApprovalPlace>,
    /// Whose approvals count; by default everybody's who may write to such a place. The names are those that the program was told when
    /// they were given: only the right to write proves them. In a trailer it is the mail address of whoever
    /// made the commit, which its signature proves.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub by: Vec<String>,
    /// The longest time that one may be good for, such as `72h`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub longest: Option<String>,
    /// Whether whoever runs an install may let a held one through without an approval of it.
    #[serde(skip_serializing_if = "BreakGlass::is_forbidden")]
    pub break_glass: BreakGlass,
}

/// Letting a held install through without an approval of it (`--break-glass`): loud, and written down where approvals are kept.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct BreakGlass {
    /// Whether it may be done. By default nobody may.
    pub allow: bool,
    /// Who may; by default everybody who runs an install. The names are those that the program is told, and prove nothing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub by: Vec<String>,
    /// How long one reason opens the gate for one release, from its first use on; `1h` where nothing is said. So a variable that
    /// somebody forgot does not leave it open.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub longest: Option<String>,
}

impl BreakGlass {
    /// Whether nobody may.
    #[must_use]
    pub fn is_forbidden(&self) -> bool {
        !self.allow
    }
}

impl Approvals {
    /// Whether none counts.
    #[must_use]
    pub fn is_nowhere(&self) -> bool {
        self.from.is_empty()
    }
}

/// A place where approvals count.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(untagged)]
pub enum ApprovalPlace {
    /// `configmap/NAME`, in the namespace of the release.
    Object(String),
    /// A file.
    File(ApprovalFile),
    /// A trailer in a commit of the change that is judged, where two revisions are compared (`plan --base-ref`).
    Trailer(ApprovalTrailer),
}

/// A file in which approvals count.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ApprovalFile {
    /// Its path, beside the policy unless it is absolute.
    pub file: String,
    /// Of which revision it counts, where two are compared.
    #[serde(default)]
    pub of: Revision,
}

/// A trailer of commits in which approvals count: the last lines of a commit message, as in `Signed-off-by: ...`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ApprovalTrailer {
    /// Its name, such as `Rollgate-Approve`.
    pub git_trailer: String,
    /// Whether the commit must have a good signature by the one who made it. Without it anybody who may push can write any name into
    /// a commit, so a name proves nothing.
    #[serde(default = "yes")]
    pub signed: bool,
    /// The file with the SSH keys that may sign (as `gpg.ssh.allowedSignersFile` of Git), beside the policy and of the base as that
    /// is. Where nothing is said, whom Git trusts on the machine that judges.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowed_signers: Option<String>,
    /// Whether somebody who wrote a part of the change may approve it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_author: bool,
}

const fn yes() -> bool {
    true
}

/// A side of a comparison of two revisions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Revision {
    /// The branch that the change goes to: who writes the change cannot approve it there.
    #[default]
    Base,
    /// The change itself: whoever may add to it may approve it.
    Change,
}

impl ApprovalPlace {
    /// Name of the ConfigMap, where it is one.
    #[must_use]
    pub fn config_map(&self) -> Option<&str> {
        match self {
            Self::Object(text) => text.strip_prefix("configmap/"),
            Self::File(_) | Self::Trailer(_) => None,
        }
    }

    /// Whether a run can write something down there.
    #[must_use]
    pub fn keeps(&self) -> bool {
        self.trailer().is_none()
    }

    /// The trailer, where it is one.
    #[must_use]
    pub fn trailer(&self) -> Option<&ApprovalTrailer> {
        match self {
            Self::Trailer(trailer) => Some(trailer),
            Self::Object(_) | Self::File(_) => None,
        }
    }
}

impl std::fmt::Display for ApprovalPlace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Object(text) => f.write_str(text),
            Self::File(file) => write!(f, "file {}", file.file),
            Self::Trailer(trailer) => write!(f, "trailer {}", trailer.git_trailer),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_is_a_moment_and_the_error_shows_one() {
        let read = |until: &str| {
            let text = format!("{{\"kind\": \"Cluster\", \"path\": \"spec.x\", \"to\": 1, \"until\": \"{until}\"}}");
            serde_json::from_str::<Expectation>(&text)
                .map(|read| read.until.to_string())
                .map_err(|error| error.to_string())
        };
        assert_eq!(read("2026-12-01T18:00:00Z").as_deref(), Ok("2026-12-01T18:00:00Z"));
        let said = |until: &str| read(until).expect_err("no moment");
        assert!(said("2026-12-01").starts_with("expected a moment such as 2026-12-01T18:00:00Z"));
        assert!(said("tomorrow").starts_with("expected a moment such as 2026-12-31T18:00:00Z"));
    }
}
