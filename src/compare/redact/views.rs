//! Other ways to read a text: lines joined, escapes undone, encodings opened. A secret that is hidden in one of them is
//! hidden in the text, so each way knows which bytes of the text it came from.

use std::cell::Cell;
use std::ops::Range;

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

use super::super::within;
use super::text::{letters, runs};

/// A text read in another way, and where each part of it was read from.
pub(super) struct View {
    /// What it says.
    pub(super) text: String,
    /// Its parts in their order.
    parts: Vec<Part>,
}

/// A part of a view.
struct Part {
    /// Where it starts in the view.
    at: usize,
    /// The bytes of the text below that it was read from.
    from: Range<usize>,
    /// Whether it says them as they stand there; else all of it was read from all of them.
    plain: bool,
}

impl View {
    fn new(capacity: usize) -> Self {
        Self { text: String::with_capacity(capacity), parts: Vec::new() }
    }

    /// Text that stands below as it is.
    fn push_plain(&mut self, text: &str, start: usize) {
        if text.is_empty() {
            return;
        }
        let end = start + text.len();
        match self.parts.last_mut().filter(|last| last.plain && last.from.end == start) {
            Some(last) => last.from.end = end,
            None => self.parts.push(Part { at: self.text.len(), from: start..end, plain: true }),
        }
        self.text.push_str(text);
    }

    /// One character that was read from a piece of the text below.
    fn push(&mut self, c: char, piece: Range<usize>) {
        self.parts.push(Part { at: self.text.len(), from: piece, plain: false });
        self.text.push(c);
    }

    /// The part that holds a byte of the view.
    fn part(&self, byte: usize) -> Option<&Part> {
        self.parts.get(self.parts.partition_point(|part| part.at <= byte).checked_sub(1)?)
    }

    /// The bytes of the text below that a range of this view stands for.
    pub(super) fn below(&self, range: &Range<usize>) -> Range<usize> {
        let last = range.end.checked_sub(1).filter(|last| *last >= range.start && *last < self.text.len());
        let (Some(first), Some(last)) = (self.part(range.start), last.and_then(|last| self.part(last))) else {
            return 0..0;
        };
        let start = if first.plain { first.from.start + range.start - first.at } else { first.from.start };
        start..if last.plain { last.from.start + range.end - last.at } else { last.from.end }
    }
}

/// The text with its lines joined: what is wrapped reads on. `None` where there is nothing to join.
pub(super) fn joined(text: &str) -> Option<View> {
    if !text.contains('\n') && !text.contains("\\n") {
        return None;
    }
    let mut view = View::new(text.len());
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        let sign = memchr::memchr3(b'\n', b'\r', b'\\', rest.as_bytes()).unwrap_or(rest.len());
        view.push_plain(&rest[..sign], at);
        at += sign;
        let rest = &rest[sign..];
        let mark = ["\\r\\n", "\\n", "\\\n", "\r\n", "\n"].iter().find(|mark| rest.starts_with(**mark));
        match mark {
            Some(mark) => at = text.len() - rest[mark.len()..].trim_start_matches([' ', '\t']).len(),
            None if rest.is_empty() => {}
            None => {
                view.push_plain(&rest[..1], at);
                at += 1;
            }
        }
    }
    Some(view)
}

/// The text with one layer of escapes undone: JSON's, YAML's doubled quotes, those of addresses. `None` where it has none.
pub(super) fn unescaped(text: &str) -> Option<View> {
    if !text.contains(['\\', '%', '&']) && !text.contains("''") {
        return None;
    }
    let mut view = View::new(text.len());
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        let next = |byte: &u8| matches!(byte, b'\\' | b'%' | b'&' | b'\'');
        let sign = rest.bytes().position(|byte| next(&byte)).unwrap_or(rest.len());
        view.push_plain(&rest[..sign], at);
        at += sign;
        match escape(&rest[sign..]) {
            Some((plain, length)) => {
                view.push(plain, at..at + length);
                at += length;
            }
            None if sign == rest.len() => {}
            None => {
                view.push_plain(&rest[sign..=sign], at);
                at += 1;
            }
        }
    }
    (view.text != text).then_some(view)
}

