//! Cluster API Provider Outscale, by its packs and its webhooks, which were run.

mod fixed;
pub(crate) mod webhook;

use self::webhook::Outscale;
use super::Provider;
use crate::kinds::contract::INFRASTRUCTURE;
use crate::kinds::{Kind, Role};

/// A kind with the webhooks of this provider.
const fn known(name: &'static str, role: Role) -> Kind {
    Kind { webhook: Some(&Outscale), ..Kind::new(INFRASTRUCTURE, name, role) }
}

/// The kinds of which more is known than Cluster API's contract says.
static KINDS: &[Kind] = &[
    known("OscCluster", Role::InfraCluster),
    Kind { fixed: Some(&fixed::TEMPLATE), ..known("OscClusterTemplate", Role::Template) },
    known("OscMachine", Role::InfraMachine),
    Kind { fixed: Some(&fixed::TEMPLATE), ..known("OscMachineTemplate", Role::Template) },
];

/// All that is known of this provider.
pub(crate) static PROVIDER: Provider = Provider {
    name: "outscale",
    title: "Cluster API Provider Outscale, by its packs and its webhooks, which were run.",
    kinds: KINDS,
    packs: &["outscale", "outscale-templates"],
    ..Provider::EMPTY
};
