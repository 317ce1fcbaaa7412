//! What the webhooks of the Azure provider let nobody change.
//! Read beside `internal/webhooks/azure*_webhook.go` of cluster-api-provider-azure 1.26.

use super::webhook::MADE_KEY;
use crate::kinds::diff::Style;
use crate::kinds::fixed::Fixed;
use crate::kinds::immutable::Immutable;

/// The content of a machine template; a key that its webhook made is taken once.
pub(super) static MACHINE_TEMPLATE: Fixed = Fixed {
    once: &[MADE_KEY],
    makes_once: true,
    ..Fixed::template(Style {
        keep_empty: &[
            "additionalCapabilities",
            "additionalTags",
            "dataDisks",
            "diagnostics",
            "diffDiskSettings",
            "diskEncryptionSet",
            "dnsServers",
            "image",
            "managedDisk",
            "networkInterfaces",
            "protectedSettings",
            "securityProfile",
            "settings",
            "spotVMOptions",
            "systemAssignedIdentityRole",
            "userAssignedIdentities",
            "vmExtensions",
        ],
        drop_zero: &["allocatePublicIP", "enableIPForwarding", "encryptionAtHost"],
        keep_blank: &["capacityReservationGroupID", "failureDomain", "providerID"],
    })
};

/// The content of a template of clusters.
pub(super) static CLUSTER_TEMPLATE: Fixed = Fixed::template(Style {
    // Pointers; and lists and maps, which the patch of the mutating webhook leaves as they were written.
    keep_empty: &[
        "additionalAPIServerLBPorts",
        "additionalTags",
        "availabilityZones",
        "azureBastion",
        "cloudProviderConfigOverrides",
        "controlPlaneOutboundLB",
        "destinations",
        "extendedLocation",
        "failureDomains",
        "identityRef",
        "ipTags",
        "locations",
        "nodeOutboundLB",
        "peerings",
        "privateEndpoints",
        "securityRules",
        "serviceEndpoints",
        "sources",
        "tags",
        "zones",
    ],
    drop_zero: &["enableTunneling", "port", "priority"],
    keep_blank: &["destination", "destinationPorts", "source", "sourcePorts"],
});

/// A cluster.
pub(super) static CLUSTER: Immutable = Immutable {
    always: &[
        "subscriptionID",
        "location",
        "cloudProviderConfigOverrides",
        "networkSpec.privateDNSZone",
        "networkSpec.privateDNSZoneName",
        "networkSpec.privateDNSZoneResourceGroup",
        "networkSpec.controlPlaneOutboundLB",
    ],
    given: &[
        "resourceGroup",
        "azureEnvironment",
        "networkSpec.apiServerLB.name",
        "networkSpec.apiServerLB.sku",
        "networkSpec.apiServerLB.type",
        "networkSpec.apiServerLB.idleTimeoutInMinutes",
    ],
    once: &["bastionSpec.azureBastion", "controlPlaneEndpoint.host", "controlPlaneEndpoint.port"],
};

/// An identity.
pub(super) static IDENTITY: Immutable = Immutable { always: &["type"], ..Immutable::NONE };

/// A control plane that AKS manages.
pub(super) static MANAGED_CONTROL_PLANE: Immutable = Immutable {
    always: &[
        "subscriptionID",
        "location",
        "sshPublicKey",
        "dnsServiceIP",
        "networkPlugin",
        "networkPolicy",
        "networkDataplane",
        "loadBalancerSKU",
        "httpProxyConfig",
        "outboundType",
        "azureEnvironment",
    ],
    given: &[
        "resourceGroupName",
        "nodeResourceGroupName",
        "dnsPrefix",
        "virtualNetwork.name",
        "virtualNetwork.cidrBlock",
        "virtualNetwork.resourceGroup",
        "virtualNetwork.subnet.name",
        "virtualNetwork.subnet.cidrBlock",
    ],
    once: &[],
};

/// A template of such pools.
pub(super) static MANAGED_POOL_TEMPLATE: Immutable = Immutable {
    always: &[
        "name",
        "osType",
        "sku",
        "osDiskSizeGB",
        "maxPods",
        "osDiskType",
        "scaleSetPriority",
        "enableUltraSSD",
        "enableNodePublicIP",
        "nodePublicIPPrefixID",
        "kubeletConfig",
        "kubeletDiskType",
        "linuxOSConfig",
    ],
    given: &[],
    once: &["subnetName", "enableFIPS"],
};

/// A pool of such a cluster.
pub(super) static MANAGED_POOL: Immutable = Immutable {
    always: &[
        "sku",
        "osDiskSizeGB",
        "maxPods",
        "scaleSetPriority",
        "enableUltraSSD",
        "enableNodePublicIP",
        "nodePublicIPPrefixID",
        "kubeletConfig",
        "kubeletDiskType",
        "linuxOSConfig",
    ],
    given: &["osType", "osDiskType"],
    once: &["subnetName", "enableFIPS", "enableEncryptionAtHost"],
};
