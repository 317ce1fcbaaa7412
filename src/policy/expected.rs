//! What a field of the policy may hold, from the schema: for messages, and to look on behind a field that is missing.

use std::sync::OnceLock;

use super::schema::schema_json;
use crate::object::{Path, Segment};
use crate::tree::{Value, json};

/// The schema of the policy.
static SCHEMA: OnceLock<Value> = OnceLock::new();

/// The words that a field may hold; none where it may hold anything.
pub(super) fn words(path: &Path) -> Vec<String> {
    let Some(node) = at(path) else { return Vec::new() };
    let one = |node: &Value| node.get("const").and_then(Value::as_str).map(str::to_owned);
    let listed = node.get("enum").and_then(Value::as_array).into_iter().flatten();
    let consts = node.get("oneOf").and_then(Value::as_array).into_iter().flatten().filter_map(one);
    listed.filter_map(Value::as_str).map(str::to_owned).chain(consts).collect()
}

/// Something that a field may hold, so that the rest can be looked at without it.
pub(super) fn blank(path: &Path) -> Option<Value> {
    if let Some(word) = words(path).first() {
        return Some(json!(word));
    }
    let kind = at(path)?.get("type")?;
    let kind = kind.as_str().or_else(|| kind.as_array()?.first()?.as_str())?;
    match kind {
        "string" => Some(json!("unnamed")),
        "array" => Some(json!([])),
        "integer" => Some(json!(1)),
        "boolean" => Some(json!(false)),
        _ => None,
    }
}

/// The part of the schema that describes a field.
fn at(path: &Path) -> Option<&'static Value> {
    let root = SCHEMA.get_or_init(schema_json);
    let mut node = resolved(root, root);
    for segment in path.segments() {
        let below = match segment {
            Segment::Key(key) => node.get("properties").and_then(|fields| fields.get(key)),
            Segment::Index(_) => node.get("items"),
        };
        node = resolved(root, below?);
    }
    Some(node)
}

/// What a node refers to, where it is a reference.
fn referred<'s>(root: &'s Value, node: &Value) -> Option<&'s Value> {
    let name = node.get("$ref")?.as_str()?.strip_prefix("#/$defs/")?;
    root.get("$defs")?.get(name)
}

/// The part that a reference leads to; of a choice between a part and nothing the part.
fn resolved<'s>(root: &'s Value, node: &'s Value) -> &'s Value {
    if let Some(found) = referred(root, node) {
        return resolved(root, found);
    }
    let parts = node.get("anyOf").and_then(Value::as_array);
    let some = parts.and_then(|parts| parts.iter().find(|part| part.get("type") != Some(&json!("null"))));
    some.map_or(node, |part| resolved(root, part))
}

/// The fields of a policy that hold a list where a map is meant, or a map where a word is: a reader of Rust types would take the items
/// of a list by their order, and the key of a map as the word.
pub(super) fn misshapen(policy: &Value) -> Vec<(Path, &'static str)> {
    let mut out = Vec::new();
    let root = SCHEMA.get_or_init(schema_json);
    shapes(root, root, policy, &Path::root(), &mut out);
    out
}

/// Adds what has another shape than the schema says, outermost first.
fn shapes(root: &Value, node: &Value, value: &Value, at: &Path, out: &mut Vec<(Path, &'static str)>) {
    let kind = match value {
        Value::Array(_) => "array",
        Value::Object(_) => "object",
        _ => return,
    };
    let Some(node) = fitting(root, node, kind) else {
        let wish =
            if kind == "array" { "no list is meant here; write its fields by name" } else { "no map is meant here" };
        return out.push((at.clone(), wish));
    };
    match value {
        Value::Array(items) => {
            let Some(below) = node.get("items") else { return };
            items.iter().enumerate().for_each(|(place, item)| shapes(root, below, item, &at.index(place), out));
        }
        Value::Object(map) => {
            for (key, item) in map {
                let own = node.get("properties").and_then(|fields| fields.get(key));
                if let Some(below) = own.or_else(|| node.get("additionalProperties")) {
                    shapes(root, below, item, &at.key(key.as_str()), out);
                }
            }
        }
        _ => {}
    }
}

/// The part of a schema that takes lists, or maps; `None` where none of it does.
fn fitting<'s>(root: &'s Value, node: &'s Value, kind: &str) -> Option<&'s Value> {
    if let Some(found) = referred(root, node) {
        return fitting(root, found, kind);
    }
    let choices = ["anyOf", "oneOf"].iter().find_map(|key| node.get(key).and_then(Value::as_array));
    if let Some(parts) = choices {
        return parts.iter().find_map(|part| fitting(root, part, kind));
    }
    let is_word = node.get("enum").is_some() || node.get("const").is_some();
    let takes = match node.get("type") {
        Some(Value::Array(types)) => types.iter().any(|one| one.as_str() == Some(kind)),
        Some(one) => one.as_str() == Some(kind),
        None => !is_word,
    };
    takes.then_some(node)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_where_a_map_is_meant_has_another_shape_and_one_where_a_list_is_meant_has_not() {
        let found =
            |policy: Value| -> Vec<String> { misshapen(&policy).iter().map(|(at, _)| at.to_string()).collect() };
        assert_eq!(found(json!({"gates": ["allow", "allow"]})), ["gates"]);
        assert_eq!(found(json!({"profile": {"observe": null}, "unseen": ["allow"]})), ["profile", "unseen"]);
        assert_eq!(found(json!({"perCluster": [["metadata.name=c1", {"rollout": "allow"}]]})), ["perCluster[0]"]);
        assert_eq!(
            found(
                json!({"gates": {"rollout": "hold"}, "redact": ["a"], "releases": [{"name": "a"}], "rules": [{"id": "x"}]})
            ),
            [""; 0]
        );
    }

    fn path(text: &str) -> Path {
        Path::parse(text).expect("a path")
    }

    #[test]
    fn the_words_of_a_field_come_from_its_type() {
        assert_eq!(words(&path("gates.rollout")), ["allow", "warn", "hold"]);
        assert_eq!(words(&path("lateValues[3].pin")), ["once", "follow", "manual"]);
        assert_eq!(words(&path("lateValues[3].name")), [""; 0]);
        assert_eq!(words(&path("nonsense.x")), [""; 0]);
    }

    #[test]
    fn a_field_that_is_missing_has_a_stand_in() {
        assert_eq!(blank(&path("lateValues[0].name")), Some(json!("unnamed")));
        assert_eq!(blank(&path("gates.health.etcd")), Some(json!("allow")));
        assert_eq!(blank(&path("gates")), None);
    }
}
