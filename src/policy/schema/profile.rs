//! How strict the gates are as a whole, for what the policy does not say gate by gate.

#[cfg(test)]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::tree::{Value, json};

/// How strict the gates are as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Profile {
    /// Also holds what lands with the next new Machine and what moves infrastructure, and warns of changes in place and in number.
    Strict,
    /// Holds what replaces, destroys or is refused.
    #[default]
    Default,
    /// Holds nothing: a gate that would hold says so as a warning. What is not known stays undecided, and a late value without a value is
    /// never written.
    Observe,
}

impl Profile {
    /// Whether it is the one that is used where nothing is said.
    #[must_use]
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// Fills in the gates of which a policy says nothing. A policy that is not well formed stays as it is.
    pub(in crate::policy) fn fill_in(policy: &mut Value) {
        if policy.get("profile").and_then(Value::as_str) != Some("strict") {
            return;
        }
        let Some(policy) = policy.as_object_mut() else { return };
        let gates = policy.entry("gates").or_insert_with(|| json!({}));
        if gates.is_null() {
            *gates = json!({});
        }
        let Some(gates) = gates.as_object_mut() else { return };
        for (gate, answer) in [("inPlace", "warn"), ("scale", "warn"), ("latent", "hold"), ("infrastructure", "hold")] {
            gates.entry(gate).or_insert_with(|| answer.into());
        }
    }
}
