//! One document: where it holds placeholders, and its new bytes.
//! The edits are made by the reader of YAML, which reads them again: unless all reads as intended, nothing is filled in.

use super::layers::{Spot, replacements};
use crate::yaml::{self, Edit, New, NodeId, NodeKind, Patch, Section, Segment, Tree};

/// A scalar that holds placeholders.
pub(super) struct Hit {
    /// The scalar.
    pub(super) node: NodeId,
    /// Whether it is a key of a map.
    pub(super) key: bool,
    /// Where in its text they stand.
    pub(super) spots: Vec<Spot>,
}

impl Hit {
    /// The late values that stand in it, one entry for each place.
    pub(super) fn values(&self) -> impl Iterator<Item = usize> + '_ {
        self.spots.iter().flat_map(Spot::values)
    }

    /// Whether something in it was not opened.
    pub(super) fn is_closed(&self) -> bool {
        self.spots.iter().any(|spot| spot.closed)
    }
}

/// Every scalar of the document that holds placeholders, in order. `spots` finds them in a text.
pub(super) fn hits(tree: &Tree<'_>, spots: impl Fn(&str) -> Vec<Spot>) -> Vec<Hit> {
    let mut keys = vec![false; tree.len()];
    for node in tree.nodes() {
        if matches!(tree.node(node).kind, NodeKind::Map { .. }) {
            for (key, _) in tree.entries(node) {
                keys[key.0 as usize] = true;
            }
        }
    }
    let mut hits = Vec::new();
    for node in tree.nodes() {
        if !matches!(tree.node(node).kind, NodeKind::Scalar(_)) {
            continue;
        }
        let spots = spots(tree.scalar_text(node).unwrap_or_default());
        if !spots.is_empty() {
            hits.push(Hit { node, key: keys[node.0 as usize], spots });
        }
    }
    hits
}

/// These hits, with what stands in them for other targets.
pub(super) fn again(tree: &Tree<'_>, hits: &[Hit], spots: impl Fn(&str) -> Vec<Spot>) -> Vec<Hit> {
    let each = hits.iter().map(|hit| {
        let spots = spots(tree.scalar_text(hit.node).unwrap_or_default());
        Hit { node: hit.node, key: hit.key, spots }
    });
    each.filter(|hit| !hit.spots.is_empty()).collect()
}

/// The bytes of the document with these hits filled in that have something to fill in; `None` where nothing changes, or where no way
/// was found that leaves the rest as it is. `integer` says which late values are numbers.
pub(super) fn fill<'h>(
    stream: &[u8],
    section: &Section,
    tree: &Tree<'_>,
    hits: impl Iterator<Item = &'h Hit>,
    integer: &[bool],
) -> Option<Vec<u8>> {
    let edits: Vec<Edit> = hits.filter_map(|hit| edit(tree, hit, integer)).collect();
    if edits.is_empty() {
        return None;
    }
    let base = section.document.start;
    let patches: Vec<Patch> = tree.edit(&edits).ok()?.iter().map(|patch| patch.since(base)).collect();
    Some(yaml::apply(section.document.of(stream), &patches))
}

/// The edit of one scalar; `None` where nothing in it is known.
fn edit(tree: &Tree<'_>, hit: &Hit, integer: &[bool]) -> Option<Edit> {
    let spots = replacements(&hit.spots);
    let length = tree.scalar_text(hit.node)?.len();
    let whole = matches!(hit.spots.as_slice(), [spot] if spot.range == (0..length) && spot.places.len() == 1);
    let number = whole && integer.get(hit.spots[0].places[0].value).copied().unwrap_or_default();
    (!spots.is_empty()).then_some(Edit { node: hit.node, new: New::Text { spots, number } })
}

/// The way from the top of a document to each of its nodes.
pub(super) struct Ways<'t> {
    tree: &'t Tree<'t>,
    above: Vec<Option<(NodeId, Step)>>,
}

#[derive(Clone, Copy)]
enum Step {
    /// The key that leads to a node.
    Key(NodeId),
    Index(usize),
}

impl<'t> Ways<'t> {
    pub(super) fn of(tree: &'t Tree<'_>) -> Self {
        let mut above = vec![None; tree.len()];
        for node in tree.nodes() {
            match tree.node(node).kind {
                NodeKind::Map { .. } => {
                    for (key, value) in tree.entries(node) {
                        above[value.0 as usize] = Some((node, Step::Key(key)));
                    }
                }
                NodeKind::Seq { .. } => {
                    for (place, item) in tree.items(node).enumerate() {
                        above[item.0 as usize] = Some((node, Step::Index(place)));
                    }
                }
                NodeKind::Scalar(_) | NodeKind::Alias => {}
            }
        }
        Self { tree, above }
    }

    /// The way to a hit; that of a key is the way to its value.
    pub(super) fn to_hit(&self, hit: &Hit) -> Vec<Segment> {
        self.to(if hit.key { self.tree.after(hit.node) } else { hit.node })
    }

    /// The way to a node that is no key.
    pub(super) fn to(&self, node: NodeId) -> Vec<Segment> {
        let mut path = Vec::new();
        let mut at = node;
        while let Some((above, step)) = self.above.get(at.0 as usize).copied().flatten() {
            path.push(match step {
                Step::Key(key) => Segment::Key(self.tree.key_text(key).unwrap_or_default().into_owned()),
                Step::Index(place) => Segment::Index(place),
            });
            at = above;
        }
        path.reverse();
        path
    }
}
