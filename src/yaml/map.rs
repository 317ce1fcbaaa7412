//! From positions in a scalar's decoded text back to bytes of its source, for every style.
//!
//! A position is only mapped where the character stands verbatim in the source; escapes and folded line breaks are left out. The map is
//! made by reading source and text side by side, so where they disagree there is no map rather than a wrong one.

use crate::yaml::scan::Style;

/// Source offset for each byte of the text; `u32::MAX` where the byte does not stand verbatim.
#[derive(Debug)]
pub(crate) struct SourceMap {
    offsets: Vec<u32>,
}

impl SourceMap {
    /// The source range of a range of text, when all of it stands verbatim and in one piece.
    pub(crate) fn range(&self, start: usize, end: usize) -> Option<(usize, usize)> {
        let offsets = self.offsets.get(start..end)?;
        let first = *offsets.first()?;
        let straight = offsets.iter().zip(0..).all(|(offset, step)| *offset != u32::MAX && *offset == first + step);
        straight.then_some((first as usize, first as usize + offsets.len()))
    }

    /// Maps `text`, which was read from `source`, the scalar's bytes with quotes or block header. `None` when they cannot be aligned.
    pub(crate) fn new(style: Style, source: &[u8], text: &str) -> Option<Self> {
        let mut walk = Walk { source, text: text.as_bytes(), at: 0, offsets: Vec::with_capacity(text.len()) };
        match style {
            Style::Plain => walk.flow(source.len(), style)?,
            Style::Single | Style::Double => {
                walk.at = 1;
                walk.flow(source.len().checked_sub(1)?, style)?;
            }
            Style::Literal | Style::Folded => {
                walk.at = memchr::memchr(b'\n', source).map_or(source.len(), |at| at + 1);
                walk.block()?;
            }
        }
        (walk.offsets.len() == text.len()).then_some(Self { offsets: walk.offsets })
    }
}

struct Walk<'t> {
    source: &'t [u8],
    text: &'t [u8],
    at: usize,
    offsets: Vec<u32>,
}

impl Walk<'_> {
    fn next_text(&self) -> Option<u8> {
        self.text.get(self.offsets.len()).copied()
    }

    /// One byte that is the same on both sides.
    fn same(&mut self) -> Option<()> {
        if self.next_text()? != *self.source.get(self.at)? {
            return None;
        }
        self.offsets.push(u32::try_from(self.at).ok()?);
        self.at += 1;
        Some(())
    }

    /// Bytes of the text that have no counterpart.
    fn only_text(&mut self, bytes: &[u8]) -> Option<()> {
        if !self.text.get(self.offsets.len()..)?.starts_with(bytes) {
            return None;
        }
        self.offsets.extend(bytes.iter().map(|_| u32::MAX));
        Some(())
    }

    fn flow(&mut self, end: usize, style: Style) -> Option<()> {
        while self.at < end {
            match (self.source[self.at], style) {
                (b' ' | b'\t' | b'\n' | b'\r', _) => self.flow_blank(end, false)?,
                (b'\\', Style::Double) if matches!(self.source.get(self.at + 1), Some(b'\n' | b'\r')) => {
                    self.at += 1;
                    self.flow_blank(end, true)?;
                }
                (b'\\', Style::Double) => self.escape()?,
                (b'\'', Style::Single) => {
                    self.at += 1;
                    self.same()?;
                }
                _ => self.same()?,
            }
        }
        Some(())
    }

    /// A run of blanks: verbatim within a line, folded where it holds line breaks. `escaped`: its first line break is.
    fn flow_blank(&mut self, end: usize, escaped: bool) -> Option<()> {
        let run =
            self.source[self.at..end].iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r')).count();
        let blank = &self.source[self.at..self.at + run];
        let feeds = memchr::memchr_iter(b'\n', blank).count();
        let returns = memchr::memchr_iter(b'\r', blank).count();
        // A carriage return that is not followed by a line feed breaks the line too; such text is not mapped.
        if returns > 0 && memchr::memmem::find_iter(blank, b"\r\n").count() != returns {
            return None;
        }
        if feeds == 0 {
            return (0..run).try_for_each(|_| self.same());
        }
        self.at += run;
        match (escaped, feeds) {
            (false, 1) => self.only_text(b" "),
            _ => self.only_text(&vec![b'\n'; feeds - 1]),
        }
    }

    fn escape(&mut self) -> Option<()> {
        let len = match self.source.get(self.at + 1)? {
            b'x' => 4,
            b'u' => 6,
            b'U' => 10,
            _ => 2,
        };
        self.at += len;
        let rest = self.text.get(self.offsets.len()..)?;
        let width = match rest.first()? {
            0..=0x7F => 1,
            0x80..=0xDF => 2,
            0xE0..=0xEF => 3,
            _ => 4,
        };
        self.offsets.extend(rest.get(..width)?.iter().map(|_| u32::MAX));
        Some(())
    }

    /// Words of a block scalar stand verbatim; the white space between lines is not mapped.
    fn block(&mut self) -> Option<()> {
        let mut line_start = true;
        while self.at < self.source.len() {
            match self.source[self.at] {
                b'\n' | b'\r' => {
                    self.at += 1;
                    line_start = true;
                }
                b' ' | b'\t' if line_start => self.at += 1,
                _ => {
                    if line_start {
                        self.skip_text_blanks();
                        line_start = false;
                    }
                    // Blanks at the end of a line stand in both.
                    self.same()?;
                }
            }
        }
        self.skip_text_blanks();
        Some(())
    }

    fn skip_text_blanks(&mut self) {
        while matches!(self.next_text(), Some(b' ' | b'\t' | b'\n')) {
            self.offsets.push(u32::MAX);
        }
    }
}
