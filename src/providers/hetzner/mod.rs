//! Cluster API Provider Hetzner, by its pack and its webhooks, which were run.

pub(crate) mod changes;
mod fixed;
pub(crate) mod webhook;

use semver::Version;

use self::webhook::Hetzner;
use super::Provider;
use crate::kinds::contract::INFRASTRUCTURE;
use crate::kinds::versions::Release;
use crate::kinds::{Kind, Role};

static RELEASE: Release = Release { name: "hetzner", newest: Version::new(1, 1, 8), aliases: &["caph"] };

/// A kind with the webhooks of this provider.
const fn known(name: &'static str, role: Role) -> Kind {
    Kind { webhook: Some(&Hetzner), ..Kind::new(INFRASTRUCTURE, name, role) }
}

/// The kinds of which more is known than Cluster API's contract says.
static KINDS: &[Kind] = &[
    known("HetznerCluster", Role::InfraCluster),
    Kind { fixed: Some(&fixed::CLUSTER_TEMPLATE), ..known("HetznerClusterTemplate", Role::Template) },
    Kind { fixed: Some(&fixed::SERVER), ..known("HCloudMachine", Role::InfraMachine) },
    Kind { fixed: Some(&fixed::SERVER_TEMPLATE), ..known("HCloudMachineTemplate", Role::Template) },
    Kind { fixed: Some(&fixed::HOST_MACHINE), ..known("HetznerBareMetalMachine", Role::InfraMachine) },
    Kind { fixed: Some(&fixed::HOST_TEMPLATE), ..known("HetznerBareMetalMachineTemplate", Role::Template) },
    known("HetznerBareMetalHost", Role::Other),
    known("HCloudRemediationTemplate", Role::Template),
    known("HetznerBareMetalRemediationTemplate", Role::Template),
];

/// All that is known of this provider.
pub(crate) static PROVIDER: Provider = Provider {
    name: "hetzner",
    title: "Cluster API Provider Hetzner, by its pack and its webhooks, which were run.",
    release: Some(&RELEASE),
    kinds: KINDS,
    changes: changes::ALL,
    packs: &["hetzner", "hetzner-hosts"],
    ..Provider::EMPTY
};
