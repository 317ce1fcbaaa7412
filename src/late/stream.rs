//! A whole stream: which documents may hold placeholders, which late values they need, and the stream with the values in it.
//! A document that holds none is never parsed, and its bytes are never touched.

use std::collections::BTreeSet;

use memchr::memmem;

use super::document::{self, Hit};
use super::layers::{Target, suspect};
use crate::object::Key;
use crate::policy::{Policy, ValueType};
use crate::yaml::{self, Section, Span, Tree};

/// A document that holds placeholders in its values or keys.
pub(super) struct Marked<'s> {
    /// Its place among the documents of the stream, from 1, blank ones not counted.
    pub(super) number: usize,
    section: Section,
    pub(super) tree: Tree<'s>,
    pub(super) hits: Vec<Hit>,
}

/// What was found in a stream.
pub(super) struct Found<'s> {
    /// The documents with placeholders.
    pub(super) marked: Vec<Marked<'s>>,
    /// Documents that may hold some and cannot be read, with why.
    pub(super) unreadable: Vec<yaml::Error>,
}

/// A placeholder that is still there after filling in.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Left {
    /// Place of the late value in the policy.
    pub(super) value: usize,
    /// Place of the document in the stream, from 1.
    pub(super) document: usize,
    /// How a person calls the object.
    pub(super) object: String,
    /// Why it could not be filled in.
    pub(super) why: Why,
    /// Line of the stream, from 1.
    pub(super) line: usize,
    /// Column, from 1.
    pub(super) column: usize,
}

/// Why a placeholder of a known value could not be filled in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Why {
    /// It stands in a key.
    Key,
    /// The value cannot be written there, and why.
    Refused(String),
    /// No way was found that leaves the rest of the document as it is.
    Unwritable,
}

/// What filling in one document gave.
pub(super) struct Filled {
    /// Where the document stands in the stream.
    pub(super) span: Span,
    /// Its new bytes; `None` where nothing was filled in.
    pub(super) bytes: Option<Vec<u8>>,
    /// Placeholders of known values that are still there.
    pub(super) left: Vec<Left>,
    /// The template that was filled in although its name is a hash of what the chart knew.
    pub(super) hashed: Option<Key>,
}

/// The names of the late values whose placeholders stand in the stream, so that only their sources are read.
/// Comments do not count. A document that cannot be read counts with whatever its bytes hold.
#[must_use]
pub fn needed(stream: &[u8], policy: &Policy) -> BTreeSet<String> {
    let targets = targets(policy, &[]);
    let found = search(stream, &targets);
    let hits = found.marked.iter().flat_map(|marked| &marked.hits);
    let mut values: BTreeSet<usize> =
        hits.flat_map(|hit| &hit.spots).flat_map(|spot| spot.values.iter().copied()).collect();
    if !found.unreadable.is_empty() {
        let raw = targets.iter().filter(|target| super::token::occurs(stream, target.placeholder));
        values.extend(raw.map(|target| target.value));
    }
    values.into_iter().filter_map(|value| policy.late_values.get(value)).map(|value| value.name.clone()).collect()
}

/// Where a placeholder stands in a text that would go out: the late value and the line.
#[must_use]
pub fn standing(text: &[u8], policy: &Policy) -> Option<(String, usize)> {
    let found = search(text, &targets(policy, &[]));
    let marked = found.marked.first()?;
    let (hit, value) = (marked.hits.first()?, marked.values().next()?);
    Some((policy.late_values.get(value)?.name.clone(), marked.tree.position(marked.tree.span(hit.node).start).line))
}

/// Every placeholder of the policy with what is written in its place; `with` goes by the places of the late values.
pub(super) fn targets<'p>(policy: &'p Policy, with: &'p [Option<String>]) -> Vec<Target<'p>> {
    let mut targets = Vec::new();
    for (value, late) in policy.late_values.iter().enumerate() {
        let with = with.get(value).and_then(Option::as_deref);
        targets.extend(late.placeholders.iter().map(|placeholder| Target { value, placeholder, with }));
    }
    targets
}

/// Looks for placeholders.
pub(super) fn search<'s>(stream: &'s [u8], targets: &[Target<'_>]) -> Found<'s> {
    let mut found = Found { marked: Vec::new(), unreadable: Vec::new() };
    if targets.is_empty() {
        return found;
    }
    let sections = match yaml::split(stream) {
        Ok(sections) => sections,
        Err(error) => {
            found.unreadable.push(error);
            return found;
        }
    };
    let filled = sections.into_iter().filter(|section| !section.is_blank(stream));
    for (place, section) in filled.enumerate() {
        if !may_hold(section.document.of(stream), targets) {
            continue;
        }
        match yaml::read_section(stream, &section) {
            Err(error) => found.unreadable.push(error),
            Ok(tree) => {
                let hits = document::hits(&tree, targets);
                if !hits.is_empty() {
                    found.marked.push(Marked { number: place + 1, section, tree, hits });
                }
            }
        }
    }
    found
}

/// Fills in one document and looks what is left of the targets that have a value.
pub(super) fn fill(stream: &[u8], marked: &Marked<'_>, targets: &[Target<'_>], policy: &Policy) -> Filled {
    let span = marked.section.document;
    let hits = document::hits(&marked.tree, targets);
    let plain = |kind: ValueType| matches!(kind, ValueType::Integer | ValueType::Boolean);
    let integer: Vec<bool> = policy.late_values.iter().map(|value| plain(value.kind)).collect();
    let bytes = document::fill(stream, &marked.section, &marked.tree, &hits, &integer);
    let left = match &bytes {
        None => left(&marked.tree, marked, targets, &hits),
        Some(bytes) => match yaml::read_at(bytes, span.start, marked.section.line) {
            Ok(tree) => left(&tree, marked, targets, &document::hits(&tree, targets)),
            Err(_) => left(&marked.tree, marked, targets, &hits),
        },
    };
    let hashed = bytes.as_ref().and_then(|_| hashed(&marked.tree));
    Filled { span, bytes, left, hashed }
}

