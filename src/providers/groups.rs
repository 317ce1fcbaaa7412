//! Which groups are compared: those of Cluster API and of its providers.

use std::collections::BTreeSet;

use super::{PROVIDERS, kubeadm};
use crate::contract::{CORE, GROUPS_END};

/// Whether objects of this group are compared, whatever refers to them.
#[must_use]
pub(crate) fn is_compared(group: &str) -> bool {
    // That of most objects.
    !group.is_empty() && (is_capi(group) || own().any(|own| own == group))
}

/// The groups whose kinds are known here by name: a webhook has to name each.
#[must_use]
pub fn known() -> BTreeSet<&'static str> {
    let kinds = PROVIDERS.iter().flat_map(|provider| provider.kinds).map(|kind| kind.group);
    kinds.filter(|group| is_compared(group)).chain(own()).chain([CORE]).collect()
}

/// The words of which every `apiVersion` of a compared group has one.
pub(crate) fn compared_words() -> impl Iterator<Item = &'static str> {
    own().chain([CORE])
}

/// Whether the group is one of Cluster API, or named as its contract wants it.
#[must_use]
pub(crate) fn is_capi(group: &str) -> bool {
    group == CORE || group.ends_with(GROUPS_END)
}

/// Whether Cluster API itself releases the controller of a kind.
pub(crate) fn is_of_core(group: &str, kind: &str) -> bool {
    group == CORE || group.ends_with(GROUPS_END) && kubeadm::is_named(kind)
}

/// Kinds that live outside namespaces, as far as providers say so.
pub(crate) fn is_cluster_wide(kind: &str) -> bool {
    PROVIDERS.iter().any(|provider| provider.cluster_wide.contains(&kind))
}

/// Groups of providers and their neighbours that do not end as the contract wants it.
fn own() -> impl Iterator<Item = &'static str> {
    PROVIDERS.iter().flat_map(|provider| provider.groups).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_of_providers_are_compared_and_others_are_not() {
        for group in ["cluster.x-k8s.io", "x.cluster.x-k8s.io", "metal3.io", "ipam.metal3.io", "k0smotron.io"] {
            assert!(is_compared(group), "{group}");
        }
        for group in ["", "apps", "mycluster.x-k8s.io", "other.metal3.io"] {
            assert!(!is_compared(group), "{group}");
        }
    }
}
