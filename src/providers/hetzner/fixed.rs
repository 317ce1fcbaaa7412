//! What the webhooks of the Hetzner provider compare as a whole, as Go's types hold it. Its types were read beside the webhooks
//! of cluster-api-provider-hetzner 1.1 (`api/v1beta1/{hcloud,hetznerbaremetal}machine{,template}_webhook.go`,
//! `hetznerclustertemplate_webhook.go`, `*_validation.go`), which were run.

use super::webhook::RULE;
use crate::kinds::diff::Style;
use crate::kinds::fixed::{CONTENT, Fixed};

/// Lists, maps and pointers of its types, of which an empty one is not as none.
const STYLE: Style = Style {
    keep_empty: &[
        "annotations",
        "btrfsDefinitions",
        "controlPlaneEndpoint",
        "controlPlaneRegions",
        "extraServices",
        "hcloud",
        "hcloudPlacementGroups",
        "healthCheck",
        "labels",
        "logicalVolumeDefinitions",
        "matchExpressions",
        "matchLabels",
        "partitions",
        "publicNetwork",
        "sshKeys",
        "statusCodes",
        "values",
    ],
    drop_zero: &[
        "destinationPort",
        "enableIPv4",
        "enableIPv6",
        "enableProxyProtocol",
        "enabled",
        "listenPort",
        "noSSHAfterInstallImage",
        "port",
        "portAfterCloudInit",
        "portAfterInstallImage",
        "skipCheckDisk",
        "skipCreatingHetznerSecretInWorkloadCluster",
        "swraid",
        "swraidLevel",
    ],
    keep_blank: &["domain", "name", "path", "placementGroupName", "providerID", "response"],
};

/// In templates of hosts `name` and `path` are no pointers.
const HOST: Style = Style { keep_blank: &["providerID"], ..STYLE };

/// In a cluster `sshKeys` is a block, not a list.
const CLUSTER: Style = Style {
    keep_empty: &[
        "controlPlaneEndpoint",
        "controlPlaneRegions",
        "extraServices",
        "hcloud",
        "hcloudPlacementGroups",
        "healthCheck",
        "labels",
        "annotations",
        "statusCodes",
    ],
    ..STYLE
};

/// A template of clusters.
pub(super) static CLUSTER_TEMPLATE: Fixed = Fixed::spec(CONTENT, CLUSTER);

/// A template of servers.
pub(super) static SERVER_TEMPLATE: Fixed = Fixed::spec(CONTENT, STYLE);

/// A template of hosts.
pub(super) static HOST_TEMPLATE: Fixed = Fixed::spec(CONTENT, HOST);

/// A server.
pub(super) static SERVER: Fixed = Fixed {
    only: &["type", "imageName", "imageURL", "imageURLCommand", "sshKeys", "placementGroupName"],
    ..Fixed::spec(RULE, STYLE)
};

/// A host that is a Machine.
pub(super) static HOST_MACHINE: Fixed =
    Fixed { only: &["installImage", "sshSpec", "hostSelector"], ..Fixed::spec(RULE, HOST) };
