//! Gates that count for some clusters only.

#[cfg(test)]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Gates;
use crate::tree::Value;

/// Gates that count for some clusters only.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ClusterGates {
    /// Labels of the live Cluster, such as `env in (lab, test)`; `metadata.name` and `metadata.namespace` are its name and namespace.
    pub clusters: String,
    /// What each gate does for them. What is not said here is as in `gates`.
    pub gates: Gates,
}

impl ClusterGates {
    /// Gives each entry of a policy the gates that it does not name itself.
    pub(in crate::policy) fn inherit(policy: &mut Value) {
        let Some(base) = policy.get("gates").cloned() else { return };
        let entries = policy.get_mut("perCluster").and_then(Value::as_array_mut);
        for gates in entries.into_iter().flatten().filter_map(|entry| entry.get_mut("gates")) {
            fill(gates, &base);
        }
    }
}

/// Adds the fields of `base` that are not there.
fn fill(fields: &mut Value, base: &Value) {
    let (Some(own), Some(base)) = (fields.as_object_mut(), base.as_object()) else { return };
    for (key, value) in base {
        match own.get_mut(key) {
            Some(inner) => fill(inner, value),
            None => {
                own.insert(key.clone(), value.clone());
            }
        }
    }
}
