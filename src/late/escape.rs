//! What stands right in front of a placeholder and ends in a letter or a digit without being a part of a longer word: the escape of a
//! blank, a break or a mark, as URLs (RFC 3986, section 2.1), JSON (RFC 8259, section 7), YAML and `printf` write it.

use std::net::Ipv6Addr;
use std::ops::Range;

use super::targets::Spelling;
use super::token::is_word;

/// How what stands in front is escaped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Escape {
    /// `%HH`.
    Percent,
    /// `%25HH`: a URL in the query of a URL.
    PercentTwice,
    /// `\n` and the like, `\xHH`, `\uHHHH`.
    Backslash,
    /// A backslash with a letter or digits behind it that may be an escape, and may be a part of what follows.
    Unsure,
}

/// Why no IPv6 address is written beside marks that are escaped.
pub(super) const BRACKETS: &str =
    "an IPv6 address needs brackets or another length beside the marks that are escaped there";

impl Escape {
    /// The escape that a text ends with, where it stands for something that goes on with no word.
    pub(super) fn ending(text: &[u8]) -> Option<Self> {
        percent(text).or_else(|| numbered(text)).or_else(|| lettered(text))
    }

    /// How `value` is written behind it, in the place of the placeholder at `range`.
    ///
    /// # Errors
    /// Why no spelling is right there.
    pub(super) fn written(self, text: &str, range: &Range<usize>, value: &str) -> Result<String, String> {
        let same = |spelled: String| {
            let why = "it stands in a text with escapes, and the value holds marks that need some too";
            if spelled == value { Ok(spelled) } else { Err(why.to_owned()) }
        };
        match self {
            Self::Percent if value.parse::<Ipv6Addr>().is_ok() && in_a_url(text, range) => Err(BRACKETS.to_owned()),
            Self::Percent => Ok(Spelling::Url.write(value)),
            Self::PercentTwice => same(Spelling::Url.write(value)),
            Self::Backslash => same(Spelling::Json.write(value)),
            Self::Unsure => {
                Err("what stands before it may be an escape or a part of the same word; put a blank there".to_owned())
            }
        }
    }
}

/// Whether what follows a placeholder is an escaped port or an escaped length of a network.
pub(super) fn is_followed(after: &[u8]) -> bool {
    let begins = |mark: &[u8]| after.len() > 3 && after[..3].eq_ignore_ascii_case(mark) && after[3].is_ascii_digit();
    begins(b"%3A") || begins(b"%2F")
}

/// Whether an escaped `//`, `@`, port or length stands beside it.
fn in_a_url(text: &str, range: &Range<usize>) -> bool {
    let (before, after) = (&text.as_bytes()[..range.start], &text.as_bytes()[range.end..]);
    let ends = |mark: &[u8]| before.len() >= 3 && before[before.len() - 3..].eq_ignore_ascii_case(mark);
    ends(b"%2F") || ends(b"%40") || is_followed(after) || matches!(after.first(), Some(b'.' | b'-' | b':'))
}

/// `%HH`, also where its `%` is escaped itself.
fn percent(text: &[u8]) -> Option<Escape> {
    let (rest, digits) = text.split_at_checked(text.len().checked_sub(2)?)?;
    let code = number(digits)?;
    let mut outer = rest;
    while let Some(shorter) = outer.strip_suffix(b"25") {
        outer = shorter;
    }
    if !outer.ends_with(b"%") || goes_on(code) {
        return None;
    }
    Some(if outer.len() == rest.len() { Escape::Percent } else { Escape::PercentTwice })
}

/// `\xHH`, `\uHHHH` and `\UHHHHHHHH`.
fn numbered(text: &[u8]) -> Option<Escape> {
    [(b'x', 2), (b'u', 4), (b'U', 8)].into_iter().find_map(|(mark, length)| {
        let (rest, digits) = text.split_at_checked(text.len().checked_sub(length)?)?;
        let backslashes = backslashes(rest.strip_suffix(&[mark])?);
        // Two digits may be a byte of a character, more are all of it.
        let goes_on = |code: u32| if length == 2 { goes_on(code) } else { char::from_u32(code).is_none_or(is_word) };
        number(digits).filter(|code| backslashes > 0 && !goes_on(*code))?;
        Some(if backslashes % 2 == 1 { Escape::Backslash } else { Escape::Unsure })
    })
}

