//! What changed in Cluster API and its kubeadm providers, by the version that brought it. They are released together.

use crate::kinds::contract::{CLUSTER, CLUSTER_CLASS, MACHINE_DEPLOYMENT};
use crate::kinds::versions::{Later, Since};
use crate::model::Effect;

/// The control plane of kubeadm.
const KUBEADM: &str = "KubeadmControlPlane";

const fn capi(name: &'static str, minor: u64, what: &'static str) -> Since {
    Since::new(name, "cluster-api", (1, minor), what)
}

/// The gate of sets of resources is on.
pub(crate) static RESOURCE_SETS_ON: Since =
    capi("resource-sets-on", 0, "the feature gate ClusterResourceSet is on unless somebody turned it off");
/// The gate of pools is on.
pub(crate) static POOLS_ON: Since =
    capi("pools-on", 7, "the feature gate MachinePool is on unless somebody turned it off");
/// Times count from their very second, and a new gate of kubelets.
pub(crate) static LOCAL_MODE: Since = capi(
    "local-mode",
    8,
    "kubeadm control planes set the kubeadm gate ControlPlaneKubeletLocalMode for Kubernetes 1.31 to 1.35",
);
/// The time of a rollout counts from its very second.
pub(crate) static AFTER_INCLUSIVE: Since =
    capi("after-inclusive", 8, "`rollout.after` of a MachineDeployment has passed in the very second that it names")
        .judging(&[Later {
            kind: MACHINE_DEPLOYMENT,
            path: "spec.rollout.after",
            effect: Effect::Rollout,
            says: "replaces Machines in the very second that it names, also those that were made in that second",
        }]);
/// CoreDNS can be skipped in the webhook too.
pub(crate) static SKIP_COREDNS: Since = capi("skip-coredns", 8, "the webhook heeds the annotation that skips CoreDNS");
/// Old sets go on without their templates.
pub(crate) static OLD_SETS_SCALE_DOWN: Since = capi(
    "old-sets-scale-down",
    8,
    "a MachineSet whose MachineDeployment has moved on scales down although its templates are gone",
);
/// References are compared without their namespace.
pub(crate) static REFERENCES_WITHOUT_NAMESPACE: Since =
    capi("references-without-namespace", 9, "MachineDeployments compare references without their namespace");
/// Only what makes Machines is compared.
pub(crate) static IN_PLACE_FIELDS: Since = capi(
    "in-place-fields",
    9,
    "all fields of a MachineDeployment's template but version, bootstrap, infrastructure and failure domain reach Machines in place",
);
/// Names of control plane Machines.
pub(crate) static MACHINE_NAMING: Since =
    capi("machine-naming", 9, "the template for names of control plane Machines must keep them apart").judging(&[
        Later {
            kind: KUBEADM,
            path: "spec.machineNaming.template",
            effect: Effect::Rejected,
            says: "is refused where it does not keep Machines apart",
        },
    ]);
/// Preflight checks are on.
pub(crate) static PREFLIGHT_ON: Since =
    capi("preflight-on", 9, "the feature gate MachineSetPreflightChecks is on unless somebody turned it off");
/// An upgrade waits for the last one.
pub(crate) static UPGRADES_WAIT: Since = capi(
    "upgrades-wait",
    9,
    "a topology takes no new version while parts of the cluster have not arrived at the last one",
)
.judging(&[Later {
    kind: CLUSTER,
    path: "spec.topology.version",
    effect: Effect::Rejected,
    says: "is refused while parts of the cluster have not arrived at the last version",
}]);
/// A MachineSet of the same second is kept again.
pub(crate) static AFTER_KEEPS_EQUAL: Since =
    capi("after-keeps-equal", 10, "a MachineSet made in the second that `rollout.after` names is kept, as up to 1.7");
/// One more check.
pub(crate) static VERSION_SKEW_CHECK: Since =
    capi("version-skew-check", 10, "there is a preflight check ControlPlaneVersionSkew");
/// Names of workers.
pub(crate) static WORKER_NAMING: Since =
    capi("worker-naming", 10, "the template for names of workers must keep them apart")
        .judging(&[Later {
            kind: MACHINE_DEPLOYMENT,
            path: "spec.machineNaming.template",
            effect: Effect::Rejected,
            says: "is refused where it does not keep Machines apart",
        }])
        .patched(&[(1, 9, 8)]);
/// The references of a Cluster stay.
pub(crate) static REFERENCES_STAY: Since = capi(
    "references-stay",
    10,
    "the references of a Cluster to its control plane and infrastructure cannot be taken away",
)
.judging(&[
    Later { kind: CLUSTER, path: "spec.controlPlaneRef", effect: Effect::Rejected, says: "cannot be taken away" },
    Later { kind: CLUSTER, path: "spec.infrastructureRef", effect: Effect::Rejected, says: "cannot be taken away" },
]);
/// Sets of resources need no gate.
pub(crate) static RESOURCE_SETS_FREE: Since =
    capi("resource-sets-free", 10, "ClusterResourceSets need no feature gate any more");
/// The types of v1beta2.
pub(crate) static V1BETA2: Since = capi(
    "v1beta2",
    11,
    "webhooks and controllers read v1beta2: empty blocks count as absent, conversion from v1beta1 drops what it cannot tell apart, and mutating webhooks add only what Go cannot leave out",
).judging(&[
Later { kind: KUBEADM, path: "spec.kubeadmConfigSpec.joinConfiguration.discovery.timeout", effect: Effect::Rollout, says: "replaces Machines that joined: conversion moves it to timeouts.tlsBootstrapSeconds, which is compared" },
]);
/// Wanted objects are computed in full.
pub(crate) static DESIRED_OBJECTS: Since =
    capi("desired-objects", 12, "control planes compare Machines with the objects that they would make now").judging(
        &[Later {
            kind: KUBEADM,
            path: "spec.kubeadmConfigSpec.joinConfiguration.controlPlane",
            effect: Effect::Rollout,
            says: "replaces Machines that joined",
        }],
    );
