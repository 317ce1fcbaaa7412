//! What a change does to Machines: the ordered words that every part of the program shares.
//! "Worst" is always `max()`.

#[cfg(test)]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a change does to Machines, from harmless to worst.
///
/// `Unknown` is last because nothing known about a field means that it may do anything: it meets the strictest gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Effect {
    /// Nothing reaches Machines.
    #[default]
    None,
    /// Propagated to Machines without replacing them.
    InPlace,
    /// Only the number of Machines changes.
    Scale,
    /// Accepted now, lands with the next new Machine.
    Latent,
    /// Machines are replaced.
    Rollout,
    /// The API server will refuse the write.
    Rejected,
    /// Machines are destroyed and not replaced.
    Delete,
    /// Nothing is known about it.
    Unknown,
}

impl Effect {
    /// The word as it stands in reports and policies.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::InPlace => "in-place",
            Self::Scale => "scale",
            Self::Latent => "latent",
            Self::Rollout => "rollout",
            Self::Rejected => "rejected",
            Self::Delete => "delete",
            Self::Unknown => "unknown",
        }
    }
}

impl std::fmt::Display for Effect {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.word())
    }
}

/// A second mark of a change, beside its effect on Machines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Touches {
    /// Load balancers, networks or security groups move at once, with no Machine replaced.
    Infrastructure,
}

/// What the run says about the install, the weightiest last: what is known to be bad outweighs what is not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Decision {
    /// The install may go on.
    #[default]
    Allow,
    /// The install may go on; somebody should read this. Never the decision of a whole run.
    Warn,
    /// Something needed is not known; never treated as allow.
    Undecided,
    /// The install is stopped.
    Hold,
}

impl Decision {
    /// The word as it stands in reports and policies.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Warn => "warn",
            Self::Hold => "hold",
            Self::Undecided => "undecided",
        }
    }
}

impl std::fmt::Display for Decision {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.word())
    }
}
