//! All that is known of providers, a folder each, and the only list of them. Another provider is a folder and two lines here: its
//! module, and its place in [`PROVIDERS`].

pub(crate) mod aws;
pub(crate) mod azure;
pub(crate) mod bmo;
pub(crate) mod carriers;
pub(crate) mod ck8s;
pub(crate) mod cloudstack;
pub(crate) mod core;
pub(crate) mod docker;
#[cfg(test)]
mod forms;
pub(crate) mod gates;
pub(crate) mod gcp;
mod groups;
pub(crate) mod hetzner;
pub(crate) mod hosts;
pub(crate) mod ionoscloud;
pub(crate) mod k0smotron;
pub(crate) mod kamaji;
pub(crate) mod kubeadm;
pub(crate) mod machines;
pub(crate) mod metal3;
pub(crate) mod microk8s;
pub(crate) mod nutanix;
pub(crate) mod openshift;
pub(crate) mod openstack;
pub(crate) mod outscale;
mod pages;
pub(crate) mod proxmox;
#[cfg(test)]
mod recorded;
pub(crate) mod rke2;
pub(crate) mod talos;
pub(crate) mod tinkerbell;
pub(crate) mod versions;
pub(crate) mod vsphere;

pub use groups::known;
pub(crate) use groups::{compared_words, is_cluster_wide, is_of_core};
pub(crate) use groups::{is_capi, is_compared};
pub(crate) use pages::knowledge;
pub use pages::pages;

use std::sync::LazyLock;

use crate::hashed::HashMap;
use crate::kinds::gates::Gate;
use crate::kinds::versions::{Release, Since};
use crate::kinds::{Kind, Role, Typed, contract};
use crate::object::Key;

/// What is known of one provider.
#[derive(Debug)]
pub struct Provider {
    /// Its name: that of its folder.
    pub name: &'static str,
    /// What it is, in one sentence.
    pub title: &'static str,
    /// Its versions; `None` where it is released with another one, or where no version of it is told apart.
    pub release: Option<&'static Release>,
    /// Its groups that do not end in `.cluster.x-k8s.io`, and those of what comes with it.
    pub groups: &'static [&'static str],
    /// Names of its kinds that live outside namespaces, beside those that the schema table knows.
    pub cluster_wide: &'static [&'static str],
    /// Its kinds, as far as more is known of them than the contract says.
    pub kinds: &'static [Kind],
    /// Its feature gates.
    pub gates: &'static [Gate],
    /// What changed in it with its versions.
    pub changes: &'static [&'static Since],
    /// The names of its packs, which stand in its folder `packs`; the narrow ones first.
    pub packs: &'static [&'static str],
}

impl Provider {
    /// A provider of which nothing is known yet.
    pub const EMPTY: Self = Self {
        name: "",
        title: "",
        release: None,
        groups: &[],
        cluster_wide: &[],
        kinds: &[],
        gates: &[],
        changes: &[],
        packs: &[],
    };
}

/// Every provider. Packs are asked in this order: what is about all kinds of Cluster API stands last.
pub static PROVIDERS: &[&Provider] = &[
    &kubeadm::PROVIDER,
    &rke2::PROVIDER,
    &talos::PROVIDER,
    &k0smotron::PROVIDER,
    &kamaji::PROVIDER,
    &microk8s::PROVIDER,
    &ck8s::PROVIDER,
    &openshift::PROVIDER,
    &openstack::PROVIDER,
    &metal3::PROVIDER,
    &bmo::PROVIDER,
    &vsphere::PROVIDER,
    &aws::PROVIDER,
    &azure::PROVIDER,
    &gcp::PROVIDER,
    &hetzner::PROVIDER,
    &cloudstack::PROVIDER,
    &nutanix::PROVIDER,
    &proxmox::PROVIDER,
    &tinkerbell::PROVIDER,
    &ionoscloud::PROVIDER,
    &outscale::PROVIDER,
    &docker::PROVIDER,
    &core::PROVIDER,
];

/// The versions of the providers.
pub(crate) static RELEASES: LazyLock<Vec<&'static Release>> =
    LazyLock::new(|| PROVIDERS.iter().filter_map(|provider| provider.release).collect());

/// The claimed kinds by name: few share one.
static KINDS: LazyLock<HashMap<&'static str, Vec<&'static Kind>>> = LazyLock::new(|| {
    let mut out: HashMap<&'static str, Vec<&'static Kind>> = HashMap::default();
    for kind in PROVIDERS.iter().flat_map(|provider| provider.kinds) {
        out.entry(kind.name).or_default().push(kind);
    }
    out
});

