//! Cluster API Provider Nutanix, by its packs and the schema of its machine templates.

pub mod changes;
pub mod webhook;

use semver::Version;

use self::webhook::Nutanix;
use super::Provider;
use crate::kinds::contract::INFRASTRUCTURE;
use crate::kinds::versions::Release;
use crate::kinds::{Kind, Role};

static RELEASE: Release = Release { name: "nutanix", newest: Version::new(1, 10, 3), aliases: &["capx"] };

/// The kinds.
static KINDS: &[Kind] =
    &[Kind { webhook: Some(&Nutanix), ..Kind::new(INFRASTRUCTURE, "NutanixMachineTemplate", Role::Template) }];

/// The provider.
pub static PROVIDER: Provider = Provider {
    name: "nutanix",
    title: "Cluster API Provider Nutanix, by its packs and the schema of its machine templates.",
    release: Some(&RELEASE),
    kinds: KINDS,
    changes: changes::ALL,
    packs: &[
        ("nutanix", include_str!("packs/nutanix.yaml")),
        ("nutanix-templates", include_str!("packs/nutanix-templates.yaml")),
    ],
    ..Provider::EMPTY
};
