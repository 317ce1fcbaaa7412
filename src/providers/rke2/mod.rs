//! Cluster API Provider RKE2: its control plane and its bootstrap configs.

mod butane;
pub(crate) mod changes;
pub(crate) mod mirror;
mod outdated;
pub(crate) mod webhook;

use std::sync::LazyLock;

use semver::Version;

use self::mirror::Rke2;
use self::webhook::Rke2Webhooks;
use super::Provider;
use crate::kinds::contract::{BOOTSTRAP, CONTROL_PLANE};
use crate::kinds::superset::Superset;
use crate::kinds::versions::Release;
use crate::kinds::{Kind, OwnerRules, Role};
use crate::model::RuleId;

static RELEASE: Release = Release {
    name: "rke2",
    newest: Version::new(0, 25, 0),
    aliases: &["bootstrap-rke2", "control-plane-rke2", "caprke2", "cluster-api-provider-rke2"],
};

/// The control plane.
pub(crate) const CONTROL_PLANE_KIND: &str = "RKE2ControlPlane";
/// Its template.
pub(crate) const CONTROL_PLANE_TEMPLATE: &str = "RKE2ControlPlaneTemplate";

/// What people call it.
pub(crate) const TITLE: &str = "RKE2";
/// The config of a Machine.
pub(crate) const CONFIG: &str = "RKE2Config";
/// The template of one.
pub(crate) const CONFIG_TEMPLATE: &str = "RKE2ConfigTemplate";
/// Annotation of a control plane whose Nodes are taken from the load balancers before they are drained (CAPRKE2
/// `controlplane/api/v1beta1/rke2controlplane_types.go`, from the commit of 15 July 2025 on; only "true" counts).
pub(crate) const EXCLUSION: &str = "rke2.controlplane.cluster.x-k8s.io/load-balancer-exclusion";

/// Durations that stay where they are.
const DURATIONS: [&str; 3] =
    ["nodeDrainTimeout", "remediationStrategy.retryPeriod", "remediationStrategy.minHealthyPeriod"];

static CONTROL_PLANE_FORM: LazyLock<Superset> =
    LazyLock::new(|| Superset::of(CONTROL_PLANE_KIND).with_durations("spec", &DURATIONS));
static TEMPLATE_FORM: LazyLock<Superset> =
    LazyLock::new(|| Superset::of(CONTROL_PLANE_TEMPLATE).with_durations("spec.template.spec", &DURATIONS));

static OWNER: OwnerRules = OwnerRules { replicas: RuleId::of("rke2cp/replicas"), selector: None };

/// A kind with the webhooks of this provider.
const fn known(group: &'static str, name: &'static str, role: Role) -> Kind {
    Kind { webhook: Some(&Rke2Webhooks), ..Kind::new(group, name, role) }
}

/// The kinds of which more is known than Cluster API's contract says.
static KINDS: &[Kind] = &[
    Kind {
        owner: Some(&OWNER),
        mirror: Some(&Rke2),
        superset: Some(&CONTROL_PLANE_FORM),
        ..known(CONTROL_PLANE, CONTROL_PLANE_KIND, Role::ControlPlane)
    },
    Kind { superset: Some(&TEMPLATE_FORM), ..known(CONTROL_PLANE, CONTROL_PLANE_TEMPLATE, Role::Template) },
    known(BOOTSTRAP, CONFIG, Role::Config),
    Kind { refers: true, ..known(BOOTSTRAP, CONFIG_TEMPLATE, Role::Template) },
];

/// All that is known of this provider.
pub(crate) static PROVIDER: Provider = Provider {
    name: "rke2",
    title: "Cluster API Provider RKE2: its control plane and its bootstrap configs.",
    release: Some(&RELEASE),
    kinds: KINDS,
    changes: changes::ALL,
    packs: &["rke2", "rke2-templates"],
    ..Provider::EMPTY
};
