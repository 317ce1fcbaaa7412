//! Objects of one side (rendered, live or base) and how to find one by its key.
//! Text bodies stay text until they are asked for, so that equal documents cost nothing.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use memchr::{memchr_iter, memmem};
use serde::{Deserialize, Serialize};

use super::Key;
use super::index::{Event, Index};
use crate::tree::Value;
use crate::yaml;

/// Where the content of an object is.
#[derive(Clone)]
pub enum Body {
    /// A document of a stream: the stream's bytes and the document's span in them.
    Text(Arc<[u8]>, yaml::Span),
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
    let rare = ["\u{85}", "\u{2028}", "\u{2029}", "\u{feff}"];
    memchr_iter(b'\r', text).any(|at| text.get(at + 1) != Some(&b'\n'))
        || rare.iter().any(|sign| memmem::find(text, sign.as_bytes()).is_some())
}

/// One object of one side.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(try_from = "Value", into = "Value")]
pub struct Object {
    /// Its identity.
    pub key: Key,
    /// Its `apiVersion`, as this side writes it.
    pub api_version: String,
    /// Its content.
    pub body: Body,
    /// Line of the stream where its document starts, from 1; 0 where it did not come from a stream.
    pub line: usize,
    /// The list that it stood in, where it was an item of one.
    pub carrier: Option<Arc<Carrier>>,
    /// Where its `metadata` stands in its stream, where that was told without a tree.
    metadata: Option<yaml::Span>,
    read: Read,
}

/// The tree of a text, once somebody has asked for it.
#[derive(Clone, Default)]
pub(super) struct Read(OnceLock<Value>);

impl std::fmt::Debug for Read {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Read").field(&self.0.get().is_some()).finish()
    }
}

/// Why an object could not be had from its content.
#[derive(Debug, Clone, thiserror::Error)]
pub enum LoadError {
    /// The text is not what Kubernetes reads.
    #[error(transparent)]
    Yaml(#[from] yaml::Error),
    /// The tree is not an object.
    #[error("line {line}: {what}; every document needs apiVersion, kind and metadata.name")]
    NotAnObject {
        /// Line where the document starts, from 1.
        line: usize,
        /// What is missing.
        what: String,
    },
    /// The document is a list that kubectl and Helm do not take apart.
    #[error("line {line}: a document with `items` is a list, whatever its kind: {what}, so Helm and kubectl refuse it")]
    List {
        /// Line where the document starts, from 1.
        line: usize,
        /// What is wrong.
        what: &'static str,
    },
}

impl LoadError {
    /// The message behind the name of its file, so that the two begin as `file:line`.
    #[must_use]
    pub fn in_file(&self) -> String {
        let text = self.to_string();
        text.strip_prefix("line ").unwrap_or(&text).to_owned()
    }
}

impl Object {
    /// Whether the document that it stands in has a rare line break in it.
    #[must_use]
    pub(crate) fn has_rare_breaks(&self) -> bool {
        match (&self.carrier, &self.body) {
            (Some(carrier), _) => carrier.rare_breaks,
            (None, Body::Text(bytes, span)) => has_rare_breaks(span.of(bytes)),
            (None, Body::Value(_)) => false,
        }
    }

    /// Makes an object of a tree.
    ///
    /// # Errors
    /// When `apiVersion`, `kind` or `metadata.name` is missing or not text.
    pub fn from_value(value: Value, line: usize) -> Result<Self, LoadError> {
        let missing = |what: &str| LoadError::NotAnObject { line, what: format!("{what} is missing or not a string") };
        let text = |pointer: &str| value.pointer(pointer).and_then(Value::as_str).filter(|text| !text.is_empty());
        let api_version = text("/apiVersion").ok_or_else(|| missing("apiVersion"))?.to_owned();
        let kind = text("/kind").ok_or_else(|| missing("kind"))?;
        let name = text("/metadata/name").ok_or_else(|| missing("metadata.name"))?;
        let key = Key::new(&api_version, kind, text("/metadata/namespace"), name);
        let (body, read) = (Body::Value(value), Read::default());
        Ok(Self { key, api_version, body, line, carrier: None, metadata: None, read })
    }

