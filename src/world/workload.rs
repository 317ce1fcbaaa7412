//! What was read in the clusters that are managed, where the policy allows it: only what gates ask, and never how it was reached.
//! Pure: objects of Kubernetes go in, the few fields that count come out. What could not be read says why.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
#[cfg(test)]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::kinds::fields::{annotation, label, list, number, text};
use crate::tree::Value;

/// Label that keeps load balancers from a Node, by being there (`k8s.io/api/core/v1` LabelNodeExcludeBalancers; MetalLB asks for the
/// same since 0.13).
const EXCLUDED: &str = "node.kubernetes.io/exclude-from-external-load-balancers";
/// Labels of the Nodes of a control plane.
const OF_PLANE: [&str; 2] = ["node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master"];
/// Annotation of a Node: the Machine that it belongs to (Cluster API `api/core/v1beta2/common_types.go`, MachineAnnotation).
const MACHINE: &str = "cluster.x-k8s.io/machine";
/// Label of a Pod that says how the drain of a Machine treats it (same file, PodDrainLabel).
const DRAIN: &str = "cluster.x-k8s.io/drain";
/// Annotation of a Pod that a kubelet made from a file: nobody evicts it.
const MIRROR: &str = "kubernetes.io/config.mirror";

/// What one cluster said of itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Workload {
    /// Namespace of its Cluster.
    pub namespace: Option<String>,
    /// Name of its Cluster.
    pub cluster: String,
    /// When it was asked, by its own clock.
    #[cfg_attr(test, schemars(with = "String"))]
    pub taken: Timestamp,
    /// Its Nodes.
    pub nodes: Heard<Vec<Node>>,
    /// The Leases of kube-vip that are there.
    pub leases: Heard<Vec<Lease>>,
    /// What MetalLB announces, and where.
    pub announced: Heard<Vec<Announced>>,
    /// The PodDisruptionBudgets that allow no disruption.
    pub budgets: Heard<Vec<Budget>>,
    /// The static Pods of etcd; absent where nobody asked for them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub etcd: Option<Heard<Vec<EtcdPod>>>,
    /// The Pods that announce for MetalLB, where it announces something; absent where nobody asked for them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speakers: Option<Heard<Vec<Speaker>>>,
}

/// Something that was read, or why it was not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema), schemars(rename = "Told"))]
#[serde(rename_all = "camelCase")]
pub enum Heard<T> {
    /// Read, all of it.
    Read(T),
    /// Not read, or not all of it.
    Unread {
        /// Why.
        why: String,
        /// What to do about it.
        remedy: String,
    },
}

/// A Node.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Node {
    /// Its name.
    pub name: String,
    /// What its infrastructure calls it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_id: Option<String>,
    /// The Machine that it says it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<String>,
    /// Whether it is Ready.
    pub ready: bool,
    /// Whether nothing is scheduled on it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unschedulable: bool,
    /// Whether load balancers leave it alone.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub excluded: bool,
    /// Whether its labels say that it is part of the control plane.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub control_plane: bool,
    /// Its addresses.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub addresses: Vec<String>,
}

/// A Lease of kube-vip.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Lease {
    /// Its name.
    pub name: String,
    /// The Node that holds it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holder: Option<String>,
    /// When it was renewed last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(with = "Option<String>"))]
    pub renewed: Option<Timestamp>,
    /// How many seconds it lasts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<u64>,
}

/// A Service that MetalLB announces from a Node (`ServiceL2Status`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Announced {
    /// Namespace and name of the Service.
    pub service: String,
    /// The Node that announces it.
    pub node: String,
    /// The addresses of the Service.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub addresses: Vec<String>,
}

/// A PodDisruptionBudget that allows no disruption.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Budget {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Pods that it counts.
    pub expected: u64,
    /// Healthy ones.
    pub healthy: u64,
    /// Healthy ones that it wants.
    pub wanted: u64,
    /// Whether Pods that are not ready may go whatever it says (`unhealthyPodEvictionPolicy: AlwaysAllow`).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub lets_unhealthy_go: bool,
    /// Pods of it that a drain would evict and that it keeps, by their Node; `None` where they were not read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pods: Option<BTreeMap<String, u64>>,
}

/// A static Pod of etcd (kubeadm and RKE2 label it `component: etcd`).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct EtcdPod {
    /// The Node that it runs on.
    pub node: String,
    /// Whether it is Ready.
    pub ready: bool,
}

/// A Pod of MetalLB's speaker.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Speaker {
    /// The Node that it runs on.
    pub node: String,
    /// Whether it is Ready.
    pub ready: bool,
    /// The version in the tag of its image; absent where that names none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Whether it announces from Nodes too that load balancers leave alone (`--ignore-exclude-lb`).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ignores_exclusion: bool,
}

