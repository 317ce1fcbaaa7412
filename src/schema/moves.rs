//! The one table of what stands elsewhere in v1beta2, kind by kind, in the order in which it is moved there; on the way back
//! the order is the other way round. Live objects are brought into the rendered version by it, and the mirrors bring both
//! sides into one superset form.

/// How a value changes while it moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum How {
    /// Not at all.
    Same,
    /// Not at all, and it is what is left of a map when its parts have moved.
    Rest,
    /// A Go duration becomes whole seconds.
    Seconds,
    /// A reference says a group instead of a version.
    Reference,
    /// A reference keeps its version and loses what only old references have.
    Template,
    /// A reference keeps its name and namespace only.
    Named,
    /// A map of arguments becomes a list.
    Arguments,
    /// Not at all, and the `type` beside it says `ignition`.
    Ignition,
    /// `false` and absent were the same.
    Plain,
    /// An address without host and port and none at all were the same.
    Endpoint,
    /// There is no such field any more.
    Gone,
    /// There was no such field: conversion keeps it in an annotation, out of sight.
    New,
}

/// What the type says beside what moves as [`How::Ignition`].
pub(crate) const IGNITION: &str = "ignition";

/// One place of v1beta1 and where it stands in v1beta2.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Move {
    /// Place in v1beta1; dotted, `[*]` is every item of a list.
    pub(crate) from: &'static str,
    /// Place in v1beta2.
    pub(crate) to: &'static str,
    /// What becomes of the value.
    pub(crate) how: How,
}

/// A move.
const fn moved(from: &'static str, to: &'static str, how: How) -> Move {
    Move { from, to, how }
}

/// A place that changes its form only.
const fn reformed(place: &'static str, how: How) -> Move {
    moved(place, place, how)
}

use How::{Arguments, Endpoint, Gone, Ignition, Named, New, Plain, Reference, Rest, Same, Seconds, Template};

/// References of a Machine's spec.
const MACHINE: &[Move] = &[reformed("bootstrap.configRef", Reference), reformed("infrastructureRef", Reference)];

