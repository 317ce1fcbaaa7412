//! Cluster API Provider Tinkerbell, by its packs.

pub mod webhook;

use self::webhook::Tinkerbell;
use super::Provider;
use crate::kinds::contract::INFRASTRUCTURE;
use crate::kinds::{Kind, Role};

/// The kinds.
static KINDS: &[Kind] =
    &[Kind { webhook: Some(&Tinkerbell), ..Kind::new(INFRASTRUCTURE, "TinkerbellMachineTemplate", Role::Template) }];

/// The provider.
pub static PROVIDER: Provider = Provider {
    name: "tinkerbell",
    title: "Cluster API Provider Tinkerbell, by its packs.",
    kinds: KINDS,
    packs: &[
        ("tinkerbell", include_str!("packs/tinkerbell.yaml")),
        ("tinkerbell-templates", include_str!("packs/tinkerbell-templates.yaml")),
    ],
    ..Provider::EMPTY
};
