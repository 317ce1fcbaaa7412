//! Whether the safe part of a stream may go out alone.

#[cfg(test)]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Whether the safe part of a stream may go out alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum SetBack {
    /// All of it goes out, or nothing.
    #[default]
    Never,
    /// Fields that replace or destroy Machines are set back to what they were, and the rest goes out; if the rest still holds, nothing
    /// does.
    Rolling,
}

impl SetBack {
    /// Whether it is what counts where nothing is said.
    #[must_use]
    pub fn is_never(&self) -> bool {
        *self == Self::Never
    }
}
