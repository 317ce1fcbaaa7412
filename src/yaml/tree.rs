//! The tree of one document: an arena of nodes with byte spans, and the questions that other modules ask it.
//!
//! Spans are of the *stream*, not of the document. Lookups see what Kubernetes sees: aliases are followed, merges are applied, the
//! last of several equal keys wins. [`Tree::entries`] and [`Tree::items`] show what is written instead.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::OnceLock;

use crate::yaml::arena::{Arena, NodeId, NodeShape, Raw};
use crate::yaml::error::Error;
use crate::yaml::resolve::{Scalar, resolve};
use crate::yaml::scan::Style;
use crate::yaml::span::{Position, Span};

/// What a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeKind {
    /// A scalar in one of five styles.
    Scalar(Style),
    /// A map; `flow` when written in braces.
    Map {
        /// Written in braces.
        flow: bool,
    },
    /// A sequence; `flow` when written in brackets.
    Seq {
        /// Written in brackets.
        flow: bool,
    },
    /// A reference to another node.
    Alias,
}

/// A node's kind and place. The span leaves out anchor and tag; a block scalar's runs from its indicator to its last line break.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Node {
    /// What it is.
    pub kind: NodeKind,
    /// Its bytes in the stream; empty for a value that is not written.
    pub span: Span,
}

/// One step of a path.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Segment {
    /// The value of a key.
    Key(String),
    /// An item of a sequence, from 0.
    Index(usize),
}

impl From<&str> for Segment {
    fn from(key: &str) -> Self {
        Self::Key(key.to_owned())
    }
}

impl From<usize> for Segment {
    fn from(index: usize) -> Self {
        Self::Index(index)
    }
}

/// A key that a map holds twice; Kubernetes reads the last one without a word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Duplicate {
    /// The key as it reads.
    pub key: String,
    /// Where it stands the time before.
    pub first: Span,
    /// Where it stands again.
    pub again: Span,
}

/// One document, read.
#[derive(Debug)]
pub struct Tree<'a> {
    pub(crate) source: Cow<'a, str>,
    pub(crate) arena: Arena,
    pub(crate) base: usize,
    pub(crate) line: usize,
    pub(crate) rest: Option<usize>,
    pub(crate) converted: bool,
    /// Whether the innermost collection around each node is written in brackets, once somebody asked.
    pub(crate) flow: OnceLock<Vec<bool>>,
}

