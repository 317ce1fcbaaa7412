//! Mirror of what the webhooks of Outscale refuse of a change.
//! Read beside `api/v1beta1/osc{cluster,machine}_webhook.go` ValidateUpdate of cluster-api-provider-outscale 1.5, which were run.

use crate::kinds::Webhook;
use crate::kinds::fields::list;
use crate::kinds::webhook::{Refusal, Write, refuse};
use crate::model::RuleId;
use crate::object::Path;
use crate::tree::Value;

/// Id of everything that is refused here.
const RULE: RuleId = RuleId::of("cposc/rejected");

/// What a cluster keeps of its load balancer, where it has one.
const BALANCER: [&str; 2] = ["network.loadBalancer.loadbalancername", "network.loadBalancer.loadbalancertype"];

/// What a Machine keeps.
const ALWAYS: [&str; 5] = [
    "node.vm.vmType",
    "node.vm.keypairName",
    "node.vm.rootDisk.rootDiskSize",
    "node.vm.rootDisk.rootDiskIops",
    "node.vm.rootDisk.rootDiskType",
];

/// What a Machine may lose, but not get anew or otherwise: the webhook takes what it is given for the object before, and the other way
/// round.
const ONCE: [&str; 3] = ["node.vm.subregionName", "node.vm.tags", "node.vm.subnetName"];

/// The webhooks of the provider.
#[derive(Debug)]
pub(crate) struct Outscale;

impl Webhook for Outscale {
    fn asks_for_spec(&self, _name: &str) -> bool {
        false
    }

    fn refusals(&self, write: &Write<'_>) -> Vec<Refusal> {
        let mut out = Vec::new();
        let (Some(old), new) = (write.past(), write.new) else { return out };
        let fields: Vec<&str> = match write.kind_name() {
            "OscCluster" if !is_without_balancer(old) => BALANCER.to_vec(),
            "OscMachine" => {
                ALWAYS.into_iter().chain(ONCE.into_iter().filter(|field| said(new, field).is_some())).collect()
            }
            _ => Vec::new(),
        };
        let spec = Path::root().key("spec");
        for field in fields.into_iter().filter(|field| said(old, field) != said(new, field)) {
            refuse(&mut out, RULE, &spec, field, format!("{field} cannot change"));
        }
        out
    }
}

/// Whether a cluster had no load balancer: the webhook asks the object that was there.
fn is_without_balancer(old: &Value) -> bool {
    list(old, "/spec/network/disable").any(|part| *part == "loadbalancer")
}

/// A field as Go's plain values have it: nothing said is as much as zero, and as a map without keys.
fn said<'v>(side: &'v Value, field: &str) -> Option<&'v Value> {
    let value = side.pointer(&format!("/spec/{}", field.replace('.', "/")))?;
    let is_none = match value {
        Value::Null => true,
        Value::Object(map) => map.is_empty(),
        value => *value == "" || *value == 0,
    };
    (!is_none).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::json;

    #[test]
    fn nothing_said_is_as_zero() {
        let spec = json!({"spec": {"node": {"vm": {"vmType": "", "tags": {}, "keypairName": "a"}}}});
        assert_eq!(said(&spec, "node.vm.vmType"), None);
        assert_eq!(said(&spec, "node.vm.tags"), None);
        assert_eq!(said(&spec, "node.vm.keypairName"), Some(&json!("a")));
    }

    #[test]
    fn the_cluster_that_was_there_tells_of_its_balancer() {
        assert!(is_without_balancer(&json!({"spec": {"network": {"disable": ["internet", "loadbalancer"]}}})));
        assert!(!is_without_balancer(&json!({"spec": {"network": {"disable": ["internet"]}}})));
    }
}