/// `\n` and the like; an octal number may take what follows as one more digit.
fn lettered(text: &[u8]) -> Option<Escape> {
    let octal = text.iter().rev().take(3).take_while(|byte| (b'0'..=b'7').contains(*byte)).count();
    if (1..=octal).any(|length| text[..text.len() - length].ends_with(b"\\")) {
        return Some(Escape::Unsure);
    }
    let (last, rest) = text.split_last()?;
    match backslashes(rest) {
        0 => None,
        count if count % 2 == 1 && b"abefnrtv".contains(last) => Some(Escape::Backslash),
        _ => last.is_ascii_alphanumeric().then_some(Escape::Unsure),
    }
}

/// Backslashes at the end of a text. An even number of them stands for half as many, unless something reads the text twice.
fn backslashes(text: &[u8]) -> usize {
    text.iter().rev().take_while(|byte| **byte == b'\\').count()
}

/// The number that hexadecimal digits are.
fn number(digits: &[u8]) -> Option<u32> {
    digits.iter().try_fold(0, |number: u32, digit| Some(number << 4 | char::from(*digit).to_digit(16)?))
}

/// Whether a word goes on with this byte.
fn goes_on(code: u32) -> bool {
    code > 0x7F || char::from_u32(code).is_some_and(is_word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_escape_of_a_mark_ends_a_word() {
        for (text, escape) in [
            (r"%3D", Some(Escape::Percent)),
            (r"https%3a%2f%2f", Some(Escape::Percent)),
            (r"%0A", Some(Escape::Percent)),
            (r"%253A", Some(Escape::PercentTwice)),
            (r"%41", None),
            (r"%C3%A9", None),
            (r"%d", None),
            (r"line\n", Some(Escape::Backslash)),
            (r"\t", Some(Escape::Backslash)),
            (r"\\\n", Some(Escape::Backslash)),
            (r"\\n", Some(Escape::Unsure)),
            (r"C:\x", Some(Escape::Unsure)),
            (r"\x20", Some(Escape::Backslash)),
            (r"\x41", None),
            (r"\u003d", Some(Escape::Backslash)),
            (r"\\u003d", Some(Escape::Unsure)),
            (r"\u00e9", None),
            (r"\u201c", Some(Escape::Backslash)),
            (r"\0", Some(Escape::Unsure)),
            (r"\012", Some(Escape::Unsure)),
            (r"n", None),
            (r"\en", None),
            (r"\é", None),
            ("", None),
        ] {
            assert_eq!(Escape::ending(text.as_bytes()), escape, "{text}");
        }
    }

    #[test]
    fn a_value_is_written_as_its_neighbours_are() {
        let at = |escape: Escape, text: &str, value: &str| {
            let start = text.find("VIP").expect("a placeholder");
            escape.written(text, &(start..start + 3), value).ok()
        };
        assert_eq!(at(Escape::Percent, "x%3DVIP", "a b").as_deref(), Some("a%20b"));
        assert_eq!(at(Escape::Percent, "x%3DVIP", "fd00::7").as_deref(), Some("fd00%3A%3A7"));
        assert_eq!(at(Escape::Percent, "x%3A%2f%2fVIP", "fd00::7"), None);
        assert_eq!(at(Escape::Percent, "x%3DVIP%3A6443", "fd00::7"), None);
        assert_eq!(at(Escape::PercentTwice, "x%253DVIP", "10.0.3.7").as_deref(), Some("10.0.3.7"));
        assert_eq!(at(Escape::PercentTwice, "x%253DVIP", "a b"), None);
        assert_eq!(at(Escape::Backslash, r"x\nVIP", "10.0.3.7").as_deref(), Some("10.0.3.7"));
        assert_eq!(at(Escape::Backslash, r"x\nVIP", "a\"b"), None);
        assert_eq!(at(Escape::Unsure, r"x\\nVIP", "10.0.3.7"), None);
    }
}
