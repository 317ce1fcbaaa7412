//! A stream as objects: every document of it that is one, with its text left where it is.

use std::sync::Arc;

use bytes::Bytes;

use super::body::has_rare_breaks;
use super::{Body, Carrier, Inventory, Key, LoadError, Object, StreamText};
use crate::parallel;
use crate::tree::{Map, Value};
use crate::yaml;

/// The objects of a stream, and what else stands in it.
#[derive(Debug, Clone, Default)]
pub struct Stream {
    /// Objects in the order of the stream; the items of a list each for itself.
    pub objects: Inventory,
    /// Documents that are not empty.
    pub documents: usize,
    /// Documents without a name of their own (`generateName`), which nothing can be compared with.
    pub nameless: Vec<Object>,
}

impl Stream {
    /// Reads a stream. Only what is needed to know an object is read of it.
    ///
    /// # Errors
    /// When a document is not what Kubernetes reads, or is no object; the message names the line.
    pub fn load(bytes: &Bytes) -> Result<Self, LoadError> {
        Self::of_sections(bytes, &yaml::split(bytes)?, &[])
    }

    /// Reads a stream beside another one. What stands in both at the same place, word for word, is read once and has one text.
    ///
    /// # Errors
    /// As [`Self::load`].
    pub fn load_beside(bytes: &Bytes, other: &StreamText) -> Result<Self, LoadError> {
        let sections = yaml::split(bytes)?;
        let known = other.everyday();
        // A document more or less than there moves all that follow it.
        let behind = |place: usize| (place + known.len()).checked_sub(sections.len());
        let is_same = |object: &&Object, section: &yaml::Section| object.everyday() == Some(section.document.of(bytes));
        let same = |(place, section): (usize, &yaml::Section)| {
            let mut places = [Some(place), behind(place)].into_iter().flatten();
            places.find_map(|place| (*known.get(place)?).filter(|object| is_same(object, section)))
        };
        let same: Vec<Option<&Object>> = sections.iter().enumerate().map(same).collect();
        match alone(bytes, &sections, &same) {
            Some((bytes, sections)) => Self::of_sections(&bytes.into(), &sections, &same),
            None => Self::of_sections(bytes, &sections, &same),
        }
    }

    /// Reads a stream of which these are the documents, as far as they are not known from another one.
    pub(super) fn of_sections(
        bytes: &Bytes,
        sections: &[yaml::Section],
        known: &[Option<&Object>],
    ) -> Result<Self, LoadError> {
        let mut stream = Self::default();
        let known = known.iter().copied().chain(std::iter::repeat(None));
        let documents: Vec<(&yaml::Section, Option<&Object>)> = sections.iter().zip(known).collect();
        let read = |(section, known): &(&yaml::Section, Option<&Object>)| match known {
            Some(object) => Ok(Document::One(object.at_line(section.line))),
            None => Document::read(bytes, section),
        };
        let documents: Vec<Document> = parallel::map(&documents, read).into_iter().collect::<Result<_, _>>()?;
        stream.documents = documents.iter().filter(|document| !matches!(document, Document::Empty)).count();
        let objects = if documents.iter().all(Document::is_object_or_nothing) {
            // They stay where they are: a stream may have thousands.
            documents.into_iter().filter_map(Document::object).collect()
        } else {
            let mut objects = Vec::with_capacity(documents.len());
            for document in documents {
                match document {
                    Document::Empty => {}
                    Document::Nameless(object) => stream.nameless.push(object),
                    Document::One(object) => objects.push(object),
                    Document::List(items, without_name) => {
                        objects.extend(items);
                        stream.nameless.extend(without_name);
                    }
                }
            }
            objects
        };
        stream.objects = objects.into();
        Ok(stream)
    }
}

/// The documents that are not known from another stream, in a text of their own, so that the whole one need not be held for them; `None`
/// where they are most of it.
fn alone(bytes: &[u8], sections: &[yaml::Section], known: &[Option<&Object>]) -> Option<(Vec<u8>, Vec<yaml::Section>)> {
    let is_alone = |(_, known): &(&yaml::Section, &Option<&Object>)| known.is_none();
    let length: usize =
        sections.iter().zip(known).filter(is_alone).map(|(section, _)| section.document.of(bytes).len()).sum();
    if length > bytes.len() / 2 {
        return None;
    }
    let mut text = Vec::with_capacity(length);
    let mut moved = |(section, known): (&yaml::Section, &Option<&Object>)| {
        let start = text.len();
        if known.is_none() {
            text.extend_from_slice(section.document.of(bytes));
        }
        let (separator, document) = (yaml::Span::new(start, start), yaml::Span::new(start, text.len()));
        yaml::Section { separator, document, ..*section }
    };
    let sections = sections.iter().zip(known).map(&mut moved).collect();
    Some((text, sections))
}

/// What one document of a stream is.
enum Document {
    /// Nothing but blanks and comments, or null.
    Empty,
    /// An object without a name of its own.
    Nameless(Object),
    /// An object.
    One(Object),
    /// The items of a list, and those of them that have no name of their own.
    List(Vec<Object>, Vec<Object>),
}

