//! The scanner: characters in, tokens out, with the rules and the quirks of go-yaml v2 (`scannerc.go`, v2.4.4).
//!
//! It works on bytes that [`crate::yaml::text::check`] has passed, never recurses, and keeps byte offsets only: a line or a column
//! is computed where a rule needs it. Scalars that stand verbatim in the source are not copied.

mod block;
mod fetch;
mod flow;
mod keys;
mod props;

use std::collections::VecDeque;

use crate::yaml::error::Problem;
use crate::yaml::text::break_len;

pub(crate) use keys::Keys;

/// Deepest nesting of flow collections and of indentation, as `max_flow_level` and `max_indents` in Go.
pub(crate) const MAX_DEPTH: usize = 10_000;

/// How a scalar is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Style {
    /// Without quotes; also the style of an empty value.
    Plain,
    /// In single quotes.
    Single,
    /// In double quotes.
    Double,
    /// A literal block, `|`.
    Literal,
    /// A folded block, `>`.
    Folded,
}

/// Where the decoded text of a scalar is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TextRef {
    pub(crate) start: usize,
    pub(crate) len: usize,
    /// True: in the scanner's buffer of decoded text. False: verbatim in the source.
    pub(crate) decoded: bool,
}

/// A tag as written: handle (`!!`, `!`, `!x!`, or empty for a verbatim tag) and the rest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TagText {
    pub(crate) handle: Vec<u8>,
    pub(crate) suffix: Vec<u8>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    StreamEnd,
    Version { major: u32, minor: u32 },
    TagDirective(Box<TagText>),
    DocumentStart,
    DocumentEnd,
    BlockSequenceStart,
    BlockMappingStart,
    BlockEnd,
    FlowSequenceStart,
    FlowSequenceEnd,
    FlowMappingStart,
    FlowMappingEnd,
    BlockEntry,
    FlowEntry,
    Key,
    Value,
    Alias,
    Anchor,
    Tag(Box<TagText>),
    Scalar(Style, TextRef),
}

/// One token with its bytes.
#[derive(Clone, Debug)]
pub(crate) struct Token {
    pub(crate) kind: Kind,
    pub(crate) start: usize,
    pub(crate) end: usize,
}

/// The scanner's state; see the module text.
#[derive(Debug)]
pub(crate) struct Scanner<'a> {
    src: &'a [u8],
    pos: usize,
    line_start: usize,
    /// Cache for [`Scanner::column`]: a place and its column.
    column_at: (usize, usize),
    flow_level: usize,
    /// Column of the innermost block collection, -1 outside of all.
    indent: isize,
    indents: Vec<isize>,
    key_allowed: bool,
    keys: Keys,
    tokens: VecDeque<Token>,
    /// Number of tokens handed out, which is the number of the token at the head of the queue.
    parsed: usize,
    available: bool,
    ended: bool,
    odd_breaks: bool,
    decoded: Vec<u8>,
}

type Scan<T = ()> = Result<T, Problem>;

impl<'a> Scanner<'a> {
    /// Starts at byte `start` of `src`; `odd_breaks` tells whether lines may end in something else than a line feed.
    pub(crate) fn new(src: &'a [u8], start: usize, odd_breaks: bool) -> Self {
        Self {
            src,
            pos: start,
            line_start: start,
            column_at: (start, 0),
            flow_level: 0,
            indent: -1,
            indents: Vec::new(),
            key_allowed: true,
            keys: Keys::new(start),
            tokens: VecDeque::new(),
            parsed: 0,
            available: false,
            ended: false,
            odd_breaks,
            decoded: Vec::new(),
        }
    }

