//! Edits in place: the bytes of a scalar are replaced, all others stay.
//!
//! Every edit is proved: the patched document is read again by the exact reader and compared with the value that was meant. Where they
//! differ there is an error and no patch.

use std::collections::HashMap;

use serde_json::Value;

use crate::yaml::arena::{NodeId, Shape};
use crate::yaml::error::{Error, Result};
use crate::yaml::map::SourceMap;
use crate::yaml::quote::{double_quoted, escape_into, fits_plain, fits_single, is_odd, plain_shape, write_value};
use crate::yaml::read::read_at;
use crate::yaml::resolve::{Scalar, implicit};
use crate::yaml::scan::Style;
use crate::yaml::span::Span;
use crate::yaml::token::{Place, places, replace_whole};
use crate::yaml::tree::{NodeKind, Tree};

/// What a node becomes.
#[derive(Clone, Debug, PartialEq)]
pub enum New {
    /// Another value: a string keeps its quotes where they fit, everything else is written on one line.
    Value(Value),
    /// The same scalar with whole tokens replaced: pairs of token and new text. A string stays a string.
    Tokens(Vec<(String, String)>),
}

/// A change of one node.
#[derive(Clone, Debug, PartialEq)]
pub struct Edit {
    /// The node; an alias is not edited, what it refers to is.
    pub node: NodeId,
    /// What it becomes.
    pub new: New,
}

/// Bytes of the stream and what replaces them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Patch {
    /// The bytes that go.
    pub span: Span,
    /// The bytes that come.
    pub bytes: Vec<u8>,
}

/// Writes a stream with patches applied, which must not overlap.
#[must_use]
pub fn apply(stream: &[u8], patches: &[Patch]) -> Vec<u8> {
    let mut order: Vec<&Patch> = patches.iter().collect();
    order.sort_by_key(|patch| patch.span);
    let mut out = Vec::with_capacity(stream.len() + patches.iter().map(|patch| patch.bytes.len()).sum::<usize>());
    let mut from = 0;
    for patch in order {
        out.extend_from_slice(stream.get(from..patch.span.start).unwrap_or_default());
        out.extend_from_slice(&patch.bytes);
        from = patch.span.end;
    }
    out.extend_from_slice(stream.get(from..).unwrap_or_default());
    out
}

