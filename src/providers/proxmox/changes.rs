//! What changed in Cluster API Provider Proxmox, by the version that brought it.

use crate::kinds::versions::{Later, Since};
use crate::model::Effect;

/// Templates cannot be edited.
pub(crate) static FIXED_TEMPLATES: Since =
    Since::new("fixed-templates", "proxmox", (0, 8), "a machine template cannot be edited").judging(&[Later {
        kind: "ProxmoxMachineTemplate",
        path: "spec.template.spec",
        effect: Effect::Rejected,
        says: "is refused; before, only new Machines got it",
    }]);

/// All of them, from the oldest to the newest.
pub(crate) static ALL: &[&Since] = &[&FIXED_TEMPLATES];
