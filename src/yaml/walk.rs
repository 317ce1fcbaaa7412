//! The fast walker: reads everyday block YAML line by line into the same arena as the exact reader, or refuses.
//!
//! It refuses whatever it does not fully understand: anchors, aliases and tags outside of flow collections, `?`, merge keys, plain text
//! over several lines, tabs, odd line breaks, document markers. Then the exact reader starts from the beginning, and tells what is wrong
//! if something is. Quoted scalars with escapes, block scalars and flow collections are read by the exact scanner itself.

use crate::yaml::arena::{Arena, Builder, NodeId, small};
use crate::yaml::events::{Events as _, Tag};
use crate::yaml::parse::Parser;
use crate::yaml::scan::{Scanner, Style, TextRef};
use crate::yaml::text::Text;
use crate::yaml::twin::{Beside, Meant, Side, Twin};

/// Deepest nesting that is walked; more is left to the exact reader and its limits.
const MAX_DEPTH: usize = 500;
/// Longest key, blanks before the colon included, that is walked, safely below Go's limit of 1,024 characters.
const MAX_KEY: usize = 1000;

/// An open block collection.
struct Level<'t> {
    indent: usize,
    seq: bool,
    /// The collection that stands there in the document beside this one.
    side: Option<Side<'t>>,
}

/// Why plain text ends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stop {
    Colon,
    Comment,
    Line,
}

struct Walker<'a, 't> {
    src: &'a [u8],
    parser: Parser<'a>,
    builder: Builder,
    levels: Vec<Level<'t>>,
    /// The document beside this one.
    twin: Option<Twin<'t>>,
    /// What stands there where the next collection opens.
    beside: Option<Beside<'t>>,
    /// What was taken over from there.
    meant: Meant,
    /// A key or a dash without a value so far: where an empty value would stand.
    pending: Option<usize>,
    line_start: usize,
}

/// Reads a whole document, or gives `None` for one that needs the exact reader.
pub(crate) fn walk(text: &Text<'_>) -> Option<Arena> {
    walk_beside(text, None).map(|(arena, _)| arena)
}

/// Reads a whole document beside another one, and says what was taken over from there; `None` for one that needs the exact reader.
pub(crate) fn walk_beside<'t>(text: &Text<'_>, twin: Option<Twin<'t>>) -> Option<(Arena, Meant)> {
    if text.odd_breaks {
        return None;
    }
    let src: &[u8] = &text.bytes;
    let mut walker = Walker {
        src,
        parser: Parser::new(Scanner::new(src, text.start, false)),
        builder: Builder::with_capacity(src.len() / 16),
        levels: Vec::new(),
        twin,
        beside: twin.and_then(Twin::root),
        meant: Meant::default(),
        pending: None,
        line_start: text.start,
    };
    let mut at = text.start;
    while at < src.len() {
        at = walker.line(at)?;
    }
    walker.finish()
}