impl Workload {
    /// Why parts of it were not read.
    pub fn gaps(&mut self) -> impl Iterator<Item = &mut String> {
        let gaps = [self.nodes.gap(), self.leases.gap(), self.announced.gap(), self.budgets.gap()];
        let asked = [self.etcd.as_mut().and_then(Heard::gap), self.speakers.as_mut().and_then(Heard::gap)];
        gaps.into_iter().chain(asked).flatten()
    }
}

impl<T> Heard<T> {
    /// Why it was not read.
    fn gap(&mut self) -> Option<&mut String> {
        match self {
            Self::Read(_) => None,
            Self::Unread { why, .. } => Some(why),
        }
    }

    /// What was read.
    ///
    /// # Errors
    /// Why it was not, and what to do about it.
    pub fn read(&self) -> Result<&T, (&str, &str)> {
        match self {
            Self::Read(read) => Ok(read),
            Self::Unread { why, remedy } => Err((why, remedy)),
        }
    }
}

impl Node {
    /// What counts of a Node.
    #[must_use]
    pub fn of(node: &Value) -> Option<Self> {
        let ready = list(node, "/status/conditions").find(|one| text(one, "/type") == Some("Ready"));
        Some(Self {
            name: text(node, "/metadata/name")?.to_owned(),
            provider_id: text(node, "/spec/providerID").map(str::to_owned),
            machine: annotation(node, MACHINE).map(str::to_owned),
            ready: ready.and_then(|one| text(one, "/status")) == Some("True"),
            unschedulable: node.pointer("/spec/unschedulable") == Some(&Value::Bool(true)),
            excluded: label(node, EXCLUDED).is_some(),
            control_plane: OF_PLANE.iter().any(|name| label(node, name).is_some()),
            addresses: list(node, "/status/addresses")
                .filter(|one| text(one, "/type").is_some_and(|kind| kind.ends_with("IP")))
                .filter_map(|one| text(one, "/address").map(str::to_owned))
                .collect(),
        })
    }
}

impl Lease {
    /// What counts of a Lease.
    #[must_use]
    pub fn of(lease: &Value) -> Option<Self> {
        Some(Self {
            name: text(lease, "/metadata/name")?.to_owned(),
            holder: text(lease, "/spec/holderIdentity").map(str::to_owned),
            renewed: text(lease, "/spec/renewTime").and_then(|text| text.parse().ok()),
            seconds: number(lease, "/spec/leaseDurationSeconds"),
        })
    }
}

impl Announced {
    /// What counts of a `ServiceL2Status` (MetalLB `api/v1beta1/servicel2status_types.go`), with the Services that are there.
    #[must_use]
    pub fn of(status: &Value, services: &BTreeMap<String, Vec<String>>) -> Option<Self> {
        let told = |field: &str, name: &str| {
            let own = text(status, &format!("/status/{field}"));
            own.or_else(|| label(status, name)).map(str::to_owned)
        };
        let place = told("serviceNamespace", "metallb.io/service-namespace")?;
        let service = format!("{place}/{}", told("serviceName", "metallb.io/service-name")?);
        let addresses = services.get(&service).cloned().unwrap_or_default();
        Some(Self { node: told("node", "metallb.io/node")?, service, addresses })
    }
}

impl EtcdPod {
    /// What counts of a Pod of etcd; `None` where it runs nowhere yet.
    #[must_use]
    pub fn of(pod: &Value) -> Option<Self> {
        Some(Self { node: text(pod, "/spec/nodeName")?.to_owned(), ready: is_ready(pod) })
    }
}

impl Speaker {
    /// What counts of a Pod of the speaker; `None` where it runs nowhere yet, or has no such container (MetalLB
    /// `charts/metallb/templates/speaker.yaml`).
    #[must_use]
    pub fn of(pod: &Value) -> Option<Self> {
        let speaker = list(pod, "/spec/containers").find(|one| text(one, "/name") == Some("speaker"))?;
        let args = || list(speaker, "/args").filter_map(Value::as_str);
        let image = text(speaker, "/image").unwrap_or_default();
        let tag = image.split('@').next().and_then(|name| name.rsplit_once(':')).map(|(_, tag)| tag);
        let version =
            tag.map(|tag| tag.trim_start_matches('v')).filter(|tag| tag.starts_with(|c: char| c.is_ascii_digit()));
        Some(Self {
            node: text(pod, "/spec/nodeName")?.to_owned(),
            ready: is_ready(pod),
            version: version.filter(|version| version.contains('.') && !version.contains('/')).map(str::to_owned),
            ignores_exclusion: args().any(|arg| matches!(arg, "--ignore-exclude-lb" | "--ignore-exclude-lb=true")),
        })
    }
}

/// Whether a Pod is Ready and is not on its way out.
fn is_ready(pod: &Value) -> bool {
    let ready = list(pod, "/status/conditions").find(|one| text(one, "/type") == Some("Ready"));
    ready.and_then(|one| text(one, "/status")) == Some("True") && text(pod, "/metadata/deletionTimestamp").is_none()
}

