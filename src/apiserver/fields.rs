//! Sets of fields as `metadata.managedFields` writes them (structured-merge-diff `fieldpath/serialize.go`):
//! who owns which place of an object.

use std::collections::BTreeMap;

use crate::tree::Value;

/// One step in a set of fields.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Step {
    /// `f:name`: a key of a map.
    Field(String),
    /// `k:{...}`: the list item with these keys, as sorted JSON.
    Item(String),
    /// `v:...`: the item of a set with this value, as JSON.
    Member(String),
    /// `i:n`: the list item at this place.
    Place(usize),
}

/// A set of fields, as a tree. A node is there because it or something below it is owned.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct FieldSet {
    /// Whether the place itself is owned, besides what is below it.
    pub(crate) owned: bool,
    /// What is below.
    pub(crate) below: BTreeMap<Step, Self>,
}

impl FieldSet {
    /// Reads a `fieldsV1` tree; steps that nobody knows are left out.
    pub(crate) fn read(fields: &Value) -> Self {
        let mut set = Self::default();
        let Some(map) = fields.as_object() else { return set };
        set.owned = map.is_empty() || map.contains_key(".");
        for (key, value) in map {
            if let Some(step) = Step::read(key) {
                set.below.insert(step, Self::read(value));
            }
        }
        set
    }

    /// Whether there is no place in it.
    pub(crate) fn is_empty(&self) -> bool {
        !self.owned && self.below.values().all(Self::is_empty)
    }

    /// Adds everything of another set.
    pub(crate) fn add(&mut self, other: &Self) {
        self.owned |= other.owned;
        for (step, below) in &other.below {
            self.below.entry(step.clone()).or_default().add(below);
        }
    }
}

impl Step {
    /// The key of a map that it is.
    pub(crate) fn field(&self) -> Option<&str> {
        if let Self::Field(key) = self { Some(key) } else { None }
    }

    /// Reads one key of a `fieldsV1` tree; `.` and unknown prefixes give nothing.
    fn read(text: &str) -> Option<Self> {
        let (prefix, rest) = text.split_once(':')?;
        match prefix {
            "f" => Some(Self::Field(rest.to_owned())),
            "k" => serde_json::from_str(rest).ok().map(|keys: Value| Self::Item(canonical(&keys))),
            "v" => serde_json::from_str(rest).ok().map(|value: Value| Self::Member(canonical(&value))),
            "i" => rest.parse().ok().map(Self::Place),
            _ => None,
        }
    }
}

/// A value as JSON with sorted keys, so that equal values are equal texts.
pub(crate) fn canonical(value: &Value) -> String {
    match value {
        Value::Object(map) => {
            let sorted: BTreeMap<&str, String> =
                map.iter().map(|(key, value)| (key.as_str(), canonical(value))).collect();
            let entries: Vec<String> =
                sorted.into_iter().map(|(key, value)| format!("{}:{value}", Value::from(key))).collect();
            format!("{{{}}}", entries.join(","))
        }
        Value::Array(items) => format!("[{}]", items.iter().map(canonical).collect::<Vec<_>>().join(",")),
        other => other.to_string(),
    }
}

/// What one writer owns.
#[derive(Debug, Clone)]
pub(crate) struct Ownership {
    /// The field manager.
    pub(crate) manager: String,
    /// `Apply` or `Update`.
    pub(crate) operation: String,
    /// The version in which the places are named.
    pub(crate) api_version: String,
    /// Subresource of the write, such as `status` or `scale`.
    pub(crate) subresource: String,
    /// The places.
    pub(crate) fields: FieldSet,
    /// Whether they were written in another version, with other fields, so that a webhook converts the object before it is looked at.
    pub(crate) is_converted: bool,
}

/// Who owns what in an object; empty where the object does not say.
pub(crate) fn owners(object: &Value) -> Vec<Ownership> {
    let Some(entries) = object.pointer("/metadata/managedFields").and_then(Value::as_array) else { return Vec::new() };
    let text = |entry: &Value, key: &str| entry.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    entries
        .iter()
        .map(|entry| Ownership {
            manager: text(entry, "manager"),
            operation: text(entry, "operation"),
            api_version: text(entry, "apiVersion"),
            subresource: text(entry, "subresource"),
            fields: entry.get("fieldsV1").map(FieldSet::read).unwrap_or_default(),
            is_converted: false,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::json;

    #[test]
    fn a_set_reads_as_a_tree_of_owned_places() {
        let set = FieldSet::read(
            &json!({"f:spec": {"f:replicas": {}, "f:files": {".": {}, "k:{\"path\":\"/a\"}": {"f:content": {}}}}}),
        );
        let spec = &set.below[&Step::Field("spec".into())];
        assert!(!spec.owned && spec.below[&Step::Field("replicas".into())].owned);
        let files = &spec.below[&Step::Field("files".into())];
        assert!(files.owned && files.below.contains_key(&Step::Item("{\"path\":\"/a\"}".into())));
    }
}
