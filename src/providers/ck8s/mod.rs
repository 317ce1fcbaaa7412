//! Canonical Kubernetes, by its pack.

use super::Provider;

/// The provider.
pub static PROVIDER: Provider = Provider {
    name: "ck8s",
    title: "Canonical Kubernetes, by its pack.",
    packs: &[("ck8s", include_str!("packs/ck8s.yaml"))],
    ..Provider::EMPTY
};
