//! What a report says of late values: their state, their sources and the places that they went to.

#[cfg(test)]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// State of a late value in this run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum LateState {
    /// Nothing in the stream needs it.
    Unused,
    /// A source gave it.
    Resolved,
    /// The pin gave it.
    Pinned,
    /// The source and the pin disagree.
    Differs,
    /// No source has it yet.
    Missing,
    /// A source could not be read.
    Unread,
    /// Offline and not known: equal to itself and to nothing else.
    Symbolic,
    /// A source gave something that is not of its type.
    Invalid,
}

/// A late value of the policy and its state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct LateValueReport {
    /// Its name.
    pub name: String,
    /// Its state.
    pub state: LateState,
    /// The value, unless it is secret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// Where it came from, or should come from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// How many places of the stream were filled in with it.
    pub places: usize,
    /// Where it was filled in.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub filled: Vec<PlaceReport>,
    /// What each source said that was asked, in their order; only the last counts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attempts: Vec<AttemptReport>,
}

/// A place where a late value was filled in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct PlaceReport {
    /// The object, as people call it.
    pub object: String,
    /// The field.
    pub path: String,
    /// The file that was given; absent where the stream came through a pipe or a command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Its line in that file, or in the stream.
    pub line: usize,
    /// How it was packed there, where it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encoding: Option<String>,
}

/// What one source of a late value said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct AttemptReport {
    /// The source.
    pub source: String,
    /// What became of it.
    pub state: SourceState,
    /// The keys that are there, where the wanted one is not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub keys: Vec<String>,
}

/// What became of one source of a late value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum SourceState {
    /// Its object, file or variable is not there, or what it is made of is not known.
    Absent,
    /// The API server does not know its kind.
    KindUnknown,
    /// It is there, and what it should hold is not.
    KeyMissing,
    /// It holds nothing.
    Empty,
    /// It holds a placeholder, or another spelling of "not known yet".
    Placeholder,
    /// It holds something that is not of the type.
    Malformed,
    /// The right to read it is missing.
    Forbidden,
    /// It could not be read, or gives several values.
    Unread,
    /// It holds the value.
    Resolved,
}
