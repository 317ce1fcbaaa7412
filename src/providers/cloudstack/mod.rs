//! Cluster API Provider `CloudStack`: its webhooks were run.

mod fixed;
pub(crate) mod webhook;

use self::fixed::{MACHINE, TEMPLATE};
use self::webhook::CloudStack;
use super::Provider;
use crate::kinds::contract::INFRASTRUCTURE;
use crate::kinds::{Kind, Role};

/// A kind with the webhooks of this provider.
const fn known(name: &'static str, role: Role) -> Kind {
    Kind { webhook: Some(&CloudStack), ..Kind::new(INFRASTRUCTURE, name, role) }
}

/// The kinds of which more is known than Cluster API's contract says.
static KINDS: &[Kind] = &[
    known("CloudStackCluster", Role::InfraCluster),
    Kind { fixed: Some(&MACHINE), ..known("CloudStackMachine", Role::InfraMachine) },
    Kind {
        fixed: Some(&TEMPLATE),
        images: &["spec.template.spec.template.name"],
        ..known("CloudStackMachineTemplate", Role::Template)
    },
];

/// All that is known of this provider.
pub(crate) static PROVIDER: Provider = Provider {
    name: "cloudstack",
    title: "Cluster API Provider CloudStack: its webhooks were run.",
    kinds: KINDS,
    packs: &["cloudstack", "cloudstack-machines", "cloudstack-templates"],
    ..Provider::EMPTY
};
