//! Mirror of what the core webhooks refuse about health checks, drain rules, sets of resources and addresses.
//! Read beside `core/webhooks/admission/{machinehealthcheck,machinedrainrules,clusterresourceset,clusterresourcesetbinding,ipaddress,
//! ipaddressclaim}.go` of Cluster API 1.14.

use std::net::IpAddr;

use crate::kinds::fields::text;
use crate::kinds::labels;
use crate::kinds::webhook::{Refusal, refuse};
use crate::model::RuleId;
use crate::object::{ApiVersion, Path};
use crate::providers::core::webhook::{RULE, is_count, items};

use crate::tree::Value;

/// Selector, time and limit of a health check.
pub(crate) fn health_check(new: &Value, spec: &Path, out: &mut Vec<Refusal>) {
    let nothing = Value::Null;
    let selector = new.pointer("/spec/selector").unwrap_or(&nothing);
    if is_empty(selector) {
        refuse(out, RULE, spec, "selector", "the selector must not be empty");
    } else if labels::selects(selector, |_| None).is_none() {
        refuse(out, RULE, spec, "selector", "the selector is not one");
    }
    let cluster = selector.pointer("/matchLabels/cluster.x-k8s.io~1cluster-name").and_then(Value::as_str);
    if cluster.is_some_and(|name| Some(name) != text(new, "/spec/clusterName")) {
        refuse(out, RULE, spec, "selector", "it selects another cluster than that of the health check");
    }
    numbers(new.pointer("/spec").unwrap_or(&nothing), RULE, spec, out);
}

/// Whether a health check of a class or a topology says anything but whether it is on (`MachineHealthCheckClass.IsDefined`).
pub(crate) fn is_described(check: Option<&Value>) -> bool {
    let parts = ["checks", "remediation"].into_iter().filter_map(|part| check?.get(part)?.as_object());
    parts.into_iter().any(|part| !part.is_empty())
}

/// Numbers of the health check that a part of a class or of a topology holds; `counts` says whether the number of Machines that are
/// replaced at once is looked at too.
pub(crate) fn inner(holder: &Value, rule: RuleId, counts: bool, at: &Path, out: &mut Vec<Refusal>) {
    let Some(check) = holder.get("healthCheck").filter(|check| is_described(Some(check))) else { return };
    let at = at.key("healthCheck");
    numbers(check, rule, &at, out);
    let limit = check.pointer("/remediation/maxInFlight").filter(|limit| !limit.is_null());
    if counts && limit.is_some_and(|limit| !is_count(limit)) {
        refuse(out, rule, &at, "remediation.maxInFlight", "must be a number or a percentage");
    }
}

/// Time and limit of a health check; `at` is where `checks` and `remediation` stand.
pub(crate) fn numbers(check: &Value, rule: RuleId, at: &Path, out: &mut Vec<Refusal>) {
    if let Some(seconds) = check.pointer("/checks/nodeStartupTimeoutSeconds").and_then(Value::as_i64)
        && seconds != 0
        && seconds < 30
    {
        refuse(out, rule, at, "checks.nodeStartupTimeoutSeconds", "must be 0 or at least 30 seconds");
    }
    let limit = check.pointer("/remediation/triggerIf/unhealthyLessThanOrEqualTo");
    if limit.is_some_and(|value| !value.is_null() && !is_count(value)) {
        refuse(out, rule, at, "remediation.triggerIf.unhealthyLessThanOrEqualTo", "must be a number or a percentage");
    }
}

/// A set of resources keeps its selector and its strategy (`clusterresourceset.go` validate).
#[must_use]
pub(crate) fn resource_set(api_version: &str, old: &Value, new: &Value) -> Vec<Refusal> {
    let mut out = Vec::new();
    let spec = Path::root().key("spec");
    for key in ["clusterSelector", "strategy"] {
        let pointer = format!("/spec/{key}");
        let bare = |side: &Value| {
            let mut value = side.pointer(&pointer).cloned().unwrap_or_default();
            // An empty list of Go differs from none; one that was written as v1beta1 is lost on the way to the webhook.
            let is_lost = |child: &Value| {
                child.is_null()
                    || (ApiVersion::is_before_v1beta2(api_version) && child.as_array().is_some_and(Vec::is_empty))
            };
            if let Some(map) = value.as_object_mut() {
                map.retain(|_, child| !is_lost(child));
            }
            value
        };
        if bare(old) != bare(new) {
            refuse(&mut out, RULE, &spec, key, format!("{key} cannot change"));
        }
    }
    let selector = new.pointer("/spec/clusterSelector").unwrap_or(&Value::Null);
    if is_empty(selector) {
        refuse(&mut out, RULE, &spec, "clusterSelector", "the selector must not be empty");
    } else if labels::selects(selector, |_| None).is_none() {
        refuse(&mut out, RULE, &spec, "clusterSelector", "the selector is not one");
    }
    out
}

