//! Whether forecasts are kept, to be compared later with what came (`rollgate score`).

#[cfg(test)]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::HistoryPlace;

/// Where forecasts are kept. Kept are names of owners and Machines, counts and digests; nothing of what an object holds.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Forecasts {
    /// `configmap/NAME` in the namespace of the release, `configmap/NAMESPACE/NAME` for releases of several namespaces, or
    /// `{file: PATH}`. Where nothing is said, none is kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keep: Option<HistoryPlace>,
    /// Whether a plan keeps its forecast too. It counts only as one that was not let out.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub plan: bool,
    /// A folder for the World of each forecast, secrets hidden, so that a miss can be judged again: the newest 50 of them, beside the
    /// policy unless it is absolute.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worlds: Option<String>,
}

impl Forecasts {
    /// Whether nothing is said.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}
