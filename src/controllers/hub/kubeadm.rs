//! The moves of the kubeadm kinds: KubeadmControlPlane, KubeadmConfig and their templates.

use super::moves::{How, Move};

/// Fields of a KubeadmConfigSpec.
pub(super) const CONFIG: &[Move] = &[
    Move("clusterConfiguration.apiServer.extraArgs", "clusterConfiguration.apiServer.extraArgs", How::Args),
    Move(
        "clusterConfiguration.controllerManager.extraArgs",
        "clusterConfiguration.controllerManager.extraArgs",
        How::Args,
    ),
    Move("clusterConfiguration.scheduler.extraArgs", "clusterConfiguration.scheduler.extraArgs", How::Args),
    Move("clusterConfiguration.etcd.local.extraArgs", "clusterConfiguration.etcd.local.extraArgs", How::Args),
    Move(
        "initConfiguration.nodeRegistration.kubeletExtraArgs",
        "initConfiguration.nodeRegistration.kubeletExtraArgs",
        How::Args,
    ),
    Move(
        "joinConfiguration.nodeRegistration.kubeletExtraArgs",
        "joinConfiguration.nodeRegistration.kubeletExtraArgs",
        How::Args,
    ),
    Move(
        "clusterConfiguration.apiServer.timeoutForControlPlane",
        "clusterConfiguration.apiServer.timeoutForControlPlane",
        How::Seconds,
    ),
    Move("joinConfiguration.discovery.timeout", "joinConfiguration.discovery.timeout", How::Seconds),
    Move("initConfiguration.bootstrapTokens[*].ttl", "initConfiguration.bootstrapTokens[*].ttlSeconds", How::Seconds),
];

/// Fields of a KubeadmControlPlane around its config.
pub(super) const CONTROL_PLANE: &[Move] = &[
    Move("spec.machineTemplate.infrastructureRef", "spec.machineTemplate.spec.infrastructureRef", How::Ref),
    Move("spec.machineTemplate.taints", "spec.machineTemplate.spec.taints", How::Same),
    Move("spec.machineTemplate.readinessGates", "spec.machineTemplate.spec.readinessGates", How::Same),
    Move(
        "spec.machineTemplate.nodeDrainTimeout",
        "spec.machineTemplate.spec.deletion.nodeDrainTimeoutSeconds",
        How::Seconds,
    ),
    Move(
        "spec.machineTemplate.nodeVolumeDetachTimeout",
        "spec.machineTemplate.spec.deletion.nodeVolumeDetachTimeoutSeconds",
        How::Seconds,
    ),
    Move(
        "spec.machineTemplate.nodeDeletionTimeout",
        "spec.machineTemplate.spec.deletion.nodeDeletionTimeoutSeconds",
        How::Seconds,
    ),
    Move("spec.rolloutBefore", "spec.rollout.before", How::Same),
    Move("spec.rolloutAfter", "spec.rollout.after", How::Same),
    Move("spec.rolloutStrategy", "spec.rollout.strategy", How::Same),
    Move("spec.remediationStrategy.retryPeriod", "spec.remediation.retryPeriodSeconds", How::Seconds),
    Move("spec.remediationStrategy.minHealthyPeriod", "spec.remediation.minHealthyPeriodSeconds", How::Seconds),
    Move("spec.remediationStrategy", "spec.remediation", How::Same),
    Move("spec.machineNamingStrategy", "spec.machineNaming", How::Same),
];
