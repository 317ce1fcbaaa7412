//! What Go's `net/url` and `net` read as an address. Webhooks refuse what they cannot read, so what can be read is asked here
//! as Go asks it. Read beside `net/url/url.go` (Parse, parseAuthority, parseHost) and `net/ipsock.go` (SplitHostPort).

/// The scheme of an address as Go's `url.Parse` splits it off, lower case and empty where there is none; `None` where Go does
/// not read the text.
pub(crate) fn scheme(text: &str) -> Option<String> {
    if text.bytes().any(|byte| byte < b' ' || byte == 0x7f) {
        return None;
    }
    let (address, fragment) = text.split_once('#').unwrap_or((text, ""));
    let (scheme, rest) = split_scheme(address)?;
    let rest = rest.split('?').next().unwrap_or_default();
    if !has_whole_escapes(fragment) {
        return None;
    }
    if !rest.starts_with('/') {
        // Behind a scheme anything goes; without one a colon in front of the first slash would be one.
        let is_path = !rest.split('/').next().unwrap_or_default().contains(':') && has_whole_escapes(rest);
        return (!scheme.is_empty() || is_path).then_some(scheme);
    }
    let authority = rest.strip_prefix("//").filter(|_| !scheme.is_empty() || !rest.starts_with("///"));
    let path = match authority {
        Some(authority) => {
            let (host, path) = authority.split_once('/').unwrap_or((authority, ""));
            if !is_authority(host) {
                return None;
            }
            path
        }
        None => rest,
    };
    has_whole_escapes(path).then_some(scheme)
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

/// Whether a text is a host with its port, a user in front of it or not.
fn is_authority(text: &str) -> bool {
    let (user, host) = text.rsplit_once('@').unwrap_or(("", text));
    let is_user = |byte: u8| byte.is_ascii_alphanumeric() || b"-._:~!$&'()*+,;=%@".contains(&byte);
    let is_port = |tail: &str| tail.is_empty() || tail.strip_prefix(':').is_some_and(is_number);
    let is_host = if let Some(inner) = host.strip_prefix('[') {
        inner.rsplit_once(']').is_some_and(|(_, tail)| is_port(tail))
    } else {
        host.rsplit_once(':').is_none_or(|(_, port)| is_number(port))
    };
    is_host
        && user.bytes().all(is_user)
        && has_whole_escapes(user)
        && has_whole_escapes(host)
        && !host.bytes().any(|byte| b" {}|\\^`".contains(&byte))
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
        for text in ["*:80", ":80", "http://a b/", "http://a:b/", "/%zz", "a\u{7f}", "http://[::1"] {
            assert_eq!(scheme(text), None, "{text}");
        }
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
