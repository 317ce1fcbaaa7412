//! What can be told of a JSON text before it is a tree: that it is plain, so that nothing has to be looked for in it.

/// As many letters of base64 in a row hold nothing that is looked for.
pub(crate) const RUN: usize = 24;

/// Whether a JSON text has no `<`, no escape that may stand for one or for a letter of base64, and nowhere [`RUN`] of these in a row.
pub(super) fn is_plain(json: &[u8]) -> bool {
    let hides = |at: usize| matches!(json.get(at + 1), Some(b'u' | b'/'));
    memchr::memchr(b'<', json).is_none() && !memchr::memchr_iter(b'\\', json).any(hides) && !has_run(json)
}

/// Whether there is such a run. It has a letter at every place that is a multiple of its length, so most are stepped over.
fn has_run(text: &[u8]) -> bool {
    let letters = |text: &mut dyn Iterator<Item = &u8>| {
        text.take(RUN).take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=')).count()
    };
    let mut at = RUN - 1;
    while at < text.len() {
        let after = letters(&mut text[at..].iter());
        if after > 0 && after + letters(&mut text[..at].iter().rev()) >= RUN {
            return true;
        }
        at += after + RUN;
    }
    false
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn marks_escapes_and_long_runs_are_seen() {
        let run = "a".repeat(RUN);
        for text in ["a<b".to_owned(), r#""\u003credacted""#.to_owned(), r#""a\/b""#.to_owned(), format!("\"{run}\"")] {
            assert!(!is_plain(text.as_bytes()), "{text}");
        }
        for text in [r#"{"a":"b\n\"c\\ "}"#.to_owned(), format!("\"{}-{}\"", &run[1..], &run[1..])] {
            assert!(is_plain(text.as_bytes()), "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_run_is_found_wherever_it_stands(text in "([a+=/]{0,26}[-. ]){0,6}[a]{0,26}") {
            let is_there = text.split(['-', '.', ' ']).any(|run| run.len() >= RUN);
            prop_assert_eq!(has_run(text.as_bytes()), is_there);
        }
    }
}
