//! What a late value must look like. Messages never hold the value itself, so that they also fit a secret one.

use std::net::IpAddr;
use std::sync::LazyLock;

use ipnet::IpNet;
use regex::Regex;

use crate::compare::same_amount;
use crate::object::nanoseconds;
use crate::policy::{LateValue, ValueType};

impl ValueType {
    /// The word as it stands in the policy.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Ip => "ip",
            Self::Cidr => "cidr",
            Self::Hostname => "hostname",
            Self::Url => "url",
            Self::Uuid => "uuid",
            Self::Integer => "integer",
            Self::Boolean => "boolean",
            Self::Quantity => "quantity",
            Self::Duration => "duration",
            Self::Pem => "pem",
            Self::Sha256 => "sha256",
            Self::Enum => "enum",
            Self::String => "string",
        }
    }
}

/// Whether `text` may be the value: its type, its pattern, its network.
///
/// # Errors
/// A sentence that goes on after "the value", without the value.
pub(crate) fn check(value: &LateValue, text: &str) -> Result<(), String> {
    if text.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\t')) {
        return Err("holds control characters".to_owned());
    }
    if value.kind == ValueType::Enum && !value.values.iter().any(|one| one == text) {
        return Err(format!("is none of {}", value.values.join(", ")));
    }
    if !fits(value.kind, text) {
        return Err(format!("is not of type {}", value.kind.word()));
    }
    if let Some(pattern) = &value.pattern {
        let whole =
            regex::Regex::new(&format!(r"\A(?:{pattern})\z")).map_err(|_| "has a pattern that cannot be read")?;
        if !whole.is_match(text) {
            return Err(format!("does not match the pattern {pattern}"));
        }
    }
    if value.within.is_empty() || value.within.iter().any(|within| lies_within(text, within)) {
        return Ok(());
    }
    Err(format!("does not lie within {}", value.within.iter().collect::<Vec<_>>().join(" or ")))
}

/// A text of the type that is none of the placeholders, to see what a place does when it changes. No value that is ever written.
#[must_use]
pub(crate) fn sample(value: &LateValue) -> String {
    let within = || value.within.iter().filter_map(|network| network.parse::<IpNet>().ok());
    let hosts = within().flat_map(|network| network.hosts().take(8)).map(|host| host.to_string());
    let networks = within().map(|network| network.to_string());
    let listed: Vec<String> = match value.kind {
        ValueType::Ip => hosts.chain(["10.254.253.252", "10.254.253.251"].map(str::to_owned)).collect(),
        ValueType::Cidr => networks.chain(["10.254.253.0/24", "10.254.252.0/24"].map(str::to_owned)).collect(),
        ValueType::Enum => value.values.clone(),
        ValueType::Hostname => vec!["sample.example.org".to_owned(), "other.example.org".to_owned()],
        ValueType::Url => vec!["https://sample.example.org".to_owned(), "https://other.example.org".to_owned()],
        ValueType::Uuid => {
            let uuid = |last: char| format!("6b3c1f0e-5d2a-4c7b-9e8f-0a1b2c3d4e5{last}");
            vec![uuid('f'), uuid('e')]
        }
        ValueType::Integer => vec!["7".to_owned(), "8".to_owned()],
        ValueType::Boolean => vec!["true".to_owned(), "false".to_owned()],
        ValueType::Quantity => vec!["7Gi".to_owned(), "8Gi".to_owned()],
        ValueType::Duration => vec!["7m".to_owned(), "8m".to_owned()],
        ValueType::Sha256 => vec!["5f".repeat(32), "6e".repeat(32)],
        ValueType::Pem | ValueType::String => vec!["sample-value".to_owned(), "other-value".to_owned()],
    };
    let is_free = |text: &&String| {
        let taken = value.placeholders.iter().chain(&value.equivalent);
        !taken.into_iter().any(|other| other == *text)
    };
    listed.iter().find(is_free).or(listed.first()).cloned().unwrap_or_default()
}

/// Whether the text has the form of the type.
fn fits(kind: ValueType, text: &str) -> bool {
    match kind {
        ValueType::Ip => text.parse::<IpAddr>().is_ok(),
        ValueType::Cidr => text.parse::<IpNet>().is_ok(),
        ValueType::Hostname => is_hostname(text),
        ValueType::Url => is_url(text),
        ValueType::Uuid => is_uuid(text),
        ValueType::Integer => {
            let digits = text.strip_prefix('-').unwrap_or(text);
            let padded = digits.len() > 1 && digits.starts_with('0');
            !digits.is_empty() && !padded && digits.bytes().all(|byte| byte.is_ascii_digit())
        }
        ValueType::Boolean => ["true", "false"].iter().any(|word| text.eq_ignore_ascii_case(word)),
        ValueType::Quantity => QUANTITY.is_match(text),
        ValueType::Duration => text == "0" || DURATION.is_match(text),
        ValueType::Pem => is_pem(text),
        ValueType::Sha256 => {
            let digits = text.strip_prefix("sha256:").unwrap_or(text);
            digits.len() == 64 && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
        }
        ValueType::Enum | ValueType::String => true,
    }
}

