//! The releases that one run judges: what each is rendered from, and what it is compared with.

#[cfg(test)]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A release that `plan --all` judges. Files are found beside the policy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ListedRelease {
    /// Its name.
    pub name: String,
    /// Its namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// The chart that Helm renders for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chart: Option<String>,
    /// Values files of the chart; the last one wins.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<String>,
    /// Values of the chart, such as `replicas=3`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub set: Vec<String>,
    /// Instead of a chart: rendered streams, folders of them, or folders with a kustomization.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<String>,
    /// What it is compared with: `cluster`, a snapshot or dump, or `none`. Where nothing is said, what --live says; with
    /// --base-ref always the base.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub live: Option<String>,
    /// Context of the kubeconfig.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kube_context: Option<String>,
}

impl ListedRelease {
    /// Whether two entries are about one release of one cluster.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        let place = |one: &Self| (one.name.clone(), one.namespace.clone(), one.kube_context.clone(), one.live.clone());
        place(self) == place(other)
    }

    /// Namespace and name, as people write them.
    #[must_use]
    pub fn title(&self) -> String {
        let namespace = self.namespace.as_ref().map_or_else(String::new, |namespace| format!("{namespace}/"));
        let context = self.kube_context.as_ref().map_or_else(String::new, |context| format!(" ({context})"));
        format!("{namespace}{}{context}", self.name)
    }
}
