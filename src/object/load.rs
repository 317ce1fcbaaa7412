//! One object of one side (rendered, live or base), and what its content is.
//! Text bodies stay text until they are asked for, so that equal documents cost nothing.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use memchr::{memchr_iter, memmem};
use serde::{Deserialize, Serialize, de};

use super::Key;
use super::plain;
use super::words::{Escapes, Marks};
use crate::tree::{Pool, Value};
use crate::yaml;

/// Where the content of an object is.
#[derive(Clone)]
pub enum Body {
    /// A document of a stream: the stream's bytes and the document's span in them.
    Text(Arc<Vec<u8>>, yaml::Span),
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
    /// Its `metadata`, where that was told without a tree.
    metadata: Option<Metadata>,
    read: Read,
    /// What its text may say by escapes alone, once somebody has asked.
    pub(super) escapes: OnceLock<Escapes>,
    /// Whether its text may name a Secret or a ConfigMap, once somebody has asked.
    pub(super) names_data: OnceLock<bool>,
    /// Where it is kept from one judgement to the next: what its tree reads as in other words, which all its copies share.
    form: Option<Form>,
    /// Whether the JSON text that it was read from was seen to be plain.
    is_plain: bool,
}

/// What the tree of an object reads as in other words, once somebody has asked for it.
#[derive(Clone, Default)]
struct Form(Arc<OnceLock<Value>>);

impl std::fmt::Debug for Form {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Form").field(&self.0.get().is_some()).finish()
    }
}

