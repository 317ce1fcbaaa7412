//! What an object loses on its way through another version of its kind: lists without items, which Go's types leave out there
//! (`omitempty` in `api/*/v1beta1` and `api/*/v1beta2` of Cluster API 1.14).

use super::fields::FieldSet;
use crate::kinds::contract::{CLUSTER, CLUSTER_CLASS};
use crate::kinds::shapes;
use crate::providers::core::RELEASE as CORE;
use crate::tree::Value;

/// Lists of kubeadm that another version keeps without items: Go's types there hold a pointer, or do not leave them out.
const KEPT_EMPTY: [&str; 3] = ["endpoints", "extraEnvs", "taints"];

/// An object of Cluster API as it comes back from another version, of what a set owns where one is given; `None` where it loses nothing.
/// What a Cluster or a class holds of other people's JSON stays as it is, so that these lose nothing here.
pub(crate) fn without_empty_lists(object: &Value, of: Option<&FieldSet>) -> Option<Value> {
    let text = |key: &str| object.get(key).and_then(Value::as_str).unwrap_or_default();
    let (version, kind) = (text("apiVersion"), text("kind"));
    let is_core = || shapes::provider_of(kind, version) == Some(CORE.name);
    if !object.get("spec").is_some_and(has_empty_list) || matches!(kind, CLUSTER | CLUSTER_CLASS) || !is_core() {
        return None;
    }
    let mut out = object.clone();
    match of {
        None => take_empty_lists(&mut out["spec"]),
        Some(of) => take_owned(&mut out, of),
    }
    (out != *object).then_some(out)
}

/// Whether a list without items that another version leaves out stands under a key.
fn is_left_out(key: &str, value: &Value) -> bool {
    value.as_array().is_some_and(Vec::is_empty) && !KEPT_EMPTY.contains(&key)
}

fn has_empty_list(value: &Value) -> bool {
    match value {
        Value::Object(map) => map.iter().any(|(key, value)| is_left_out(key, value) || has_empty_list(value)),
        Value::Array(items) => items.iter().any(has_empty_list),
        _ => false,
    }
}

fn take_empty_lists(value: &mut Value) {
    match value {
        Value::Object(map) => {
            map.retain(|key, value| !is_left_out(key, value));
            map.values_mut().for_each(take_empty_lists);
        }
        Value::Array(items) => items.iter_mut().for_each(take_empty_lists),
        _ => {}
    }
}

/// Takes the lists that a set owns as fields, and looks into no other list.
fn take_owned(value: &mut Value, of: &FieldSet) {
    let Some(map) = value.as_object_mut() else { return };
    for (step, of) in &of.below {
        let Some(key) = step.field() else { continue };
        if of.owned && map.get(key).is_some_and(|value| is_left_out(key, value)) {
            map.shift_remove(key);
        } else if let Some(inner) = map.get_mut(key) {
            take_owned(inner, of);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::json;

    fn lost(kind: &str, spec: Value) -> Option<Value> {
        let object = json!({"apiVersion": "bootstrap.cluster.x-k8s.io/v1beta2", "kind": kind, "spec": spec});
        without_empty_lists(&object, None).map(|mut object| object["spec"].take())
    }

    #[test]
    fn lists_without_items_are_left_out_and_others_stay() {
        let spec =
            json!({"ntp": {"enabled": true, "servers": []}, "files": [{"path": "/a", "content": ""}], "users": []});
        let left = json!({"ntp": {"enabled": true}, "files": [{"path": "/a", "content": ""}]});
        assert_eq!(lost("KubeadmConfig", spec), Some(left));
        assert_eq!(lost("KubeadmConfig", json!({"files": [{"path": "/a"}], "users": {}})), None);
    }

    #[test]
    fn lists_that_every_version_keeps_and_kinds_of_others_lose_nothing() {
        let taints = json!({"joinConfiguration": {"nodeRegistration": {"taints": []}}});
        assert_eq!(lost("KubeadmConfig", taints), None);
        assert_eq!(lost("AcmeConfig", json!({"servers": []})), None);
        let cluster = json!({"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster",
            "spec": {"topology": {"variables": [{"name": "a", "value": []}]}}});
        assert_eq!(without_empty_lists(&cluster, None), None);
    }

    #[test]
    fn of_what_a_set_owns_nothing_else_is_left_out() {
        let config = |spec: Value| json!({"apiVersion": "bootstrap.cluster.x-k8s.io/v1beta2", "kind": "KubeadmConfig", "spec": spec});
        let object =
            config(json!({"files": [], "users": [{"name": "a", "sshAuthorizedKeys": []}], "ntp": {"servers": []}}));
        let owned = |fields: Value| without_empty_lists(&object, Some(&FieldSet::read(&fields)));
        let left = config(json!({"files": [], "users": [{"name": "a", "sshAuthorizedKeys": []}], "ntp": {}}));
        assert_eq!(owned(json!({"f:spec": {"f:users": {}, "f:ntp": {"f:servers": {}}}})), Some(left));
        assert_eq!(owned(json!({"f:spec": {"f:users": {}, "f:ntp": {"f:enabled": {}}}})), None);
    }
}
