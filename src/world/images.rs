//! What servers of images said, where the policy lets them be asked.

#[cfg(test)]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::workload::Heard;

/// One image, or the checksum of one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Image {
    /// Its address, as the template says it.
    pub url: String,
    /// Whether it is there.
    pub served: Heard<bool>,
}
