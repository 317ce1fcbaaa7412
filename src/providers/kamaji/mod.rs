//! Kamaji, whose control planes are Pods, by its pack.

pub(crate) mod webhook;

use self::webhook::Kamaji;
use super::Provider;
use crate::kinds::contract::CONTROL_PLANE;
use crate::kinds::{Kind, Role};

/// The kinds of which more is known than Cluster API's contract says.
static KINDS: &[Kind] = &[Kind {
    webhook: Some(&Kamaji),
    switches: &["addons"],
    ..Kind::new(CONTROL_PLANE, "KamajiControlPlane", Role::ControlPlane)
}];

/// All that is known of this provider.
pub(crate) static PROVIDER: Provider = Provider {
    name: "kamaji",
    title: "Kamaji, whose control planes are Pods, by its pack and its schema, which was run.",
    kinds: KINDS,
    packs: &["kamaji"],
    ..Provider::EMPTY
};
