//! k0smotron: its control plane of Machines, by its mirror and webhook, and the one of Pods.

mod config;
pub mod mirror;
mod version;
pub mod webhook;

use std::sync::LazyLock;

use self::mirror::K0sControlPlane;
use self::webhook::{Hosted, K0s};
use super::Provider;
use crate::kinds::contract::{BOOTSTRAP, CONTROL_PLANE};
use crate::kinds::superset::Superset;
use crate::kinds::{Kind, OwnerRules, Role};
use crate::model::RuleId;

/// The control plane of Machines.
const CONTROL_PLANE_KIND: &str = "K0sControlPlane";
/// Its template.
const CONTROL_PLANE_TEMPLATE: &str = "K0sControlPlaneTemplate";
/// The config of one of its Machines.
const CONFIG: &str = "K0sControllerConfig";

static CONTROL_PLANE_FORM: LazyLock<Superset> = LazyLock::new(|| Superset::of(CONTROL_PLANE_KIND));
static TEMPLATE_FORM: LazyLock<Superset> = LazyLock::new(|| Superset::of(CONTROL_PLANE_TEMPLATE));
static CONFIG_FORM: LazyLock<Superset> = LazyLock::new(|| Superset::of(CONFIG));

static OWNER: OwnerRules = OwnerRules { replicas: RuleId::of("k0s/replicas"), selector: None };

/// The kinds of which more than the contract is known.
static KINDS: &[Kind] = &[
    Kind {
        owner: Some(&OWNER),
        mirror: Some(&K0sControlPlane),
        webhook: Some(&K0s),
        superset: Some(&CONTROL_PLANE_FORM),
        ..Kind::new(CONTROL_PLANE, CONTROL_PLANE_KIND, Role::ControlPlane)
    },
    Kind { superset: Some(&TEMPLATE_FORM), ..Kind::new(CONTROL_PLANE, CONTROL_PLANE_TEMPLATE, Role::Template) },
    Kind { superset: Some(&CONFIG_FORM), ..Kind::new(BOOTSTRAP, CONFIG, Role::Config) },
    Kind { webhook: Some(&Hosted), ..Kind::new(CONTROL_PLANE, "K0smotronControlPlane", Role::ControlPlane) },
];

/// The provider.
pub static PROVIDER: Provider = Provider {
    name: "k0smotron",
    title: "k0smotron: its control plane of Machines, by its mirror and webhook, and the one of Pods.",
    groups: &["k0smotron.io"],
    kinds: KINDS,
    packs: &[
        ("k0smotron", include_str!("packs/k0smotron.yaml")),
        ("k0smotron-hosted", include_str!("packs/k0smotron-hosted.yaml")),
    ],
    ..Provider::EMPTY
};
