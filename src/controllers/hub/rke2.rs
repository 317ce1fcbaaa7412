//! The moves of the RKE2 kinds: RKE2ControlPlane and its template.

use super::moves::{How, Move};

/// Fields of an RKE2ControlPlane.
pub(super) const CONTROL_PLANE: &[Move] = &[
    Move("spec.machineTemplate.infrastructureRef", "spec.machineTemplate.spec.infrastructureRef", How::Ref),
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
];

/// Durations of an RKE2ControlPlane that stay where they are.
pub(super) const DURATIONS: &[Move] = &[
    Move("nodeDrainTimeout", "nodeDrainTimeout", How::Seconds),
    Move("remediationStrategy.retryPeriod", "remediationStrategy.retryPeriod", How::Seconds),
    Move("remediationStrategy.minHealthyPeriod", "remediationStrategy.minHealthyPeriod", How::Seconds),
];
