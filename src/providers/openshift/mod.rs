//! OpenShift by the assisted installer, by its packs.

use super::Provider;

/// The provider.
pub static PROVIDER: Provider = Provider {
    name: "openshift",
    title: "OpenShift by the assisted installer, by its packs.",
    packs: &[
        ("openshift", include_str!("packs/openshift.yaml")),
        ("openshift-configs", include_str!("packs/openshift-configs.yaml")),
    ],
    ..Provider::EMPTY
};