/// Timeouts of a Machine's spec, and of a part of a class or of a topology.
const TIMEOUTS: &[Move] = &[
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
    // `api/core/v1beta2/conversion.go` Convert_bool_To_Pointer_bool, asked by `bootstrap/kubeadm/webhooks/conversion/kubeadmconfig.go`
    // RestoreBoolIntentKubeadmConfigSpec of Cluster API 1.14.
    reformed("files[*].append", Plain),
    reformed("ignition.containerLinuxConfig.strict", Plain),
    reformed("clusterConfiguration.apiServer.extraVolumes[*].readOnly", Plain),
    reformed("clusterConfiguration.controllerManager.extraVolumes[*].readOnly", Plain),
    reformed("clusterConfiguration.scheduler.extraVolumes[*].readOnly", Plain),
    reformed("joinConfiguration.discovery.bootstrapToken.unsafeSkipCAVerification", Plain),
    reformed("joinConfiguration.discovery.file.kubeConfig.cluster.insecureSkipTLSVerify", Plain),
    reformed("joinConfiguration.discovery.file.kubeConfig.user.exec.provideClusterInfo", Plain),
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

/// The template of the Machines of a control plane.
const MACHINE_TEMPLATE: &[Move] = &[
    moved("machineTemplate.infrastructureRef", "machineTemplate.spec.infrastructureRef", Reference),
    moved("machineTemplate.nodeDrainTimeout", "machineTemplate.spec.deletion.nodeDrainTimeoutSeconds", Seconds),
    moved(
        "machineTemplate.nodeVolumeDetachTimeout",
        "machineTemplate.spec.deletion.nodeVolumeDetachTimeoutSeconds",
        Seconds,
    ),
    moved("machineTemplate.nodeDeletionTimeout", "machineTemplate.spec.deletion.nodeDeletionTimeoutSeconds", Seconds),
];

/// What a KubeadmControlPlane has around its config and that template.
const KUBEADM_CONTROL_PLANE: &[Move] = &[
    moved("machineTemplate.readinessGates", "machineTemplate.spec.readinessGates", Same),
    moved("machineTemplate.taints", "machineTemplate.spec.taints", Same),
    moved("rolloutBefore", "rollout.before", Same),
    moved("rolloutAfter", "rollout.after", Same),
    moved("rolloutStrategy", "rollout.strategy", Same),
    moved("remediationStrategy.retryPeriod", "remediation.retryPeriodSeconds", Seconds),
    moved("remediationStrategy.minHealthyPeriod", "remediation.minHealthyPeriodSeconds", Seconds),
    moved("remediationStrategy", "remediation", Rest),
    moved("machineNamingStrategy", "machineNaming", Same),
];

/// What a MachineDeployment has around its template.
const DEPLOYMENT: &[Move] = &[
    moved("rolloutAfter", "rollout.after", Same),
    moved("strategy.remediation", "remediation", Same),
    moved("strategy.rollingUpdate.deletePolicy", "deletion.order", Same),
    moved("strategy", "rollout.strategy", Same),
    moved("minReadySeconds", "template.spec.minReadySeconds", Same),
    moved("machineNamingStrategy", "machineNaming", Same),
    reformed("progressDeadlineSeconds", Gone),
    reformed("revisionHistoryLimit", Gone),
];

/// What a MachineSet has around its template.
const SET: &[Move] = &[
    moved("deletePolicy", "deletion.order", Same),
    moved("minReadySeconds", "template.spec.minReadySeconds", Same),
    moved("machineNamingStrategy", "machineNaming", Same),
];

/// What a MachinePool has around its template.
const POOL: &[Move] = &[moved("minReadySeconds", "template.spec.minReadySeconds", Same)];

/// What only a Machine of its own has.
const LONE_MACHINE: &[Move] = &[reformed("minReadySeconds", New)];

/// The checks of a MachineHealthCheck, below what holds them in v1beta1 and in v1beta2.
macro_rules! health_check {
    ($from:literal, $to:literal) => {
        &[
            moved(
                concat!($from, "unhealthyConditions[*].timeout"),
                concat!($from, "unhealthyConditions[*].timeoutSeconds"),
                Seconds,
            ),
            moved(
                concat!($from, "unhealthyMachineConditions[*].timeout"),
                concat!($from, "unhealthyMachineConditions[*].timeoutSeconds"),
                Seconds,
            ),
            moved(concat!($from, "unhealthyConditions"), concat!($to, "checks.unhealthyNodeConditions"), Same),
            moved(
                concat!($from, "unhealthyMachineConditions"),
                concat!($to, "checks.unhealthyMachineConditions"),
                Same,
            ),
            moved(concat!($from, "nodeStartupTimeout"), concat!($to, "checks.nodeStartupTimeoutSeconds"), Seconds),
            moved(
                concat!($from, "maxUnhealthy"),
                concat!($to, "remediation.triggerIf.unhealthyLessThanOrEqualTo"),
                Same,
            ),
            moved(concat!($from, "unhealthyRange"), concat!($to, "remediation.triggerIf.unhealthyInRange"), Same),
            moved(concat!($from, "remediationTemplate"), concat!($to, "remediation.templateRef"), Template),
        ]
    };
}

/// A MachineHealthCheck.
const HEALTH_CHECK: &[Move] = health_check!("", "");

/// The health check of a class or of a topology.
const INNER_HEALTH_CHECK: &[Move] = health_check!("machineHealthCheck.", "healthCheck.");

/// What only that of a topology has.
const INNER_SWITCH: &[Move] = &[moved("machineHealthCheck.enable", "healthCheck.enabled", Same)];

/// Names of a part of a class or of a topology, beside its timeouts.
const PART: &[Move] =
    &[moved("namingStrategy", "naming", Same), reformed("variables.overrides[*].definitionFrom", Gone)];

/// How workers of a class or of a topology are replaced.
const STRATEGY: &[Move] = &[
    moved("strategy.remediation.maxInFlight", "healthCheck.remediation.maxInFlight", Same),
    moved("strategy.rollingUpdate.deletePolicy", "deletion.order", Same),
    moved("strategy", "rollout.strategy", Same),
];

/// Workers of a class.
const CLASS_WORKER: &[Move] = &[
    moved("template.metadata", "metadata", Same),
    moved("template.bootstrap.ref", "bootstrap.templateRef", Template),
    moved("template.infrastructure.ref", "infrastructure.templateRef", Template),
];

/// A ClusterClass, beside its parts.
const CLUSTER_CLASS: &[Move] = &[
    moved("infrastructure.ref", "infrastructure.templateRef", Template),
    moved("infrastructureNamingStrategy", "infrastructure.naming", Same),
    moved("controlPlane.ref", "controlPlane.templateRef", Template),
    moved("controlPlane.machineInfrastructure.ref", "controlPlane.machineInfrastructure.templateRef", Template),
    moved("patches[*].external.generateExtension", "patches[*].external.generatePatchesExtension", Same),
    moved("patches[*].external.validateExtension", "patches[*].external.validateTopologyExtension", Same),
    moved("variables[*].metadata", "variables[*].deprecatedV1Beta1Metadata", Same),
];

/// A Cluster and its topology.
const CLUSTER: &[Move] = &[
    // Go writes the empty one of v1beta1 always (`api/core/v1beta1/cluster_types.go`, ClusterSpec), and never that of v1beta2.
    reformed("controlPlaneEndpoint", Endpoint),
    reformed("controlPlaneRef", Reference),
    reformed("infrastructureRef", Reference),
    moved("topology.class", "topology.classRef.name", Same),
    moved("topology.classNamespace", "topology.classRef.namespace", Same),
    reformed("topology.rolloutAfter", Gone),
    reformed("topology.variables[*].definitionFrom", Gone),
];

/// What an RKE2ControlPlane has no more.
const RKE2_GONE: &[Move] = &[reformed("infrastructureRef", Gone), reformed("nodeDrainTimeout", Gone)];

/// What a template of an RKE2ControlPlane has no more.
const RKE2_TEMPLATE_GONE: &[Move] = &[reformed("replicas", Gone), reformed("version", Gone)];

/// A config of k0s (k0smotron `api/bootstrap/v1beta1/k0s_controller_config_conversion.go` and `k0s_worker_config_conversion.go` of
/// 2.1). What else says how a node is provisioned v1beta1 has no place for, and nothing keeps it.
const K0S_CONFIG: &[Move] = &[
    reformed("provisioner", New),
    moved("ignition", "provisioner.ignition", Ignition),
    moved("customUserDataRef", "provisioner.customUserDataRef", Same),
    moved("preStartCommands", "preK0sCommands", Same),
    moved("postStartCommands", "postK0sCommands", Same),
];

/// A control plane of k0smotron that runs as Pods (k0smotron `api/k0smotron.io/v1beta1/k0smotroncluster_conversion.go` of 2.1), beside its
/// storage in Kine, which v1beta1 has without a type.
const K0SMOTRON: &[Move] = &[
    moved("controllerPlaneFlags", "controlPlaneFlags", Same),
    moved("etcd", "storage.etcd", Same),
    moved("kubeconfigRef", "remoteHostCluster.kubeconfigRef", Same),
];

/// A Metal3Machine's spec (CAPM3 `api/v1beta1/conversion.go` of 1.13).
const METAL3_MACHINE: &[Move] = &[moved("image.format", "image.diskFormat", Same), reformed("dataTemplate", Named)];

/// A template of Metal3Machines around their spec.
const METAL3_TEMPLATE: &[Move] = &[reformed("metadata", New)];

/// A Metal3DataTemplate. The parameters of a bond are sorted by their names there, as arguments are.
const METAL3_DATA: &[Move] = &[
    moved("metaData.ipAddressesFromIPPool", "metaData.ipAddressesFromPool", Same),
    moved("metaData.prefixesFromIPPool", "metaData.prefixesFromPool", Same),
    moved("metaData.gatewaysFromIPPool", "metaData.gatewaysFromPool", Same),
    moved("metaData.dnsServersFromIPPool", "metaData.dnsServersFromPool", Same),
    reformed("templateReference", Gone),
    reformed("networkData.links.bonds[*].parameters", Arguments),
];

/// Places of the workers of a class or a topology.
const DEPLOYMENTS_OF_CLASS: &str = "spec.workers.machineDeployments[*]";
const POOLS_OF_CLASS: &str = "spec.workers.machinePools[*]";
const DEPLOYMENTS_OF_TOPOLOGY: &str = "spec.topology.workers.machineDeployments[*]";
const POOLS_OF_TOPOLOGY: &str = "spec.topology.workers.machinePools[*]";

/// What moves in a kind: pairs of a prefix and the moves below it.
pub(crate) type Parts = &'static [(&'static str, &'static [Move])];

/// The moves of a kind; nothing where it is not known.
pub(crate) fn of_kind(kind: &str) -> Parts {
    KINDS.iter().find(|(name, _)| *name == kind).map_or(&[], |(_, parts)| *parts)
}

/// Each kind whose versions differ, and its moves.
pub(super) const KINDS: &[(&str, Parts)] = &[
    (
        "KubeadmControlPlane",
        &[("spec", MACHINE_TEMPLATE), ("spec", KUBEADM_CONTROL_PLANE), ("spec.kubeadmConfigSpec", KUBEADM)],
    ),
    (
        "KubeadmControlPlaneTemplate",
        &[
            ("spec.template.spec", MACHINE_TEMPLATE),
            ("spec.template.spec", KUBEADM_CONTROL_PLANE),
            ("spec.template.spec.kubeadmConfigSpec", KUBEADM),
        ],
    ),
    ("KubeadmConfig", &[("spec", KUBEADM)]),
    ("KubeadmConfigTemplate", &[("spec.template.spec", KUBEADM)]),
    ("MachineDeployment", &[("spec.template.spec", MACHINE), ("spec.template.spec", TIMEOUTS), ("spec", DEPLOYMENT)]),
    ("MachineSet", &[("spec.template.spec", MACHINE), ("spec.template.spec", TIMEOUTS), ("spec", SET)]),
    ("MachinePool", &[("spec.template.spec", MACHINE), ("spec.template.spec", TIMEOUTS), ("spec", POOL)]),
    ("Machine", &[("spec", MACHINE), ("spec", TIMEOUTS), ("spec", LONE_MACHINE)]),
    ("MachineHealthCheck", &[("spec", HEALTH_CHECK)]),
    (
        "Cluster",
        &[
            ("spec", CLUSTER),
            ("spec.topology.controlPlane", INNER_HEALTH_CHECK),
            ("spec.topology.controlPlane", INNER_SWITCH),
            ("spec.topology.controlPlane", TIMEOUTS),
            ("spec.topology.controlPlane", PART),
            (DEPLOYMENTS_OF_TOPOLOGY, INNER_HEALTH_CHECK),
            (DEPLOYMENTS_OF_TOPOLOGY, INNER_SWITCH),
            (DEPLOYMENTS_OF_TOPOLOGY, TIMEOUTS),
            (DEPLOYMENTS_OF_TOPOLOGY, PART),
            (DEPLOYMENTS_OF_TOPOLOGY, STRATEGY),
            (POOLS_OF_TOPOLOGY, TIMEOUTS),
            (POOLS_OF_TOPOLOGY, PART),
        ],
    ),
    (
        "ClusterClass",
        &[
            ("spec", CLUSTER_CLASS),
            ("spec.controlPlane", INNER_HEALTH_CHECK),
            ("spec.controlPlane", TIMEOUTS),
            ("spec.controlPlane", PART),
            (DEPLOYMENTS_OF_CLASS, CLASS_WORKER),
            (DEPLOYMENTS_OF_CLASS, INNER_HEALTH_CHECK),
            (DEPLOYMENTS_OF_CLASS, TIMEOUTS),
            (DEPLOYMENTS_OF_CLASS, PART),
            (DEPLOYMENTS_OF_CLASS, STRATEGY),
            (POOLS_OF_CLASS, CLASS_WORKER),
            (POOLS_OF_CLASS, TIMEOUTS),
            (POOLS_OF_CLASS, PART),
        ],
    ),
    ("RKE2ControlPlane", &[("spec", MACHINE_TEMPLATE), ("spec", RKE2_GONE)]),
    (
        "RKE2ControlPlaneTemplate",
        &[
            ("spec.template.spec", MACHINE_TEMPLATE),
            ("spec.template.spec", RKE2_GONE),
            ("spec.template.spec", RKE2_TEMPLATE_GONE),
        ],
    ),
    ("K0sControlPlane", &[("spec.k0sConfigSpec", K0S_CONFIG)]),
    ("K0sControlPlaneTemplate", &[("spec.template.spec.k0sConfigSpec", K0S_CONFIG)]),
    ("K0sControllerConfig", &[("spec", K0S_CONFIG)]),
    ("K0sWorkerConfig", &[("spec", K0S_CONFIG)]),
    ("K0sWorkerConfigTemplate", &[("spec.template.spec", K0S_CONFIG)]),
    ("K0smotronControlPlane", &[("spec", K0SMOTRON)]),
    ("Metal3Machine", &[("spec", METAL3_MACHINE)]),
    ("Metal3MachineTemplate", &[("spec.template.spec", METAL3_MACHINE), ("spec.template", METAL3_TEMPLATE)]),
    ("Metal3DataTemplate", &[("spec", METAL3_DATA)]),
];

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
