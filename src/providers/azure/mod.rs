//! Cluster API Provider Azure, with clusters that AKS manages: its webhooks were run.

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

use self::fixed::{CLUSTER_TEMPLATE, MACHINE_TEMPLATE};
use self::webhook::Azure;
use super::Provider;
use crate::kinds::contract::INFRASTRUCTURE;
use crate::kinds::gates::Gate;
use crate::kinds::{Kind, Role};
use crate::tree::Value;

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

/// The kinds.
static KINDS: &[Kind] = &[
    Kind { gates: &[(EDGE_ZONE, ""), (INTERNAL_BALANCER, "")], ..known("AzureCluster", Role::InfraCluster) },
    Kind { fixed: Some(&CLUSTER_TEMPLATE), ..known("AzureClusterTemplate", Role::Template) },
    Kind { by_reference: true, named_alone: true, ..known("AzureClusterIdentity", Role::Other) },
    Kind { fixed: Some(&MACHINE_TEMPLATE), ..known("AzureMachineTemplate", Role::Template) },
    Kind {
        // `azure/scope/machinepool.go` applyAzureMachinePoolMachines of 1.26 deletes none then.
        rests_when_managed: Some(|machine| machine.pointer("/status/latestModelApplied") == Some(&Value::Bool(true))),
        ..known("AzureMachinePool", Role::InfraPool)
    },
    known("AzureManagedControlPlane", Role::ControlPlane),
    known("AzureManagedControlPlaneTemplate", Role::Template),
    known("AzureManagedMachinePool", Role::InfraPool),
    known("AzureManagedMachinePoolTemplate", Role::Template),
];

/// The provider.
pub(crate) static PROVIDER: Provider = Provider {
    name: "azure",
    title: "Cluster API Provider Azure, with clusters that AKS manages: its webhooks were run.",
    kinds: KINDS,
    gates: GATES,
    packs: &["azure", "azure-pools", "azure-managed", "azure-managed-pools", "azure-aso"],
    ..Provider::EMPTY
};
