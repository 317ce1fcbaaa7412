//! What else must be known to judge a change: which kinds are read around one, and why.

use super::contract::{
    BOOTSTRAP, CLUSTER, CLUSTER_CLASS, CORE, MACHINE, MACHINE_DEPLOYMENT, MACHINE_POOL, MACHINE_SET, is_infrastructure,
};
use super::kind::{Kind, Role};
use crate::tree::Value;

/// A kind that is read: group, name, and why.
pub(crate) type Read = (&'static str, &'static str, &'static str);

/// Whether a Cluster or a class says that there may be MachinePools: it names some, or it is paused, which its own pools wait for.
#[must_use]
pub(crate) fn may_have_pools(object: &Value) -> bool {
    object.pointer("/spec/paused") == Some(&Value::Bool(true)) || names_pools(object)
}

/// Whether a topology or a class has groups that are MachinePools.
#[must_use]
pub(crate) fn names_pools(object: &Value) -> bool {
    let has = |pointer: &str| object.pointer(pointer).and_then(Value::as_array).is_some_and(|pools| !pools.is_empty());
    has("/spec/topology/workers/machinePools") || has("/spec/workers/machinePools")
}

impl Kind {
    /// What is read to judge a change of this kind in this group.
    pub fn reads(&self, group: &str) -> impl Iterator<Item = &'static Read> + use<> {
        let pools = self.pools.map_or(&[][..], |pools| pools.kinds);
        self.of_role(group).iter().chain(pools)
    }

    /// What is read beside that where the account may. Without the right it is doubt only where something says that such objects may be
    /// there: every Cluster may have pools, and most have none.
    pub fn may_read(&self) -> &'static [Read] {
        match self.role {
            Role::Cluster | Role::Class => &[(CORE, MACHINE_POOL, "pools of")],
            Role::ControlPlane => &[(CORE, MACHINE_POOL, "workers that may wait for")],
            _ => &[],
        }
    }

    /// What is read to judge a change of an object of this role in this group.
    fn of_role(&self, group: &str) -> &'static [Read] {
        const OF_CLUSTER: Read = (CORE, CLUSTER, "cluster of");
        const MACHINES: Read = (CORE, MACHINE, "Machines of");
        const SETS: Read = (CORE, MACHINE_SET, "revisions of");
        const DEPLOYMENTS: Read = (CORE, MACHINE_DEPLOYMENT, "owners that refer to");
        const CLASSES: Read = (CORE, CLUSTER_CLASS, "classes that may name");
        const WAITING: Read = (CORE, MACHINE_DEPLOYMENT, "workers that may wait for");
        match self.role {
            Role::Deployment | Role::Set => &[OF_CLUSTER, SETS, MACHINES],
            Role::Pool => &[OF_CLUSTER, MACHINES],
            // Workers may wait for the version of their control plane, whichever release they are of.
            Role::ControlPlane => &[OF_CLUSTER, WAITING, SETS, MACHINES],
            // Who replaces an unhealthy Machine, and whether it does, is asked of its owner.
            // A host that comes lets a rollout go on that waits for one.
            Role::HealthCheck | Role::Machine | Role::Host => &[OF_CLUSTER, DEPLOYMENTS, SETS, MACHINES],
            // A class that names a template has clusters that are made of it, in any namespace.
            Role::Template if group == super::contract::CONTROL_PLANE => &[OF_CLUSTER, CLASSES, MACHINES],
            _ if group == super::contract::CONTROL_PLANE => &[OF_CLUSTER, MACHINES],
            Role::Cluster | Role::Class => {
                &[OF_CLUSTER, (CORE, CLUSTER_CLASS, "class of"), DEPLOYMENTS, SETS, MACHINES]
            }
            Role::InfraCluster => &[OF_CLUSTER],
            Role::InfraPool => &[OF_CLUSTER, (CORE, MACHINE_POOL, "owners that refer to")],
            Role::Template if group == BOOTSTRAP || is_infrastructure(group) => {
                &[OF_CLUSTER, CLASSES, DEPLOYMENTS, SETS, MACHINES]
            }
            _ if group == BOOTSTRAP || is_infrastructure(group) => &[OF_CLUSTER, DEPLOYMENTS, SETS, MACHINES],
            _ => &[],
        }
    }
}
