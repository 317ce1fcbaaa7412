//! A document beside another one that it mostly repeats, as both sides of a change do: an entry of a block map whose bytes stand in the
//! other one as they are, at the same depth and under the same keys, is taken over with what it reads as there and not read again.
//!
//! What lines read as depends on nothing but themselves and their depth where no anchor, tag or merge is about. Where that is not sure, or
//! something else than a line of the same depth follows on one of both sides, nothing is taken over.

use super::arena::{NodeId, NodeShape};
use super::head::next_line_within;
use super::tree::Tree;
use crate::hashed::HashMap;
use crate::tree::{Map, Value};

/// How many entries of the other side are looked at for a key that does not stand where it is expected.
const NEAR: usize = 8;

/// What some nodes of a tree read as, whatever stands there.
pub(crate) type Meant = HashMap<NodeId, Value>;

/// The other document: its tree, and what that reads as.
#[derive(Clone, Copy)]
pub(crate) struct Twin<'t> {
    tree: &'t Tree<'t>,
    value: &'t Value,
}

/// A node of the other document that stands where one of this document does, and what it reads as.
#[derive(Clone, Copy)]
pub(super) struct Beside<'t> {
    node: NodeId,
    value: &'t Value,
}

/// A block collection of the other document that stands where an open one of this document does.
#[derive(Clone, Copy)]
pub(super) enum Side<'t> {
    /// A map: its next key, the end of its nodes, how many entries are behind it, and its values.
    Map { next: NodeId, end: u32, place: usize, map: &'t Map },
    /// A list: the same with items.
    List { next: NodeId, end: u32, place: usize, items: &'t [Value] },
}

impl<'t> Twin<'t> {
    /// The other document, where what its parts read as depends on nothing but themselves.
    pub(crate) fn of(tree: &'t Tree<'t>, value: &'t Value) -> Option<Self> {
        let seen = tree.arena.seen;
        let is_plain = !(seen.decode || seen.unfit || seen.shared || seen.anchors || tree.converted);
        is_plain.then_some(Self { tree, value })
    }

    /// The root of both.
    pub(super) fn root(self) -> Option<Beside<'t>> {
        Some(Beside { node: self.tree.root()?, value: self.value })
    }

    /// The collection that a node is, where it is a block of this kind, and has no key twice.
    pub(super) fn opened(self, beside: Beside<'t>, seq: bool) -> Option<Side<'t>> {
        let raw = self.tree.raw(beside.node);
        let next = NodeId(beside.node.0 + 1);
        let count = raw.b as usize;
        match (raw.shape, beside.value) {
            (NodeShape::Map { flow: false }, Value::Object(map)) if !seq && count == 2 * map.len() => {
                Some(Side::Map { next, end: raw.a, place: 0, map })
            }
            (NodeShape::Seq { flow: false }, Value::Array(items)) if seq && count == items.len() => {
                Some(Side::List { next, end: raw.a, place: 0, items })
            }
            _ => None,
        }
    }

    /// The next item of a list.
    pub(super) fn item(self, side: &mut Side<'t>) -> Option<Beside<'t>> {
        let Side::List { next, end, place, items } = side else { return None };
        if next.0 >= *end {
            return None;
        }
        let found = Beside { node: *next, value: items.get(*place)? };
        (*next, *place) = (self.tree.after(*next), *place + 1);
        Some(found)
    }

    /// The key of a map that is written so, and its value; the entries before it are not looked at again.
    pub(super) fn entry(self, side: &mut Side<'t>, key: &[u8]) -> Option<(NodeId, Beside<'t>)> {
        let Side::Map { next, end, place, map } = side else { return None };
        let (mut name, mut at) = (*next, *place);
        for _ in 0..NEAR {
            if name.0 >= *end {
                return None;
            }
            let value = self.tree.after(name);
            let raw = self.tree.raw(name);
            if self.text().get(raw.start as usize..raw.end as usize) == Some(key) {
                (*next, *place) = (self.tree.after(value), at + 1);
                return Some((name, Beside { node: value, value: &map.at(at)?.1 }));
            }
            (name, at) = (self.tree.after(value), at + 1);
        }
        None
    }

    /// How long the entry is that begins here with its key at this column, and what it reads as, where it stands in the other document
    /// as it is.
    pub(super) fn taken(self, rest: &[u8], column: usize, key: NodeId, value: Beside<'t>) -> Option<(usize, Value)> {
        let text = self.text();
        let start = self.tree.raw(key).start as usize;
        let there = text.get(start..)?;
        // Most entries that differ do so on their first line.
        let line = memchr::memchr(b'\n', rest).map_or(rest.len(), |at| at + 1);
        if there.get(..line)? != &rest[..line] {
            return None;
        }
        let length = extent(rest, column, self.is_list_at(value.node, column));
        if there.get(line..length)? != &rest[line..length] || start - line_start(text, start) != column {
            return None;
        }
        // There the entry ends with these lines, too: the next node is a key or an item on the line behind them.
        let end = start + length;
        let next = self.tree.after(value.node);
        let ends = match self.tree.arena.nodes.get(next.0 as usize) {
            Some(raw) => {
                let before = text.get(end..raw.start as usize)?;
                text[..end].ends_with(b"\n") && before.iter().all(|byte| matches!(byte, b' ' | b'-'))
            }
            None => end == text.len() && (length == rest.len() || rest[..length].ends_with(b"\n")),
        };
        ends.then(|| (length, value.value.clone()))
    }

    /// Whether a node is a list whose dashes stand at the column of its key.
    fn is_list_at(self, node: NodeId, column: usize) -> bool {
        let (raw, text) = (self.tree.raw(node), self.text());
        let start = raw.start as usize;
        raw.shape == NodeShape::Seq { flow: false } && start - line_start(text, start) == column
    }

    fn text(self) -> &'t [u8] {
        self.tree.source.as_bytes()
    }
}

/// Where the line begins in which a byte stands.
fn line_start(text: &[u8], at: usize) -> usize {
    memchr::memrchr(b'\n', &text[..at]).map_or(0, |feed| feed + 1)
}

/// How far an entry goes whose key begins the text at this column: up to the next line that is no deeper, not blank, and no item of its
/// list where the dashes of that stand at the column, too.
fn extent(text: &[u8], column: usize, dashes: bool) -> usize {
    let mut from = 0;
    while let Some(at) = next_line_within(&text[from..], column) {
        from += at;
        let line = &text[from..];
        let indent = line.iter().take_while(|byte| **byte == b' ').count();
        let is_item = dashes && indent == column && matches!(line[indent..], [b'-', b' ' | b'\n', ..]);
        if !is_item && !matches!(line.get(indent), None | Some(b'\n')) {
            return from;
        }
    }
    text.len()
}
