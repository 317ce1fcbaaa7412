//! What the lines of an everyday document tell without a tree, where its [`head`](super::head) could be told: then every key of its
//! root begins a line, and is a plain or simply quoted word.

use super::head::{After, cut, entry, next_line_within, next_top_line, value_of};

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
            match texts(below, &is_key) {
                Some(rest) if !is_met => (text, is_met) = (rest, true),
                _ => return false,
            }
            continue;
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

/// What follows the lines behind a key of the root where they are a map of texts: from the next line that is not indented.
fn texts(text: &[u8], is_key: impl Fn(&str) -> bool) -> Option<&[u8]> {
    let (first, mut rest) = cut(text);
    if !first.trim_ascii().is_empty() {
        return None;
    }
    let mut level = None;
    while let Some((indent, text, after)) = next_line(rest) {
        if text[0] == b'#' {
            return None;
        }
        if indent == 0 {
            break;
        }
        rest = after;
        if *level.get_or_insert(indent) != indent {
            return None;
        }
        match entry(text).filter(|(key, _)| is_key(key)).and_then(|(_, value)| value_of(value)) {
            Some((After::Block, _)) => rest = behind_block(rest, indent),
            Some((After::Nothing, Some(_))) => {}
            _ => return None,
        }
    }
    level.map(|_| rest)
}

/// The next line that is not blank: how deep it is, what it says, and what follows it.
fn next_line(mut rest: &[u8]) -> Option<(usize, &[u8], &[u8])> {
    while !rest.is_empty() {
        let (line, after) = cut(rest);
        let indent = line.iter().take_while(|byte| **byte == b' ').count();
        if indent < line.len() {
            return Some((indent, &line[indent..], after));
        }
        rest = after;
    }
    None
}

/// What follows the lines of a block text whose key is indented by so many blanks.
fn behind_block(mut text: &[u8], indent: usize) -> &[u8] {
    loop {
        let is_deeper = |line: &[u8]| line.get(..=indent).is_some_and(|start| start.iter().all(|byte| *byte == b' '));
        let (line, after) = cut(text);
        if line.iter().all(|byte| *byte == b' ') {
            if text.is_empty() {
                return text;
            }
            text = after;
        } else if is_deeper(line) {
            text = next_line_within(text, indent).map_or(&[], |at| &text[at..]);
        } else {
            return text;
        }
    }
}

/// Whether a `metadata` has nothing but a name, a namespace, and labels and annotations that are plain texts, each of which is fine by its
/// map, its key and its text; false where only the tree can tell.
pub(crate) fn holds_plain_metadata(metadata: &[u8], is_fine: impl Fn(&str, &str, &str) -> bool) -> bool {
    let (first, mut rest) = cut(metadata);
    if first != b"metadata:" {
        return false;
    }
    let mut level = None;
    // The map that the lines are in, and how deep they are.
    let mut map: Option<(&str, Option<usize>)> = None;
    while let Some((indent, text, after)) = next_line(rest) {
        rest = after;
        let Some((key, (after, scalar))) = entry(text).and_then(|(key, value)| Some((key, value_of(value)?))) else {
            return false;
        };
        let level = *level.get_or_insert(indent);
        let is_plain = match (key, after, scalar, &mut map) {
            ("name" | "namespace", After::Nothing, Some(_), _) if indent == level => {
                map = None;
                true
            }
            ("labels" | "annotations", After::Map, None, _) if indent == level => {
                map = Some((key, None));
                true
            }
            (_, After::Nothing, Some(scalar), Some((map, inner))) if indent > level => {
                *inner.get_or_insert(indent) == indent && is_fine(map, key, scalar)
            }
            _ => false,
        };
        if indent == 0 || !is_plain {
            return false;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts_alone(document: &str) -> bool {
        holds_texts_alone(document.as_bytes(), "data", &["binaryData"], |_| true)
    }

    #[test]
    fn the_lines_of_a_block_are_stepped_over_however_long_it_is() {
        for count in [0, 1, 3, 40, 400] {
            let block = "    key: {not: \"yaml\n\n".repeat(count);
            let document = |tail: &str| format!("kind: A\ndata:\n  a: |\n{block}{tail}");
            assert!(texts_alone(&document("  b: text\n")), "{count}");
            assert!(texts_alone(&document("")), "{count}");
            assert!(texts_alone(&document("  \n\nother: 1\n")), "{count}");
            assert!(!texts_alone(&document("  b: 1\n")), "{count}");
            assert!(!texts_alone(&document("  b: {}\n")), "{count}");
            assert!(!texts_alone(&document("binaryData: {}\n")), "{count}");
            assert!(!texts_alone(&document(" b: text\n")), "{count}");
        }
    }

    #[test]
    fn everyday_metadata_is_told_by_its_lines() {
        let plain =
            |text: &str| holds_plain_metadata(text.as_bytes(), |map, key, value| map != "labels" || key != value);
        assert!(plain(
            "metadata:\n  name: a\n  labels:\n    app.kubernetes.io/name: a\n    b: \"c\"\n  namespace: ns\n"
        ));
        assert!(plain("metadata:\n  annotations:\n      a: b\n\n  name: 'x'\n"));
        for tail in [
            "  labels:\n    a: a\n",
            "  labels:\n    a: 1\n",
            "  labels:\n    a: {}\n",
            "  labels:\n    a: b\n     c: d\n",
            "  labels: {a: b}\n",
            "  annotations:\n    a: |\n      b\n",
            "  annotations:\n    a: b\n      c\n",
            "  uid: a\n",
            "  ownerReferences:\n  - a: b\n",
            "  # said\n",
            "  name: a\n    b\n",
            "a: b\n",
        ] {
            assert!(!plain(&format!("metadata:\n  name: a\n{tail}")), "{tail}");
        }
    }
}
