//! Whether bare metal has room for a rollout: a Machine that is made before an old one goes needs a free host, and without
//! one the rollout stands still half-way. Asked only where BareMetalHosts were read.

use std::collections::{BTreeMap, HashMap};

use serde_json::Value;

use super::{Judged, decision};
use crate::compare::Pair;
use crate::impact::Rollout;
use crate::kinds::contract::INFRASTRUCTURE;
use crate::kinds::references::references;
use crate::model::Reason;
use crate::model::{Decision, Effect};
use crate::object::{Key, Object, is_deleting};
use crate::providers::metal3::{HOST, MACHINE_TEMPLATE as TEMPLATE, REUSE, SHUT};
use crate::report::plural;
use crate::world::LiveKind;

/// A reason for each choice of hosts that is too small for what chooses from it at one time.
pub(super) fn reasons(judged: &Judged<'_>) -> Vec<Reason> {
    let answer = decision(judged.policy.gates.health.hosts);
    let live = judged.view;
    let is_metal = live.of_kind(TEMPLATE).next().is_some() || judged.pairs.iter().any(|pair| pair.key.kind == TEMPLATE);
    // A fleet without bare metal has thousands of owners, and none of them is looked up for this.
    if answer == Decision::Allow || !is_metal {
        return Vec::new();
    }
    let hosts: Vec<(&Object, Value)> =
        live.of_kind(HOST.1).filter_map(|host| Some((host, host.value().ok()?.into_owned()))).collect();
    // Offline, no host in the World says nothing; a cluster was asked for all of them.
    if hosts.is_empty() && judged.world.source.kind != LiveKind::Cluster {
        return Vec::new();
    }
    let mut predicted: HashMap<&Key, &Pair> = HashMap::new();
    for pair in judged.pairs {
        predicted.entry(&pair.key).or_insert(pair);
    }
    let mut crowds: BTreeMap<String, Crowd<'_>> = BTreeMap::new();
    for rollout in judged.classified.rollouts.iter().filter(|rollout| rollout.effect == Effect::Rollout) {
        if let Some(selector) = selector(judged, &predicted, rollout) {
            let choice = format!("{:?} {selector}", rollout.owner.namespace);
            let crowd = crowds.entry(choice).or_insert(Crowd { first: &rollout.owner, selector, needed: 0 });
            crowd.needed += rollout.max_surge.unwrap_or(1);
        }
    }
    crowds.values().filter_map(|crowd| crowd.short_of(&hosts, answer)).collect()
}

/// Owners whose new Machines choose from the same hosts at one time.
struct Crowd<'a> {
    first: &'a Key,
    selector: Value,
    /// Hosts that are wanted before the first old Machine goes.
    needed: u64,
}

impl Crowd<'_> {
    fn short_of(&self, hosts: &[(&Object, Value)], answer: Decision) -> Option<Reason> {
        let Self { first, selector, needed } = self;
        let fits = |(host, value): &&(&Object, Value)| {
            host.key.namespace == first.namespace && is_free(value, &first.name) && chooses(selector, value)
        };
        let free = hosts.iter().filter(fits).count() as u64;
        let place = first.namespace.as_ref().map_or_else(String::new, |namespace| format!(" -n {namespace}"));
        (free < *needed).then(|| {
            let message = format!(
                "{first}: {} free, {needed} needed before the first old Machine goes; the rollout would stand still",
                plural(free, "host")
            );
            let next = format!("kubectl get baremetalhosts{place}");
            Reason::new("health.hosts", answer, message).with_next(next).of(first)
        })
    }
}

/// The hosts that the owner's new Machines choose from; `None` where they are not of Metal3.
fn selector(judged: &Judged<'_>, predicted: &HashMap<&Key, &Pair>, rollout: &Rollout) -> Option<Value> {
    let owner = object(judged, predicted, &rollout.owner)?;
    let template = references(&owner).into_iter().find(|reference| reference.kind == TEMPLATE)?;
    let template = Key {
        group: INFRASTRUCTURE.to_owned(),
        kind: TEMPLATE.to_owned(),
        namespace: rollout.owner.namespace.clone(),
        name: template.name,
    };
    let template = object(judged, predicted, &template)?;
    Some(template.pointer("/spec/template/spec/hostSelector").cloned().unwrap_or_default())
}

