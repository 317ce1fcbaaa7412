//! Subnets, their rules and endpoints, and the network that they lie in.

use super::super::webhook::RULE;
use super::{CLUSTER, CONTROL_PLANE, is_name, lies_in, ranges, twice};
use crate::kinds::fields::{list, text};
use crate::kinds::webhook::{Refusal, refuse};
use crate::object::Path;
use crate::tree::Value;

/// What is refused about a network and its subnets (validateNetworkSpec, validateSubnets).
pub(super) fn refusals(network: &Value, has_control_plane: bool, at: &Path, out: &mut Vec<Refusal>) {
    let has = |role: &str| list(network, "/subnets").any(|subnet| text(subnet, "/role") == Some(role));
    if has_control_plane && !has(CONTROL_PLANE) && !has(CLUSTER) {
        refuse(out, RULE, at, "subnets", "control planes need a subnet");
    }
    // The defaults name the group of each network.
    let Some(group) = text(network, "/vnet/resourceGroup") else { return };
    if !is_name(group, b"()") {
        refuse(out, RULE, at, "vnet.resourceGroup", "it is no name of a resource group");
    }
    for range in list(network, "/vnet/cidrBlocks") {
        if range.as_str().is_none_or(|range| range.parse::<ipnet::IpNet>().is_err()) {
            refuse(out, RULE, at, "vnet.cidrBlocks", "it must be ranges such as 10.0.0.0/8");
        }
    }
    let whole = ranges(network, "/vnet/cidrBlocks");
    for (place, one) in list(network, "/subnets").enumerate() {
        subnet(one, &whole, &at.key("subnets").index(place), out);
    }
    let names = list(network, "/subnets").map(|subnet| text(subnet, "/name").unwrap_or_default().to_owned());
    if let Some(name) = twice(names) {
        refuse(out, RULE, at, "subnets", format!("two subnets are called {name}"));
    }
    if !has(CLUSTER) && !has("node") {
        refuse(out, RULE, at, "subnets", "nodes need a subnet");
    }
    if !has(CLUSTER) && has_control_plane && !has(CONTROL_PLANE) {
        refuse(out, RULE, at, "subnets", "control planes need a subnet");
    }
    let peers = list(network, "/vnet/peerings").map(|peering| {
        let word = |key: &str| text(peering, key).unwrap_or_default();
        format!("{}/{}", word("/resourceGroup"), word("/remoteVnetName"))
    });
    if let Some(name) = twice(peers) {
        refuse(out, RULE, at, "vnet.peerings", format!("{name} stands twice"));
    }
}

/// One subnet.
fn subnet(subnet: &Value, whole: &[ipnet::IpNet], at: &Path, out: &mut Vec<Refusal>) {
    if !is_name(text(subnet, "/name").unwrap_or_default(), b"") {
        refuse(out, RULE, at, "name", "it is no name of a subnet");
    }
    for (place, rule) in list(subnet, "/securityGroup/securityRules").enumerate() {
        let below = |key: &str| format!("securityGroup.securityRules[{place}].{key}");
        if !(100..=4096).contains(&rule.get("priority").and_then(Value::as_i64).unwrap_or(0)) {
            refuse(out, RULE, at, &below("priority"), "it lies between 100 and 4096");
        }
        if ["source", "sources"].iter().all(|key| rule.get(*key).is_some_and(|value| !value.is_null())) {
            refuse(out, RULE, at, &below("sources"), "it excludes source");
        }
    }
    for range in list(subnet, "/cidrBlocks") {
        let own = range.as_str().and_then(|range| range.parse::<ipnet::IpNet>().ok());
        if own.is_none_or(|own| !whole.iter().any(|whole| whole.contains(&own.addr()))) {
            refuse(out, RULE, at, "cidrBlocks", "it must be ranges within those of the network");
        }
    }
    service_endpoints(subnet, at, out);
    private_endpoints(subnet, at, out);
}

/// Services that are reached without leaving Azure.
fn service_endpoints(subnet: &Value, at: &Path, out: &mut Vec<Refusal>) {
    for (place, endpoint) in list(subnet, "/serviceEndpoints").enumerate() {
        let at = at.key("serviceEndpoints").index(place);
        if !is_service(text(endpoint, "/service").unwrap_or_default()) {
            refuse(out, RULE, &at, "service", "it must be a service such as Microsoft.Storage");
        }
        let locations = || list(endpoint, "/locations").map(|one| one.as_str().unwrap_or_default().to_owned());
        if locations().next().is_none() || locations().any(|one| !is_location(&one)) || twice(locations()).is_some() {
            refuse(out, RULE, &at, "locations", "it must be locations such as westeurope, each once, or *");
        }
    }
    let services = list(subnet, "/serviceEndpoints").filter_map(|one| text(one, "/service").map(str::to_owned));
    if let Some(name) = twice(services) {
        refuse(out, RULE, at, "serviceEndpoints", format!("{name} stands twice"));
    }
}

