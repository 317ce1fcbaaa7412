//! A whole stream: which documents may hold placeholders, which late values they need, and the stream with the values in it.
//! A document that holds none is never parsed, and its bytes are never touched.

use std::collections::BTreeSet;

use super::document::{self, Hit, Ways};
use super::held::written;
use super::layers::{self, suspect};
use super::targets::{Finder, Target, Targets};
use crate::hashed::HashSet;
use crate::object::{Key, StreamText};
use crate::parallel;
use crate::policy::{Policy, ValueType};
use crate::providers::is_capi;
use crate::report::PlaceReport;
use crate::yaml::{self, NodeKind, Section, Span, Style, Tree};

/// A document that holds placeholders in its values or keys.
pub(super) struct Marked<'s> {
    /// Its place among the documents of the stream, from 1, blank ones not counted.
    pub(super) number: usize,
    section: Section,
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

/// A placeholder that is still there after filling in.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Left {
    /// Place of the late value in the policy.
    pub(super) value: usize,
    /// Place of the document in the stream, from 1.
    pub(super) document: usize,
    /// How a person calls the object.
    pub(super) object: String,
    /// Its key, where it says all of it.
    pub(super) key: Option<Key>,
    /// The field, or the one whose key it is.
    pub(super) path: String,
    /// Why it could not be filled in.
    pub(super) why: Why,
    /// Line of the stream, from 1.
    pub(super) line: usize,
    /// Column, from 1.
    pub(super) column: usize,
}

/// A text that is packed and was not opened, so that nobody knows whether a placeholder stands in it.
pub(super) struct Closed {
    /// Place of the document in the stream, from 1.
    pub(super) document: usize,
    /// How a person calls the object.
    pub(super) object: String,
    /// Its key, where it says all of it.
    pub(super) key: Option<Key>,
    /// The field.
    pub(super) path: String,
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
    /// A pinned field was set back to a text with the placeholder in it.
    Pinned,
    /// The policy leaves the place out, and by which entry.
    Skipped(String),
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
    /// What was filled in, by the places of the late values.
    pub(super) places: Vec<(usize, PlaceReport)>,
    /// The template that was filled in although its name is a hash of what the chart knew.
    pub(super) hashed: Option<Key>,
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

/// The texts of these documents that were not opened, but for those that the policy leaves out.
pub(super) fn closed(found: &Found<'_>, targets: &Targets<'_>, policy: &Policy) -> Vec<Closed> {
    let mut list = Vec::new();
    for marked in found.marked.iter().filter(|marked| marked.hits.iter().any(Hit::is_closed)) {
        let tree = &marked.tree;
        let barred = Scope { marked, targets, policy }.barred(tree, &marked.hits);
        let ways = Ways::of(tree);
        for (hit, barred) in marked.hits.iter().zip(barred).filter(|(hit, _)| hit.is_closed()) {
            if matches!(barred, Some(Why::Skipped(_))) {
                continue;
            }
            let position = tree.position(tree.span(hit.node).start);
            list.push(Closed {
                document: marked.number,
                object: object(tree),
                key: key(tree),
                path: written(&ways.to_hit(hit)).to_string(),
                line: position.line,
                column: position.column,
            });
        }
    }
    list
}

/// The placeholders of these targets that stand in pinned fields after those were set back.
pub(super) fn left_by_pins(stream: &StreamText, targets: &Targets<'_>, policy: &Policy) -> Vec<Left> {
    let found = search(stream, targets);
    let each = found.marked.iter().flat_map(|marked| {
        let barred = vec![Some(Why::Pinned); marked.hits.len()];
        Scope { marked, targets, policy }.left(&marked.tree, &marked.hits, &barred)
    });
    each.collect()
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

/// Fills in one document and looks what is left of the targets that have a value.
pub(super) fn fill(stream: &[u8], marked: &Marked<'_>, targets: &Targets<'_>, policy: &Policy) -> Filled {
    let span = marked.section.document;
    let scope = Scope { marked, targets, policy };
    let hits = document::again(&marked.tree, &marked.hits, |text| layers::spots(text, targets));
    let barred = scope.barred(&marked.tree, &hits);
    let open = || hits.iter().zip(&barred).filter(|(_, barred)| barred.is_none()).map(|(hit, _)| hit);
    let plain = |kind: ValueType| matches!(kind, ValueType::Integer | ValueType::Boolean);
    let integer: Vec<bool> = policy.late_values.iter().map(|value| plain(value.kind)).collect();
    let Some(bytes) = document::fill(stream, &marked.section, &marked.tree, open(), &integer) else {
        let left = scope.left(&marked.tree, &hits, &barred);
        return Filled { span, bytes: None, left, places: Vec::new(), hashed: None };
    };
    if open().any(|hit| hit.key) {
        let after = yaml::read_at(&bytes, span.start, marked.section.line);
        if after.is_ok_and(|tree| tree.duplicates().len() > marked.tree.duplicates().len()) {
            let same = Some(Why::Refused("it would become the same key as another field".to_owned()));
            let left = scope.left(&marked.tree, &hits, &vec![same; hits.len()]);
            return Filled { span, bytes: None, left, places: Vec::new(), hashed: None };
        }
    }
    // What was edited was read again and says what was meant, so what is left stands in the new texts and in those that stay.
    let rest: Vec<Hit> = hits.iter().zip(&barred).map(|(hit, barred)| scope.after(hit, barred.is_none())).collect();
    let left = scope.left(&marked.tree, &rest, &barred);
    Filled { span, left, places: scope.places(open()), hashed: hashed(&marked.tree), bytes: Some(bytes) }
}

/// What decides where one document is filled in.
struct Scope<'a> {
    marked: &'a Marked<'a>,
    targets: &'a Targets<'a>,
    policy: &'a Policy,
}

impl Scope<'_> {
    /// For each hit why it may not be filled in, whatever its value is.
    fn barred(&self, tree: &Tree<'_>, hits: &[Hit]) -> Vec<Option<Why>> {
        let resolve = &self.policy.resolve;
        let ways = (!resolve.is_everywhere()).then(|| Ways::of(tree));
        let (kind, name) = (text_at(tree, &["kind"]), text_at(tree, &["metadata", "name"]));
        let (kind, name) = (kind.unwrap_or_default(), name.unwrap_or_default());
        let barred = hits.iter().map(|hit| {
            let skipped = ways.as_ref().and_then(|ways| resolve.leaves_out(kind, name, &written(&ways.to_hit(hit))));
            let wanted = |value: usize| self.policy.late_values.get(value).is_some_and(|late| late.keys);
            match skipped {
                Some(entry) => Some(Why::Skipped(entry)),
                None if hit.key && !hit.values().all(wanted) => Some(Why::Key),
                None => None,
            }
        });
        barred.collect()
    }

