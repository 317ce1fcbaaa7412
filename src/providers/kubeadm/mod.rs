//! The kubeadm bootstrap and control plane providers, which are released with Cluster API.

pub(crate) mod config;
pub(crate) mod config_old;
pub(crate) mod config_webhook;
pub(crate) mod convert;
pub(crate) mod coredns;
pub(crate) mod mirror;
pub(crate) mod template;
pub(crate) mod webhook;

use std::sync::LazyLock;

use self::mirror::Kubeadm;
use self::webhook::KubeadmWebhooks;
use super::Provider;
use super::core::changes::V1BETA2;
use super::core::{TAINTS, TOPOLOGY};
use crate::kinds::contract::{BOOTSTRAP, CONTROL_PLANE};
use crate::kinds::gates::Gate;
use crate::kinds::superset::Superset;
use crate::kinds::{Kind, OwnerRules, Role, fixed};
use crate::model::RuleId;

/// The ignition format of kubeadm configurations.
pub(crate) const IGNITION: &str = "KubeadmBootstrapFormatIgnition";

/// Lists of arguments below a configuration, which v1beta1 has as maps: what is written through it is stored in the order of the names
/// (`api/bootstrap/kubeadm/v1beta1/conversion.go` of Cluster API 1.11 and later).
pub(crate) const ARGUMENTS: [&str; 6] = [
    "/clusterConfiguration/apiServer/extraArgs",
    "/clusterConfiguration/controllerManager/extraArgs",
    "/clusterConfiguration/scheduler/extraArgs",
    "/clusterConfiguration/etcd/local/extraArgs",
    "/initConfiguration/nodeRegistration/kubeletExtraArgs",
    "/joinConfiguration/nodeRegistration/kubeletExtraArgs",
];

/// Disks that are cut into partitions, below the config of a machine.
pub(crate) const PARTITIONS: &str = "/diskSetup/partitions";

/// How people call it.
pub(crate) const TITLE: &str = "kubeadm";

/// Whether a kind is called as those of this provider are.
pub(crate) fn is_named(kind: &str) -> bool {
    kind.starts_with("Kubeadm")
}

/// The control plane.
pub(crate) const CONTROL_PLANE_KIND: &str = "KubeadmControlPlane";
/// Its template.
pub(crate) const CONTROL_PLANE_TEMPLATE: &str = "KubeadmControlPlaneTemplate";
/// The config of one Machine.
pub(crate) const CONFIG: &str = "KubeadmConfig";
/// Its template.
pub(crate) const CONFIG_TEMPLATE: &str = "KubeadmConfigTemplate";

/// The form of a kind with a kubeadm configuration.
fn form(name: &str, place: &'static str) -> Superset {
    Superset::of(name).with_config(place, convert::kubeadm_config, &V1BETA2, config::old_defaults)
}

static CONTROL_PLANE_FORM: LazyLock<Superset> = LazyLock::new(|| form(CONTROL_PLANE_KIND, "/spec/kubeadmConfigSpec"));
static CONTROL_PLANE_TEMPLATE_FORM: LazyLock<Superset> =
    LazyLock::new(|| form(CONTROL_PLANE_TEMPLATE, "/spec/template/spec/kubeadmConfigSpec"));
static CONFIG_FORM: LazyLock<Superset> = LazyLock::new(|| form(CONFIG, "/spec"));
static CONFIG_TEMPLATE_FORM: LazyLock<Superset> = LazyLock::new(|| form(CONFIG_TEMPLATE, "/spec/template/spec"));

static OWNER: OwnerRules = OwnerRules { replicas: RuleId::of("kcp/replicas"), selector: None };

/// A kind with the webhooks of this provider.
const fn known(group: &'static str, name: &'static str, role: Role) -> Kind {
    Kind { webhook: Some(&KubeadmWebhooks), ..Kind::new(group, name, role) }
}

/// The kinds of which more is known than Cluster API's contract says.
static KINDS: &[Kind] = &[
    Kind {
        owner: Some(&OWNER),
        mirror: Some(&Kubeadm),
        superset: Some(&CONTROL_PLANE_FORM),
        gates: &[(IGNITION, "ignition"), (TAINTS, "taints")],
        waits_for_cluster: true,
        ..known(CONTROL_PLANE, CONTROL_PLANE_KIND, Role::ControlPlane)
    },
    Kind {
        superset: Some(&CONTROL_PLANE_TEMPLATE_FORM),
        fixed: Some(&fixed::OWN_WAY),
        gates: &[(IGNITION, "ignition"), (TOPOLOGY, "")],
        ..known(CONTROL_PLANE, CONTROL_PLANE_TEMPLATE, Role::Template)
    },
    Kind {
        superset: Some(&CONFIG_FORM),
        gates: &[(IGNITION, "ignition")],
        // An older version shows lists of arguments as maps, and in which order they stand decides.
        is_read_as_stored: true,
        ..known(BOOTSTRAP, CONFIG, Role::Config)
    },
    Kind {
        superset: Some(&CONFIG_TEMPLATE_FORM),
        gates: &[(IGNITION, "ignition")],
        refers: true,
        ..known(BOOTSTRAP, CONFIG_TEMPLATE, Role::Template)
    },
];

static GATES: &[Gate] =
    &[Gate { name: IGNITION, usually_on: None, asked_by: &["bootstrap-kubeadm", "control-plane-kubeadm"] }];

/// All that is known of this provider.
pub(crate) static PROVIDER: Provider = Provider {
    name: "kubeadm",
    title: "The kubeadm bootstrap and control plane providers, which are released with Cluster API.",
    release: None,
    kinds: KINDS,
    gates: GATES,
    changes: &[],
    packs: &["kubeadm-control-plane"],
    ..Provider::EMPTY
};