/// What was told of the `metadata` of an everyday document without a tree.
#[derive(Debug, Clone, Copy)]
struct Metadata {
    /// Where it stands in its stream.
    span: yaml::Span,
    /// What may stand in it.
    marks: Marks,
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
        let name = value.pointer("/metadata/name").and_then(Value::as_str).map(str::to_owned);
        Self::named(name, value, line)
    }

    /// Makes an object of a JSON text. Its tree shares what trees of the pool said before.
    ///
    /// # Errors
    /// When it is no JSON, or says what [`Self::from_value`] refuses.
    pub(super) fn of_json(text: &str, pool: &mut Pool) -> Result<Self, serde_json::Error> {
        let mut value: Value = serde_json::from_str(text)?;
        pool.share(&mut value);
        let object = Self::from_value(value, 0).map_err(de::Error::custom)?;
        Ok(Self { is_plain: plain::is_plain(text.as_bytes()), ..object })
    }

    /// Whether the text that it was read from is known to be plain: no `<`, nothing that an escape may hide, and nowhere
    /// [`plain::RUN`] letters of base64 in a row.
    pub(crate) const fn is_plain(&self) -> bool {
        self.is_plain
    }

    /// An object whose name the API server makes up. Its key holds what the name begins with and a mark that stands in no name.
    pub(super) fn nameless(value: Value, line: usize) -> Result<Self, LoadError> {
        let begin = value.pointer("/metadata/generateName").and_then(Value::as_str).unwrap_or_default();
        Self::named(Some(format!("{begin}*")), value, line)
    }

    fn named(name: Option<String>, value: Value, line: usize) -> Result<Self, LoadError> {
        let missing = |what: &str| LoadError::NotAnObject { line, what: format!("{what} is missing or not a string") };
        let text = |pointer: &str| value.pointer(pointer).and_then(Value::as_str).filter(|text| !text.is_empty());
        let api_version = text("/apiVersion").ok_or_else(|| missing("apiVersion"))?.to_owned();
        let kind = text("/kind").ok_or_else(|| missing("kind"))?;
        let name = name.filter(|name| !name.is_empty()).ok_or_else(|| missing("metadata.name"))?;
        let key = Key::new(&api_version, kind, text("/metadata/namespace"), &name);
        let (body, read) = (Body::Value(value), Read::default());
        Ok(Self {
            key,
            api_version,
            body,
            line,
            carrier: None,
            metadata: None,
            read,
            escapes: OnceLock::new(),
            names_data: OnceLock::new(),
            form: None,
            is_plain: false,
        })
    }

    /// An object whose head was found in a text, and where its `metadata` stands there.
    pub(super) fn of_text(key: Key, api_version: String, body: Body, line: usize, span: yaml::Span) -> Self {
        let metadata = match &body {
            Body::Text(bytes, _) => Some(Metadata { span, marks: Marks::of(span.of(bytes)) }),
            Body::Value(_) => None,
        };
        Self {
            key,
            api_version,
            body,
            line,
            carrier: None,
            metadata,
            read: Read::default(),
            escapes: OnceLock::new(),
            names_data: OnceLock::new(),
            form: None,
            is_plain: false,
        }
    }

    /// An object with nothing but its `metadata`, where that can be told without the rest and nobody has read the whole yet. Whether
    /// the rest can be read at all is not looked at.
    #[must_use]
    pub(crate) fn metadata(&self) -> Option<Value> {
        let (Body::Text(bytes, _), Some(Metadata { span, .. })) = (&self.body, self.metadata) else { return None };
        if self.read.0.get().is_some() {
            return None;
        }
        yaml::read_at(span.of(bytes), span.start, self.line).ok()?.to_json().ok()
    }

    /// Whether its root has none of some keys, and what stands at `key`, where it stands, is a map of nothing but texts, each under a key
    /// of which `is_key` is true; false where only the tree can tell.
    #[must_use]
    pub(crate) fn holds_texts_alone(&self, key: &str, none: &[&str], is_key: impl Fn(&str) -> bool) -> bool {
        self.everyday().is_some_and(|text| yaml::holds_texts_alone(text, key, none, is_key))
    }

    /// Whether its `metadata` is no longer than this and has nothing but a name, a namespace, and labels and annotations of which each is
    /// a text that is fine by its map and its key; false where only the tree can tell.
    #[must_use]
    pub(crate) fn has_plain_metadata(&self, most: usize, is_fine: impl Fn(&str, &str, &str) -> bool) -> bool {
        self.metadata_text()
            .filter(|text| text.len() <= most)
            .is_some_and(|text| yaml::holds_plain_metadata(text, is_fine))
    }

    /// Its text; `None` where it is a tree.
    #[must_use]
    pub(crate) fn text(&self) -> Option<&[u8]> {
        match &self.body {
            Body::Text(bytes, document) => Some(document.of(bytes)),
            Body::Value(_) => None,
        }
    }

    /// The length of its text; `None` where it is a tree.
    #[must_use]
    pub(crate) fn bytes(&self) -> Option<usize> {
        self.text().map(<[u8]>::len)
    }

    /// The text of the `metadata` of an everyday document.
    pub(super) fn metadata_text(&self) -> Option<&[u8]> {
        let (Body::Text(bytes, _), Some(Metadata { span, .. })) = (&self.body, self.metadata) else { return None };
        Some(span.of(bytes))
    }

    /// What the `metadata` of an everyday document may have.
    pub(super) fn marks(&self) -> Option<Marks> {
        self.metadata.map(|metadata| metadata.marks)
    }

    /// Bytes of its text; `None` where it is a tree.
    pub(crate) fn text_length(&self) -> Option<usize> {
        match &self.body {
            Body::Text(_, document) => Some(document.end - document.start),
            Body::Value(_) => None,
        }
    }

    /// The same object, as it stands on a line of another stream word for word.
    pub(super) fn at_line(&self, line: usize) -> Self {
        Self { line, ..self.clone() }
    }

    /// Whether it is the document that stands here in its stream.
    pub(super) fn is_document(&self, span: yaml::Span) -> bool {
        matches!(&self.body, Body::Text(_, own) if *own == span)
    }

    /// The text of an everyday document, as [`yaml::head`] knows one.
    pub(super) fn everyday(&self) -> Option<&[u8]> {
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

    /// The same with every part that is equal to another side of the object shared with it, where nobody has read it before. Of what both
    /// texts say in the same words, one is read.
    ///
    /// # Errors
    /// When the text is not what Kubernetes reads.
    pub fn value_beside(&self, other: &Self) -> Result<Cow<'_, Value>, LoadError> {
        let unread = |object: &Self| object.metadata.is_some() && object.read.0.get().is_none();
        if let (Body::Text(bytes, span), Body::Text(others, place)) = (&self.body, &other.body)
            && unread(self)
            && unread(other)
            && let Ok(tree) = yaml::read_at(place.of(others), place.start, other.line)
            && let Ok(value) = tree.to_json()
        {
            let there = other.read.0.get_or_init(|| value);
            let twin = yaml::Twin::of(&tree, there);
            let mut value = yaml::read_beside(span.of(bytes), span.start, self.line, twin)?;
            value.share(there);
            return Ok(Cow::Borrowed(self.read.0.get_or_init(|| value)));
        }
        self.tree(other.value().ok().as_deref())
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

    /// Takes over the tree of another object with the same text, where that can be read and nobody has read this one.
    pub(crate) fn read_as(&self, other: &Self) {
        if let (Body::Text(..), None, Ok(value)) = (&self.body, self.read.0.get(), other.value()) {
            self.read.0.get_or_init(|| value.into_owned());
        }
    }

    /// The same object, kept from one judgement to the next in the place of what it was before, with which it shares what did not change.
    /// Its copies share what [`Self::form`] makes of it.
    #[must_use]
    #[cfg(feature = "serve")]
    pub(crate) fn kept(mut self, before: Option<&Self>) -> Self {
        if let (Body::Value(value), Some(Body::Value(before))) = (&mut self.body, before.map(|before| &before.body)) {
            value.share(before);
        }
        Self { form: Some(Form::default()), ..self }
    }

    /// The same object with another content, in which nothing is left of what it was.
    #[must_use]
    pub(crate) fn with_tree(self, value: Value) -> Self {
        Self {
            body: Body::Value(value),
            read: Read::default(),
            escapes: OnceLock::new(),
            names_data: OnceLock::new(),
            form: None,
            is_plain: false,
            ..self
        }
    }

    /// Whether it is kept so.
    #[must_use]
    pub(crate) fn is_kept(&self) -> bool {
        self.form.is_some()
    }

    /// What the content reads as in other words, which depend on nothing else; made once where the object is kept.
    ///
    /// # Errors
    /// When the text is not what Kubernetes reads.
    pub(crate) fn form(&self, make: impl FnOnce(&Value) -> Value) -> Result<Value, LoadError> {
        match &self.form {
            None => Ok(make(&*self.value()?)),
            Some(Form(known)) => {
                let value = self.value()?;
                Ok(known.get_or_init(|| make(&value)).clone())
            }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::Inventory;
    use crate::tree::json;

    #[test]
    fn debug_output_shows_no_content() {
        let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {"a": "canary"}});
        let tree: Inventory = vec![Object::from_value(secret.clone(), 0).expect("an object")].into();
        let text: Arc<Vec<u8>> = Arc::from(secret.to_string().into_bytes());
        let stream = crate::object::Stream::load(&text).expect("a stream");
        let bytes = format!("{:?}", b"canary").trim_matches(['[', ']']).to_owned();
        for shown in [format!("{tree:?}"), format!("{stream:#?}"), format!("{stream:?}")] {
            assert!(shown.contains("Secret"), "{shown}");
            assert!(!shown.contains("canary") && !shown.contains(&bytes), "{shown}");
        }
    }
}
