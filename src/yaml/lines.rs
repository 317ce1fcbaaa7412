//! What the lines of an everyday document tell without a tree, where its [`head`](super::head) could be told: then every key of its
//! root begins a line, and is a plain or simply quoted word.

use super::head::{After, cut, entry, next_top_line, value_of};

/// Whether the root has none of some keys, and what stands at `key`, where it stands, is one map of nothing but texts, each under a key
/// of which `is_key` is true; false where only the tree can tell.
pub(crate) fn holds_texts_alone(document: &[u8], key: &str, none: &[&str], is_key: impl Fn(&str) -> bool) -> bool {
    let mut text = document.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(document);
    let mut is_met = false;
    loop {
        if none.iter().any(|other| behind(text, other).is_some()) {
            return false;
        }
        if let Some(below) = behind(text, key) {
            if is_met || !texts(below, &is_key) {
                return false;
            }
            is_met = true;
        }
        let Some(next) = next_top_line(text) else { return true };
        text = &text[next..];
    }
}

/// What follows a key that begins a line.
fn behind<'d>(text: &'d [u8], key: &str) -> Option<&'d [u8]> {
    let (quote, rest) = match text.first() {
        Some(b'"' | b'\'') => text.split_at(1),
        _ => (&[][..], text),
    };
    rest.strip_prefix(key.as_bytes())?.strip_prefix(quote)?.strip_prefix(b":")
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
        if block
            && level.is_some_and(|level| line.get(..=level).is_some_and(|start| start.iter().all(|byte| *byte == b' ')))
        {
            continue;
        }
        let indent = line.iter().take_while(|byte| **byte == b' ').count();
        let text = &line[indent..];
        if text.is_empty() {
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
