//! A pin and its history as they may be shown: never a secret value, also where it was written down before the policy said so.

use crate::pin::{Event, Pin, is_seal};
use crate::policy::{LateValue, Policy};
use crate::tree::{Value, json};

const SECRET: &str = "(secret)";

/// A value of the history as it may be shown.
pub(super) fn masked<'t>(policy: &Policy, name: &str, text: Option<&'t str>) -> Option<&'t str> {
    let secret = policy.late_value(name).is_some_and(LateValue::is_secret);
    text.map(|text| if secret || is_seal(text) { SECRET } else { text })
}

/// Whether the value of a pin is never shown, also where it was written down before the policy said so.
fn is_hidden(policy: &Policy, pin: &Pin) -> bool {
    pin.secret || is_seal(&pin.value) || policy.late_value(&pin.name).is_some_and(LateValue::is_secret)
}

/// The value of a pin as it may be shown.
pub(super) fn shown(policy: &Policy, pin: &Pin) -> String {
    if is_hidden(policy, pin) { SECRET.to_owned() } else { pin.value.clone() }
}

pub(super) fn origin(pin: &Pin) -> String {
    if pin.path.is_empty() { pin.source.clone() } else { format!("{} at {}", pin.source, pin.path) }
}

/// A pin as JSON, without a secret value.
pub(super) fn told(policy: &Policy, pin: &Pin) -> Value {
    let mut value = json!(pin);
    if is_hidden(policy, pin) {
        value["value"] = Value::Null;
        value["over"] = Value::Null;
    }
    value
}

/// An event as JSON, without a secret value.
pub(super) fn told_event(policy: &Policy, event: &Event) -> Value {
    json!({"time": event.time, "name": event.name, "action": event.action,
        "before": masked(policy, &event.name, event.before.as_deref()),
        "after": masked(policy, &event.name, event.after.as_deref()), "reason": event.reason, "by": event.by})
}
