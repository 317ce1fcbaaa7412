//! Canonical Kubernetes: its control plane, by its mirror, and what its webhooks write.

mod config;
pub(crate) mod mirror;
pub(crate) mod webhook;

use self::mirror::Ck8s;
use self::webhook::Ck8sWebhooks;
use super::Provider;
use crate::kinds::contract::{BOOTSTRAP, CONTROL_PLANE};
use crate::kinds::{Kind, OwnerRules, Role};
use crate::model::RuleId;

/// The control plane.
pub(crate) const CONTROL_PLANE_KIND: &str = "CK8sControlPlane";

static OWNER: OwnerRules = OwnerRules { replicas: RuleId::of("ck8s/replicas"), selector: None };

/// A kind with the webhooks of this provider.
const fn known(group: &'static str, name: &'static str, role: Role) -> Kind {
    Kind { webhook: Some(&Ck8sWebhooks), ..Kind::new(group, name, role) }
}

/// The kinds. The template of the control plane has no webhook.
static KINDS: &[Kind] = &[
    Kind { owner: Some(&OWNER), mirror: Some(&Ck8s), ..known(CONTROL_PLANE, CONTROL_PLANE_KIND, Role::ControlPlane) },
    known(BOOTSTRAP, "CK8sConfig", Role::Config),
    known(BOOTSTRAP, "CK8sConfigTemplate", Role::Template),
];

/// All that is known of this provider.
pub(crate) static PROVIDER: Provider = Provider {
    name: "ck8s",
    title: "Canonical Kubernetes: its control plane, by its mirror, and what its webhooks write; both were run.",
    kinds: KINDS,
    packs: &["ck8s"],
    ..Provider::EMPTY
};
