//! Cluster API Provider AWS, with EKS and its node groups.

pub(crate) mod changes;
pub(crate) mod defaults;
pub(crate) mod eks;
mod fixed;
mod ignition;
mod indifferent;
pub(crate) mod machine;
pub(crate) mod pool;
mod reach;
mod rosa;
pub(crate) mod webhook;

use semver::Version;

use self::fixed::{CLUSTER_TEMPLATE, FARGATE, MACHINE, MACHINE_TEMPLATE, NODE_GROUP};
use self::webhook::Aws;
use super::Provider;
use crate::kinds::contract::{BOOTSTRAP, CONTROL_PLANE, INFRASTRUCTURE};
use crate::kinds::gates::Gate;
use crate::kinds::versions::Release;
use crate::kinds::{Asks, Bounds, Kind, Made, Role};
use crate::model::RuleId;

static RELEASE: Release =
    Release { name: "aws", newest: Version::new(2, 13, 0), aliases: &["capa", "bootstrap-eks", "control-plane-eks"] };

/// Ignition with its bucket (cluster-api-provider-aws `feature/feature.go`).
pub(crate) const IGNITION: &str = "BootstrapFormatIgnition";

/// A kind with the webhooks of this provider.
const fn known(group: &'static str, name: &'static str, role: Role) -> Kind {
    Kind { webhook: Some(&Aws), ..Kind::new(group, name, role) }
}

/// The kinds of which more is known than Cluster API's contract says.
static KINDS: &[Kind] = &[
    Kind {
        gates: &[(IGNITION, "")],
        pools: Some(&reach::POOLS),
        made: &[Made { pointer: "/spec/network/vpc/id", rule: RuleId::of("capa/vpc-lost-unseen") }],
        ..known(INFRASTRUCTURE, "AWSCluster", Role::InfraCluster)
    },
    Kind { by_reference: true, ..known(INFRASTRUCTURE, "AWSClusterControllerIdentity", Role::Other) },
    Kind { by_reference: true, named_alone: true, ..known(INFRASTRUCTURE, "AWSClusterRoleIdentity", Role::Other) },
    Kind { by_reference: true, named_alone: true, ..known(INFRASTRUCTURE, "AWSClusterStaticIdentity", Role::Other) },
    Kind { fixed: Some(&CLUSTER_TEMPLATE), ..known(INFRASTRUCTURE, "AWSClusterTemplate", Role::Template) },
    Kind { fixed: Some(&FARGATE), ..known(INFRASTRUCTURE, "AWSFargateProfile", Role::Other) },
    Kind { fixed: Some(&MACHINE), gates: &[(IGNITION, "")], ..known(INFRASTRUCTURE, "AWSMachine", Role::InfraMachine) },
    Kind {
        gates: &[(IGNITION, "")],
        most: Some("/spec/maxSize"),
        // `pkg/cloud/services/autoscaling/autoscalinggroup.go` CreateASG and UpdateASG of 2.13; the schema fills both in.
        bounds: Some(&Bounds {
            least: "/spec/minSize",
            most: "/spec/maxSize",
            unsaid: Some(1),
            asks: Asks::UnlessManaged,
        }),
        takes_as_same: Some(indifferent::takes_as_same_in_a_group),
        ..known(INFRASTRUCTURE, "AWSMachinePool", Role::InfraPool)
    },
    Kind {
        fixed: Some(&MACHINE_TEMPLATE),
        gates: &[(IGNITION, "")],
        images: &[
            "spec.template.spec.ami",
            "spec.template.spec.imageLookupBaseOS",
            "spec.template.spec.imageLookupFormat",
        ],
        ..known(INFRASTRUCTURE, "AWSMachineTemplate", Role::Template)
    },
    known(INFRASTRUCTURE, "AWSManagedCluster", Role::InfraCluster),
    known(INFRASTRUCTURE, "AWSManagedClusterTemplate", Role::Template),
    Kind {
        fixed: Some(&NODE_GROUP),
        most: Some("/spec/scaling/maxSize"),
        // `pkg/cloud/services/eks/nodegroup.go` scalingConfig of 2.13.
        bounds: Some(&Bounds {
            least: "/spec/scaling/minSize",
            most: "/spec/scaling/maxSize",
            unsaid: None,
            asks: Asks::Always,
        }),
        takes_as_same: Some(indifferent::takes_as_same),
        reads_version: Some(indifferent::reads_version),
        ..known(INFRASTRUCTURE, "AWSManagedMachinePool", Role::InfraPool)
    },
    Kind { pools: Some(&reach::POOLS), ..known(CONTROL_PLANE, "AWSManagedControlPlane", Role::ControlPlane) },
    known(CONTROL_PLANE, "AWSManagedControlPlaneTemplate", Role::Template),
    known(CONTROL_PLANE, "ROSAControlPlane", Role::ControlPlane),
    known(BOOTSTRAP, "EKSConfig", Role::Config),
    known(BOOTSTRAP, "EKSConfigTemplate", Role::Template),
    known(BOOTSTRAP, "NodeadmConfig", Role::Config),
    known(BOOTSTRAP, "NodeadmConfigTemplate", Role::Template),
];

static GATES: &[Gate] = &[Gate { name: IGNITION, usually_on: None, asked_by: &["infrastructure-aws"] }];

/// All that is known of this provider.
pub(crate) static PROVIDER: Provider = Provider {
    name: "aws",
    title: "Cluster API Provider AWS, with EKS and its node groups.",
    release: Some(&RELEASE),
    cluster_wide: &["AWSClusterStaticIdentity"],
    kinds: KINDS,
    gates: GATES,
    changes: changes::ALL,
    packs: &[
        "eks",
        "eks-others",
        "eks-fargate",
        "eks-pools",
        "aws-clusters-made",
        "aws-clusters",
        "aws-machines",
        "aws-pools",
        "aws-own-identity",
        "aws-identities",
    ],
    ..Provider::EMPTY
};
