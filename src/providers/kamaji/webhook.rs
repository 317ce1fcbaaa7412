//! Mirror of what the schema of Kamaji control planes refuses of their network and of their tunnel to the nodes, by rules that the
//! shapes do not hold. Read beside `api/v1alpha2/kamajicontrolplane_types.go` of cluster-api-control-plane-provider-kamaji 0.20, whose
//! schema was run.

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
pub(crate) struct Kamaji;

impl Webhook for Kamaji {
    fn asks_for_spec(&self, _name: &str) -> bool {
        false
    }

    fn refusals(&self, write: &Write<'_>) -> Vec<Refusal> {
        // What was there already and does not change is let through.
        let is_same = |place: &str| write.past().is_some_and(|old| old.pointer(place) == write.new.pointer(place));
        let mut out = if is_same("/spec/network") { Vec::new() } else { faults(write.new) };
        if !is_same("/spec/addons/konnectivity/agent") {
            out.extend(agent(write.new));
        }
        out
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

/// Agents of the tunnel run on every node, and then have no number, or in a number that is not zero.
fn agent(new: &Value) -> Option<Refusal> {
    let agent = new.pointer("/spec/addons/konnectivity/agent")?;
    let count = agent.get("replicas").and_then(Value::as_i64)?;
    let message = match (text(agent, "/mode"), count) {
        (Some("DaemonSet"), count) if count != 0 => "agents that run on every node have no number",
        (Some("Deployment"), 0) => "a Deployment of agents has one at least",
        _ => return None,
    };
    let mut out = Vec::new();
    let at = Path::root().key("spec").key("addons").key("konnectivity").key("agent");
    refuse_by_schema(&mut out, RULE, &at, "replicas", message);
    out.pop()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::json;

    #[test]
    fn agents_have_a_number_or_run_on_every_node() {
        let refused = |mode: &str, count: i64| {
            let tunnel = json!({"agent": {"mode": mode, "replicas": count}});
            agent(&json!({"spec": {"addons": {"konnectivity": tunnel}}})).is_some()
        };
        assert!(refused("DaemonSet", 2) && refused("Deployment", 0));
        assert!(!refused("DaemonSet", 0) && !refused("Deployment", 2));
    }

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
