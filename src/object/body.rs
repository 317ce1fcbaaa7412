//! Where the content of an object is: in the text of a stream, in a tree, or in a list that carried it.

use bytes::Bytes;
use memchr::{memchr_iter, memmem};

use crate::tree::Value;
use crate::yaml;

/// Where the content of an object is.
#[derive(Clone)]
pub enum Body {
    /// A document of a stream: the stream's bytes and the document's span in them.
    Text(Bytes, yaml::Span),
    /// A tree that is already read (from the API server, a `List`, a World).
    Value(Value),
}

impl std::fmt::Debug for Body {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Text(_, span) => write!(f, "Text({}..{})", span.start, span.end),
            Self::Value(value) => write!(f, "Value({:?})", super::Veil(value)),
        }
    }
}

/// The document that carried an object, where that is a list: Helm 3 looks at it and not at its items to tell what is a hook.
#[derive(Clone)]
pub struct Carrier {
    /// The list without its items.
    pub value: Value,
    /// Whether its text [`has_rare_breaks`].
    pub rare_breaks: bool,
}

impl Carrier {
    /// Kind of the list, which may be any.
    #[must_use]
    pub fn kind(&self) -> &str {
        self.value.get("kind").and_then(Value::as_str).unwrap_or_default()
    }
}

impl std::fmt::Debug for Carrier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Carrier").field(&self.kind()).finish()
    }
}

/// Whether a document has a line break or a byte order mark in it that only some readers take for one: a carriage return alone,
/// U+0085, U+2028, U+2029. Helm, which sorts documents before it builds them, may find another one there.
#[must_use]
pub(super) fn has_rare_breaks(text: &[u8]) -> bool {
    let is_lonely = |at: usize| text.get(at + 1) != Some(&b'\n');
    if text.is_ascii() {
        return memchr_iter(b'\r', text).any(is_lonely);
    }
    let rare = ["\u{85}", "\u{2028}", "\u{2029}", "\u{feff}"];
    memchr_iter(b'\r', text).any(is_lonely) || rare.iter().any(|sign| memmem::find(text, sign.as_bytes()).is_some())
}
