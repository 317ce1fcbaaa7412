//! What a template asks with, and the same template asking something else. A call stands in its actions, as Go's `text/template` finds
//! them, and in texts that are templates themselves.

use memchr::memmem;

/// The function of Helm that asks (helm `pkg/engine/lookup_func.go`).
const ASKS: &[u8] = b"lookup";
/// A function that fails with as many arguments (helm `pkg/engine/engine.go`, `fail`: it takes one).
const FAILS: &[u8] = b"fail";

/// The functions that tell the time, each with something that is never what it gives (sprig `date.go`: `now`, `ago`, `toDate`).
const CLOCKS: [(&[u8], Other); 2] = [
    (b"now", Other { plain: b"(toDate `2006-01-02` `2001-02-03`)", raw: b"(toDate \"2006-01-02\" \"2001-02-03\")" }),
    (b"ago", Other { plain: b"toString", raw: b"toString" }),
];

/// What stands in the place of a word.
#[derive(Debug, Clone, Copy)]
struct Other {
    plain: &'static [u8],
    /// The same inside of a text in backquotes.
    raw: &'static [u8],
}

/// What a template is told of how often the release was written: 1, where nobody is asked (helm `pkg/action/install.go`, `RunWithContext`).
/// It may be asked of `.Release`, or of whatever stands for that.
const REVISION: &[u8] = b"Revision";
/// Another field of the release that is never the same.
const NO_REVISION: &[u8] = b"Namespace";

/// A template with something else in place of the revision.
pub(super) fn another_revision(template: &[u8]) -> Vec<u8> {
    replaced(template, revisions(template).into_iter().map(|at| (at, REVISION.len(), NO_REVISION)))
}

/// Whether a template may name the revision.
pub(super) fn names_revision(template: &[u8]) -> bool {
    !revisions(template).is_empty()
}

/// Where a template may name the revision: as a field of something that is neither of the values nor of the chart, or as a key.
fn revisions(template: &[u8]) -> Vec<usize> {
    let mut out = Vec::new();
    if memmem::find(template, REVISION).is_some() {
        each_word(template, Call { at: 0, is_raw: false }, &mut |word| {
            let is_elsewhere =
                |chain: &[u8]| [&b"Values"[..], b"Chart"].iter().any(|own| memmem::find(chain, own).is_some());
            let names = match word.sort {
                Sort::Field(chain) => !is_elsewhere(chain),
                Sort::Key => true,
                Sort::Call | Sort::Variable => false,
            };
            out.extend((names && word.text == REVISION).then_some(word.call.at));
        });
    }
    out
}

/// A template in which each call of `lookup` fails.
pub(super) fn disarmed(template: &[u8]) -> Vec<u8> {
    replaced(template, calls(template).into_iter().map(|call| (call.at, ASKS.len(), FAILS)))
}

/// A template at another time.
pub(super) fn another_time(template: &[u8]) -> Vec<u8> {
    let other = |call: &Call, other: Other| if call.is_raw { other.raw } else { other.plain };
    let each = CLOCKS.into_iter().flat_map(|(word, by)| {
        words(template, word).into_iter().map(move |call| (call.at, word.len(), other(&call, by)))
    });
    let mut places: Vec<_> = each.collect();
    places.sort_unstable_by_key(|(at, ..)| *at);
    replaced(template, places.into_iter())
}

/// Whether a template tells the time.
pub(super) fn tells_time(template: &[u8]) -> bool {
    CLOCKS.iter().any(|(word, _)| !words(template, word).is_empty())
}

/// A text with other words in some places: where each begins, how long it is, and what comes in its place.
fn replaced<'o>(text: &[u8], places: impl Iterator<Item = (usize, usize, &'o [u8])>) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut from = 0;
    for (at, length, other) in places {
        out.extend_from_slice(text.get(from..at).unwrap_or_default());
        out.extend_from_slice(other);
        from = at + length;
    }
    out.extend_from_slice(text.get(from..).unwrap_or_default());
    out
}

/// A call of a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Call {
    /// Where it begins.
    at: usize,
    /// Whether it stands in a text in backquotes.
    is_raw: bool,
}

/// Where a template calls `lookup`.
pub(super) fn calls(template: &[u8]) -> Vec<Call> {
    words(template, ASKS)
}

