//! MicroK8s, by its pack.

use super::Provider;
use crate::kinds::contract::CONTROL_PLANE;
use crate::kinds::{Kind, Role};

/// The kinds of which more than the contract is known.
static KINDS: &[Kind] =
    &[Kind { leaves_sick: true, ..Kind::new(CONTROL_PLANE, "MicroK8sControlPlane", Role::ControlPlane) }];

/// The provider.
pub static PROVIDER: Provider = Provider {
    name: "microk8s",
    title: "MicroK8s, by its pack.",
    kinds: KINDS,
    packs: &[("microk8s", include_str!("packs/microk8s.yaml"))],
    ..Provider::EMPTY
};
