//! MicroK8s, by its pack and its schemas: its deployment has no webhook (`config/` of its providers 0.6).

use super::Provider;
use crate::kinds::contract::{BOOTSTRAP, CONTROL_PLANE};
use crate::kinds::{Kind, Role, SchemaAlone};

/// The kinds of which more than the contract is known.
static KINDS: &[Kind] = &[
    Kind {
        leaves_sick: true,
        keeps: 3,
        webhook: Some(&SchemaAlone),
        ..Kind::new(CONTROL_PLANE, "MicroK8sControlPlane", Role::ControlPlane)
    },
    Kind { webhook: Some(&SchemaAlone), ..Kind::new(BOOTSTRAP, "MicroK8sConfigTemplate", Role::Template) },
];

/// All that is known of this provider.
pub(crate) static PROVIDER: Provider = Provider {
    name: "microk8s",
    title: "MicroK8s, by its pack and its schemas, which were run.",
    kinds: KINDS,
    packs: &["microk8s", "microk8s-workers"],
    ..Provider::EMPTY
};