impl Document {
    /// Whether it is an object with a name, or nothing.
    const fn is_object_or_nothing(&self) -> bool {
        matches!(self, Self::Empty | Self::One(_))
    }

    /// The object that it is.
    fn object(self) -> Option<Object> {
        if let Self::One(object) = self { Some(object) } else { None }
    }

    /// Reads as much of a document as is needed to know what it is.
    fn read(bytes: &Bytes, section: &yaml::Section) -> Result<Self, LoadError> {
        if section.is_blank(bytes) {
            return Ok(Self::Empty);
        }
        if section.json {
            return Self::json(bytes, section);
        }
        if let Some(object) = by_head(bytes, section) {
            return Ok(Self::One(object));
        }
        let value = yaml::read_section(bytes, section)?.to_json()?;
        if value.is_null() {
            return Ok(Self::Empty);
        }
        if value.get("items").is_some() {
            return list(value, section.line, has_rare_breaks(section.document.of(bytes)));
        }
        if is_nameless(&value) {
            return Ok(Self::Nameless(Object::nameless(value, section.line)?));
        }
        let mut object = Object::from_value(value, section.line)?;
        object.body = Body::Text(bytes.clone(), section.document);
        Ok(Self::One(object))
    }

    /// Reads a JSON value, which Go does not read as YAML.
    fn json(bytes: &Bytes, section: &yaml::Section) -> Result<Self, LoadError> {
        let fault =
            |_| LoadError::NotAnObject { line: section.line, what: "this JSON value cannot be read".to_owned() };
        let value: Value = serde_json::from_slice(section.document.of(bytes)).map_err(fault)?;
        Ok(match value {
            Value::Null => Self::Empty,
            value if value.get("items").is_some() => list(value, section.line, false)?,
            value if is_nameless(&value) => Self::Nameless(Object::nameless(value, section.line)?),
            value => Self::One(Object::from_value(value, section.line)?),
        })
    }
}

/// The object of a document whose head tells everything; `None` where the tree has to be read.
fn by_head(bytes: &Bytes, section: &yaml::Section) -> Option<Object> {
    let document = section.document;
    let head = yaml::head(document.of(bytes))?;
    let key = Key::new(head.api_version, head.kind, head.namespace, head.name);
    let metadata = yaml::Span::new(document.start + head.metadata.start, document.start + head.metadata.end);
    Some(Object::of_text(key, head.api_version.to_owned(), Body::Text(bytes.clone(), document), section.line, metadata))
}

/// Whether the API server makes the name up.
fn is_nameless(value: &Value) -> bool {
    value.pointer("/metadata/name").is_none() && value.pointer("/metadata/generateName").is_some()
}

