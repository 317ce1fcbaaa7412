//! One object of one side (rendered, live or base), and what its content is.
//! Text bodies stay text until they are asked for, so that equal documents cost nothing.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Serialize, de};

use super::Key;
use super::body::{Body, Carrier, has_rare_breaks};
use super::plain;
use super::reading::{Form, Read};
use super::words::{Escapes, MetadataKeys};
use crate::tree::{Pool, Value};
use crate::yaml;

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
    pub(super) metadata: Option<Metadata>,
    pub(super) read: Read,
    /// What its text may say by escapes alone, once somebody has asked.
    pub(super) escapes: OnceLock<Escapes>,
    /// Whether its text may name a Secret or a ConfigMap, once somebody has asked.
    pub(super) names_data: OnceLock<bool>,
    /// Where it is kept from one judgement to the next: what its tree reads as in other words, which all its copies share.
    pub(super) form: Option<Form>,
    /// Whether the JSON text that it was read from was seen to be plain.
    pub(super) is_plain: bool,
}

/// What was told of the `metadata` of an everyday document without a tree.
#[derive(Debug, Clone, Copy)]
pub(super) struct Metadata {
    /// Where it stands in its stream.
    span: yaml::Span,
    /// What may stand in it.
    keys: MetadataKeys,
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
        let missing = |what: &str| {
            let is_another = |value: &&Value| value.is_boolean() || value.is_number();
            let what = match value.pointer(&format!("/{}", what.replace('.', "/"))).filter(is_another) {
                Some(read) => format!("{what} is read as {read}, which is no text; put it into quotes"),
                None => format!("{what} is missing or not a string"),
            };
            LoadError::NotAnObject { line, what }
        };
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
            Body::Text(bytes, _) => Some(Metadata { span, keys: MetadataKeys::of(span.of(bytes)) }),
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
        if self.read.is_read() {
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

    /// The text of the `metadata` of an everyday document.
    pub(super) fn metadata_text(&self) -> Option<&[u8]> {
        let (Body::Text(bytes, _), Some(Metadata { span, .. })) = (&self.body, self.metadata) else { return None };
        Some(span.of(bytes))
    }

    /// What the `metadata` of an everyday document may have.
    pub(super) fn metadata_keys(&self) -> Option<MetadataKeys> {
        self.metadata.map(|metadata| metadata.keys)
    }

    /// Bytes of its text; `None` where it is a tree.
    pub(crate) fn text_length(&self) -> Option<usize> {
        match &self.body {
            Body::Text(_, document) => Some(document.end - document.start),
            Body::Value(_) => None,
        }
    }

    /// This object, as it stands on a line of another stream word for word.
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
        let text = bytes::Bytes::from(secret.to_string());
        let stream = crate::object::Stream::load(&text).expect("a stream");
        let bytes = format!("{:?}", b"canary").trim_matches(['[', ']']).to_owned();
        for shown in [format!("{tree:?}"), format!("{stream:#?}"), format!("{stream:?}")] {
            assert!(shown.contains("Secret"), "{shown}");
            assert!(!shown.contains("canary") && !shown.contains(&bytes), "{shown}");
        }
    }
}
