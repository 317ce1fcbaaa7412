//! Cluster API itself: Clusters and their classes, workers, health checks, addresses, and what its webhooks do.

mod address_pools;
pub(crate) mod changes;
pub(crate) mod checks;
pub(crate) mod class;
mod cluster;
pub(crate) mod defaults;
mod extension;
pub(crate) mod in_place;
pub(crate) mod machine_deployment;
pub(crate) mod naming;
mod prefix_pools;
pub(crate) mod taints;
pub(crate) mod webhook;

use std::sync::LazyLock;

use semver::Version;

use self::address_pools::Pools;
use self::machine_deployment::Workers;
use self::prefix_pools::PrefixPools;
use self::webhook::Core;
use super::Provider;
use crate::kinds::contract::{
    ADDONS, CLUSTER, CLUSTER_CLASS, CORE, IPAM, MACHINE, MACHINE_DEPLOYMENT, MACHINE_DRAIN_RULE, MACHINE_HEALTH_CHECK,
    MACHINE_POOL, MACHINE_SET, RUNTIME,
};
use crate::kinds::gates::Gate;
use crate::kinds::superset::{self, Superset};
use crate::kinds::versions::Release;
use crate::kinds::{Kind, OwnerRules, Role, SelectorRules, Versions};
use crate::model::RuleId;
use crate::tree::Value;

/// The name under which its version is told; the kubeadm providers are released with it.
pub(crate) static RELEASE: Release = Release {
    name: "cluster-api",
    newest: Version::new(1, 14, 2),
    aliases: &["kubeadm", "bootstrap-kubeadm", "control-plane-kubeadm", "core"],
};

/// Taints of Machines.
pub(crate) const TAINTS: &str = "MachineTaintPropagation";
/// Clusters with a topology, and their classes.
pub(crate) const TOPOLOGY: &str = "ClusterTopology";
/// Machine pools.
pub(crate) const POOLS: &str = "MachinePool";
/// Extensions that the controllers call.
pub(crate) const RUNTIME_SDK: &str = "RuntimeSDK";
/// Checks before a MachineSet makes Machines.
pub(crate) const PREFLIGHT: &str = "MachineSetPreflightChecks";
/// Resources that are applied to clusters.
pub(crate) const RESOURCE_SETS: &str = "ClusterResourceSet";

static GATES: &[Gate] = &[
    Gate { name: TAINTS, usually_on: None, asked_by: &["cluster-api", "control-plane-kubeadm"] },
    Gate { name: TOPOLOGY, usually_on: None, asked_by: &["cluster-api", "control-plane-kubeadm"] },
    Gate { name: POOLS, usually_on: Some(&changes::POOLS_ON), asked_by: &[] },
    Gate { name: RUNTIME_SDK, usually_on: None, asked_by: &["cluster-api"] },
    Gate { name: PREFLIGHT, usually_on: Some(&changes::PREFLIGHT_ON), asked_by: &["cluster-api"] },
    Gate { name: RESOURCE_SETS, usually_on: Some(&changes::RESOURCE_SETS_ON), asked_by: &[] },
    // No webhook asks for it; whether extensions are read does.
    Gate { name: in_place::GATE, usually_on: None, asked_by: &["cluster-api"] },
];

static CLUSTER_FORM: LazyLock<Superset> =
    // A topology is judged in the names of its version.
    LazyLock::new(|| Superset::below(CLUSTER, "spec"));
static DEPLOYMENT_FORM: LazyLock<Superset> = LazyLock::new(|| Superset::of(MACHINE_DEPLOYMENT));
static SET_FORM: LazyLock<Superset> = LazyLock::new(|| Superset::of(MACHINE_SET));
static POOL_FORM: LazyLock<Superset> = LazyLock::new(|| Superset::of(MACHINE_POOL));
static MACHINE_FORM: LazyLock<Superset> = LazyLock::new(|| Superset::of(MACHINE));
static HEALTH_CHECK_FORM: LazyLock<Superset> = LazyLock::new(|| Superset::of(MACHINE_HEALTH_CHECK));

static DEPLOYMENT: OwnerRules = OwnerRules {
    replicas: RuleId::of("md/replicas"),
    selector: Some(SelectorRules {
        lost: RuleId::of("md/selector"),
        kept: RuleId::of("md/selector-kept"),
        unreadable: RuleId::of("md/selector-unreadable"),
        runs_away: RuleId::of("md/selector-of-another"),
    }),
};
static SET: OwnerRules = OwnerRules {
    replicas: RuleId::of("ms/replicas"),
    selector: Some(SelectorRules {
        lost: RuleId::of("ms/selector"),
        kept: RuleId::of("ms/selector-kept"),
        unreadable: RuleId::of("ms/selector-unreadable"),
        runs_away: RuleId::of("ms/selector-of-another"),
    }),
};
static POOL: OwnerRules = OwnerRules { replicas: RuleId::of("mp/replicas"), selector: None };

/// A pool of the in-cluster address manager.
const fn pool_of_addresses(name: &'static str) -> Kind {
    Kind { webhook: Some(&Pools), by_reference: true, named_alone: true, ..Kind::new(IPAM, name, Role::Other) }
}

