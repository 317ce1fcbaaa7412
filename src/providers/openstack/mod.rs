//! Cluster API Provider OpenStack.

mod address;
pub(crate) mod changes;
mod network;
mod peers;
mod pinned;
pub(crate) mod webhook;

use semver::Version;

use self::webhook::OpenStack;
use super::Provider;
use crate::kinds::contract::INFRASTRUCTURE;
use crate::kinds::versions::Release;
use crate::kinds::{Kind, Role};

static RELEASE: Release = Release { name: "openstack", newest: Version::new(0, 15, 0), aliases: &["capo"] };

/// A kind with the webhooks of this provider.
const fn known(name: &'static str, role: Role) -> Kind {
    Kind { webhook: Some(&OpenStack), ..Kind::new(INFRASTRUCTURE, name, role) }
}

/// Whether a word of `clouds.yaml`, or the whole file, makes the provider look in another cloud, project or region (`pkg/scope/provider.go`
/// NewProviderClient of 0.14). A project that is said no more may be that of an application credential, which says none.
fn is_where(word: &str, is_replaced: bool) -> bool {
    const REPLACED: [&str; 5] = ["clouds.yaml", "project_id", "project_name", "tenant_id", "tenant_name"];
    matches!(word, "auth_url" | "region_name") || is_replaced && REPLACED.contains(&word)
}

/// The kinds of which more is known than Cluster API's contract says.
static KINDS: &[Kind] = &[
    Kind { looks_at: Some(is_where), ..known("OpenStackCluster", Role::InfraCluster) },
    Kind { looks_at: Some(is_where), ..Kind::new(INFRASTRUCTURE, "OpenStackClusterIdentity", Role::Other) },
    known("OpenStackClusterTemplate", Role::Template),
    Kind { looks_at: Some(is_where), ..known("OpenStackMachine", Role::InfraMachine) },
    Kind {
        images: &["spec.template.spec.image", "spec.template.spec.imageUUID"],
        ..known("OpenStackMachineTemplate", Role::Template)
    },
    known("OpenStackServer", Role::Other),
];

/// All that is known of this provider.
pub(crate) static PROVIDER: Provider = Provider {
    name: "openstack",
    title: "Cluster API Provider OpenStack.",
    release: Some(&RELEASE),
    groups: &["openstack.k-orc.cloud"],
    kinds: KINDS,
    changes: changes::ALL,
    packs: &[
        "openstack",
        "openstack-machines",
        "openstack-templates",
        "openstack-servers",
        "openstack-addresses",
        "openstack-identities",
    ],
    ..Provider::EMPTY
};
