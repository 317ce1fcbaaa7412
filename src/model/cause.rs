//! Why a Machine is out of date, in the words of its controller.

use super::RuleId;
use crate::object::Path;

/// One reason why a Machine does not match its owner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cause {
    /// Id of the cause; its sentence and source stand in the pack of the kind.
    pub rule: RuleId,
    /// Place in the owner, in the superset form.
    pub path: Path,
    /// What differs, for a person; empty where the path says it all.
    pub detail: String,
}

impl Cause {
    /// A cause at a place that is written as a person writes it.
    #[must_use]
    pub fn at(rule: RuleId, keys: &[&str], detail: impl Into<String>) -> Self {
        let path = keys.iter().fold(Path::root(), |path, key| path.key(*key));
        Self { rule, path, detail: detail.into() }
    }
}