/// A pool of it that gives out networks.
const fn pool_of_networks(name: &'static str) -> Kind {
    Kind { webhook: Some(&PrefixPools), ..pool_of_addresses(name) }
}

/// A kind with the webhooks of this provider.
const fn known(group: &'static str, name: &'static str, role: Role) -> Kind {
    Kind { webhook: Some(&Core), ..Kind::new(group, name, role) }
}

static CLUSTER_IN_HUB: LazyLock<Superset> = LazyLock::new(|| Superset::of(CLUSTER));
static CLASS_IN_HUB: LazyLock<Superset> = LazyLock::new(|| Superset::of(CLUSTER_CLASS));
/// Clusters and classes are judged in the names of their version, while their webhooks read those of v1beta2.
static HUB: [Kind; 2] = [
    Kind { superset: Some(&CLUSTER_IN_HUB), ..Kind::new(CORE, CLUSTER, Role::Cluster) },
    Kind { superset: Some(&CLASS_IN_HUB), ..Kind::new(CORE, CLUSTER_CLASS, Role::Class) },
];

/// A Cluster or a class as its webhook reads it: in the names of v1beta2.
#[must_use]
pub(crate) fn in_hub(role: Role, object: &Value, versions: &Versions) -> Value {
    let api_version = object.get("apiVersion").and_then(Value::as_str).unwrap_or_default();
    let kind = HUB.iter().find(|kind| kind.role == role);
    kind.map_or_else(|| object.clone(), |kind| superset::value(kind, api_version, object, versions))
}

/// The kinds of which more is known than Cluster API's contract says.
static KINDS: &[Kind] = &[
    Kind {
        superset: Some(&CLUSTER_FORM),
        gates: &[(TOPOLOGY, ""), (TAINTS, "taints")],
        ..known(CORE, CLUSTER, Role::Cluster)
    },
    Kind { gates: &[(TOPOLOGY, ""), (RUNTIME_SDK, ""), (TAINTS, "taints")], ..known(CORE, CLUSTER_CLASS, Role::Class) },
    Kind {
        owner: Some(&DEPLOYMENT),
        mirror: Some(&Workers),
        superset: Some(&DEPLOYMENT_FORM),
        gates: &[(TAINTS, "taints")],
        ..known(CORE, MACHINE_DEPLOYMENT, Role::Deployment)
    },
    Kind {
        owner: Some(&SET),
        superset: Some(&SET_FORM),
        gates: &[(TAINTS, "taints")],
        ..known(CORE, MACHINE_SET, Role::Set)
    },
    Kind {
        owner: Some(&POOL),
        superset: Some(&POOL_FORM),
        gates: &[(POOLS, "")],
        ..known(CORE, MACHINE_POOL, Role::Pool)
    },
    Kind { superset: Some(&MACHINE_FORM), ..known(CORE, MACHINE, Role::Machine) },
    Kind { superset: Some(&HEALTH_CHECK_FORM), ..known(CORE, MACHINE_HEALTH_CHECK, Role::HealthCheck) },
    Kind { by_reference: true, ..known(CORE, MACHINE_DRAIN_RULE, Role::Other) },
    Kind {
        refers: true,
        by_reference: true,
        gates: &[(RESOURCE_SETS, "")],
        ..known(ADDONS, "ClusterResourceSet", Role::Other)
    },
    Kind { by_reference: true, ..known(ADDONS, "ClusterResourceSetBinding", Role::Other) },
    Kind { installs_into: Some("/spec/clusterSelector"), ..Kind::new(ADDONS, "HelmChartProxy", Role::Other) },
    Kind { gates: &[(RUNTIME_SDK, "")], ..known(RUNTIME, "ExtensionConfig", Role::Other) },
    pool_of_addresses("InClusterIPPool"),
    pool_of_addresses("GlobalInClusterIPPool"),
    pool_of_networks("InClusterPrefixPool"),
    pool_of_networks("GlobalInClusterPrefixPool"),
    known(IPAM, "IPAddress", Role::Address),
    known(IPAM, "IPAddressClaim", Role::Address),
];

/// All that is known of this provider.
pub(crate) static PROVIDER: Provider = Provider {
    name: "core",
    title: "Cluster API itself: Clusters and their classes, workers, health checks, addresses, and what its webhooks do.",
    release: Some(&RELEASE),
    groups: &["turtles-capi.cattle.io"],
    cluster_wide: &["GlobalInClusterIPPool", "GlobalInClusterPrefixPool", "KubeVirtClusterIdentity"],
    kinds: KINDS,
    gates: GATES,
    changes: changes::ALL,
    packs: &[
        "workers",
        "waiting",
        "machine-set",
        "machine-pool",
        "machine-health-check",
        "cluster",
        "cluster-class",
        "config-templates",
        "bootstrap-configs",
        "whole-templates",
        "machine-templates",
        "harmless",
        "add-on-charts",
        "add-on-releases",
        "extension-config",
        "address-pools",
        "cluster-identities",
        "references",
        "others",
    ],
};
