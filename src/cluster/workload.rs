//! Reads in the clusters that are managed: each by the kubeconfig that Cluster API keeps for it, within a short time and so many bytes.
//! What cannot be read is said, and the kubeconfig is dropped as soon as the client is made.

use std::collections::BTreeMap;
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use futures_util::StreamExt as _;
use jiff::{SignedDuration, Timestamp};
use kube::Client;
use tokio::time::Instant;

use super::call::{CallFault, Caller};
use super::discover::{Catalogue, Resource, Served};
use super::read::refused;
use super::remote::KUBECONFIG;
use super::{inline, list};
use crate::cluster::plan::{GroupKind, Keep};
use crate::kinds::fields::text;
use crate::tree::Value;
use crate::world::workload::{self, Announced, Budget, EtcdPod, Heard, Lease, Node, Speaker, Workload};

/// So many clusters are asked at one time.
const PARALLEL: usize = 4;
/// Most bytes that one cluster may answer with.
const LARGEST: u64 = 48 * 1024 * 1024;
/// Most bytes of one answer: a page of 500 Nodes has about ten million.
const LARGEST_ANSWER: usize = 16 * 1024 * 1024;
/// Pods are looked up for so many budgets of one cluster.
const BUDGETS: usize = 64;
/// The Leases of kube-vip: of the control plane, and of Services (kube-vip `pkg/kubevip/config_types.go`).
const LEASES: [&str; 2] = ["plndr-cp-lock", "plndr-svcs-lock"];
/// Where they are.
const SYSTEM: &str = "kube-system";
/// The group of MetalLB, the version that says what is announced, and the kind that does.
const METALLB: (&str, &str, &str) = ("metallb.io", "v1beta1", "ServiceL2Status");

/// Labels of MetalLB's speakers (`charts/metallb/templates/_helpers.tpl`, `config/manifests/metallb-native.yaml`).
const SPEAKERS: [&str; 2] =
    ["app.kubernetes.io/name=metallb,app.kubernetes.io/component=speaker", "app=metallb,component=speaker"];

/// Why something was not read, and what to do.
#[derive(Debug, Clone)]
struct Gap {
    why: String,
    remedy: String,
}

impl Gap {
    fn new(why: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { why: why.into(), remedy: remedy.into() }
    }

    /// A fault in the workload cluster itself.
    fn of(fault: &CallFault, resource: &Resource) -> Self {
        match fault {
            CallFault::Forbidden(_) => Self::new(
                format!("the workload cluster refuses it: {}", fault.why()),
                format!(
                    "{}, in the workload cluster",
                    refused(fault, &resource.group, &resource.plural, &["get", "list"])
                ),
            ),
            other => Self::unreached(other),
        }
    }

    fn unreached(fault: &CallFault) -> Self {
        let remedy = match fault {
            CallFault::Unauthorized => "the kubeconfig in the Secret is out of date; let Cluster API renew it",
            CallFault::Deadline(_) => "try again, or give more time with workload.timeout",
            _ => "see whether the API server of the workload cluster can be reached from here",
        };
        Self::new(fault.why(), remedy)
    }

    fn told<T>(self) -> Heard<T> {
        Heard::Unread { why: self.why, remedy: self.remedy }
    }
}

/// Reads these clusters (namespace and name), each within a time and all until a moment.
pub(super) async fn all(
    management: &Client,
    clusters: impl IntoIterator<Item = (Option<String>, String)>,
    (timeout, last): (Duration, Instant),
) -> Vec<Workload> {
    let reads = clusters.into_iter().map(|(namespace, name)| one(management, namespace, name, (timeout, last)));
    futures_util::stream::iter(reads).buffered(PARALLEL).collect().await
}

