//! Cluster API Provider GCP, with clusters that GKE manages: its webhooks were run.

pub(crate) mod changes;
mod created;
mod fixed;
pub(crate) mod webhook;

use semver::Version;

use self::webhook::Gcp;
use super::Provider;
use crate::kinds::contract::INFRASTRUCTURE;
use crate::kinds::fixed::OWN_WAY;
use crate::kinds::versions::Release;
use crate::kinds::{Kind, Role};

static RELEASE: Release = Release { name: "gcp", newest: Version::new(1, 13, 0), aliases: &["capg"] };

/// A kind with the webhooks of this provider.
const fn known(name: &'static str, role: Role) -> Kind {
    Kind { webhook: Some(&Gcp), ..Kind::new(INFRASTRUCTURE, name, role) }
}

/// The kinds.
static KINDS: &[Kind] = &[
    known("GCPCluster", Role::InfraCluster),
    Kind { fixed: Some(&OWN_WAY), ..known("GCPClusterTemplate", Role::Template) },
    Kind { fixed: Some(&fixed::MACHINE), ..known("GCPMachine", Role::InfraMachine) },
    Kind {
        fixed: Some(&fixed::TEMPLATE),
        images: &["spec.template.spec.image"],
        ..known("GCPMachineTemplate", Role::Template)
    },
    known("GCPManagedCluster", Role::InfraCluster),
    known("GCPManagedControlPlane", Role::ControlPlane),
    known("GCPManagedMachinePool", Role::InfraPool),
];

/// The provider.
pub(crate) static PROVIDER: Provider = Provider {
    name: "gcp",
    title: "Cluster API Provider GCP, with clusters that GKE manages: its webhooks were run.",
    release: Some(&RELEASE),
    kinds: KINDS,
    changes: changes::ALL,
    packs: &["gcp", "gcp-templates", "gcp-cluster-templates", "gcp-managed"],
    ..Provider::EMPTY
};
