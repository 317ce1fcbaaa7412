//! What the webhooks of the AWS provider compare as a whole: contents of templates, specs of Machines and node groups.
//! Read beside `webhooks/aws{machine,machinetemplate,clustertemplate}_webhook.go` of cluster-api-provider-aws 2.13.

use super::webhook::RULE;
use crate::kinds::diff::Style;
use crate::kinds::fixed::{CONTENT, Fixed};

/// A template of AWS Machines.
const AWS_TEMPLATE: Style = Style {
    keep_empty: &[
        "additionalSecurityGroups",
        "additionalTags",
        "certificateAuthorities",
        "dynamicHostAllocation",
        "elasticIpPool",
        "filters",
        "ignition",
        "instanceMetadataOptions",
        "networkInterfaces",
        "noProxy",
        "nonRootVolumes",
        "privateDnsName",
        "proxy",
        "rootVolume",
        "securityGroupOverrides",
        "spotMarketOptions",
        "subnet",
        "tags",
        "tls",
        "values",
    ],
    drop_zero: &[
        "httpPutResponseHopLimit",
        "insecureSkipSecretsManager",
        "iops",
        "placementGroupPartition",
        "secretCount",
        "size",
    ],
    keep_blank: AWS_TEXTS,
};

/// A Machine of AWS, which is compared as JSON: that has no empty lists and maps.
const AWS_MACHINE: Style = Style {
    keep_empty: &[
        "dynamicHostAllocation",
        "elasticIpPool",
        "ignition",
        "instanceMetadataOptions",
        "privateDnsName",
        "proxy",
        "rootVolume",
        "spotMarketOptions",
        "subnet",
        "tls",
    ],
    drop_zero: AWS_TEMPLATE.drop_zero,
    keep_blank: AWS_TEXTS,
};

/// Texts of an AWS Machine that are pointers in Go.
const AWS_TEXTS: &[&str] = &[
    "assignPrimaryIPv6",
    "capacityReservationId",
    "eksLookupType",
    "hostAffinity",
    "hostID",
    "hostnameType",
    "httpProxy",
    "httpsProxy",
    "id",
    "instanceID",
    "maxPrice",
    "providerID",
    "publicIpv4Pool",
    "publicIpv4PoolFallbackOrder",
    "sshKeyName",
];

/// A template of AWS clusters, labels and annotations included.
const AWS_CLUSTER: Style = Style {
    keep_empty: &[
        "additionalControlPlaneIngressRules",
        "additionalIAMRoles",
        "additionalListeners",
        "additionalNodeIngressRules",
        "additionalSecurityGroups",
        "additionalTags",
        "allowedCIDRBlocks",
        "annotations",
        "cidrBlocks",
        "cni",
        "cniIngressRules",
        "controlPlaneLoadBalancer",
        "elasticIpPool",
        "healthCheck",
        "identityRef",
        "ingressRules",
        "ipamPool",
        "ipv6",
        "ipv6CidrBlocks",
        "labels",
        "nodePortIngressRuleCidrBlocks",
        "nodesIAMInstanceProfiles",
        "s3Bucket",
        "secondaryCidrBlocks",
        "secondaryControlPlaneLoadBalancer",
        "securityGroupOverrides",
        "sourceSecurityGroupIds",
        "sourceSecurityGroupRoles",
        "subnets",
        "tags",
    ],
    drop_zero: &[
        "crossZoneLoadBalancing",
        "disableHostsRewrite",
        "disableIngressRules",
        "emptyRoutesDefaultVPCSecurityGroup",
        "enabled",
        "fromPort",
        "isIpv6",
        "isPublic",
        "natGatewaysIPsSource",
        "netmaskLength",
        "port",
        "preserveClientIP",
        "toPort",
    ],
    keep_blank: &[
        "availabilityZoneSelection",
        "carrierGatewayId",
        "dnsResolutionCheck",
        "egressOnlyInternetGatewayId",
        "healthCheckProtocol",
        "internetGatewayId",
        "name",
        "natGatewayId",
        "parentZoneName",
        "path",
        "privateDnsHostnameTypeOnLaunch",
        "publicIpv4Pool",
        "publicIpv4PoolFallbackOrder",
        "routeTableId",
        "scheme",
        "sshKeyName",
        "subnetSchema",
        "targetGroupIPType",
        "zoneType",
    ],
};

/// A node group or a Fargate profile.
const AWS_POOL: Style = Style {
    keep_empty: &["availabilityZones", "labels", "remoteAccess", "selectors", "sourceSecurityGroups", "subnetIDs"],
    drop_zero: &["public"],
    keep_blank: &["amiType", "availabilityZoneSubnetType", "sshKeyName"],
};

/// The content of a machine template; objects of before the options of metadata were there take them once.
pub(super) static MACHINE_TEMPLATE: Fixed =
    Fixed { once: &["instanceMetadataOptions"], ..Fixed::template(AWS_TEMPLATE) };

/// A template of clusters.
pub(super) static CLUSTER_TEMPLATE: Fixed = Fixed::spec(CONTENT, AWS_CLUSTER);

/// A Machine.
pub(super) static MACHINE: Fixed = Fixed {
    free: &[
        "providerID",
        "instanceID",
        "additionalTags",
        "additionalSecurityGroups",
        "cloudInit.secretPrefix",
        "cloudInit.secretCount",
        "cloudInit.secureSecretsBackend",
        "privateDnsName.enableResourceNameDnsAAAARecord",
        "privateDnsName.enableResourceNameDnsARecord",
    ],
    ..Fixed::spec(RULE, AWS_MACHINE)
};

/// A node group.
pub(super) static NODE_GROUP: Fixed = Fixed {
    only: &[
        "subnetIDs",
        "diskSize",
        "amiType",
        "remoteAccess",
        "availabilityZones",
        "availabilityZoneSubnetType",
        "awsLaunchTemplate.name",
    ],
    ..Fixed::spec(RULE, AWS_POOL)
};

/// A Fargate profile; what is refused about its role stands in `pool.rs`.
pub(super) static FARGATE: Fixed = Fixed { free: &["additionalTags", "roleName"], ..Fixed::spec(RULE, AWS_POOL) };
