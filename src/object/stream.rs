//! A stream as objects: every document of it that is one, with its text left where it is.

use std::sync::Arc;

use serde_json::Value;

use super::{Body, Inventory, Key, LoadError, Object};
use crate::{parallel, yaml};

/// The objects of a stream, and what else stands in it.
#[derive(Debug, Clone, Default)]
pub struct Stream {
    /// Objects in the order of the stream; the items of a `List` each for itself.
    pub objects: Inventory,
    /// Documents that are not empty.
    pub documents: usize,
    /// Documents without a name of their own (`generateName`), which nothing can be compared with.
    pub nameless: usize,
}

impl Stream {
    /// Reads a stream. Only what is needed to know an object is read of it.
    ///
    /// # Errors
    /// When a document is not what Kubernetes reads, or is no object; the message names the line.
    pub fn load(bytes: &Arc<[u8]>) -> Result<Self, LoadError> {
        let sections = yaml::split(bytes)?;
        let mut stream = Self::default();
        let mut objects = Vec::with_capacity(sections.len());
        for document in parallel::map(&sections, |section| Document::read(bytes, section)) {
            stream.documents += usize::from(!matches!(document, Ok(Document::Empty)));
            match document? {
                Document::Empty => {}
                Document::Nameless => stream.nameless += 1,
                Document::One(object) => objects.push(object),
                Document::List(items) => objects.extend(items),
            }
        }
        stream.objects = objects.into();
        Ok(stream)
    }
}

/// What one document of a stream is.
enum Document {
    /// Nothing but blanks and comments, or null.
    Empty,
    /// An object without a name of its own.
    Nameless,
    /// An object.
    One(Object),
    /// The items of a `List`.
    List(Vec<Object>),
}

impl Document {
    /// Reads as much of a document as is needed to know what it is.
    fn read(bytes: &Arc<[u8]>, section: &yaml::Section) -> Result<Self, LoadError> {
        if section.is_blank(bytes) {
            return Ok(Self::Empty);
        }
        if let Some(object) = by_head(bytes, section) {
            return Ok(Self::One(object));
        }
        let mut value = yaml::read_section(bytes, section)?.to_json()?;
        if value.is_null() {
            return Ok(Self::Empty);
        }
        if is_list(&value) {
            let items = value.get_mut("items").and_then(Value::as_array_mut).map(std::mem::take).unwrap_or_default();
            let items: Result<Vec<Object>, LoadError> =
                items.into_iter().map(|item| Object::from_value(item, section.line)).collect();
            return items.map(Self::List);
        }
        if value.pointer("/metadata/name").is_none() && value.pointer("/metadata/generateName").is_some() {
            return Ok(Self::Nameless);
        }
        let mut object = Object::from_value(value, section.line)?;
        object.body = Body::Text(Arc::clone(bytes), section.document);
        Ok(Self::One(object))
    }
}

/// The object of a document whose head tells everything; `None` where the tree has to be read.
fn by_head(bytes: &Arc<[u8]>, section: &yaml::Section) -> Option<Object> {
    let head = yaml::head(section.document.of(bytes))?;
    if head.kind.ends_with("List") {
        return None;
    }
    let key = Key::new(head.api_version, head.kind, head.namespace, head.name);
    let body = Body::Text(Arc::clone(bytes), section.document);
    Some(Object { key, api_version: head.api_version.to_owned(), body, line: section.line })
}

/// Whether a document only carries others.
fn is_list(value: &Value) -> bool {
    let kind = value.get("kind").and_then(Value::as_str).unwrap_or_default();
    kind.ends_with("List") && value.get("items").is_some_and(Value::is_array)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(text: &str) -> Result<Stream, LoadError> {
        Stream::load(&Arc::from(text.as_bytes()))
    }

    #[test]
    fn empty_documents_are_no_objects() {
        let stream = load("# only words\n---\n---\n# more\n").expect("a stream");
        assert_eq!((stream.documents, stream.objects.len()), (0, 0));
    }

    #[test]
    fn the_items_of_a_list_are_objects() {
        let text = "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n- {apiVersion: v1, kind: Secret, metadata: {name: b}}\n";
        let stream = load(text).expect("a stream");
        assert_eq!((stream.documents, stream.objects.len()), (1, 2));
    }

    #[test]
    fn a_document_that_is_no_object_is_refused_with_its_line() {
        let fault = load("---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n---\nkind: ConfigMap\n")
            .expect_err("no object");
        assert_eq!(
            fault.to_string(),
            "line 6: apiVersion is missing or not a string; every document needs apiVersion, kind and metadata.name"
        );
    }
}
