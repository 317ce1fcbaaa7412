//! What changed in k0smotron, by the version that brought it.

use crate::kinds::versions::Since;

/// The webhook of control planes of Machines.
pub(crate) static PLANE_WEBHOOK: Since = Since::new(
    "plane-webhook",
    "k0smotron",
    (1, 5),
    "a webhook looks at a K0sControlPlane: at its version, which cannot leave out a minor, and at the strategy of one that runs alone",
);
/// The webhook of control planes of Pods.
pub(crate) static HOSTED_WEBHOOK: Since = Since::new(
    "hosted-webhook",
    "k0smotron",
    (1, 7),
    "a webhook looks at the version of a K0smotronControlPlane, which cannot leave out a minor",
)
.patched(&[(1, 6, 1)]);
/// The configuration is compared.
pub(crate) static CONFIG_COMPARED: Since = Since::new(
    "config-compared",
    "k0smotron",
    (1, 6),
    "a control plane compares its configuration with that of its Machines; before only the version and the infrastructure template",
)
.patched(&[(1, 5, 3)]);
/// So is the tunnel.
pub(crate) static TUNNEL_COMPARED: Since = Since::new(
    "tunnel-compared",
    "k0smotron",
    (1, 10),
    "the tunnel of a control plane is compared with what a Machine remembers that it was made of",
);

/// All of them, from the oldest to the newest.
pub(crate) static ALL: &[&Since] = &[&PLANE_WEBHOOK, &CONFIG_COMPARED, &HOSTED_WEBHOOK, &TUNNEL_COMPARED];
