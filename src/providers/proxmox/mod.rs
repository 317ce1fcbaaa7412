//! Cluster API Provider Proxmox, by its packs and its webhooks, which were run.

pub(crate) mod changes;
mod endpoint;
mod fixed;
pub(crate) mod webhook;

use semver::Version;

use self::webhook::Proxmox;
use super::Provider;
use crate::kinds::contract::INFRASTRUCTURE;
use crate::kinds::versions::Release;
use crate::kinds::{Kind, Role};

static RELEASE: Release = Release { name: "proxmox", newest: Version::new(0, 9, 0), aliases: &["capmox"] };

/// A kind with the webhooks of this provider.
const fn known(name: &'static str, role: Role) -> Kind {
    Kind { webhook: Some(&Proxmox), ..Kind::new(INFRASTRUCTURE, name, role) }
}

/// The kinds: their versions are told apart.
static KINDS: &[Kind] = &[
    known("ProxmoxCluster", Role::InfraCluster),
    known("ProxmoxClusterTemplate", Role::Template),
    Kind { fixed: Some(&fixed::TEMPLATE), ..known("ProxmoxMachineTemplate", Role::Template) },
];

/// All that is known of this provider.
pub(crate) static PROVIDER: Provider = Provider {
    name: "proxmox",
    title: "Cluster API Provider Proxmox, by its packs and its webhooks, which were run.",
    release: Some(&RELEASE),
    kinds: KINDS,
    changes: changes::ALL,
    packs: &["proxmox", "proxmox-templates"],
    ..Provider::EMPTY
};
