//! JSON documents that stand in a text, as programs write them: with other values in their places they are written as they were.

use std::fmt;

use super::mark::{MARK, marks};
use crate::tree::Value;

/// A document that is a text, such that nothing of the text is lost by writing it again.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Document {
    /// What it says.
    pub(crate) tree: Value,
    style: Style,
    /// What stands behind it: a line end, mostly.
    end: String,
}

/// How a document is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Style {
    /// As Go's `encoding/json` does (`HTMLEscape`): signs that mean something to HTML and JavaScript are escaped.
    Go,
    /// With only those escapes that must be.
    Bare,
}

/// What Go escapes beyond what must be.
const OF_GO: [(char, &str); 5] =
    [('<', "\\u003c"), ('>', "\\u003e"), ('&', "\\u0026"), ('\u{2028}', "\\u2028"), ('\u{2029}', "\\u2029")];

impl Style {
    fn written(self, tree: &Value) -> String {
        let bare = tree.to_string();
        match self {
            Self::Bare => bare,
            // Such signs stand in strings only.
            Self::Go => OF_GO.iter().fold(bare, |text, (sign, escaped)| text.replace(*sign, escaped)),
        }
    }
}

impl Document {
    /// The document that a text is.
    pub(crate) fn of(text: &str) -> Option<Self> {
        let bare = text.trim_end();
        if !bare.starts_with(['{', '[']) || !bare.ends_with(['}', ']']) {
            return None;
        }
        let tree: Value = serde_json::from_str(bare).ok()?;
        let style = [Style::Go, Style::Bare].into_iter().find(|style| style.written(&tree) == bare)?;
        Some(Self { tree, style, end: text[bare.len()..].to_owned() })
    }

    /// The document that a text with marks is.
    pub(crate) fn of_marked(text: &str) -> Option<Self> {
        let bare = text.trim_end();
        let tree = serde_json::from_str(bare).ok()?;
        let mut rest = bare.to_owned();
        marks(bare).into_iter().rev().for_each(|mark| rest.replace_range(mark, ""));
        let style = if rest.contains(OF_GO.map(|(sign, _)| sign)) { Style::Bare } else { Style::Go };
        Some(Self { tree, style, end: text[bare.len()..].to_owned() })
    }

    /// This document with another tree.
    pub(crate) fn with(&self, tree: Value) -> Self {
        Self { tree, ..self.clone() }
    }
}

impl fmt::Display for Document {
    /// As it was written, marks as they are everywhere.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let written = self.style.written(&self.tree);
        let start = MARK.replace('<', OF_GO[0].1);
        let mut parts = written.split(&start);
        f.write_str(parts.next().unwrap_or_default())?;
        for part in parts {
            f.write_str(MARK)?;
            f.write_str(&part.replacen(OF_GO[1].1, ">", 1))?;
        }
        f.write_str(&self.end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_is_written_as_it_was_or_is_none() {
        for text in [
            r#"{"a":"x \u0026\u0026 y","b":[1,1.5,true,null]}"#,
            r#"{"a":"x && y"}"#,
            "[{\"b\":\"2\",\"a\":\"1\"}]\n",
            "{}",
        ] {
            let document = Document::of(text).expect("a document");
            assert_eq!(document.to_string(), text);
            assert_eq!(Document::of_marked(text).expect("a document"), document);
        }
        for text in ["{\"a\": 1}", "{\"a\":1,\"a\":2}", "a", "\"a\"", "{\"a\":1e3}", ""] {
            assert_eq!(Document::of(text), None, "{text}");
        }
    }

    #[test]
    fn marks_stand_in_a_document_as_they_stand_elsewhere() {
        let mark = super::super::MarkKey::fresh().mark("x");
        let document = Document::of(r#"{"a":"\u003cb\u003e","c":"d"}"#).expect("a document");
        let mut tree = document.tree.clone();
        tree["c"] = format!("{mark} \u{3c}d>").into();
        let marked = document.with(tree).to_string();
        assert_eq!(marked, format!(r#"{{"a":"\u003cb\u003e","c":"{mark} \u003cd\u003e"}}"#));
        assert_eq!(Document::of_marked(&marked).expect("a document").to_string(), marked);
    }
}
