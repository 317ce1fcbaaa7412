//! YAML as Kubernetes reads it, with byte spans.

use serde_json::Value;

/// A range of bytes, end excluded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Span {
    /// First byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
}

/// Why a text is refused, as Kubernetes would.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{line}:{column}: {message}")]
pub struct Error {
    /// Line in the stream, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// What is wrong.
    pub message: String,
}

/// Reads the one document at `span` of the stream `bytes` as JSON; an empty document is `null`.
///
/// # Errors
/// When Kubernetes would refuse it.
pub fn read_json(bytes: &[u8], span: Span) -> Result<Value, Error> {
    serde_json::from_slice(&bytes[span.start..span.end]).map_err(|error| Error {
        line: error.line(),
        column: error.column(),
        message: error.to_string(),
    })
}
