//! What the webhooks of the GCP provider let nobody change.
//! Read beside `webhooks/*.go` and `exp/webhooks/*.go` of cluster-api-provider-gcp 1.13.

use super::webhook::RULE;
use crate::kinds::diff::Style;
use crate::kinds::fixed::{Fixed, OWN_WAY};
use crate::kinds::immutable::Immutable;

/// What of a Machine and of a template of Machines may change.
pub(super) const FREE: &[&str] = &["providerID", "additionalLabels", "additionalNetworkTags"];

/// Pointers of the GCP types; lists and maps are left out by Go where they are empty.
pub(super) const STYLE: Style = Style {
    keep_empty: &[
        "encryptionKey",
        "managedKey",
        "rootDiskEncryptionKey",
        "serviceAccounts",
        "shieldedInstanceConfig",
        "suppliedKey",
    ],
    drop_zero: &["count", "preemptible", "rootDeviceSize"],
    keep_blank: &[
        "confidentialCompute",
        "deviceType",
        "image",
        "imageFamily",
        "ipForwarding",
        "kmsKeyServiceAccount",
        "onHostMaintenance",
        "provisioningModel",
        "rootDeviceType",
        "subnet",
        "value",
    ],
};

/// A Machine.
pub(super) static MACHINE: Fixed = Fixed { free: FREE, ..Fixed::spec(RULE, STYLE) };

/// The template of one, which the webhook compares in a way of its own but for these; no version up to 1.13.1 knows a dry run.
pub(super) static TEMPLATE: Fixed = Fixed { free: FREE, refuses_dry_run: |_| true, ..OWN_WAY };

/// A cluster.
pub(super) static CLUSTER: Immutable =
    Immutable { always: &["project", "region", "credentialsRef", "loadBalancer"], ..Immutable::NONE };

/// What stands for the infrastructure of a cluster that GKE manages.
pub(super) static MANAGED_CLUSTER: Immutable =
    Immutable { always: &["project", "region", "credentialsRef"], ..Immutable::NONE };

/// A control plane that GKE manages.
pub(super) static MANAGED_CONTROL_PLANE: Immutable =
    Immutable { always: &["project", "location"], given: &["clusterName"], once: &[] };

/// A pool of such a cluster.
pub(super) static MANAGED_POOL: Immutable = Immutable {
    always: &[
        "instanceType",
        "nodePoolName",
        "machineType",
        "diskSizeGb",
        "diskType",
        "localSsdCount",
        "management",
        "maxPodsPerNode",
        "nodeNetwork.podRangeName",
        "nodeNetwork.createPodRange",
        "nodeNetwork.podRangeCidrBlock",
        "nodeSecurity",
        "preemptible",
        "spot",
    ],
    ..Immutable::NONE
};
