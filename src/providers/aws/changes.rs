//! What changed in Cluster API Provider AWS, by the version that brought it.

use crate::kinds::versions::Since;

/// A classic load balancer may be asked another way.
pub(crate) static CLASSIC_HEALTH_CHECK: Since = Since::new(
    "classic-health-check",
    "aws",
    (2, 8),
    "the protocol by which a classic load balancer asks the API server may change",
);
/// Bastions are open to IPv6 too, and webhooks leave alone what they do not change.
pub(crate) static BASTION_IPV6: Since =
    Since::new("bastion-ipv6", "aws", (2, 12), "a bastion is open to every address of IPv6 too");
/// Webhooks leave alone what they do not change.
pub(crate) static WRITES_ONLY_CHANGES: Since = Since::new(
    "writes-only-changes",
    "aws",
    (2, 12),
    "mutating webhooks write an object again only where a default changed something (controller-runtime 0.23)",
);

/// All of them, from the oldest to the newest.
pub(crate) static ALL: &[&Since] = &[&CLASSIC_HEALTH_CHECK, &BASTION_IPV6, &WRITES_ONLY_CHANGES];
