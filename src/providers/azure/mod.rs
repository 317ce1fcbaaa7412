//! Cluster API Provider Azure, with clusters that AKS manages: its webhooks were run.

pub(crate) mod changes;
mod cluster;
mod defaults;
mod fixed;
mod looks_up;
mod machine;
mod managed;
mod managed_pool;
mod network;
mod pool;
pub(crate) mod webhook;

use semver::Version;

use self::fixed::{CLUSTER_TEMPLATE, MACHINE_TEMPLATE};
use self::webhook::Azure;
use super::Provider;
use crate::kinds::contract::INFRASTRUCTURE;
use crate::kinds::gates::Gate;
use crate::kinds::versions::Release;
use crate::kinds::{Asks, Bounds, Kind, Role};
use crate::tree::Value;

static RELEASE: Release = Release { name: "azure", newest: Version::new(1, 26, 0), aliases: &["capz"] };

/// Clusters in zones at the edge (cluster-api-provider-azure `feature/feature.go`).
const EDGE_ZONE: &str = "EdgeZone";
/// An address within for an API server that is reached from everywhere (the same file).
const INTERNAL_BALANCER: &str = "APIServerILB";

static GATES: &[Gate] = &[
    Gate { name: EDGE_ZONE, usually_on: None, asked_by: &["infrastructure-azure"] },
    Gate { name: INTERNAL_BALANCER, usually_on: None, asked_by: &["infrastructure-azure"] },
];

/// A kind with the webhooks of this provider.
const fn known(name: &'static str, role: Role) -> Kind {
    Kind { webhook: Some(&Azure), ..Kind::new(INFRASTRUCTURE, name, role) }
}

/// Whether AKS chooses the number of a pool of the Azure Service Operator (`pkg/mutators/azureasomanagedmachinepool.go` reconcileAutoscaling
/// and setAgentPoolCount, v1.26): its own objects say so, or somebody else does.
fn scales_aso(pool: &Value, mark: Option<&str>) -> bool {
    let says = |object: &Value| object.pointer("/spec/enableAutoScaling") == Some(&Value::Bool(true));
    let resources = pool.pointer("/spec/resources").and_then(Value::as_array);
    resources.is_some_and(|all| all.iter().any(says)) || mark.is_some_and(|mark| mark != "aks")
}

/// The kinds of which more is known than Cluster API's contract says.
static KINDS: &[Kind] = &[
    Kind { gates: &[(EDGE_ZONE, ""), (INTERNAL_BALANCER, "")], ..known("AzureCluster", Role::InfraCluster) },
    Kind { fixed: Some(&CLUSTER_TEMPLATE), ..known("AzureClusterTemplate", Role::Template) },
    Kind { by_reference: true, named_alone: true, ..known("AzureClusterIdentity", Role::Other) },
    Kind { fixed: Some(&MACHINE_TEMPLATE), ..known("AzureMachineTemplate", Role::Template) },
    Kind {
        // `azure/scope/machinepool.go` applyAzureMachinePoolMachines of 1.26 deletes none then.
        rests_when_managed: Some(|machine| machine.pointer("/status/latestModelApplied") == Some(&Value::Bool(true))),
        // `azure/services/scalesets/scalesets.go` Reconcile of 1.26 makes what it writes before it takes the number of the scale set.
        writes_number_along: true,
        ..known("AzureMachinePool", Role::InfraPool)
    },
    known("AzureManagedControlPlane", Role::ControlPlane),
    known("AzureManagedControlPlaneTemplate", Role::Template),
    Kind {
        // `azure/services/agentpools/spec.go` Parameters of 1.26; the annotation is written to the pool, and never read.
        scales_itself: Some(|pool, _| pool.pointer("/spec/scaling").is_some_and(Value::is_object)),
        most: Some("/spec/scaling/maxSize"),
        // The same place: the number of a pool that is there is that of AKS.
        bounds: Some(&Bounds {
            least: "/spec/scaling/minSize",
            most: "/spec/scaling/maxSize",
            unsaid: None,
            asks: Asks::Once,
        }),
        reads_version: Some(managed_pool::reads_version),
        ..known("AzureManagedMachinePool", Role::InfraPool)
    },
    known("AzureManagedMachinePoolTemplate", Role::Template),
    Kind {
        scales_itself: Some(scales_aso),
        ..Kind::new(INFRASTRUCTURE, "AzureASOManagedMachinePool", Role::InfraPool)
    },
];

/// All that is known of this provider.
pub(crate) static PROVIDER: Provider = Provider {
    name: "azure",
    title: "Cluster API Provider Azure, with clusters that AKS manages: its webhooks were run.",
    release: Some(&RELEASE),
    kinds: KINDS,
    gates: GATES,
    changes: changes::ALL,
    packs: &["azure", "azure-identities", "azure-pools", "azure-managed", "azure-managed-pools", "azure-aso"],
    ..Provider::EMPTY
};
