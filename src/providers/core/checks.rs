//! Mirror of what the core webhooks refuse about health checks, drain rules and sets of resources.
//! Read beside `core/webhooks/admission/{machinehealthcheck,machinedrainrules,clusterresourceset}.go` of Cluster API 1.14.

use crate::kinds::fields::text;
use crate::kinds::labels;
use crate::kinds::webhook::{Refusal, refuse};
use crate::model::RuleId;
use crate::object::Path;
use crate::providers::core::webhook::{RULE, is_count, items};

use crate::tree::Value;

/// Selector, time and limit of a health check.
pub(crate) fn health_check(new: &Value, spec: &Path, out: &mut Vec<Refusal>) {
    let nothing = Value::Null;
    let selector = new.pointer("/spec/selector").unwrap_or(&nothing);
    let is_empty = selector.get("matchLabels").and_then(Value::as_object).is_none_or(crate::tree::Map::is_empty)
        && items(selector.get("matchExpressions")) == 0;
    if is_empty {
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
                child.is_null() || (api_version.ends_with("v1beta1") && child.as_array().is_some_and(Vec::is_empty))
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
    if labels::selects(selector, |_| None).is_none() {
        refuse(&mut out, RULE, &spec, "clusterSelector", "the selector is not one");
    }
    out
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
