//! What a dump of a cluster says about itself: that it is a part, that it holds no objects, or that it holds one of them in two states.
//! A cluster has an object once (`k8s.io/apiserver` `pkg/registry/generic/registry/store.go`: the key is its namespace and name).

use super::files::FileError;
use crate::hashed::HashMap;
use crate::object::{Inventory, Key, Object};
use crate::tree::Value;

/// The group of what an API server says about objects: Tables, metadata alone.
const ABOUT: &str = "meta.k8s.io";

/// The objects of a dump, each once.
///
/// # Errors
/// When something in it says that there is more than it holds, or two states of one object stand in it.
pub(super) fn checked(
    live: Inventory,
    place: &dyn Fn(&Object, usize) -> (String, usize),
) -> Result<Inventory, FileError> {
    for (at, object) in live.objects().iter().enumerate() {
        if object.key.group == ABOUT {
            let (path, line) = place(object, at);
            let (kind, name) = (object.key.kind.to_string(), object.key.name.to_string());
            return Err(FileError::NoObject { path, line, kind, name });
        }
        if let Some(what) = object.carrier.as_ref().and_then(|list| cut(&list.value)) {
            let (path, line) = place(object, at);
            return Err(FileError::Part { path, line, what });
        }
    }
    once(live, place)
}

/// Why a list is not whole (`k8s.io/apimachinery` `pkg/apis/meta/v1/types.go`, ListMeta).
fn cut(list: &Value) -> Option<String> {
    let left = list.pointer("/metadata/remainingItemCount").and_then(Value::as_i64).filter(|left| *left > 0);
    let next = list.pointer("/metadata/continue").and_then(Value::as_str).filter(|next| !next.is_empty());
    match (left, next) {
        (Some(left), _) => Some(format!("ends although {left} objects are left (metadata.remainingItemCount)")),
        (None, Some(_)) => Some("goes on after its end (metadata.continue)".to_owned()),
        (None, None) => None,
    }
}

/// Each object once: a copy of it says nothing more.
fn once(live: Inventory, place: &dyn Fn(&Object, usize) -> (String, usize)) -> Result<Inventory, FileError> {
    let mut last: HashMap<&Key, usize> = HashMap::default();
    let mut copies = Vec::new();
    for (at, object) in live.objects().iter().enumerate() {
        let Some(first) = last.insert(&object.key, at) else { continue };
        if !is_same(&live.objects()[first], object) {
            let told = |at: usize| {
                let (path, line) = place(&live.objects()[at], at);
                format!("{path}:{line}")
            };
            return Err(FileError::Twice { key: object.key.clone(), first: told(first), second: told(at) });
        }
        copies.push(first);
    }
    if copies.is_empty() {
        return Ok(live);
    }
    let mut copies = copies.into_iter().collect::<std::collections::BTreeSet<_>>();
    let objects = Vec::from(live).into_iter().enumerate();
    Ok(objects.filter(|(at, _)| !copies.remove(at)).map(|(_, object)| object).collect::<Vec<_>>().into())
}

/// Whether two texts of an object show one state: the same one, perhaps in two versions of its kind.
fn is_same(one: &Object, other: &Object) -> bool {
    let (Ok(one), Ok(other)) = (one.value(), other.value()) else { return false };
    let text = |value: &Value, pointer: &str| {
        value.pointer(pointer).and_then(Value::as_str).filter(|text| !text.is_empty()).map(str::to_owned)
    };
    let state = |value: &Value| text(value, "/metadata/uid").zip(text(value, "/metadata/resourceVersion"));
    match (state(&one), state(&other)) {
        (Some(one), Some(other)) => one == other,
        _ => one == other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::json;

    fn read(text: &str) -> Result<usize, String> {
        let stream = crate::object::Stream::load(&bytes::Bytes::copy_from_slice(text.as_bytes())).expect("a stream");
        let place = |object: &Object, _| ("live.yaml".to_owned(), object.line);
        checked(stream.objects, &place).map(|live| live.len()).map_err(|why| why.to_string())
    }

    fn list(metadata: Value) -> String {
        let item = json!({"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine", "metadata": {"name": "m"}});
        json!({"apiVersion": "v1", "kind": "List", "metadata": metadata, "items": [item]}).to_string()
    }

    #[test]
    fn a_list_that_goes_on_is_no_whole_one() {
        for whole in [json!({}), json!({"continue": "", "remainingItemCount": 0}), json!({"remainingItemCount": null})]
        {
            assert_eq!(read(&list(whole)), Ok(1));
        }
        for part in [
            json!({"continue": "x"}),
            json!({"continue": "x", "remainingItemCount": 2}),
            json!({"remainingItemCount": 2}),
        ] {
            let said = read(&list(part)).expect_err("a part");
            assert!(said.contains("live.yaml:1") && said.contains("a part of the cluster"), "{said}");
        }
    }

    #[test]
    fn metadata_alone_is_no_object() {
        let text = json!({"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata", "metadata": {"name": "m"}});
        let said = read(&text.to_string()).expect_err("no object");
        assert!(said.contains("not the object"), "{said}");
    }

    #[test]
    fn an_object_counts_once_and_two_states_of_it_are_refused() {
        let machine = |version: &str, metadata: Value, phase: &str| {
            format!(
                "---\n{}\n",
                json!({"apiVersion": format!("cluster.x-k8s.io/{version}"), "kind": "Machine",
                "metadata": metadata, "status": {"phase": phase}})
            )
        };
        let at = |seen: &str| json!({"name": "m", "namespace": "n", "uid": "u", "resourceVersion": seen});
        let plain = || json!({"name": "m", "namespace": "n"});
        let one = machine("v1beta1", at("1"), "Running");
        let (other, later) = (machine("v1beta2", at("1"), "Running"), machine("v1beta1", at("2"), "Running"));
        assert_eq!(read(&[one.as_str(), &one, &other].concat()), Ok(1));
        let said = read(&[one, later].concat()).expect_err("two states");
        assert!(said.contains("Machine n/m stands twice") && said.contains("live.yaml:2 and live.yaml:4"), "{said}");
        let (one, later) = (machine("v1beta1", plain(), "Running"), machine("v1beta1", plain(), "Failed"));
        assert_eq!(read(&[one.as_str(), &one].concat()), Ok(1));
        assert!(read(&[one, later].concat()).is_err());
        let elsewhere = machine("v1beta1", json!({"name": "m", "namespace": "o"}), "Running");
        assert_eq!(read(&[machine("v1beta1", plain(), "Failed"), elsewhere].concat()), Ok(2));
    }
}
