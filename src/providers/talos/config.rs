//! The spec of a TalosConfig as the Go types of its provider hold it (`api/v1alpha3/talosconfig_types.go` of
//! cluster-api-bootstrap-provider-talos 0.6).

use crate::kinds::diff::{self, Style};
use crate::tree::{Value, json};

/// An empty list is not none: both providers compare with what tells them apart.
const STYLE: Style =
    Style { keep_empty: &["configPatches", "strategicPatches"], drop_zero: &[], keep_blank: &["value"] };

/// The spec of a config, so that two of them are the same where Go's are.
pub(super) fn held(spec: Option<&Value>) -> Value {
    let mut out = spec.filter(|spec| spec.is_object()).cloned().unwrap_or_else(|| json!({}));
    for patch in out.get_mut("configPatches").and_then(Value::as_array_mut).into_iter().flatten() {
        // Any JSON is a value, and all of it counts: as a text nothing in it is dropped.
        if let Some(value) = patch.as_object_mut().and_then(|patch| patch.get_mut("value")) {
            *value = json!(sorted(value).to_string());
        }
    }
    diff::prune(&mut out, STYLE);
    out
}

/// A tree with the keys of its maps in order, as the API server stores them.
fn sorted(tree: &Value) -> Value {
    match tree {
        Value::Object(map) => {
            let mut entries: Vec<_> = map.iter().map(|(key, value)| (key.clone(), sorted(value))).collect();
            entries.sort_by(|left, right| left.0.cmp(&right.0));
            Value::Object(entries.into_iter().collect())
        }
        Value::Array(list) => Value::Array(list.iter().map(sorted).collect()),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_of_a_patch_counts_and_an_empty_list_is_not_none() {
        let spec = |value: Value| json!({"configPatches": [{"op": "add", "path": "/x", "value": value}]});
        let same = |left: &Value, right: &Value| held(Some(left)) == held(Some(right));
        assert!(same(&spec(json!({"a": 1, "b": 2})), &spec(json!({"b": 2, "a": 1}))));
        assert!(!same(&spec(json!({"a": ""})), &spec(json!({}))));
        assert!(!same(&spec(json!("")), &json!({"configPatches": [{"op": "add", "path": "/x"}]})));
        assert!(!same(&json!({"strategicPatches": []}), &json!({})));
        assert!(same(&json!({"hostname": {"source": ""}, "data": ""}), &json!({})));
    }
}
