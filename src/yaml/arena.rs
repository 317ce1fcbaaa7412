//! The arena that every reader fills: nodes in document order, twenty bytes each, no pointers.
//!
//! A collection's children follow it directly; it stores where they end, so that a subtree is stepped over at once. Offsets count in
//! the document; [`crate::yaml::tree::Tree`] adds where the document lies in its stream.

use std::collections::HashMap;

use crate::yaml::error::Problem;
use crate::yaml::events::{EventKind, Events, Tag};
use crate::yaml::resolve::{Scalar, implicit, is_merge};
use crate::yaml::scan::{Style, TextRef};

/// Names a node of one [`crate::yaml::Tree`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(pub(crate) u32);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NodeShape {
    Scalar { style: Style, decoded: bool },
    Map { flow: bool },
    Seq { flow: bool },
    Alias,
}

/// One node; `a` and `b` are: start and length of a scalar's text; end of the subtree and number of children of a collection; the
/// target of an alias.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Raw {
    pub(crate) start: u32,
    pub(crate) end: u32,
    pub(crate) a: u32,
    pub(crate) b: u32,
    pub(crate) shape: NodeShape,
    pub(crate) tag: Tag,
}

/// What was seen while the arena was filled, so that later checks can be skipped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Seen {
    /// Aliases, merges, tags or keys that are no scalars: Go's decoder must be followed step by step.
    pub(crate) decode: bool,
    /// Keys or values that JSON cannot hold.
    pub(crate) unfit: bool,
    /// Aliases or merges, so that equal nodes may stand in several places.
    pub(crate) shared: bool,
    /// Anchors.
    pub(crate) anchors: bool,
}

/// The filled arena.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Arena {
    pub(crate) nodes: Vec<Raw>,
    pub(crate) decoded: String,
    pub(crate) seen: Seen,
    /// Deepest nesting of collections.
    pub(crate) depth: usize,
    /// Whether nodes are missing because there was no memory for them.
    full: bool,
}

#[derive(Debug)]
struct Open {
    node: usize,
    children: u32,
    map: bool,
}

/// Fills an [`Arena`]; used by the exact reader and by the fast walker.
#[derive(Debug, Default)]
pub(crate) struct Builder {
    pub(crate) arena: Arena,
    open: Vec<Open>,
    anchors: HashMap<Vec<u8>, u32>,
    last_end: u32,
}

pub(crate) fn small(value: usize) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}

impl Builder {
    /// A builder with room for some nodes.
    pub(crate) fn with_capacity(nodes: usize) -> Self {
        let mut builder = Self::default();
        // Where there is none, it is said when the first node needs some.
        drop(builder.arena.nodes.try_reserve(nodes));
        builder
    }

    /// True when the next node is a key.
    fn at_key(&self) -> bool {
        self.open.last().is_some_and(|open| open.map && open.children.is_multiple_of(2))
    }

    fn add(&mut self, raw: Raw) -> usize {
        if let Some(open) = self.open.last_mut() {
            open.children += 1;
        }
        // The one allocation that grows with the text, whatever it holds: a program that runs out of memory here would just end.
        self.arena.full |= self.arena.nodes.try_reserve(1).is_err();
        if !self.arena.full {
            self.arena.nodes.push(raw);
        }
        self.arena.nodes.len().saturating_sub(1)
    }

    /// Adds a scalar; `bytes` is its text, `text` says where that lies.
    pub(crate) fn scalar(&mut self, span: (usize, usize), style: Style, tag: Tag, text: TextRef, bytes: &[u8]) {
        let key = self.at_key();
        if tag != Tag::None {
            self.arena.seen.decode = true;
        }
        if style == Style::Plain || tag != Tag::None {
            self.note(key, style, tag, bytes);
        }
        let shape = NodeShape::Scalar { style, decoded: text.decoded };
        self.add(Raw {
            start: small(span.0),
            end: small(span.1),
            a: small(text.start),
            b: small(text.len),
            shape,
            tag,
        });
        self.last_end = small(span.1);
    }

