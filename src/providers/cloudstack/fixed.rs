//! What the webhooks of the `CloudStack` provider compare of a Machine and of a template of Machines: a few fields each.
//! Read beside `api/v1beta3/cloudstackmachine{,template}_webhook.go` of cluster-api-provider-cloudstack 0.6.

use super::webhook::RULE;
use crate::kinds::diff::Style;
use crate::kinds::fixed::Fixed;

/// Its types have no pointers among what is compared, and what Go leaves out the mutating webhook takes away.
const STYLE: Style = Style { keep_empty: &[], drop_zero: &[], keep_blank: &[] };

/// A template: networks, the size and the mount of the disk may change.
pub(super) static TEMPLATE: Fixed = Fixed {
    only: &[
        "offering",
        "diskOffering.id",
        "diskOffering.name",
        "sshKey",
        "template",
        "details",
        "affinity",
        "affinityGroupIDs",
    ],
    // `api/v1beta3/cloudstackmachinetemplate_webhook.go` ValidateUpdate of 0.6.1.
    refuses_dry_run: |_| true,
    ..Fixed::template(STYLE)
};

/// A Machine.
pub(super) static MACHINE: Fixed = Fixed {
    only: &[
        "offering",
        "diskOffering.id",
        "diskOffering.name",
        "diskOffering.mountPath",
        "diskOffering.device",
        "diskOffering.filesystem",
        "diskOffering.label",
        "sshKey",
        "template",
        "details",
        "affinity",
        "affinityGroupIDs",
    ],
    ..Fixed::spec(RULE, STYLE)
};
