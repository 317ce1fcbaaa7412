//! What changed in Cluster API Provider OpenStack, by the version that brought it.

use crate::kinds::versions::Since;

/// Networks are named by what was found.
pub(crate) static PINNED: Since = Since::new(
    "pinned",
    "openstack",
    (0, 13),
    "a network and subnets that were found by a filter may be named by their ids",
)
.patched(&[(0, 11, 7), (0, 12, 4)]);
/// Rules of one group may change.
pub(crate) static GROUP_RULES: Since = Since::new(
    "group-rules",
    "openstack",
    (0, 13),
    "the rules of managed security groups for control planes or for workers alone may change",
)
.patched(&[(0, 12, 2)]);
/// Name servers may change.
pub(crate) static NAME_SERVERS: Since =
    Since::new("name-servers", "openstack", (0, 13), "the name servers of managed subnets may change")
        .patched(&[(0, 12, 6)]);
/// Rules of security groups are asked at each write.
pub(crate) static RULES_ASKED: Since = Since::new(
    "rules-asked",
    "openstack",
    (0, 15),
    "a rule with two sources is refused for every group of a cluster, also in an existing one",
);
/// Ids and pairs of addresses of Machines are free.
pub(crate) static MACHINES_FREED: Since = Since::new(
    "machines-freed",
    "openstack",
    (0, 15),
    "the ids of a Machine and the pairs of addresses that its ports allow may change",
);

/// All of them, from the oldest to the newest.
pub(crate) static ALL: &[&Since] = &[&PINNED, &GROUP_RULES, &NAME_SERVERS, &RULES_ASKED, &MACHINES_FREED];
