//! Secrets inside texts: key blocks, addresses with passwords, `name: value` and `NAME=value` whose name says secret,
//! words that have the form of a token. Texts can be files, scripts, YAML, JSON or sentences.

use std::ops::Range;

use super::shapes::{is_secret_word, is_token, may_be_token};
use crate::kinds::contract::SECRET;

/// The ranges of `text` that are secret; they may overlap.
pub(super) fn secrets(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    key_blocks(text, &mut found);
    addresses(text, &mut found);
    words(text, &mut found);
    assignments(text, &mut found);
    found
}

/// What a text quotes: between double quotes, quotes of Go and backticks, and JSON behind `Invalid value:`.
pub(super) fn quotes(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(start) = text[at..].find(['"', '`']).map(|place| at + place) {
        let quote = text[start..].chars().next().unwrap_or('"');
        let inner = &text[start + 1..];
        let mut escaped = false;
        let end = inner.find(|c| {
            let closes = c == quote && !escaped;
            escaped = c == '\\' && !escaped;
            closes
        });
        let end = end.map_or(text.len(), |length| start + 1 + length);
        found.push(start + 1..end);
        at = (end + 1).min(text.len());
        while !text.is_char_boundary(at) {
            at += 1;
        }
    }
    for (place, mark) in text.match_indices("nvalid value: ") {
        let start = place + mark.len();
        let end = text[start..].find(": ").map_or(text.len(), |length| start + length);
        found.push(start..end);
    }
    found
}

/// Private keys between their marks; one that does not end is secret to the end.
fn key_blocks(text: &str, found: &mut Vec<Range<usize>>) {
    const MARK: &str = "PRIVATE KEY-----";
    let mut at = 0;
    while let Some(start) = text[at..].find(MARK).map(|place| at + place + MARK.len()) {
        let end = text[start..].find("-----END").map_or(text.len(), |place| start + place);
        found.push(start..end);
        at = text[end..].find(MARK).map_or(text.len(), |place| end + place + MARK.len());
    }
}

/// Passwords and tokens in addresses: `http://user:password@host`, `https://token@host`.
fn addresses(text: &str, found: &mut Vec<Range<usize>>) {
    for (place, mark) in text.match_indices("://") {
        let start = place + mark.len();
        let stop = |c: char| c.is_whitespace() || matches!(c, '/' | '"' | '\'' | '`' | '<' | '>' | '?' | '#' | ',');
        let mut end = text[start..].find(stop).map_or(text.len(), |length| start + length);
        if is_cut(&text[start..end]) {
            // Nothing but the `@` says where such a password ends.
            let stop = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '`' | '<' | '>' | ',');
            let whole = text[end..].find(stop).map_or(text.len(), |length| end + length);
            end = text[end..whole].rfind('@').map_or(end, |length| end + length + 1);
        }
        let Some(at) = text[start..end].rfind('@').map(|length| start + length) else { continue };
        match text[start..at].find(':') {
            Some(colon) => found.push(start + colon + 1..at),
            None if text[..place].ends_with("http") || text[..place].ends_with("https") => found.push(start..at),
            None => {}
        }
    }
}

/// Whether what stands before the path of an address ends in the middle of a password: behind its colon is neither a port nor a variable.
fn is_cut(authority: &str) -> bool {
    let port = authority.split_once(':').map_or("", |(_, port)| port);
    !authority.contains(['@', '['])
        && !port.starts_with(['$', '{', '%'])
        && !port.bytes().all(|byte| byte.is_ascii_digit())
}

/// Words that have the form of a token.
fn words(text: &str, found: &mut Vec<Range<usize>>) {
    const OF_WORD: [bool; 256] = letters(b"._-$/:");
    for word in runs(text.as_bytes(), &OF_WORD) {
        // Trimmed only where it is long enough for a token as it stands.
        if may_be_token(&text[word.clone()]) {
            let token = text[word.clone()].trim_end_matches(['.', ':']);
            if is_token(token) {
                found.push(word.start..word.start + token.len());
            }
        }
    }
}

/// The bytes that are ASCII letters, digits, or some signs.
pub(super) const fn letters(signs: &[u8]) -> [bool; 256] {
    let mut of = [false; 256];
    let mut byte = 0;
    while byte < of.len() {
        #[expect(clippy::cast_possible_truncation, reason = "it is less than 256")]
        let letter = byte as u8;
        of[byte] = letter.is_ascii_alphanumeric();
        byte += 1;
    }
    let mut at = 0;
    while at < signs.len() {
        of[signs[at] as usize] = true;
        at += 1;
    }
    of
}

