//! What a template asks with, and the same template asking something else. A call of `lookup` stands in its actions, as Go's `text/template` finds them, and in texts that are templates themselves.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use memchr::memmem;

/// The function of Helm that asks (helm `pkg/engine/lookup_func.go`).
const ASKS: &[u8] = b"lookup";
/// A function that fails with as many arguments (helm `pkg/engine/engine.go`, `fail`: it takes one).
const FAILS: &[u8] = b"fail";

/// What a template is told of how often the release was written: 1, where nobody is asked (helm `pkg/action/install.go`, `RunWithContext`).
pub(super) const REVISION: &[u8] = b"Release.Revision";
/// Something else that stands in the same places.
const NO_REVISION: &[u8] = b"Release.Namespace";

/// Minor versions that an API server may have: that Cluster API manages, and far beyond.
pub(super) const MINORS: RangeInclusive<u64> = 20..=99;

/// A template with something else in place of the revision.
pub(super) fn another_revision(template: &[u8]) -> Vec<u8> {
    replaced(template, memmem::find_iter(template, REVISION), REVISION.len(), NO_REVISION)
}

/// A template in which each call fails.
pub(super) fn disarmed(template: &[u8]) -> Vec<u8> {
    replaced(template, calls(template).into_iter(), ASKS.len(), FAILS)
}

/// A text with other words in some places, each of so many bytes.
fn replaced(text: &[u8], places: impl Iterator<Item = usize>, length: usize, other: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut from = 0;
    for at in places {
        out.extend_from_slice(text.get(from..at).unwrap_or_default());
        out.extend_from_slice(other);
        from = at + length;
    }
    out.extend_from_slice(text.get(from..).unwrap_or_default());
    out
}

/// Adds each minor version of Kubernetes that a text names, as `1.31`; of a text that asks for the version also as a number of its own.
pub(super) fn add_minors(text: &[u8], asks: bool, out: &mut BTreeSet<u64>) {
    for run in text.split(|byte| !(byte.is_ascii_digit() || *byte == b'.')).filter_map(|run| str::from_utf8(run).ok()) {
        let mut parts = run.split('.');
        let minor = match (parts.next(), parts.next()) {
            (Some("1"), Some(minor)) => Some(minor),
            (alone, None) if asks => alone,
            _ => None,
        };
        out.extend(minor.and_then(|minor| minor.parse().ok()).filter(|minor| MINORS.contains(minor)));
    }
}

/// Where a template calls `lookup`.
pub(super) fn calls(template: &[u8]) -> Vec<usize> {
    let mut out = Vec::new();
    if memmem::find(template, ASKS).is_some() {
        look(template, 0, &mut out);
    }
    out
}

/// Looks through what stands between braces (Go `text/template/parse/lex.go`); a text in it may be a template itself.
fn look(text: &[u8], start: usize, out: &mut Vec<usize>) {
    let mut at = 0;
    let byte = |at: usize| text.get(at).copied();
    while let Some(open) = memmem::find(text.get(at..).unwrap_or_default(), b"{{") {
        at += open + 2;
        let inner = text.get(at..).unwrap_or_default();
        let trimmed = inner.strip_prefix(b"-").unwrap_or(inner).trim_ascii_start();
        if trimmed.starts_with(b"/*") {
            at += memmem::find(inner, b"*/").unwrap_or(inner.len());
            continue;
        }
        while let Some(now) = byte(at) {
            match now {
                b'}' if byte(at + 1) == Some(b'}') => break,
                b'"' | b'`' | b'\'' => {
                    let end = quoted(text, at);
                    look(text.get(at + 1..end).unwrap_or_default(), start + at + 1, out);
                    at = end + 1;
                }
                b'a'..=b'z' | b'A'..=b'Z' | b'_' => {
                    let rest = text.get(at..).unwrap_or_default();
                    let is_of_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
                    let word = rest.iter().take_while(|byte| is_of_word(byte)).count();
                    let is_field = at > 0 && matches!(byte(at - 1), Some(b'.' | b'$'));
                    if !is_field && rest.get(..word) == Some(ASKS) {
                        out.push(start + at);
                    }
                    at += word;
                }
                _ => at += 1,
            }
        }
    }
}

/// Where a text in quotes ends that begins at `start`: at its last quote.
fn quoted(text: &[u8], start: usize) -> usize {
    let quote = text.get(start).copied();
    let mut at = start + 1;
    while let Some(byte) = text.get(at).copied() {
        match byte {
            _ if Some(byte) == quote => return at,
            b'\\' if quote != Some(b'`') => at += 2,
            _ => at += 1,
        }
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_a_word_of_an_action() {
        let number = |text: &str| calls(text.as_bytes()).len();
        assert_eq!(number("lookup {{/* lookup */}} {{- /* lookup */ -}} {{ .lookup }} {{ $lookup }} {{ lookups }}"), 0);
        assert_eq!(number("{{ fail \"lookup failed\" }} {{ `lookup` }} {{ 'l' }} {{ \"a\\\" lookup\" }}"), 0);
        assert_eq!(
            number("{{ lookup }} {{- if (lookup \"v1\") }} {{ \"}}\" | lookup }} {{ tpl \"{{ lookup }}\" . }}"),
            4
        );
        assert_eq!(number("{{ lookup \"a"), 1);
        let disarmed = disarmed(b"lookup: {{ lookup .lookup }}{{ lookup }}");
        assert_eq!(String::from_utf8_lossy(&disarmed), "lookup: {{ fail .lookup }}{{ fail }}");
    }
}
