//! Edits in place: the bytes of a scalar are replaced, all others stay.
//!
//! Every edit is proved: the patched document is read again by the exact reader and compared with the value that was meant. Where they
//! differ there is an error and no patch.

use std::ops::Range;

use crate::tree::Value;
use crate::yaml::arena::{NodeId, NodeShape};
use crate::yaml::error::{Error, Result};
use crate::yaml::map::SourceMap;
use crate::yaml::quote::{double_quoted, escape_into, fits_plain, fits_single, is_odd, write_value};
use crate::yaml::read::read_at;
use crate::yaml::resolve::{Scalar, implicit};
use crate::yaml::scan::Style;
use crate::yaml::span::Span;
use crate::yaml::tree::{NodeKind, Tree};
use crate::yaml::twin::Meant;

/// What a node becomes.
#[derive(Clone, Debug, PartialEq)]
pub enum New {
    /// Another value: a string keeps its quotes where they fit, everything else is written on one line.
    Value(Value),
    /// This scalar with some spots of its text replaced, in order and without overlap. A string stays a string, unless `number` is set:
    /// then a plain scalar becomes the number that its new text is.
    Text {
        /// The spots.
        spots: Vec<Spot>,
        /// Whether the new text may be a number.
        number: bool,
    },
}

/// A stretch of a scalar's text, as it reads, and what takes its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spot {
    /// Its bytes in the text.
    pub range: Range<usize>,
    /// The new text.
    pub with: String,
}