    fn note(&mut self, key: bool, style: Style, tag: Tag, bytes: &[u8]) {
        let first = bytes.first().copied();
        let text = || std::str::from_utf8(bytes).unwrap_or_default();
        let seen = &mut self.arena.seen;
        if key {
            if bytes == b"<<" && is_merge(style, tag, text()) {
                seen.decode = true;
                seen.shared = true;
            }
            // Only these first bytes lead to null or to an integer above 64 bits with sign.
            if tag != Tag::None || matches!(first, None | Some(b'~' | b'n' | b'N' | b'0'..=b'9')) {
                seen.unfit |= tag != Tag::None || matches!(implicit(text()), Scalar::Null | Scalar::Uint(_));
            }
        } else if tag != Tag::None || matches!(first, Some(b'.' | b'+' | b'-')) && matches!(bytes.len(), 4 | 5) {
            seen.unfit |= tag != Tag::None || matches!(implicit(text()), Scalar::Float(value) if !value.is_finite());
        }
    }

    /// Opens a map or a sequence.
    pub(crate) fn open(&mut self, start: usize, map: bool, flow: bool) {
        self.arena.seen.decode |= self.at_key();
        let shape = if map { NodeShape::Map { flow } } else { NodeShape::Seq { flow } };
        let node = self.add(Raw { start: small(start), end: small(start), a: 0, b: 0, shape, tag: Tag::None });
        self.open.push(Open { node, children: 0, map });
        self.arena.depth = self.arena.depth.max(self.open.len());
        self.last_end = small(start);
    }

    /// Closes the innermost collection; a block collection ends where its last child ends.
    pub(crate) fn close(&mut self, flow_end: Option<usize>) {
        let Some(open) = self.open.pop() else { return };
        let subtree = small(self.arena.nodes.len());
        if let Some(end) = flow_end {
            self.last_end = small(end);
        }
        if let Some(node) = self.arena.nodes.get_mut(open.node) {
            node.end = self.last_end;
            node.a = subtree;
            node.b = open.children;
        }
    }

    fn alias(&mut self, span: (usize, usize), target: u32) {
        self.arena.seen.decode = true;
        self.arena.seen.shared = true;
        self.add(Raw {
            start: small(span.0),
            end: small(span.1),
            a: target,
            b: 0,
            shape: NodeShape::Alias,
            tag: Tag::None,
        });
        self.last_end = small(span.1);
    }

    /// Binds a name to the node that comes next.
    fn anchor(&mut self, name: &[u8]) {
        self.arena.seen.anchors = true;
        self.anchors.insert(name.to_vec(), small(self.arena.nodes.len()));
    }
}

/// Reads the first document of an event source into an arena.
pub(crate) fn fill(events: &mut impl Events) -> Result<Arena, Problem> {
    let mut builder = Builder::default();
    while builder.step(events)? {}
    builder.finish(events.take_decoded())
}

impl Builder {
    /// Number of open collections.
    pub(crate) fn depth(&self) -> usize {
        self.open.len()
    }

    /// The finished arena, with the text that does not stand verbatim in the source.
    pub(crate) fn finish(self, decoded: Vec<u8>) -> Result<Arena, Problem> {
        let mut arena = self.arena;
        if arena.full {
            return Err(Problem::new(0, "the document does not fit into the memory that there is"));
        }
        arena.decoded = String::from_utf8(decoded).map_err(|_| Problem::new(0, "the text is not valid UTF-8"))?;
        Ok(arena)
    }

    /// Takes one event; false at the end of the document.
    pub(crate) fn step(&mut self, events: &mut impl Events) -> Result<bool, Problem> {
        let event = events.next_event()?;
        let span = (event.start, event.end);
        if let Some((start, end)) = event.anchor {
            self.anchor(&events.source()[start..end]);
        }
        match event.kind {
            EventKind::StreamEnd | EventKind::DocumentEnd => return Ok(false),
            EventKind::DocumentStart => {}
            EventKind::Alias((start, end)) => {
                let name = &events.source()[start..end];
                let Some(target) = self.anchors.get(name).copied() else {
                    // The name is not said: it may be a password that nobody quoted.
                    let message = "unknown anchor; a text that starts with * needs quotes".to_owned();
                    return Err(Problem::new(event.start, message));
                };
                self.alias(span, target);
            }
            EventKind::Scalar { style, text, tag } => {
                let bytes = events.text(text);
                self.scalar(span, style, tag, text, bytes);
            }
            EventKind::SequenceStart { flow } => self.open(event.start, false, flow),
            EventKind::MappingStart { flow } => self.open(event.start, true, flow),
            EventKind::SequenceEnd | EventKind::MappingEnd => {
                // A flow collection ends with its bracket; a block one and a pair without braces end where their last child does.
                let closed = event.end > event.start && matches!(events.source().get(event.start), Some(b']' | b'}'));
                self.close(closed.then_some(event.end));
            }
        }
        Ok(true)
    }
}
