//! What Cluster API's contract says of every kind, written once: groups, labels, annotations, and the roles of kinds that no
//! provider here claims (`docs/book/src/developer/providers/contracts` of Cluster API 1.14).

use super::kind::{Kind, Role};
use crate::contract as words;
use crate::object::Key;

/// The core group of Cluster API.
pub(crate) const CORE: &str = words::CORE;
/// The group of control planes.
pub(crate) const CONTROL_PLANE: &str = "controlplane.cluster.x-k8s.io";
/// The group of bootstrap configs.
pub(crate) const BOOTSTRAP: &str = "bootstrap.cluster.x-k8s.io";
/// The group of infrastructure objects.
pub(crate) const INFRASTRUCTURE: &str = "infrastructure.cluster.x-k8s.io";
/// The group of what is applied to clusters.
pub(crate) const ADDONS: &str = "addons.cluster.x-k8s.io";
/// The group of extensions.
pub(crate) const RUNTIME: &str = "runtime.cluster.x-k8s.io";
/// The group of the operator that installs providers (cluster-api-operator, `api/v1alpha2/groupversion_info.go`).
pub(crate) const OPERATOR: &str = "operator.cluster.x-k8s.io";
/// The group of Turtles, which hands what is in it to the operator (turtles, `api/v1alpha1/capiprovider_types.go`).
const TURTLES: &str = "turtles-capi.cattle.io";
/// The group of addresses.
pub(crate) const IPAM: &str = "ipam.cluster.x-k8s.io";

/// Label of everything that belongs to a cluster.
pub(crate) const CLUSTER_NAME: &str = words::CLUSTER_NAME;
/// Label of what belongs to a MachineDeployment.
pub(crate) const DEPLOYMENT_NAME: &str = "cluster.x-k8s.io/deployment-name";
/// Label of what belongs to a MachineSet.
pub(crate) const SET_NAME: &str = "cluster.x-k8s.io/set-name";
/// Label of what belongs to a control plane.
pub(crate) const OF_CONTROL_PLANE: &str = "cluster.x-k8s.io/control-plane";
/// The field manager by which the topology controller applies.
pub(crate) const TOPOLOGY_MANAGER: &str = "capi-topology";
/// Label of what a topology made.
pub(crate) const TOPOLOGY_OWNED: &str = "topology.cluster.x-k8s.io/owned";
/// Label of a MachineDeployment that the topology controller made: the name of its group.
pub(crate) const TOPOLOGY_DEPLOYMENT: &str = "topology.cluster.x-k8s.io/deployment-name";
/// Label of a MachinePool that the topology controller made: the name of its group.
pub(crate) const TOPOLOGY_POOL: &str = "topology.cluster.x-k8s.io/pool-name";
/// Annotation of a Cluster: how many groups of workers its topology upgrades at once.
pub(crate) const UPGRADE_CONCURRENCY: &str = "topology.cluster.x-k8s.io/upgrade-concurrency";
/// Label by which several installations of the controllers share what there is; each looks at its own value alone.
pub(crate) const WATCH_FILTER: &str = "cluster.x-k8s.io/watch-filter";
/// Annotation of what its controller leaves alone.
pub(crate) const PAUSED: &str = "cluster.x-k8s.io/paused";
/// Annotation of a pool whose number of Machines something else manages.
pub(crate) const REPLICAS_MANAGED_BY: &str = "cluster.x-k8s.io/replicas-managed-by";

/// The name of the Cluster kind.
pub(crate) const CLUSTER: &str = "Cluster";
/// The name of the Machine kind.
pub(crate) const MACHINE: &str = words::MACHINE;
/// The name of the kind that says which Pods the drain of a Machine waits for.
pub(crate) const MACHINE_DRAIN_RULE: &str = "MachineDrainRule";
/// The name of the MachineSet kind.
pub(crate) const MACHINE_SET: &str = words::MACHINE_SET;
/// The name of the MachineDeployment kind.
pub(crate) const MACHINE_DEPLOYMENT: &str = "MachineDeployment";
/// Annotation in which a conversion to another version keeps what that version has no place for.
pub(crate) const CONVERSION_DATA: &str = "cluster.x-k8s.io/conversion-data";
/// The name of the MachinePool kind.
pub(crate) const MACHINE_POOL: &str = "MachinePool";
/// The name of the MachineHealthCheck kind.
pub(crate) const MACHINE_HEALTH_CHECK: &str = "MachineHealthCheck";
/// The name of the ClusterClass kind.
pub(crate) const CLUSTER_CLASS: &str = "ClusterClass";
/// The name of the Secret kind.
pub(crate) const SECRET: &str = words::SECRET;
/// The name of the ConfigMap kind.
pub(crate) const CONFIG_MAP: &str = words::CONFIG_MAP;

