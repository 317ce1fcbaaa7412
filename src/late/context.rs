//! How an address is written where its placeholder stands: in brackets inside a URL or before a port, with the length of a whole
//! address behind a slash. Where no spelling is right the place is refused by name; `https://fd00::7:6443` is nobody's address.

use std::net::{IpAddr, Ipv6Addr};
use std::ops::Range;

use super::escape::{BRACKETS, is_followed};

/// The bytes that go and the text that takes their place.
type Written = (Range<usize>, String);

/// How `value` is written in the place of the placeholder at `range`. Values that are no address are written as they are.
///
/// # Errors
/// Why no spelling of the address is right there.
pub(super) fn written(text: &str, range: Range<usize>, value: &str) -> Result<Written, String> {
    let place =
        FoundPlaceholder { text, before: &text[..range.start], after: &text[range.end..], range: range.clone() };
    match value.parse::<IpAddr>() {
        Ok(IpAddr::V6(_)) => place.version_6(value),
        Ok(IpAddr::V4(_)) => place.version_4(value),
        Err(_) => Ok((range, value.to_owned())),
    }
}

/// A placeholder and what stands around it.
struct FoundPlaceholder<'t> {
    text: &'t str,
    before: &'t str,
    after: &'t str,
    range: Range<usize>,
}

impl FoundPlaceholder<'_> {
    fn version_6(&self, value: &str) -> Result<Written, String> {
        if self.in_a_name() {
            return Err("an IPv6 address cannot be a part of a name".to_owned());
        }
        if is_followed(self.after.as_bytes()) && !self.was_version_6() {
            return Err(BRACKETS.to_owned());
        }
        if self.is_bracketed() {
            return Ok((self.range.clone(), value.to_owned()));
        }
        if self.in_a_url() || self.has_port() {
            if self.begins_a_plain_value() {
                return Err(
                    "the brackets of an IPv6 address would begin a list there; put the place in quotes".to_owned()
                );
            }
            return Ok((self.range.clone(), format!("[{value}]")));
        }
        match self.prefix() {
            Some((end, 32)) if !self.was_version_6() => Ok((self.range.start..end, format!("{value}/128"))),
            Some((_, length)) if length < 32 && !self.was_version_6() => {
                Err(format!("the prefix length /{length} is that of an IPv4 network and the address is IPv6"))
            }
            _ => Ok((self.range.clone(), value.to_owned())),
        }
    }

    fn version_4(&self, value: &str) -> Result<Written, String> {
        let Range { start, end } = self.range;
        if self.is_bracketed() && (self.before.ends_with("//[") || port(&self.after[1..]).is_some()) {
            return Ok((start - 1..end + 1, value.to_owned()));
        }
        match self.prefix() {
            Some((end, 128)) => Ok((start..end, format!("{value}/32"))),
            Some((_, length)) if length > 32 || self.was_version_6() => {
                Err(format!("the prefix length /{length} is that of an IPv6 network and the address is IPv4"))
            }
            _ => Ok((start..end, value.to_owned())),
        }
    }

    fn was_version_6(&self) -> bool {
        self.text[self.range.clone()].parse::<Ipv6Addr>().is_ok()
    }

    fn is_bracketed(&self) -> bool {
        self.before.ends_with('[') && self.after.starts_with(']')
    }

    /// Behind `//`, with or without a user.
    fn in_a_url(&self) -> bool {
        // Only a user is looked for farther back: the text may hold the placeholder many times.
        let authority = if self.before.ends_with('@') {
            self.before.trim_end_matches(|c: char| c != '/' && !c.is_whitespace())
        } else {
            self.before
        };
        authority.ends_with("//")
    }

    fn has_port(&self) -> bool {
        port(self.after).is_some()
    }

    /// The number behind a slash and where it ends, where that is a prefix length and not the path of a URL.
    fn prefix(&self) -> Option<(usize, u32)> {
        let digits = self.after.strip_prefix('/').filter(|_| !self.in_a_url())?;
        let length = digits.bytes().take_while(u8::is_ascii_digit).count();
        let goes_on = digits[length..].starts_with(|c: char| c.is_alphanumeric() || matches!(c, '.' | '/' | '_' | '-'));
        let number: u32 = digits[..length].parse().ok()?;
        (!goes_on && number <= 128).then_some((self.range.end + 1 + length, number))
    }

    /// Whether a dot or a dash joins it to letters: `console.VIP.nip.io`, `lb-VIP`. A range of addresses and the name of a file
    /// are no names in that sense.
    fn in_a_name(&self) -> bool {
        let in_a_path = self.before.ends_with('/') && !self.before.ends_with("//");
        let is_part = |c: char| c.is_alphanumeric() || matches!(c, '.' | ':' | '_');
        let dot_before = self.before.strip_suffix('.').is_some_and(|rest| rest.ends_with(char::is_alphanumeric));
        let dot_after = self.after.strip_prefix('.').is_some_and(|rest| rest.starts_with(char::is_alphanumeric));
        let own = &self.text[self.range.clone()];
        let fits = |neighbour: &str| neighbour.is_empty() || neighbour == own || neighbour.parse::<Ipv6Addr>().is_ok();
        let dash_before =
            self.before.strip_suffix('-').is_some_and(|rest| !fits(&rest[rest.trim_end_matches(is_part).len()..]));
        let dash_after = self.after.strip_prefix('-').is_some_and(|rest| {
            let length = rest.len() - rest.trim_start_matches(is_part).len();
            !fits(&rest[..length])
        });
        !in_a_path && (dot_before || dot_after || dash_before || dash_after)
    }

    /// Whether it begins a value of a YAML document inside the text, without quotes: brackets would make a list of it.
    fn begins_a_plain_value(&self) -> bool {
        let head = self.before.trim_end_matches(' ');
        let spaced = head.len() < self.before.len();
        let begins_a_line = head.is_empty() || head.ends_with('\n');
        spaced && head.ends_with([':', '-']) || begins_a_line && self.text.trim_end().contains('\n')
    }
}