/// A text with spots replaced.
#[must_use]
pub(crate) fn respell(text: &str, spots: &[Spot]) -> String {
    let mut new = String::with_capacity(text.len());
    let mut done = 0;
    for spot in spots {
        new.push_str(&text[done..spot.range.start]);
        new.push_str(&spot.with);
        done = spot.range.end;
    }
    new.push_str(&text[done..]);
    new
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

impl Patch {
    /// This patch for text that begins at byte `base` of the stream.
    #[must_use]
    pub fn since(&self, base: usize) -> Self {
        Self { span: Span::new(self.span.start - base, self.span.end - base), bytes: self.bytes.clone() }
    }
}

/// How a scalar is written anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// In its own style, with as many of its bytes as can stay.
    Kept,
    /// In double quotes, which can hold every text.
    Quoted,
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
            return Err(self.error(
                self.base,
                "a document in UTF-16, or with lines that end in CR CR LF, cannot be edited: write it in UTF-8 with LF",
            ));
        }
        // A style that looks as if it could hold the text may turn out not to; quotes always can.
        self.edit_by(Way::Kept, edits).or_else(|_| self.edit_by(Way::Quoted, edits))
    }

    fn edit_by(&self, way: Way, edits: &[Edit]) -> Result<Vec<Patch>> {
        let mut patches = Vec::new();
        let mut meant = Meant::default();
        for edit in edits {
            let node = self.follow(edit.node);
            let value = match &edit.new {
                New::Value(value) => {
                    patches.push(self.value_patch(node, value));
                    value.clone()
                }
                New::Text { spots, number } => {
                    let (value, found) = self.text_patches(way, node, spots, *number)?;
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

    fn prove(&self, patches: &[Patch], meant: &Meant) -> Result<()> {
        let wanted = self.value_with(meant)?;
        if self.says_after(patches)? == wanted {
            return Ok(());
        }
        Err(self.unwritten(patches, "the document would not read as meant"))
    }

    /// What the document says once patches of it are written.
    ///
    /// # Errors
    /// A document that cannot be read then.
    pub fn says_after(&self, patches: &[Patch]) -> Result<Value> {
        let local: Vec<Patch> = patches.iter().map(|patch| patch.since(self.base)).collect();
        let patched = apply(self.source.as_bytes(), &local);
        let tree = read_at(&patched, self.base, self.line);
        tree.map_err(|error| self.unwritten(patches, &format!("then {error}")))?.to_json()
    }

    fn unwritten(&self, patches: &[Patch], why: &str) -> Error {
        let at = patches.iter().map(|patch| patch.span.start).min().unwrap_or(self.base);
        self.error(at, format!("a value cannot be written here: {why}"))
    }

    /// Whether the innermost collection around a node is written in brackets; asked for thousands of nodes of one tree.
    fn is_flow(&self, node: NodeId) -> bool {
        self.flow.get_or_init(|| self.flows()).get(node.0 as usize) == Some(&true)
    }

    /// Whether the innermost collection around it is written in brackets, for every node: collections come before their children, and say
    /// where these end.
    fn flows(&self) -> Vec<bool> {
        let mut open: Vec<(u32, bool)> = Vec::new();
        let mut flows = Vec::with_capacity(self.len());
        for (place, raw) in (0..).zip(&self.arena.nodes) {
            while open.pop_if(|(end, _)| *end <= place).is_some() {}
            flows.push(open.last().is_some_and(|(_, flow)| *flow));
            if let NodeShape::Map { flow } | NodeShape::Seq { flow } = raw.shape {
                open.push((raw.a, flow));
            }
        }
        flows
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
        // The items of a block may stand as far left as its key; what is in brackets must not.
        if matches!(self.raw(node).shape, NodeShape::Seq { flow: false }) {
            text.insert(0, ' ');
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

    /// Replaces spots inside a scalar; gives the new value too.
    fn text_patches(&self, way: Way, node: NodeId, spots: &[Spot], number: bool) -> Result<(Value, Vec<Patch>)> {
        let NodeKind::Scalar(style) = self.node(node).kind else {
            return Err(self.error(self.span(node).start, "only a scalar has text"));
        };
        let new = respell(self.scalar_text(node).unwrap_or_default(), spots);
        let number = number || matches!(self.scalar(node), Some(Scalar::Int(_) | Scalar::Uint(_)));
        let value = (number && style == Style::Plain)
            .then(|| plain_value(&new))
            .flatten()
            .unwrap_or_else(|| Value::from(new.clone()));
        let kept = match way {
            Way::Kept => self
                .in_place(node, style, spots, &new, value.is_string())
                .or_else(|| (style == Style::Literal).then(|| self.literal(node, &new)).flatten()),
            Way::Quoted => None,
        };
        let patches =
            kept.unwrap_or_else(|| vec![self.framed(node, self.span(node), self.source_of(node), double_quoted(&new))]);
        Ok((value, patches))
    }

    /// A literal block with its header and indentation, and all its lines written anew.
    fn literal(&self, node: NodeId, new: &str) -> Option<Vec<Patch>> {
        let source = self.source_of(node);
        let (header, body) = source.split_at(source.find('\n')? + 1);
        let blanks = |line: &str| line.len() - line.trim_start_matches(' ').len();
        let first = body.lines().find(|line| !line.trim().is_empty())?;
        let leading = self.scalar_text(node)?.lines().find(|line| !line.trim().is_empty())?;
        let indent = " ".repeat(blanks(first).checked_sub(blanks(leading))?);
        let end = if header.ends_with("\r\n") { "\r\n" } else { "\n" };
        if new.chars().any(|character| is_odd(character) && !matches!(character, '\n' | '\t')) {
            return None;
        }
        let mut text = header.to_owned();
        for (place, line) in new.trim_end_matches(['\n', ' ']).split('\n').enumerate() {
            if place > 0 {
                text.push_str(end);
            }
            if !line.is_empty() {
                text.push_str(&indent);
                text.push_str(line);
            }
        }
        text.push_str(&body[body.trim_ascii_end().len()..]);
        Some(vec![Patch { span: self.span(node), bytes: text.into_bytes() }])
    }

    /// Patches of the spots' own bytes, where the style allows the new text there.
    fn in_place(&self, node: NodeId, style: Style, spots: &[Spot], new: &str, string: bool) -> Option<Vec<Patch>> {
        let source = self.source_of(node);
        let text = self.scalar_text(node)?;
        let map = SourceMap::new(style, source.as_bytes(), text)?;
        let flow = style == Style::Plain && self.is_flow(node);
        let one_line = !source.contains(['\n', '\r']);
        // Where lines are folded, blanks at the edges of a new text could be lost, and an empty one could merge two breaks.
        let unfoldable = |spot: &Spot| spot.with.is_empty() || spot.with.starts_with(' ') || spot.with.ends_with(' ');
        let whole_fits = match style {
            Style::Literal | Style::Folded => true,
            _ if !one_line && spots.iter().any(unfoldable) => false,
            Style::Plain if !string => true,
            Style::Plain if one_line && fits_plain(new, flow) => true,
            // Text of other scripts, and folded text, is checked piece by piece, and by the proof.
            Style::Plain => {
                let begins = |spot: &Spot| spot.range.start > 0 || spot.with.starts_with(char::is_alphanumeric);
                let fits = |spot: &Spot| !unfoldable(spot) && fits_plain(&format!("x{}", spot.with), flow);
                matches!(implicit(new), Scalar::Text(_)) && spots.iter().all(|spot| begins(spot) && fits(spot))
            }
            _ => true,
        };
        if !whole_fits {
            return None;
        }
        let base = self.span(node).start;
        let patch = |spot: &Spot| {
            let (start, end) = map.range(spot.range.start, spot.range.end)?;
            let bytes = self.inside(style, source, start, text, spot)?.into_bytes();
            Some(Patch { span: Span::new(base + start, base + end), bytes })
        };
        spots.iter().map(patch).collect()
    }

    /// A new text as it is written inside a scalar of some style, at byte `at` of its source.
    fn inside(&self, style: Style, source: &str, at: usize, text: &str, spot: &Spot) -> Option<String> {
        let with = spot.with.as_str();
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
                // Only a break needs the indentation, which stands as far back as the line is long.
                if !with.contains('\n') {
                    return Some(with.to_owned());
                }
                let line = source[..at].rfind('\n').map_or(0, |at| at + 1);
                let start = spot.range.start;
                let before = text[..start].rfind('\n').map_or(start, |at| start - at - 1);
                let indent = source.get(line..at.checked_sub(before)?)?;
                let end = if source[..line].ends_with("\r\n") { "\r\n" } else { "\n" };
                Some(with.replace('\n', &format!("{end}{indent}")))
            }
        }
    }
}

/// The number or truth that a text is when it is written as JSON writes it; `010` and `yes` are none.
fn plain_value(text: &str) -> Option<Value> {
    let value = match implicit(text) {
        Scalar::Int(value) => Value::from(value),
        Scalar::Uint(value) => Value::from(value),
        Scalar::Bool(value) => Value::from(value),
        _ => return None,
    };
    let spelled = value.to_string();
    (spelled == text).then_some(value)
}
