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
    /// It begins with a letter, a digit or `_`: such a neighbour in front continues it.
    word_start: bool,
    /// It ends so.
    word_end: bool,
    /// It has dots between digits: `.5` behind it or `5.` before it continues it.
    dotted: bool,
    /// It is an IPv6 address: `:f` behind it or `f:` before it continues it.
    coloned: bool,
}

impl Joints {
    pub(super) fn of(placeholder: &str) -> Self {
        let bytes = placeholder.as_bytes();
        Self {
            word_start: bytes.first().is_some_and(|byte| is_word(*byte)),
            word_end: bytes.last().is_some_and(|byte| is_word(*byte)),
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
        let is_longer = self.word_start && near.is_some_and(is_word) && Escape::ending(&text[..start]).is_none();
        !(is_longer || self.joined(near, far))
    }

    /// The escape that ends right in front of it and would be a part of it if its last letter were one.
    pub(super) fn escape(self, text: &[u8], start: usize) -> Option<Escape> {
        if self.word_start { Escape::ending(&text[..start]) } else { None }
    }

    fn free_after(self, text: &[u8], end: usize) -> bool {
        let near = text.get(end).copied();
        let far = text.get(end + 1).copied();
        !(self.word_end && near.is_some_and(is_word) || self.joined(near, far))
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

/// Letters and digits of any script and `_`; bytes above ASCII count as letters.
pub(super) const fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
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
    fn marks_around_the_token_are_part_of_it() {
        assert_eq!(count("x@@VIP@@y @@VIP@@", "@@VIP@@"), 2);
    }
}
