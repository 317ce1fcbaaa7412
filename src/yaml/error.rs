//! Why a document cannot be read: the place and one sentence.
//!
//! An error names no file; callers that know one put it in front with [`Error::with_file`].

use crate::yaml::span::Position;

/// A refusal to read or to edit a document, at a place of the stream.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{line}:{column}: {message}")]
pub struct Error {
    /// Line in the stream, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// One lower-case sentence without the place.
    pub message: String,
}

impl Error {
    /// An error at byte `offset` of `bytes`, whose first byte begins line `first_line`.
    pub(crate) fn at(bytes: &[u8], offset: usize, first_line: usize, message: impl Into<String>) -> Self {
        let Position { line, column } = Position::of(bytes, offset, first_line);
        Self { line, column, message: message.into() }
    }
}

/// A [`std::result::Result`] with this module's [`Error`].
pub(crate) type Result<T> = std::result::Result<T, Error>;

/// A problem found while scanning, before its offset is turned into line and column.
#[derive(Clone, Debug)]
pub(crate) struct Problem {
    pub(crate) offset: usize,
    pub(crate) message: String,
}

impl Problem {
    pub(crate) fn new(offset: usize, message: impl Into<String>) -> Self {
        Self { offset, message: message.into() }
    }
}
