//! Mirror of what the webhook of the Azure provider refuses about a cluster and its network, beside what cannot change.
//! Read beside `internal/webhooks/azurecluster_{webhook,validation}.go` of cluster-api-provider-azure 1.26. Sides are as its
//! defaults leave them.

mod balancers;
mod subnets;

use std::collections::BTreeSet;
use std::net::IpAddr;

use super::webhook::RULE;
use crate::kinds::fields::{list, text};
use crate::kinds::webhook::{Refusal, refuse};
use crate::object::Path;
use crate::tree::Value;

/// Role of the subnet of control planes.
const CONTROL_PLANE: &str = "control-plane";
/// Role of a subnet for all.
const CLUSTER: &str = "cluster";
/// A load balancer that is reached from within only.
const INTERNAL: &str = "Internal";

/// What is refused about a cluster; the old side is `None` where it is new.
pub(super) fn refusals(old: Option<&Value>, new: &Value, out: &mut Vec<Refusal>) {
    let at = Path::root().key("spec");
    named(new, out);
    let Some(spec) = new.get("spec") else { return };
    let old = old.and_then(|old| old.get("spec"));
    if old.is_none() && spec.get("cloudProviderConfigOverrides").is_some_and(|value| !value.is_null()) {
        refuse(out, RULE, &at, "cloudProviderConfigOverrides", "the webhook takes it for a change");
    }
    let tunnels = spec.pointer("/bastionSpec/azureBastion/enableTunneling") == Some(&Value::Bool(true));
    if tunnels && text(spec, "/bastionSpec/azureBastion/sku") != Some("Standard") {
        refuse(out, RULE, &at, "bastionSpec.azureBastion.sku", "tunnels need the sku Standard");
    }
    let nothing = Value::Null;
    let network = spec.get("networkSpec").unwrap_or(&nothing);
    let before = old.and_then(|old| old.get("networkSpec"));
    let has_control_plane = spec.get("controlPlaneEnabled") != Some(&Value::Bool(false));
    let at = at.key("networkSpec");
    subnets::refusals(network, has_control_plane, &at, out);
    if let Some(before) = before {
        subnets::owned(before, network, text(new, "/metadata/name").unwrap_or_default(), &at, out);
        balancers::zones(before, network, &at, out);
    }
    balancers::refusals(before, network, has_control_plane, &at, out);
    zone(network, has_control_plane, &at, out);
}

/// The name of a cluster begins the names of its machines.
fn named(new: &Value, out: &mut Vec<Refusal>) {
    let name = text(new, "/metadata/name").unwrap_or_default();
    let is_letter = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let ends = [name.bytes().next(), name.bytes().last()];
    let fits = (2..=44).contains(&name.len())
        && name.bytes().all(|byte| is_letter(byte) || byte == b'-')
        && ends.into_iter().flatten().all(is_letter);
    if !fits {
        let message = "it has 2 to 44 small letters, digits and -, and no - at its ends";
        refuse(out, RULE, &Path::root().key("metadata"), "name", message);
    }
}

/// The zone of names of a cluster that is reached from within.
fn zone(network: &Value, has_control_plane: bool, at: &Path, out: &mut Vec<Refusal>) {
    let name = text(network, "/privateDNSZoneName");
    if let Some(name) = name {
        if has_control_plane && text(network, "/apiServerLB/type").unwrap_or(INTERNAL) != INTERNAL {
            refuse(out, RULE, at, "privateDNSZoneName", "it needs apiServerLB.type Internal");
        }
        if !is_dns_name(name) {
            refuse(out, RULE, at, "privateDNSZoneName", "it is no name of DNS");
        }
    }
    if let Some(group) = text(network, "/privateDNSZoneResourceGroup") {
        if name.is_none() {
            refuse(out, RULE, at, "privateDNSZoneResourceGroup", "it needs privateDNSZoneName");
        }
        if !is_name(group, b"()") {
            refuse(out, RULE, at, "privateDNSZoneResourceGroup", "it is no name of a resource group");
        }
    }
}

/// Whether a text is a name of DNS as govalidator reads it, underscores included.
fn is_dns_name(name: &str) -> bool {
    let is_part = |part: &str| {
        let ends = |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        part.len() <= 63
            && ends(part.bytes().next())
            && ends(part.bytes().last())
            && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
    };
    let name = name.strip_suffix('.').unwrap_or(name);
    name.replace('.', "").len() <= 255 && name.parse::<IpAddr>().is_err() && name.split('.').all(is_part)
}

/// Whether a text has letters, digits, `-`, `_` and `.` only, and those that are named beside them.
fn is_name(name: &str, more: &[u8]) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte) || more.contains(&byte);
    !name.is_empty() && name.bytes().all(fits)
}

/// The ranges at a place that can be read.
fn ranges(value: &Value, pointer: &str) -> Vec<ipnet::IpNet> {
    list(value, pointer).filter_map(|range| range.as_str()?.parse().ok()).collect()
}

/// Whether an address is one, and lies in one of these ranges.
fn lies_in(address: &str, ranges: &[ipnet::IpNet]) -> bool {
    address.parse::<IpAddr>().is_ok_and(|address| ranges.iter().any(|range| range.contains(&address)))
}

/// The first text that stands twice.
fn twice(mut texts: impl Iterator<Item = String>) -> Option<String> {
    let mut seen = BTreeSet::new();
    texts.find(|text| !seen.insert(text.clone()))
}

#[cfg(test)]
mod tests;
