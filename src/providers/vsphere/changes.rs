//! What changed in Cluster API Provider vSphere, by the version that brought it.

use crate::kinds::versions::Since;

/// Templates of supervisor mode are fixed.
pub static SUPERVISOR_TEMPLATES: Since = Since::new(
    "supervisor-templates",
    "vsphere",
    (1, 14),
    "the content of a machine template in supervisor mode is compared",
);

/// All of them, from the oldest to the newest.
pub static ALL: &[&Since] = &[&SUPERVISOR_TEMPLATES];
