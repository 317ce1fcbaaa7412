//! MicroK8s, by its pack and its schemas.

pub mod webhook;

use self::webhook::MicroK8s;
use super::Provider;
use crate::kinds::contract::{BOOTSTRAP, CONTROL_PLANE};
use crate::kinds::{Kind, Role};

/// The kinds of which more than the contract is known.
static KINDS: &[Kind] = &[
    Kind {
        leaves_sick: true,
        webhook: Some(&MicroK8s),
        ..Kind::new(CONTROL_PLANE, "MicroK8sControlPlane", Role::ControlPlane)
    },
    Kind { webhook: Some(&MicroK8s), ..Kind::new(BOOTSTRAP, "MicroK8sConfigTemplate", Role::Template) },
];

/// The provider.
pub static PROVIDER: Provider = Provider {
    name: "microk8s",
    title: "MicroK8s, by its pack and its schemas, which were run.",
    kinds: KINDS,
    packs: &[("microk8s", include_str!("packs/microk8s.yaml"))],
    ..Provider::EMPTY
};
