//! Machines as they are judged: one with what it was made of, or several that share a fate.

use super::Cause;
use crate::object::is_deleting;
use crate::tree::Value;

/// A Machine and what it was made of.
#[derive(Clone)]
pub struct Member {
    /// Name of the Machine; empty where it is derived.
    pub name: String,
    /// The Machine.
    pub machine: Value,
    /// Its bootstrap config; `None` counts as matching, as in the controllers.
    pub config: Option<Value>,
    /// Its infrastructure Machine; `None` counts as matching, as in the controllers.
    pub infra: Option<Value>,
}

impl std::fmt::Debug for Member {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Member").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Member {
    /// Whether it is being deleted already.
    #[must_use]
    pub fn is_deleting(&self) -> bool {
        is_deleting(&self.machine)
    }
}

/// Machines that are judged together: one of a control plane, or all of a MachineSet.
#[derive(Debug, Clone)]
pub struct Unit {
    /// Names of the Machines, where they could be read.
    pub names: Vec<String>,
    /// How many Machines it is.
    pub count: u64,
    /// Why they are out of date before the write.
    pub before: Vec<Cause>,
    /// Why they are out of date after it.
    pub after: Vec<Cause>,
}
