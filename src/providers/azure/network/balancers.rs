//! Load balancers: the one before the API server, and those towards the outside.

use super::super::webhook::RULE;
use super::{CLUSTER, CONTROL_PLANE, INTERNAL, is_name, lies_in, ranges};
use crate::kinds::fields::{list, text};
use crate::kinds::webhook::{Refusal, refuse};
use crate::object::Path;
use crate::tree::Value;

/// Most addresses towards the outside.
const MOST_ADDRESSES: i64 = 16;

/// What is refused about load balancers.
pub(super) fn refusals(
    old: Option<&Value>,
    network: &Value,
    has_control_plane: bool,
    at: &Path,
    out: &mut Vec<Refusal>,
) {
    let nothing = Value::Null;
    let server = network.get("apiServerLB").filter(|balancer| balancer.is_object());
    let is_internal = server.and_then(|server| text(server, "/type")) == Some(INTERNAL);
    if let Some(server) = server.filter(|_| has_control_plane) {
        let before = old.and_then(|old| old.get("apiServerLB"));
        api_server(before, server, &of_control_planes(network), &at.key("apiServerLB"), out);
    }
    let is_long = |range: &ipnet::IpNet| matches!(range, ipnet::IpNet::V6(_));
    let is_needed = list(network, "/subnets").any(|subnet| {
        matches!(text(subnet, "/role"), Some("node" | CLUSTER)) && ranges(subnet, "/cidrBlocks").iter().any(is_long)
    });
    if is_needed {
        let before = old.and_then(|old| old.get("nodeOutboundLB")).filter(|balancer| balancer.is_object());
        match network.get("nodeOutboundLB").filter(|balancer| balancer.is_object()) {
            Some(nodes) => of_nodes(before, nodes, &at.key("nodeOutboundLB"), out),
            None if is_internal => {}
            None => refuse(out, RULE, at, "nodeOutboundLB", "nodes with addresses of IPv6 need it"),
        }
    }
    let outside = network.get("controlPlaneOutboundLB").filter(|balancer| balancer.is_object());
    if let Some(outside) = outside.filter(|_| has_control_plane) {
        let at = at.key("controlPlaneOutboundLB");
        if is_internal {
            minutes(outside, &at, out);
            addresses(outside, &at, out);
        } else if text(server.unwrap_or(&nothing), "/type") == Some("Public") {
            refuse(out, RULE, &at, "", "only a cluster that is reached from within has it");
        }
    }
}

/// The ranges of the subnet of control planes.
fn of_control_planes(network: &Value) -> Vec<ipnet::IpNet> {
    let find = |role: &str| list(network, "/subnets").find(|subnet| text(subnet, "/role") == Some(role));
    let subnet = find(CONTROL_PLANE).or_else(|| find(CLUSTER));
    subnet.map(|subnet| ranges(subnet, "/cidrBlocks")).unwrap_or_default()
}

/// The load balancer before the API server (validateAPIServerLB). Whether a public one may have an address within is the business
/// of a feature gate.
fn api_server(old: Option<&Value>, new: &Value, subnet: &[ipnet::IpNet], at: &Path, out: &mut Vec<Refusal>) {
    if text(new, "/sku") != Some("Standard") {
        refuse(out, RULE, at, "sku", "it must be Standard");
    }
    minutes(new, at, out);
    if !is_name(text(new, "/name").unwrap_or_default(), b"") {
        refuse(out, RULE, at, "name", "it is no name of a load balancer");
    }
    let fronts = || list(new, "/frontendIPs");
    let public = fronts().filter(|front| front.get("publicIP").is_some_and(Value::is_object)).count();
    let private = fronts().filter(|front| text(front, "/privateIP").is_some()).count();
    match text(new, "/type") {
        Some("Public") => {
            let count = new.get("frontendIPsCount").and_then(Value::as_i64).unwrap_or(1);
            if public != 1 || count != 1 {
                refuse(out, RULE, at, "frontendIPs", "it has one public address");
            }
        }
        Some(INTERNAL) => {
            if public != 0 {
                refuse(out, RULE, at, "frontendIPs", "one that is reached from within has no public address");
            }
            let first = |side: &Value| {
                list(side, "/frontendIPs").next().map(|front| text(front, "/privateIP").map(str::to_owned))
            };
            let own = first(new).flatten();
            if private != 1 || !lies_in(own.as_deref().unwrap_or_default(), subnet) {
                refuse(
                    out,
                    RULE,
                    at,
                    "frontendIPs[0].privateIP",
                    "it has one address, in the subnet of control planes",
                );
            } else if old.and_then(first).is_some_and(|before| before != own) {
                refuse(out, RULE, at, "frontendIPs[0].privateIP", "it cannot change");
            }
        }
        _ => refuse(out, RULE, at, "type", "it must be Public or Internal"),
    }
}

/// The load balancer of what nodes send (validateNodeOutboundLB).
fn of_nodes(old: Option<&Value>, new: &Value, at: &Path, out: &mut Vec<Refusal>) {
    minutes(new, at, out);
    addresses(new, at, out);
    let Some(old) = old else { return };
    for key in ["id", "name", "sku", "type"] {
        if text(old, &format!("/{key}")) != text(new, &format!("/{key}")) {
            refuse(out, RULE, at, key, "it cannot change");
        }
    }
    let number = |side: &Value, key: &str| side.get(key).and_then(Value::as_i64);
    if number(old, "idleTimeoutInMinutes") != number(new, "idleTimeoutInMinutes") {
        refuse(out, RULE, at, "idleTimeoutInMinutes", "it cannot change");
    }
}

/// How long an idle connection is kept.
fn minutes(balancer: &Value, at: &Path, out: &mut Vec<Refusal>) {
    let told = balancer.get("idleTimeoutInMinutes").and_then(Value::as_i64);
    if told.is_some_and(|told| !(4..=30).contains(&told)) {
        refuse(out, RULE, at, "idleTimeoutInMinutes", "it lies between 4 and 30 minutes");
    }
}

/// How many addresses there are towards the outside.
fn addresses(balancer: &Value, at: &Path, out: &mut Vec<Refusal>) {
    if balancer.get("frontendIPsCount").and_then(Value::as_i64).is_some_and(|count| count > MOST_ADDRESSES) {
        refuse(out, RULE, at, "frontendIPsCount", "there can be 16 addresses");
    }
}

/// The zones of load balancers stay, in any order.
pub(super) fn zones(old: &Value, new: &Value, at: &Path, out: &mut Vec<Refusal>) {
    for key in ["apiServerLB", "nodeOutboundLB", "controlPlaneOutboundLB"] {
        let side = |side: &Value| {
            let balancer = side.get(key).filter(|balancer| balancer.is_object())?;
            let mut zones: Vec<String> =
                list(balancer, "/availabilityZones").filter_map(Value::as_str).map(str::to_owned).collect();
            zones.sort();
            Some(zones)
        };
        if let (Some(before), Some(after)) = (side(old), side(new))
            && before != after
        {
            refuse(out, RULE, at, &format!("{key}.availabilityZones"), "a load balancer keeps its zones");
        }
    }
}