/// The character that an escape at the start of a text stands for, and the length of the escape.
fn escape(text: &str) -> Option<(char, usize)> {
    let hex = |from: usize, digits: usize| {
        let code = u32::from_str_radix(text.get(from..from + digits)?, 16).ok()?;
        Some((char::from_u32(code)?, from + digits))
    };
    if let Some(rest) = text.strip_prefix('\\') {
        return match rest.chars().next()? {
            'n' => Some(('\n', 2)),
            't' => Some(('\t', 2)),
            'r' => Some(('\r', 2)),
            'u' => hex(2, 4),
            'U' => hex(2, 8),
            'x' => hex(2, 2),
            '0' | '1' => octal(&text[1..]),
            c @ ('\\' | '"' | '\'' | '/' | '$' | '`' | ' ' | '!') => Some((c, 2)),
            _ => None,
        };
    }
    if text.starts_with('%') {
        return hex(1, 2).filter(|(c, _)| c.is_ascii());
    }
    if text.starts_with("''") {
        return Some(('\'', 2));
    }
    if let Some(rest) = text.strip_prefix("&#") {
        return entity(rest);
    }
    let named = [("&amp;", '&'), ("&lt;", '<'), ("&gt;", '>'), ("&quot;", '"'), ("&apos;", '\'')];
    named.iter().find(|(name, _)| text.starts_with(name)).map(|(name, c)| (*c, name.len()))
}

/// The ASCII character that three octal digits behind a backslash stand for, as C and `printf` write it.
fn octal(digits: &str) -> Option<(char, usize)> {
    let digits = digits.get(..3).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))?;
    Some((char::from_u32(u32::from_str_radix(digits, 8).ok()?)?, 4))
}

/// The character that a number between `&#` and `;` stands for, as XML writes it.
fn entity(text: &str) -> Option<(char, usize)> {
    let (number, _) = text.get(..text.len().min(10))?.split_once(';')?;
    let code = match number.strip_prefix(['x', 'X']) {
        Some(digits) => u32::from_str_radix(digits, 16),
        None => number.parse(),
    };
    Some((char::from_u32(code.ok()?)?, number.len() + 3))
}

/// Fewest characters that are taken for an encoding: those of eight bytes in base64.
const SHORTEST_ENCODED: usize = 11;

/// The words of a text that may be base64, of either alphabet, with padding or without, or hexadecimal.
pub(super) fn encoded(text: &str) -> Vec<Range<usize>> {
    const OF_WORD: [bool; 256] = letters(b"+/-_");
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    for Range { start, end } in runs(bytes, &OF_WORD).filter(|word| word.len() >= SHORTEST_ENCODED) {
        let word = &bytes[start..end];
        // An encoding of anything has a digit or letters of both cases; words and paths mostly have not.
        let has = |of: fn(&u8) -> bool| word.iter().any(of);
        if has(u8::is_ascii_digit) || has(u8::is_ascii_uppercase) && has(u8::is_ascii_lowercase) {
            found.push(start..end + bytes[end..].iter().take(2).take_while(|byte| **byte == b'=').count());
        }
    }
    found
}

/// What is behind an encoding: base64 of either alphabet (also gzipped), hexadecimal. What is no text is read as far as it is one.
pub(super) fn decoded(word: &str, left: &Cell<usize>) -> Option<String> {
    if let Some(plain) = within::decode_text(word, left) {
        return Some(plain);
    }
    let compact: String = word.split_ascii_whitespace().collect();
    let compact = compact.trim_end_matches('=');
    let compact = compact.strip_prefix("0x").unwrap_or(compact);
    if compact.len() < SHORTEST_ENCODED {
        return None;
    }
    let text = |bytes: Vec<u8>| {
        left.set(left.get().saturating_sub(bytes.len()));
        Some(String::from_utf8_lossy(&bytes).into_owned()).filter(|plain| is_mostly_text(plain))
    };
    if let Some(plain) = unhex(compact).and_then(text) {
        return Some(plain);
    }
    let lenient = GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true);
    let of = |alphabet| GeneralPurpose::new(alphabet, lenient).decode(compact).ok().and_then(text);
    of(&alphabet::STANDARD).or_else(|| of(&alphabet::URL_SAFE))
}

