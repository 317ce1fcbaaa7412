//! Where a placeholder stands in a text as a whole token: `55.55.55.55` in `https://55.55.55.55:6443`, never in `155.55.55.55`.
//! What continues a token depends on what the placeholder is made of, so that `VIP-VIP` ranges and `VIP.nip.io` names are found.
//! The end of an escape continues none: the `n` of `\n55.55.55.55` is no letter of a word.

use std::ops::Range;
use std::sync::OnceLock;

use aho_corasick::AhoCorasick;
use memchr::memmem;

use super::escape::Escape;
use crate::policy::Policy;

/// The places of `placeholder` in `text`, in order, none overlapping.
pub fn places<'t>(text: &'t [u8], placeholder: &str) -> impl Iterator<Item = Range<usize>> + use<'t> {
    let length = placeholder.len();
    // Most texts do not hold it at all.
    let joints = std::cell::LazyCell::new({
        let placeholder = placeholder.to_owned();
        move || Joints::of(&placeholder)
    });
    let finder = memmem::Finder::new(placeholder.as_bytes()).into_owned();
    let mut from = 0;
    std::iter::from_fn(move || {
        while length > 0 && from < text.len() {
            let start = from + finder.find(&text[from..])?;
            let end = start + length;
            if joints.free_before(text, start) && joints.free_after(text, end) {
                from = end;
                return Some(start..end);
            }
            from = start + 1;
        }
        None
    })
}

/// Whether `text` holds `placeholder` as a whole token.
#[must_use]
pub(crate) fn occurs(text: &[u8], placeholder: &str) -> bool {
    places(text, placeholder).next().is_some()
}

/// Placeholders as they are written, of which a text may hold one.
#[derive(Debug)]
pub(crate) struct Placeholders<'p> {
    all: Vec<&'p str>,
    /// Finds many at once; made when it is first needed.
    finder: OnceLock<Option<AhoCorasick>>,
}

impl<'p> Placeholders<'p> {
    /// So many are looked for one by one.
    const FEW: usize = 8;

    /// Those of all late values.
    #[must_use]
    pub(crate) fn of(policy: &'p Policy) -> Self {
        let all = policy.late_values.iter().flat_map(|value| &value.placeholders).map(String::as_str);
        Self { all: all.filter(|placeholder| !placeholder.is_empty()).collect(), finder: OnceLock::new() }
    }

    /// Whether a text holds one of them as a whole token.
    pub(crate) fn is_in(&self, text: &str) -> bool {
        let finder = (self.all.len() > Self::FEW).then(|| self.finder.get_or_init(|| AhoCorasick::new(&self.all).ok()));
        let Some(Some(finder)) = finder else { return self.all.iter().any(|one| occurs(text.as_bytes(), one)) };
        finder.find_overlapping_iter(text).any(|found| {
            self.all
                .get(found.pattern().as_usize())
                .is_some_and(|placeholder| Joints::of(placeholder).stands(text.as_bytes(), &found.range()))
        })
    }
}

/// Which neighbours would make the placeholder a part of something longer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Joints {
    /// How it begins.
    start: Edge,
    /// How it ends.
    end: Edge,
    /// It has dots between digits: `.5` behind it or `5.` before it continues it.
    dotted: bool,
    /// It is an IPv6 address: `:f` behind it or `f:` before it continues it.
    coloned: bool,
}

impl Joints {
    pub(super) fn of(placeholder: &str) -> Self {
        let bytes = placeholder.as_bytes();
        Self {
            start: Edge::of(placeholder.chars().next()),
            end: Edge::of(placeholder.chars().next_back()),
            dotted: bytes.windows(3).any(|w| w[0].is_ascii_digit() && w[1] == b'.' && w[2].is_ascii_digit()),
            coloned: placeholder.parse::<std::net::Ipv6Addr>().is_ok(),
        }
    }

    /// Whether it stands at these bytes of a text for itself.
    pub(super) fn stands(self, text: &[u8], range: &Range<usize>) -> bool {
        self.free_before(text, range.start) && self.free_after(text, range.end)
    }

    fn free_before(self, text: &[u8], start: usize) -> bool {
        let near = start.checked_sub(1).and_then(|at| text.get(at)).copied();
        let far = start.checked_sub(2).and_then(|at| text.get(at)).copied();
        let is_longer = self.start.goes_on(|| before(&text[..start])) && Escape::ending(&text[..start]).is_none();
        !(is_longer || self.joined(near, far))
    }

    /// The escape that ends right in front of it and would be a part of it if its last letter were one.
    pub(super) fn escape(self, text: &[u8], start: usize) -> Option<Escape> {
        if self.start == Edge::Mark { None } else { Escape::ending(&text[..start]) }
    }

    fn free_after(self, text: &[u8], end: usize) -> bool {
        let near = text.get(end).copied();
        let far = text.get(end + 1).copied();
        !(self.end.goes_on(|| after(&text[end..])) || self.joined(near, far))
    }

    /// Whether a dot or colon with a digit beyond it goes on with the number.
    fn joined(self, near: Option<u8>, far: Option<u8>) -> bool {
        match near {
            Some(b'.') => self.dotted && far.is_some_and(|byte| byte.is_ascii_digit()),
            Some(b':') => self.coloned && far.is_some_and(|byte| byte.is_ascii_hexdigit() || byte == b':'),
            _ => false,
        }
    }
}

/// How a placeholder begins or ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Edge {
    /// With a mark, which no neighbour continues.
    Mark,
    /// With an ASCII letter or digit or `_`: letters continue it, but for those of scripts that put no blanks between words.
    Ascii,
    /// With a letter or digit of another script: every letter continues it.
    Letter,
}

