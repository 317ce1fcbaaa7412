//! What `rollgate serve` does for Flux in a cluster.

#[cfg(test)]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What `rollgate serve` does for Flux.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Flux {
    /// HelmReleases that are gated whether or not they ask for it (`serve --gate-releases`): labels of the HelmRelease, such as
    /// `tier in (prod)`; `metadata.name` and `metadata.namespace` are its name and namespace. One that fits is enough.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub gate: Vec<String>,
    /// Values that are published for HelmReleases as soon as their late values are known (`serve --publish-values`).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<FluxValues>,
}

/// Values for a HelmRelease.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FluxValues {
    /// Namespace of the HelmRelease, of the template and of what is written.
    pub namespace: String,
    /// The object that is written, which `valuesFrom` names.
    pub name: String,
    /// The ConfigMap that holds the template, with `{{ late("NAME") }}` where a late value goes.
    pub template: String,
    /// The key, in the template and in what is written.
    #[serde(default = "key")]
    pub key: String,
    /// A Secret is written instead of a ConfigMap.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub secret: bool,
}

/// `valuesKey` where a HelmRelease names none.
fn key() -> String {
    "values.yaml".to_owned()
}

impl Flux {
    /// Whether nothing is said.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}
