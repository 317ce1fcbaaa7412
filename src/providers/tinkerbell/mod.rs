//! Cluster API Provider Tinkerbell, by its packs and its webhooks, which were run.

mod fixed;
pub(crate) mod webhook;

use semver::Version;

use self::webhook::Tinkerbell;
use super::Provider;
use crate::kinds::contract::INFRASTRUCTURE;
use crate::kinds::versions::Release;
use crate::kinds::{Kind, Role};

static RELEASE: Release = Release { name: "tinkerbell", newest: Version::new(0, 7, 0), aliases: &["capt"] };

/// A kind with the webhooks of this provider.
const fn known(name: &'static str, role: Role) -> Kind {
    Kind { webhook: Some(&Tinkerbell), ..Kind::new(INFRASTRUCTURE, name, role) }
}

/// The kinds of which more is known than Cluster API's contract says.
static KINDS: &[Kind] = &[
    known("TinkerbellCluster", Role::InfraCluster),
    known("TinkerbellMachine", Role::InfraMachine),
    Kind { fixed: Some(&fixed::TEMPLATE), ..known("TinkerbellMachineTemplate", Role::Template) },
];

/// All that is known of this provider.
pub(crate) static PROVIDER: Provider = Provider {
    name: "tinkerbell",
    title: "Cluster API Provider Tinkerbell, by its packs and its webhooks, which were run.",
    release: Some(&RELEASE),
    kinds: KINDS,
    packs: &["tinkerbell", "tinkerbell-templates"],
    ..Provider::EMPTY
};
