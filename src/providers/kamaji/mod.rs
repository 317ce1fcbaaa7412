//! Kamaji, whose control planes are Pods, by its pack.

use super::Provider;

/// The provider.
pub static PROVIDER: Provider = Provider {
    name: "kamaji",
    title: "Kamaji, whose control planes are Pods, by its pack.",
    packs: &[("kamaji", include_str!("packs/kamaji.yaml"))],
    ..Provider::EMPTY
};