/// The key of a Cluster.
#[must_use]
pub(crate) fn cluster(namespace: Option<&str>, name: &str) -> Key {
    Key::of(CORE, CLUSTER, namespace.map(str::to_owned), name)
}

/// The key of a MachineSet.
#[must_use]
pub(crate) fn machine_set(namespace: Option<&str>, name: &str) -> Key {
    Key::of(CORE, MACHINE_SET, namespace.map(str::to_owned), name)
}

/// The name of what a template makes, by the template's own name; the contract wants `...Template`.
#[must_use]
pub(crate) fn made_by(template: &str) -> &str {
    template.trim_end_matches("Template")
}

/// A kind by its role alone.
const fn plain(role: Role) -> Kind {
    Kind::new("", "", role)
}

static TEMPLATE: Kind = plain(Role::Template);
static CONTROL_PLANE_KIND: Kind = plain(Role::ControlPlane);
static INFRA_CLUSTER: Kind = plain(Role::InfraCluster);
static INFRA_POOL: Kind = plain(Role::InfraPool);
static INFRA_MACHINE: Kind = plain(Role::InfraMachine);
static CONFIG: Kind = plain(Role::Config);
static CONFIG_MAP_KIND: Kind = Kind { named_alone: true, ..plain(Role::Data) };
static SECRET_KIND: Kind = Kind { named_alone: true, ..plain(Role::Data) };
static POOL: Kind = Kind { named_alone: true, ..plain(Role::Other) };
static OTHER: Kind = plain(Role::Other);

/// What the contract says of a kind that no provider claims.
#[must_use]
pub(crate) fn of(group: &str, name: &str) -> &'static Kind {
    if name.ends_with("Template") {
        return &TEMPLATE;
    }
    match group {
        "" if name == SECRET => &SECRET_KIND,
        "" if name == CONFIG_MAP => &CONFIG_MAP_KIND,
        CONTROL_PLANE => &CONTROL_PLANE_KIND,
        BOOTSTRAP if name.ends_with("Config") => &CONFIG,
        BOOTSTRAP if name.ends_with("MachinePool") => &INFRA_POOL,
        _ if is_infrastructure(group) => match name {
            _ if name.ends_with("MachinePoolMachine") => &INFRA_MACHINE,
            _ if name.ends_with("MachinePool") => &INFRA_POOL,
            _ if name.ends_with("Machine") => &INFRA_MACHINE,
            _ if name.ends_with("Cluster") => &INFRA_CLUSTER,
            _ if name.ends_with("ControlPlane") => &CONTROL_PLANE_KIND,
            _ => &OTHER,
        },
        _ if name.ends_with("Pool") => &POOL,
        _ => &OTHER,
    }
}

/// Whether a group is one of objects for which providers are installed.
#[must_use]
pub(crate) fn installs(group: &str) -> bool {
    matches!(group, OPERATOR | TURTLES)
}

/// Whether an object remediates a Machine: a MachineHealthCheck makes it of a `...RemediationTemplate`, with the Machine as its owner.
#[must_use]
pub(crate) fn is_remediation(key: &Key) -> bool {
    is_infrastructure(&key.group) && key.kind.ends_with("Remediation")
}

/// Whether a group is one of infrastructure objects; some providers have a second one.
#[must_use]
pub(crate) fn is_infrastructure(group: &str) -> bool {
    group.ends_with(INFRASTRUCTURE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_of_an_unknown_provider_gets_its_role_from_the_contract() {
        let role = |group, name| of(group, name).role;
        assert_eq!(role(INFRASTRUCTURE, "NewCloudMachineTemplate"), Role::Template);
        assert_eq!(role(INFRASTRUCTURE, "NewCloudMachine"), Role::InfraMachine);
        assert_eq!(role(INFRASTRUCTURE, "NewCloudMachinePool"), Role::InfraPool);
        assert_eq!(role(INFRASTRUCTURE, "NewCloudCluster"), Role::InfraCluster);
        assert_eq!(role(INFRASTRUCTURE, "NewCloudClusterIdentity"), Role::Other);
        assert_eq!(role(CONTROL_PLANE, "NewControlPlane"), Role::ControlPlane);
        assert_eq!(role(INFRASTRUCTURE, "NewManagedControlPlane"), Role::ControlPlane);
        assert_eq!(role(CONTROL_PLANE, "NewControlPlaneTemplate"), Role::Template);
        assert_eq!(role(BOOTSTRAP, "NewConfig"), Role::Config);
        assert_eq!(role("cluster.example.com", "NewCluster"), Role::Other);
    }
}
