//! k0smotron, by its packs.

use super::Provider;

/// The provider.
pub static PROVIDER: Provider = Provider {
    name: "k0smotron",
    title: "k0smotron, by its packs.",
    packs: &[("k0smotron", include_str!("packs/k0smotron.yaml"))],
    ..Provider::EMPTY
};
