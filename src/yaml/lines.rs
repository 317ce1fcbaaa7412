//! What the lines of an everyday document tell without a tree, where its [`head`](super::head) could be told: then every key of its
//! root begins a line, and is a plain or simply quoted word.

use super::head::{After, cut, entry, next_top_line, value_of};

/// Whether the root may have a key; false only where that is sure.
pub(crate) fn has_key(document: &[u8], key: &str) -> bool {
    after_key(document, key).is_some()
}

/// Whether the map at a key of the root is there once and holds nothing but texts, each under a key of which `is_key` is true; false
/// where only the tree can tell.
pub(crate) fn holds_texts(document: &[u8], key: &str, is_key: impl Fn(&str) -> bool) -> bool {
    after_key(document, key).is_some_and(|below| !has_key(below, key) && texts(below, is_key))
}

/// What follows the first line that begins with a key of the root, the rest of that line with it.
fn after_key<'d>(document: &'d [u8], key: &str) -> Option<&'d [u8]> {
    let mut text = document.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(document);
    loop {
        let (quote, rest) = match text.first() {
            Some(b'"' | b'\'') => text.split_at(1),
            _ => (&[][..], text),
        };
        let after = rest.strip_prefix(key.as_bytes()).and_then(|rest| rest.strip_prefix(quote));
        if let Some(after) = after.and_then(|rest| rest.strip_prefix(b":")) {
            return Some(after);
        }
        text = &text[next_top_line(text)?..];
    }
}

/// Whether the lines behind a key of the root are a map of texts, up to the next one.
fn texts(text: &[u8], is_key: impl Fn(&str) -> bool) -> bool {
    let (first, mut rest) = cut(text);
    if !first.trim_ascii().is_empty() {
        return false;
    }
    let (mut level, mut block) = (None, false);
    while !rest.is_empty() {
        let (line, after) = cut(rest);
        rest = after;
        let indent = line.iter().take_while(|byte| **byte == b' ').count();
        let text = &line[indent..];
        if text.is_empty() || (block && level.is_some_and(|level| indent > level)) {
            continue;
        }
        if text[0] == b'#' {
            return false;
        }
        if indent == 0 {
            break;
        }
        if *level.get_or_insert(indent) != indent {
            return false;
        }
        block = match entry(text).filter(|(key, _)| is_key(key)).and_then(|(_, value)| value_of(value)) {
            Some((After::Block, _)) => true,
            Some((After::Nothing, Some(_))) => false,
            _ => return false,
        };
    }
    level.is_some()
}