/// The longest runs of some bytes, all of them ASCII.
pub(super) fn runs(bytes: &[u8], of: &[bool; 256]) -> impl Iterator<Item = Range<usize>> {
    let is = |byte: &u8| of[usize::from(*byte)];
    let mut at = 0;
    std::iter::from_fn(move || {
        let start = at + bytes[at..].iter().position(is)?;
        at = bytes[start..].iter().position(|byte| !is(byte)).map_or(bytes.len(), |length| start + length);
        Some(start..at)
    })
}

/// Values whose name says that they are secret.
fn assignments(text: &str, found: &mut Vec<Range<usize>>) {
    // Without one of these nothing is given to a name.
    if !text.contains([':', '=']) && !text.contains("--") {
        return;
    }
    let mut offset = 0;
    let gives_passwords = text.contains("chpasswd");
    for line in text.split_inclusive('\n') {
        if gives_passwords && line.contains("chpasswd") {
            passwords_for_chpasswd(line, offset, found);
        }
        let mut at = 0;
        while let Some((name, after)) = next_name(line, at) {
            at = name.end;
            let flag = line[name.clone()].starts_with("--");
            // Most names are followed by nothing that gives them a value, which is told sooner than what they end with.
            let Some(given) = given(line, after, flag).filter(|_| is_secret_word(&line[name.clone()])) else {
                continue;
            };
            let value = value_at(line, given, is_first(line, name.start));
            if matches!(line[value.clone()].trim(), "|" | ">" | "|-" | ">-" | "|+" | ">+") {
                found.push(block_below(text, offset + line.len(), indent(line)));
            } else if !is_harmless(&line[value.clone()]) && !is_said_of(&line[..name.start], &line[value.clone()]) {
                at = value.end;
                found.push(offset + value.start..offset + value.end);
            }
        }
        offset += line.len();
    }
}

/// The next name in a line from `at` on, and where what follows it starts.
fn next_name(line: &str, at: usize) -> Option<(Range<usize>, usize)> {
    const OF_NAME: [bool; 256] = letters(b"_-.");
    let name = runs(&line.as_bytes()[at..], &OF_NAME).next()?;
    let (start, end) = (at + name.start, at + name.end);
    let after = end + usize::from(matches!(line.as_bytes().get(end), Some(b'"' | b'\'')));
    Some((start..end, after))
}

/// Whether nothing but white space, quotes or a list dash stands before a place.
fn is_first(line: &str, start: usize) -> bool {
    line[..start].chars().all(|c| c.is_whitespace() || matches!(c, '"' | '\'' | '-'))
}

/// Where something is given to a name that ends here: behind `:` or `=`, or behind a blank for a flag.
fn given(line: &str, after: usize, flag: bool) -> Option<usize> {
    let rest = line[after..].trim_start_matches([' ', '\t']);
    let value = match rest.as_bytes() {
        [b':' | b'=', ..] => &rest[1..],
        [b'\\', b'"', b':', ..] => &rest[3..],
        _ if flag && rest.len() < line[after..].len() => rest,
        _ => return None,
    };
    Some(line.len() - value.len())
}

/// The value that is given at a place.
fn value_at(line: &str, given: usize, first: bool) -> Range<usize> {
    let value = line[given..].trim_start_matches([' ', '\t', '\\']);
    let scheme = ["Bearer ", "Basic ", "Token "].iter().find_map(|scheme| value.strip_prefix(scheme));
    let value = scheme.unwrap_or(value);
    let start = line.len() - value.len();
    if let Some(quote) = value.chars().next().filter(|c| matches!(c, '"' | '\'')) {
        let inner = &value[1..];
        let end = inner.find(quote).unwrap_or(inner.trim_end().len());
        return start + 1..start + 1 + end;
    }
    let to_end_of_line = first && !line.trim_start().starts_with(['{', '"']);
    let end = if to_end_of_line {
        value.find(" #").unwrap_or(value.len())
    } else {
        value
            .find(|c: char| c.is_whitespace() || matches!(c, ',' | ';' | '}' | ']' | '&' | '"' | '\''))
            .unwrap_or(value.len())
    };
    start..start + value[..end].trim_end().len()
}

/// Whether a value stands for something else and is no secret itself.
fn is_harmless(value: &str) -> bool {
    let value = value.trim();
    value.is_empty()
        || matches!(value, "null" | "true" | "false" | "yes" | "no" | "{}" | "[]" | "~" | "{" | "[")
        || value.starts_with("<redacted")
        || (value.starts_with('$') && !is_token(value))
        || value.starts_with("{{")
}

