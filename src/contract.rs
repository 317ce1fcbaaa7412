//! Names of Kubernetes and of Cluster API's contract that rooms below `kinds` need too: groups, kinds and labels, words alone.

/// The core group of Cluster API.
pub(crate) const CORE: &str = "cluster.x-k8s.io";
/// How the groups of its other controllers end (`docs/book/src/developer/providers/contracts` of Cluster API 1.14).
pub(crate) const GROUPS_END: &str = ".cluster.x-k8s.io";
/// Label of everything that belongs to a cluster (Cluster API `api/core/v1beta2`, ClusterNameLabel).
pub(crate) const CLUSTER_NAME: &str = "cluster.x-k8s.io/cluster-name";
/// The name of the Machine kind.
pub(crate) const MACHINE: &str = "Machine";
/// The name of the MachineSet kind.
pub(crate) const MACHINE_SET: &str = "MachineSet";
/// The name of the Secret kind.
pub(crate) const SECRET: &str = "Secret";
/// The name of the ConfigMap kind.
pub(crate) const CONFIG_MAP: &str = "ConfigMap";
