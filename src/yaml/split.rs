//! Cuts a stream into documents as kubectl and Helm do: by lines that start with `---`, before anything is parsed.
//!
//! Every byte of the stream belongs to exactly one separator or document, so that a stream can be written back untouched.
//! Mirrors `YAMLOrJSONDecoder`, `YAMLReader` and `LineReader` of k8s.io/apimachinery v0.37.0 (`pkg/util/yaml/decoder.go`), which look
//! at nothing but line starts: a `---` at the start of a line inside a quoted scalar cuts it in two, there as here.

use std::borrow::Cow;

use memchr::memmem;

use crate::parallel;
use crate::yaml::error::{Error, Result};
use crate::yaml::span::Span;
use crate::yaml::text::break_len;

/// So many bytes are worth a look of another core as much as one document.
const KILO: usize = 1 << 10;

/// One document of a stream with the separator line before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Section {
    /// The `---` line with its line break, and a byte order mark before it, or the blanks before a first brace; empty for a document
    /// that has none.
    pub separator: Span,
    /// Everything up to the next separator or the end of the stream.
    pub document: Span,
    /// Line of the stream, from 1, on which the document starts.
    pub line: usize,
    /// Whether it is one of a row of JSON values, which no line separates.
    pub json: bool,
}

impl Section {
    /// True when the document holds nothing but white space and comments, which Kubernetes reads as null and skips.
    #[must_use]
    pub fn is_blank(&self, stream: &[u8]) -> bool {
        is_blank(self.document.of(stream))
    }
}

/// True when `document` holds nothing but white space, comments and a byte order mark.
#[must_use]
pub(crate) fn is_blank(document: &[u8]) -> bool {
    let document = document.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(document);
    let mut rest = document;
    while !rest.is_empty() {
        let (line, after) = memchr::memchr(b'\n', rest).map_or((rest, &[][..]), |at| (&rest[..at], &rest[at + 1..]));
        let line = line.trim_ascii();
        if !line.is_empty() && (line[0] != b'#' || !comment_only(line)) {
            return false;
        }
        rest = after;
    }
    true
}

/// A comment ends at every line break that YAML knows, also those that are not line feeds.
fn comment_only(line: &[u8]) -> bool {
    if line.is_ascii() && memchr::memchr(b'\r', line).is_none() {
        return true;
    }
    let mut at = 0;
    let mut comment = false;
    while at < line.len() {
        let step = break_len(line, at);
        match line[at] {
            _ if step > 0 => comment = false,
            b'#' => comment = true,
            b' ' | b'\t' => {}
            _ if !comment => return false,
            _ => {}
        }
        at += step.max(1);
    }
    true
}

/// Cuts `stream` into its sections.
///
/// A stream without any byte has one empty section. A section is made for each separator, even where nothing follows it.
///
/// # Errors
/// A line that starts with `---` and goes on with anything but blanks and a comment (`---apiVersion: v1`): kubectl and Helm 4 refuse it.
pub fn split(stream: &[u8]) -> Result<Vec<Section>> {
    let mut cut = Cut { stream, sections: Vec::new(), open: empty(0), opened: false, held: false };
    let from = json_values(stream, &mut cut.sections)?;
    if !cut.sections.is_empty() {
        cut.open = empty(from);
        if from == stream.len() {
            return Ok(numbered(stream, cut.sections));
        }
    } else if from > 0 {
        cut.open = Section { separator: Span::new(0, from), ..empty(from) };
    }
    let first = stream[from..].starts_with(b"---").then_some(from);
    let marked = stream.starts_with(b"\xEF\xBB\xBF---").then_some(3);
    for start in first.or(marked).into_iter().chain(marks(stream, from)) {
        cut.at(start)?;
    }
    cut.close(stream.len());
    Ok(numbered(stream, cut.sections))
}

/// Where lines behind a byte start with `---`.
fn marks(stream: &[u8], from: usize) -> Vec<usize> {
    const MARK: &[u8] = b"\n---";
    const PART: usize = 1 << 18;
    let parts: Vec<usize> = (from..stream.len()).step_by(PART).collect();
    let found = parallel::pieces(&parts, stream.len() / KILO, |start| -> Vec<usize> {
        let end = stream.len().min(start + PART + MARK.len() - 1);
        memmem::find_iter(&stream[*start..end], MARK).map(|at| start + at + 1).collect()
    });
    found.concat()
}