/// Reads one cluster.
async fn one(
    management: &Client,
    namespace: Option<String>,
    cluster: String,
    (timeout, last): (Duration, Instant),
) -> Workload {
    let end = last.min(Instant::now() + timeout);
    let empty = |gap: &Gap| Workload {
        namespace: namespace.clone(),
        cluster: cluster.clone(),
        taken: Timestamp::now(),
        nodes: gap.clone().told(),
        leases: gap.clone().told(),
        announced: gap.clone().told(),
        budgets: gap.clone().told(),
        etcd: Some(gap.clone().told()),
        speakers: None,
    };
    let client = match reach(management, namespace.as_deref(), &cluster, end).await {
        Ok(client) => client,
        Err(gap) => return empty(&gap),
    };
    let caller = Caller::new(client, end).with_most(LARGEST, LARGEST_ANSWER);
    let look = match ClusterVisit::of(&caller).await {
        Ok(look) => look,
        Err(fault) => return empty(&Gap::unreached(&fault)),
    };
    let (nodes, leases, announced, budgets, etcd) =
        tokio::join!(look.nodes(), look.leases(), look.announced(), look.budgets(), look.etcd());
    // Where nothing is announced nobody asks how.
    let speakers = match &announced {
        Ok(announced) if !announced.is_empty() => Some(look.speakers().await),
        _ => None,
    };
    let ahead = SignedDuration::from_secs(caller.skew().unwrap_or_default());
    let told = |gap: Gap| gap.told();
    Workload {
        taken: Timestamp::now().checked_add(ahead).unwrap_or_else(|_| Timestamp::now()),
        nodes: nodes.map_or_else(told, Heard::Read),
        leases: leases.map_or_else(|gap| gap.told(), Heard::Read),
        announced: announced.map_or_else(|gap| gap.told(), Heard::Read),
        budgets: budgets.map_or_else(|gap| gap.told(), Heard::Read),
        etcd: Some(etcd.map_or_else(|gap| gap.told(), Heard::Read)),
        speakers: speakers.map(|speakers| speakers.map_or_else(|gap| gap.told(), Heard::Read)),
        ..empty(&Gap::new("", ""))
    }
}

/// The client of a cluster, by the Secret of its kubeconfig.
async fn reach(management: &Client, namespace: Option<&str>, cluster: &str, end: Instant) -> Result<Client, Gap> {
    let Some(namespace) = namespace else {
        return Err(Gap::new("its namespace is not known", "pass --namespace"));
    };
    let name = format!("{cluster}{KUBECONFIG}");
    let secret = format!("Secret {namespace}/{name}");
    let caller = Caller::new(management.clone(), end);
    let path = format!("/api/v1/namespaces/{namespace}/secrets/{name}");
    let found = match list::get(&caller, &path, Keep::default()).await {
        Ok(found) => found,
        Err(CallFault::NotFound(_)) => {
            return Err(Gap::new(
                format!("there is no {secret}"),
                "wait until Cluster API has made it; the control plane may not be there yet",
            ));
        }
        Err(fault) => {
            return Err(Gap::new(format!("{secret}: {}", fault.why()), refused(&fault, "", "secrets", &["get"])));
        }
    };
    let bytes = text(&found, "/data/value").and_then(|value| BASE64_STANDARD.decode(value).ok());
    let Some(bytes) = bytes else {
        return Err(Gap::new(format!("{secret} has no key `value` with a kubeconfig"), "see what made that Secret"));
    };
    inline::client(&bytes, end).await.map_err(|why| Gap::new(format!("{secret}: {why}"), "see what made that Secret"))
}

/// One cluster that is looked into.
struct ClusterVisit<'c> {
    caller: &'c Caller,
    catalogue: Catalogue,
}

impl<'c> ClusterVisit<'c> {
    async fn of(caller: &'c Caller) -> Result<Self, CallFault> {
        let core = |kind: &str| (GroupKind::new("", kind), None);
        let wanted = [
            core("Node"),
            core("Pod"),
            core("Service"),
            (GroupKind::new("coordination.k8s.io", "Lease"), Some("v1".to_owned())),
            (GroupKind::new("policy", "PodDisruptionBudget"), Some("v1".to_owned())),
            (GroupKind::new(METALLB.0, METALLB.2), Some(METALLB.1.to_owned())),
        ];
        let catalogue = Catalogue::read(caller, &wanted.into_iter().collect()).await?;
        Ok(Self { caller, catalogue })
    }

    /// How a kind is served; `None` where it is not.
    fn served(&self, group: &str, kind: &str) -> Result<Option<Resource>, Gap> {
        match self.catalogue.find(&GroupKind::new(group, kind), None) {
            Ok(Served::As(resource) | Served::Otherwise(resource)) => Ok(Some(resource)),
            Ok(Served::Absent) => Ok(None),
            Err(fault) => Err(Gap::unreached(&fault)),
        }
    }

