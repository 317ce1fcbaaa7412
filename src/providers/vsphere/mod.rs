//! Cluster API Provider vSphere, with a second group of kinds in supervisor mode.

pub(crate) mod changes;
mod defaults;
mod fixed;
mod lost;
pub(crate) mod webhook;

use semver::Version;

use self::fixed::{CONTENT, FAILURE_DOMAIN, MACHINE, SUPERVISOR_CONTENT, SUPERVISOR_MACHINE, VM};
use self::webhook::VSphere;
use super::Provider;
use crate::kinds::contract::INFRASTRUCTURE;
use crate::kinds::fields::text;
use crate::kinds::gates::Gate;
use crate::kinds::versions::Release;
use crate::kinds::{Claim, Kind, Role};
use crate::model::RuleId;
use crate::tree::Value;

static RELEASE: Release = Release { name: "vsphere", newest: Version::new(1, 17, 0), aliases: &["capv"] };

/// The group of supervisor mode.
pub(crate) const SUPERVISOR: &str = "vmware.infrastructure.cluster.x-k8s.io";

/// More than one network in supervisor mode (cluster-api-provider-vsphere `feature/feature.go`).
pub(crate) const NETWORKS: &str = "MultiNetworks";

/// A kind with the webhooks of this provider.
const fn known(group: &'static str, name: &'static str, role: Role) -> Kind {
    Kind { webhook: Some(&VSphere), ..Kind::new(group, name, role) }
}

/// The Secret with the credentials of a cluster, which an identity may share and a cluster may not (`controllers/vspherecluster_reconciler.go`
/// reconcileIdentitySecret of 1.14).
static IDENTITY: Claim = Claim { of: secret, at: &["spec", "identityRef"], rule: RuleId::of("capv/secret-of-another") };

/// The Secret with the credentials of a cluster.
fn secret(cluster: &Value) -> Option<&str> {
    text(cluster, "/spec/identityRef/name").filter(|_| text(cluster, "/spec/identityRef/kind") == Some("Secret"))
}

/// The kinds of which more is known than Cluster API's contract says.
static KINDS: &[Kind] = &[
    Kind { claim: Some(&IDENTITY), ..known(INFRASTRUCTURE, "VSphereCluster", Role::InfraCluster) },
    Kind { by_reference: true, named_alone: true, ..known(INFRASTRUCTURE, "VSphereClusterIdentity", Role::Other) },
    Kind { fixed: Some(&CONTENT), ..known(INFRASTRUCTURE, "VSphereClusterTemplate", Role::Template) },
    // Clusters choose zones by their labels, and Machines that run are written by the zone that they stand in.
    Kind { named_alone: true, ..known(INFRASTRUCTURE, "VSphereDeploymentZone", Role::Other) },
    Kind {
        fixed: Some(&FAILURE_DOMAIN),
        by_reference: true,
        named_alone: true,
        ..known(INFRASTRUCTURE, "VSphereFailureDomain", Role::Other)
    },
    Kind { fixed: Some(&MACHINE), ..known(INFRASTRUCTURE, "VSphereMachine", Role::InfraMachine) },
    Kind {
        fixed: Some(&CONTENT),
        images: &["spec.template.spec.template"],
        ..known(INFRASTRUCTURE, "VSphereMachineTemplate", Role::Template)
    },
    Kind { fixed: Some(&VM), ..known(INFRASTRUCTURE, "VSphereVM", Role::Other) },
    Kind { gates: &[(NETWORKS, "")], ..known(SUPERVISOR, "VSphereCluster", Role::InfraCluster) },
    Kind { gates: &[(NETWORKS, "")], ..known(SUPERVISOR, "VSphereClusterTemplate", Role::Template) },
    Kind {
        fixed: Some(&SUPERVISOR_MACHINE),
        gates: &[(NETWORKS, "")],
        ..known(SUPERVISOR, "VSphereMachine", Role::InfraMachine)
    },
    Kind {
        fixed: Some(&SUPERVISOR_CONTENT),
        gates: &[(NETWORKS, "")],
        images: &["spec.template.spec.imageName"],
        ..known(SUPERVISOR, "VSphereMachineTemplate", Role::Template)
    },
];

static GATES: &[Gate] = &[Gate { name: NETWORKS, usually_on: None, asked_by: &["infrastructure-vsphere"] }];

/// All that is known of this provider.
pub(crate) static PROVIDER: Provider = Provider {
    name: "vsphere",
    title: "Cluster API Provider vSphere, with a second group of kinds in supervisor mode.",
    release: Some(&RELEASE),
    kinds: KINDS,
    gates: GATES,
    changes: changes::ALL,
    packs: &[
        "vsphere",
        "vsphere-zones",
        "vsphere-machines",
        "vsphere-supervisor-machines",
        "vsphere-supervisor-clusters",
        "vsphere-supervisor",
    ],
    ..Provider::EMPTY
};
