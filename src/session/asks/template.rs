//! What a template asks with, and the same template asking something else. A call stands in its actions, as Go's `text/template` finds
//! them, and in texts that are templates themselves.

use memchr::memmem;

/// The function of Helm that asks (helm `pkg/engine/lookup_func.go`).
const ASKS: &[u8] = b"lookup";
/// A function that fails with as many arguments (helm `pkg/engine/engine.go`, `fail`: it takes one).
const FAILS: &[u8] = b"fail";

/// The functions that tell the time, each with something that is never what it gives: `date` and its like take the clock for whatever is
/// no time (sprig `date.go`: `now`, `ago`, `dateInZone`).
const CLOCKS: [(&[u8], &str); 7] = [
    (b"now", "(toDate `2006-01-02` `2001-02-03`)"),
    (b"ago", "toString"),
    (b"date", "cat"),
    (b"dateInZone", "cat"),
    (b"date_in_zone", "cat"),
    (b"htmlDate", "cat"),
    (b"htmlDateInZone", "cat"),
];

/// The function of Helm that asks for an address, where it may (helm `pkg/engine/funcs.go`, `pkg/engine/engine.go`).
const RESOLVES: &[u8] = b"getHostByName";

/// A template in which each look for an address fails.
pub(super) fn unresolved(template: &[u8]) -> Vec<u8> {
    let mut places = Vec::new();
    each_word(template, &mut |word| {
        if word.is_call(RESOLVES) {
            places.push((word.call.at, RESOLVES.len(), FAILS));
        }
    });
    replaced(template, places.into_iter())
}

/// Whether a template looks for an address.
pub(super) fn resolves(template: &[u8]) -> bool {
    let mut found = false;
    each_word(template, &mut |word| found |= word.is_call(RESOLVES));
    found
}

/// A template in which each call of `lookup` fails.
pub(super) fn disarmed(template: &[u8]) -> Vec<u8> {
    replaced(template, calls(template).into_iter().map(|call| (call.at, ASKS.len(), FAILS)))
}

/// A template at another time.
pub(super) fn another_time(template: &[u8]) -> Vec<u8> {
    let mut places = Vec::new();
    each_word(template, &mut |word| {
        if let Some(other) = word.is_clock() {
            places.push((word.call.at, word.text.len(), word.call.quoted(other)));
        }
    });
    replaced(template, places.into_iter())
}

/// Whether a template tells the time.
pub(super) fn tells_time(template: &[u8]) -> bool {
    let mut tells = false;
    each_word(template, &mut |word| tells |= word.is_clock().is_some());
    tells
}

/// A text with other words in some places: where each begins, how long it is, and what comes in its place.
fn replaced<O: AsRef<[u8]>>(text: &[u8], places: impl Iterator<Item = (usize, usize, O)>) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut from = 0;
    for (at, length, other) in places {
        out.extend_from_slice(text.get(from..at).unwrap_or_default());
        out.extend_from_slice(other.as_ref());
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

impl Call {
    /// A part of a template whose texts stand in backquotes, as it has to be written here.
    fn quoted(self, part: &str) -> String {
        if self.is_raw { part.replace('`', "\"") } else { part.to_owned() }
    }
}

/// Where a template calls `lookup`.
pub(super) fn calls(template: &[u8]) -> Vec<Call> {
    let mut out = Vec::new();
    each_word(template, &mut |word| out.extend(word.is_call(ASKS).then_some(word.call)));
    out
}

/// A word of an action.
pub(super) struct Word<'t> {
    pub(super) text: &'t [u8],
    pub(super) sort: Sort<'t>,
    call: Call,
    /// What stands behind it.
    pub(super) rest: &'t [u8],
}

impl<'t> Word<'t> {
    /// Whether it calls this function.
    fn is_call(&self, function: &[u8]) -> bool {
        self.sort == Sort::Call && self.text == function
    }

    /// Where it tells the time: what takes its place.
    fn is_clock(&self) -> Option<&'static str> {
        let own = CLOCKS.iter().find(|(word, _)| self.sort == Sort::Call && self.text == *word);
        own.map(|(_, other)| *other)
    }
}

/// What a word is.
#[derive(PartialEq, Eq)]
pub(super) enum Sort<'t> {
    /// The name of a function, or a word of the language.
    Call,
    /// A field; with all that stands before it in one piece, such as `.Values.a.`.
    Field(&'t [u8]),
    Variable,
    /// A whole text in quotes.
    Key,
}

/// Hands on each word that stands between braces (Go `text/template/parse/lex.go`); a text in quotes may be a template itself.
pub(super) fn each_word<'t>(text: &'t [u8], see: &mut dyn FnMut(Word<'t>)) {
    words_from(text, Call { at: 0, is_raw: false }, see);
}

fn words_from<'t>(text: &'t [u8], start: Call, see: &mut dyn FnMut(Word<'t>)) {
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
                    let rest = text.get(end + 1..).unwrap_or_default();
                    see(Word { text: inner, sort: Sort::Key, call, rest });
                    words_from(inner, call, see);
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
                    let call = Call { at: start.at + at, ..start };
                    see(Word { text: &rest[..word], sort, call, rest: &rest[word..] });
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
    fn a_look_for_an_address_is_a_call() {
        assert!(resolves(b"a: {{ getHostByName .Values.host }}") && resolves(b"{{ .Values.host | getHostByName }}"));
        assert!(!resolves(b"getHostByName {{ .getHostByName }}"));
        assert_eq!(unresolved(b"{{ getHostByName `a` }}"), b"{{ fail `a` }}");
    }

    #[test]
    fn another_time_takes_the_place_of_now() {
        let other = |text: &str| String::from_utf8(another_time(text.as_bytes())).expect("a template");
        assert!(!tells_time(b"now {{ .now }} {{/* now */}} {{ \"now\" }} {{ $now }} {{ nowhere }}"));
        assert_eq!(
            other("{{ now | unixEpoch }}{{ ago $t }}{{ date `2006` .Values.a }}"),
            "{{ (toDate `2006-01-02` `2001-02-03`) | unixEpoch }}{{ toString $t }}{{ cat `2006` .Values.a }}"
        );
        assert_eq!(
            other("{{ tpl \"{{ now }}\" . }}{{ tpl `{{ now }}` . }}"),
            "{{ tpl \"{{ (toDate `2006-01-02` `2001-02-03`) }}\" . }}{{ tpl `{{ (toDate \"2006-01-02\" \"2001-02-03\") }}` . }}"
        );
    }
}
