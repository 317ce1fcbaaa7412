//! Providers that come in another version, and what that is known to do: plain data, as a report shows it.

#[cfg(test)]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Effect;
use crate::object::Key;

/// One provider, before the upgrade and after it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema), schemars(rename = "Step"))]
#[serde(rename_all = "camelCase")]
pub struct UpgradeStep {
    /// Its name, such as `cluster-api`.
    pub provider: String,
    /// The version that runs now; absent where it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// The version that comes.
    pub to: String,
}

impl std::fmt::Display for UpgradeStep {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let from = self.from.as_deref().unwrap_or("(not known)");
        write!(f, "{} {from} -> {}", self.provider, self.to)
    }
}

/// A behaviour that comes with the upgrade, by its name in the provider's table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Behaviour {
    /// The provider that has it.
    pub provider: String,
    /// Its name, such as `desired-objects`.
    pub name: String,
    /// The first version that behaves so, such as `v1.12`.
    pub since: String,
    /// What it does from then on.
    pub what: String,
    /// Owners of which it makes Machines out of date that are not out of date now.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub owners: Vec<Key>,
    /// How many Machines these are.
    pub machines: u64,
}

/// A field of objects that are there: from the new version on its next write does something else.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct NextWrite {
    /// The provider whose version decides.
    pub provider: String,
    /// The first version that does so, such as `v1.11`.
    pub since: String,
    /// The name of the behaviour, or the id of the rule, that says so.
    pub rule: String,
    /// Kind of the objects.
    pub kind: String,
    /// Place of the field, in the newest names.
    pub path: String,
    /// What a change of it does from then on.
    pub effect: Effect,
    /// What the next write does, in a sentence.
    pub message: String,
}

/// What an upgrade of providers is known to do to objects that nobody writes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Upgrade {
    /// The providers.
    pub providers: Vec<UpgradeStep>,
    /// The behaviours that come with it.
    pub behaviours: Vec<Behaviour>,
    /// Fields whose next write does something else.
    pub next_writes: Vec<NextWrite>,
    /// What the upgrade may change and nobody computed.
    pub not_looked_at: Vec<String>,
}

impl Upgrade {
    /// Changes every text of it, beside the names of owners.
    pub fn each_text(&mut self, mut change: impl FnMut(&mut String)) {
        for step in &mut self.providers {
            [&mut step.provider, &mut step.to].into_iter().chain(&mut step.from).for_each(&mut change);
        }
        for one in &mut self.behaviours {
            [&mut one.provider, &mut one.name, &mut one.since, &mut one.what].into_iter().for_each(&mut change);
        }
        for next in &mut self.next_writes {
            [&mut next.provider, &mut next.since, &mut next.rule, &mut next.kind, &mut next.path, &mut next.message]
                .into_iter()
                .for_each(&mut change);
        }
        self.not_looked_at.iter_mut().for_each(change);
    }
}
