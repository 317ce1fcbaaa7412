//! OpenShift by the assisted installer, by its packs, its schemas and the one webhook that it has; all of them were run.

mod fixed;

use super::Provider;
use crate::kinds::contract::{BOOTSTRAP, CONTROL_PLANE};
use crate::kinds::{Kind, Role, SchemaAlone};

/// A kind with the schemas of this provider.
const fn known(group: &'static str, name: &'static str, role: Role) -> Kind {
    Kind { webhook: Some(&SchemaAlone), ..Kind::new(group, name, role) }
}

/// The kinds of which more than the contract is known.
static KINDS: &[Kind] = &[
    Kind { leaves_sick: true, ..known(CONTROL_PLANE, "OpenshiftAssistedControlPlane", Role::ControlPlane) },
    Kind { fixed: Some(&fixed::CONFIG), ..known(BOOTSTRAP, "OpenshiftAssistedConfig", Role::Config) },
    known(BOOTSTRAP, "OpenshiftAssistedConfigTemplate", Role::Template),
];

/// All that is known of this provider.
pub(crate) static PROVIDER: Provider = Provider {
    name: "openshift",
    title: "OpenShift by the assisted installer, by its packs, its schemas and its webhook, which were run.",
    kinds: KINDS,
    packs: &["openshift", "openshift-configs"],
    ..Provider::EMPTY
};
