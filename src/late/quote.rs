//! Double-quoted YAML that every reader takes for the same text, Go's and Helm 4's among them.

use std::fmt::Write as _;

/// The text in double quotes. All but printable ASCII is escaped, as far as YAML has escapes that Go reads.
#[must_use]
pub(crate) fn quoted(text: &str) -> String {
    format!("\"{}\"", escaped(text))
}

/// The text as it stands between double quotes.
#[must_use]
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            ' '..='~' => out.push(c),
            c if u32::from(c) <= 0xFFFF => {
                write!(out, "\\u{:04X}", u32::from(c)).expect("writing to a string cannot fail");
            }
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::quoted;

    proptest! {
        #[test]
        fn what_is_quoted_reads_back(text in any::<String>()) {
            let document = format!("k: {}", quoted(&text));
            let tree = crate::yaml::read(document.as_bytes()).expect("readable");
            let value = tree.to_json().expect("json");
            prop_assert_eq!(value["k"].as_str(), Some(text.as_str()));
        }
    }
}