/// Whether a text is a service: `Microsoft.`, then letters, then digits among them.
fn is_service(name: &str) -> bool {
    let Some(rest) = name.strip_prefix("Microsoft.") else { return false };
    let letters = rest.bytes().take_while(u8::is_ascii_alphabetic).count();
    // At most 42 letters and 42 letters or digits.
    letters > 0 && rest.bytes().all(|byte| byte.is_ascii_alphanumeric()) && rest.len() <= letters.min(42) + 42
}

/// Whether a text is a location.
fn is_location(name: &str) -> bool {
    let letters = name.bytes().take_while(u8::is_ascii_lowercase).count();
    let digits = &name[letters..];
    name == "*"
        || ((1..=42).contains(&letters) && digits.len() <= 5 && digits.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Resources that have an address in the subnet.
fn private_endpoints(subnet: &Value, at: &Path, out: &mut Vec<Refusal>) {
    let whole = ranges(subnet, "/cidrBlocks");
    for (place, endpoint) in list(subnet, "/privateEndpoints").enumerate() {
        let at = at.key("privateEndpoints").index(place);
        if !is_name(text(endpoint, "/name").unwrap_or_default(), b"") {
            refuse(out, RULE, &at, "name", "it is no name of an endpoint");
        }
        let mut services = list(endpoint, "/privateLinkServiceConnections").peekable();
        if services.peek().is_none() {
            refuse(out, RULE, &at, "privateLinkServiceConnections", "an endpoint leads somewhere");
        }
        for (item, service) in services.enumerate() {
            let below = |key: &str| format!("privateLinkServiceConnections[{item}].{key}");
            if !is_resource(text(service, "/privateLinkServiceID").unwrap_or_default()) {
                refuse(out, RULE, &at, &below("privateLinkServiceID"), "it must be the id of a resource");
            }
            if text(service, "/name").is_some_and(|name| !is_name(name, b"")) {
                refuse(out, RULE, &at, &below("name"), "it is no name of a connection");
            }
        }
        for address in list(endpoint, "/privateIPAddresses") {
            if !lies_in(address.as_str().unwrap_or_default(), &whole) {
                refuse(out, RULE, &at, "privateIPAddresses", "it must be addresses in the subnet");
            }
        }
    }
}

/// Whether the id of a resource stands in a text.
fn is_resource(id: &str) -> bool {
    let id = id.to_ascii_lowercase();
    let mut rest = id.as_str();
    for (word, end) in [("subscriptions/", "/resourcegroups/"), ("/resourcegroups/", "/providers/")] {
        let Some((_, tail)) = rest.split_once(word) else { return false };
        match tail.find(end) {
            Some(place) if place > 0 => rest = &tail[place..],
            _ => return false,
        }
    }
    let tail = rest.strip_prefix("/providers/").unwrap_or_default();
    let parts: Vec<&str> = tail.splitn(3, '/').collect();
    parts.len() == 3 && parts.iter().all(|part| !part.is_empty())
}

/// The ranges of a subnet stay once the provider made the network (validateAzureClusterSubnetUpdate).
pub(super) fn owned(old: &Value, new: &Value, cluster: &str, at: &Path, out: &mut Vec<Refusal>) {
    let tag = format!("sigs.k8s.io_cluster-api-provider-azure_cluster_{cluster}");
    if old.pointer("/vnet/tags").and_then(|tags| tags.get(&tag)).is_none_or(|value| value != "owned") {
        return;
    }
    for (place, subnet) in list(new, "/subnets").enumerate() {
        let name = text(subnet, "/name");
        let before = list(old, "/subnets").filter(|before| text(before, "/name") == name).last();
        let blocks = |side: &Value| list(side, "/cidrBlocks").cloned().collect::<Vec<_>>();
        if before.is_some_and(|before| blocks(before) != blocks(subnet)) {
            refuse(out, RULE, &at.key("subnets").index(place), "cidrBlocks", "a subnet keeps its ranges");
        }
    }
}
