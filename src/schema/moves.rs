//! The table of what stands elsewhere in v1beta2, kind by kind, in the order in which it is moved.

/// How a value changes while it moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum How {
    /// Not at all.
    Same,
    /// A Go duration becomes whole seconds.
    Seconds,
    /// A reference says a group instead of a version.
    Reference,
    /// A map of arguments becomes a list.
    Arguments,
    /// `false` and absent were the same.
    Plain,
    /// There is no such field any more.
    Gone,
}

/// One place of v1beta1 and where it stands in v1beta2.
#[derive(Debug, Clone, Copy)]
pub(super) struct Move {
    pub(super) from: &'static str,
    pub(super) to: &'static str,
    pub(super) how: How,
}

/// A move; both places are dotted, `[*]` is every item of a list.
const fn moved(from: &'static str, to: &'static str, how: How) -> Move {
    Move { from, to, how }
}

/// A place that changes its form only.
const fn reformed(place: &'static str, how: How) -> Move {
    moved(place, place, how)
}

use How::{Arguments, Gone, Plain, Reference, Same, Seconds};

/// Timeouts and references of a Machine's spec.
const MACHINE: &[Move] = &[
    reformed("bootstrap.configRef", Reference),
    reformed("infrastructureRef", Reference),
    moved("nodeDrainTimeout", "deletion.nodeDrainTimeoutSeconds", Seconds),
    moved("nodeVolumeDetachTimeout", "deletion.nodeVolumeDetachTimeoutSeconds", Seconds),
    moved("nodeDeletionTimeout", "deletion.nodeDeletionTimeoutSeconds", Seconds),
];

/// A KubeadmConfigSpec, beside `HEALTH_CHECK_TIMEOUT`.
const KUBEADM: &[Move] = &[
    reformed("clusterConfiguration.apiServer.extraArgs", Arguments),
    reformed("clusterConfiguration.controllerManager.extraArgs", Arguments),
    reformed("clusterConfiguration.scheduler.extraArgs", Arguments),
    reformed("clusterConfiguration.etcd.local.extraArgs", Arguments),
    reformed("initConfiguration.nodeRegistration.kubeletExtraArgs", Arguments),
    reformed("joinConfiguration.nodeRegistration.kubeletExtraArgs", Arguments),
    moved("initConfiguration.bootstrapTokens[*].ttl", "initConfiguration.bootstrapTokens[*].ttlSeconds", Seconds),
    moved("joinConfiguration.discovery.timeout", "joinConfiguration.timeouts.tlsBootstrapSeconds", Seconds),
    reformed("files[*].append", Plain),
    reformed("useExperimentalRetryJoin", Gone),
    reformed("clusterConfiguration.apiVersion", Gone),
    reformed("clusterConfiguration.kind", Gone),
    reformed("clusterConfiguration.clusterName", Gone),
    reformed("clusterConfiguration.kubernetesVersion", Gone),
    reformed("clusterConfiguration.networking", Gone),
    reformed("initConfiguration.apiVersion", Gone),
    reformed("initConfiguration.kind", Gone),
    reformed("joinConfiguration.apiVersion", Gone),
    reformed("joinConfiguration.kind", Gone),
];

/// What a KubeadmControlPlane has around its config.
const KUBEADM_CONTROL_PLANE: &[Move] = &[
    moved("machineTemplate.infrastructureRef", "machineTemplate.spec.infrastructureRef", Reference),
    moved("machineTemplate.readinessGates", "machineTemplate.spec.readinessGates", Same),
    moved("machineTemplate.nodeDrainTimeout", "machineTemplate.spec.deletion.nodeDrainTimeoutSeconds", Seconds),
    moved(
        "machineTemplate.nodeVolumeDetachTimeout",
        "machineTemplate.spec.deletion.nodeVolumeDetachTimeoutSeconds",
        Seconds,
    ),
    moved("machineTemplate.nodeDeletionTimeout", "machineTemplate.spec.deletion.nodeDeletionTimeoutSeconds", Seconds),
    moved("rolloutBefore", "rollout.before", Same),
    moved("rolloutAfter", "rollout.after", Same),
    moved("rolloutStrategy", "rollout.strategy", Same),
    moved("remediationStrategy.retryPeriod", "remediation.retryPeriodSeconds", Seconds),
    moved("remediationStrategy.minHealthyPeriod", "remediation.minHealthyPeriodSeconds", Seconds),
    moved("remediationStrategy.maxRetry", "remediation.maxRetry", Same),
    moved("machineNamingStrategy", "machineNaming", Same),
];

/// What owners of workers have around their template.
const WORKERS: &[Move] = &[
    moved("rolloutAfter", "rollout.after", Same),
    moved("strategy.remediation", "remediation", Same),
    moved("strategy.rollingUpdate.deletePolicy", "deletion.order", Same),
    moved("strategy", "rollout.strategy", Same),
    moved("deletePolicy", "deletion.order", Same),
    moved("minReadySeconds", "template.spec.minReadySeconds", Same),
    moved("machineNamingStrategy", "machineNaming", Same),
    reformed("progressDeadlineSeconds", Gone),
    reformed("revisionHistoryLimit", Gone),
];