/// An object as it will be, else as it is.
fn object(judged: &Judged<'_>, predicted: &HashMap<&Key, &Pair>, key: &Key) -> Option<Value> {
    match predicted.get(key) {
        Some(pair) => pair.predicted.clone(),
        None => judged.view.get(key).object()?.value().ok().map(std::borrow::Cow::into_owned),
    }
}

/// Whether the owner's next Machine may take a host (same file, chooseHost and hostIsAvailable).
fn is_free(host: &Value, owner: &str) -> bool {
    let text = |pointer: &str| host.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let annotation = |name: &str| host.pointer("/metadata/annotations").is_some_and(|all| all.get(name).is_some());
    let reuse = host.pointer("/metadata/labels").and_then(|labels| labels.get(REUSE)).and_then(Value::as_str);
    host.pointer("/spec/consumerRef").is_none_or(Value::is_null)
        && !is_deleting(host)
        && text("/status/errorMessage").is_empty()
        && matches!(text("/status/provisioning/state"), "available" | "ready")
        && !SHUT.iter().any(|name| annotation(name))
        && reuse.is_none_or(|name| name == owner)
}

/// Whether a `hostSelector` chooses a host, by its labels (same file, hostLabelSelectorForHost). An operator that is not
/// known chooses nothing.
fn chooses(selector: &Value, host: &Value) -> bool {
    let label = |key: &str| host.pointer("/metadata/labels")?.get(key)?.as_str();
    let equal = selector
        .get("matchLabels")
        .and_then(Value::as_object)
        .is_none_or(|wanted| wanted.iter().all(|(key, value)| label(key) == value.as_str()));
    let expressions = selector.get("matchExpressions").and_then(Value::as_array);
    equal
        && expressions.into_iter().flatten().all(|expression| {
            let found = label(expression.get("key").and_then(Value::as_str).unwrap_or_default());
            let listed = || {
                let values = expression.get("values").and_then(Value::as_array);
                values.into_iter().flatten().any(|value| found.is_some() && value.as_str() == found)
            };
            let operator = expression.get("operator").and_then(Value::as_str).unwrap_or_default();
            match operator.to_ascii_lowercase().as_str() {
                "in" | "=" | "==" => listed(),
                "notin" | "!=" => !listed(),
                "exists" => found.is_some(),
                "doesnotexist" | "!" => found.is_none(),
                _ => false,
            }
        })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn host(state: &str, more: Value) -> Value {
        let mut host = json!({"metadata": {"labels": {"rack": "a"}}, "status": {"provisioning": {"state": state}}});
        for (key, value) in more.as_object().expect("a map") {
            host[key] = value.clone();
        }
        host
    }

    #[test]
    fn a_host_is_free_when_metal3_would_choose_it() {
        let free = |state, more| is_free(&host(state, more), "cp");
        assert!(free("available", json!({})) && free("ready", json!({})));
        assert!(free("available", json!({"metadata": {"labels": {REUSE: "cp"}}})));
        for (state, more) in [
            ("provisioned", json!({})),
            ("available", json!({"spec": {"consumerRef": {"name": "m"}}})),
            ("available", json!({"metadata": {"labels": {REUSE: "md"}}})),
            ("available", json!({"metadata": {"annotations": {"baremetalhost.metal3.io/paused": ""}}})),
            ("available", json!({"metadata": {"deletionTimestamp": "2026-11-21T00:00:00Z"}})),
            ("available", json!({"status": {"errorMessage": "no power", "provisioning": {"state": "available"}}})),
        ] {
            assert!(!free(state, more.clone()), "{state} {more}");
        }
    }

    #[test]
    fn a_selector_chooses_as_kubernetes_labels_do() {
        let expression = |operator: &str, values: Value| json!({"matchExpressions": [{"key": "rack", "operator": operator, "values": values}]});
        let host = host("available", json!({}));
        for (selector, expected) in [
            (Value::Null, true),
            (json!({"matchLabels": {"rack": "a"}}), true),
            (json!({"matchLabels": {"rack": "b"}}), false),
            (expression("In", json!(["a", "b"])), true),
            (expression("in", json!(["b"])), false),
            (expression("NotIn", json!(["b"])), true),
            (expression("Exists", json!([])), true),
            (expression("DoesNotExist", json!([])), false),
            (expression("Near", json!(["a"])), false),
        ] {
            assert_eq!(chooses(&selector, &host), expected, "{selector}");
        }
    }
}
