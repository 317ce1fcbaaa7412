//! Cuts a stream into documents as kubectl and Helm do: by lines that start with `---`, before anything is parsed.
//!
//! Every byte of the stream belongs to exactly one separator or document, so that a stream can be written back untouched.
//! Mirrors `YAMLReader.Read` of k8s.io/apimachinery v0.34 (`pkg/util/yaml/decoder.go`), which looks at nothing but line starts:
//! a `---` at the start of a line inside a quoted scalar cuts it in two, there as here.

use memchr::memmem;

use crate::yaml::error::{Error, Result};
use crate::yaml::span::Span;
use crate::yaml::text::break_len;

/// One document of a stream with the separator line before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Section {
    /// The `---` line with its line break, and a byte order mark before it; empty for a document that has none.
    pub separator: Span,
    /// Everything up to the next separator or the end of the stream.
    pub document: Span,
    /// Line of the stream, from 1, on which the document starts.
    pub line: usize,
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
pub fn is_blank(document: &[u8]) -> bool {
    let document = document.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(document);
    document.split(|byte| *byte == b'\n').all(|line| {
        let line = line.trim_ascii();
        line.is_empty() || line[0] == b'#' && comment_only(line)
    })
}

/// A comment ends at every line break that YAML knows, also those that are not line feeds.
fn comment_only(line: &[u8]) -> bool {
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
    let mut sections = Vec::new();
    let body = if stream.starts_with(b"\xEF\xBB\xBF") { 3 } else { 0 };
    let first = stream[body..].starts_with(b"---").then_some(body);
    let rest = memmem::find_iter(stream, b"\n---").map(|at| at + 1);
    let mut open = Section { separator: Span::new(0, 0), document: Span::new(0, 0), line: 1 };
    let mut opened = first.is_none();
    for start in first.into_iter().chain(rest) {
        let end = memchr::memchr(b'\n', &stream[start..]).map_or(stream.len(), |at| start + at + 1);
        let close = if start == body { 0 } else { start };
        open.document.end = close;
        let glued = is_glued(&stream[start + 3..end], open.document.is_empty());
        let lines = memchr::memchr_iter(b'\n', &stream[open.document.start..end]).count();
        if glued {
            let line = open.line + lines - usize::from(stream[start..end].ends_with(b"\n"));
            let message = "invalid document separator: nothing but a comment may follow `---` on its line";
            return Err(Error { line, column: 4, message: message.to_owned() });
        }
        if opened {
            sections.push(open);
        }
        let line = open.line + lines;
        open = Section { separator: Span::new(close, end), document: Span::new(end, end), line };
        opened = true;
    }
    open.document.end = stream.len();
    sections.push(open);
    Ok(sections)
}

/// True when the text after `---` makes the line something else than a separator.
fn is_glued(rest: &[u8], after_nothing: bool) -> bool {
    let line = rest.strip_suffix(b"\n").map_or(rest, |line| line.strip_suffix(b"\r").unwrap_or(line));
    if (0..line.len()).any(|at| break_len(line, at) > 0) {
        // The parser may see several lines here: what follows the comment would be lost.
        return true;
    }
    let trimmed = std::str::from_utf8(rest).map_or(rest, |text| text.trim().as_bytes());
    match trimmed.first() {
        None => false,
        // kubectl leaves the line to the parser where no document stands before it, and the parser wants a blank before a comment.
        Some(b'#') => after_nothing && rest.first() == Some(&b'#'),
        Some(_) => true,
    }
}
