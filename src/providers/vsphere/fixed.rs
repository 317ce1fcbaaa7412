//! What the webhooks of the vSphere provider compare as a whole: contents of templates, specs of Machines.
//! Read beside `internal/webhooks/vsphere{machine,machinetemplate,clustertemplate,failuredomain}.go` and those in `vmware` of
//! cluster-api-provider-vsphere 1.14.

use super::changes::SUPERVISOR_TEMPLATES;
use super::webhook::RULE;
use crate::kinds::diff::Style;
use crate::kinds::fixed::{CONTENT as SAME_CONTENT, Fixed};

/// Pointers of the vSphere types to lists of fields, and texts; lists and maps are pointers of a kind in Go.
const VSPHERE: Style = Style {
    keep_empty: &[
        "additionalDisksGiB",
        "addressesFromPools",
        "capacity",
        "clusterModules",
        "customVMXKeys",
        "dataDisks",
        "devices",
        "dhcp4Overrides",
        "dhcp6Overrides",
        "failureDomainSelector",
        "identityRef",
        "interfaces",
        "ipAddrs",
        "matchExpressions",
        "matchLabels",
        "nameservers",
        "namingStrategy",
        "pciDevices",
        "routes",
        "searchDomains",
        "secondary",
        "tagIDs",
        "volumes",
    ],
    drop_zero: &[
        "dhcp4",
        "dhcp6",
        "disableClusterModule",
        "diskGiB",
        "memoryMiB",
        "metric",
        "numCPUs",
        "numCoresPerSocket",
        "port",
        "sizeGiB",
        "skipIPAllocation",
    ],
    keep_blank: &["apiGroup", "failureDomain", "hostname", "providerID", "template", "useDomains", "useRoutes"],
};

/// What the types keep apart where the webhook that fills in writes the object anew: empty lists and maps are lost there.
const VSPHERE_WRITTEN: Style = Style {
    keep_empty: &["dhcp4Overrides", "dhcp6Overrides", "hosts", "namingStrategy"],
    drop_zero: VSPHERE.drop_zero,
    keep_blank: &[
        "apiGroup",
        "computeCluster",
        "failureDomain",
        "hostname",
        "providerID",
        "template",
        "useDomains",
        "useRoutes",
    ],
};

/// The content of a template.
pub(super) static CONTENT: Fixed = Fixed::template(VSPHERE);

/// The content of a machine template in supervisor mode.
pub(super) static SUPERVISOR_CONTENT: Fixed = Fixed { since: Some(&SUPERVISOR_TEMPLATES), ..Fixed::template(VSPHERE) };

/// A failure domain.
pub(super) static FAILURE_DOMAIN: Fixed = Fixed::spec(SAME_CONTENT, VSPHERE_WRITTEN);

/// A Machine.
pub(super) static MACHINE: Fixed = Fixed {
    free: &[
        "providerID",
        "powerOffMode",
        "guestSoftPowerOffTimeout",
        "guestSoftPowerOffTimeoutSeconds",
        "network.devices",
    ],
    ..Fixed::spec(RULE, VSPHERE_WRITTEN)
};

/// A Machine in supervisor mode.
pub(super) static SUPERVISOR_MACHINE: Fixed = Fixed {
    only: &["imageName", "className", "storageClass", "minHardwareVersion", "network.interfaces"],
    ..Fixed::spec(RULE, VSPHERE_WRITTEN)
};

/// A virtual machine: what it runs and who it is are set once.
pub(super) static VM: Fixed = Fixed {
    free: &[
        "bootstrapRef",
        "thumbprint",
        "powerOffMode",
        "guestSoftPowerOffTimeout",
        "guestSoftPowerOffTimeoutSeconds",
        "network.devices",
    ],
    once: &["os", "biosUUID"],
    ..Fixed::spec(RULE, VSPHERE_WRITTEN)
};
