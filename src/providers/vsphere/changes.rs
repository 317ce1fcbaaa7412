//! What changed in Cluster API Provider vSphere, by the version that brought it.

use crate::kinds::versions::Since;

/// Templates of supervisor mode are fixed.
pub static SUPERVISOR_TEMPLATES: Since = Since::new(
    "supervisor-templates",
    "vsphere",
    (1, 14),
    "the content of a machine template in supervisor mode is compared",
);

/// A template says how virtual machines are named.
pub static NAMING: Since = Since::new(
    "vm-naming",
    "vsphere",
    (1, 13),
    "the names that a machine template gives to virtual machines are tried out",
);

/// All of them, from the oldest to the newest.
pub static ALL: &[&Since] = &[&NAMING, &SUPERVISOR_TEMPLATES];
