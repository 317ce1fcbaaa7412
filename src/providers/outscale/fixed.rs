//! What the webhooks of Outscale's templates compare: their content, as Go's types hold it.
//! Read beside `api/v1beta1/osc{machine,cluster}template_webhook.go` ValidateUpdate and `osc{machine,cluster}_types.go` of
//! cluster-api-provider-outscale 1.5; the webhooks were run.

use crate::kinds::diff::Style;
use crate::kinds::fixed::Fixed;

/// Lists, maps and pointers of its types, of which an empty one is not as none.
const STYLE: Style = Style {
    keep_empty: &[
        "additionalSecurityRules",
        "allowFromIPRanges",
        "allowToIPRanges",
        "appliesTo",
        "controlPlaneSubnets",
        "disable",
        "fGPU",
        "ipRanges",
        "natServices",
        "netAccessPoints",
        "privateIps",
        "publicIps",
        "reconciliationRule",
        "reconciliationRules",
        "roles",
        "routeTables",
        "routes",
        "rules",
        "securityGroupNames",
        "securityGroupRules",
        "securityGroups",
        "subnets",
        "subregionNames",
        "subregions",
        "tags",
        "volumes",
    ],
    drop_zero: &[
        "authoritative",
        "backendport",
        "checkinterval",
        "clusterStrict",
        "deleteKeypair",
        "enable",
        "extraSecurityGroupRule",
        "fromPortRange",
        "healthythreshold",
        "iops",
        "loadbalancerport",
        "net",
        "outscaleOpenSource",
        "port",
        "publicIp",
        "reconciliationChance",
        "replica",
        "rootDiskIops",
        "rootDiskSize",
        "securityGroups",
        "serverStrict",
        "size",
        "timeout",
        "toPortRange",
        "unhealthythreshold",
    ],
    keep_blank: &["providerID", "repulseServer"],
};

/// A template. Up to 1.5.0 its webhook does not know a dry run (cluster-api-provider-outscale#864).
pub(super) static TEMPLATE: Fixed = Fixed {
    refuses_dry_run: |versions| versions.ask("outscale", |version| *version <= semver::Version::new(1, 5, 0)),
    ..Fixed::template(STYLE)
};
