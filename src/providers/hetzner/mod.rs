//! Cluster API Provider Hetzner, by its pack and its webhooks.

pub mod changes;
pub mod webhook;

use semver::Version;

use self::webhook::Hetzner;
use super::Provider;
use crate::kinds::contract::INFRASTRUCTURE;
use crate::kinds::versions::Release;
use crate::kinds::{Kind, Role};

static RELEASE: Release = Release { name: "hetzner", newest: Version::new(1, 1, 8), aliases: &["caph"] };

/// A kind with the webhooks of this provider.
const fn known(name: &'static str, role: Role) -> Kind {
    Kind { webhook: Some(&Hetzner), ..Kind::new(INFRASTRUCTURE, name, role) }
}

/// The kinds.
static KINDS: &[Kind] = &[known("HetznerCluster", Role::InfraCluster), known("HCloudMachineTemplate", Role::Template)];

/// The provider.
pub static PROVIDER: Provider = Provider {
    name: "hetzner",
    title: "Cluster API Provider Hetzner, by its pack and its webhooks.",
    release: Some(&RELEASE),
    kinds: KINDS,
    changes: changes::ALL,
    packs: &[("hetzner", include_str!("packs/hetzner.yaml"))],
    ..Provider::EMPTY
};
