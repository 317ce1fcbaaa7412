//! What changed in Cluster API Provider vSphere, by the version that brought it.

use crate::kinds::versions::Since;

/// Templates of supervisor mode are fixed.
pub(crate) static SUPERVISOR_TEMPLATES: Since = Since::new(
    "supervisor-templates",
    "vsphere",
    (1, 14),
    "the content of a machine template in supervisor mode is compared",
);

/// A template says how virtual machines are named.
pub(crate) static NAMING: Since = Since::new(
    "vm-naming",
    "vsphere",
    (1, 13),
    "the webhook tries the names that a machine template gives to virtual machines",
);

/// A template of a cluster in supervisor mode has a webhook.
pub(crate) static CLUSTER_TEMPLATES: Since = Since::new(
    "cluster-templates",
    "vsphere",
    (1, 17),
    "the webhook checks the feature gate of subnets in a cluster template in supervisor mode, as in a cluster",
);

/// A template in supervisor mode powers off hard where it does not say so.
pub(crate) static SUPERVISOR_MODES: Since = Since::new(
    "supervisor-modes",
    "vsphere",
    (1, 17),
    "a machine template in supervisor mode without a powerOffMode is the same as one that says hard",
);

/// What is written as v1beta1 is converted.
pub(crate) static CONVERTED: Since = Since::new(
    "converted",
    "vsphere",
    (1, 16),
    "an object that is written as v1beta1 loses what v1beta2 has no field for, before the webhooks see it",
);

/// All of them, from the oldest to the newest.
pub(crate) static ALL: &[&Since] = &[&NAMING, &SUPERVISOR_TEMPLATES, &CONVERTED, &CLUSTER_TEMPLATES, &SUPERVISOR_MODES];
