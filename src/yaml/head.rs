//! Who a document is about, found without parsing it: apiVersion, kind, namespace and name of everyday block YAML.
//!
//! The scan answers only where it is certain. It understands every line up to the last one it relies on, and after that looks at the
//! starts of lines alone, for anything that could change the answer. Quotes, braces or block text that might reach over lines, odd line
//! breaks, anchors, tags, repeated keys: no answer, and the caller reads the tree.

use memchr::memchr;

use crate::yaml::Span;
use crate::yaml::resolve::{Scalar, implicit};

/// The identity of a document, borrowed from its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head<'a> {
    /// `apiVersion`.
    pub api_version: &'a str,
    /// `kind`.
    pub kind: &'a str,
    /// `metadata.namespace`, when it is there.
    pub namespace: Option<&'a str>,
    /// `metadata.name`.
    pub name: &'a str,
    /// Where `metadata` stands, from its key to the next one of the root; a document of its own that says the same.
    pub metadata: Span,
}

/// Scans a document for its identity; `None` where only the exact reader can tell.
///
/// What is found is what [`crate::yaml::read`] would find if it can read the document at all.
#[must_use]
pub fn head(document: &[u8]) -> Option<Head<'_>> {
    let text = document.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(document);
    if odd_breaks(text) {
        return None;
    }
    let mut scan = Scan::default();
    let mut rest = text;
    while !rest.is_empty() {
        let (line, after) = cut(rest);
        scan.at = document.len() - rest.len();
        if scan.is_done(line) {
            return if later_lines_are_harmless(rest) { scan.finish() } else { None };
        }
        scan.line(line)?;
        rest = after;
    }
    scan.at = document.len();
    scan.finish()
}

/// True when a line may end in something else than LF or CR LF, or the text is not plain UTF-8 that can be judged bytewise.
fn odd_breaks(document: &[u8]) -> bool {
    memchr::memchr_iter(b'\r', document).any(|at| document.get(at + 1) != Some(&b'\n'))
        || !document.is_ascii()
            && memchr::memchr3_iter(0xC2, 0xE2, 0xEF, document).any(|at| {
                matches!(&document[at..], [0xC2, 0x85, ..] | [0xE2, 0x80, 0xA8 | 0xA9, ..] | [0xEF, 0xBB, 0xBF, ..])
            })
}

/// The first line without its break, and what follows.
pub(super) fn cut(text: &[u8]) -> (&[u8], &[u8]) {
    let (line, after) = match memchr(b'\n', text) {
        Some(at) => (&text[..at], &text[at + 1..]),
        None => (text, &text[text.len()..]),
    };
    (line.strip_suffix(b"\r").unwrap_or(line), after)
}

/// Lines at column 0 must be comments, list items, or keys that do not name the head again.
fn later_lines_are_harmless(mut text: &[u8]) -> bool {
    loop {
        let harmless = match text.first() {
            None => return true,
            Some(b' ' | b'#' | b'\n') => true,
            Some(b'\r') => text.starts_with(b"\r\n"),
            Some(b'-') => matches!(text.get(1), None | Some(b' ' | b'\n' | b'\r')),
            Some(byte) if byte.is_ascii_alphabetic() => {
                let len =
                    text.iter().take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')).count();
                let key = &text[..len];
                text.get(len) == Some(&b':')
                    && matches!(text.get(len + 1), None | Some(b' ' | b'\n' | b'\r'))
                    && !matches!(key, b"apiVersion" | b"kind" | b"items")
                    && !key.eq_ignore_ascii_case(b"metadata")
            }
            Some(_) => false,
        };
        if !harmless {
            return false;
        }
        let Some(at) = next_top_line(text) else { return true };
        text = &text[at..];
    }
}

/// Start of the next line that is not indented.
pub(super) fn next_top_line(text: &[u8]) -> Option<usize> {
    next_line_within(text, 0)
}

