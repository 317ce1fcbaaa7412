//! How many Machines, in which order, with what room: the weight of a change, per owner.

mod rollout;

pub use rollout::of;
pub(crate) use rollout::{fewer, gone};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model::effect::Effect;
use crate::object::Key;

/// What happens to the Machines of one owner.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Rollout {
    /// The control plane, MachineDeployment or pool that owns the Machines.
    pub owner: Key,
    /// Name of the cluster; empty where it is not known.
    pub cluster: String,
    /// `rollout` or `delete`.
    pub effect: Effect,
    /// Machines wanted, as predicted; `None` where it is not known.
    pub replicas: Option<u64>,
    /// Machines that are replaced, destroyed or lost to their owner; `None` where it is not known.
    pub machines: Option<u64>,
    /// Their names, where Machines could be read.
    pub machine_names: Vec<String>,
    /// Machines above `replicas` at one time.
    pub max_surge: Option<u64>,
    /// Machines below `replicas` at one time.
    pub max_unavailable: Option<u64>,
    /// What happens, in order, one line each.
    pub steps: Vec<String>,
    /// Paths in the owner (or in what it refers to) that cause it.
    pub causes: Vec<String>,
}

impl Rollout {
    /// The entry of so many Machines of an owner, of whose strategy nothing is said.
    pub(crate) fn plain(owner: &Key, cluster: &str, effect: Effect, machine_names: Vec<String>, machines: u64) -> Self {
        Self {
            owner: owner.clone(),
            cluster: cluster.to_owned(),
            effect,
            replicas: None,
            machines: Some(machines),
            machine_names,
            max_surge: None,
            max_unavailable: None,
            steps: Vec::new(),
            causes: Vec::new(),
        }
    }
}