/// Whether a name is that of a Secret in a sentence of a report (`report/sentence.rs`), and what follows it says what becomes of that:
/// `Secret fleet/demo-kubeconfig: is not known to be safe`.
fn is_said_of(before: &str, value: &str) -> bool {
    const SAYS: [&str; 8] = ["is", "has", "replaces", "destroys", "reaches", "changes", "lands", "will"];
    const PLACES: [&str; 3] = ["data.", "stringData.", "metadata."];
    let mut words = before.rsplit(' ');
    let in_namespace = words.next().is_some_and(|word| word.is_empty() || word.ends_with('/'));
    in_namespace
        && words.next() == Some(SECRET)
        && (SAYS.contains(&value) || PLACES.iter().any(|place| value.starts_with(place) && !is_token(value)))
}

/// What is deeper than `indent` in the lines from `start` on.
fn block_below(text: &str, start: usize, indent_above: usize) -> Range<usize> {
    let mut end = start;
    for line in text[start..].split_inclusive('\n') {
        if !line.trim().is_empty() && indent(line) <= indent_above {
            break;
        }
        end += line.len();
    }
    start..end
}

/// How many blanks a line starts with.
fn indent(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

/// Whatever is given to `chpasswd` on its line: `echo "user:password" | chpasswd`.
fn passwords_for_chpasswd(line: &str, offset: usize, found: &mut Vec<Range<usize>>) {
    let mut at = 0;
    for word in line.split_inclusive(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '|')) {
        let bare = word.trim_end_matches(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '|'));
        if let Some((_, password)) = bare.split_once(':')
            && !password.is_empty()
        {
            let end = offset + at + bare.len();
            found.push(end - password.len()..end);
        }
        at += word.len();
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// What is left of a text when its secrets are taken out.
    fn left(text: &str) -> String {
        let ranges = secrets(text);
        text.char_indices().filter(|(at, _)| !ranges.iter().any(|range| range.contains(at))).map(|(_, c)| c).collect()
    }

    #[test]
    fn secrets_are_found_in_texts_of_every_sort() {
        for text in [
            "password: canary",
            "  db-password: 'canary x'\nnext: 1",
            "{\"auths\":{\"r\":{\"auth\":\"canary\"}}}",
            "{\\\"password\\\": \\\"canary\\\"}",
            "export OS_PASSWORD=canary; run",
            "[Global]\npassword = canary two\n",
            "kubeadm join --token canary --v=5",
            "curl -H 'Authorization: Bearer canary'",
            "echo 'root:canary' | chpasswd",
            "http_proxy=http://u:canary@p:3128/",
            "git clone https://canary@host/repo",
            "server https://u:ab/canary@10.0.0.1:6443 is",
            "https://u:canary?x#canary@host/x",
            "-----BEGIN EC PRIVATE KEY-----\ncanary\n-----END EC PRIVATE KEY-----",
            "tls-key: |\n  canary\n  canary\nnext: 1",
            "of Secret fleet/demo-kubeconfig: canary",
            "ConfigMap fleet/db-password: canary is",
        ] {
            assert!(!left(text).contains("canary"), "{text} -> {}", left(text));
        }
    }

    #[test]
    fn tokens_are_known_by_their_form() {
        for text in
            ["use abcdef.0123456789abcdef now", "$6$saltsalt$abcdefghijklmnopqrstuvwxyz", "AKIAIOSFODNN7EXAMPLE"]
        {
            assert!(
                !left(text).contains("0123456789abcdef") && !left(text).contains("xyz") && !left(text).contains("AKIA"),
                "{text}"
            );
        }
    }

    #[test]
    fn harmless_texts_stay_whole() {
        for text in [
            "replicas: 3\nversion: v1.31.0\nimage: registry.k8s.io/pause:3.9",
            "secretName: web\nssh_pwauth: true\ntoken: ${TOKEN}\n",
            "spec.version \"v1.30.4\" -> \"v1.31.0\" replaces 3 Machines",
            "ssh://git@github.com/org/repo",
            "https://registry.example.org:5000/@scope/pkg oci://host/path/a@sha256:0f1e https://${HOST}:${PORT}/x@y",
            "token-webhook-config-file=/etc/x",
            "Secret fleet/demo-kubeconfig: is not known to be safe",
            "rollgate hold: Secret demo-kubeconfig: data.value is not known to be safe",
        ] {
            assert_eq!(left(text), text);
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_fault(text in "(?s).{0,80}") {
            for range in secrets(&text) {
                prop_assert!(text.get(range).is_some());
            }
        }

        #[test]
        fn any_mix_of_marks_is_read_without_fault(parts in prop::collection::vec(
            prop::sample::select(vec!["password", ":", "=", " ", "\n", "\"", "'", "\\", "://", "@", "token", "é", "|", "--", "-----END", "PRIVATE KEY-----", "chpasswd", "$6$"]), 0..14)) {
            let text = parts.concat();
            for range in secrets(&text) {
                prop_assert!(text.get(range).is_some());
            }
        }
    }
}