/// As `resource.ParseQuantity` of apimachinery reads one.
static QUANTITY: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"\A[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]+)?\z")
        .expect("a regular expression of ours")
});

/// As `time.ParseDuration` of Go reads one.
static DURATION: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"\A[+-]?(?:(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:ns|us|µs|μs|ms|s|m|h))+\z")
        .expect("a regular expression of ours")
});

/// Blocks of RFC 7468 with nothing between them.
fn is_pem(text: &str) -> bool {
    let mut rest = text.trim();
    while let Some(block) = rest.strip_prefix("-----BEGIN ") {
        let Some((label, body)) = block.split_once("-----") else { return false };
        let Some((letters, after)) = body.split_once(&format!("-----END {label}-----")) else { return false };
        if letters.trim().is_empty() || letters.contains("-----") {
            return false;
        }
        rest = after.trim_start();
        if rest.is_empty() {
            return true;
        }
    }
    false
}

/// The one spelling of a value: what is written and pinned, so that a source that only spells anew changes nothing.
#[must_use]
pub(crate) fn normal(kind: ValueType, text: &str) -> String {
    match kind {
        ValueType::Ip => text.parse::<IpAddr>().map_or_else(|_| text.to_owned(), |address| address.to_string()),
        ValueType::Cidr => text.parse::<IpNet>().map_or_else(|_| text.to_owned(), |network| network.to_string()),
        ValueType::Hostname | ValueType::Uuid | ValueType::Boolean | ValueType::Sha256 => text.to_ascii_lowercase(),
        _ => text.to_owned(),
    }
}

/// A name by RFC 1123 whose last label is not a number, so that an IPv4 address is none.
fn is_hostname(text: &str) -> bool {
    let label = |label: &str| {
        let edge = |c: char| c.is_ascii_alphanumeric();
        label.len() <= 63
            && label.starts_with(edge)
            && label.ends_with(edge)
            && label.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
    };
    let number = |label: &str| label.bytes().all(|byte| byte.is_ascii_digit());
    text.len() <= 253 && text.split('.').all(label) && !text.rsplit('.').next().is_some_and(number)
}

/// `scheme://host...` by RFC 3986, as far as a mix-up with something else can be seen.
fn is_url(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once("://") else { return false };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default();
    scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
        && !host.is_empty()
        && !host.starts_with(':')
        && !text.chars().any(|c| c.is_whitespace() || matches!(c, '"' | '<' | '>' | '\\' | '^' | '`' | '{' | '|' | '}'))
}

/// 8-4-4-4-12 hexadecimal digits, or the 32 of them that OpenStack's Keystone writes without dashes.
fn is_uuid(text: &str) -> bool {
    let hex = |part: &str, length: usize| part.len() == length && part.bytes().all(|byte| byte.is_ascii_hexdigit());
    let parts: Vec<&str> = text.split('-').collect();
    hex(text, 32) || parts.len() == 5 && parts.iter().zip([8, 4, 4, 4, 12]).all(|(part, length)| hex(part, length))
}

/// Whether an address or a network lies within a network.
fn lies_within(text: &str, within: &str) -> bool {
    let Ok(network) = within.parse::<IpNet>() else { return false };
    match (text.parse::<IpAddr>(), text.parse::<IpNet>()) {
        (Ok(address), _) => network.contains(&address),
        (_, Ok(inner)) => network.contains(&inner),
        _ => false,
    }
}

