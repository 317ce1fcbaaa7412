//! The JSON patches of a recording: one case is a base and the operations on it.

use rollgate::facade::tree::Value;

/// Applies one operation of a JSON patch.
pub(crate) fn apply(object: &mut Value, operation: &Value) {
    let pointer = operation["path"].as_str().expect("a path");
    let (parent, last) = pointer.rsplit_once('/').expect("a path below the object");
    let last = last.replace("~1", "/").replace("~0", "~");
    let parent = object.pointer_mut(parent).expect("the parent is there");
    let value = operation.get("value").cloned();
    match (parent, operation["op"].as_str().expect("an operation")) {
        (Value::Object(map), "remove") => {
            map.shift_remove(&last);
        }
        (Value::Object(map), _) => {
            map.insert(last, value.expect("a value"));
        }
        (Value::Array(list), "add") if last == "-" => list.push(value.expect("a value")),
        (Value::Array(list), "add") => list.insert(last.parse().expect("a place"), value.expect("a value")),
        (Value::Array(list), "remove") => {
            list.remove(last.parse().expect("a place"));
        }
        (Value::Array(list), _) => list[last.parse::<usize>().expect("a place")] = value.expect("a value"),
        (other, _) => panic!("cannot patch {other}"),
    }
}
