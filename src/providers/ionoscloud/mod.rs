//! Cluster API Provider IONOS Cloud, by its packs.

use super::Provider;

/// The provider.
pub static PROVIDER: Provider = Provider {
    name: "ionoscloud",
    title: "Cluster API Provider IONOS Cloud, by its packs.",
    packs: &[
        ("ionoscloud", include_str!("packs/ionoscloud.yaml")),
        ("ionoscloud-templates", include_str!("packs/ionoscloud-templates.yaml")),
    ],
    ..Provider::EMPTY
};
