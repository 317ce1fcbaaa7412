//! Mirror of what the webhooks of the GCP provider refuse. What cannot change stands in `fixed`.
//! Read beside `webhooks/gcp{cluster,clustertemplate,machinetemplate}_webhook.go` and `exp/webhooks/gcpmanaged*_webhook.go` of
//! cluster-api-provider-gcp 1.13.

use super::changes::FREE_LABELS;
use super::created;
use super::fixed::{CLUSTER, FREE, MANAGED_CLUSTER, MANAGED_CONTROL_PLANE, MANAGED_POOL, STYLE};
use crate::kinds::as_go::give;
use crate::kinds::fields::{list, text};
use crate::kinds::webhook::{Refusal, Write, Written, refuse};
use crate::kinds::{Webhook, diff};
use crate::model::RuleId;
use crate::object::Path;
use crate::tree::Value;

/// Id of everything that is refused here.
pub(super) const RULE: RuleId = RuleId::of("capg/rejected");

/// Maps whose keys anyone chooses.
const MAPS: &[&str] = &["additionalLabels", "annotations", "labels", "secondaryCidrBlocks"];

/// What logging and monitoring can be sent to, beside nothing.
const SERVICES: &[(&str, &[&str])] = &[
    ("loggingService", &["logging.googleapis.com/kubernetes", "logging.googleapis.com", "none"]),
    ("monitoringService", &["monitoring.googleapis.com/kubernetes", "monitoring.googleapis.com", "none"]),
];

/// The webhooks of the provider.
#[derive(Debug)]
pub(crate) struct Gcp;

impl Webhook for Gcp {
    /// The name of a cluster of GKE, where none is written and none has to be made shorter (generateGKEName).
    fn fill_in(&self, written: &Written<'_>, object: &mut Value) {
        const LONGEST: usize = 40;
        let namespace = written.key.namespace.as_deref().unwrap_or_default();
        let name = format!("{namespace}-{}", written.key.name.replace('.', "-"));
        if written.key.kind == "GCPManagedControlPlane"
            && name.len() < LONGEST
            && let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut)
        {
            give(spec, "clusterName", || name.into());
        }
    }

    fn refusals(&self, write: &Write<'_>) -> Vec<Refusal> {
        let mut out = Vec::new();
        let spec = Path::root().key("spec");
        let Some(old) = write.past() else {
            created::refusals(write.kind_name(), write.new, &mut out);
            return out;
        };
        let sides = (old, write.new);
        match write.kind_name() {
            "GCPCluster" => {
                CLUSTER.refusals(RULE, sides, &spec, &mut out);
                network(write.new, &spec, &mut out);
                firewall(sides, &spec, &mut out);
            }
            "GCPManagedCluster" => {
                MANAGED_CLUSTER.refusals(RULE, sides, &spec, &mut out);
                firewall(sides, &spec, &mut out);
            }
            "GCPManagedControlPlane" => {
                MANAGED_CONTROL_PLANE.refusals(RULE, sides, &spec, &mut out);
                managed(sides, &spec, &mut out);
            }
            "GCPManagedMachinePool" => {
                MANAGED_POOL.refusals(RULE, sides, &spec, &mut out);
                scaling(write.new, &spec, &mut out);
            }
            _ => {}
        }
        out
    }

    fn differences(&self, write: &Write<'_>) -> Option<Vec<Path>> {
        let is_machine = match write.kind_name() {
            "GCPMachineTemplate" => true,
            "GCPClusterTemplate" => false,
            _ => return write.kind.fixed.and_then(|fixed| fixed.differences(write.old, write.new, write.versions)),
        };
        let is_free = is_machine && write.versions.has(&FREE_LABELS);
        let held = |side: &Value| {
            let mut spec = side.get("spec").cloned().unwrap_or_default();
            if let Some(machine) = spec.pointer_mut("/template/spec").and_then(Value::as_object_mut) {
                machine.retain(|key, _| !(is_free && FREE.contains(&key.as_str())));
            }
            diff::prune_beside(&mut spec, STYLE, MAPS);
            spec
        };
        Some(diff::places(Some(&held(write.old)), Some(&held(write.new)), &Path::root().key("spec")))
    }
}

/// What the network of a cluster cannot be.
fn network(new: &Value, spec: &Path, out: &mut Vec<Refusal>) {
    if new.pointer("/spec/network").is_none_or(Value::is_null) {
        refuse(out, RULE, spec, "network", "without it nothing fills in network.mtu, and 0 is too small");
    }
    // One that is not written counts as 0 here, but the schema fills it in where there is a network.
    let mtu = new.pointer("/spec/network/mtu").and_then(Value::as_i64);
    if mtu.is_some_and(|mtu| !(1300..=8896).contains(&mtu)) {
        refuse(out, RULE, spec, "network.mtu", "it lies between 1300 and 8896");
    }
    for (place, rule) in list(new, "/spec/network/firewall/firewallRules").enumerate() {
        for side in ["allowed", "denied"] {
            for (item, flow) in list(rule, &format!("/{side}")).enumerate() {
                let has_ports = matches!(text(flow, "/IPProtocol"), Some("TCP" | "UDP"));
                if !has_ports && list(flow, "/ports").next().is_some() {
                    for key in ["ports", "IPProtocol"] {
                        let below = format!("network.firewall.firewallRules[{place}].{side}[{item}].{key}");
                        refuse(out, RULE, spec, &below, "only TCP and UDP have ports");
                    }
                }
            }
        }
    }
}

