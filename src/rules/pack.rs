//! The format of a pack, and how it is read.

use std::collections::BTreeMap;

use semver::Version;
use serde::Deserialize;

use super::Pattern;
use crate::kinds::versions::parse as parse_version;
use crate::model::{Effect, Touches};
use crate::tree::Value;

/// Everything that is known about some kinds of one provider.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Pack {
    /// Its name: that of its file.
    pub pack: String,
    /// Provider whose version decides, such as `cluster-api`.
    pub provider: String,
    /// Where rules without a source of their own were read.
    #[serde(default)]
    pub source: String,
    /// The kinds it is about.
    pub kinds: Vec<KindName>,
    /// Places where an empty map or list is another value than none: pointers of which somebody tells nil from what is empty.
    /// Everywhere else a field that comes or goes empty is the same as before.
    #[serde(default, deserialize_with = "patterns")]
    pub empty_counts: Vec<Pattern>,
    /// The causes that a mirror can give, with their sentences.
    #[serde(default)]
    pub causes: Vec<CauseText>,
    /// The rules around the mirror, in order.
    #[serde(default)]
    pub rules: Vec<Rule>,
}

/// A kind in a group.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KindName {
    /// API group; empty for the core group, `*` for any.
    pub group: String,
    /// Kind; `*` for any.
    pub kind: String,
}

/// Whether a group and a kind, as a pack names them, are those of an object.
pub(super) fn names((named_group, named_kind): (&str, &str), group: &str, kind: &str) -> bool {
    (named_group == "*" || named_group == group) && (named_kind == "*" || named_kind == kind)
}

/// The sentence of a cause that a mirror gives.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CauseText {
    /// Its id, such as `kcp/version`.
    pub id: String,
    /// The places it stands for, in the superset form, for people who ask about a field.
    #[serde(default)]
    pub paths: Vec<String>,
    /// What it does.
    pub effect: Effect,
    /// One sentence.
    pub because: String,
    /// Where that behaviour stands.
    pub source: String,
}

/// One rule.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Rule {
    /// Its id, such as `kcp/dns`.
    pub id: String,
    /// The places it is about, in the superset form.
    #[serde(deserialize_with = "patterns")]
    pub paths: Vec<Pattern>,
    /// First version that behaves so.
    #[serde(default, deserialize_with = "first")]
    pub since: Option<Version>,
    /// Last version that behaves so: every patch of it where none is written.
    #[serde(default, deserialize_with = "last")]
    pub until: Option<Version>,
    /// What must hold besides.
    #[serde(default)]
    pub when: When,
    /// What it does.
    pub effect: Effect,
    /// What it moves besides Machines.
    #[serde(default)]
    pub touches: Option<Touches>,
    /// A finding of its own that a match makes, such as `silent-no-op`.
    #[serde(default)]
    pub finding: Option<String>,
    /// One sentence; `{before}` and `{after}` stand for the values.
    pub because: String,
    /// Where that behaviour stands; the pack's source where none is said.
    #[serde(default)]
    pub source: String,
    /// Whether a user's rule may make a verdict milder.
    #[serde(default, rename = "override")]
    pub overrides: bool,
}

/// Conditions of a rule; all that are said must hold.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct When {
    /// Whether the field is added, removed or changed; any of them where none is said.
    pub change: Vec<Shift>,
    /// Values of which the old one must be one; `null` is absence.
    pub before: Option<Vec<Value>>,
    /// Values of which the new one must be one; `null` is absence.
    pub after: Option<Vec<Value>>,
    /// In what the old value and the new one are the same although they differ.
    pub alike: Option<Alike>,
    /// Fields of the object after the write and the values of which theirs must be one; `null` is absence.
    pub field: BTreeMap<String, Vec<Value>>,
    /// Fields of the object before the write, likewise.
    pub field_before: BTreeMap<String, Vec<Value>>,
    /// Whether the list item in which the field stands is new as a whole.
    pub new_item: Option<bool>,
    /// Whether the new value names another namespace than the object's own.
    pub elsewhere: Option<bool>,
    /// A feature gate of the controllers.
    pub gate: Option<Gate>,
    /// Whether the old side is what a cluster holds, in which controllers write too, or an old render, in which they do not.
    pub live: Option<bool>,
    /// Whether an object of one of these kinds refers to this one after the write.
    pub used_by: Vec<String>,
}

