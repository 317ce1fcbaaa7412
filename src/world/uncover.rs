//! Puts what marks stand for in their place again, where that is known, and says where there are none.

use std::sync::{Mutex, PoisonError};

use crate::compare::redact::{Document, MARK, MarkKey, UNSEEN, beginnings, encode, unencoded};
use crate::hashed::{HashMap, HashSet};
use crate::object::{Body, Object, RUN};
use crate::tree::Value;

/// Fewest letters of a mark that is encoded.
const ENCODED: usize = 56;

/// Puts the plain text in the place of every mark that is known, and another mark in the place of the others.
pub(super) struct Uncover {
    marks: HashMap<String, Value>,
    fresh: MarkKey,
    /// The other marks that were made, by what they stand for.
    made: Mutex<HashMap<String, String>>,
}

/// Whether an object that is a tree holds a mark that [`Uncover`] would find; most hold none.
pub(super) fn is_marked(object: &Object) -> bool {
    const { assert!(UNSEEN >= RUN && ENCODED >= RUN, "a mark that is encoded is no shorter than what no plain text has") };
    !object.is_plain() && matches!(&object.body, Body::Value(value) if holds(value))
}

/// Whether a value holds such a mark.
fn holds(value: &Value) -> bool {
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
pub(super) fn may_hold(text: &str) -> bool {
    text.len() >= MARK.len() && memchr::memchr(b'<', text.as_bytes()).is_some() && beginnings(text).next().is_some()
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
        Self { marks, fresh, made: Mutex::default() }
    }

    /// The other marks that were made.
    pub(super) fn into_made(self) -> HashSet<String> {
        self.made.into_inner().unwrap_or_else(PoisonError::into_inner).into_values().collect()
    }

    /// The value with each mark replaced; `None` where it has none. What stays is shared.
    pub(super) fn value(&self, value: &Value) -> Option<Value> {
        match value {
            Value::Object(map) if map.keys().any(|key| may_hold(key)) => {
                let entries =
                    map.iter().map(|(key, value)| (self.text(key), self.value(value).unwrap_or_else(|| value.clone())));
                Some(Value::Object(entries.collect()))
            }
            Value::Object(map) => map.changed(|_, value| self.value(value)).map(Value::Object),
            Value::Array(items) => items.changed(|_, item| self.value(item)).map(Value::Array),
            Value::String(text) if may_hold(text) => {
                Some(self.marks.get(text.as_str()).cloned().unwrap_or_else(|| Value::from(self.marked(text))))
            }
            Value::String(text) => {
                if let Some(inner) = unencoded(text) {
                    let inner = self.value(&Value::from(inner))?;
                    return Some(encode(inner.as_str().unwrap_or_default()).into());
                }
                let mut document = encloses(text)?;
                document.tree = self.value(&document.tree)?;
                Some(document.to_string().into())
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => None,
        }
    }

    /// A text with marks, which may be a document.
    fn marked(&self, text: &str) -> String {
        let Some(mut document) = Document::of_marked(text) else { return self.text(text) };
        if let Some(tree) = self.value(&document.tree) {
            document.tree = tree;
        }
        document.to_string()
    }

    pub(super) fn text(&self, text: &str) -> String {
        let (mut out, mut from) = (String::with_capacity(text.len()), 0);
        for start in beginnings(text) {
            // What begins inside of another one belongs to it.
            if start < from {
                continue;
            }
            let end = text[start..].find('>').map_or(text.len(), |length| start + length + 1);
            out.push_str(&text[from..start]);
            let mark = &text[start..end];
            match self.marks.get(mark).and_then(Value::as_str) {
                Some(known) => out.push_str(known),
                None => {
                    let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
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
            from = end;
        }
        out.push_str(&text[from..]);
        out
    }
}
