//! Which objects are compared: those of Cluster API and its providers. Everything else is compared only where one of
//! these refers to it.

use crate::kinds::Role;
use crate::object::Key;
use crate::providers::{self, kind};
use crate::schema;

/// Whether objects of this kind are compared whatever refers to them.
pub(crate) fn is_compared(key: &Key) -> bool {
    providers::is_compared(&key.group)
}

/// Whether an object of this kind is compared where a compared object refers to it.
pub(crate) fn is_compared_when_referred(key: &Key) -> bool {
    kind(key).role == Role::Data
}

/// Whether objects of this kind are of a group that nobody knows, so that they may be templates and clusters of a provider:
/// compared where a compared object refers to them.
pub(crate) fn is_foreign(key: &Key) -> bool {
    !is_built_in(key) && !is_compared(key) && !may_take_others(key)
}

/// Whether the deletion of an object of this kind takes other objects with it: what is in a namespace, what is of a
/// kind that goes away, what Flux wrote for it.
pub(crate) fn may_take_others(key: &Key) -> bool {
    matches!(
        (key.group.as_str(), key.kind.as_str()),
        ("", "Namespace")
            | ("apiextensions.k8s.io", "CustomResourceDefinition")
            | ("helm.toolkit.fluxcd.io", "HelmRelease")
            | ("kustomize.toolkit.fluxcd.io", "Kustomization")
    )
}

/// Whether objects of this kind live outside namespaces. Where nobody says so, a kind has one.
pub(crate) fn is_cluster_wide(key: &Key) -> bool {
    providers::is_cluster_wide(&key.kind)
        || matches!(
            (key.group.as_str(), key.kind.as_str()),
            ("", "Namespace") | ("apiextensions.k8s.io", "CustomResourceDefinition")
        )
        || schema::is_cluster_wide(key)
}

/// Whether the removal of a field of this object can replace or destroy Machines: owners, and what they are made from.
pub(crate) fn owns_machines(key: &Key) -> bool {
    kind(key).role.decides_about_machines()
}

/// Whether controllers make objects of this kind, so that one found in an old render was not rendered:
/// Machines, MachineSets, bootstrap configs, infrastructure Machines.
pub(crate) fn is_made_by_controllers(key: &Key) -> bool {
    kind(key).role.is_made_by_controllers()
}

/// Whether the API server keeps objects of this kind as built-in types, which Helm 3 and `kubectl apply` merge three ways.
pub(crate) fn is_built_in(key: &Key) -> bool {
    key.group.is_empty()
        || !key.group.contains('.')
        || key.group.ends_with(".k8s.io") && !key.group.ends_with(".x-k8s.io")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(api_version: &str, kind: &str) -> Key {
        Key::new(api_version, kind, None, "x")
    }

    #[test]
    fn provider_groups_are_compared_and_workloads_are_not() {
        assert!(is_compared(&key("infrastructure.cluster.x-k8s.io/v1beta1", "DockerMachineTemplate")));
        assert!(is_compared(&key("metal3.io/v1alpha1", "BareMetalHost")));
        assert!(!is_compared(&key("apps/v1", "Deployment")));
    }

    #[test]
    fn what_controllers_make_is_told_from_what_charts_make() {
        assert!(is_made_by_controllers(&key("infrastructure.cluster.x-k8s.io/v1beta1", "OpenStackMachine")));
        assert!(!is_made_by_controllers(&key("infrastructure.cluster.x-k8s.io/v1beta1", "OpenStackMachineTemplate")));
        assert!(is_made_by_controllers(&key("bootstrap.cluster.x-k8s.io/v1beta1", "RKE2Config")));
        assert!(!is_made_by_controllers(&key("bootstrap.cluster.x-k8s.io/v1beta1", "RKE2ConfigTemplate")));
    }

    #[test]
    fn custom_resources_are_not_built_in() {
        assert!(!is_built_in(&key("cluster.x-k8s.io/v1beta1", "Cluster")));
        assert!(is_built_in(&key("v1", "Secret")));
        assert!(is_built_in(&key("networking.k8s.io/v1", "Ingress")));
    }
}
