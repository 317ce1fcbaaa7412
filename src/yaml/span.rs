//! Byte ranges of a stream and the line and column that a person sees for them.
//!
//! A [`Span`] always counts bytes of the stream it was read from, never characters, so that it can be used to cut and splice.

/// A half-open range of bytes, `start..end`, in a stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Span {
    /// Offset of the first byte.
    pub start: usize,
    /// Offset one past the last byte.
    pub end: usize,
}

impl Span {
    /// Makes the range `start..end`.
    #[must_use]
    pub const fn new(start: usize, end: usize) -> Self {
        Self { start, end }
    }

    /// Number of bytes in the range.
    #[must_use]
    pub const fn len(self) -> usize {
        self.end.saturating_sub(self.start)
    }

    /// True when the range holds no byte.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.start >= self.end
    }

    /// The bytes of the range; empty when it lies outside of `bytes`.
    #[must_use]
    pub fn of(self, bytes: &[u8]) -> &[u8] {
        bytes.get(self.start..self.end).unwrap_or_default()
    }

    /// True when `other` lies wholly inside this range.
    #[must_use]
    pub const fn contains(self, other: Self) -> bool {
        self.start <= other.start && other.end <= self.end
    }
}

/// A place as editors show it: both numbers start at 1, columns count characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Position {
    /// Line, counted by line feeds.
    pub line: usize,
    /// Column in characters.
    pub column: usize,
}

impl Position {
    /// The place of byte `offset` in `bytes`, whose first byte stands at the start of line `first_line`.
    #[must_use]
    pub fn of(bytes: &[u8], offset: usize, first_line: usize) -> Self {
        let before = &bytes[..offset.min(bytes.len())];
        let line = first_line + memchr::memchr_iter(b'\n', before).count();
        let start = memchr::memrchr(b'\n', before).map_or(0, |at| at + 1);
        let column = 1 + chars(&before[start..]);
        Self { line, column }
    }
}

/// Number of characters in UTF-8 text: bytes that do not continue a character.
pub(crate) fn chars(bytes: &[u8]) -> usize {
    bytes.iter().filter(|byte| (**byte & 0xC0) != 0x80).count()
}