impl Edge {
    fn of(c: Option<char>) -> Self {
        match c {
            Some(c) if c.is_ascii() && is_word(c) => Self::Ascii,
            Some(c) if is_word(c) => Self::Letter,
            _ => Self::Mark,
        }
    }

    /// Whether its neighbour makes it a part of a longer word.
    fn goes_on(self, neighbour: impl FnOnce() -> Option<char>) -> bool {
        match self {
            Self::Mark => false,
            Self::Ascii => neighbour().is_some_and(|c| is_word(c) && !stands_alone(c)),
            Self::Letter => neighbour().is_some_and(is_word),
        }
    }
}

/// Letters and digits of any script, `_`, and the marks that are written over a letter.
pub(super) fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || is_over(c)
}

/// A mark that is written over or around the letter in front of it.
const fn is_over(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}' | '\u{1ab0}'..='\u{1aff}' | '\u{1dc0}'..='\u{1dff}' | '\u{20d0}'..='\u{20ff}' | '\u{fe20}'..='\u{fe2f}')
}

/// Chinese letters and kana: they go on with no word of another script (UAX #29, rules WB5 to WB13).
const fn stands_alone(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

/// Bytes of the longest character.
const LONGEST: usize = 4;

/// The character that a text ends with; the letter, where marks are written over it or a form is chosen for it.
fn before(text: &[u8]) -> Option<char> {
    let mut end = text.len();
    loop {
        let start = (end.saturating_sub(LONGEST)..end).rev().find(|at| text[*at] & 0xC0 != 0x80)?;
        let c = std::str::from_utf8(&text[start..end]).ok()?.chars().next()?;
        if !is_over(c) && !matches!(c, '\u{fe00}'..='\u{fe0f}') {
            return Some(c);
        }
        end = start;
    }
}

/// The character that a text begins with. No more is looked at, as what follows may be a whole stream.
fn after(text: &[u8]) -> Option<char> {
    let first = text[..text.len().min(LONGEST)].utf8_chunks().next()?;
    first.valid().chars().next()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(text: &str, placeholder: &str) -> usize {
        places(text.as_bytes(), placeholder).count()
    }

    #[test]
    fn an_address_is_found_where_it_stands_alone() {
        for (text, times) in [
            ("55.55.55.55", 1),
            ("https://55.55.55.55:6443/x", 1),
            ("55.55.55.55/32", 1),
            ("55.55.55.55-55.55.55.55", 2),
            ("console.55.55.55.55.nip.io", 1),
            ("at 55.55.55.55. Then", 1),
            ("canReach=55.55.55.55,", 1),
        ] {
            assert_eq!(count(text, "55.55.55.55"), times, "{text}");
        }
    }

    #[test]
    fn many_placeholders_are_found_as_each_of_them_is() {
        let texts =
            ["vip", "vip-1", "155.55.55.55", "55.55.55.55", "fd00::1", "fd00::1:2", "xvip", "a vip.", "", "b1b2"];
        let all = ["55.55.55.55", "fd00::1", "vip", "vip-1", "a", "b", "b1", "b2", "c", "55.55"];
        for few in 1..=all.len() {
            let placeholders = Placeholders { all: all[..few].to_vec(), finder: OnceLock::new() };
            for text in texts {
                let each = all[..few].iter().any(|one| occurs(text.as_bytes(), one));
                assert_eq!(placeholders.is_in(text), each, "{text:?} among the first {few}");
            }
        }
    }

    #[test]
    fn a_part_of_something_longer_is_not_it() {
        for text in ["155.55.55.55", "55.55.55.556", "55.55.55.55.1", "5.55.55.55.55", "v55.55.55.55", "55.55.55.55a"] {
            assert_eq!(count(text, "55.55.55.55"), 0, "{text}");
        }
        assert_eq!(count("fd00::1:2 [fd00::1]:6443 1:fd00::1", "fd00::1"), 1);
        assert_eq!(count("changeme unchangeme changeme_not changeme-too é\u{e9}changeme", "changeme"), 2);
    }

    #[test]
    fn signs_of_other_scripts_are_no_part_of_a_word_and_letters_are() {
        for text in [
            "VIP “55.55.55.55”",
            "→55.55.55.55",
            "55.55.55.55–55.55.55.60",
            "（55.55.55.55）",
            "55.55.55.55…",
            "地址：55.55.55.55，端口 6443",
            "\u{a0}55.55.55.55",
            "55.55.55.55·x",
            "🙂55.55.55.55🙂",
            "❤\u{fe0f}55.55.55.55",
            "\u{2028}55.55.55.55\u{85}",
            "地址55.55.55.55号",
            "\u{feff}55.55.55.55",
            r"\u201c55.55.55.55\u201d",
        ] {
            assert_eq!(count(text, "55.55.55.55"), 1, "{text}");
        }
        for text in ["é55.55.55.55", "e\u{301}55.55.55.55", "55.55.55.55ж", "55.55.55.55\u{301}", r"\u00e955.55.55.55"]
        {
            assert_eq!(count(text, "55.55.55.55"), 0, "{text}");
        }
        assert_eq!(count("占位符 “占位符” 占位符们 这占位符 x占位符", "占位符"), 2);
        assert_eq!(count("x“VIP”x", "“VIP”"), 1);
        let bytes = [b"\xff".as_slice(), b"55.55.55.55", b"\xc3"].concat();
        assert_eq!(places(&bytes, "55.55.55.55").count(), 1);
    }

    #[test]
    fn marks_around_the_token_are_part_of_it() {
        assert_eq!(count("x@@VIP@@y @@VIP@@", "@@VIP@@"), 2);
    }
}