/// The identity of the object of a document, as far as it has one.
pub(super) fn key(tree: &Tree<'_>) -> Option<Key> {
    let text = |path: &[&str]| text_at(tree, path);
    let namespace = text(&["metadata", "namespace"]);
    Some(Key::new(text(&["apiVersion"])?, text(&["kind"])?, namespace, text(&["metadata", "name"])?))
}

/// The key of a Cluster API template whose name ends in a hash, as charts make it from the content that they know.
fn hashed(tree: &Tree<'_>) -> Option<Key> {
    let key = key(tree)?;
    let last = key.name.rsplit('-').next().unwrap_or_default();
    let digits = last.bytes().filter(u8::is_ascii_digit).count();
    let hash = last.len() >= 6 && last.len() < key.name.len() && last.bytes().all(|byte| byte.is_ascii_hexdigit());
    (key.is_capi() && key.kind.ends_with("Template") && hash && digits > 0).then_some(key)
}

/// The placeholders of values that are known and that still stand there.
fn left(tree: &Tree<'_>, marked: &Marked<'_>, targets: &[Target<'_>], hits: &[Hit]) -> Vec<Left> {
    let known = |value: usize| targets.iter().any(|target| target.value == value && target.with.is_some());
    let mut list = Vec::new();
    for hit in hits {
        let position = tree.position(tree.span(hit.node).start);
        let values: BTreeSet<usize> = hit.spots.iter().flat_map(|spot| spot.values.iter().copied()).collect();
        list.extend(values.into_iter().filter(|value| known(*value)).map(|value| Left {
            value,
            document: marked.number,
            object: object(tree),
            why: why(hit),
            line: position.line,
            column: position.column,
        }));
    }
    list
}

fn why(hit: &Hit) -> Why {
    match hit.spots.iter().find_map(|spot| spot.refused.clone()) {
        _ if hit.key => Why::Key,
        Some(why) => Why::Refused(why),
        None => Why::Unwritable,
    }
}

/// The text at a path of a document.
fn text_at<'t>(tree: &'t Tree<'_>, path: &[&str]) -> Option<&'t str> {
    let path: Vec<yaml::Segment> = path.iter().map(|key| yaml::Segment::from(*key)).collect();
    tree.at(&path).and_then(|node| tree.string(node))
}

/// Kind and name of a document, as far as it has them.
fn object(tree: &Tree<'_>) -> String {
    let text = |path: &[&str]| text_at(tree, path);
    let (kind, name) = (text(&["kind"]), text(&["metadata", "name"]));
    match (kind, text(&["metadata", "namespace"]), name) {
        (Some(kind), Some(namespace), Some(name)) => format!("{kind} {namespace}/{name}"),
        (Some(kind), None, Some(name)) => format!("{kind} {name}"),
        (Some(kind), _, None) => kind.to_owned(),
        _ => "no object".to_owned(),
    }
}

impl Marked<'_> {
    /// The identity of its object, as far as it has one.
    pub(super) fn key(&self) -> Option<Key> {
        key(&self.tree)
    }

    /// How many places each late value has in the values of the document, keys not counted.
    pub(super) fn places(&self, value: usize) -> usize {
        let spots = self.hits.iter().filter(|hit| !hit.key).flat_map(|hit| &hit.spots);
        spots.flat_map(|spot| &spot.values).filter(|other| **other == value).count()
    }

    /// The late values that stand anywhere in the document.
    pub(super) fn values(&self) -> impl Iterator<Item = usize> + '_ {
        self.hits.iter().flat_map(|hit| &hit.spots).flat_map(|spot| spot.values.iter().copied())
    }
}

/// Whether a document may hold a placeholder, told from its bytes: cheap, never wrongly no.
fn may_hold(document: &[u8], targets: &[Target<'_>]) -> bool {
    // A text with blanks may be folded over lines, so its longest word is looked for.
    // A quote is written twice in single quotes, so no word goes over one.
    let word = |text: &str| text.split([' ', '\'']).max_by_key(|word| word.len()).unwrap_or_default().to_owned();
    // A backslash may hide any character of a double-quoted text.
    memchr::memchr(b'\\', document).is_some()
        || targets.iter().any(|target| memmem::find(document, word(target.placeholder).as_bytes()).is_some())
        || document.starts_with(&[0xFF, 0xFE])
        || document.starts_with(&[0xFE, 0xFF])
        || suspect(document, targets)
}
