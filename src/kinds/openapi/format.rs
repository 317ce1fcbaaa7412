//! Whether a text has the format that a schema names. Read beside `pkg/validation/strfmt` of `k8s.io/kube-openapi` (`default.go`, `date.go`,
//! `time.go`, `duration.go`). What is only nearly known there lets a text through: a refusal is never a guess.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::LazyLock;

use regex::Regex;

use crate::object::go_duration;

/// Whether a text may have a format; of formats that nobody checks every text has.
pub(super) fn may_be(value: &str, format: &str) -> bool {
    // Names are compared without dashes.
    match format.replace('-', "").as_str() {
        "ipv4" => value.contains('.') && address(value).is_some(),
        "ipv6" => value.contains(':') && address(value).is_some(),
        "cidr" => is_cidr(value),
        "mac" => is_mac(value),
        "uuid" => UUID.is_match(value),
        "uuid3" => UUID.is_match(value) && version(value) == Some('3'),
        "uuid4" => UUID.is_match(value) && version(value) == Some('4'),
        "uuid5" => UUID.is_match(value) && version(value) == Some('5'),
        "date" => is_date(value),
        "datetime" => value.split_once(['T', 't']).is_some_and(|(date, time)| is_date(date) && TIME.is_match(time)),
        "duration" => go_duration(value).is_some() || DURATION.is_match(value),
        "uri" => value.starts_with('/') || SCHEME.is_match(value),
        "email" => value.split_once('@').is_some_and(|(name, host)| !name.is_empty() && !host.is_empty()),
        "hostname" => !value.is_empty() && !value.contains(|c: char| c.is_whitespace() || "_/:@".contains(c)),
        _ => true,
    }
}

static UUID: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new("^(?i)[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$").expect("a pattern")
});
static TIME: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^(?i)\d{2}:\d{2}:\d{2}(.\d+)?(z|[+-]\d{2}:\d{2})$").expect("a pattern"));
static DURATION: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\d+\s*[A-Za-zµ]+").expect("a pattern"));
static SCHEME: LazyLock<Regex> = LazyLock::new(|| Regex::new("^[A-Za-z][A-Za-z0-9+.-]*:").expect("a pattern"));

/// The digit of a UUID that says how it was made.
fn version(value: &str) -> Option<char> {
    value.chars().filter(|c| *c != '-').nth(12)
}

/// An address, with zeros before the numbers of one of version 4 (`ParseIPSloppy`).
fn address(value: &str) -> Option<IpAddr> {
    let number = |part: &str| part.parse::<u8>().ok().filter(|_| part.bytes().all(|byte| byte.is_ascii_digit()));
    let sloppy = || {
        let parts: Option<Vec<u8>> = value.split('.').map(number).collect();
        <[u8; 4]>::try_from(parts?).ok().map(|parts| IpAddr::V4(Ipv4Addr::from(parts)))
    };
    value.parse().ok().or_else(sloppy)
}

fn is_cidr(value: &str) -> bool {
    value.split_once('/').is_some_and(|(network, bits)| {
        let most = match address(network) {
            Some(IpAddr::V4(_)) => 32,
            Some(IpAddr::V6(_)) => 128,
            None => return false,
        };
        bits.bytes().all(|byte| byte.is_ascii_digit()) && bits.parse::<u8>().is_ok_and(|bits| bits <= most)
    })
}

/// A hardware address of 6, 8 or 20 bytes (`net.ParseMAC`).
fn is_mac(value: &str) -> bool {
    let is_hex = |part: &str, length: usize| part.len() == length && part.bytes().all(|byte| byte.is_ascii_hexdigit());
    let of = |sign: char, length: usize, counts: [usize; 3]| {
        let parts: Vec<&str> = value.split(sign).collect();
        counts.contains(&parts.len()) && parts.iter().all(|part| is_hex(part, length))
    };
    of(':', 2, [6, 8, 20]) || of('-', 2, [6, 8, 20]) || of('.', 4, [3, 4, 10])
}

fn is_date(value: &str) -> bool {
    value.len() == 10 && value.parse::<jiff::civil::Date>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_has_its_format_or_not() {
        for (format, right, wrong) in [
            ("ipv4", "10.0.3.7", "1.2.3"),
            ("ipv4", "010.0.3.7", "10.0.3.256"),
            ("ipv6", "fd00::1", "10.0.3.7"),
            ("cidr", "10.0.0.0/8", "10.0.0.0/33"),
            ("cidr", "fd00::/64", "10.0.0.0"),
            ("mac", "00:11:22:33:44:55", "00:11:22:33:44"),
            ("uuid", "6BA7B810-9dad-11d1-80b4-00c04fd430c8", "6ba7b810"),
            ("uuid4", "6ba7b810-9dad-41d1-80b4-00c04fd430c8", "6ba7b810-9dad-11d1-80b4-00c04fd430c8"),
            ("date", "2026-11-29", "2026-13-29"),
            ("date-time", "2026-11-29T10:00:00.5Z", "2026-11-29 10:00:00"),
            ("duration", "1h30m", "soon"),
            ("duration", "2 days", ""),
            ("uri", "https://example.org", "example.org"),
            ("email", "a@b.c", "a"),
            ("hostname", "a.example.org", "a b"),
            ("password", "anything", "\u{0}"),
        ] {
            assert!(may_be(right, format), "{right} as {format}");
            assert_eq!(may_be(wrong, format), format == "password", "{wrong} as {format}");
        }
    }
}
