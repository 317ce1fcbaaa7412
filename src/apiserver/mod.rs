//! What an API server makes of a write: it merges or applies, prunes, fills in, and refuses, each in its order.
//! What of that is a kind's own (moved fields, defaults, webhooks) the kind says.

pub(crate) mod admission;
pub(crate) mod apply;
mod contested;
mod data;
pub(crate) mod fields;
pub(crate) mod keep;
pub(crate) mod merge;
mod metadata;
mod name;
pub(crate) mod omitted;
pub(crate) mod place;
mod refused;
mod removed;
pub(crate) mod update;
pub(crate) mod versions;

pub(crate) use data::{FIXED, is_harmless as has_harmless_data, is_immutable, of_immutable, refusals as of_data};
pub(crate) use metadata::{ANNOTATIONS, is_harmless as has_harmless_metadata, refusals as of_metadata};
pub(crate) use name::{bad_name, is_plain_name};

use crate::object::{Path, Segment};
use crate::tree::Value;

/// How much is not written because of a refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Reach {
    /// The object.
    Object,
    /// The whole release: the host cannot read the object and stops before it writes anything.
    Release,
}

/// How an object is written, as far as refusals depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Way {
    /// Whether it is applied by the server (`metadata.managedFields` must be empty then).
    pub(crate) applied: bool,
    /// Whether fields that stand in the last manifest already are sent again; a merge patch leaves them out.
    pub(crate) whole: bool,
}

/// What an object of Cluster API and its providers has, and nothing beside it.
const PARTS: [&str; 5] = ["apiVersion", "kind", "metadata", "spec", "status"];

/// Whether a place lies in a part that no object of Cluster API and its providers has, or in a field that no metadata has.
pub(crate) fn is_in_no_part(path: &Path) -> bool {
    match path.segments() {
        [Segment::Key(part), Segment::Key(field), ..] if part == "metadata" => {
            !metadata::FIELDS.contains(&field.as_str())
        }
        [Segment::Key(part), ..] => !PARTS.contains(&part.as_str()),
        _ => false,
    }
}

/// Something that the API server, or the host's own reader, refuses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    /// Where.
    pub(crate) path: Path,
    /// Why, as a clause.
    pub(crate) because: String,
    /// How much is not written.
    pub(crate) reach: Reach,
}

impl Refusal {
    /// A refusal of the object at a place below its root.
    fn at(keys: &[&str], because: impl Into<String>) -> Self {
        let path = keys.iter().fold(Path::root(), |path, key| path.key(*key));
        Self { path, because: because.into(), reach: Reach::Object }
    }

    /// This refusal of the whole release, not of the object alone.
    fn of_release(self) -> Self {
        Self { reach: Reach::Release, ..self }
    }
}

/// What a value is, in a word.
const fn word(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "a map",
    }
}