/// What the schema refuses of the rules of a firewall: its rule about ranges (`isIP(i) || isCIDR(i)`), of lists that change, and an
/// empty direction, whose two values stand in an `allOf`.
fn firewall((old, new): (&Value, &Value), spec: &Path, out: &mut Vec<Refusal>) {
    let before: Vec<&Value> = list(old, "/spec/network/firewall/firewallRules").collect();
    for (place, rule) in list(new, "/spec/network/firewall/firewallRules").enumerate() {
        let at = |key: &str| format!("network.firewall.firewallRules[{place}].{key}");
        if rule.get("direction").and_then(Value::as_str).is_some_and(|way| !["Ingress", "Egress"].contains(&way)) {
            refuse(out, RULE, spec, &at("direction"), "it is Ingress or Egress");
        }
        for key in ["sourceRanges", "destinationRanges"] {
            let is_as_before = before.get(place).is_some_and(|before| before.get(key) == rule.get(key));
            let mut ranges = list(rule, &format!("/{key}")).filter_map(Value::as_str);
            if !is_as_before && ranges.any(|range| !is_range(range)) {
                refuse(out, RULE, spec, &at(key), "it must be a valid IPv4/IPv6 address or CIDR");
            }
        }
    }
}

/// Whether a text is an address or a block of them.
fn is_range(text: &str) -> bool {
    text.parse::<std::net::IpAddr>().is_ok() || text.parse::<ipnet::IpNet>().is_ok()
}

/// What a control plane that GKE manages cannot be.
fn managed((old, new): (&Value, &Value), spec: &Path, out: &mut Vec<Refusal>) {
    let is_autopilot = |side: &Value| side.pointer("/spec/enableAutopilot").and_then(Value::as_bool).unwrap_or(false);
    if is_autopilot(old) != is_autopilot(new) {
        refuse(out, RULE, spec, "enableAutopilot", "enableAutopilot cannot change");
    }
    for (key, known) in SERVICES {
        let Some(told) = new.pointer(&format!("/spec/{key}")).and_then(Value::as_str) else { continue };
        if is_autopilot(old) || !known.contains(&told) {
            refuse(out, RULE, spec, key, "it is no service that GKE sends to");
        }
    }
    let has = |side: &Value, key: &str| side.pointer(&format!("/spec/{key}")).is_some_and(|value| !value.is_null());
    if has(old, "version") && has(new, "controlPlaneVersion") {
        refuse(out, RULE, spec, "controlPlaneVersion", "it and version exclude each other");
    }
}

/// What the bounds of a pool cannot be.
pub(super) fn scaling(new: &Value, spec: &Path, out: &mut Vec<Refusal>) {
    let told = |key: &str| new.pointer(&format!("/spec/scaling/{key}"));
    let count = |key: &str| told(key).and_then(Value::as_i64);
    if told("enableAutoscaling") == Some(&Value::Bool(false)) {
        for key in ["minCount", "maxCount", "locationPolicy"] {
            if told(key).is_some_and(|value| !value.is_null()) {
                for key in [key, "enableAutoscaling"] {
                    refuse(out, RULE, spec, &format!("scaling.{key}"), "there are no bounds without autoscaling");
                }
            }
        }
    }
    let Some(least) = count("minCount") else { return };
    if least < 0 {
        refuse(out, RULE, spec, "scaling.minCount", "it cannot be negative");
    }
    if count("maxCount").is_some_and(|most| most < least) {
        for key in ["minCount", "maxCount"] {
            refuse(out, RULE, spec, &format!("scaling.{key}"), "maxCount cannot be below minCount");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::json;

    fn refused(check: fn(&Value, &Path, &mut Vec<Refusal>), new: Value) -> Vec<String> {
        let mut out = Vec::new();
        check(&json!({"spec": new}), &Path::root().key("spec"), &mut out);
        out.into_iter().map(|refusal| refusal.path.to_string()).collect()
    }

    #[test]
    fn a_network_has_its_bounds_and_only_two_protocols_have_ports() {
        let mtu = |mtu: i64| json!({"network": {"mtu": mtu}});
        assert_eq!(refused(network, mtu(1460)), [""; 0]);
        assert_eq!(refused(network, mtu(1299)), ["spec.network.mtu"]);
        let rule = |protocol: &str| json!({"network": {"firewall": {"firewallRules": [{"allowed": [{"IPProtocol": protocol, "ports": ["80"]}]}]}}});
        assert_eq!(refused(network, rule("TCP")), [""; 0]);
        assert_eq!(refused(network, rule("ICMP")).len(), 2);
    }

    #[test]
    fn a_firewall_takes_addresses_and_blocks_of_them() {
        let ranges =
            |range: &str| json!({"spec": {"network": {"firewall": {"firewallRules": [{"sourceRanges": [range]}]}}}});
        let refused = |old: &Value, new: &Value| {
            let mut out = Vec::new();
            firewall((old, new), &Path::root().key("spec"), &mut out);
            out.into_iter().map(|refusal| refusal.path.to_string()).collect::<Vec<_>>()
        };
        for good in ["10.0.0.0/8", "10.0.0.1", "2001:db8::/32"] {
            assert_eq!(refused(&json!({}), &ranges(good)), [""; 0], "{good}");
        }
        let place = "spec.network.firewall.firewallRules[0].sourceRanges";
        assert_eq!(refused(&json!({}), &ranges("10.0.0.0/33")), [place]);
        assert_eq!(refused(&ranges("old"), &ranges("old")), [""; 0], "what was there already is let through");
    }

    #[test]
    fn the_bounds_of_a_pool_fit() {
        let bounds = |least: i64, most: i64| json!({"scaling": {"minCount": least, "maxCount": most}});
        assert_eq!(refused(scaling, bounds(1, 5)), [""; 0]);
        assert_eq!(refused(scaling, bounds(6, 5)).len(), 2);
        assert_eq!(refused(scaling, json!({"scaling": {"enableAutoscaling": false, "minCount": 1}})).len(), 2);
    }
}
