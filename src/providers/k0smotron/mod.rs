//! k0smotron: its control plane of Machines, by its pack and its webhook.

pub mod webhook;

use self::webhook::K0s;
use super::Provider;
use crate::kinds::contract::CONTROL_PLANE;
use crate::kinds::{Kind, Role};

/// The kinds of which more than the contract is known.
static KINDS: &[Kind] =
    &[Kind { webhook: Some(&K0s), ..Kind::new(CONTROL_PLANE, "K0sControlPlane", Role::ControlPlane) }];

/// The provider.
pub static PROVIDER: Provider = Provider {
    name: "k0smotron",
    title: "k0smotron, by its packs and the webhook of its control plane.",
    groups: &["k0smotron.io"],
    kinds: KINDS,
    packs: &[
        ("k0smotron", include_str!("packs/k0smotron.yaml")),
        ("k0smotron-hosted", include_str!("packs/k0smotron-hosted.yaml")),
    ],
    ..Provider::EMPTY
};