/// Start of the next line that begins with no more than so many blanks and something else behind them. Most lines are deeper, so blocks
/// of bytes without such a line are stepped over at once.
pub(super) fn next_line_within(text: &[u8], level: usize) -> Option<usize> {
    const BLOCK: usize = 256;
    let is_here = |at: usize| text[at + 1..].iter().take(level + 1).any(|byte| *byte != b' ');
    let mut from = 0;
    while from + BLOCK + level < text.len() {
        let here = &text[from..from + BLOCK];
        // No branch inside and no type but bytes, so that this is vectorised.
        let found = (from + 1..=from + 1 + level).fold(0, |found, next| {
            let pairs = here.iter().zip(&text[next..next + BLOCK]);
            pairs.fold(found, |found, (byte, next)| found | (u8::from(*byte == b'\n') & u8::from(*next != b' ')))
        });
        if found != 0
            && let Some(at) = memchr::memchr_iter(b'\n', here).find(|at| is_here(from + at))
        {
            return Some(from + at + 1);
        }
        from += BLOCK;
    }
    memchr::memchr_iter(b'\n', &text[from..]).map(|at| from + at).find(|at| is_here(*at)).map(|at| at + 1)
}

#[derive(Default)]
struct Scan<'a> {
    api_version: Option<&'a str>,
    kind: Option<&'a str>,
    name: Option<&'a str>,
    namespace: Option<&'a str>,
    /// Start of the line that is looked at.
    at: usize,
    metadata: bool,
    in_metadata: bool,
    /// Where `metadata` begins and ends, as far as it was seen.
    span: (usize, Option<usize>),
    /// Indentation of the keys of `metadata`.
    child_indent: Option<usize>,
    /// Indentation and kind of value of the last key.
    last: Option<(usize, After)>,
}

/// What may follow a key's line.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum After {
    /// Nothing deeper: the value is on the line.
    Nothing,
    /// A nested map: the value is missing.
    Map,
    /// Text of a block scalar.
    Block,
}

impl<'a> Scan<'a> {
    /// True when the head is complete and `line` starts the next top-level entry.
    fn is_done(&self, line: &[u8]) -> bool {
        let complete = self.api_version.is_some() && self.kind.is_some() && self.metadata;
        complete && line.first().is_some_and(|byte| !matches!(byte, b' ' | b'#' | b'\t'))
    }

    fn finish(self) -> Option<Head<'a>> {
        let (start, end) = self.span;
        Some(Head {
            api_version: self.api_version?,
            kind: self.kind?,
            namespace: self.namespace,
            name: self.name?,
            metadata: Span::new(start, end.unwrap_or(self.at)),
        })
    }

    fn line(&mut self, line: &'a [u8]) -> Option<()> {
        let indent = line.iter().take_while(|byte| **byte == b' ').count();
        let text = &line[indent..];
        if text.is_empty() {
            return Some(());
        }
        if let Some((parent, After::Block)) = self.last
            && indent > parent
        {
            return Some(());
        }
        if text[0] == b'#' {
            return Some(());
        }
        match self.last {
            // An empty collection may stand on a line of its own below its key.
            Some((parent, After::Map)) if indent > parent && matches!(text, b"{}" | b"[]") => {
                self.last = Some((parent, After::Nothing));
                return Some(());
            }
            Some((parent, After::Nothing)) if indent > parent => return None,
            None if indent > 0 => return None,
            _ => {}
        }
        let (key, value) = entry(text)?;
        let (after, scalar) = value_of(value)?;
        self.place(indent, key, after, scalar)?;
        self.last = Some((indent, after));
        Some(())
    }

    /// Notes a key at its level.
    fn place(&mut self, indent: usize, key: &'a str, after: After, scalar: Option<&'a str>) -> Option<()> {
        if indent == 0 {
            if self.in_metadata {
                self.span.1 = Some(self.at);
            }
            self.in_metadata = key == "metadata";
            return match key {
                "apiVersion" => set(&mut self.api_version, scalar),
                "kind" => set(&mut self.kind, scalar),
                // What has items is a list, whatever else it says.
                "items" => None,
                "metadata" if self.metadata || after != After::Map => None,
                "metadata" => {
                    self.metadata = true;
                    self.span = (self.at, None);
                    Some(())
                }
                // Go's decoder of JSON, by which Helm reads, takes it for the same.
                _ if key.eq_ignore_ascii_case("metadata") => None,
                _ => Some(()),
            };
        }
        if !self.in_metadata {
            return Some(());
        }
        match *self.child_indent.get_or_insert(indent) {
            level if indent < level => None,
            level if indent > level => Some(()),
            _ if key == "name" => set(&mut self.name, scalar),
            _ if key == "namespace" => set(&mut self.namespace, scalar),
            _ => Some(()),
        }
    }
}

