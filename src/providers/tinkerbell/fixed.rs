//! What the webhook of Tinkerbell machine templates compares: the whole spec, as Go's types hold it.
//! Read beside `api/v1beta1/tinkerbellmachinetemplate_webhook.go` ValidateUpdate and `tinkerbellmachine_types.go` of
//! cluster-api-provider-tinkerbell 0.7; the webhook was run.

use crate::kinds::diff::Style;
use crate::kinds::fixed::{CONTENT, Fixed};

/// Lists, maps and pointers of its types, of which an empty one is not as none.
const STYLE: Style = Style {
    keep_empty: &[
        "hardwareAffinity",
        "required",
        "preferred",
        "matchLabels",
        "matchExpressions",
        "values",
        "preparingActions",
        "postActions",
        "device",
        "bootDevice",
        "oneTimeBootDeviceAction",
        "virtualMediaAction",
    ],
    drop_zero: &["efiBoot", "persistent"],
    keep_blank: &["powerAction"],
};

/// A template; `api/v1beta1/tinkerbellmachinetemplate_webhook.go` ValidateUpdate of 0.7 does not know a dry run.
pub(super) static TEMPLATE: Fixed = Fixed { refuses_dry_run: |_| true, ..Fixed::spec(CONTENT, STYLE) };