/// The sections with the lines on which their documents start.
fn numbered(stream: &[u8], mut sections: Vec<Section>) -> Vec<Section> {
    const FEW: usize = 64;
    let starts: Vec<usize> = sections.iter().map(|section| section.document.start).collect();
    let few: Vec<&[usize]> = starts.chunks(FEW).collect();
    let before = |place: usize| place.checked_sub(1).map_or(0, |before| starts[before]);
    let few: Vec<(usize, &[usize])> = few.into_iter().enumerate().map(|(at, few)| (before(at * FEW), few)).collect();
    let counts = parallel::pieces(&few, stream.len() / KILO, |(before, starts)| -> Vec<usize> {
        let befores = std::iter::once(before).chain(*starts);
        befores.zip(*starts).map(|(before, start)| stream.get(*before..*start).map_or(0, lines)).collect()
    });
    let mut line = 1;
    for (section, count) in sections.iter_mut().zip(counts.concat()) {
        line += count;
        section.line = line;
    }
    sections
}

/// Where a stream is while it is cut.
struct Cut<'s> {
    stream: &'s [u8],
    sections: Vec<Section>,
    /// The section that is not at its end yet.
    open: Section,
    /// Whether it was begun by a separator.
    opened: bool,
    /// Whether it began with a separator that Go keeps as the first line of its document.
    held: bool,
}

impl Cut<'_> {
    /// Looks at a line that starts with `---`.
    fn at(&mut self, start: usize) -> Result<()> {
        let end = memchr::memchr(b'\n', &self.stream[start..]).map_or(self.stream.len(), |at| start + at + 1);
        let rest = self.stream[start + 3..end].strip_suffix(b"\n").unwrap_or(&self.stream[start + 3..end]);
        // Behind a byte order mark the line is no separator to Go's line reader, only to the parser.
        let marked = start == 3 && self.sections.is_empty() && !self.opened && self.stream.starts_with(b"\xEF\xBB\xBF");
        let before = if marked { 0 } else { start };
        if !marked && !matches!(first_word(rest), None | Some('#')) {
            let line = 1 + lines(&self.stream[..start]);
            let message = "invalid document separator: nothing but a comment may follow `---` on its line";
            return Err(Error { line, column: 4, message: message.to_owned() });
        }
        // The line ends a document that holds anything; else it is the first line of the next one, and the parser's to read.
        let ends = self.held || before > self.open.document.start;
        if !ends && !is_plain(rest) {
            self.held = true;
            return Ok(());
        }
        if self.opened || ends {
            self.close(before);
        }
        self.open = Section { separator: Span::new(before, end), ..empty(end) };
        (self.opened, self.held) = (true, !ends);
        Ok(())
    }

    /// Ends the open section. A first line that Go kept for the parser is left there where it makes a difference.
    fn close(&mut self, end: usize) {
        let Section { separator, document, .. } = &mut self.open;
        document.end = end;
        let text = document.of(self.stream);
        if self.held && !separator.is_empty() && needs_separator(text) {
            document.start = separator.start;
            *separator = Span::new(separator.start, separator.start);
        }
        self.sections.push(self.open);
    }
}

/// Whether a document reads otherwise without the separator that Go kept as its first line: where it goes on with a marker of its
/// own, or with a byte order mark, which is none behind it. So it may be where a line break is of a rare sort.
fn needs_separator(text: &[u8]) -> bool {
    for line in text.split(|byte| *byte == b'\n') {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let line = &line[line.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count()..];
        match line.first() {
            None => {}
            Some(b'#') if line.iter().all(|byte| matches!(byte, b' '..=b'~' | b'\t')) => {}
            Some(b'#' | b'%' | b'.' | b'\r') => return true,
            Some(first) => return !first.is_ascii() || line.starts_with(b"---"),
        }
    }
    false
}

/// A section that starts at a byte and holds nothing yet; on which line is told by [`numbered`].
fn empty(start: usize) -> Section {
    Section { separator: Span::new(start, start), document: Span::new(start, start), line: 0, json: false }
}

/// Line feeds in a text.
fn lines(text: &[u8]) -> usize {
    memchr::memchr_iter(b'\n', text).count()
}

/// The first character that is no white space, as Go's `strings.TrimSpace` leaves it; U+FFFD where that is not UTF-8.
fn first_word(rest: &[u8]) -> Option<char> {
    let mut chunks = rest.utf8_chunks();
    chunks.find_map(|chunk| {
        let word = chunk.valid().chars().find(|c| !c.is_whitespace());
        word.or_else(|| (!chunk.invalid().is_empty()).then_some(char::REPLACEMENT_CHARACTER))
    })
}