    /// A kind that every cluster has.
    fn own(&self, group: &str, kind: &str) -> Result<Resource, Gap> {
        let strange = || Gap::new(format!("the workload cluster says that it has no {kind}"), "see what answers there");
        self.served(group, kind)?.ok_or_else(strange)
    }

    /// All objects of a kind, or those of a namespace that a selector chooses.
    async fn list(
        &self,
        resource: &Resource,
        namespace: Option<&str>,
        selector: Option<&str>,
    ) -> Result<Vec<Value>, Gap> {
        let path = resource.path(namespace);
        let listed = list::list(self.caller, &path, selector, list::JSON, Keep::default()).await;
        let listed = listed.map_err(|fault| Gap::of(&fault, resource))?;
        let broken = || Gap::new("an object of the answer cannot be read", "see what answers there");
        listed.objects.iter().map(|object| Ok(object.value().map_err(|_| broken())?.into_owned())).collect()
    }

    async fn nodes(&self) -> Result<Vec<Node>, Gap> {
        let nodes = self.list(&self.own("", "Node")?, None, None).await?;
        Ok(nodes.iter().filter_map(Node::of).collect())
    }

    async fn leases(&self) -> Result<Vec<Lease>, Gap> {
        let resource = self.own("coordination.k8s.io", "Lease")?;
        let mut found = Vec::new();
        for name in LEASES {
            match list::get(self.caller, &resource.object(Some(SYSTEM), name), Keep::default()).await {
                Ok(lease) => found.extend(Lease::of(&lease)),
                Err(CallFault::NotFound(_)) => {}
                Err(fault) => return Err(Gap::of(&fault, &resource)),
            }
        }
        Ok(found)
    }

    async fn announced(&self) -> Result<Vec<Announced>, Gap> {
        let Some(resource) = self.served(METALLB.0, METALLB.2)? else {
            return match self.catalogue.has_version(METALLB.0, METALLB.1) {
                Some(false) => Ok(Vec::new()),
                _ => Err(Gap::new(
                    "MetalLB is there and has no ServiceL2Status, so it does not say which Node announces what",
                    "look at the events of the Service, or let MetalLB be one that has it (0.14.6 on)",
                )),
            };
        };
        let statuses = self.list(&resource, None, None).await?;
        if statuses.is_empty() {
            return Ok(Vec::new());
        }
        let services = self.list(&self.own("", "Service")?, None, None).await?;
        let services: BTreeMap<String, Vec<String>> = services.iter().filter_map(workload::service).collect();
        Ok(statuses.iter().filter_map(|status| Announced::of(status, &services)).collect())
    }

    /// The static Pods of etcd (kubeadm `cmd/kubeadm/app/phases/etcd/local.go`; RKE2 `pkg/podtemplate/spec.go`).
    async fn etcd(&self) -> Result<Vec<EtcdPod>, Gap> {
        let pods = self.list(&self.own("", "Pod")?, Some(SYSTEM), Some("component=etcd")).await?;
        Ok(pods.iter().filter_map(EtcdPod::of).collect())
    }

    /// The Pods of MetalLB's speaker, by the labels of its chart and of its plain manifests.
    async fn speakers(&self) -> Result<Vec<Speaker>, Gap> {
        let pods = self.own("", "Pod")?;
        let mut found = Vec::new();
        for labels in SPEAKERS {
            found.extend(self.list(&pods, None, Some(labels)).await?.iter().filter_map(Speaker::of));
        }
        Ok(found)
    }

    async fn budgets(&self) -> Result<Vec<Budget>, Gap> {
        let budgets = self.list(&self.own("policy", "PodDisruptionBudget")?, None, None).await?;
        let pods = self.own("", "Pod")?;
        let strict: Vec<(&Value, Budget)> =
            budgets.iter().filter_map(|budget| Some((budget, Budget::of(budget)?))).collect();
        let counted = strict.into_iter().enumerate().map(async |(place, (source, mut budget))| {
            // A list that fails leaves its Pods unknown, which is said of the budget itself.
            if let (true, Some(selector)) = (place < BUDGETS, workload::selector(source)) {
                let selector = Some(selector.as_str()).filter(|text| !text.is_empty());
                if let Ok(found) = self.list(&pods, Some(&budget.namespace), selector).await {
                    budget.count(found.iter());
                }
            }
            budget
        });
        Ok(futures_util::stream::iter(counted).buffered(PARALLEL).collect().await)
    }
}