/// Whether a selector names nothing.
fn is_empty(selector: &Value) -> bool {
    selector.get("matchLabels").and_then(Value::as_object).is_none_or(crate::tree::Map::is_empty)
        && items(selector.get("matchExpressions")) == 0
}

/// What was applied to a cluster stays that of this cluster (`clusterresourcesetbinding.go` validate).
pub(crate) fn binding(old: &Value, new: &Value, spec: &Path, out: &mut Vec<Refusal>) {
    let before = text(old, "/spec/clusterName").filter(|name| !name.is_empty());
    if before.is_some() && before != text(new, "/spec/clusterName") {
        refuse(out, RULE, spec, "clusterName", "the name of the cluster cannot change");
    }
}

/// An address is one, its gateway too, and the prefix has no more bits than it (`ipaddress.go` validate).
pub(crate) fn address(new: &Value, spec: &Path, out: &mut Vec<Refusal>) {
    let read = |pointer: &str| {
        text(new, pointer).map(|told| told.split_once('%').map_or(told, |(address, _)| address).parse::<IpAddr>())
    };
    let address = read("/spec/address").and_then(Result::ok);
    if address.is_none() {
        refuse(out, RULE, spec, "address", "it is no IP address");
    }
    let bits = address.map_or(128, |address| if address.is_ipv4() { 32 } else { 128 });
    if new.pointer("/spec/prefix").and_then(Value::as_i64).is_some_and(|prefix| !(0..=bits).contains(&prefix)) {
        refuse(out, RULE, spec, "prefix", format!("it lies between 0 and {bits}"));
    }
    if text(new, "/spec/gateway").is_some_and(|told| !told.is_empty())
        && read("/spec/gateway").is_some_and(|told| told.is_err())
    {
        refuse(out, RULE, spec, "gateway", "it is no IP address");
    }
}

/// Fields of which nothing can change (`ipaddress.go` and `ipaddressclaim.go` ValidateUpdate).
pub(crate) fn kept((old, new): (&Value, &Value), fields: &[&str], spec: &Path, out: &mut Vec<Refusal>) {
    for field in fields {
        let told = |side: &Value| {
            side.pointer(&format!("/spec/{field}")).filter(|value| !value.is_null() && *value != "").cloned()
        };
        if told(old) != told(new) {
            refuse(out, RULE, spec, field, format!("{field} cannot change"));
        }
    }
}

/// Selectors of a drain rule are selectors, and some behaviours have no order (`machinedrainrules.go` validate).
pub(crate) fn drain_rule(new: &Value, spec: &Path, out: &mut Vec<Refusal>) {
    let behavior = text(new, "/spec/drain/behavior").unwrap_or_default();
    if matches!(behavior, "Skip" | "WaitCompleted")
        && new.pointer("/spec/drain/order").is_some_and(|order| !order.is_null())
    {
        refuse(out, RULE, spec, "drain.order", format!("the behaviour {behavior} has no order"));
    }
    for (list, keys) in [("machines", ["selector", "clusterSelector"]), ("pods", ["selector", "namespaceSelector"])] {
        let items = new.pointer(&format!("/spec/{list}")).and_then(Value::as_array);
        for (place, item) in items.into_iter().flatten().enumerate() {
            for key in keys {
                if item.get(key).is_some_and(|selector| labels::selects(selector, |_| None).is_none()) {
                    refuse(out, RULE, spec, &format!("{list}[{place}].{key}"), "the selector is not one");
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::json;

    fn refused(check: impl Fn(&Value, &Path, &mut Vec<Refusal>), new: Value) -> Vec<String> {
        let mut out = Vec::new();
        check(&json!({ "spec": new }), &Path::root().key("spec"), &mut out);
        out.into_iter().map(|refusal| refusal.path.to_string()).collect()
    }

    #[test]
    fn an_address_is_one() {
        assert_eq!(refused(address, json!({"address": "10.0.0.1", "prefix": 32, "gateway": "10.0.0.254"})), [""; 0]);
        assert_eq!(refused(address, json!({"address": "10.0.0.1", "prefix": 33})), ["spec.prefix"]);
        assert_eq!(
            refused(address, json!({"address": "fd00::1%eth0", "prefix": 64})),
            [""; 0],
            "a zone may stand there"
        );
        assert_eq!(refused(address, json!({"address": "10.0.0", "gateway": "gw"})), ["spec.address", "spec.gateway"]);
    }

    #[test]
    fn what_was_bound_stays_bound() {
        let old = json!({"spec": {"clusterName": "a"}});
        let of = |old: Value| move |new: &Value, spec: &Path, out: &mut Vec<Refusal>| binding(&old, new, spec, out);
        assert_eq!(refused(of(old.clone()), json!({"clusterName": "b"})), ["spec.clusterName"]);
        assert_eq!(refused(of(old), json!({"clusterName": "a"})), [""; 0]);
        assert_eq!(
            refused(of(json!({"spec": {}})), json!({"clusterName": "b"})),
            [""; 0],
            "one without a name takes one"
        );
    }
}