/// What is behind base64 that is too short to be taken for it in a text, but stands in a Secret.
pub(super) fn short(word: &str) -> Option<String> {
    let bytes = GeneralPurpose::new(&alphabet::STANDARD, GeneralPurposeConfig::new()).decode(word).ok()?;
    String::from_utf8(bytes).ok().filter(|plain| !plain.is_empty() && !plain.contains('\u{0}'))
}

/// Whether a whole text is one encoded word, also a wrapped one.
pub(super) fn is_encoded(text: &str) -> bool {
    let of_base64 = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=' | b'-' | b'_');
    let trimmed = text.trim();
    trimmed.len() >= 8
        && trimmed.split_ascii_whitespace().all(|line| line.bytes().all(of_base64))
        && (!trimmed.contains(char::is_whitespace) || decoded(trimmed, &Cell::new(trimmed.len())).is_some())
}

/// Whether a decoded text can hold anything that is worth a look: ordinary words decode to noise.
fn is_mostly_text(text: &str) -> bool {
    let noise = |c: char| c == char::REPLACEMENT_CHARACTER || c.is_control() && !matches!(c, '\n' | '\t' | '\r');
    text.chars().filter(|c| noise(*c)).count() * 4 <= text.chars().count()
}

/// Bytes from hexadecimal digits of either case.
fn unhex(text: &str) -> Option<Vec<u8>> {
    if !text.len().is_multiple_of(2) || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).ok()).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn lines_are_joined_and_each_byte_knows_where_it_came_from() {
        let text = "ab\n   cd\\nef \\\n gh";
        let view = joined(text).expect("it has lines");
        assert_eq!(view.text, "abcdef gh");
        let place = view.text.find("cdef").expect("there");
        assert_eq!(&text[view.below(&(place..place + 4))], "cd\\nef");
        assert!(joined("one line").is_none());
    }

    #[test]
    fn escapes_are_undone_one_layer_at_a_time() {
        let twice = r#"{\\\"p\\\": \\\"a\\u0026b\\\"}"#;
        let once = unescaped(twice).expect("it has escapes");
        let plain = unescaped(&once.text).expect("and more");
        assert_eq!(unescaped(&plain.text).map_or(plain.text, |view| view.text), r#"{"p": "a&b"}"#);
        assert_eq!(unescaped("p%40ss it''s &amp;").expect("escapes").text, "p@ss it's &");
        assert_eq!(unescaped(r"\160@&#115;&#x73; \1").expect("escapes").text, r"p@ss \1");
        assert!(unescaped("50% of it").is_none());
    }

    #[test]
    fn encodings_of_every_form_are_opened() {
        for word in [
            "c2VjcmV0LXRleHQ/",
            "c2VjcmV0LXRleHQ_",
            "c2VjcmV0LXRleHQ",
            "7365637265742d74657874",
            "7365637265742D74657874",
            "0x7365637265742d74657874",
        ] {
            assert!(decoded(word, &Cell::new(1000)).is_some_and(|plain| plain.contains("secret-text")), "{word}");
        }
        assert_eq!(encoded("a=c2VjcmV0LXRleHQ= b"), std::iter::once(2..18).collect::<Vec<_>>());
    }

    proptest! {
        #[test]
        fn every_view_of_any_text_leads_back_into_it(text in "(?s).{0,60}", from in 0_usize..60, length in 0_usize..60) {
            for view in [joined(&text), unescaped(&text)].into_iter().flatten() {
                let range = from.min(view.text.len())..(from + length).min(view.text.len());
                let below = view.below(&range);
                prop_assert!(below.start <= below.end && below.end <= text.len());
                if view.text.is_char_boundary(range.start) && view.text.is_char_boundary(range.end) {
                    prop_assert!(text.get(below).is_some());
                }
            }
            for range in encoded(&text) {
                drop(decoded(&text[range], &Cell::new(1000)));
            }
        }
    }
}