/// What happens to a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Shift {
    /// It was not there.
    Added,
    /// It goes away.
    Removed,
    /// Another value.
    Changed,
    /// A larger number.
    Raised,
    /// A smaller number.
    Lowered,
}

/// In what two values are the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Alike {
    /// The group of an `apiVersion`.
    Group,
    /// The major and the minor number of a version that begins with `v`.
    Minor,
    /// A version but for the `v` before it.
    Version,
}

/// A feature gate and the state in which a rule holds.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gate {
    /// Its name.
    pub name: String,
    /// The state in which the rule holds.
    pub state: bool,
    /// The state that counts where nobody told it.
    pub default: bool,
}

/// Why a pack cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{pack}: {path}: {message}")]
pub struct PackError {
    /// Name of the pack.
    pub pack: String,
    /// Place in it.
    pub path: String,
    /// What is wrong.
    pub message: String,
}

impl Pack {
    /// Makes a pack of its tree.
    ///
    /// # Errors
    /// When a field is unknown, missing or of the wrong type, or a pattern or version cannot be read.
    pub fn from_value(name: &str, value: Value) -> Result<Self, PackError> {
        serde_path_to_error::deserialize(serde_json::Value::from(value)).map_err(|error| PackError {
            pack: name.to_owned(),
            path: error.path().to_string(),
            message: error.inner().to_string(),
        })
    }
}

impl Rule {
    /// Whether the rule is about this version.
    #[must_use]
    pub fn in_force(&self, version: &Version) -> bool {
        let begun = self.since.as_ref().is_none_or(|since| version >= since);
        begun && self.until.as_ref().is_none_or(|until| version <= until)
    }

    /// The versions since which it begins or ends to hold.
    pub(super) fn turns(&self) -> impl Iterator<Item = (u64, u64, u64)> {
        let since = self.since.as_ref().map(|version| (version.major, version.minor, version.patch));
        let after = self.until.as_ref().map(|version| match version.patch.checked_add(1) {
            Some(patch) => (version.major, version.minor, patch),
            None => (version.major, version.minor + 1, 0),
        });
        since.into_iter().chain(after)
    }
}

/// A version of a rule as people write it.
pub(super) fn word(version: &Version, is_last: bool) -> String {
    if version.patch == if is_last { EVERY_PATCH } else { 0 } {
        format!("{}.{}", version.major, version.minor)
    } else {
        version.to_string()
    }
}

/// The patch of a last version that is written without one.
const EVERY_PATCH: u64 = u64::MAX;

/// One pattern or a list of them.
fn patterns<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Vec<Pattern>, D::Error> {
    let texts: Vec<String> = Vec::deserialize(deserializer)?;
    texts.iter().map(|text| Pattern::parse(text).map_err(serde::de::Error::custom)).collect()
}

/// A version such as `1.11` or `1.11.4`.
fn first<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Version>, D::Error> {
    let text: String = String::deserialize(deserializer)?;
    parse_version(&text).map(Some).ok_or_else(|| serde::de::Error::custom(format!("{text:?} is not a version")))
}

/// The last version of some, which may leave out its patch.
fn last<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Version>, D::Error> {
    let text: String = String::deserialize(deserializer)?;
    let version = parse_version(&text).ok_or_else(|| serde::de::Error::custom(format!("{text:?} is not a version")))?;
    let is_whole = text.matches('.').count() > 1;
    Ok(Some(if is_whole { version } else { Version::new(version.major, version.minor, EVERY_PATCH) }))
}
