//! What Go's `net/url` and `net` read as an address. Webhooks refuse what they cannot read, so what can be read is asked here
//! as Go asks it. Read beside `net/url/url.go` (Parse, parseAuthority, parseHost) and `net/ipsock.go` (SplitHostPort).

/// An address as Go reads it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Url<'t> {
    /// In lower case, and empty where there is none.
    pub(crate) scheme: String,
    /// The host with its port, without a user; empty where there is none.
    pub(crate) host: &'t str,
    /// Whether something that begins with no slash follows the scheme.
    pub(crate) is_opaque: bool,
    /// Whether it has a path, be it only a slash.
    pub(crate) has_path: bool,
}

impl Url<'_> {
    /// The host without its port and brackets (`URL.Hostname`).
    pub(crate) fn hostname(&self) -> &str {
        hostname(self.host)
    }
}

/// A host without its port and brackets.
pub(crate) fn hostname(host: &str) -> &str {
    let host = host.rsplit_once(':').filter(|(_, port)| is_number(port)).map_or(host, |(host, _)| host);
    host.strip_prefix('[').and_then(|inner| inner.strip_suffix(']')).unwrap_or(host)
}

/// What `url.Parse` reads; `None` where it refuses the text.
pub(crate) fn parse(text: &str) -> Option<Url<'_>> {
    let (address, fragment) = text.split_once('#').unwrap_or((text, ""));
    read(address, false).filter(|_| has_whole_escapes(fragment) && !has_control(text))
}

/// What `url.ParseRequestURI` reads: an absolute path, or anything behind a scheme.
pub(crate) fn parse_request(text: &str) -> Option<Url<'_>> {
    read(text, true).filter(|_| !text.is_empty() && !has_control(text))
}

/// The scheme of an address, as [`parse`] has it.
pub(crate) fn scheme(text: &str) -> Option<String> {
    parse(text).map(|url| url.scheme)
}

fn has_control(text: &str) -> bool {
    text.bytes().any(|byte| byte < b' ' || byte == 0x7f)
}

fn read(text: &str, is_request: bool) -> Option<Url<'_>> {
    let none = |scheme, is_opaque, has_path| Url { scheme, host: "", is_opaque, has_path };
    if text == "*" {
        return Some(none(String::new(), false, true));
    }
    let (scheme, rest) = split_scheme(text)?;
    let rest = rest.split('?').next().unwrap_or_default();
    if !rest.starts_with('/') {
        if !scheme.is_empty() {
            return Some(none(scheme, !rest.is_empty(), false));
        }
        // Without a scheme a colon in front of the first slash would be one.
        let is_path = !rest.split('/').next().unwrap_or_default().contains(':') && has_whole_escapes(rest);
        return (is_path && !is_request).then(|| none(scheme, false, !rest.is_empty()));
    }
    let has_host = !scheme.is_empty() || (!is_request && !rest.starts_with("///"));
    let Some(authority) = rest.strip_prefix("//").filter(|_| has_host) else {
        return has_whole_escapes(rest).then(|| none(scheme, false, true));
    };
    let has_path = authority.contains('/');
    let (authority, path) = authority.split_once('/').unwrap_or((authority, ""));
    let (user, host) = authority.rsplit_once('@').unwrap_or(("", authority));
    let is_read = is_user(user) && is_host(host) && has_whole_escapes(path);
    is_read.then_some(Url { scheme, host, is_opaque: false, has_path })
}

/// The scheme and what follows it; `None` where a colon stands first.
fn split_scheme(text: &str) -> Option<(String, &str)> {
    for (place, byte) in text.bytes().enumerate() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' => {}
            b'0'..=b'9' | b'+' | b'-' | b'.' if place > 0 => {}
            b':' if place == 0 => return None,
            b':' => return Some((text[..place].to_ascii_lowercase(), &text[place + 1..])),
            _ => break,
        }
    }
    Some((String::new(), text))
}

/// Whether a text is a user, with a password or without.
fn is_user(text: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-._:~!$&'()*+,;=%@".contains(&byte);
    text.bytes().all(fits) && has_whole_escapes(text)
}

