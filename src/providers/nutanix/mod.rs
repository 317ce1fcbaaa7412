//! Cluster API Provider Nutanix, by its packs.

use super::Provider;

/// The provider.
pub static PROVIDER: Provider = Provider {
    name: "nutanix",
    title: "Cluster API Provider Nutanix, by its packs.",
    packs: &[
        ("nutanix", include_str!("packs/nutanix.yaml")),
        ("nutanix-templates", include_str!("packs/nutanix-templates.yaml")),
    ],
    ..Provider::EMPTY
};
