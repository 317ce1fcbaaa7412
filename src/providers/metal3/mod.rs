//! Metal3: bare metal hosts as Machines.

mod addresses;
pub(crate) mod changes;
mod claims;
pub(crate) mod free;
mod others;
pub(crate) mod webhook;

use semver::Version;

use self::addresses::Addresses;
use self::claims::{Claims, Given};
use self::webhook::Metal3;
use super::Provider;
use crate::kinds::contract::INFRASTRUCTURE;
use crate::kinds::versions::Release;
use crate::kinds::{Kind, Role};

pub(crate) static RELEASE: Release = Release { name: "metal3", newest: Version::new(1, 14, 0), aliases: &["capm3"] };

/// The kind that a Machine of this provider is made of.
pub(crate) const MACHINE: &str = "Metal3Machine";
/// The template of a Machine.
pub(crate) const MACHINE_TEMPLATE: &str = "Metal3MachineTemplate";
/// The template of what a host is told about itself.
pub(crate) const DATA_TEMPLATE: &str = "Metal3DataTemplate";
/// The hosts, as group and name.
pub(crate) const HOST: (&str, &str) = ("metal3.io", "BareMetalHost");
/// The group of addresses.
const ADDRESSES: &str = "ipam.metal3.io";

/// Label of a host that waits to be used again by one owner (CAPM3 `baremetal/metal3machine_manager.go`, v1.10).
pub(crate) const REUSE: &str = "infrastructure.cluster.x-k8s.io/node-reuse";
/// Annotation of a Metal3Machine that names its host (`api/v1beta1/metal3machine_types.go` HostAnnotation, `baremetal/metal3machine_manager.go`).
pub(crate) const HOST_OF_MACHINE: &str = "metal3.io/BareMetalHost";
/// Annotations that keep a host from being chosen (same file, chooseHost).
pub(crate) const SHUT: [&str; 3] =
    ["baremetalhost.metal3.io/paused", "capm3.metal3.io/unhealthy", "capi.metal3.io/unhealthy"];

/// A kind with the webhooks of this provider.
const fn known(name: &'static str, role: Role) -> Kind {
    Kind { webhook: Some(&Metal3), hosts: Some(HOST), ..Kind::new(INFRASTRUCTURE, name, role) }
}

/// The kinds of which more is known than Cluster API's contract says.
static KINDS: &[Kind] = &[
    known("Metal3Cluster", Role::InfraCluster),
    known("Metal3ClusterTemplate", Role::Template),
    known("Metal3Machine", Role::InfraMachine),
    Kind { images: &["spec.template.spec.image"], ..known(MACHINE_TEMPLATE, Role::Template) },
    known("Metal3Data", Role::Other),
    known("Metal3DataClaim", Role::Other),
    known(DATA_TEMPLATE, Role::Template),
    known("Metal3Remediation", Role::Other),
    known("Metal3RemediationTemplate", Role::Template),
    Kind {
        webhook: Some(&Addresses),
        by_reference: true,
        named_alone: true,
        ..Kind::new(ADDRESSES, "IPPool", Role::Other)
    },
    Kind { webhook: Some(&Given), ..Kind::new(ADDRESSES, "IPAddress", Role::Address) },
    Kind { webhook: Some(&Claims), ..Kind::new(ADDRESSES, "IPClaim", Role::Address) },
];

/// All that is known of this provider.
pub(crate) static PROVIDER: Provider = Provider {
    name: "metal3",
    title: "Metal3: bare metal hosts as Machines.",
    release: Some(&RELEASE),
    groups: &["ipam.metal3.io"],
    kinds: KINDS,
    changes: changes::ALL,
    packs: &["metal3", "metal3-machines", "metal3-remediations", "metal3-addresses"],
    ..Provider::EMPTY
};
