//! One document: where it holds placeholders, and its new bytes.
//! The edits are made by the reader of YAML, which reads them again: unless all reads as intended, nothing is filled in.

use super::layers::{Spot, Target, replacements, spots};
use crate::yaml::{self, Edit, New, NodeId, NodeKind, Patch, Section, Tree};

/// A scalar that holds placeholders.
pub(super) struct Hit {
    /// The scalar.
    pub(super) node: NodeId,
    /// Whether it is a key of a map.
    pub(super) key: bool,
    /// Where in its text they stand.
    pub(super) spots: Vec<Spot>,
}

/// Every scalar of the document that holds placeholders, in order.
pub(super) fn hits(tree: &Tree<'_>, targets: &[Target<'_>]) -> Vec<Hit> {
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
        let spots = spots(tree.scalar_text(node).unwrap_or_default(), targets);
        if !spots.is_empty() {
            hits.push(Hit { node, key: keys[node.0 as usize], spots });
        }
    }
    hits
}

/// The bytes of the document with every hit filled in that has something to fill in, keys excluded; `None` where nothing changes,
/// or where no way was found that leaves the rest as it is. `integer` says which late values are numbers.
pub(super) fn fill(
    stream: &[u8],
    section: &Section,
    tree: &Tree<'_>,
    hits: &[Hit],
    integer: &[bool],
) -> Option<Vec<u8>> {
    let edits: Vec<Edit> = hits.iter().filter(|hit| !hit.key).filter_map(|hit| edit(tree, hit, integer)).collect();
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
    let whole = matches!(hit.spots.as_slice(), [spot] if spot.range == (0..length) && spot.values.len() == 1);
    let number = whole && integer.get(hit.spots[0].values[0]).copied().unwrap_or_default();
    (!spots.is_empty()).then_some(Edit { node: hit.node, new: New::Text { spots, number } })
}