/// Taints of Machines.
pub(crate) static MACHINE_TAINTS: Since = capi("machine-taints", 12, "Machines and their templates can have taints");
/// A selector goes to every MachineSet.
pub(crate) static SELECTOR_TO_ALL_SETS: Since = capi(
    "selector-to-all-sets",
    12,
    "a MachineDeployment hands its selector to all of its MachineSets, not only to the one that it keeps",
);
/// Upgrades by a plan.
pub(crate) static UPGRADE_PLANS: Since =
    capi("upgrade-plans", 12, "a class can list its versions or plan upgrades, also over more than one minor");
/// Taints of control planes.
pub(crate) static CONTROL_PLANE_TAINTS: Since =
    capi("control-plane-taints", 13, "the Machines of a kubeadm control plane can have taints");
/// A plan that no hook follows.
pub(crate) static STEPS_WITHOUT_HOOKS: Since = capi(
    "steps-without-hooks",
    13,
    "an upgrade over more than one minor version goes on with the feature gate RuntimeSDK off",
);
/// Taints of a class are looked at.
pub(crate) static CLASS_TAINTS: Since =
    capi("class-taints", 13, "the webhooks look at the taints of a class and of a topology");
/// A class cannot begin or cease to make the Machines of its control plane.
pub(crate) static MACHINES_OF_PLANE_STAY: Since = capi(
    "machines-of-plane-stay",
    13,
    "a class cannot get or lose `controlPlane.machineInfrastructure`, nor change its kind",
)
.judging(&[Later {
    kind: CLUSTER_CLASS,
    path: "spec.controlPlane.machineInfrastructure",
    effect: Effect::Rejected,
    says: "cannot come or go while the class exists",
}]);
/// Patches may change the whole spec.
pub(crate) static PATCHES_OF_SPEC: Since =
    capi("patches-of-spec", 13, "a patch of a class may name `/spec` itself, older versions only what lies below it")
        .patched(&[(1, 11, 5), (1, 12, 2)]);
/// The timeout of components is left out.
pub(crate) static COMPONENT_TIMEOUT_FREE: Since = capi(
    "component-timeout-free",
    12,
    "`controlPlaneComponentHealthCheckSeconds` (`timeoutForControlPlane` in v1beta1) replaces no Machine of a control plane",
)
.patched(&[(1, 11, 4)]);
/// The settings of CoreDNS are left out.
pub(crate) static DNS_FREE: Since =
    capi("dns-free", 7, "`clusterConfiguration.dns` replaces no Machine of a control plane")
        .patched(&[(1, 5, 8), (1, 6, 4)]);
/// A topology and an autoscaler do not both count.
pub(crate) static ONE_COUNTS: Since = capi(
    "one-counts",
    8,
    "workers of a topology cannot have a number beside the annotations by which an autoscaler counts them",
)
.judging(&[Later {
    kind: CLUSTER,
    path: "spec.topology.workers.machineDeployments[].replicas",
    effect: Effect::Rejected,
    says: "is refused beside the annotations of an autoscaler",
}]);
/// Webhooks leave alone what they do not change.
pub(crate) static WRITES_ONLY_CHANGES: Since = capi(
    "writes-only-changes",
    13,
    "mutating webhooks write an object again only where a default changed something (controller-runtime 0.23)",
);
/// The clock of a topology.
pub(crate) static TOPOLOGY_CLOCK: Since =
    capi("topology-clock", 13, "a topology hands `rollout.after` to its control plane and MachineDeployments");

/// Patches reach the metadata of templates.
pub(crate) static PATCHED_METADATA: Since = capi(
    "patched-metadata",
    14,
    "labels and annotations that a patch of a class writes into `spec.template.metadata` are taken over",
);

/// All of them, from the oldest to the newest.
pub(crate) static ALL: &[&Since] = &[
    &RESOURCE_SETS_ON,
    &POOLS_ON,
    &DNS_FREE,
    &LOCAL_MODE,
    &AFTER_INCLUSIVE,
    &ONE_COUNTS,
    &SKIP_COREDNS,
    &OLD_SETS_SCALE_DOWN,
    &REFERENCES_WITHOUT_NAMESPACE,
    &IN_PLACE_FIELDS,
    &MACHINE_NAMING,
    &PREFLIGHT_ON,
    &UPGRADES_WAIT,
    &AFTER_KEEPS_EQUAL,
    &VERSION_SKEW_CHECK,
    &WORKER_NAMING,
    &REFERENCES_STAY,
    &RESOURCE_SETS_FREE,
    &V1BETA2,
    &COMPONENT_TIMEOUT_FREE,
    &DESIRED_OBJECTS,
    &MACHINE_TAINTS,
    &SELECTOR_TO_ALL_SETS,
    &UPGRADE_PLANS,
    &CONTROL_PLANE_TAINTS,
    &STEPS_WITHOUT_HOOKS,
    &CLASS_TAINTS,
    &MACHINES_OF_PLANE_STAY,
    &PATCHES_OF_SPEC,
    &WRITES_ONLY_CHANGES,
    &TOPOLOGY_CLOCK,
    &PATCHED_METADATA,
];
