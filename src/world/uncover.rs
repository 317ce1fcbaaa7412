//! Puts what marks stand for in their place again, where that is known, and says where there are none.

use std::cell::RefCell;

use crate::compare::redact::{Document, MARK, MarkKey, encode, unencoded};
use crate::hashed::{HashMap, HashSet};
use crate::tree::Value;

/// Fewest letters of a mark that is encoded.
const ENCODED: usize = 56;

/// Puts the plain text in the place of every mark that is known, and another mark in the place of the others.
pub(super) struct Uncover {
    marks: HashMap<String, Value>,
    fresh: MarkKey,
    /// The other marks that were made, by what they stand for.
    made: RefCell<HashMap<String, String>>,
}

/// Whether a value holds a mark that [`Uncover`] would find; most hold none.
pub(super) fn holds(value: &Value) -> bool {
    match value {
        Value::Object(map) => map.iter().any(|(key, value)| may_hold(key) || holds(value)),
        Value::Array(items) => items.iter().any(holds),
        Value::String(text) => {
            may_hold(text)
                || unencoded(text).is_some_and(|inner| holds(&Value::from(inner)))
                || encloses(text).is_some()
        }
        _ => false,
    }
}

/// Whether a text holds the beginning of a mark.
fn may_hold(text: &str) -> bool {
    text.len() >= MARK.len() && memchr::memchr(b'<', text.as_bytes()).is_some() && text.contains(MARK)
}

/// The document that a text is, where it holds marks in what is encoded in it alone, such as a file in what kubectl applied last.
fn encloses(text: &str) -> Option<Document> {
    let of_base64 = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
    let mut runs = text.as_bytes().split(|byte| !of_base64(byte));
    if !text.starts_with(['{', '[']) || !runs.any(|run| run.len() >= ENCODED) {
        return None;
    }
    Document::of(text).filter(|document| holds(&document.tree))
}

impl Uncover {
    /// With what each mark is known to stand for; the others come from a key that nobody has used before.
    pub(super) fn new(marks: HashMap<String, Value>, fresh: MarkKey) -> Self {
        Self { marks, fresh, made: RefCell::default() }
    }

    /// The other marks that were made.
    pub(super) fn into_made(self) -> HashSet<String> {
        self.made.into_inner().into_values().collect()
    }

    pub(super) fn value(&self, value: &mut Value) {
        match value {
            Value::Object(map) => {
                if map.keys().any(|key| may_hold(key)) {
                    *map = std::mem::take(map).into_iter().map(|(key, value)| (self.text(&key), value)).collect();
                }
                map.values_mut().for_each(|value| self.value(value));
            }
            Value::Array(items) => items.iter_mut().for_each(|value| self.value(value)),
            Value::String(text) if may_hold(text) => {
                *value = self.marks.get(text.as_str()).cloned().unwrap_or_else(|| Value::from(self.marked(text)));
            }
            Value::String(text) => {
                if let Some(inner) = unencoded(text) {
                    let mut inner = Value::from(inner);
                    self.value(&mut inner);
                    *text = encode(inner.as_str().unwrap_or_default()).into();
                } else if let Some(mut document) = encloses(text) {
                    self.value(&mut document.tree);
                    *text = document.to_string().into();
                }
            }
            _ => {}
        }
    }

    /// A text with marks, which may be a document.
    fn marked(&self, text: &str) -> String {
        match Document::of_marked(text) {
            Some(mut document) => {
                self.value(&mut document.tree);
                document.to_string()
            }
            None => self.text(text),
        }
    }

    pub(super) fn text(&self, text: &str) -> String {
        let (mut out, mut rest) = (String::with_capacity(text.len()), text);
        while let Some(start) = rest.find(MARK) {
            let end = rest[start..].find('>').map_or(rest.len(), |length| start + length + 1);
            out.push_str(&rest[..start]);
            let mark = &rest[start..end];
            match self.marks.get(mark).and_then(Value::as_str) {
                Some(known) => out.push_str(known),
                None => {
                    let mut made = self.made.borrow_mut();
                    match made.get(mark) {
                        Some(fresh) => out.push_str(fresh),
                        None => {
                            let fresh = self.fresh.mark(mark);
                            out.push_str(&fresh);
                            made.insert(mark.to_owned(), fresh);
                        }
                    }
                }
            }
            rest = &rest[end..];
        }
        out.push_str(rest);
        out
    }
}
