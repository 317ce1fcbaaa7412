//! What is said beside the effects: why a gate holds, what deserves a line of its own, how many Machines move.

use std::collections::HashSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Decision, Effect};
use crate::object::Key;

/// Why a run decided as it did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Reason {
    /// The gate that answers.
    pub gate: String,
    /// Its answer.
    pub decision: Decision,
    /// One line that names the object, the field and what happens.
    pub message: String,
    /// The next command, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// Something that deserves a line of its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, Hash)]
#[serde(rename_all = "camelCase")]
pub struct Finding {
    /// Its id, such as `pending-rollout`.
    pub id: String,
    /// What it is about.
    pub object: Key,
    /// One sentence.
    pub message: String,
}

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
    /// The entries in which each Machine stands once: what a Cluster that is deleted takes with it is in its own count.
    pub fn counted(rollouts: &[Self]) -> impl Iterator<Item = &Self> {
        let is_whole = |rollout: &&Self| rollout.effect == Effect::Delete && rollout.owner.is_cluster();
        let gone = |rollout: &Self| (rollout.owner.namespace.clone(), rollout.owner.name.clone());
        let clusters: HashSet<(Option<String>, String)> = rollouts.iter().filter(is_whole).map(gone).collect();
        rollouts.iter().filter(move |rollout| {
            rollout.owner.is_cluster()
                || clusters.is_empty()
                || !clusters.contains(&(rollout.owner.namespace.clone(), rollout.cluster.clone()))
        })
    }

    /// The entry of so many Machines of an owner, of whose strategy nothing is said.
    #[must_use]
    pub fn plain(owner: &Key, cluster: &str, effect: Effect, machine_names: Vec<String>, machines: u64) -> Self {
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
