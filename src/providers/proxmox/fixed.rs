//! What the webhook of Proxmox machine templates compares: the whole spec, as Go's types hold it.
//! Read beside `internal/webhook/proxmoxmachinetemplate_webhook.go` ValidateUpdate and `api/v1alpha2/proxmoxmachine_types.go` of
//! cluster-api-provider-proxmox 0.9; the webhook was run.

use super::changes::FIXED_TEMPLATES;
use crate::kinds::diff::Style;
use crate::kinds::fixed::{CONTENT, Fixed};

/// Lists, maps and pointers of its types, of which an empty one is not as none.
const STYLE: Style = Style {
    keep_empty: &[
        "allowedNodes",
        "annotations",
        "bootVolume",
        "checks",
        "disks",
        "dnsServers",
        "interfaces",
        "ipPoolRef",
        "labels",
        "matchTags",
        "metadataSettings",
        "network",
        "networkDevices",
        "routes",
        "routingPolicy",
        "tags",
        "templateSelector",
        "vmIDRange",
        "vrfs",
    ],
    drop_zero: &[],
    keep_blank: &[
        "apiGroup",
        "bridge",
        "description",
        "format",
        "from",
        "model",
        "pool",
        "snapName",
        "sourceNode",
        "storage",
        "to",
        "via",
    ],
};

/// A template. Up to 0.9.0 its webhook does not know a dry run (cluster-api-provider-proxmox#735).
pub(super) static TEMPLATE: Fixed = Fixed {
    since: Some(&FIXED_TEMPLATES),
    refuses_dry_run: |versions| versions.ask("proxmox", |version| *version <= semver::Version::new(0, 9, 0)),
    ..Fixed::spec(CONTENT, STYLE)
};
