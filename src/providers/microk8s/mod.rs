//! MicroK8s, by its pack.

use super::Provider;

/// The provider.
pub static PROVIDER: Provider = Provider {
    name: "microk8s",
    title: "MicroK8s, by its pack.",
    packs: &[("microk8s", include_str!("packs/microk8s.yaml"))],
    ..Provider::EMPTY
};