impl Tree<'_> {
    /// The top node; `None` for an empty document, which reads as null.
    #[must_use]
    pub fn root(&self) -> Option<NodeId> {
        (!self.arena.nodes.is_empty()).then_some(NodeId(0))
    }

    /// Number of nodes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.arena.nodes.len()
    }

    /// Every node, in the order of the text; a collection stands before what is in it.
    pub fn nodes(&self) -> impl Iterator<Item = NodeId> + use<> {
        (0..u32::try_from(self.len()).unwrap_or(u32::MAX)).map(NodeId)
    }

    /// True for an empty document.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.arena.nodes.is_empty()
    }

    /// Where the text goes on after the end of the document, as an offset of the stream. Kubernetes drops that text.
    #[must_use]
    pub fn rest(&self) -> Option<usize> {
        self.rest.map(|rest| self.base + rest)
    }

    /// True when the document was converted from UTF-16, or line ends from CR CR LF, so that spans do not fit the stream and nothing can
    /// be spliced.
    #[must_use]
    pub fn is_converted(&self) -> bool {
        self.converted
    }

    pub(crate) fn raw(&self, node: NodeId) -> &Raw {
        &self.arena.nodes[node.0 as usize]
    }

    /// Kind and place of a node.
    #[must_use]
    pub fn node(&self, node: NodeId) -> Node {
        let raw = self.raw(node);
        let kind = match raw.shape {
            NodeShape::Scalar { style, .. } => NodeKind::Scalar(style),
            NodeShape::Map { flow } => NodeKind::Map { flow },
            NodeShape::Seq { flow } => NodeKind::Seq { flow },
            NodeShape::Alias => NodeKind::Alias,
        };
        Node { kind, span: self.span(node) }
    }

    /// The bytes of a node in the stream.
    #[must_use]
    pub fn span(&self, node: NodeId) -> Span {
        let raw = self.raw(node);
        Span::new(self.base + raw.start as usize, self.base + raw.end as usize)
    }

    /// Line and column of an offset of the stream inside this document.
    #[must_use]
    pub fn position(&self, offset: usize) -> Position {
        Position::of(self.source.as_bytes(), offset.saturating_sub(self.base), self.line)
    }

    /// Line feeds between two offsets of the stream inside this document.
    pub(crate) fn lines_between(&self, from: usize, to: usize) -> usize {
        let local = |offset: usize| offset.saturating_sub(self.base).min(self.source.len());
        let bytes = self.source.as_bytes().get(local(from)..local(to)).unwrap_or_default();
        memchr::memchr_iter(b'\n', bytes).count()
    }

    /// An error at an offset of the stream.
    pub(crate) fn error(&self, offset: usize, message: impl Into<String>) -> Error {
        Error::at(self.source.as_bytes(), offset.saturating_sub(self.base), self.line, message)
    }

    /// The node itself, or what an alias refers to.
    #[must_use]
    pub fn follow(&self, node: NodeId) -> NodeId {
        match self.raw(node) {
            Raw { shape: NodeShape::Alias, a, .. } => NodeId(*a),
            _ => node,
        }
    }

    /// The decoded text of a scalar, whatever it resolves to; `None` for collections. Aliases are followed.
    #[must_use]
    pub fn scalar_text(&self, node: NodeId) -> Option<&str> {
        let raw = self.raw(self.follow(node));
        let NodeShape::Scalar { decoded, .. } = raw.shape else { return None };
        let text: &str = if decoded { &self.arena.decoded } else { &self.source };
        text.get(raw.a as usize..raw.a as usize + raw.b as usize)
    }

    /// The value of a scalar as Go reads it; `None` for collections. Aliases are followed.
    #[must_use]
    pub fn scalar(&self, node: NodeId) -> Option<Scalar<'_>> {
        self.resolved(node).and_then(Result::ok)
    }

    pub(crate) fn resolved(&self, node: NodeId) -> Option<Result<Scalar<'_>, String>> {
        let node = self.follow(node);
        let raw = self.raw(node);
        let NodeShape::Scalar { style, .. } = raw.shape else { return None };
        Some(resolve(style, raw.tag, self.scalar_text(node)?))
    }

    /// The text of a scalar that reads as a string; `None` for anything else.
    #[must_use]
    pub fn string(&self, node: NodeId) -> Option<&str> {
        match self.scalar(node)? {
            Scalar::Text(Cow::Borrowed(text)) => Some(text),
            _ => None,
        }
    }

    /// The first node after a subtree.
    pub(crate) fn after(&self, node: NodeId) -> NodeId {
        match self.raw(node) {
            Raw { shape: NodeShape::Map { .. } | NodeShape::Seq { .. }, a, .. } => NodeId(*a),
            _ => NodeId(node.0 + 1),
        }
    }

    fn children(&self, node: NodeId) -> Children<'_> {
        let raw = self.raw(node);
        let end = match raw.shape {
            NodeShape::Map { .. } | NodeShape::Seq { .. } => raw.a,
            _ => node.0 + 1,
        };
        Children { tree: self, next: node.0 + 1, end }
    }

    /// Key and value of each entry as written, in order; nothing for other nodes. Aliases are followed, merges are not applied.
    pub fn entries(&self, node: NodeId) -> impl Iterator<Item = (NodeId, NodeId)> + '_ {
        let node = self.follow(node);
        let mut children = self.children(node);
        let is_map = matches!(self.raw(node).shape, NodeShape::Map { .. });
        std::iter::from_fn(move || if is_map { Some((children.next()?, children.next()?)) } else { None })
    }

    /// The items of a sequence in order; nothing for other nodes. Aliases are followed.
    pub fn items(&self, node: NodeId) -> impl Iterator<Item = NodeId> + '_ {
        let node = self.follow(node);
        let is_seq = matches!(self.raw(node).shape, NodeShape::Seq { .. });
        self.children(node).take_while(move |_| is_seq)
    }

    /// The value of `key` in a map as Kubernetes sees it.
    #[must_use]
    pub fn get(&self, node: NodeId, key: &str) -> Option<NodeId> {
        if self.arena.seen.shared {
            let mut found = None;
            self.each_entry(node, &mut |name, value| {
                if self.key_is(name, key) {
                    found = Some(value);
                }
            });
            return found;
        }
        self.entries(node).filter(|(name, _)| self.key_is(*name, key)).last().map(|(_, value)| value)
    }

    /// True when a key node reads as `key`.
    #[must_use]
    pub fn key_is(&self, node: NodeId, key: &str) -> bool {
        match self.scalar(node) {
            Some(Scalar::Text(text)) => text == key,
            Some(other) => other.key().is_some_and(|bytes| bytes == key.as_bytes()),
            None => false,
        }
    }

    /// A key node's text as Kubernetes sees it (`y` is `true`, `0777` is `511`).
    #[must_use]
    pub fn key_text(&self, node: NodeId) -> Option<Cow<'_, str>> {
        match self.scalar(node)? {
            Scalar::Text(text) => Some(text),
            other => other.key().map(|bytes| String::from_utf8_lossy(&bytes).into_owned().into()),
        }
    }

    /// Follows a path from `node`.
    #[must_use]
    pub fn find(&self, node: NodeId, path: &[Segment]) -> Option<NodeId> {
        path.iter().try_fold(node, |node, segment| match segment {
            Segment::Key(key) => self.get(node, key),
            Segment::Index(index) => self.items(node).nth(*index),
        })
    }

    /// Follows a path from the top.
    #[must_use]
    pub fn at(&self, path: &[Segment]) -> Option<NodeId> {
        self.find(self.root()?, path)
    }

    /// The keys that a map holds twice, in order of the document.
    #[must_use]
    pub fn duplicates(&self) -> Vec<Duplicate> {
        let mut found = Vec::new();
        for index in 0..self.arena.nodes.len() {
            let node = NodeId(u32::try_from(index).unwrap_or(u32::MAX));
            if matches!(self.raw(node).shape, NodeShape::Map { .. }) {
                let mut first = HashMap::new();
                for (name, _) in self.entries(node) {
                    let raw = self.raw(name);
                    let Some(key) = self.key_text(name) else { continue };
                    if is_merge(raw, &key) {
                        continue;
                    }
                    if let Some(earlier) = first.insert(key.clone(), name) {
                        found.push(Duplicate {
                            key: key.into_owned(),
                            first: self.span(earlier),
                            again: self.span(name),
                        });
                    }
                }
            }
        }
        found
    }

    /// The first merge (`<<`) that does not stand first in its map. Go takes keys and merges in the order of the text, so that it writes
    /// over what a person reads as said before it.
    #[must_use]
    pub fn late_merge(&self) -> Option<Span> {
        if !self.arena.seen.shared {
            return None;
        }
        let nodes = (0..self.arena.nodes.len()).map(|index| NodeId(u32::try_from(index).unwrap_or(u32::MAX)));
        let maps = nodes.filter(|node| matches!(self.raw(*node).shape, NodeShape::Map { .. }));
        let mut late = maps.flat_map(|node| self.entries(node).skip(1).map(|(name, _)| name));
        let found = late.find(|name| self.key_text(*name).is_some_and(|key| is_merge(self.raw(*name), &key)))?;
        Some(self.span(found))
    }
}

/// Whether a key merges another map into this one.
fn is_merge(raw: &Raw, key: &str) -> bool {
    matches!(raw.shape, NodeShape::Scalar { style, .. } if crate::yaml::resolve::is_merge(style, raw.tag, key))
}

struct Children<'t> {
    tree: &'t Tree<'t>,
    next: u32,
    end: u32,
}

impl Iterator for Children<'_> {
    type Item = NodeId;

    fn next(&mut self) -> Option<NodeId> {
        if self.next >= self.end {
            return None;
        }
        let node = NodeId(self.next);
        self.next = self.tree.after(node).0;
        Some(node)
    }
}
