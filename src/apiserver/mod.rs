//! What the API server itself refuses, whatever the kind: names, labels, owner references, Secrets, ConfigMaps.
//! It knows no provider and no controller; each refusal says where and why.

mod data;
mod metadata;

pub use data::{of_immutable, refusals as of_data};
pub use metadata::refusals as of_metadata;

use crate::object::Path;
use crate::tree::Value;

/// How much is not written because of a refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reach {
    /// The object.
    Object,
    /// The whole release: the host cannot read the object and stops before it writes anything.
    Release,
}

/// How an object is written, as far as refusals depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Way {
    /// Whether it is applied by the server (`metadata.managedFields` must be empty then).
    pub applied: bool,
    /// Whether fields that stand in the last manifest already are sent again; a merge patch leaves them out.
    pub whole: bool,
}

/// Something that the API server, or the host's own reader, refuses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// Where.
    pub path: Path,
    /// Why, as a clause.
    pub because: String,
    /// How much is not written.
    pub reach: Reach,
}

impl Refusal {
    /// A refusal of the object at a place below its root.
    fn at(keys: &[&str], because: impl Into<String>) -> Self {
        let path = keys.iter().fold(Path::root(), |path, key| path.key(*key));
        Self { path, because: because.into(), reach: Reach::Object }
    }

    /// The same of the whole release.
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