/// A Service as its namespace and name, with the addresses that it got from a load balancer.
#[must_use]
pub(crate) fn service(service: &Value) -> Option<(String, Vec<String>)> {
    let name = format!("{}/{}", text(service, "/metadata/namespace")?, text(service, "/metadata/name")?);
    let given = list(service, "/status/loadBalancer/ingress").filter_map(|one| text(one, "/ip").map(str::to_owned));
    Some((name, given.collect()))
}

impl Budget {
    /// What counts of a PodDisruptionBudget; `None` where it allows a disruption, or counts no Pod
    /// (Kubernetes `pkg/registry/core/pod/storage/eviction.go`, checkAndDecrement, 1.33). One that nobody has counted for yet allows
    /// none.
    #[must_use]
    pub fn of(budget: &Value) -> Option<Self> {
        let status = |field: &str| number(budget, &format!("/status/{field}"));
        let (seen, generation) = (status("observedGeneration"), number(budget, "/metadata/generation"));
        let is_current = generation.is_none_or(|generation| seen.is_some_and(|seen| seen >= generation));
        let allowed = budget.pointer("/status/disruptionsAllowed").and_then(Value::as_i64).unwrap_or_default();
        let counts = !is_current || status("expectedPods").is_none_or(|pods| pods > 0);
        (counts && (!is_current || allowed <= 0)).then_some(())?;
        Some(Self {
            namespace: text(budget, "/metadata/namespace")?.to_owned(),
            name: text(budget, "/metadata/name")?.to_owned(),
            expected: status("expectedPods").unwrap_or_default(),
            healthy: status("currentHealthy").unwrap_or_default(),
            wanted: status("desiredHealthy").unwrap_or_default(),
            lets_unhealthy_go: text(budget, "/spec/unhealthyPodEvictionPolicy") == Some("AlwaysAllow"),
            pods: None,
        })
    }

    /// Whether a drain asks for the eviction of a Pod, and this budget refuses it (same file, Create and canIgnorePDB; which Pods a
    /// drain leaves alone: Cluster API `core/reconcilers/machine/drain/filters.go`, 1.14).
    #[must_use]
    pub fn keeps(&self, pod: &Value) -> bool {
        let is_left_alone = annotation(pod, MIRROR).is_some()
            || label(pod, DRAIN).is_some_and(|how| how.eq_ignore_ascii_case("skip"))
            || list(pod, "/metadata/ownerReferences").any(|owner| {
                text(owner, "/kind") == Some("DaemonSet") && owner.get("controller") == Some(&Value::Bool(true))
            });
        let phase = text(pod, "/status/phase").unwrap_or_default();
        let goes_anyhow =
            text(pod, "/metadata/deletionTimestamp").is_some() || matches!(phase, "Succeeded" | "Failed" | "Pending");
        let ready = list(pod, "/status/conditions").find(|one| text(one, "/type") == Some("Ready"));
        let is_ready = ready.and_then(|one| text(one, "/status")) == Some("True");
        let may_go = !is_ready && (self.lets_unhealthy_go || (self.healthy >= self.wanted && self.wanted > 0));
        !is_left_alone && !goes_anyhow && !may_go
    }

    /// Notes which of its Pods it keeps, where they run.
    pub fn count<'v>(&mut self, pods: impl Iterator<Item = &'v Value>) {
        let mut found: BTreeMap<String, u64> = BTreeMap::new();
        for pod in pods.filter(|pod| self.keeps(pod)) {
            if let Some(node) = text(pod, "/spec/nodeName") {
                *found.entry(node.to_owned()).or_default() += 1;
            }
        }
        self.pods = Some(found);
    }
}

/// The selector of a PodDisruptionBudget as a request says it; `None` where it selects nothing, or in words that are not known.
#[must_use]
pub(crate) fn selector(budget: &Value) -> Option<String> {
    let selector = budget.pointer("/spec/selector")?.as_object()?;
    let mut terms: BTreeSet<String> = BTreeSet::new();
    for (key, value) in selector.get("matchLabels").and_then(Value::as_object).into_iter().flatten() {
        terms.insert(format!("{key}={}", value.as_str()?));
    }
    for expression in selector.get("matchExpressions").and_then(Value::as_array).into_iter().flatten() {
        let key = text(expression, "/key")?;
        let values: Option<Vec<&str>> = list(expression, "/values").map(Value::as_str).collect();
        let values = values?.join(",");
        terms.insert(match text(expression, "/operator")? {
            "In" => format!("{key} in ({values})"),
            "NotIn" => format!("{key} notin ({values})"),
            "Exists" => key.to_owned(),
            "DoesNotExist" => format!("!{key}"),
            _ => return None,
        });
    }
    Some(terms.into_iter().collect::<Vec<_>>().join(","))
}

#[cfg(test)]
#[path = "workload_tests.rs"]
mod tests;