    /// A hit after it was filled in, where it was.
    fn after(&self, hit: &Hit, is_filled: bool) -> Hit {
        let packed =
            hit.spots.iter().any(|spot| spot.closed || spot.places.iter().any(|place| !place.layers.is_empty()));
        let spots = match self.marked.tree.scalar_text(hit.node) {
            Some(text) if is_filled => {
                let new = layers::apply(text, &hit.spots);
                // Where nothing was packed nothing has to be opened again.
                match packed || !self.targets.places(&new).is_empty() {
                    true => layers::spots(&new, self.targets),
                    false => Vec::new(),
                }
            }
            _ => hit.spots.clone(),
        };
        Hit { node: hit.node, key: hit.key, spots }
    }

    /// The placeholders of values that are known and that still stand there.
    fn left(&self, tree: &Tree<'_>, hits: &[Hit], barred: &[Option<Why>]) -> Vec<Left> {
        let known: BTreeSet<usize> =
            self.targets.iter().filter(|target| target.with.is_some()).map(|target| target.value).collect();
        let (mut list, mut ways) = (Vec::new(), None);
        for (hit, barred) in hits.iter().zip(barred) {
            let values: BTreeSet<usize> = hit.values().filter(|value| known.contains(value)).collect();
            if values.is_empty() {
                continue;
            }
            let why = barred.clone().unwrap_or_else(|| why(hit));
            let position = tree.position(tree.span(hit.node).start);
            let path = written(&ways.get_or_insert_with(|| Ways::of(tree)).to_hit(hit)).to_string();
            list.extend(values.into_iter().map(|value| Left {
                value,
                document: self.marked.number,
                object: object(tree),
                key: key(tree),
                path: path.clone(),
                why: why.clone(),
                line: position.line,
                column: position.column,
            }));
        }
        list
    }

    /// The places that were filled in, with the late value of each, in the order of the document.
    fn places<'h>(&self, hits: impl Iterator<Item = &'h Hit>) -> Vec<(usize, PlaceReport)> {
        let tree = &self.marked.tree;
        let (ways, object) = (Ways::of(tree), object(tree));
        let mut lines = Lines { tree, at: self.marked.section.document.start, line: self.marked.section.line };
        let mut places = Vec::new();
        for hit in hits {
            let path = written(&ways.to_hit(hit)).to_string();
            let start = lines.of(tree.span(hit.node).start);
            let text = tree.scalar_text(hit.node).unwrap_or_default();
            // In a literal block each line of the text is a line of the stream.
            let literal = matches!(tree.node(hit.node).kind, NodeKind::Scalar(Style::Literal));
            let (mut seen, mut within) = (0, 0);
            for spot in hit.spots.iter().filter(|spot| spot.new.is_some()) {
                within += memchr::memchr_iter(b'\n', &text.as_bytes()[seen..spot.range.start]).count();
                seen = spot.range.start;
                let line = if literal { start + 1 + within } else { start };
                places.extend(spot.places.iter().map(|place| {
                    let encoding: Vec<&str> = place.layers.iter().map(|layer| layer.word()).collect();
                    let encoding = Some(encoding.join("+")).filter(|text| !text.is_empty());
                    (
                        place.value,
                        PlaceReport { object: object.clone(), path: path.clone(), file: None, line, encoding },
                    )
                }));
            }
        }
        places
    }
}

/// Counts lines of a document from one place to a later one.
struct Lines<'t> {
    tree: &'t Tree<'t>,
    at: usize,
    line: usize,
}

impl Lines<'_> {
    fn of(&mut self, offset: usize) -> usize {
        self.line += self.tree.lines_between(self.at, offset);
        self.at = offset.max(self.at);
        self.line
    }
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
    (is_capi(&key.group) && key.kind.ends_with("Template") && hash && digits > 0).then_some(key)
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
