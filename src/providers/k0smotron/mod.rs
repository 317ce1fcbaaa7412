//! k0smotron: its control plane of Machines, by its mirror and webhook, and the one of Pods.

pub(crate) mod changes;
mod config;
pub(crate) mod mirror;
mod version;
pub(crate) mod webhook;
mod worker;

use std::sync::LazyLock;

use semver::Version;

use self::mirror::K0sControlPlane;
use self::webhook::{Alone, Converted, Hosted, K0s};
use self::worker::Worker;
use super::Provider;
use crate::kinds::contract::{BOOTSTRAP, CONTROL_PLANE, INFRASTRUCTURE};
use crate::kinds::superset::Superset;
use crate::kinds::versions::Release;
use crate::kinds::{Kind, OwnerRules, Role};
use crate::model::RuleId;

static RELEASE: Release = Release { name: "k0smotron", newest: Version::new(2, 1, 0), aliases: &[] };

/// The control plane of Machines.
pub(crate) const CONTROL_PLANE_KIND: &str = "K0sControlPlane";
/// Its template.
pub(crate) const CONTROL_PLANE_TEMPLATE: &str = "K0sControlPlaneTemplate";
/// The config of one of its Machines.
const CONFIG: &str = "K0sControllerConfig";
/// The config of a worker.
const WORKER_CONFIG: &str = "K0sWorkerConfig";
/// What configs of workers are made from.
pub(crate) const WORKER_TEMPLATE: &str = "K0sWorkerConfigTemplate";
/// The control plane of Pods.
const HOSTED_KIND: &str = "K0smotronControlPlane";
/// The group of clusters that are no part of Cluster API.
const ALONE: &str = "k0smotron.io";

static CONTROL_PLANE_FORM: LazyLock<Superset> = LazyLock::new(|| Superset::of(CONTROL_PLANE_KIND));
static TEMPLATE_FORM: LazyLock<Superset> = LazyLock::new(|| Superset::of(CONTROL_PLANE_TEMPLATE));
static CONFIG_FORM: LazyLock<Superset> = LazyLock::new(|| Superset::of(CONFIG));
static WORKER_FORM: LazyLock<Superset> = LazyLock::new(|| Superset::of(WORKER_CONFIG));
static WORKER_TEMPLATE_FORM: LazyLock<Superset> = LazyLock::new(|| Superset::of(WORKER_TEMPLATE));

static HOSTED_FORM: LazyLock<Superset> = LazyLock::new(|| Superset::of(HOSTED_KIND));

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
    Kind {
        webhook: Some(&Converted),
        superset: Some(&TEMPLATE_FORM),
        ..Kind::new(CONTROL_PLANE, CONTROL_PLANE_TEMPLATE, Role::Template)
    },
    Kind { webhook: Some(&Converted), superset: Some(&CONFIG_FORM), ..Kind::new(BOOTSTRAP, CONFIG, Role::Config) },
    Kind { webhook: Some(&Worker), superset: Some(&WORKER_FORM), ..Kind::new(BOOTSTRAP, WORKER_CONFIG, Role::Config) },
    Kind { superset: Some(&WORKER_TEMPLATE_FORM), ..Kind::new(BOOTSTRAP, WORKER_TEMPLATE, Role::Template) },
    // An entry of a pool, which a RemoteMachine is filled in from; no controller looks at it.
    Kind::new(INFRASTRUCTURE, "PooledRemoteMachine", Role::Other),
    Kind { webhook: Some(&Alone), ..Kind::new(ALONE, "Cluster", Role::Other) },
    Kind {
        webhook: Some(&Hosted),
        superset: Some(&HOSTED_FORM),
        ..Kind::new(CONTROL_PLANE, HOSTED_KIND, Role::ControlPlane)
    },
];

/// All that is known of this provider.
pub(crate) static PROVIDER: Provider = Provider {
    name: "k0smotron",
    title: "k0smotron: its control plane of Machines, by its mirror and webhook, and the one of Pods.",
    release: Some(&RELEASE),
    groups: &[ALONE],
    kinds: KINDS,
    changes: changes::ALL,
    packs: &["k0smotron", "k0smotron-hosted", "k0smotron-hosts", "k0smotron-workers"],
    ..Provider::EMPTY
};