/// Fills a field of the head once, with a string.
fn set<'a>(field: &mut Option<&'a str>, scalar: Option<&'a str>) -> Option<()> {
    if field.is_some() {
        return None;
    }
    *field = Some(scalar.filter(|text| !text.is_empty())?);
    Some(())
}

/// Splits `key: value`; keys are plain words, or simply quoted ones.
pub(super) fn entry(text: &[u8]) -> Option<(&str, &[u8])> {
    let (key, rest) = match text[0] {
        quote @ (b'"' | b'\'') => {
            let end = 1 + memchr(quote, &text[1..])?;
            let key = &text[1..end];
            if key.contains(&b'\\') || text.get(end + 1) == Some(&quote) {
                return None;
            }
            (key, &text[end + 1..])
        }
        first if first.is_ascii_alphabetic() => {
            let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'/');
            let len = text.iter().take_while(|byte| is_part(byte)).count();
            (&text[..len], &text[len..])
        }
        _ => return None,
    };
    let rest = rest.strip_prefix(b":")?;
    if !matches!(rest.first(), None | Some(b' ')) {
        return None;
    }
    Some((std::str::from_utf8(key).ok()?, rest.trim_ascii_start()))
}

/// Judges the value on a key's line; the text is given where it reads as a string.
pub(super) fn value_of(value: &[u8]) -> Option<(After, Option<&str>)> {
    let Some(first) = value.first() else { return Some((After::Map, None)) };
    match first {
        b'#' => Some((After::Map, None)),
        b'"' | b'\'' => quoted(value, *first).map(|text| (After::Nothing, text)),
        b'|' | b'>' if matches!(&value[1..], [] | [b'-' | b'+']) => Some((After::Block, None)),
        b'{' if value == b"{}" => Some((After::Nothing, None)),
        b'[' if value == b"[]" => Some((After::Nothing, None)),
        _ if first.is_ascii_alphanumeric() || matches!(first, b'/' | b'.' | b'_') => plain(value),
        _ => None,
    }
}

/// A quoted text on one line, followed by nothing or a comment; the text is given where it holds no escape.
fn quoted(value: &[u8], quote: u8) -> Option<Option<&str>> {
    let mut at = 1;
    let mut simple = true;
    loop {
        match *value.get(at)? {
            b'\\' if quote == b'"' => {
                simple = false;
                at += 2;
            }
            byte if byte == quote && quote == b'\'' && value.get(at + 1) == Some(&quote) => {
                simple = false;
                at += 2;
            }
            byte if byte == quote => break,
            _ => at += 1,
        }
    }
    let tail = value[at + 1..].trim_ascii_start();
    if !tail.is_empty() && tail[0] != b'#' {
        return None;
    }
    let text = std::str::from_utf8(&value[1..at]).ok()?;
    Some(simple.then_some(text))
}

/// Plain text on one line without anything that ends or continues it.
fn plain(value: &[u8]) -> Option<(After, Option<&str>)> {
    let comment = memchr::memchr_iter(b'#', value).find(|at| at.checked_sub(1).is_some_and(|at| value[at] == b' '));
    let end = comment.map_or(value.len(), |at| at - 1);
    let text = std::str::from_utf8(&value[..end]).ok()?.trim_end_matches(' ');
    let ends_key = |at: usize| matches!(text.as_bytes().get(at + 1), None | Some(b' '));
    if text.contains('\t') || memchr::memchr_iter(b':', text.as_bytes()).any(ends_key) {
        return None;
    }
    Some((After::Nothing, matches!(implicit(text), Scalar::Text(_)).then_some(text)))
}
