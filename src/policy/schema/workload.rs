//! Whether the clusters that are managed may be asked, which of them, and for how long.

#[cfg(test)]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Whether clusters of which Machines go are asked themselves, with the kubeconfig that Cluster API keeps in the management cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Workload {
    /// Whether Nodes, two Leases of kube-vip, PodDisruptionBudgets, Pods of etcd and what MetalLB announces are read in a cluster whose
    /// Machines go. Needs the right to `get` the Secret `<cluster>-kubeconfig`; without it nothing of a cluster is ever contacted.
    pub read: bool,
    /// How long one cluster may take to answer all of it; 10s where nothing is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<String>,
    /// Only these clusters: `name` or `namespace/name`, where `*` stands for anything but a `/`. All where none is said.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub clusters: Vec<String>,
}

impl Workload {
    /// Whether nothing is said.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }

    /// Whether a cluster may be asked.
    #[must_use]
    pub fn includes(&self, namespace: Option<&str>, name: &str) -> bool {
        let fits = |pattern: &String| match pattern.split_once('/') {
            Some((place, own)) => namespace.is_some_and(|namespace| is_like(place, namespace)) && is_like(own, name),
            None => is_like(pattern, name),
        };
        self.read && (self.clusters.is_empty() || self.clusters.iter().any(fits))
    }
}

/// Whether a text has the form of a pattern, in which `*` stands for any text.
fn is_like(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = text.strip_prefix(parts.next().unwrap_or_default()) else { return false };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else { return rest.is_empty() };
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cluster_is_chosen_by_its_name_and_only_where_reading_is_allowed() {
        let of = |read: bool, clusters: &[&str]| Workload {
            read,
            timeout: None,
            clusters: clusters.iter().map(|&text| text.to_owned()).collect(),
        };
        assert!(of(true, &[]).includes(Some("a"), "edge-1") && !of(false, &[]).includes(Some("a"), "edge-1"));
        for (pattern, fits) in [
            ("edge-1", true),
            ("edge-*", true),
            ("*", true),
            ("a/*-1", true),
            ("*/edge-1", true),
            ("edge", false),
            ("b/edge-1", false),
            ("*-2", false),
            ("edge-1*1", false),
        ] {
            assert_eq!(of(true, &[pattern]).includes(Some("a"), "edge-1"), fits, "{pattern}");
        }
    }
}
