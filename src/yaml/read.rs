//! Reading one document: characters, tokens, events, arena, and what Go refuses after all that.

use std::borrow::Cow;
use std::sync::OnceLock;

use crate::tree::Value;
use crate::yaml::arena::{self, Arena};
use crate::yaml::error::{Error, Problem, Result};
use crate::yaml::events::Events as _;
use crate::yaml::parse::Parser;
use crate::yaml::scan::Scanner;
use crate::yaml::span::Span;
use crate::yaml::split::{Section, as_lines};
use crate::yaml::text::{self, Text};
use crate::yaml::tree::Tree;
use crate::yaml::twin::{Meant, Twin};
use crate::yaml::walk::{walk, walk_beside};

/// Reads one document whose first byte is the first of the stream.
///
/// # Errors
/// Whatever Kubernetes refuses, and text after the end of the document, which Kubernetes drops without a word.
pub fn read(document: &[u8]) -> Result<Tree<'_>> {
    whole(read_first(document, 0, 1)?, document)
}

/// Reads one document of a stream; spans and lines are those of the stream.
///
/// # Errors
/// As [`read`].
pub fn read_section<'a>(stream: &'a [u8], section: &Section) -> Result<Tree<'a>> {
    read_at(section.document.of(stream), section.document.start, section.line)
}

/// Reads one document that starts at byte `base` and on line `line` of its stream, its lines as Go hands them to the parser.
///
/// # Errors
/// As [`read`].
pub(crate) fn read_at(document: &[u8], base: usize, line: usize) -> Result<Tree<'_>> {
    whole(read_lines(document, base, line)?, document)
}

/// What one document of a stream reads as, beside another one that it mostly repeats: as [`read_at`] and [`Tree::to_json`] read it.
///
/// # Errors
/// As [`read`], and as [`Tree::to_json`].
pub(crate) fn read_beside(document: &[u8], base: usize, line: usize, twin: Option<Twin<'_>>) -> Result<Value> {
    match twin.and_then(|twin| walked_beside(document, base, line, twin)) {
        Some((tree, meant)) => tree.value_with(&meant),
        None => read_at(document, base, line)?.to_json(),
    }
}

/// The tree of an everyday document, of which what another one has too was taken over.
fn walked_beside<'a>(document: &'a [u8], base: usize, line: usize, twin: Twin<'_>) -> Option<(Tree<'a>, Meant)> {
    let (Cow::Borrowed(lines), _) = as_lines(document) else { return None };
    let text = text::check(lines).ok()?;
    let (arena, meant) = walk_beside(&text, Some(twin))?;
    let Cow::Borrowed(bytes) = text.bytes else { return None };
    if arena.seen.decode || arena.seen.unfit {
        return None;
    }
    let source = Cow::Borrowed(std::str::from_utf8(bytes).ok()?);
    Some((Tree { source, arena, base, line, rest: None, converted: false, flow: OnceLock::new() }, meant))
}

/// A tree with no text behind its document.
fn whole<'a>(tree: Tree<'a>, document: &[u8]) -> Result<Tree<'a>> {
    match tree.rest {
        Some(rest) => Err(Error::at(
            document,
            rest,
            tree.line,
            "text after the end of the document: Kubernetes would drop it, put `---` before it",
        )),
        None => Ok(tree),
    }
}

/// Reads the first document of a section of a stream and drops the rest, exactly as `YAMLOrJSONDecoder` does.
///
/// # Errors
/// Whatever Kubernetes refuses.
pub(crate) fn read_lines(document: &[u8], base: usize, line: usize) -> Result<Tree<'_>> {
    match as_lines(document) {
        (Cow::Borrowed(text), _) => read_first(text, base, line),
        (Cow::Owned(text), in_place) => {
            let Tree { source, arena, base, line, rest, converted, flow } = read_first(&text, base, line)?;
            let source = Cow::Owned(source.into_owned());
            Ok(Tree { source, arena, base, line, rest, converted: converted || !in_place, flow })
        }
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
    let tree = Tree { source, arena, base, line, rest, converted, flow: OnceLock::new() };
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
    // The lines before the document are only counted for an error: a stream may hold thousands of documents.
    let document = span.of(bytes);
    let tree = read_first(document, span.start, 1).and_then(|tree| whole(tree, document));
    tree.and_then(|tree| tree.to_json()).map_err(|error| {
        let before = memchr::memchr_iter(b'\n', bytes.get(..span.start).unwrap_or_default()).count();
        Error { line: error.line + before, ..error }
    })
}

/// Reads a file of our own: a key that stands twice is an error, as whoever reads the file sees the first and the program would
/// take the last, and so is a second document.
///
/// # Errors
/// As [`read`], and where a map has a key twice.
pub fn read_strict(bytes: &[u8]) -> Result<Value> {
    let tree = read_first(bytes, 0, 1)?;
    if let Some(rest) = tree.rest {
        let message = "this file is one document, and more stands behind its end; take one of the two away";
        return Err(Error::at(bytes, rest, 1, message));
    }
    match tree.duplicates().first() {
        Some(twice) => {
            let first = tree.position(twice.first.start).line;
            let message = format!("the key {:?} stands here again, and on line {first} before; keep one", twice.key);
            Err(tree.error(twice.again.start, message))
        }
        None => match tree.late_merge() {
            Some(merge) => {
                let message =
                    "`<<` stands behind another key and would write over it; put it first, and once in each map";
                Err(tree.error(merge.start, message))
            }
            None => tree.to_json(),
        },
    }
}

/// Everyday documents are walked; all others are parsed from the start.
fn parse(text: &Text<'_>) -> std::result::Result<(Arena, Option<usize>), Problem> {
    match walk(text) {
        Some(arena) => Ok((arena, None)),
        None => parse_exactly(text),
    }
}

fn parse_exactly(text: &Text<'_>) -> std::result::Result<(Arena, Option<usize>), Problem> {
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

#[cfg(test)]
#[path = "read_tests.rs"]
mod tests;
