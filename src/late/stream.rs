//! A whole stream: which documents hold placeholders, and which late values they need. A document that holds none is never parsed.

use std::collections::BTreeSet;

use super::document::{self, Hit};
use super::layers::{self, suspect};
use super::targets::{Finder, Target, Targets};
use crate::hashed::HashSet;
use crate::object::{Key, StreamText};
use crate::parallel;
use crate::policy::Policy;
use crate::yaml::{self, Section, Tree};

/// A document that holds placeholders in its values or keys.
pub(super) struct Marked<'s> {
    /// Its place among the documents of the stream, from 1, blank ones not counted.
    pub(super) number: usize,
    pub(super) section: Section,
    pub(super) tree: Tree<'s>,
    pub(super) hits: Vec<Hit>,
}

/// What was found in a stream.
#[derive(Default)]
pub(super) struct Found<'s> {
    /// The documents with placeholders.
    pub(super) marked: Vec<Marked<'s>>,
    /// Documents that may hold some and cannot be read, with why.
    pub(super) unreadable: Vec<yaml::Error>,
    /// Where the documents start that hold none.
    in_vain: Vec<usize>,
}

/// The names of the late values whose placeholders stand in the stream, so that only their sources are read.
/// Comments do not count. A document that cannot be read counts with whatever its bytes hold.
#[must_use]
pub fn needed(stream: &StreamText, policy: &Policy) -> BTreeSet<String> {
    let targets = targets(policy, &[]);
    if targets.is_empty() {
        return BTreeSet::new();
    }
    let all: BTreeSet<usize> = targets.iter().map(|target| target.value).collect();
    let mut values = BTreeSet::new();
    let sections = sections(stream);
    // Most streams show in their first documents all that they need.
    let mut in_vain = HashSet::default();
    for some in sections.as_deref().unwrap_or_default().chunks(AT_ONCE) {
        let found = look(stream, some, &targets);
        in_vain.extend(found.in_vain.iter().copied());
        values.extend(found.marked.iter().flat_map(Marked::values));
        if !found.unreadable.is_empty() {
            let raw = targets.iter().filter(|target| super::token::occurs(stream, target.placeholder));
            values.extend(raw.map(|target| target.value));
        }
        if values == all {
            break;
        }
    }
    stream.note_in_vain(&targets.words(), in_vain);
    if sections.is_err() {
        let raw = targets.iter().filter(|target| super::token::occurs(stream, target.placeholder));
        values.extend(raw.map(|target| target.value));
    }
    values.into_iter().filter_map(|value| policy.late_values.get(value)).map(|value| value.name.clone()).collect()
}

/// Where a placeholder stands in a text that would go out: the late value and the line.
#[must_use]
pub(crate) fn standing(text: &StreamText, policy: &Policy) -> Option<(String, usize)> {
    let targets = targets(policy, &[]);
    let found = search(text, &targets);
    let read = found.marked.iter().find_map(|marked| {
        let hit = marked.hits.iter().find(|hit| hit.values().next().is_some())?;
        Some((hit.values().next()?, marked.tree.position(marked.tree.span(hit.node).start).line))
    });
    // Another reader may read what this one cannot.
    let raw = || {
        let first = targets.places_in(text).into_iter().min_by_key(|one| one.range.start)?;
        Some((first.target.value, memchr::memchr_iter(b'\n', &text[..first.range.start]).count() + 1))
    };
    let (value, line) = read.or_else(|| raw().filter(|_| !found.unreadable.is_empty()))?;
    Some((policy.late_values.get(value)?.name.clone(), line))
}

/// Every placeholder of the policy with what is written in its place; `with` goes by the places of the late values.
pub(super) fn targets<'p>(policy: &'p Policy, with: &'p [Option<String>]) -> Targets<'p> {
    let mut targets = Vec::new();
    for (value, late) in policy.late_values.iter().enumerate() {
        let with = with.get(value).and_then(Option::as_deref);
        targets.extend(late.placeholders.iter().map(|placeholder| Target { value, placeholder, with }));
    }
    Targets::new(targets)
}

