//! Mirror of what the schema of Kamaji control planes refuses of their network.
//! Read beside `api/v1alpha2/kamajicontrolplane_types.go` of cluster-api-control-plane-provider-kamaji 0.20; by reading.

use crate::kinds::Webhook;
use crate::kinds::fields::{list, text};
use crate::kinds::webhook::{Refusal, Write, refuse_by_schema};
use crate::model::RuleId;
use crate::object::Path;
use crate::tree::Value;

/// Id of everything that is refused here.
const RULE: RuleId = RuleId::of("kamaji/rejected");

/// What stands for the webhooks of the provider.
#[derive(Debug)]
pub struct Kamaji;

impl Webhook for Kamaji {
    fn refusals(&self, write: &Write<'_>) -> Vec<Refusal> {
        let network = |side: &Value| side.pointer("/spec/network").cloned();
        // What was there already and does not change is let through.
        let is_same = write.past().is_some_and(|old| network(old) == network(write.new));
        if is_same { Vec::new() } else { faults(write.new) }
    }
}

/// What only a load balancer can have.
fn faults(new: &Value) -> Vec<Refusal> {
    let mut out = Vec::new();
    // The schema fills in the load balancer.
    if matches!(text(new, "/spec/network/serviceType"), None | Some("LoadBalancer")) {
        return out;
    }
    let at = Path::root().key("spec").key("network").key("loadBalancerConfig");
    let config = "/spec/network/loadBalancerConfig";
    if text(new, &format!("{config}/loadBalancerClass")).is_some() {
        refuse_by_schema(&mut out, RULE, &at, "loadBalancerClass", "only a load balancer can have a class");
    }
    if list(new, &format!("{config}/loadBalancerSourceRanges")).next().is_some() {
        refuse_by_schema(
            &mut out,
            RULE,
            &at,
            "loadBalancerSourceRanges",
            "only a load balancer can have source ranges",
        );
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::json;

    #[test]
    fn only_a_load_balancer_has_a_class() {
        let refused = |kind: &str, config: Value| {
            faults(&json!({"spec": {"network": {"serviceType": kind, "loadBalancerConfig": config}}})).len()
        };
        assert_eq!(refused("NodePort", json!({"loadBalancerClass": "x"})), 1);
        assert_eq!(refused("ClusterIP", json!({"loadBalancerSourceRanges": ["10.0.0.0/8"]})), 1);
        assert_eq!(refused("LoadBalancer", json!({"loadBalancerClass": "x"})), 0);
        assert_eq!(refused("", json!({"loadBalancerClass": "x"})), 0);
        assert_eq!(refused("NodePort", json!({"loadBalancerSourceRanges": []})), 0);
    }
}
