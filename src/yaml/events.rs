//! What a reader of YAML text tells the tree builder, one node at a time.
//!
//! [`Events`] is the seam between reading characters and building the arena: the exact parser in `parse.rs` implements it.

use crate::yaml::error::Problem;
use crate::yaml::scan::{Style, TextRef};

/// The tags that change how Go resolves a scalar; every other tag makes it a string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tag {
    /// No tag.
    None,
    /// A lone `!`.
    Bang,
    Str,
    Bool,
    Int,
    Float,
    Null,
    Timestamp,
    Binary,
    Merge,
    Other,
}

impl Tag {
    /// Classifies a full tag, after its handle was replaced.
    pub(crate) fn of(tag: &[u8]) -> Self {
        match tag.strip_prefix(b"tag:yaml.org,2002:") {
            Some(b"str") => Self::Str,
            Some(b"bool") => Self::Bool,
            Some(b"int") => Self::Int,
            Some(b"float") => Self::Float,
            Some(b"null") => Self::Null,
            Some(b"timestamp") => Self::Timestamp,
            Some(b"binary") => Self::Binary,
            Some(b"merge") => Self::Merge,
            _ if tag.is_empty() => Self::None,
            _ if tag == b"!" => Self::Bang,
            _ => Self::Other,
        }
    }
}

/// The name of an anchor: a range of the source.
pub(crate) type Name = (usize, usize);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EventKind {
    StreamEnd,
    DocumentStart,
    DocumentEnd,
    Alias(Name),
    Scalar { style: Style, text: TextRef, tag: Tag },
    SequenceStart { flow: bool },
    SequenceEnd,
    MappingStart { flow: bool },
    MappingEnd,
}

/// One event; `start..end` are the bytes of the node itself, without its anchor and tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Event {
    pub(crate) kind: EventKind,
    pub(crate) anchor: Option<Name>,
    pub(crate) start: usize,
    pub(crate) end: usize,
}

/// A source of events for the first document of a text.
pub(crate) trait Events {
    /// The next event; after an error or [`EventKind::StreamEnd`] nothing more may be asked.
    fn next_event(&mut self) -> Result<Event, Problem>;

    /// The bytes that events count in.
    fn source(&self) -> &[u8];

    /// The text of a scalar.
    fn text(&self, text: TextRef) -> &[u8];

    /// Hands over the buffer with the text of scalars that do not stand verbatim in the source.
    fn take_decoded(&mut self) -> Vec<u8>;

    /// Offset of the first byte after what has been read.
    fn position(&self) -> usize;
}
