//! One document: where it holds placeholders, and its new bytes.
//! What was filled in is read again; unless every other node is as it was and every filled one reads as intended, nothing is filled in.

use super::layers::{Spot, Target, spots};
use super::splice::Change;
use crate::yaml::{NodeId, NodeKind, Section, Tree, read_at};

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
    for node in nodes(tree) {
        if matches!(tree.node(node).kind, NodeKind::Map { .. }) {
            for (key, _) in tree.entries(node) {
                keys[key.0 as usize] = true;
            }
        }
    }
    let mut hits = Vec::new();
    for node in nodes(tree) {
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
    if tree.is_converted() {
        return None;
    }
    let changes: Vec<(NodeId, Change<'_>)> = hits
        .iter()
        .filter(|hit| !hit.key && hit.spots.iter().any(|spot| spot.new.is_some()))
        .filter_map(|hit| Some((hit.node, change(stream, tree, hit, integer)?)))
        .collect();
    if changes.is_empty() {
        return None;
    }
    [Change::careful, Change::quoted].into_iter().find_map(|way| {
        let bytes = spliced(stream, section, tree, &changes, way);
        as_intended(&bytes, section, tree, &changes).then_some(bytes)
    })
}

fn change<'t>(stream: &'t [u8], tree: &'t Tree<'_>, hit: &'t Hit, integer: &[bool]) -> Option<Change<'t>> {
    let node = tree.node(hit.node);
    let NodeKind::Scalar(style) = node.kind else { return None };
    let text = tree.scalar_text(hit.node)?;
    let whole = matches!(hit.spots.as_slice(), [spot] if spot.range == (0..text.len()) && spot.values.len() == 1);
    let number = whole && integer.get(hit.spots[0].values[0]).copied().unwrap_or_default();
    Some(Change {
        raw: node.span.of(stream),
        style,
        text,
        old: tree.scalar(hit.node)?,
        spots: &hit.spots,
        integer: number,
    })
}

/// The document with the bytes of the changed scalars replaced.
fn spliced<'t>(
    stream: &[u8],
    section: &Section,
    tree: &Tree<'_>,
    changes: &[(NodeId, Change<'t>)],
    way: fn(&Change<'t>) -> Vec<u8>,
) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(section.document.len());
    let mut done = section.document.start;
    for (node, change) in changes {
        let span = tree.span(*node);
        bytes.extend_from_slice(&stream[done..span.start]);
        bytes.extend_from_slice(&way(change));
        done = span.end;
    }
    bytes.extend_from_slice(&stream[done..section.document.end]);
    bytes
}

/// Whether the new bytes hold the same document but for the changed scalars, and those read as they should.
fn as_intended(bytes: &[u8], section: &Section, old: &Tree<'_>, changes: &[(NodeId, Change<'_>)]) -> bool {
    let Ok(new) = read_at(bytes, section.document.start, section.line) else { return false };
    if new.len() != old.len() {
        return false;
    }
    let mut changes = changes.iter().peekable();
    nodes(old).all(|node| match changes.next_if(|(changed, _)| *changed == node) {
        Some((_, change)) => new.scalar(node).is_some_and(|scalar| change.accepts(&scalar)),
        None => {
            let kind = old.node(node).kind;
            let alias = kind == NodeKind::Alias;
            kind == new.node(node).kind
                && old.follow(node) == new.follow(node)
                && (alias || old.scalar_text(node) == new.scalar_text(node))
        }
    })
}

fn nodes(tree: &Tree<'_>) -> impl Iterator<Item = NodeId> + use<> {
    (0..u32::try_from(tree.len()).unwrap_or(u32::MAX)).map(NodeId)
}