impl<'t> Walker<'_, 't> {
    fn byte(&self, at: usize) -> u8 {
        self.src.get(at).copied().unwrap_or(b'\n')
    }

    fn finish(mut self) -> Option<(Arena, Meant)> {
        self.settle();
        while self.levels.pop().is_some() {
            self.builder.close(None);
        }
        let decoded = self.parser.take_decoded();
        Some((self.builder.finish(decoded).ok()?, self.meant))
    }

    /// Gives a key or dash that got no value an empty one.
    fn settle(&mut self) {
        if let Some(mark) = self.pending.take() {
            let text = TextRef { start: mark, len: 0, decoded: false };
            self.builder.scalar((mark, mark), Style::Plain, Tag::None, text, b"");
        }
    }

    /// Reads one line, or more where a scalar goes on; gives the start of the next.
    fn line(&mut self, start: usize) -> Option<usize> {
        self.line_start = start;
        let mut at = start;
        while self.byte(at) == b' ' {
            at += 1;
        }
        match self.byte(at) {
            b'\n' => return Some(at + 1),
            b'#' => return Some(self.next_line(at)),
            b'-' | b'.' if at == start && matches!(self.src.get(at..at + 3), Some(b"---" | b"...")) => return None,
            _ => {}
        }
        let column = at - start;
        let dash = self.is_dash(at);
        let opens = self.place(column, dash)?;
        self.entry(at, dash, opens)
    }

    fn next_line(&self, at: usize) -> usize {
        memchr::memchr(b'\n', self.src.get(at..).unwrap_or_default()).map_or(self.src.len(), |found| at + found + 1)
    }

    fn is_dash(&self, at: usize) -> bool {
        self.byte(at) == b'-' && matches!(self.byte(at + 1), b' ' | b'\n')
    }

    /// Closes what ends at this column; true when a new collection begins here.
    fn place(&mut self, column: usize, dash: bool) -> Option<bool> {
        let Some(top) = self.levels.last() else {
            return self.builder.arena.nodes.is_empty().then_some(true);
        };
        if self.pending.is_some() {
            if column > top.indent || dash && !top.seq && column == top.indent {
                self.pending = None;
                return Some(true);
            }
            self.settle();
        }
        while let Some(top) = self.levels.last() {
            // A sequence may stand at the column of its key, and ends where the next key stands there.
            if top.indent > column || top.indent == column && top.seq && !dash {
                self.levels.pop();
                self.builder.close(None);
            } else {
                return (top.indent == column && top.seq == dash).then_some(false);
            }
        }
        None
    }

    fn open(&mut self, at: usize, seq: bool) -> Option<()> {
        if self.levels.len() >= MAX_DEPTH {
            return None;
        }
        self.builder.open(at, !seq, false);
        let side = self.twin.zip(self.beside.take()).and_then(|(twin, beside)| twin.opened(beside, seq));
        self.levels.push(Level { indent: at - self.line_start, seq, side });
        Some(())
    }

    /// What stands in the document beside this one where the item of the innermost list begins.
    fn item_beside(&mut self) -> Option<Beside<'t>> {
        self.twin?.item(self.levels.last_mut()?.side.as_mut()?)
    }

    /// Takes the entry over whose key begins here, where the document beside this one has it; gives the start of the line after it.
    fn take_over(&mut self, at: usize, end: usize, colon: usize) -> Option<usize> {
        self.beside = None;
        let (twin, level) = (self.twin?, self.levels.last_mut()?);
        let (key, value) = twin.entry(level.side.as_mut()?, &self.src[at..end])?;
        self.beside = Some(value);
        let (length, value) = twin.taken(&self.src[at..], level.indent, key, value)?;
        self.key_scalar(at, end);
        self.meant.insert(NodeId(small(self.builder.arena.nodes.len())), value);
        self.pending = Some(colon + 1);
        self.settle();
        Some(at + length)
    }

    /// Reads an item or an entry at `at`; gives the start of the line after it.
    fn entry(&mut self, mut at: usize, mut dash: bool, mut opens: bool) -> Option<usize> {
        let mut item = false;
        while dash {
            if opens {
                self.open(at, true)?;
            }
            self.beside = self.item_beside();
            let mark = at + 1;
            at = mark;
            while self.byte(at) == b' ' {
                at += 1;
            }
            match self.byte(at) {
                b'\n' | b'#' => {
                    self.pending = Some(mark);
                    return Some(self.next_line(at));
                }
                _ => {}
            }
            item = true;
            opens = true;
            dash = self.is_dash(at);
        }
        let Some((end, colon)) = self.key(at)? else {
            // A value may stand on a line of its own below its key; a document that is a scalar is not walked.
            return if item || opens && !self.levels.is_empty() { self.value(at) } else { None };
        };
        if opens {
            self.open(at, false)?;
        }
        if let Some(next) = self.take_over(at, end, colon) {
            return Some(next);
        }
        self.key_scalar(at, end);
        let mark = colon + 1;
        at = mark;
        while self.byte(at) == b' ' {
            at += 1;
        }
        match self.byte(at) {
            b'\n' => self.pending = Some(mark),
            b'#' => {
                self.pending = Some(mark);
                return Some(self.next_line(at));
            }
            _ => return self.value(at),
        }
        Some(at + 1)
    }

    /// End and colon of the key at `at`; `Some(None)` where a scalar stands that is no key.
    #[expect(clippy::option_option, reason = "the outer one is the walker's refusal")]
    fn key(&self, at: usize) -> Option<Option<(usize, usize)>> {
        let (end, colon) = match self.byte(at) {
            quote @ (b'"' | b'\'') => {
                let Some(end) = self.simple_quote(at, quote) else { return Some(None) };
                (end, end)
            }
            b'{' | b'[' | b'|' | b'>' => return Some(None),
            b'<' => return None,
            _ => {
                let (end, stop, stopped) = self.plain(at)?;
                if stop != Stop::Colon {
                    return Some(None);
                }
                (end, stopped)
            }
        };
        if self.byte(colon) != b':' || !matches!(self.byte(colon + 1), b' ' | b'\n') {
            return Some(None);
        }
        (colon - at <= MAX_KEY).then_some(Some((end, colon)))
    }

    fn key_scalar(&mut self, at: usize, end: usize) {
        match self.src[at] {
            b'"' => self.verbatim(at, end, Style::Double),
            b'\'' => self.verbatim(at, end, Style::Single),
            _ => self.verbatim(at, end, Style::Plain),
        }
    }

    /// Adds a scalar whose text stands in the source, inside its quotes if it has some.
    fn verbatim(&mut self, start: usize, end: usize, style: Style) {
        let quote = usize::from(style != Style::Plain);
        let text = TextRef { start: start + quote, len: end - start - 2 * quote, decoded: false };
        let bytes = &self.src[start + quote..end - quote];
        self.builder.scalar((start, end), style, Tag::None, text, bytes);
    }

    /// End of a quoted scalar on one line without anything to decode.
    fn simple_quote(&self, at: usize, quote: u8) -> Option<usize> {
        let inside = &self.src[at + 1..];
        let end = if quote == b'"' {
            memchr::memchr3(b'"', b'\\', b'\n', inside)
        } else {
            memchr::memchr2(b'\'', b'\n', inside)
        };
        let end = at + 1 + end?;
        (self.src[end] == quote && !(quote == b'\'' && self.byte(end + 1) == quote)).then_some(end + 1)
    }

    /// End of plain text at `at`, why it ends, and where that was seen; `None` for what does not start plain text for certain.
    fn plain(&self, at: usize) -> Option<(usize, Stop, usize)> {
        let starts = match self.src[at] {
            b'-' | b'?' | b':' => !matches!(self.byte(at + 1), b' ' | b'\t' | b'\n'),
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | 0x80.. => true,
            b'_' | b'/' | b'.' | b'$' | b'(' | b')' | b'+' | b'~' | b'^' | b'=' | b';' | b'<' | b'\\' => true,
            _ => false,
        };
        if !starts {
            return None;
        }
        for (index, byte) in self.src[at..].iter().enumerate() {
            if !PLAIN_STOPS[usize::from(*byte)] {
                continue;
            }
            let here = at + index;
            match byte {
                b':' if matches!(self.byte(here + 1), b' ' | b'\n') => {
                    return Some((self.trimmed(at, here), Stop::Colon, here));
                }
                b'#' if self.src[here - 1] == b' ' => return Some((self.trimmed(at, here), Stop::Comment, here)),
                b'\n' => return Some((self.trimmed(at, here), Stop::Line, here)),
                b'\t' => return None,
                _ => {}
            }
        }
        let here = self.src.len();
        Some((self.trimmed(at, here), Stop::Line, here))
    }

    /// `end` without the blanks before it.
    fn trimmed(&self, start: usize, mut end: usize) -> usize {
        while end > start && self.src[end - 1] == b' ' {
            end -= 1;
        }
        end
    }

    /// Reads the value at `at`; gives the start of the line after it.
    fn value(&mut self, at: usize) -> Option<usize> {
        match self.src[at] {
            quote @ (b'"' | b'\'') => {
                let style = if quote == b'"' { Style::Double } else { Style::Single };
                let end = if let Some(end) = self.simple_quote(at, quote) {
                    self.verbatim(at, end, style);
                    end
                } else {
                    let (text, end) = self.parser.scanner().quoted_at(self.line_start, at, style).ok()?;
                    self.decoded(at, end, style, text);
                    end
                };
                self.line_end(end)
            }
            kind @ (b'|' | b'>') => {
                let style = if kind == b'|' { Style::Literal } else { Style::Folded };
                let indent = self.levels.last()?.indent;
                let (text, end, next) = self.parser.scanner().block_at(self.line_start, at, style, indent).ok()?;
                self.decoded(at, end, style, text);
                Some(next)
            }
            b'{' | b'[' => {
                let depth = self.builder.depth();
                let indent = self.levels.last()?.indent;
                self.parser.flow_at(self.line_start, at, indent);
                self.builder.step(&mut self.parser).ok()?;
                while self.builder.depth() > depth {
                    self.builder.step(&mut self.parser).ok()?;
                }
                let end = self.parser.scanner().idle_position()?;
                self.line_end(end)
            }
            _ => {
                let (end, stop, stopped) = self.plain(at)?;
                if stop == Stop::Colon {
                    return None;
                }
                self.verbatim(at, end, Style::Plain);
                Some(if stop == Stop::Line { stopped + 1 } else { self.next_line(stopped) })
            }
        }
    }

    fn decoded(&mut self, start: usize, end: usize, style: Style, text: TextRef) {
        // Only plain scalars are resolved, so the builder does not look at the text of others.
        self.builder.scalar((start, end), style, Tag::None, text, b"");
    }

    /// Steps over blanks and a comment after a value; anything else is refused.
    fn line_end(&self, mut at: usize) -> Option<usize> {
        while self.byte(at) == b' ' {
            at += 1;
        }
        match self.byte(at) {
            b'\n' => Some(at + 1),
            b'#' => Some(self.next_line(at)),
            _ => None,
        }
    }
}

/// Bytes that plain text has to be looked at for.
const PLAIN_STOPS: [bool; 256] = {
    let mut table = [false; 256];
    table[b':' as usize] = true;
    table[b'#' as usize] = true;
    table[b'\n' as usize] = true;
    table[b'\t' as usize] = true;
    table
};
