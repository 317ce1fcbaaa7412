//! Reads a policy file and says where it is wrong.

use super::Policy;
use crate::yaml;

/// Why a policy could not be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: {message}")]
pub struct PolicyError {
    /// File, as it was given.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// What is wrong, with the path of the field.
    pub message: String,
}

/// Reads a policy from the bytes of a file.
///
/// # Errors
/// When the text is not YAML as Kubernetes reads it, holds an unknown field, or a value of the wrong type.
pub fn parse(file: &str, bytes: &[u8]) -> Result<Policy, PolicyError> {
    let span = yaml::Span { start: 0, end: bytes.len() };
    let value = yaml::read_json(bytes, span).map_err(|error| PolicyError {
        file: file.to_owned(),
        line: error.line,
        message: error.message,
    })?;
    serde_path_to_error::deserialize(value).map_err(|error| PolicyError {
        file: file.to_owned(),
        line: 1,
        message: format!("{}: {}", error.path(), error.inner()),
    })
}
