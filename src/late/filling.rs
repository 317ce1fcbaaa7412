//! The documents of a stream with late values in them: what is filled in, what is left and why. No other byte is touched.

use std::collections::BTreeSet;
use std::fmt;

use super::document::{self, Hit, Ways};
use super::held::written;
use super::layers;
use super::stream::{Found, Marked, key, object, search, text_at};
use super::targets::Targets;
use crate::object::{Key, StreamText};
use crate::policy::{Policy, ValueType};
use crate::providers::is_capi;
use crate::report::PlaceReport;
use crate::yaml::{self, NodeKind, Span, Style, Tree};

/// A text of the stream, as a person finds it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Where {
    /// Place of the document in the stream, from 1.
    document: usize,
    /// How a person calls the object.
    object: String,
    /// Its key, where it says all of it.
    pub(super) key: Option<Key>,
    /// The field, or the one whose key it is.
    pub(super) path: String,
    /// Line of the stream, from 1.
    pub(super) line: usize,
    /// Column, from 1.
    pub(super) column: usize,
}

impl Where {
    /// Where a hit stands in its document.
    fn of(hit: &Hit, number: usize, tree: &Tree<'_>, ways: &Ways<'_>) -> Self {
        let position = tree.position(tree.span(hit.node).start);
        Self {
            document: number,
            object: object(tree),
            key: key(tree),
            path: written(&ways.to_hit(hit)).to_string(),
            line: position.line,
            column: position.column,
        }
    }
}

impl fmt::Display for Where {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "document {} ({}), line {}, column {}", self.document, self.object, self.line, self.column)
    }
}

/// A placeholder that is still there after filling in.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Left {
    /// Place of the late value in the policy.
    pub(super) value: usize,
    /// Where it stands.
    pub(super) at: Where,
    /// Why it could not be filled in.
    pub(super) why: Why,
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

/// The texts of these documents that are packed and were not opened, so that nobody knows whether a placeholder stands in them; but for
/// those that the policy leaves out.
pub(super) fn closed(found: &Found<'_>, targets: &Targets<'_>, policy: &Policy) -> Vec<Where> {
    let mut list = Vec::new();
    for marked in found.marked.iter().filter(|marked| marked.hits.iter().any(Hit::is_closed)) {
        let tree = &marked.tree;
        let barred = Scope { marked, targets, policy }.barred(tree, &marked.hits);
        let ways = Ways::of(tree);
        for (hit, barred) in marked.hits.iter().zip(barred).filter(|(hit, _)| hit.is_closed()) {
            if matches!(barred, Some(Why::Skipped(_))) {
                continue;
            }
            list.push(Where::of(hit, marked.number, tree, &ways));
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
            let at = Where::of(hit, self.marked.number, tree, ways.get_or_insert_with(|| Ways::of(tree)));
            list.extend(values.into_iter().map(|value| Left { value, at: at.clone(), why: why.clone() }));
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