/// Whether what follows `---` is nothing to the parser either: blanks, and a comment that a blank sets off.
fn is_plain(rest: &[u8]) -> bool {
    let rest = rest.strip_suffix(b"\r").unwrap_or(rest);
    let blanks = rest.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
    match rest.get(blanks) {
        None => true,
        Some(b'#') => blanks > 0 && rest[blanks..].iter().all(|byte| matches!(byte, b' '..=b'~' | b'\t')),
        Some(_) => false,
    }
}

/// How far Go looks for a first brace.
const PEEK: usize = 4096;

/// The JSON values that a stream starts with, one after the other, and where what follows them begins. A stream is taken for
/// JSON by its first brace, and for YAML again where that fails at the first or second value; blanks before the first are then
/// gone.
fn json_values(stream: &[u8], sections: &mut Vec<Section>) -> Result<usize> {
    let head = &stream[..stream.len().min(PEEK)];
    if first_word(head) != Some('{') {
        return Ok(0);
    }
    let mut values = serde_json::Deserializer::from_slice(stream).into_iter::<serde::de::IgnoredAny>();
    let mut from = 0;
    loop {
        let value = values.next();
        let at = values.byte_offset();
        match value {
            Some(Ok(_)) => {
                let document = Span::new(from, at);
                sections.push(Section { document, json: true, ..empty(from) });
                from = at;
            }
            None => {
                // White space behind the last value is part of it.
                if let Some(last) = sections.last_mut() {
                    last.document.end = stream.len();
                }
                return Ok(stream.len());
            }
            Some(Err(_)) if sections.len() > 1 => {
                let message = "behind JSON values stands something that is none".to_owned();
                return Err(Error { line: 1 + lines(&stream[..from]), column: 1, message });
            }
            Some(Err(_)) => break,
        }
    }
    // Blanks up to the end of the line are the value's own.
    let rest = &stream[from..];
    let blank = rest.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
    let blank = memchr::memchr(b'\n', &rest[..blank]).map_or(blank, |at| at + 1);
    if let Some(only) = sections.last_mut() {
        only.document.end = from + blank;
        return Ok(from + blank);
    }
    let blanks = stream.utf8_chunks().next().map_or("", |chunk| chunk.valid());
    Ok(blanks.len() - blanks.trim_start().len())
}

/// A document as Go's line reader hands it to the parser: every line ends in one line feed, also the last, and the carriage
/// return before it is gone. The same bytes where that makes no difference to what is read. The second word says whether
/// places in it are those of the stream still.
pub(crate) fn as_lines(document: &[u8]) -> (Cow<'_, [u8]>, bool) {
    let doubled = memmem::find(document, b"\r\r").is_some();
    // kubectl makes UTF-16 plain before it looks at lines, and Helm refuses it.
    let wide = document.starts_with(b"\xFF\xFE") || document.starts_with(b"\xFE\xFF");
    if document.is_empty() || wide || document.ends_with(b"\n") && !doubled {
        return (Cow::Borrowed(document), true);
    }
    if !doubled {
        return (Cow::Owned([document, b"\n"].concat()), true);
    }
    let mut out = Vec::with_capacity(document.len() + 1);
    for line in document.split_inclusive(|byte| *byte == b'\n') {
        let text = line.strip_suffix(b"\n").map_or(line, |line| line.strip_suffix(b"\r").unwrap_or(line));
        out.extend_from_slice(text);
        out.push(b'\n');
    }
    (Cow::Owned(out), false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_stream_is_cut_as_if_it_were_read_at_once() {
        // Documents of all lengths, so that separators lie across the ends of the parts that the cores look at.
        let stream = (0..2_500).fold(String::new(), |mut stream, at| {
            stream.push_str("---\n");
            stream.push_str(&"a: b\n".repeat(at % 97));
            stream.push_str(&"-".repeat(at % 3));
            stream.push('\n');
            stream
        });
        let (mut documents, mut line) = (Vec::new(), 1);
        for text in stream.split_inclusive('\n') {
            if text == "---\n" {
                documents.push((line + 1, String::new()));
            } else if let Some((_, document)) = documents.last_mut() {
                document.push_str(text);
            }
            line += 1;
        }
        let bytes = stream.as_bytes();
        let found: Vec<(usize, String)> = split(bytes)
            .expect("sections")
            .iter()
            .map(|section| (section.line, String::from_utf8_lossy(section.document.of(bytes)).into_owned()))
            .collect();
        assert!(bytes.len() > 1 << 19, "{}", bytes.len());
        assert!(found == documents, "{} and {} documents", found.len(), documents.len());
    }
}
