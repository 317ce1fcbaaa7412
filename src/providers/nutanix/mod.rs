//! Cluster API Provider Nutanix, by its packs and its schemas.

pub mod webhook;

use semver::Version;

use self::webhook::Nutanix;
use super::Provider;
use crate::kinds::contract::INFRASTRUCTURE;
use crate::kinds::versions::Release;
use crate::kinds::{Kind, Role};

static RELEASE: Release = Release { name: "nutanix", newest: Version::new(1, 10, 3), aliases: &["capx"] };

/// A kind of this provider.
const fn known(name: &'static str, role: Role) -> Kind {
    Kind { webhook: Some(&Nutanix), ..Kind::new(INFRASTRUCTURE, name, role) }
}

/// The kinds.
static KINDS: &[Kind] = &[
    known("NutanixCluster", Role::InfraCluster),
    known("NutanixClusterTemplate", Role::Template),
    known("NutanixFailureDomain", Role::Other),
    known("NutanixMachine", Role::InfraMachine),
    known("NutanixMachineTemplate", Role::Template),
];

/// The provider.
pub static PROVIDER: Provider = Provider {
    name: "nutanix",
    title: "Cluster API Provider Nutanix, by its packs and its schemas.",
    release: Some(&RELEASE),
    kinds: KINDS,
    packs: &[
        ("nutanix", include_str!("packs/nutanix.yaml")),
        ("nutanix-templates", include_str!("packs/nutanix-templates.yaml")),
    ],
    ..Provider::EMPTY
};
