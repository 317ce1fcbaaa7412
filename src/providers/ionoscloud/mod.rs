//! Cluster API Provider IONOS Cloud, by its packs and its schemas: it has no webhook.

use super::Provider;
use crate::kinds::contract::INFRASTRUCTURE;
use crate::kinds::{Kind, Role, SchemaAlone};

/// A kind of this provider.
const fn known(name: &'static str, role: Role) -> Kind {
    Kind { webhook: Some(&SchemaAlone), ..Kind::new(INFRASTRUCTURE, name, role) }
}

/// The kinds of which more is known than Cluster API's contract says.
static KINDS: &[Kind] = &[
    known("IonosCloudCluster", Role::InfraCluster),
    known("IonosCloudClusterTemplate", Role::Template),
    known("IonosCloudMachine", Role::InfraMachine),
    known("IonosCloudMachineTemplate", Role::Template),
];

/// All that is known of this provider.
pub(crate) static PROVIDER: Provider = Provider {
    name: "ionoscloud",
    title: "Cluster API Provider IONOS Cloud, by its packs and its schemas, which were run: it has no webhook.",
    kinds: KINDS,
    packs: &["ionoscloud", "ionoscloud-templates"],
    ..Provider::EMPTY
};
