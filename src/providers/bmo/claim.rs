//! Mirror of what the webhook of claims of hosts refuses. Read beside
//! `internal/webhooks/metal3.io/v1alpha1/hostclaim_validation.go` (validateHostClaim) of baremetal-operator 0.14 and
//! `k8s.io/apimachinery` `pkg/selection/operator.go`.

use super::others::RULE;
use super::said;
use super::webhook::{image, is_used_to};
use crate::kinds::fields::{list, text};
use crate::kinds::labels::{is_key, is_value};
use crate::kinds::webhook::{Refusal, Write, refuse};
use crate::object::Path;
use crate::tree::Value;

/// What is refused about a claim of a host.
pub(super) fn refusals(write: &Write<'_>, spec: &Path, out: &mut Vec<Refusal>) {
    if !is_used_to(write, "/spec/hostSelector") {
        selector(write.new, &spec.key("hostSelector"), out);
    }
    // What a claim and a host have in common is found as that of a host.
    let mut common = Vec::new();
    said::reboots(write.new, &mut common);
    image(write, spec, &mut common);
    out.extend(common.into_iter().map(|refusal| Refusal { rule: RULE, ..refusal }));
}

/// The labels of the hosts that may be taken.
fn selector(claim: &Value, at: &Path, out: &mut Vec<Refusal>) {
    let labels = claim.pointer("/spec/hostSelector/matchLabels").and_then(Value::as_object);
    for (key, value) in labels.into_iter().flatten() {
        if !is_key(key.as_str()) || value.as_str().is_none_or(|value| !is_value(value)) {
            refuse(out, RULE, &at.key("matchLabels").key(key.as_str()), "", "it is not a valid label");
        }
    }
    for (place, expression) in list(claim, "/spec/hostSelector/matchExpressions").enumerate() {
        let at = at.key("matchExpressions").index(place);
        if !text(expression, "/key").is_some_and(is_key) {
            refuse(out, RULE, &at, "key", "it is not a valid name of a label");
        }
        let values: Vec<&str> = list(expression, "/values").filter_map(Value::as_str).collect();
        let (is_count, wanted) = match text(expression, "/operator").unwrap_or_default() {
            "=" | "==" | "!=" => (values.len() == 1, "one value"),
            "in" | "notin" => (!values.is_empty(), "a value"),
            "exists" | "!" => (values.is_empty(), "no value"),
            _ => {
                let message =
                    "it must be =, ==, !=, in, notin, exists or ! (other words and capital letters are not known)";
                refuse(out, RULE, &at, "operator", message);
                continue;
            }
        };
        if !is_count {
            refuse(out, RULE, &at, "values", format!("with this operator there is {wanted}"));
        } else if !values.iter().all(|value| is_value(value)) {
            refuse(out, RULE, &at, "values", "one of them is not a valid value of a label");
        }
    }
}
