//! What conversion from v1beta1 to v1beta2 makes of a kubeadm configuration since Cluster API 1.11.
//! Read beside `bootstrap/kubeadm/webhooks/conversion/kubeadmconfig.go` (ConvertKubeadmConfigV1Beta1ToHub) of 1.14.
//! The form stays that of `hub`; only what conversion drops, restores or moves on top of renaming is done here.

use crate::kinds::contract::CONVERSION_DATA;
use crate::kinds::fields::annotation;
use crate::kinds::fields::child;
use crate::object::go_seconds;

use crate::tree::{Map, Value};

/// Fields of plain truth values in v1beta1: `false` and absent are the same there.
const PLAIN: &[&str] =
    &["append", "readOnly", "strict", "unsafeSkipCAVerification", "insecureSkipTLSVerify", "provideClusterInfo"];

/// Fields that v1beta2 does not have.
const GONE: &[&str] = &["apiVersion", "kind", "clusterName", "kubernetesVersion", "networking"];

/// Converts the kubeadm configuration at `place` (a JSON pointer) of an object that was read as v1beta1.
pub(crate) fn kubeadm_config(object: &mut Value, place: &str) {
    // Only what was false and the timeouts are restored; a fleet has thousands of these, and most hold neither.
    let stored = annotation(object, CONVERSION_DATA)
        .filter(|text| text.contains("false") || text.contains("timeouts"))
        .and_then(|text| serde_json::from_str::<Value>(text).ok());
    let restored = stored.as_ref().and_then(|stored| stored.pointer(place)).unwrap_or(&Value::Null);
    let Some(spec) = object.pointer_mut(place) else { return };
    if let Some(left) = truths(spec, restored) {
        *spec = left;
    }
    let Some(map) = spec.as_object_mut() else { return };
    map.remove("useExperimentalRetryJoin");
    timeouts(map, restored);
    for form in ["clusterConfiguration", "initConfiguration", "joinConfiguration"] {
        if let Some(form) = map.get_mut(form).and_then(Value::as_object_mut) {
            GONE.iter().for_each(|key| drop(form.remove(key)));
        }
    }
}

/// Drops `false` where v1beta1 cannot tell it from absent, unless it is known to have been meant; `None` where all of it stays.
fn truths(value: &Value, restored: &Value) -> Option<Value> {
    match value {
        Value::Object(map) => {
            let is_meant = |key: &str| restored.get(key) == Some(&Value::Bool(false));
            let left = map
                .filtered(|key, child| *child != Value::Bool(false) || !PLAIN.contains(&key.as_str()) || is_meant(key));
            let inner = left.as_ref().unwrap_or(map);
            let inner = inner.changed(|key, child| truths(child, restored.get(key).unwrap_or(&Value::Null)));
            inner.or(left).map(Value::Object)
        }
        Value::Array(list) => {
            let other = list.changed(|_, child| {
                // Files and volumes are found again by their paths, not by their places.
                let same = |other: &&Value| {
                    ["path", "hostPath"].iter().any(|key| child.get(key).is_some() && child.get(key) == other.get(key))
                };
                let before = restored.as_array().and_then(|list| list.iter().find(same));
                truths(child, before.unwrap_or(&Value::Null))
            });
            other.map(Value::Array)
        }
        _ => None,
    }
}

/// Restores the timeouts of v1beta2 and puts those of v1beta1 in their new places.
fn timeouts(map: &mut Map, restored: &Value) {
    for form in ["initConfiguration", "joinConfiguration"] {
        let known = restored.get(form).and_then(|form| form.get("timeouts")).filter(|known| known.is_object());
        if let Some(known) = known.cloned() {
            child(map, form).insert("timeouts".to_owned(), known);
        }
    }
    let seconds = |value: Value| value.as_str().and_then(go_seconds).map_or(value, Value::from);
    let taken = |form: Option<&mut Value>, key: &str| form.and_then(Value::as_object_mut)?.remove(key).map(seconds);
    let component = map
        .get_mut("clusterConfiguration")
        .and_then(|config| taken(config.get_mut("apiServer"), "timeoutForControlPlane"))
        .filter(|value| !value.is_null());
    let discovery = map
        .get_mut("joinConfiguration")
        .and_then(|join| taken(join.get_mut("discovery"), "timeout"))
        .filter(|value| !value.is_null());
    let component_key = "controlPlaneComponentHealthCheckSeconds";
    if let Some(component) = &component {
        child(child(map, "initConfiguration"), "timeouts").insert(component_key.to_owned(), component.clone());
    }
    if component.is_some() || discovery.is_some() {
        let timeouts = child(child(map, "joinConfiguration"), "timeouts");
        timeouts.insert(component_key.to_owned(), component.unwrap_or_default());
        if let Some(discovery) = discovery {
            timeouts.insert("tlsBootstrapSeconds".to_owned(), discovery);
        }
    }
}