/// Looks for placeholders.
pub(super) fn search<'s>(stream: &'s StreamText, targets: &Targets<'_>) -> Found<'s> {
    if targets.is_empty() {
        return Found::default();
    }
    match sections(stream) {
        Ok(sections) => look(stream, &sections, targets),
        Err(error) => Found { unreadable: vec![error], ..Found::default() },
    }
}

/// Documents that are looked at together.
const AT_ONCE: usize = 256;

/// The documents of a stream that are not blank, each with its place among them, from 1.
fn sections(stream: &StreamText) -> yaml::Result<Vec<(usize, Section)>> {
    let filled = stream.sections()?.iter().copied().filter(|section| !section.is_blank(stream));
    Ok(filled.enumerate().map(|(place, section)| (place + 1, section)).collect())
}

/// Looks for placeholders in some documents.
fn look<'s>(stream: &'s StreamText, sections: &[(usize, Section)], targets: &Targets<'_>) -> Found<'s> {
    let scent = targets.scent();
    // Whoever judges a stream has asked what it needs before.
    let known = stream.in_vain(&targets.words());
    let looked = parallel::map(sections, |(number, section)| {
        let is_known = known.is_some_and(|known| known.contains(&section.document.start));
        if is_known || !may_hold(section.document.of(stream), &scent, targets) {
            return None;
        }
        let tree = match yaml::read_section(stream, section) {
            Err(error) => return Some(Err(error)),
            Ok(tree) => tree,
        };
        let hits = document::hits(&tree, |text| layers::spots(text, targets));
        (!hits.is_empty()).then(|| Ok(Marked { number: *number, section: *section, tree, hits }))
    });
    let mut found = Found::default();
    for (one, (_, section)) in looked.into_iter().zip(sections) {
        match one {
            None => found.in_vain.push(section.document.start),
            Some(Ok(marked)) => found.marked.push(marked),
            Some(Err(error)) => found.unreadable.push(error),
        }
    }
    found
}

/// The identity of the object of a document, as far as it has one.
pub(super) fn key(tree: &Tree<'_>) -> Option<Key> {
    let text = |path: &[&str]| text_at(tree, path);
    let namespace = text(&["metadata", "namespace"]);
    Some(Key::new(text(&["apiVersion"])?, text(&["kind"])?, namespace, text(&["metadata", "name"])?))
}

/// The text at a path of a document.
pub(super) fn text_at<'t>(tree: &'t Tree<'_>, path: &[&str]) -> Option<&'t str> {
    let path: Vec<yaml::Segment> = path.iter().map(|key| yaml::Segment::from(*key)).collect();
    tree.at(&path).and_then(|node| tree.string(node))
}

/// Kind and name of a document, as far as it has them.
pub(super) fn object(tree: &Tree<'_>) -> String {
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

    /// The text of the document; empty where it is none.
    pub(super) fn text<'s>(&self, stream: &'s [u8]) -> &'s str {
        std::str::from_utf8(self.section.document.of(stream)).unwrap_or_default()
    }

    /// The late values that stand anywhere in the document.
    pub(super) fn values(&self) -> impl Iterator<Item = usize> + '_ {
        self.hits.iter().flat_map(Hit::values)
    }
}

/// Whether a document may hold a placeholder, told from its bytes: cheap, never wrongly no.
fn may_hold(document: &[u8], scent: &Finder, targets: &Targets<'_>) -> bool {
    // A backslash may hide any character of a double-quoted text.
    memchr::memchr(b'\\', document).is_some()
        || scent.is_in(document)
        || document.starts_with(&[0xFF, 0xFE])
        || document.starts_with(&[0xFE, 0xFF])
        || suspect(document, targets)
}