/// The port at the beginning of a text.
fn port(text: &str) -> Option<u16> {
    let digits = text.strip_prefix([':']).or_else(|| text.strip_prefix("]:"))?;
    let length = digits.bytes().take_while(u8::is_ascii_digit).count();
    let goes_on = digits[length..].starts_with(|c: char| c.is_alphanumeric() || matches!(c, ':' | '_'));
    digits[..length].parse().ok().filter(|_| !goes_on)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text with its one placeholder written, or why it cannot be.
    fn put(text: &str, placeholder: &str, value: &str) -> Result<String, String> {
        let start = text.find(placeholder).expect("a placeholder");
        let (range, with) = written(text, start..start + placeholder.len(), value)?;
        Ok(format!("{}{with}{}", &text[..range.start], &text[range.end..]))
    }

    #[test]
    fn an_ipv6_address_takes_brackets_and_a_length_where_they_belong() {
        for (before, after) in [
            ("55.55.55.55", "fd00::7"),
            ("https://55.55.55.55:6443/x", "https://[fd00::7]:6443/x"),
            ("https://55.55.55.55/32", "https://[fd00::7]/32"),
            ("https://55.55.55.55", "https://[fd00::7]"),
            ("http://user:pw@55.55.55.55/", "http://user:pw@[fd00::7]/"),
            ("55.55.55.55:6443", "[fd00::7]:6443"),
            ("--bind=55.55.55.55:6443,x", "--bind=[fd00::7]:6443,x"),
            ("https://[55.55.55.55]:6443", "https://[fd00::7]:6443"),
            ("[55.55.55.55]", "[fd00::7]"),
            ("55.55.55.55/32", "fd00::7/128"),
            ("  - 55.55.55.55/32\n", "  - fd00::7/128\n"),
            ("55.55.55.55/64", "fd00::7/64"),
            ("/etc/55.55.55.55.conf", "/etc/fd00::7.conf"),
            ("a: b\nurl: \"55.55.55.55:6443\"\n", "a: b\nurl: \"[fd00::7]:6443\"\n"),
            ("canReach: 55.55.55.55\nb: 1\n", "canReach: fd00::7\nb: 1\n"),
            ("at 55.55.55.55. Then", "at fd00::7. Then"),
        ] {
            assert_eq!(put(before, "55.55.55.55", "fd00::7").as_deref(), Ok(after), "{before}");
        }
        assert_eq!(put("VIP-VIP", "VIP", "fd00::7").as_deref(), Ok("fd00::7-VIP"));
        assert_eq!(put("fd00::1/64", "fd00::1", "fd00::7").as_deref(), Ok("fd00::7/64"));
    }

    #[test]
    fn where_no_spelling_is_right_the_place_is_refused() {
        for text in [
            "console.55.55.55.55.nip.io",
            "55.55.55.55.nip.io",
            "lb-55.55.55.55",
            "55.55.55.55-10.0.0.9",
            "55.55.55.55/24",
            "a: b\nserver: 55.55.55.55:6443\n",
            "a:\n  - 55.55.55.55:6443\n",
        ] {
            assert!(put(text, "55.55.55.55", "fd00::7").is_err(), "{text}");
        }
        assert!(put("fd00::1/64", "fd00::1", "10.0.3.7").is_err());
    }

    #[test]
    fn an_ipv4_address_loses_what_only_ipv6_has() {
        for (before, after) in [
            ("https://[fd00::1]:6443", "https://10.0.3.7:6443"),
            ("https://[fd00::1]/x", "https://10.0.3.7/x"),
            ("[fd00::1]:6443", "10.0.3.7:6443"),
            ("[fd00::1]", "[10.0.3.7]"),
            ("fd00::1/128", "10.0.3.7/32"),
        ] {
            assert_eq!(put(before, "fd00::1", "10.0.3.7").as_deref(), Ok(after), "{before}");
        }
        for text in ["https://VIP:6443", "VIP/24", "VIP.nip.io", "a: VIP:80\nb: 1\n"] {
            assert_eq!(put(text, "VIP", "10.0.3.7"), Ok(text.replace("VIP", "10.0.3.7")), "{text}");
        }
    }

    #[test]
    fn what_is_no_address_is_written_as_it_is() {
        assert_eq!(put("https://VIP:6443", "VIP", "api.demo").as_deref(), Ok("https://api.demo:6443"));
    }
}
