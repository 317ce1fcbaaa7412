//! Cluster API Provider Proxmox, by its packs.

pub mod changes;

use semver::Version;

use super::Provider;
use crate::kinds::contract::INFRASTRUCTURE;
use crate::kinds::versions::Release;
use crate::kinds::{Kind, Role};

static RELEASE: Release = Release { name: "proxmox", newest: Version::new(0, 9, 0), aliases: &["capmox"] };

/// The kinds: their versions are told apart.
static KINDS: &[Kind] = &[
    Kind::new(INFRASTRUCTURE, "ProxmoxCluster", Role::InfraCluster),
    Kind::new(INFRASTRUCTURE, "ProxmoxMachineTemplate", Role::Template),
];

/// The provider.
pub static PROVIDER: Provider = Provider {
    name: "proxmox",
    title: "Cluster API Provider Proxmox, by its packs.",
    release: Some(&RELEASE),
    kinds: KINDS,
    changes: changes::ALL,
    packs: &[
        ("proxmox", include_str!("packs/proxmox.yaml")),
        ("proxmox-templates", include_str!("packs/proxmox-templates.yaml")),
    ],
    ..Provider::EMPTY
};
