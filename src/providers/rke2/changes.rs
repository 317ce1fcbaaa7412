//! What changed in Cluster API Provider RKE2, by the version that brought it.

use crate::kinds::versions::Since;

/// Gzip without ignition.
pub static GZIP: Since = Since::new("rke2", (0, 15), "gzip is refused only with the ignition format");
/// Control planes need a Machine.
pub static REPLICAS_POSITIVE: Since =
    Since::new("rke2", (0, 18), "the webhook refuses a control plane without Machines");
/// User data is read.
pub static USER_DATA_READ: Since = Since::new(
    "rke2",
    (0, 20),
    "user data is compared as its webhook leaves it; empty lists of the owner count until 0.21",
);
/// Empty lists do not count.
pub static EMPTY_LISTS_DROPPED: Since =
    Since::new("rke2", (0, 21), "empty lists of the owner are dropped before they are compared");
/// The reference to the infrastructure has one place.
pub static ONE_REFERENCE: Since =
    Since::new("rke2", (0, 22), "the reference to the infrastructure template stands in `machineTemplate` alone");
/// Versions are compared as texts.
pub static EXACT_VERSION: Since = Since::new("rke2", (0, 25), "versions are compared as they are written");

/// All of them, from the oldest to the newest.
pub static ALL: &[&Since] =
    &[&GZIP, &REPLICAS_POSITIVE, &USER_DATA_READ, &EMPTY_LISTS_DROPPED, &ONE_REFERENCE, &EXACT_VERSION];
