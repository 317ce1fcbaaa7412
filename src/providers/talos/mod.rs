//! Talos: its control plane and its bootstrap configs, which are two projects of Sidero Labs.

mod config;
pub(crate) mod mirror;
pub(crate) mod webhook;

use self::mirror::Talos;
use self::webhook::TalosWebhooks;
use super::Provider;
use crate::kinds::contract::{BOOTSTRAP, CONTROL_PLANE};
use crate::kinds::fixed::OWN_WAY;
use crate::kinds::{Kind, OwnerRules, Role};
use crate::model::RuleId;

/// The control plane.
pub(crate) const CONTROL_PLANE_KIND: &str = "TalosControlPlane";

/// What configs of workers are made from.
pub(crate) const CONFIG_TEMPLATE: &str = "TalosConfigTemplate";

static OWNER: OwnerRules = OwnerRules { replicas: RuleId::of("talos/replicas"), selector: None };

/// A kind with the webhooks of this provider.
const fn known(group: &'static str, name: &'static str, role: Role) -> Kind {
    Kind { webhook: Some(&TalosWebhooks), ..Kind::new(group, name, role) }
}

/// The kinds of which more is known than Cluster API's contract says.
static KINDS: &[Kind] = &[
    Kind {
        keeps: 1,
        owner: Some(&OWNER),
        mirror: Some(&Talos),
        leaves_sick: true,
        ..known(CONTROL_PLANE, CONTROL_PLANE_KIND, Role::ControlPlane)
    },
    Kind { fixed: Some(&webhook::CONFIG), ..known(BOOTSTRAP, "TalosConfig", Role::Config) },
    Kind { fixed: Some(&OWN_WAY), ..known(BOOTSTRAP, CONFIG_TEMPLATE, Role::Template) },
];

/// All that is known of this provider.
pub(crate) static PROVIDER: Provider = Provider {
    name: "talos",
    title: "Talos: its control plane, which was read, and its bootstrap configs, whose webhooks were run.",
    kinds: KINDS,
    packs: &["talos", "talos-configs"],
    ..Provider::EMPTY
};
