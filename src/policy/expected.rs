//! What a field of the policy may hold, from the schema: for messages, and to look on behind a field that is missing.

use std::sync::OnceLock;

use super::schema::schema_json;
use crate::object::{Path, Segment};
use crate::tree::{Value, json};

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
    static SCHEMA: OnceLock<Value> = OnceLock::new();
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

/// The part that a reference leads to; of a choice between a part and nothing the part.
fn resolved<'s>(root: &'s Value, node: &'s Value) -> &'s Value {
    if let Some(name) = node.get("$ref").and_then(Value::as_str).and_then(|text| text.strip_prefix("#/$defs/")) {
        return root.get("$defs").and_then(|all| all.get(name)).map_or(node, |found| resolved(root, found));
    }
    let parts = node.get("anyOf").and_then(Value::as_array);
    let some = parts.and_then(|parts| parts.iter().find(|part| part.get("type") != Some(&json!("null"))));
    some.map_or(node, |part| resolved(root, part))
}

#[cfg(test)]
mod tests {
    use super::*;

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