    /// An object whose head was found in a text, and where its `metadata` stands there.
    pub(super) fn of_text(key: Key, api_version: String, body: Body, line: usize, metadata: yaml::Span) -> Self {
        Self { key, api_version, body, line, carrier: None, metadata: Some(metadata), read: Read::default() }
    }

    /// An object with nothing but its `metadata`, where that can be told without the rest and nobody has read the whole yet. Whether
    /// the rest can be read at all is not looked at.
    #[must_use]
    pub(crate) fn metadata(&self) -> Option<Value> {
        let (Body::Text(bytes, _), Some(span)) = (&self.body, self.metadata) else { return None };
        if self.read.0.get().is_some() {
            return None;
        }
        yaml::read_at(span.of(bytes), span.start, self.line).ok()?.to_json().ok()
    }

    /// Whether the map at a key of the root holds nothing but texts, each under a key of which `is_key` is true; false where only the
    /// tree can tell.
    #[must_use]
    pub(crate) fn holds_texts(&self, key: &str, is_key: impl Fn(&str) -> bool) -> bool {
        self.everyday().is_some_and(|text| yaml::holds_texts(text, key, is_key))
    }

    /// Whether the root may have a key; false only where that is sure.
    #[must_use]
    pub(crate) fn may_have_at_root(&self, key: &str) -> bool {
        self.everyday().is_none_or(|text| yaml::has_key(text, key))
    }

    /// The length of its text; `None` where it is a tree.
    #[must_use]
    pub(crate) fn bytes(&self) -> Option<usize> {
        match &self.body {
            Body::Text(_, document) => Some(document.len()),
            Body::Value(_) => None,
        }
    }

    /// The text of an everyday document, as [`yaml::head`] knows one.
    fn everyday(&self) -> Option<&[u8]> {
        let (Body::Text(bytes, document), Some(_)) = (&self.body, self.metadata) else { return None };
        Some(document.of(bytes))
    }

    /// The whole content as a tree; read once where the body is text.
    ///
    /// # Errors
    /// When the text is not what Kubernetes reads.
    pub fn value(&self) -> Result<Cow<'_, Value>, LoadError> {
        self.tree(None)
    }

    /// The same with every part that is equal to another tree of the object shared with it, where nobody has read it before.
    ///
    /// # Errors
    /// When the text is not what Kubernetes reads.
    pub fn value_beside(&self, other: &Value) -> Result<Cow<'_, Value>, LoadError> {
        self.tree(Some(other))
    }

    /// The same for one look: what nobody has read before is not kept either.
    ///
    /// # Errors
    /// When the text is not what Kubernetes reads.
    pub fn glance(&self) -> Result<Cow<'_, Value>, LoadError> {
        match (&self.body, self.read.0.get()) {
            (Body::Text(bytes, span), None) => {
                Ok(Cow::Owned(yaml::read_at(span.of(bytes), span.start, self.line)?.to_json()?))
            }
            _ => self.tree(None),
        }
    }

    fn tree(&self, beside: Option<&Value>) -> Result<Cow<'_, Value>, LoadError> {
        let (bytes, span) = match &self.body {
            Body::Value(value) => return Ok(Cow::Borrowed(value)),
            Body::Text(bytes, span) => (bytes, span),
        };
        if let Some(read) = self.read.0.get() {
            return Ok(Cow::Borrowed(read));
        }
        let mut value = yaml::read_at(span.of(bytes), span.start, self.line)?.to_json()?;
        if let Some(other) = beside {
            value.share(other);
        }
        Ok(Cow::Borrowed(self.read.0.get_or_init(|| value)))
    }
}

impl Object {
    /// Whether its content may hold a word; false only where that is sure, without the tree being made. `word` is plain:
    /// letters, digits, dashes, dots and slashes.
    #[must_use]
    pub fn may_say(&self, word: &str) -> bool {
        match &self.body {
            Body::Text(bytes, span) => {
                let text = span.of(bytes);
                memmem::find(text, word.as_bytes()).is_some() || may_be_written_otherwise(text)
            }
            Body::Value(_) => true,
        }
    }

    /// Whether its content may hold a word at another place than as a key of its root, where it stands; false only where that is
    /// sure. As [`Self::may_say`].
    #[must_use]
    pub(crate) fn may_say_again(&self, word: &str) -> bool {
        let Some(text) = self.everyday() else { return true };
        memmem::find_iter(text, word.as_bytes()).take(2).count() != 1 || may_be_written_otherwise(text)
    }
}

