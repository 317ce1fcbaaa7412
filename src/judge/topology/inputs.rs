//! A Cluster before the write with a part of what it says after it, so that what each part brings about is told apart.

use super::values;
use crate::hashed::HashMap;
use crate::kinds::fields::text;
use crate::tree::Value;

/// The old Cluster with the variables and classes of the new one.
pub(super) fn inputs(old: &Value, new: &Value) -> Value {
    let mut out = old.clone();
    copy(&mut out, new, &["variables", "classRef"], &["variables", "class"]);
    out
}

/// The old Cluster with everything of the new one that is neither a variable, nor a class, nor the version.
pub(super) fn around(old: &Value, new: &Value) -> Value {
    let mut out = new.clone();
    copy(&mut out, old, &["variables", "classRef", "version"], &["variables", "class"]);
    out
}

/// Copies fields of the topology, and fields of each group that both sides have, by its name.
fn copy(to: &mut Value, from: &Value, fields: &[&str], of_groups: &[&str]) {
    let put = |to: &mut Value, from: &Value, keys: &[&str]| {
        let Some(map) = to.as_object_mut() else { return };
        for key in keys {
            match from.get(*key) {
                Some(value) => map.insert((*key).to_owned(), value.clone()),
                None => map.shift_remove(key),
            };
        }
    };
    let (Some(to), Some(from)) = (to.pointer_mut("/spec/topology"), from.pointer("/spec/topology")) else { return };
    put(to, from, fields);
    if let (Some(to), Some(from)) = (to.get_mut("controlPlane"), from.get("controlPlane")) {
        put(to, from, &of_groups[..1]);
    }
    for list in ["machineDeployments", "machinePools"] {
        let pointer = format!("/workers/{list}");
        let mut others: HashMap<Option<&str>, &Value> = HashMap::default();
        for other in values::list(from, &pointer) {
            others.entry(text(other, "/name")).or_insert(other);
        }
        for group in to.pointer_mut(&pointer).and_then(Value::as_array_mut).into_iter().flatten() {
            if let Some(other) = others.get(&text(group, "/name")) {
                put(group, other, of_groups);
            }
        }
    }
}
