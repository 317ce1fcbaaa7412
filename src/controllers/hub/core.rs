//! The moves of the core kinds: Machine, MachineDeployment, MachineSet, MachinePool, MachineHealthCheck and Cluster.

use super::moves::{How, Move};

/// Fields of a Machine template's spec (`spec` of a Machine, `spec.template.spec` of its owners).
pub(super) const MACHINE: &[Move] = &[
    Move("bootstrap.configRef", "bootstrap.configRef", How::Ref),
    Move("infrastructureRef", "infrastructureRef", How::Ref),
    Move("nodeDrainTimeout", "deletion.nodeDrainTimeoutSeconds", How::Seconds),
    Move("nodeVolumeDetachTimeout", "deletion.nodeVolumeDetachTimeoutSeconds", How::Seconds),
    Move("nodeDeletionTimeout", "deletion.nodeDeletionTimeoutSeconds", How::Seconds),
];

/// Fields of a MachineDeployment and a MachineSet around their template.
pub(super) const WORKERS: &[Move] = &[
    Move("spec.rolloutAfter", "spec.rollout.after", How::Same),
    Move("spec.strategy.remediation", "spec.remediation", How::Same),
    Move("spec.strategy.rollingUpdate.deletePolicy", "spec.deletion.order", How::Same),
    Move("spec.strategy", "spec.rollout.strategy", How::Same),
    Move("spec.deletePolicy", "spec.deletion.order", How::Same),
    Move("spec.minReadySeconds", "spec.template.spec.minReadySeconds", How::Same),
    Move("spec.machineNamingStrategy", "spec.machineNaming", How::Same),
];

/// Fields of a MachineHealthCheck.
pub(super) const HEALTH_CHECK: &[Move] = &[
    Move("spec.nodeStartupTimeout", "spec.checks.nodeStartupTimeoutSeconds", How::Seconds),
    Move("spec.unhealthyConditions[*].timeout", "spec.unhealthyConditions[*].timeoutSeconds", How::Seconds),
    Move("spec.unhealthyConditions", "spec.checks.unhealthyNodeConditions", How::Same),
    Move(
        "spec.unhealthyMachineConditions[*].timeout",
        "spec.unhealthyMachineConditions[*].timeoutSeconds",
        How::Seconds,
    ),
    Move("spec.unhealthyMachineConditions", "spec.checks.unhealthyMachineConditions", How::Same),
    Move("spec.maxUnhealthy", "spec.remediation.triggerIf.unhealthyLessThanOrEqualTo", How::Same),
    Move("spec.unhealthyRange", "spec.remediation.triggerIf.unhealthyInRange", How::Same),
    Move("spec.remediationTemplate", "spec.remediation.templateRef", How::Same),
];

/// Fields of a Cluster.
pub(super) const CLUSTER: &[Move] = &[
    Move("spec.controlPlaneRef", "spec.controlPlaneRef", How::Ref),
    Move("spec.infrastructureRef", "spec.infrastructureRef", How::Ref),
    Move("spec.topology.class", "spec.topology.classRef.name", How::Same),
    Move("spec.topology.classNamespace", "spec.topology.classRef.namespace", How::Same),
];