    /// The source that offsets count in.
    pub(crate) fn source(&self) -> &'a [u8] {
        self.src
    }

    /// The bytes that a scalar's text stands for.
    pub(crate) fn text(&self, text: TextRef) -> &[u8] {
        let bytes = if text.decoded { &self.decoded } else { self.src };
        &bytes[text.start..text.start + text.len]
    }

    /// The buffer that decoded text lies in; taken when the document has been read.
    pub(crate) fn take_decoded(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.decoded)
    }

    /// The next token, left in the queue.
    pub(crate) fn peek(&mut self) -> Scan<&Token> {
        if !self.available {
            self.fetch_more()?;
        }
        let end = self.pos;
        self.tokens.front().ok_or_else(|| Problem::new(end, "unexpected end of the document"))
    }

    /// Drops the token at the head of the queue and gives it back.
    pub(crate) fn take(&mut self) -> Scan<Token> {
        self.peek()?;
        self.available = false;
        self.parsed += 1;
        let end = self.pos;
        self.tokens.pop_front().ok_or_else(|| Problem::new(end, "unexpected end of the document"))
    }

    /// Goes to a place whose line starts at `line_start`, inside of a block collection at column `indent`; no key may begin there.
    pub(crate) fn jump(&mut self, line_start: usize, pos: usize, indent: Option<usize>) {
        self.line_start = line_start;
        self.pos = pos;
        self.indent = indent.and_then(|indent| isize::try_from(indent).ok()).unwrap_or(-1);
        self.key_allowed = false;
        self.tokens.clear();
        self.available = false;
    }

    /// The place up to which the text was scanned, when no token waits.
    pub(crate) fn idle_position(&self) -> Option<usize> {
        self.tokens.is_empty().then_some(self.pos)
    }

    /// Reads the quoted scalar at a place that [`Scanner::jump`] would go to.
    pub(crate) fn quoted_at(&mut self, line_start: usize, pos: usize, style: Style) -> Scan<(TextRef, usize)> {
        self.jump(line_start, pos, None);
        self.fetch_flow_scalar(style)?;
        self.scalar_text().map(|text| (text, self.pos))
    }

    /// Reads the block scalar at a place inside of a collection at column `indent`; gives its text, its end and the start of the line
    /// that follows it.
    pub(crate) fn block_at(
        &mut self,
        line_start: usize,
        pos: usize,
        style: Style,
        indent: usize,
    ) -> Scan<(TextRef, usize, usize)> {
        self.jump(line_start, pos, Some(indent));
        self.fetch_block_scalar(style)?;
        let end = self.tokens.front().map_or(self.pos, |token| token.end);
        let next = if self.is_end() { self.pos } else { self.line_start };
        self.scalar_text().map(|text| (text, end, next))
    }

    fn scalar_text(&mut self) -> Scan<TextRef> {
        match self.tokens.pop_front() {
            Some(Token { kind: Kind::Scalar(_, text), .. }) => Ok(text),
            _ => Err(Problem::new(self.pos, "a scalar is expected here")),
        }
    }

    fn at(&self, ahead: usize) -> u8 {
        self.src.get(self.pos + ahead).copied().unwrap_or(0)
    }

    fn is_end(&self) -> bool {
        self.pos >= self.src.len()
    }

    fn is_break(&self, ahead: usize) -> bool {
        break_len(self.src, self.pos + ahead) > 0
    }

    /// Blank, line break or end of text.
    fn is_blankz(&self, ahead: usize) -> bool {
        match self.at(ahead) {
            0 | b' ' | b'\t' | b'\n' | b'\r' => true,
            0xC2 | 0xE2 => self.is_break(ahead),
            _ => false,
        }
    }

    /// Line break or end of text.
    fn is_breakz(&self) -> bool {
        match self.at(0) {
            0 | b'\n' | b'\r' => true,
            0xC2 | 0xE2 => self.is_break(0),
            _ => false,
        }
    }

    /// Steps over the line break here, if there is one.
    fn skip_line(&mut self) {
        let len = break_len(self.src, self.pos);
        if len > 0 {
            self.pos += len;
            self.line_start = self.pos;
        }
    }

    /// Steps over the line break here and appends what it reads as: a line feed, or LS and PS themselves.
    fn read_line(&mut self, out: &mut Vec<u8>) {
        let start = self.pos;
        self.skip_line();
        match self.pos - start {
            0 => {}
            3 => out.extend_from_slice(&self.src[start..self.pos]),
            _ => out.push(b'\n'),
        }
    }

    /// Moves to the next line break or the end of text.
    fn skip_to_break(&mut self) {
        if self.odd_breaks {
            while !self.is_breakz() {
                self.pos += 1;
            }
        } else {
            self.pos = memchr::memchr(b'\n', &self.src[self.pos..]).map_or(self.src.len(), |at| self.pos + at);
        }
    }

    /// Column of the current place, in characters from 0.
    fn column(&mut self) -> isize {
        self.column_of(self.pos)
    }

    /// Column of a place on the current line.
    fn column_of(&mut self, pos: usize) -> isize {
        let (known, column) = self.column_at;
        let (from, base) = if known < self.line_start || known > pos { (self.line_start, 0) } else { (known, column) };
        let column = base + crate::yaml::span::chars(&self.src[from..pos]);
        self.column_at = (pos, column);
        isize::try_from(column).unwrap_or(isize::MAX)
    }

    fn push(&mut self, kind: Kind, start: usize) {
        self.tokens.push_back(Token { kind, start, end: self.pos });
    }

    /// Inserts a token before the one with `number`; at the end when that one is already gone (`yaml_insert_token`).
    fn insert(&mut self, number: usize, token: Token) {
        match number.checked_sub(self.parsed) {
            Some(at) if at <= self.tokens.len() => self.tokens.insert(at, token),
            _ => self.tokens.push_back(token),
        }
    }

    fn next_number(&self) -> usize {
        self.parsed + self.tokens.len()
    }
}
