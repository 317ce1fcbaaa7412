//! The operator of Metal3's hosts (baremetal-operator), which is released beside the provider under versions of its own.

mod bmc;
pub(crate) mod changes;
mod claim;
mod decoded;
mod host;
mod others;
mod said;
mod webhook;

use semver::Version;

use self::others::Others;
use self::webhook::Hosts;
use super::Provider;
use super::metal3::HOST;
use crate::kinds::versions::Release;
use crate::kinds::{Kind, Role};

static RELEASE: Release = Release { name: "baremetal-operator", newest: Version::new(0, 14, 0), aliases: &["bmo"] };

/// A kind beside the hosts.
const fn beside(name: &'static str) -> Kind {
    Kind { webhook: Some(&Others), ..Kind::new(HOST.0, name, Role::Other) }
}

/// A kind beside the hosts whose removal wipes none of them: the operator makes firmware anew and takes the rest off at the next boot.
const fn dispensable(name: &'static str) -> Kind {
    Kind { by_reference: true, ..beside(name) }
}

/// The kinds of which more is known than Cluster API's contract says.
static KINDS: &[Kind] = &[
    Kind {
        webhook: Some(&Hosts),
        pauses: &host::PAUSES,
        waiting: Some(host::waiting),
        ..Kind::new(HOST.0, HOST.1, Role::Host)
    },
    dispensable(others::DATA_IMAGE),
    dispensable(others::FIRMWARE),
    dispensable(others::SUBSCRIPTION),
    beside(others::ATTACHMENT),
    beside(others::CLAIM),
    beside("BareMetalSwitch"),
    beside("FirmwareSchema"),
    beside("HardwareData"),
    beside("HostDeployPolicy"),
    dispensable("HostFirmwareSettings"),
    dispensable("HostUpdatePolicy"),
    beside("PreprovisioningImage"),
];

/// All that is known of this provider.
pub(crate) static PROVIDER: Provider = Provider {
    name: "bmo",
    title: "The operator of Metal3's hosts, with versions of its own.",
    release: Some(&RELEASE),
    groups: &["metal3.io"],
    kinds: KINDS,
    changes: changes::ALL,
    packs: &["metal3-hosts", "metal3-hosts-others"],
    ..Provider::EMPTY
};