/// Whether two spellings mean the same value, so that a source that only spells anew has not moved.
#[must_use]
pub(crate) fn same(kind: ValueType, left: &str, right: &str) -> bool {
    let bare = |text: &'_ str| text.strip_prefix("sha256:").unwrap_or(text).to_owned();
    let parsed = match kind {
        ValueType::Ip => {
            left.parse::<IpAddr>().ok().zip(right.parse::<IpAddr>().ok()).map(|(left, right)| left == right)
        }
        ValueType::Cidr => {
            left.parse::<IpNet>().ok().zip(right.parse::<IpNet>().ok()).map(|(left, right)| left == right)
        }
        ValueType::Hostname => Some(left.eq_ignore_ascii_case(right)),
        ValueType::Uuid => Some(left.replace('-', "").eq_ignore_ascii_case(&right.replace('-', ""))),
        ValueType::Boolean => Some(left.eq_ignore_ascii_case(right)),
        ValueType::Sha256 => Some(bare(left).eq_ignore_ascii_case(&bare(right))),
        ValueType::Quantity => Some(left == right || same_amount(left, right)),
        ValueType::Duration => nanoseconds(left).zip(nanoseconds(right)).map(|(left, right)| left == right),
        _ => None,
    };
    parsed.unwrap_or(left == right)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::Networks;

    const SHA: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    const PREFIXED: &str = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

    #[test]
    fn a_value_has_one_spelling() {
        for (kind, text, normal) in [
            (ValueType::Ip, "FD00:0:0::7", "fd00::7"),
            (ValueType::Hostname, "API.Demo", "api.demo"),
            (ValueType::Boolean, "True", "true"),
            (ValueType::String, "As It Is", "As It Is"),
        ] {
            assert_eq!(super::normal(kind, text), normal);
        }
        assert!(same(ValueType::Sha256, SHA, PREFIXED));
        let mut value = value(ValueType::Enum);
        value.values = vec!["a".to_owned(), "b".to_owned()];
        assert_eq!(check(&value, "a"), Ok(()));
        assert_eq!(check(&value, "c"), Err("is none of a, b".to_owned()));
    }

    #[test]
    fn each_type_takes_its_own_and_refuses_its_neighbours() {
        use ValueType::{Boolean, Cidr, Duration, Hostname, Integer, Ip, Pem, Quantity, Sha256, String, Url, Uuid};
        for (kind, good, bad) in [
            (Ip, &["10.0.3.7", "fd00::1"][..], &["10.0.3", "10.0.3.07", "10.0.3.7/32", "vip", "10.0.3.7:6443", ""][..]),
            (Cidr, &["10.0.0.0/16", "fd00::/64"], &["10.0.0.0", "10.0.0.0/33", "x/8"]),
            (
                Hostname,
                &["api.demo.example.com", "node-1", "3com.com"],
                &["-a.b", "a..b", "a_b", "10.0.3.7", "a.b:6443", ""],
            ),
            (
                Url,
                &["https://api:6443", "http://[fd00::1]/x?y"],
                &["api:6443", "https://", "https:///x", "http://a b", "://a"],
            ),
            (
                Uuid,
                &["6f1d2c3b-0000-4000-8000-00000000abcd", "6f1d2c3b000040008000000000000abc"],
                &["6f1d2c3b", "6f1d2c3b-0000-4000-8000-00000000abcg"],
            ),
            (Integer, &["0", "-5", "184467440737095516160"], &["", "-", "1.5", "1e3", "007", "+1"]),
            (Boolean, &["true", "False"], &["yes", "1", ""]),
            (Quantity, &["1", "500m", "1.5Gi", "1e3", ".5"], &["1 Gi", "1GiB", "", "x"]),
            (Duration, &["0", "10m", "1h30m", "1.5s", "300ms"], &["10", "1d", "m", ""]),
            (Sha256, &[SHA, PREFIXED], &["sha256:12", "e3b0", ""]),
            (
                Pem,
                &["-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"],
                &["MIIB", "-----BEGIN CERTIFICATE-----\nMIIB\n", "-----BEGIN A-----\nx\n-----END B-----"],
            ),
            (String, &["anything at all"], &["bell\u{7}"]),
        ] {
            let value = value(kind);
            for text in good {
                assert_eq!(check(&value, text), Ok(()), "{} {text}", kind.word());
            }
            for text in bad {
                assert!(check(&value, text).is_err(), "{} {text}", kind.word());
            }
        }
    }

    #[test]
    fn a_pattern_covers_the_whole_value_and_a_network_is_kept() {
        let mut value = value(ValueType::Ip);
        value.within = Networks::Several(vec!["10.8.0.0/16".to_owned(), "10.0.0.0/16".to_owned()]);
        assert_eq!(check(&value, "10.8.3.7"), Ok(()));
        assert_eq!(check(&value, "10.1.3.7"), Err("does not lie within 10.8.0.0/16 or 10.0.0.0/16".to_owned()));
        value.within = Networks::One("10.0.0.0/16".to_owned());
        assert_eq!(check(&value, "10.0.3.7"), Ok(()));
        assert_eq!(check(&value, "10.1.3.7"), Err("does not lie within 10.0.0.0/16".to_owned()));
        let mut value = self::value(ValueType::String);
        value.pattern = Some("a|b".to_owned());
        assert_eq!(check(&value, "a"), Ok(()));
        assert!(check(&value, "ab").is_err());
        assert!(check(&value, "a\n").is_err());
    }

    #[test]
    fn another_spelling_is_not_another_value() {
        assert!(same(ValueType::Ip, "fd00::1", "FD00:0:0::1"));
        assert!(!same(ValueType::Ip, "10.0.3.7", "10.0.3.8"));
        assert!(same(ValueType::Hostname, "API.demo", "api.Demo"));
        assert!(!same(ValueType::String, "a", "A"));
        for (left, right) in [("1", "1000m"), ("1Gi", "1024Mi"), ("1.5k", "1500"), (".5", "500m"), ("0.1Gi", "0.1Gi")] {
            assert!(same(ValueType::Quantity, left, right), "{left} {right}");
        }
        for (left, right) in [("1G", "1Gi"), ("1", "1m"), ("1", "-1"), ("1E", "1e1")] {
            assert!(!same(ValueType::Quantity, left, right), "{left} {right}");
        }
        assert!(same(ValueType::Duration, "1h30m", "90m") && same(ValueType::Duration, "1.5s", "1500ms"));
        assert!(!same(ValueType::Duration, "1m", "1ms") && same(ValueType::Duration, "0", "0s"));
    }

    fn value(kind: ValueType) -> LateValue {
        crate::tree::from_value(crate::tree::json!({"name": "v", "type": kind})).expect("a late value")
    }
}
