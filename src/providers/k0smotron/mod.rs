//! k0smotron, by its packs.

use super::Provider;

/// The provider.
pub static PROVIDER: Provider =
    Provider { packs: &[("k0smotron", include_str!("packs/k0smotron.yaml"))], ..Provider::EMPTY };
