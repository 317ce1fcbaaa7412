//! Pins: the recorded value of a late value, with where it came from.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// The recorded value of one late value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Pin {
    /// Name of the late value.
    pub name: String,
    /// The value.
    pub value: String,
    /// Where it came from: the object, file or variable.
    pub source: String,
    /// Path inside the source.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub path: String,
    /// Uid of the object, where it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uid: Option<String>,
    /// Its resourceVersion at that time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource_version: Option<String>,
    /// When it was pinned.
    pub time: Timestamp,
    /// Why, where a person did it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}
