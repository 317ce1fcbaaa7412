//! Cluster API Provider Hetzner, by its pack.

use super::Provider;

/// The provider.
pub static PROVIDER: Provider = Provider {
    name: "hetzner",
    title: "Cluster API Provider Hetzner, by its pack.",
    packs: &[("hetzner", include_str!("packs/hetzner.yaml"))],
    ..Provider::EMPTY
};
