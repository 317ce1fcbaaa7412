//! Reading one document: characters, tokens, events, arena, and what Go refuses after all that.

use std::borrow::Cow;

use serde_json::Value;

use crate::yaml::arena::{self, Arena};
use crate::yaml::error::{Error, Problem, Result};
use crate::yaml::events::Events as _;
use crate::yaml::parse::Parser;
use crate::yaml::scan::Scanner;
use crate::yaml::span::Span;
use crate::yaml::split::Section;
use crate::yaml::text::{self, Text};
use crate::yaml::tree::Tree;

/// Reads one document whose first byte is the first of the stream.
///
/// # Errors
/// Whatever Kubernetes refuses, and text after the end of the document, which Kubernetes drops without a word.
pub fn read(document: &[u8]) -> Result<Tree<'_>> {
    read_at(document, 0, 1)
}

/// Reads one document of a stream; spans and lines are those of the stream.
///
/// # Errors
/// As [`read`].
pub fn read_section<'a>(stream: &'a [u8], section: &Section) -> Result<Tree<'a>> {
    read_at(section.document.of(stream), section.document.start, section.line)
}

/// Reads one document that starts at byte `base` and on line `line` of its stream.
///
/// # Errors
/// As [`read`].
pub fn read_at(document: &[u8], base: usize, line: usize) -> Result<Tree<'_>> {
    let tree = read_first(document, base, line)?;
    match tree.rest {
        Some(rest) => Err(Error::at(
            document,
            rest,
            line,
            "text after the end of the document: Kubernetes would drop it, put `---` before it",
        )),
        None => Ok(tree),
    }
}

/// Reads the first document of a text and drops the rest, exactly as `YAMLToJSON` of sigs.k8s.io/yaml does.
///
/// # Errors
/// Whatever Kubernetes refuses.
pub fn read_first(document: &[u8], base: usize, line: usize) -> Result<Tree<'_>> {
    if u32::try_from(document.len()).is_err() {
        return Err(Error { line, column: 1, message: "the document is larger than 4 GiB".to_owned() });
    }
    let locate = |problem: Problem| Error::at(document, problem.offset, line, problem.message);
    let text = text::check(document).map_err(locate)?;
    let (arena, rest) = parse(&text).map_err(locate)?;
    let converted = matches!(text.bytes, Cow::Owned(_));
    let source = match text.bytes {
        Cow::Borrowed(bytes) => std::str::from_utf8(bytes).map(Cow::Borrowed).map_err(|_| ()),
        Cow::Owned(bytes) => String::from_utf8(bytes).map(Cow::Owned).map_err(|_| ()),
    };
    let source = source.map_err(|()| Error { line, column: 1, message: "the text is not valid UTF-8".to_owned() })?;
    let tree = Tree { source, arena, base, line, rest, converted };
    if tree.arena.seen.decode {
        tree.check_decoding()?;
    }
    if tree.arena.seen.unfit {
        tree.write_json(&mut Vec::new())?;
    }
    Ok(tree)
}

/// Reads the one document at `span` of the stream `bytes` as JSON; an empty document is `null`.
///
/// # Errors
/// As [`read`], and as [`Tree::to_json`].
pub fn read_json(bytes: &[u8], span: Span) -> Result<Value> {
    let line = 1 + memchr::memchr_iter(b'\n', bytes.get(..span.start).unwrap_or_default()).count();
    read_at(span.of(bytes), span.start, line)?.to_json()
}

fn parse(text: &Text<'_>) -> std::result::Result<(Arena, Option<usize>), Problem> {
    let mut parser = Parser::new(Scanner::new(&text.bytes, text.start, text.odd_breaks));
    let arena = arena::fill(&mut parser)?;
    let rest = rest(&text.bytes, parser.position().max(text.start));
    Ok((arena, rest))
}

/// Finds what follows the end of a document, other than blanks, comments and further `...` lines.
fn rest(bytes: &[u8], mut at: usize) -> Option<usize> {
    let mut line_start = false;
    loop {
        let step = text::break_len(bytes, at);
        match bytes.get(at)? {
            _ if step > 0 => {
                at += step;
                line_start = true;
                continue;
            }
            b' ' | b'\t' => at += 1,
            b'#' => {
                while at < bytes.len() && text::break_len(bytes, at) == 0 {
                    at += 1;
                }
            }
            b'.' if line_start
                && bytes[at..].starts_with(b"...")
                && matches!(bytes.get(at + 3), None | Some(b' ' | b'\t' | b'\r' | b'\n')) =>
            {
                at += 3;
            }
            _ => return Some(at),
        }
        line_start = false;
    }
}
