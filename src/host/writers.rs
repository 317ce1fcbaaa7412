//! Who wrote a place of a live object, and when, as its managed fields tell.

use jiff::Timestamp;

use crate::apiserver::fields::{self, FieldSet, Step, canonical};
use crate::object::{Path, Segment};
use crate::tree::Value;

/// One who owns a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Writer {
    /// The field manager.
    pub manager: String,
    /// `Apply` or `Update`.
    pub operation: String,
    /// When it last wrote the object; managed fields say no more exactly.
    pub time: Option<Timestamp>,
}

/// Who owns a place of an object, the last writer first; empty where the object does not say.
///
/// What stands below a place that is owned as a whole (a list without keys, say) belongs to whoever owns that place.
#[must_use]
pub(crate) fn writers(object: &Value, path: &Path) -> Vec<Writer> {
    let entries = object.pointer("/metadata/managedFields").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let mut found: Vec<Writer> = fields::owners(object)
        .iter()
        .zip(entries)
        .filter(|(owner, _)| owner.subresource.is_empty() && owns(&owner.fields, object, path.segments()))
        .map(|(owner, entry)| Writer {
            manager: owner.manager.clone(),
            operation: owner.operation.clone(),
            time: entry.get("time").and_then(Value::as_str).and_then(|text| text.parse().ok()),
        })
        .collect();
    found.sort_by_key(|writer| std::cmp::Reverse(writer.time));
    found
}

/// Whether a set of fields holds a place, or the whole that it is a part of, or something below it.
fn owns(set: &FieldSet, value: &Value, steps: &[Segment]) -> bool {
    let Some((step, rest)) = steps.split_first() else { return !set.is_empty() };
    if set.owned && set.below.is_empty() {
        return true;
    }
    match step {
        Segment::Key(key) => {
            let below = set.below.get(&Step::Field(key.clone()));
            below.is_some_and(|below| owns(below, value.get(key).unwrap_or(&Value::Null), rest))
        }
        Segment::Index(index) => {
            let item = value.get(index).unwrap_or(&Value::Null);
            set.below.iter().any(|(step, below)| is_step(step, *index, item) && owns(below, item, rest))
        }
    }
}

/// Whether a step of a set means an item of a list.
fn is_step(step: &Step, index: usize, item: &Value) -> bool {
    match step {
        Step::Place(place) => *place == index,
        Step::Member(text) => *text == canonical(item),
        Step::Item(text) => serde_json::from_str::<Value>(text).is_ok_and(|keys| {
            keys.as_object().is_some_and(|keys| keys.iter().all(|(key, value)| item.get(key) == Some(value)))
        }),
        Step::Field(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::json;

    fn entry(manager: &str, time: &str, fields: Value) -> Value {
        json!({"manager": manager, "operation": "Update", "apiVersion": "v1", "time": time, "fieldsType": "FieldsV1",
            "fieldsV1": fields})
    }

    #[test]
    fn the_owner_of_a_place_is_whoever_owns_it_or_the_whole_that_it_is_part_of() {
        let object = json!({"spec": {"version": "v1", "files": [{"path": "/a"}], "ports": [{"name": "x", "port": 1}]},
        "metadata": {"managedFields": [
            entry("helm", "2026-11-01T00:00:00Z", json!({"f:spec": {"f:version": {}, "f:files": {}}})),
            entry("kubectl-edit", "2026-11-02T00:00:00Z", json!({"f:spec": {"f:version": {}}})),
            entry("other", "2026-11-03T00:00:00Z", json!({"f:spec": {"f:ports": {"k:{\"name\":\"x\"}": {"f:port": {}}}}})),
            {"manager": "scaler", "operation": "Update", "subresource": "scale", "fieldsV1": {"f:spec": {"f:version": {}}}},
        ]}});
        let of = |path: &str| -> Vec<String> {
            let path = Path::parse(path).expect("a path");
            writers(&object, &path).into_iter().map(|writer| writer.manager).collect()
        };
        assert_eq!(of("spec.version"), ["kubectl-edit", "helm"]);
        assert_eq!(of("spec.files[0].path"), ["helm"]);
        assert_eq!(of("spec.ports[0].port"), ["other"]);
        assert_eq!(of("spec.ports[1].port"), [""; 0]);
        assert_eq!(of("spec.replicas"), [""; 0]);
    }
}