/// The items of a list. A document is one where it has the field `items`, whatever its kind and whatever stands there
/// (apimachinery `pkg/apis/meta/v1/unstructured/helpers.go` v0.37.0, `decode`, `decodeToList`); what comes out of it is
/// taken apart once (cli-runtime `pkg/resource/visitor.go` v0.37.0, `FlattenListVisitor`).
fn list(mut value: Value, line: usize, rare_breaks: bool) -> Result<Document, LoadError> {
    let fault = |what: &'static str| LoadError::List { line, what };
    let text = |map: &Map, key: &str| map.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let Some(map) = value.as_object_mut() else { return Err(fault("it is no object")) };
    let items = match map.shift_remove("items") {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(items)) => items.into(),
        Some(_) => return Err(fault("its items are not a list")),
    };
    let (api_version, kind) = (text(map, "apiVersion"), text(map, "kind"));
    if kind.is_empty() {
        return Err(fault("it has no kind"));
    }
    let carrier = Arc::new(Carrier { value, rare_breaks });
    let (mut objects, mut nameless) = (Vec::new(), Vec::new());
    objects.try_reserve_exact(items.len()).map_err(|_| fault("its items do not fit into the memory that there is"))?;
    for item in items {
        let mut item = match item {
            Value::Object(item) => item,
            Value::Null => Map::new(),
            _ => return Err(fault("an item is no object")),
        };
        if text(&item, "kind").is_empty() && text(&item, "apiVersion").is_empty() {
            let kind = kind.strip_suffix("List").unwrap_or(&kind);
            item.insert("kind", Value::from(kind));
            item.insert("apiVersion", Value::from(api_version.clone()));
        }
        if item.get("items").is_some_and(Value::is_array) {
            return Err(fault("an item is a list itself"));
        }
        let item = Value::Object(item);
        let has_name = !is_nameless(&item);
        let mut object = if has_name { Object::from_value(item, line) } else { Object::nameless(item, line) }?;
        object.carrier = Some(Arc::clone(&carrier));
        if has_name { objects.push(object) } else { nameless.push(object) }
    }
    Ok(Document::List(objects, nameless))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(text: &str) -> Result<Stream, LoadError> {
        Stream::load(&Bytes::copy_from_slice(text.as_bytes()))
    }

    #[test]
    fn empty_documents_are_no_objects() {
        let stream = load("# only words\n---\n---\n# more\n").expect("a stream");
        assert_eq!((stream.documents, stream.objects.len()), (0, 0));
    }

    #[test]
    fn what_stands_in_both_streams_has_one_text() {
        let document = |name: &str, value: &str| {
            format!("---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\ndata:\n  a: {value}\n")
        };
        let text = |parts: &[String]| -> Bytes { parts.concat().into() };
        let all = [document("a", "x"), document("b", "y"), document("c", "z")];
        let other = StreamText::from(text(&all));
        let of_text = |object: &Object, bytes: &Bytes| matches!(&object.body, Body::Text(own, _) if own.as_ptr() == bytes.as_ptr());
        let shared = |bytes: &Bytes| -> Vec<bool> {
            let alone = Stream::load(bytes).expect("a stream");
            let beside = Stream::load_beside(bytes, &other).expect("a stream");
            let told = |stream: &Stream| -> Vec<(Key, usize, Value)> {
                let told =
                    |object: &Object| (object.key.clone(), object.line, object.glance().expect("a tree").into_owned());
                stream.objects.objects().iter().map(told).collect()
            };
            assert_eq!(told(&alone), told(&beside));
            beside.objects.objects().iter().map(|object| of_text(object, other.bytes())).collect()
        };
        assert_eq!(shared(&text(&all)), [false; 3], "nobody has read the other one yet");
        other.stream().expect("a stream");
        assert_eq!(shared(&text(&all)), [true; 3]);
        let [a, b, c] = &all;
        assert_eq!(shared(&text(&[a.clone(), document("b", "other"), c.clone()])), [true, false, true]);
        assert_eq!(
            shared(&text(&["# more\n".to_owned(), a.clone(), document("more", "x"), b.clone(), c.clone()])),
            [false, false, true, true]
        );
        assert_eq!(shared(&text(&[b.clone(), c.clone()])), [true, true]);
    }

    #[test]
    fn the_items_of_a_list_are_objects() {
        let text = "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n- {apiVersion: v1, kind: Secret, metadata: {name: b}}\n";
        let stream = load(text).expect("a stream");
        assert_eq!((stream.documents, stream.objects.len()), (1, 2));
    }

    #[test]
    fn whatever_has_items_is_a_list() {
        let head = "apiVersion: cluster.x-k8s.io/v1beta1\nkind: Cluster\nmetadata: {name: a}\n";
        for items in
            ["items:", "items: null", "items: []", "\"items\": []", "'items': ~", "\"it\\x65ms\":", "? items\n: []"]
        {
            let stream = load(&format!("{head}{items}\n")).expect("a stream");
            assert_eq!((stream.documents, stream.objects.len()), (1, 0), "{items}");
        }
        for near in ["Items: []", "itemS: []", "spec: {items: []}", "items2: []"] {
            assert_eq!(load(&format!("{head}{near}\n")).expect("a stream").objects.len(), 1, "{near}");
        }
        let carried = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\nitems:\n- apiVersion: cluster.x-k8s.io/v1beta1\n  kind: Cluster\n  metadata: {name: a}\n";
        let stream = load(carried).expect("a stream");
        assert_eq!(stream.objects.objects()[0].key.to_string(), "Cluster a");
    }

    #[test]
    fn items_without_a_kind_have_that_of_their_list() {
        let stream = load(
            "apiVersion: v1\nkind: ConfigMapList\nitems: [{metadata: {name: a}}, {metadata: {generateName: b-}}]\n",
        )
        .expect("a stream");
        assert_eq!(
            (stream.objects.objects()[0].key.kind.as_str(), stream.nameless[0].key.name.as_str()),
            ("ConfigMap", "b-*")
        );
    }

    #[test]
    fn lists_that_helm_refuses_are_refused() {
        let nested = "- {apiVersion: v1, kind: List, items: []}";
        for (items, why) in [
            (" {}", "not a list"),
            (" text", "not a list"),
            ("\n- text", "no object"),
            (&format!("\n{nested}"), "a list itself"),
        ] {
            let fault = load(&format!("apiVersion: v1\nkind: List\nitems:{items}\n")).expect_err("refused").to_string();
            assert!(fault.starts_with("line 1: ") && fault.contains(why), "{fault}");
        }
        // Only a list is one: an object may have the field.
        let item = "- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}, items: {}}";
        assert_eq!(load(&format!("apiVersion: v1\nkind: List\nitems:\n{item}\n")).expect("a stream").objects.len(), 1);
    }

    #[test]
    fn a_name_that_yaml_reads_as_something_else_is_told_from_one_that_is_missing() {
        let said = |name: &str| {
            let text = format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{{name}}}\n");
            load(&text).err().map(|fault| fault.to_string()).unwrap_or_default()
        };
        for (name, read) in [("name: y", "true"), ("name: no", "false"), ("name: 1", "1")] {
            assert!(
                said(name).contains(&format!("metadata.name is read as {read}, which is no text")),
                "{}",
                said(name)
            );
        }
        for name in ["name: ", "name: ''", "name: [a]", "labels: {a: b}"] {
            assert!(said(name).contains("metadata.name is missing or not a string"), "{name}: {}", said(name));
        }
        assert_eq!(said("name: 'y'"), "");
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
