//! What changed in Cluster API Provider Azure, by the version that brought it.

use crate::kinds::versions::Since;

/// The control plane shares the route table of the nodes.
pub(crate) static SHARED_TABLE: Since = Since::new(
    "shared-route-table",
    "azure",
    (1, 25),
    "the subnet of the control plane gets the route table of the nodes where it names none, and a subnet without one may get one",
)
.patched(&[(1, 23, 3), (1, 24, 2)]);

/// All of them, from the oldest to the newest.
pub(crate) static ALL: &[&Since] = &[&SHARED_TABLE];