/// Where a template calls a function.
fn words(template: &[u8], word: &[u8]) -> Vec<Call> {
    let mut out = Vec::new();
    if memmem::find(template, word).is_some() {
        each_word(template, Call { at: 0, is_raw: false }, &mut |one| {
            out.extend((one.sort == Sort::Call && one.text == word).then_some(one.call));
        });
    }
    out
}

/// A word of an action.
struct Word<'t> {
    text: &'t [u8],
    sort: Sort<'t>,
    call: Call,
}

/// What a word is.
#[derive(PartialEq, Eq)]
enum Sort<'t> {
    /// The name of a function, or a word of the language.
    Call,
    /// A field; with all that stands before it in one piece, such as `.Values.a.`.
    Field(&'t [u8]),
    Variable,
    /// A whole text in quotes.
    Key,
}

/// Hands on each word that stands between braces (Go `text/template/parse/lex.go`); a text in quotes may be a template itself.
fn each_word<'t>(text: &'t [u8], start: Call, see: &mut dyn FnMut(Word<'t>)) {
    let mut at = 0;
    let byte = |at: usize| text.get(at).copied();
    let is_of_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
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
                    let inner = text.get(at + 1..end).unwrap_or_default();
                    let call = Call { at: start.at + at + 1, is_raw: start.is_raw || now == b'`' };
                    see(Word { text: inner, sort: Sort::Key, call });
                    each_word(inner, call, see);
                    at = end + 1;
                }
                b'a'..=b'z' | b'A'..=b'Z' | b'_' => {
                    let rest = text.get(at..).unwrap_or_default();
                    let word = rest.iter().take_while(|byte| is_of_word(byte)).count();
                    let before = text.get(..at).unwrap_or_default();
                    let is_of_chain = |byte: &u8| is_of_word(byte) || matches!(byte, b'.' | b'$');
                    let chain = before.iter().rev().take_while(|byte| is_of_chain(byte)).count();
                    let sort = match before.last() {
                        Some(b'.') => Sort::Field(before.get(at - chain..).unwrap_or_default()),
                        Some(b'$') => Sort::Variable,
                        _ => Sort::Call,
                    };
                    see(Word { text: &rest[..word], sort, call: Call { at: start.at + at, ..start } });
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

    #[test]
    fn the_revision_is_named_by_whatever_stands_for_the_release() {
        let other = |text: &str| String::from_utf8(another_revision(text.as_bytes())).expect("a template");
        for names in [
            "{{ .Release.Revision }}",
            "{{ with .Release }}{{ .Revision }}{{ end }}",
            "{{ $r := .Release }}{{ $r.Revision }}",
            "{{ $.Release.Revision }}",
            "{{ index .Release \"Revision\" }}{{ get .Release `Revision` }}",
            "{{ tpl \"{{ .Release.Revision }}\" . }}",
        ] {
            assert_eq!(other(names), names.replace("Revision", "Namespace"), "{names}");
        }
        for other in [
            ".Release.Revision",
            "{{ .Values.Revision }}{{ $.Values.a.Revision }}",
            "{{ $Revision }}{{ .Chart.Revision }}",
            "{{ .RevisionHistory }}{{ \"a Revision\" }}{{/* .Release.Revision */}}",
        ] {
            assert!(!names_revision(other.as_bytes()), "{other}");
        }
    }

    #[test]
    fn another_time_takes_the_place_of_now() {
        let other = |text: &str| String::from_utf8(another_time(text.as_bytes())).expect("a template");
        assert!(!tells_time(b"now {{ .now }} {{/* now */}} {{ \"now\" }} {{ $now }} {{ nowhere }}"));
        assert_eq!(
            other("{{ now | date \"2006\" }}{{ ago $t }}"),
            "{{ (toDate `2006-01-02` `2001-02-03`) | date \"2006\" }}{{ toString $t }}"
        );
        assert_eq!(
            other("{{ tpl \"{{ now }}\" . }}{{ tpl `{{ now }}` . }}"),
            "{{ tpl \"{{ (toDate `2006-01-02` `2001-02-03`) }}\" . }}{{ tpl `{{ (toDate \"2006-01-02\" \"2001-02-03\") }}` . }}"
        );
    }
}
