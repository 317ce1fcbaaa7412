//! Mirror of what the webhooks of the GCP provider refuse. What cannot change stands in `fixed`.
//! Read beside `webhooks/gcp{cluster,clustertemplate,machinetemplate}_webhook.go` and `exp/webhooks/gcpmanaged*_webhook.go` of
//! cluster-api-provider-gcp 1.13.

use super::changes::FREE_LABELS;
use super::created;
use super::fixed::{CLUSTER, FREE, MANAGED_CLUSTER, MANAGED_CONTROL_PLANE, MANAGED_POOL, STYLE};
use crate::kinds::fields::{list, text};
use crate::kinds::webhook::{Refusal, Write, refuse};
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
pub struct Gcp;

impl Webhook for Gcp {
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
            }
            "GCPManagedCluster" => MANAGED_CLUSTER.refusals(RULE, sides, &spec, &mut out),
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
    // One that is not written counts as 0 here, but the schema fills it in.
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
    fn the_bounds_of_a_pool_fit() {
        let bounds = |least: i64, most: i64| json!({"scaling": {"minCount": least, "maxCount": most}});
        assert_eq!(refused(scaling, bounds(1, 5)), [""; 0]);
        assert_eq!(refused(scaling, bounds(6, 5)).len(), 2);
        assert_eq!(refused(scaling, json!({"scaling": {"enableAutoscaling": false, "minCount": 1}})).len(), 2);
    }
}