/// A MachineHealthCheck.
const HEALTH_CHECK: &[Move] = &[
    moved("nodeStartupTimeout", "checks.nodeStartupTimeoutSeconds", Seconds),
    moved("unhealthyConditions", "checks.unhealthyNodeConditions", Same),
    moved("maxUnhealthy", "remediation.triggerIf.unhealthyLessThanOrEqualTo", Same),
    moved("unhealthyRange", "remediation.triggerIf.unhealthyInRange", Same),
    moved("remediationTemplate", "remediation.templateRef", Same),
];

/// The items of a MachineHealthCheck, in the place that they have in both forms in turn.
const HEALTH_CHECK_ITEMS: &[Move] = &[
    moved("unhealthyConditions[*].timeout", "unhealthyConditions[*].timeoutSeconds", Seconds),
    moved("checks.unhealthyNodeConditions[*].timeout", "checks.unhealthyNodeConditions[*].timeoutSeconds", Seconds),
];

/// A Cluster and its topology.
const CLUSTER: &[Move] = &[
    reformed("controlPlaneRef", Reference),
    reformed("infrastructureRef", Reference),
    moved("topology.class", "topology.classRef.name", Same),
    moved("topology.classNamespace", "topology.classRef.namespace", Same),
    reformed("topology.rolloutAfter", Gone),
    reformed("topology.variables[*].definitionFrom", Gone),
    moved("topology.controlPlane.nodeDrainTimeout", "topology.controlPlane.deletion.nodeDrainTimeoutSeconds", Seconds),
    moved(
        "topology.controlPlane.nodeVolumeDetachTimeout",
        "topology.controlPlane.deletion.nodeVolumeDetachTimeoutSeconds",
        Seconds,
    ),
    moved(
        "topology.controlPlane.nodeDeletionTimeout",
        "topology.controlPlane.deletion.nodeDeletionTimeoutSeconds",
        Seconds,
    ),
];

/// The workers of a topology, below one item.
const TOPOLOGY_WORKER: &[Move] = &[
    moved("nodeDrainTimeout", "deletion.nodeDrainTimeoutSeconds", Seconds),
    moved("nodeVolumeDetachTimeout", "deletion.nodeVolumeDetachTimeoutSeconds", Seconds),
    moved("nodeDeletionTimeout", "deletion.nodeDeletionTimeoutSeconds", Seconds),
    moved("strategy.remediation.maxInFlight", "healthCheck.remediation.maxInFlight", Same),
    moved("strategy.rollingUpdate.deletePolicy", "deletion.order", Same),
    moved("strategy", "rollout.strategy", Same),
];

/// An RKE2ControlPlane.
const RKE2_CONTROL_PLANE: &[Move] = &[
    moved("machineTemplate.infrastructureRef", "machineTemplate.spec.infrastructureRef", Reference),
    moved("machineTemplate.nodeDrainTimeout", "machineTemplate.spec.deletion.nodeDrainTimeoutSeconds", Seconds),
    moved(
        "machineTemplate.nodeVolumeDetachTimeout",
        "machineTemplate.spec.deletion.nodeVolumeDetachTimeoutSeconds",
        Seconds,
    ),
    moved("machineTemplate.nodeDeletionTimeout", "machineTemplate.spec.deletion.nodeDeletionTimeoutSeconds", Seconds),
];

/// The moves of a kind, as pairs of a prefix and what moves below it; nothing where the kind is not known.
pub(super) fn of_kind(kind: &str) -> &'static [(&'static str, &'static [Move])] {
    match kind {
        "KubeadmControlPlane" => &[("spec", KUBEADM_CONTROL_PLANE), ("spec.kubeadmConfigSpec", KUBEADM)],
        "KubeadmControlPlaneTemplate" => {
            &[("spec.template.spec", KUBEADM_CONTROL_PLANE), ("spec.template.spec.kubeadmConfigSpec", KUBEADM)]
        }
        "KubeadmConfig" => &[("spec", KUBEADM)],
        "KubeadmConfigTemplate" => &[("spec.template.spec", KUBEADM)],
        "MachineDeployment" | "MachineSet" | "MachinePool" => &[("spec", WORKERS), ("spec.template.spec", MACHINE)],
        "Machine" => &[("spec", MACHINE)],
        "MachineHealthCheck" => &[("spec", HEALTH_CHECK_ITEMS), ("spec", HEALTH_CHECK)],
        "Cluster" => &[
            ("spec", CLUSTER),
            ("spec.topology.workers.machineDeployments[*]", TOPOLOGY_WORKER),
            ("spec.topology.workers.machinePools[*]", TOPOLOGY_WORKER),
        ],
        "RKE2ControlPlane" => &[("spec", RKE2_CONTROL_PLANE)],
        _ => &[],
    }
}

/// Where the timeout for the API server went: places of v1beta2 below a kubeadm configuration.
pub(super) const HEALTH_CHECK_TIMEOUT: (&str, [&str; 2]) = (
    "clusterConfiguration.apiServer.timeoutForControlPlane",
    [
        "initConfiguration.timeouts.controlPlaneComponentHealthCheckSeconds",
        "joinConfiguration.timeouts.controlPlaneComponentHealthCheckSeconds",
    ],
);

/// Whether moves are those of a kubeadm configuration.
pub(super) fn is_kubeadm(moves: &[Move]) -> bool {
    moves.iter().any(|one| one.from == "useExperimentalRetryJoin")
}
