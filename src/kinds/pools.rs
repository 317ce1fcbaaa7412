//! What a field of a cluster's infrastructure does to the pools of the same cluster: some providers build the hosts of a pool
//! from both.

use super::reads::Read;
use crate::model::{Effect, RuleId};
use crate::object::Path;
use crate::tree::Value;

/// A field of a cluster's infrastructure beside one pool of the cluster, all in the superset form.
#[derive(Debug, Clone, Copy)]
pub struct Reached<'a> {
    /// The field.
    pub path: &'a Path,
    /// The infrastructure before the write.
    pub old: &'a Value,
    /// The infrastructure after it.
    pub new: &'a Value,
    /// The kind of the pool.
    pub kind: &'a str,
    /// The infrastructure of the pool after the write.
    pub pool: &'a Value,
}

/// What a field does to one pool: the effect, and the id that explains it.
pub(crate) type Reach = (Effect, RuleId);

/// The pools that a kind of infrastructure reaches.
#[derive(Clone, Copy)]
pub struct Pools {
    /// Their kinds and that of their owner, which are read beside it.
    pub kinds: &'static [Read],
    /// Whether any of them reads a field.
    pub reads: fn(&Path) -> bool,
    /// What a field that is read does to one of them; `None` where the pool goes without it.
    pub reached: fn(&Reached<'_>) -> Option<Reach>,
}

impl Pools {
    /// The group of a kind of pools, where it is one that is reached.
    #[must_use]
    pub fn group_of(&self, kind: &str) -> Option<&'static str> {
        self.kinds.iter().find(|(_, name, _)| *name == kind).map(|(group, ..)| *group)
    }
}
