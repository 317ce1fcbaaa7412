//! What does not come back from an older API version as it went there. Lists that are maps there: read through it, the order in which they
//! are stored does not show, and a write through it stores them sorted by name. And what cannot be left out there. Read beside
//! `api/bootstrap/kubeadm/v1beta1/conversion.go` (ConvertToArgs) of Cluster API 1.14, and seen with Helm 3, Helm 4 and kubectl.

use super::last_applied::LAST_APPLIED;
use crate::kinds::contract::CONVERSION_DATA;
use crate::kinds::fields::{annotation, text};
use crate::kinds::remembered::{Remembered, remembered};
use crate::object::{ApiVersion, Key, Object};
use crate::providers::kind;
use crate::providers::kubeadm::{ARGUMENTS, PARTITIONS};
use crate::schema;
use crate::tree::Value;

/// Whether Argo CD has nothing to send, but for labels of its own: what it applied last is what is rendered.
pub(super) fn is_left_alone(read: &Value, rendered: &Value) -> bool {
    let last = annotation(read, LAST_APPLIED).and_then(|text| serde_json::from_str::<Value>(text).ok());
    last.is_some_and(|last| ["apiVersion", "spec"].iter().all(|part| last.get(part) == rendered.get(part)))
}

/// Whether a write of an object stores such lists sorted, whatever else it changes. What is live shows another order only where it is
/// read as it is stored, or says how it was.
pub(super) fn may_sort(object: &Object, live: &Object) -> bool {
    ApiVersion::is_before_v1beta2(&object.api_version)
        && kind(&object.key).config_place().is_some()
        && (!ApiVersion::is_before_v1beta2(&live.api_version) || live.may_say(CONVERSION_DATA))
}

/// Puts the lists of a live object that is written through an older version into the form in which they are stored, where the
/// write stores them in another order.
pub(super) fn show_order(key: &Key, api_version: &str, read: &Value, live: &mut Value) {
    let Some(place) = kind(key).config_place().filter(|_| ApiVersion::is_before_v1beta2(api_version)) else { return };
    let is_whole = !read.get("apiVersion").and_then(Value::as_str).is_some_and(ApiVersion::is_before_v1beta2);
    let kept = annotation(read, CONVERSION_DATA)
        .filter(|_| !is_whole)
        .and_then(|text| serde_json::from_str::<Value>(text).ok());
    let Some(stored) = (if is_whole { Some(read) } else { kept.as_ref() }) else { return };
    for list in ARGUMENTS {
        let at = format!("{place}{list}");
        let Some(order) = stored.pointer(&at).filter(|order| !is_sorted(order)) else { continue };
        if let Some(map) = live.pointer_mut(&at).filter(|map| map.is_object()) {
            *map = order.clone();
        }
    }
}

/// An object as it comes back from an older version. Where it is not sure that it goes there, a list that would come back as it is live
/// keeps the order in which it is written.
pub(super) fn come_back(key: &Key, object: &mut Value, unless_live: Option<&Value>) {
    let Some(place) = kind(key).config_place() else { return };
    for list in ARGUMENTS {
        let at = format!("{place}{list}");
        let Some(Value::Array(items)) = object.pointer_mut(&at).filter(|list| !is_sorted(list)) else { continue };
        let mut sorted: Vec<Value> = items.iter().cloned().collect();
        sorted.sort_by(|one, other| text(one, "/name").cmp(&text(other, "/name")));
        let live = unless_live.and_then(|live| live.pointer(&at)).and_then(Value::as_array);
        if live.is_none_or(|live| !live.iter().eq(&sorted)) {
            *items = sorted.into();
        }
    }
    // `layout` must be there in v1beta1, so that none comes back as false (the fuzzers of the conversions of Cluster API 1.14 leave none out).
    let partitions = object.pointer_mut(&format!("{place}{PARTITIONS}")).and_then(Value::as_array_mut);
    for partition in partitions.into_iter().flatten().filter_map(Value::as_object_mut) {
        if partition.get("layout").is_none() {
            partition.insert("layout", Value::Bool(false));
        }
    }
}

/// Brings a live object into the version that is written: into what the API server holds there, where the version that it was read
/// through remembers it, else by what moved between the two. `false` where it stays as it was read.
pub(super) fn bring(live: &mut Value, rendered: &Value) -> bool {
    let Some(wanted) = text(rendered, "/apiVersion").filter(|wanted| text(live, "/apiVersion") != Some(wanted)) else {
        return false;
    };
    let Remembered::Spec(spec) = remembered(live, wanted) else { return schema::reshape(live, rendered) };
    live["spec"] = spec;
    live["apiVersion"] = Value::from(wanted);
    if let Some(annotations) = live.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut) {
        annotations.shift_remove(CONVERSION_DATA);
    }
    true
}

/// Whether a list of arguments has the order that a map gives it.
fn is_sorted(list: &Value) -> bool {
    let names = list.as_array().into_iter().flatten().map(|item| item.get("name").and_then(Value::as_str));
    names.is_sorted()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::json;

    #[test]
    fn what_an_api_server_remembers_is_what_it_stores_and_what_a_render_carries_is_not() {
        let hub = json!({"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": "DockerMachineTemplate", "spec": {"template": {"spec": {"customImage": "old"}}}});
        let live = json!({"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "DockerMachineTemplate",
            "metadata": {"uid": "u", "annotations": {CONVERSION_DATA: hub.to_string()}}, "spec": {"template": {"metadata": {}, "spec": {"customImage": "new"}}}});
        let image = |mut live: Value| {
            bring(&mut live, &hub);
            live.pointer("/spec/template/spec/customImage").cloned()
        };
        let mut rendered = live.clone();
        rendered["metadata"].as_object_mut().expect("a map").remove("uid");
        assert_eq!((image(live), image(rendered)), (Some(json!("old")), Some(json!("new"))));
    }
}