/// By name of each claimed kind: its group, and the name under which the version of the first provider that claims it is told.
static CLAIMS: LazyLock<HashMap<&'static str, Vec<(&'static str, &'static str)>>> = LazyLock::new(|| {
    let mut out: HashMap<&'static str, Vec<(&'static str, &'static str)>> = HashMap::default();
    for provider in PROVIDERS {
        let release = versions::named(provider.release.map_or(provider.name, |release| release.name));
        provider.kinds.iter().for_each(|kind| out.entry(kind.name).or_default().push((kind.group, release)));
    }
    out
});

/// The kind of an object: as its provider knows it, else as the contract says.
#[must_use]
pub fn kind(key: &Key) -> &'static Kind {
    kind_of(&key.group, &key.kind)
}

/// A key with its kind.
#[must_use]
pub(crate) fn typed(key: &Key) -> Typed<'_> {
    Typed::new(key, kind(key))
}

/// The kind of this group and name.
#[must_use]
pub(crate) fn kind_of(group: &str, name: &str) -> &'static Kind {
    let claimed = KINDS.get(name).and_then(|kinds| kinds.iter().copied().find(|kind| kind.group == group));
    claimed.unwrap_or_else(|| contract::of(group, name))
}

/// The name under which the version of a kind is told; `None` where no version of it is told apart.
#[must_use]
pub(crate) fn release_of(group: &str, name: &str) -> Option<&'static str> {
    let own = CLAIMS.get(name)?.iter().find(|(of, _)| *of == group);
    own.map(|(_, release)| *release)
}

/// The kinds whose loss with a whole namespace is weighed: what has Machines, and the hosts that they run on.
pub(crate) fn lost_with_a_namespace() -> impl Iterator<Item = (&'static str, &'static str)> {
    let kinds = PROVIDERS.iter().flat_map(|provider| provider.kinds);
    let is_lost = |kind: &&Kind| {
        kind.role == Role::Host
            || (kind.group == contract::CORE && (kind.role.decides_about_machines() || kind.role == Role::Machine))
    };
    kinds.filter(is_lost).map(|kind| (kind.group, kind.name))
}

/// Asks something about a write, in the tests of webhooks; one without a past is new.
#[cfg(test)]
pub(crate) fn on_write<T>(
    key: &Key,
    api_version: &str,
    (old, new): (Option<&crate::tree::Value>, &crate::tree::Value),
    ask: impl FnOnce(&crate::kinds::webhook::Write<'_>) -> T,
) -> T {
    ask(&crate::kinds::webhook::Write {
        key,
        kind: kind(key),
        api_version,
        is_new: old.is_none(),
        live: old,
        old: old.unwrap_or(new),
        new,
        versions: &crate::kinds::Versions::of(&[]),
        gate: &|_| crate::kinds::gates::State::Off,
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::kinds::contract::{BOOTSTRAP, CONTROL_PLANE};

    #[test]
    fn no_kind_is_claimed_twice_and_each_has_the_role_that_the_contract_gives_it() {
        // An entry of a pool of servers: a RemoteMachine takes one.
        const NOT_AS_NAMED: &str = "PooledRemoteMachine";
        let mut seen = BTreeSet::new();
        for kind in PROVIDERS.iter().flat_map(|provider| provider.kinds) {
            assert!(seen.insert((kind.group, kind.name)), "{kind:?} is claimed twice");
            let by_contract = contract::of(kind.group, kind.name).role;
            let is_provider =
                contract::is_infrastructure(kind.group) || matches!(kind.group, CONTROL_PLANE | BOOTSTRAP);
            let is_so = !is_provider || by_contract == kind.role || kind.name == NOT_AS_NAMED;
            assert!(is_so, "{kind:?} is {by_contract:?} by contract");
        }
    }

    #[test]
    fn a_kind_of_another_group_is_not_claimed_by_its_name() {
        assert!(kind_of("cluster.example.com", "KubeadmControlPlane").mirror.is_none());
        assert!(kind_of(CONTROL_PLANE, "KubeadmControlPlane").mirror.is_some());
    }

    #[test]
    fn the_tables_of_versions_stand_in_order() {
        for provider in PROVIDERS {
            assert!(provider.changes.is_sorted_by_key(|change| change.version), "{provider:?}");
        }
    }
}