/// Whether a text is a host with its port. In brackets stands an address of IPv6 (since Go 1.24.8), which may name its zone.
fn is_host(host: &str) -> bool {
    let is_port = |tail: &str| tail.is_empty() || tail.strip_prefix(':').is_some_and(is_number);
    let is_split = if let Some(inner) = host.strip_prefix('[') {
        inner.rsplit_once(']').is_some_and(|(inner, tail)| {
            let address = inner.split("%25").next().unwrap_or_default();
            is_port(tail) && address.parse::<std::net::Ipv6Addr>().is_ok()
        })
    } else {
        // Since Go 1.26 one colon at most, and no brackets elsewhere.
        host.split_once(':').is_none_or(|(_, port)| is_number(port)) && !host.contains(['[', ']'])
    };
    // Only what is no ASCII may be escaped, and the percent sign itself.
    let is_escape =
        |tail: &str| tail.starts_with("25") || tail.starts_with(|first: char| "89abcdefABCDEF".contains(first));
    is_split
        && has_whole_escapes(host)
        && host.match_indices('%').all(|(place, _)| is_escape(&host[place + 1..]))
        && !host.bytes().any(|byte| b" {}|\\^`#?/@".contains(&byte))
}

fn is_number(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether every percent sign has its two digits.
pub(crate) fn has_whole_escapes(text: &str) -> bool {
    let digits = |tail: &str| tail.len() >= 2 && tail.bytes().take(2).all(|byte| byte.is_ascii_hexdigit());
    text.match_indices('%').all(|(place, _)| digits(&text[place + 1..]))
}

/// Whether a text is a host and a port (`net.SplitHostPort`).
pub(crate) fn is_host_and_port(text: &str) -> bool {
    let Some((host, port)) = text.rsplit_once(':') else { return false };
    let is_plain = |text: &str| !text.contains(['[', ']']);
    let is_host = match host.strip_prefix('[').map(|inner| inner.strip_suffix(']')) {
        Some(inner) => inner.is_some_and(is_plain),
        None => is_plain(host) && !host.contains(':'),
    };
    is_host && is_plain(port)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_split_as_go_splits_them() {
        for (text, told) in [
            ("http://proxy.example.com:3128", "http"),
            ("S3://example.com/ca.pem", "s3"),
            ("data:,Hello%2C", "data"),
            ("data;;", ""),
            ("", ""),
            ("/a/b", ""),
            ("//host/path", ""),
            ("http://[::1]:80/a?b#c", "http"),
        ] {
            assert_eq!(scheme(text).as_deref(), Some(told), "{text}");
        }
        for text in [
            "http://a%20b/c",
            "http://[a]/b",
            "http://[::1]x/",
            "http://a:1:b/",
            "*:80",
            ":80",
            "http://a b/",
            "http://a:b/",
            "/%zz",
            "a\u{7f}",
            "http://[::1",
        ] {
            assert_eq!(scheme(text), None, "{text}");
        }
    }

    #[test]
    fn requests_are_read_as_go_reads_them() {
        for text in [
            "http://a/b",
            "/a/b",
            "oci:r/i",
            "*",
            "http://a/b?x=%zz",
            "http://u@a:80/b",
            "http://[fd00::1]:80/b",
            "file:///a",
            "a:b",
        ] {
            assert!(parse_request(text).is_some(), "{text}");
        }
        for text in
            ["", "a/b", "http://a:port/b", "http://[a]/b", "http://a%20b/c", "http://a/%zz", "http://a b/", "1a://b"]
        {
            assert!(parse_request(text).is_none(), "{text}");
        }
    }

    #[test]
    fn a_path_is_a_slash_at_least() {
        let told = |text| parse_request(text).map(|url| url.has_path);
        for text in ["http://a/", "http://a/b", "/", "*", "http:/a", "//a"] {
            assert_eq!(told(text), Some(true), "{text}");
        }
        for text in ["http://a", "http://a:80", "http://a?b=/c", "http:", "a:b"] {
            assert_eq!(told(text), Some(false), "{text}");
        }
    }

    #[test]
    fn a_host_is_named_without_its_port() {
        let told = |text| parse(text).map(|url| url.hostname().to_owned());
        assert_eq!(told("a://u@h:1/b").as_deref(), Some("h"));
        assert_eq!(told("a://[fd00::1]:6230").as_deref(), Some("fd00::1"));
        assert_eq!(told("a://fd00::1/b"), None);
        assert_eq!(told("a:b").as_deref(), Some(""));
    }

    #[test]
    fn hosts_have_one_port() {
        for text in ["a:1", "10.0.0.1:", "[::1]:80", ":1"] {
            assert!(is_host_and_port(text), "{text}");
        }
        for text in ["a", "::1", "[::1]", "a]:1"] {
            assert!(!is_host_and_port(text), "{text}");
        }
    }
}