impl Object {
    /// Whether its content may have a key; false only where that is sure. As [`Self::may_say`], but a key goes over a line break only
    /// where a question mark marks it, so that texts with continued lines need no tree.
    #[must_use]
    pub fn may_have_key(&self, word: &str) -> bool {
        let Body::Text(bytes, span) = &self.body else { return true };
        let text = span.of(bytes);
        let marked =
            || memchr_iter(b'?', text).any(|at| matches!(text.get(at + 1), None | Some(b' ' | b'\t' | b'\n' | b'\r')));
        let is_escape = |at: usize| match text.get(at + 1) {
            None | Some(b'x' | b'u' | b'U' | b'/') => true,
            Some(b'\n' | b'\r') => marked(),
            Some(_) => false,
        };
        memmem::find(text, word.as_bytes()).is_some() || may_be_encoded(text) || memchr_iter(b'\\', text).any(is_escape)
    }
}

/// Whether a text may hold words that do not stand in it as they are read: behind a backslash a letter may be written as a number,
/// and a line may end within a word.
fn may_be_written_otherwise(text: &[u8]) -> bool {
    let is_escape = |at: usize| matches!(text.get(at + 1), None | Some(b'x' | b'u' | b'U' | b'/' | b'\n' | b'\r'));
    memchr_iter(b'\\', text).any(is_escape) || may_be_encoded(text)
}

/// Whether a text may hold a scalar in base64, which a tag says (`!!binary`); letters of a tag may be written as numbers.
fn may_be_encoded(text: &[u8]) -> bool {
    memchr::memchr(b'!', text).is_some()
        && (memmem::find(text, b"binary").is_some() || memmem::find(text, b"!%").is_some() || tag_with_numbers(text))
}

/// Whether a tag has a letter that is written as a number, or a document has handles for tags of its own.
fn tag_with_numbers(text: &[u8]) -> bool {
    let tags = memchr_iter(b'!', text).map(|at| {
        let rest = &text[at..];
        &rest[..rest.iter().position(u8::is_ascii_whitespace).unwrap_or(rest.len())]
    });
    memmem::find(text, b"%TAG").is_some() || { tags }.any(|tag| tag.contains(&b'%'))
}

impl TryFrom<Value> for Object {
    type Error = LoadError;

    fn try_from(value: Value) -> Result<Self, LoadError> {
        Self::from_value(value, 0)
    }
}

impl From<Object> for Value {
    fn from(object: Object) -> Self {
        object.value().map_or(Self::Null, Cow::into_owned)
    }
}

/// The objects of one side. Where a key stands twice, both are kept and the last one is found.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(from = "Vec<Object>", into = "Vec<Object>")]
pub struct Inventory {
    objects: Vec<Object>,
    by_key: HashMap<Key, usize>,
    index: Index,
}

impl Inventory {
    /// All objects, in the order in which they came.
    #[must_use]
    pub fn objects(&self) -> &[Object] {
        &self.objects
    }

    /// The object with this key; the last one where it stands twice.
    #[must_use]
    pub fn get(&self, key: &Key) -> Option<&Object> {
        self.by_key.get(key).and_then(|place| self.objects.get(*place))
    }

