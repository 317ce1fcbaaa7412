//! The Docker provider that Cluster API tests itself with, and its in-memory twin.

pub(crate) mod webhook;

use semver::Version;

use self::webhook::Docker;
use super::Provider;
use crate::kinds::contract::INFRASTRUCTURE;
use crate::kinds::versions::Release;
use crate::kinds::{Kind, Role, fixed};

static RELEASE: Release = Release {
    name: "docker",
    newest: Version::new(1, 14, 2),
    aliases: &["infrastructure-docker", "in-memory", "capd"],
};

/// A kind with the webhooks of this provider.
const fn known(name: &'static str, role: Role) -> Kind {
    Kind { webhook: Some(&Docker), ..Kind::new(INFRASTRUCTURE, name, role) }
}

/// The kinds of which more is known than Cluster API's contract says.
static KINDS: &[Kind] = &[
    known("DockerCluster", Role::InfraCluster),
    known("DevCluster", Role::InfraCluster),
    known("DockerMachine", Role::InfraMachine),
    known("DevMachine", Role::InfraMachine),
    Kind {
        fixed: Some(&fixed::OWN_WAY),
        images: &["spec.template.spec.customImage"],
        ..known("DockerMachineTemplate", Role::Template)
    },
    Kind {
        fixed: Some(&fixed::OWN_WAY),
        images: &["spec.template.spec.backend.docker.customImage"],
        ..known("DevMachineTemplate", Role::Template)
    },
];

/// All that is known of this provider.
pub(crate) static PROVIDER: Provider = Provider {
    name: "docker",
    title: "The Docker provider that Cluster API tests itself with, and its in-memory twin.",
    release: Some(&RELEASE),
    kinds: KINDS,
    changes: &[],
    packs: &["docker", "docker-machines"],
    ..Provider::EMPTY
};