impl Tree<'_> {
    /// Makes the patches for edits of this document and proves them; at most one edit for each node.
    ///
    /// # Errors
    /// An edit that cannot be written in place, or one after which the document would not read as meant.
    pub fn edit(&self, edits: &[Edit]) -> Result<Vec<Patch>> {
        if self.converted {
            return Err(self.error(self.base, "a document in UTF-16 cannot be edited: convert it to UTF-8"));
        }
        let mut patches = Vec::new();
        let mut meant = HashMap::new();
        for edit in edits {
            let node = self.follow(edit.node);
            let value = match &edit.new {
                New::Value(value) => {
                    patches.push(self.value_patch(node, value));
                    value.clone()
                }
                New::Tokens(pairs) => {
                    let (value, found) = self.token_patches(node, pairs)?;
                    patches.extend(found);
                    value
                }
            };
            if meant.insert(node, value).is_some() {
                return Err(self.error(self.span(node).start, "a node can only be edited once"));
            }
        }
        self.prove(&patches, &meant)?;
        Ok(patches)
    }

    fn prove(&self, patches: &[Patch], meant: &HashMap<NodeId, Value>) -> Result<()> {
        let local: Vec<Patch> = patches.iter().map(|patch| self.to_local(patch)).collect();
        let patched = apply(self.source.as_bytes(), &local);
        let wanted = self.value_with(meant)?;
        let at = patches.iter().map(|patch| patch.span.start).min().unwrap_or(self.base);
        let failed = |why: String| self.error(at, format!("a value cannot be written here: {why}"));
        let tree = read_at(&patched, self.base, self.line).map_err(|error| failed(format!("then {error}")))?;
        if tree.to_json()? == wanted { Ok(()) } else { Err(failed("the document would not read as meant".to_owned())) }
    }

    fn to_local(&self, patch: &Patch) -> Patch {
        let span = Span::new(patch.span.start - self.base, patch.span.end - self.base);
        Patch { span, bytes: patch.bytes.clone() }
    }

    fn is_flow(&self, node: NodeId) -> bool {
        // The innermost collection around a node decides; collections come before their children.
        (0..node.0).rev().map(NodeId).find_map(|outer| match self.raw(outer) {
            raw if raw.a <= node.0 => None,
            raw => match raw.shape {
                Shape::Map { flow } | Shape::Seq { flow } => Some(flow),
                _ => None,
            },
        }) == Some(true)
    }

    fn source_of(&self, node: NodeId) -> &str {
        let raw = self.raw(node);
        self.source.get(raw.start as usize..raw.end as usize).unwrap_or_default()
    }

    /// Replaces a node as a whole, in the form that its style and place ask for.
    fn value_patch(&self, node: NodeId, value: &Value) -> Patch {
        let span = self.span(node);
        let old = self.source_of(node);
        let mut text = String::new();
        match (self.node(node).kind, value) {
            (NodeKind::Scalar(Style::Single), Value::String(new)) if fits_single(new) => {
                text = format!("'{}'", new.replace('\'', "''"));
            }
            (NodeKind::Scalar(Style::Single | Style::Double), Value::String(new)) => text = double_quoted(new),
            _ => write_value(value, self.is_flow(node), &mut text),
        }
        self.framed(node, span, old, text)
    }

    /// Adds what a replaced node needs around it: a blank after the colon of an empty value, the line break of a block.
    fn framed(&self, node: NodeId, span: Span, old: &str, mut text: String) -> Patch {
        if let NodeKind::Scalar(Style::Literal | Style::Folded) = self.node(node).kind {
            let tail = if old.ends_with("\r\n") {
                "\r\n"
            } else if old.ends_with('\n') {
                "\n"
            } else {
                ""
            };
            text.push_str(tail);
        }
        if span.is_empty() {
            let start = self.raw(node).start as usize;
            let before = self.source.as_bytes()[..start].last();
            if !matches!(before, None | Some(b' ' | b'\n')) {
                text.insert(0, ' ');
            }
        }
        Patch { span, bytes: text.into_bytes() }
    }

    /// Replaces tokens inside a scalar; gives the new value too.
    fn token_patches(&self, node: NodeId, pairs: &[(String, String)]) -> Result<(Value, Vec<Patch>)> {
        let start = self.span(node).start;
        let NodeKind::Scalar(style) = self.node(node).kind else {
            return Err(self.error(start, "only a scalar holds tokens"));
        };
        let text = self.scalar_text(node).unwrap_or_default();
        let places = places(text, pairs);
        let new = replace_whole(text, pairs);
        let value = match self.scalar(node) {
            Some(Scalar::Text(_)) => Value::String(new.clone()),
            _ => self.retyped(node, &new)?,
        };
        if let Some(patches) = self.in_place(node, style, &places, &new, value.is_string()) {
            return Ok((value, patches));
        }
        if matches!(style, Style::Literal | Style::Folded) {
            return Err(self.error(start, "a token cannot be replaced inside this block scalar by this text"));
        }
        let patch = self.framed(node, self.span(node), self.source_of(node), double_quoted(&new));
        Ok((value, vec![patch]))
    }

    /// A number, boolean or null keeps its type, or the edit is refused.
    fn retyped(&self, node: NodeId, new: &str) -> Result<Value> {
        let same = match (self.scalar(node), implicit(new)) {
            (Some(Scalar::Bool(_)), Scalar::Bool(value)) => Some(Value::from(value)),
            (Some(Scalar::Int(_) | Scalar::Uint(_)), Scalar::Int(value)) => Some(Value::from(value)),
            (Some(Scalar::Int(_) | Scalar::Uint(_)), Scalar::Uint(value)) => Some(Value::from(value)),
            _ => None,
        };
        same.filter(|_| plain_shape(new, true)).ok_or_else(|| {
            self.error(
                self.span(node).start,
                "a token inside a value that is no string can only be replaced by the same type",
            )
        })
    }

    /// Patches of the token's own bytes, where the style allows the new text there.
    fn in_place(
        &self,
        node: NodeId,
        style: Style,
        places: &[Place<'_>],
        new: &str,
        string: bool,
    ) -> Option<Vec<Patch>> {
        let source = self.source_of(node);
        let text = self.scalar_text(node)?;
        let map = SourceMap::new(style, source.as_bytes(), text)?;
        let flow = style == Style::Plain && self.is_flow(node);
        let one_line = !source.contains(['\n', '\r']);
        // Where lines are folded, blanks at the edges of a new text could be lost, and an empty one could merge two breaks.
        let unfoldable =
            |place: &Place<'_>| place.with.is_empty() || place.with.starts_with(' ') || place.with.ends_with(' ');
        let whole_fits = match style {
            Style::Literal | Style::Folded => true,
            _ if !one_line && places.iter().any(unfoldable) => false,
            Style::Plain if !string => true,
            Style::Plain if one_line => fits_plain(new, flow),
            // Folded text is checked piece by piece, and by the proof.
            Style::Plain => places.iter().all(|place| fits_plain(&format!("x{}", place.with), flow)),
            _ => true,
        };
        if !whole_fits {
            return None;
        }
        let base = self.span(node).start;
        let patch = |place: &Place<'_>| {
            let (start, end) = map.range(place.start, place.end)?;
            let bytes = self.inside(style, source, start, text, place)?.into_bytes();
            Some(Patch { span: Span::new(base + start, base + end), bytes })
        };
        places.iter().map(patch).collect()
    }

    /// A new text as it is written inside a scalar of some style, at byte `at` of its source.
    fn inside(&self, style: Style, source: &str, at: usize, text: &str, place: &Place<'_>) -> Option<String> {
        let with = place.with;
        match style {
            Style::Double => {
                let mut out = String::new();
                escape_into(with, &mut out);
                Some(out)
            }
            Style::Single => (!with.chars().any(is_odd)).then(|| with.replace('\'', "''")),
            Style::Plain | Style::Folded => (!with.chars().any(is_odd)).then(|| with.to_owned()),
            Style::Literal => {
                if with.chars().any(|character| is_odd(character) && !matches!(character, '\n' | '\t')) {
                    return None;
                }
                let line = source[..at].rfind('\n').map_or(0, |at| at + 1);
                let before = text[..place.start].rfind('\n').map_or(place.start, |at| place.start - at - 1);
                let indent = source.get(line..at.checked_sub(before)?)?;
                let end = if source[..line].ends_with("\r\n") { "\r\n" } else { "\n" };
                Some(with.replace('\n', &format!("{end}{indent}")))
            }
        }
    }
}

/// Replaces one scalar's tokens in a document; a shorthand for [`Tree::edit`] with one edit.
///
/// # Errors
/// As [`Tree::edit`].
pub fn replace_tokens(
    tree: &Tree<'_>,
    node: NodeId,
    pairs: &[(String, String)],
) -> std::result::Result<Vec<Patch>, Error> {
    tree.edit(&[Edit { node, new: New::Tokens(pairs.to_vec()) }])
}
