//! The fields of one place of a schema, by name: looked for in every object that is filled in, pruned or checked, many times each.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer};

use crate::tree::print;

/// Names and the places below them, in the order of the names.
#[derive(Debug, Clone, Default)]
pub(crate) struct Fields {
    list: Vec<(&'static str, usize)>,
    /// A byte of each name: nearly all names are told apart without a look at them.
    prints: Vec<u8>,
}

impl Fields {
    /// The place below a name.
    pub(crate) fn get(&self, name: &str) -> Option<usize> {
        let wanted = print(name);
        memchr::memchr_iter(wanted, &self.prints)
            .find_map(|at| self.list.get(at).filter(|(own, _)| *own == name).map(|(_, place)| *place))
    }

    /// Whether there is a field of a name.
    pub(crate) fn contains_key(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// Whether there is none.
    pub(crate) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Names and places, in the order of the names.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&'static str, usize)> {
        self.list.iter().copied()
    }
}

// The names are those of the text that is built in.
impl Deserialize<'static> for Fields {
    fn deserialize<D: Deserializer<'static>>(from: D) -> Result<Self, D::Error> {
        let list: Vec<_> = BTreeMap::<&str, usize>::deserialize(from)?.into_iter().collect();
        let prints = list.iter().map(|(name, _)| print(name)).collect();
        Ok(Self { list, prints })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_by_their_whole_name() {
        let fields: Fields = serde_json::from_str(r#"{"b": 1, "abc": 2, "aXc": 3, "": 4, "name": 5}"#).expect("fields");
        for (name, place) in [("b", Some(1)), ("abc", Some(2)), ("aXc", Some(3)), ("", Some(4)), ("aYc", None)] {
            assert_eq!(fields.get(name), place, "{name}");
        }
        assert_eq!(fields.iter().map(|(name, _)| name).collect::<Vec<_>>(), ["", "aXc", "abc", "b", "name"]);
        assert!(!fields.is_empty() && Fields::default().is_empty());
    }
}