    /// The objects of a kind, of whatever group.
    pub fn of_kind(&self, kind: &str) -> impl Iterator<Item = &Object> + use<'_> {
        self.at(self.index.of_kind(&self.objects, kind))
    }

    /// The objects with a name, of whatever kind.
    pub fn named(&self, name: &str) -> impl Iterator<Item = &Object> + use<'_> {
        self.at(self.index.named(&self.objects, name))
    }

    /// The Machines and MachineSets that name an owner of this kind and name, in whatever namespace.
    pub fn owned_by(&self, kind: &str, name: &str) -> impl Iterator<Item = &Object> + use<'_> {
        self.at(self.index.owned_by(&self.objects, kind, name))
    }

    /// The Machines and MachineSets that have no list of owners.
    pub fn unowned(&self) -> impl Iterator<Item = &Object> {
        self.at(self.index.unowned(&self.objects))
    }

    /// The Machines with the label of a cluster, in whatever namespace.
    pub fn machines_of_cluster(&self, cluster: &str) -> impl Iterator<Item = &Object> + use<'_> {
        self.at(self.index.of_cluster(&self.objects, cluster))
    }

    fn at<'o>(&'o self, places: &'o [usize]) -> impl Iterator<Item = &'o Object> {
        places.iter().filter_map(|place| self.objects.get(*place))
    }

    /// Adds an object, also where one with its key is there.
    pub fn push(&mut self, object: Object) {
        let place = self.objects.len();
        self.note(&object, Event::Came(place));
        self.by_key.insert(object.key.clone(), place);
        self.objects.push(object);
    }

    /// Puts an object in the place of the one with its key, which is handed back, or adds it.
    pub fn insert(&mut self, object: Object) -> Option<Object> {
        let Some(place) = self.by_key.get(&object.key).copied() else {
            self.push(object);
            return None;
        };
        let old = std::mem::replace(self.objects.get_mut(place)?, object.clone());
        self.note(&old, Event::Goes(place));
        self.note(&object, Event::Came(place));
        Some(old)
    }

    /// Takes the object with a key out; the last one takes its place.
    pub fn remove(&mut self, key: &Key) -> Option<Object> {
        let place = self.by_key.remove(key)?;
        let last = self.objects.len().checked_sub(1)?;
        let old = self.objects.swap_remove(place);
        self.note(&old, Event::Goes(place));
        if let Some(object) = self.objects.get(place).cloned() {
            self.note(&object, Event::Moved(last, place));
            self.by_key.insert(object.key, place);
        }
        Some(old)
    }

    fn note(&mut self, object: &Object, event: Event) {
        self.index.note(object, event);
    }

    /// Whether there is no object.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.objects.is_empty()
    }

    /// How many objects there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.objects.len()
    }
}

impl From<Vec<Object>> for Inventory {
    fn from(objects: Vec<Object>) -> Self {
        let by_key = objects.iter().enumerate().map(|(place, object)| (object.key.clone(), place)).collect();
        Self { objects, by_key, index: Index::default() }
    }
}

impl From<Inventory> for Vec<Object> {
    fn from(inventory: Inventory) -> Self {
        inventory.objects
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::json;

    #[test]
    fn a_word_is_only_ruled_out_where_it_cannot_stand() {
        let object = |line: &str| {
            let text = format!("apiVersion: v1\nkind: A\nmetadata: {{name: a}}\nformat: {line}\n");
            crate::object::Stream::load(&Arc::from(text.into_bytes())).expect("a stream").objects.objects()[0].clone()
        };
        assert!(object("ignition").may_say("ignition"));
        assert!(object(r#""ig\x6eition""#).may_say("ignition"));
        assert!(object("\"igni\\\n  tion\"").may_say("ignition"));
        assert!(!object(r#""a\n\"b""#).may_say("ignition"));
        assert!(!object("cloud-config").may_say("ignition"));
        assert!(object("!!binary aWduaXRpb24=").may_say("ignition"));
        assert!(object("!!bin%61ry aWduaXRpb24=").may_say("ignition"));
        assert!(!object("'echo hi!'").may_say("ignition"));
        let continued = object("|\n  a \\\n  b");
        assert!(continued.may_say("ignition") && !continued.may_have_key("ignition"));
        assert!(object("a\n? \"igni\\\n  tion\"\n: a").may_have_key("ignition"));
        assert!(object("a\n\"igni\\x74ion\": a").may_have_key("ignition"));
    }

    #[test]
    fn debug_output_shows_no_content() {
        let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {"a": "canary"}});
        let tree: Inventory = vec![Object::from_value(secret.clone(), 0).expect("an object")].into();
        let text: Arc<[u8]> = Arc::from(secret.to_string().into_bytes());
        let stream = crate::object::Stream::load(&text).expect("a stream");
        let bytes = format!("{:?}", b"canary").trim_matches(['[', ']']).to_owned();
        for shown in [format!("{tree:?}"), format!("{stream:#?}"), format!("{stream:?}")] {
            assert!(shown.contains("Secret"), "{shown}");
            assert!(!shown.contains("canary") && !shown.contains(&bytes), "{shown}");
        }
    }
}
