//! Cluster API Provider Nutanix, by its packs and its schemas.

use semver::Version;

use super::Provider;
use crate::kinds::contract::INFRASTRUCTURE;
use crate::kinds::versions::Release;
use crate::kinds::{Kind, Role, SchemaAlone};

static RELEASE: Release = Release { name: "nutanix", newest: Version::new(1, 10, 3), aliases: &["capx"] };

/// A kind of this provider. Its one webhook (`api/v1beta1/nutanixmachinetemplate_webhook.go` of 1.10) fills in names of images, behind feature
/// gates that are off.
const fn known(name: &'static str, role: Role) -> Kind {
    Kind { webhook: Some(&SchemaAlone), ..Kind::new(INFRASTRUCTURE, name, role) }
}

/// The kinds of which more is known than Cluster API's contract says.
static KINDS: &[Kind] = &[
    known("NutanixCluster", Role::InfraCluster),
    known("NutanixClusterTemplate", Role::Template),
    known("NutanixFailureDomain", Role::Other),
    known("NutanixMachine", Role::InfraMachine),
    known("NutanixMachineTemplate", Role::Template),
];

/// All that is known of this provider.
pub(crate) static PROVIDER: Provider = Provider {
    name: "nutanix",
    title: "Cluster API Provider Nutanix, by its packs and its schemas.",
    release: Some(&RELEASE),
    kinds: KINDS,
    packs: &["nutanix", "nutanix-templates", "nutanix-clusters"],
    ..Provider::EMPTY
};
