//! Cluster API Provider Outscale, by its packs.

use super::Provider;

/// The provider.
pub static PROVIDER: Provider = Provider {
    name: "outscale",
    title: "Cluster API Provider Outscale, by its packs.",
    packs: &[
        ("outscale", include_str!("packs/outscale.yaml")),
        ("outscale-templates", include_str!("packs/outscale-templates.yaml")),
    ],
    ..Provider::EMPTY
};
