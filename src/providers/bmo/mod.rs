//! The operator of Metal3's hosts (baremetal-operator), which is released beside the provider under versions of its own.

mod bmc;
pub mod changes;
mod decoded;
mod host;
mod said;
mod webhook;

use semver::Version;

use self::webhook::Hosts;
use super::Provider;
use super::metal3::HOST;
use crate::kinds::versions::Release;
use crate::kinds::{Kind, Role};

static RELEASE: Release = Release { name: "baremetal-operator", newest: Version::new(0, 14, 0), aliases: &["bmo"] };

/// The kinds.
static KINDS: &[Kind] = &[Kind {
    webhook: Some(&Hosts),
    pauses: &host::PAUSES,
    waiting: Some(host::waiting),
    ..Kind::new(HOST.0, HOST.1, Role::Host)
}];

/// The provider.
pub static PROVIDER: Provider = Provider {
    name: "bmo",
    title: "The operator of Metal3's hosts, with versions of its own.",
    release: Some(&RELEASE),
    groups: &["metal3.io"],
    kinds: KINDS,
    changes: changes::ALL,
    packs: &[("metal3-hosts", include_str!("packs/metal3-hosts.yaml"))],
    ..Provider::EMPTY
};
