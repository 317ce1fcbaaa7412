//! OpenShift by the assisted installer, by its packs.

use super::Provider;
use crate::kinds::contract::CONTROL_PLANE;
use crate::kinds::{Kind, Role};

/// The kinds of which more than the contract is known.
static KINDS: &[Kind] =
    &[Kind { leaves_sick: true, ..Kind::new(CONTROL_PLANE, "OpenshiftAssistedControlPlane", Role::ControlPlane) }];

/// The provider.
pub(crate) static PROVIDER: Provider = Provider {
    name: "openshift",
    title: "OpenShift by the assisted installer, by its packs.",
    kinds: KINDS,
    packs: &[
        ("openshift", include_str!("packs/openshift.yaml")),
        ("openshift-configs", include_str!("packs/openshift-configs.yaml")),
    ],
    ..Provider::EMPTY
};
