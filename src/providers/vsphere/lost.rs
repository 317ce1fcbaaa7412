//! What a write as v1beta1 loses: fields that v1beta2, which is stored and which the webhooks see, does not have.
//! Read beside `api/govmomi/v1beta1/conversion.go` and `api/supervisor/v1beta1/conversion.go` of cluster-api-provider-vsphere 1.16 and 1.17;
//! by reading.

use super::SUPERVISOR;
use crate::kinds::fields::{map_at, text};
use crate::object::{Key, go_seconds};
use crate::tree::{Map, Value, json};

/// How long a virtual machine may take to power off softly; v1beta2 keeps whole seconds.
const TIMEOUT: &str = "guestSoftPowerOffTimeout";

/// Takes away what is lost. A value of another type stays: the schema refuses it.
pub(super) fn lose(key: &Key, object: &mut Value) {
    let content = if key.kind.ends_with("Template") { "/spec/template/spec" } else { "/spec" };
    let Some(spec) = object.pointer_mut(content).and_then(Value::as_object_mut) else { return };
    match key.kind.trim_end_matches("Template") {
        "VSphereMachine" => machine(spec, key.group == SUPERVISOR),
        "VSphereVM" => virtual_machine(spec),
        "VSphereFailureDomain" => {
            for place in ["region", "zone"] {
                if let Some(part) = map_at(spec, place) {
                    remove(part, "autoConfigure", Value::is_boolean);
                }
            }
        }
        _ => {}
    }
}

/// Takes out of a Machine what a version cannot hold.
fn machine(spec: &mut Map, is_supervisor: bool) {
    remove(spec, "failureDomain", Value::is_string);
    remove(spec, "namingStrategy", |naming| naming.is_object() && text(naming, "/template").is_none_or(str::is_empty));
    if !is_supervisor {
        virtual_machine(spec);
    }
}

/// Takes out of a virtual machine what a version cannot hold, and spells its timeout as Go does.
fn virtual_machine(spec: &mut Map) {
    if let Some(network) = spec.get_mut("network").and_then(Value::as_object_mut) {
        remove(network, "preferredAPIServerCidr", Value::is_string);
    }
    match spec.get(TIMEOUT).and_then(Value::as_str).and_then(go_seconds) {
        Some(0) => drop(spec.shift_remove(TIMEOUT)),
        Some(seconds) => drop(spec.insert(TIMEOUT.to_owned(), json!(spelled(seconds)))),
        None => {}
    }
}

/// Takes a field away where it is of this kind.
fn remove(map: &mut Map, key: &str, is_lost: impl FnOnce(&Value) -> bool) {
    if map.get(key).is_some_and(is_lost) {
        map.shift_remove(key);
    }
}

/// Whole seconds as Go writes them.
fn spelled(seconds: i64) -> String {
    let (sign, left) = if seconds < 0 { ("-", seconds.unsigned_abs()) } else { ("", seconds.unsigned_abs()) };
    match (left / 3600, left / 60 % 60, left % 60) {
        (0, 0, seconds) => format!("{sign}{seconds}s"),
        (0, minutes, seconds) => format!("{sign}{minutes}m{seconds}s"),
        (hours, minutes, seconds) => format!("{sign}{hours}h{minutes}m{seconds}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::contract::INFRASTRUCTURE;

    fn lost(group: &str, kind: &str, spec: Value) -> Value {
        let is_template = kind.ends_with("Template");
        let mut object =
            if is_template { json!({"spec": {"template": {"spec": spec}}}) } else { json!({"spec": spec}) };
        let key = Key::of(group, kind, None, "a");
        lose(&key, &mut object);
        object.pointer(if is_template { "/spec/template/spec" } else { "/spec" }).cloned().unwrap_or_default()
    }

    #[test]
    fn what_v1beta2_does_not_have_is_lost() {
        let spec = json!({"failureDomain": "a", "namingStrategy": {}, "template": "t",
            "network": {"preferredAPIServerCidr": "10.0.0.0/8", "devices": []}});
        let left = json!({"template": "t", "network": {"devices": []}});
        assert_eq!(lost(INFRASTRUCTURE, "VSphereMachine", spec.clone()), left);
        assert_eq!(lost(INFRASTRUCTURE, "VSphereMachineTemplate", spec), left);
        let named = json!({"namingStrategy": {"template": "x"}, "failureDomain": 1});
        assert_eq!(lost(INFRASTRUCTURE, "VSphereMachine", named.clone()), named, "the schema refuses a number");
        let zone = json!({"zone": {"name": "z", "autoConfigure": true}, "region": {"name": "r"}});
        assert_eq!(
            lost(INFRASTRUCTURE, "VSphereFailureDomain", zone),
            json!({"zone": {"name": "z"}, "region": {"name": "r"}})
        );
        let cluster = json!({"failureDomain": "a"});
        assert_eq!(lost(INFRASTRUCTURE, "VSphereCluster", cluster.clone()), cluster);
    }

    #[test]
    fn a_time_is_kept_in_whole_seconds() {
        let told = |group: &str, time: &str| lost(group, "VSphereMachine", json!({TIMEOUT: time}));
        for (time, kept) in [("300s", "5m0s"), ("1h", "1h0m0s"), ("1500ms", "1s"), ("-2s", "-2s"), ("soon", "soon")] {
            assert_eq!(told(INFRASTRUCTURE, time), json!({TIMEOUT: kept}), "{time}");
        }
        assert_eq!(told(INFRASTRUCTURE, "500ms"), json!({}));
        assert_eq!(told(SUPERVISOR, "500ms"), json!({TIMEOUT: "500ms"}), "it has no such field");
    }
}
