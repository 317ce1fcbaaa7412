//! What the API server refuses by the schema of a kind.

use crate::kinds::shapes::Shape;
use crate::kinds::webhook::Refusal;
use crate::kinds::{Kind, Versions, Webhook, superset};
use crate::model::RuleId;
use crate::object::Path;
use crate::tree::{Value, json};

/// Id of what the schema refuses.
const SCHEMA: RuleId = RuleId::of("schema/refused");

/// What the schema refuses about the new side and not about the old one: what was there already is let through. Where nobody knows that the
/// API server took the old side (`was_taken`), only what stays as it is (apiextensions-apiserver
/// `pkg/apiserver/validation/ratcheting.go`, ratchetingValueValidator.Validate), or is missing on both. Durations and types are read as they were `sent`, beside what is `live`.
pub(super) fn by_schema(
    shape: Shape,
    (kind, webhook): (&Kind, &dyn Webhook),
    api_version: &str,
    (past, new): (Option<&Value>, &Value),
    (live, sent): (Option<&Value>, Option<&Value>),
    was_taken: bool,
    versions: &Versions,
) -> Vec<Refusal> {
    let at = Path::root().key("spec");
    let empty = json!({});
    let wanted = new.get("spec").unwrap_or(&empty);
    let old = past.map(|old| old.get("spec").unwrap_or(&empty));
    // What both sides have as one memory breaks the schema on both or on none.
    let mut found = shape.faults(wanted, old, &at);
    if let Some(old) = old {
        found.extend(shape.moved(old, wanted, &at));
        if !found.is_empty() {
            let known = shape.faults(old, None, &at);
            let is_let_through = |path: &Path| was_taken || past.is_some_and(|past| path.get(past) == path.get(new));
            found.retain(|fault| !known.contains(fault) || !is_let_through(&fault.0));
        }
    }
    // A webhook that fills in decodes what was sent before it takes its place.
    let sent_spec = sent.and_then(|sent| sent.get("spec")).filter(|_| kind.webhook.is_some());
    let mistyped = sent_spec.map(|sent| shape.mistyped(sent, wanted, &at)).unwrap_or_default();
    let at_place = |side: Option<&Value>, path: &Path| side.and_then(|side| path.get(side)).cloned();
    found.extend(mistyped.into_iter().filter(|(path, _)| {
        let value = at_place(sent, path);
        value != at_place(Some(new), path) && value != at_place(live, path)
    }));
    let mut out: Vec<Refusal> = found
        .into_iter()
        .map(|(path, message)| Refusal {
            rule: SCHEMA,
            message: format!("the API server refuses it: {path} {message}"),
            path: superset::path(kind, api_version, &path, versions),
        })
        .collect();
    if !webhook.refuses_negative_replicas()
        && new.pointer("/spec/replicas").and_then(Value::as_i64).is_some_and(|count| count < 0)
    {
        let message = "the API server refuses it: replicas cannot be negative".to_owned();
        out.push(Refusal { rule: SCHEMA, path: at.key("replicas"), message });
    }
    let unreadable = sent.map(|sent| superset::unreadable(kind, api_version, sent));
    out.extend(unreadable.into_iter().flatten().map(|path| Refusal {
        rule: SCHEMA,
        message: format!("the API server refuses it: {path} must be a duration such as 5m0s"),
        path: superset::path(kind, api_version, &path, versions),
    }));
    out
}
