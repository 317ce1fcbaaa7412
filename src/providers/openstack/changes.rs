//! What changed in Cluster API Provider OpenStack, by the version that brought it.

use crate::kinds::versions::Since;

/// Name servers may change.
pub static NAME_SERVERS: Since =
    Since::new("name-servers", "openstack", (0, 13), "the name servers of managed subnets may change");

/// All of them, from the oldest to the newest.
pub static ALL: &[&Since] = &[&NAME_SERVERS];
