//! Cluster API Provider Tinkerbell, by its packs.

use super::Provider;

/// The provider.
pub static PROVIDER: Provider = Provider {
    name: "tinkerbell",
    title: "Cluster API Provider Tinkerbell, by its packs.",
    packs: &[
        ("tinkerbell", include_str!("packs/tinkerbell.yaml")),
        ("tinkerbell-templates", include_str!("packs/tinkerbell-templates.yaml")),
    ],
    ..Provider::EMPTY
};
