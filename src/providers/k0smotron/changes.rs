//! What changed in k0smotron, by the version that brought it.

use crate::kinds::versions::Since;

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
pub(crate) static ALL: &[&Since] = &[&CONFIG_COMPARED, &TUNNEL_COMPARED];
