//! From the tree to JSON: text byte for byte as `YAMLToJSON` of sigs.k8s.io/yaml v1.6.0 writes it, or a [`crate::tree::Value`].
//!
//! Both walk on an explicit stack and see merges, aliases and repeated keys as Go does. Aliases may make the result larger than the
//! document; how much is bounded.

use std::borrow::Cow;

use crate::tree::{Map, Text, Value};
use crate::yaml::arena::{NodeId, NodeShape};
use crate::yaml::error::{Error, Result};
use crate::yaml::number::json_float;
use crate::yaml::resolve::Scalar;
use crate::yaml::tree::Tree;
use crate::yaml::twin::Meant;

/// Deepest value that [`Tree::to_json`] makes: dropping a [`Value`] recurses.
const MAX_VALUE_DEPTH: usize = 1000;

type Entries<'t> = Vec<(Cow<'t, [u8]>, NodeId)>;

enum Frame<'t> {
    Map { entries: std::vec::IntoIter<(Cow<'t, [u8]>, NodeId)>, first: bool },
    Seq { next: u32, end: u32, first: bool },
}

/// Bytes of memory that a value without its text costs at least.
const VALUE_COST: usize = size_of::<Value>() + 16;

/// Bounds what is made from a document.
struct Allowance {
    left: usize,
}

impl Allowance {
    fn of(tree: &Tree<'_>) -> Self {
        let bounded = 16 * tree.source.len() + (32 << 20);
        Self { left: if tree.arena.seen.shared { bounded } else { usize::MAX } }
    }

    /// For values in memory, which cost more than the text of the shortest scalars: bounded for every document.
    fn of_values(tree: &Tree<'_>) -> Self {
        Self { left: 16 * tree.source.len() + (32 << 20) }
    }

    fn spend(&mut self, tree: &Tree<'_>, node: NodeId, bytes: usize) -> Result<()> {
        let left = self.left.checked_sub(bytes + 8);
        self.left = left.ok_or_else(|| {
            tree.error(tree.span(node).start, "the values of this document need too much memory for its size")
        })?;
        Ok(())
    }
}

impl<'t> Tree<'t> {
    fn unfit_key(&self, node: NodeId) -> Error {
        self.error(self.span(node).start, "this key cannot stand in JSON: null and very large integers are no keys")
    }

    fn unfit_number(&self, node: NodeId) -> Error {
        self.error(self.span(node).start, "infinity and not-a-number cannot stand in JSON")
    }

    fn key_bytes(&self, node: NodeId) -> Result<Cow<'_, [u8]>> {
        match self.scalar(node) {
            Some(Scalar::Text(Cow::Borrowed(text))) => Ok(text.as_bytes().into()),
            Some(other) => other.key().map(Cow::Owned).ok_or_else(|| self.unfit_key(node)),
            None => Err(self.unfit_key(node)),
        }
    }

    /// Keys and values of a map, sorted by key, the last of equal keys only.
    fn sorted_entries(&self, node: NodeId) -> Result<Entries<'_>> {
        let mut entries: Entries<'_> = Vec::with_capacity(self.raw(node).b as usize / 2);
        let mut refused = None;
        self.each_entry(node, &mut |key, value| match self.key_bytes(key) {
            Ok(key) => entries.push((key, value)),
            Err(error) => refused = Some(error),
        });
        if let Some(error) = refused {
            return Err(error);
        }
        entries.sort_by(|a, b| a.0.cmp(&b.0));
        entries.reverse();
        entries.dedup_by(|a, b| a.0 == b.0);
        entries.reverse();
        Ok(entries)
    }

    /// Writes the document as one line of JSON without a line break.
    ///
    /// # Errors
    /// What Go refuses only when it encodes: null keys, infinite numbers. A document that was read has none.
    pub fn write_json(&self, out: &mut Vec<u8>) -> Result<()> {
        let Some(root) = self.root() else {
            out.extend_from_slice(b"null");
            return Ok(());
        };
        let mut allowance = Allowance::of(self);
        let mut stack = Vec::new();
        self.open_json(root, out, &mut stack, &mut allowance)?;
        while let Some(frame) = stack.last_mut() {
            let node = match frame {
                Frame::Map { entries, first } => match entries.next() {
                    Some((key, value)) => {
                        comma(out, first);
                        allowance.spend(self, value, key.len())?;
                        write_string(&key, out);
                        out.push(b':');
                        value
                    }
                    None => {
                        out.push(b'}');
                        stack.pop();
                        continue;
                    }
                },
                Frame::Seq { next, end, first } if *next < *end => {
                    let node = NodeId(*next);
                    *next = self.after(node).0;
                    comma(out, first);
                    node
                }
                Frame::Seq { .. } => {
                    out.push(b']');
                    stack.pop();
                    continue;
                }
            };
            self.open_json(self.follow(node), out, &mut stack, &mut allowance)?;
        }
        Ok(())
    }

    fn open_json<'s>(
        &'s self,
        node: NodeId,
        out: &mut Vec<u8>,
        stack: &mut Vec<Frame<'s>>,
        allowance: &mut Allowance,
    ) -> Result<()> {
        let raw = self.raw(node);
        match raw.shape {
            NodeShape::Map { .. } => {
                let entries = self.sorted_entries(node)?.into_iter();
                stack.push(Frame::Map { entries, first: true });
                out.push(b'{');
            }
            NodeShape::Seq { .. } => {
                stack.push(Frame::Seq { next: node.0 + 1, end: raw.a, first: true });
                out.push(b'[');
            }
            _ => {
                allowance.spend(self, node, raw.b as usize)?;
                self.write_scalar(node, out)?;
            }
        }
        Ok(())
    }

    fn write_scalar(&self, node: NodeId, out: &mut Vec<u8>) -> Result<()> {
        match self.scalar(node).unwrap_or(Scalar::Null) {
            Scalar::Null => out.extend_from_slice(b"null"),
            Scalar::Bool(value) => out.extend_from_slice(if value { b"true" } else { b"false" }),
            Scalar::Int(value) => out.extend_from_slice(value.to_string().as_bytes()),
            Scalar::Uint(value) => out.extend_from_slice(value.to_string().as_bytes()),
            Scalar::Float(value) if value.is_finite() => out.extend_from_slice(json_float(value).as_bytes()),
            Scalar::Float(_) => return Err(self.unfit_number(node)),
            Scalar::Text(text) => write_string(text.as_bytes(), out),
            Scalar::Bytes(bytes) => write_string(&bytes, out),
        }
        Ok(())
    }

    /// The document as a value; keys in the order of the document.
    ///
    /// # Errors
    /// Nesting deeper than 1,000 levels, or aliases that make the value much larger than the document.
    pub fn to_json(&self) -> Result<Value> {
        self.root().map_or(Ok(Value::Null), |root| self.value(root))
    }

    /// A node as a value; keys in the order of the document.
    ///
    /// # Errors
    /// As [`Tree::to_json`].
    pub fn value(&self, node: NodeId) -> Result<Value> {
        self.value_of(node, &Meant::default())
    }

    /// The document as a value in which some nodes have other values.
    pub(crate) fn value_with(&self, meant: &Meant) -> Result<Value> {
        self.root().map_or(Ok(Value::Null), |root| self.value_of(root, meant))
    }

    fn value_of(&self, node: NodeId, meant: &Meant) -> Result<Value> {
        let mut allowance = Allowance::of_values(self);
        let mut stack: Vec<Building> = Vec::new();
        let mut done = self.open_value(self.follow(node), meant, &mut stack, &mut allowance)?;
        loop {
            let Some(top) = stack.last_mut() else { return Ok(done.unwrap_or(Value::Null)) };
            if let Some(value) = done.take() {
                top.set(value);
            }
            let Some(child) = top.next(self, meant) else {
                done = stack.pop().map(Building::finish);
                continue;
            };
            if stack.len() >= MAX_VALUE_DEPTH {
                return Err(
                    self.error(self.span(child).start, format!("nested more than {MAX_VALUE_DEPTH} levels deep"))
                );
            }
            done = self.open_value(self.follow(child), meant, &mut stack, &mut allowance)?;
        }
    }

    /// Gives a scalar's value at once; pushes a collection.
    fn open_value(
        &self,
        node: NodeId,
        meant: &Meant,
        stack: &mut Vec<Building>,
        allowance: &mut Allowance,
    ) -> Result<Option<Value>> {
        if let Some(value) = meant.get(&node) {
            return Ok(Some(value.clone()));
        }
        let raw = self.raw(node);
        let text = if matches!(raw.shape, NodeShape::Scalar { .. }) { raw.b as usize } else { 0 };
        allowance.spend(self, node, VALUE_COST + text)?;
        match raw.shape {
            NodeShape::Map { .. } => {
                let mut entries = Vec::with_capacity(raw.b as usize / 2);
                self.each_entry(node, &mut |key, value| entries.push((key, value)));
                let map = Map::with_capacity(entries.len());
                stack.push(Building::Map { entries: entries.into_iter(), key: None, map });
                Ok(None)
            }
            NodeShape::Seq { .. } => {
                stack.push(Building::Seq { next: node.0 + 1, end: raw.a, items: Vec::with_capacity(raw.b as usize) });
                Ok(None)
            }
            _ => self.scalar_value(node).map(Some),
        }
    }

    fn scalar_value(&self, node: NodeId) -> Result<Value> {
        Ok(match self.scalar(node).unwrap_or(Scalar::Null) {
            Scalar::Null => Value::Null,
            Scalar::Bool(value) => value.into(),
            Scalar::Int(value) => value.into(),
            Scalar::Uint(value) => value.into(),
            Scalar::Float(value) if !value.is_finite() => return Err(self.unfit_number(node)),
            Scalar::Float(value) => number_value(value),
            Scalar::Text(text) => Value::from(text),
            Scalar::Bytes(bytes) => Value::from(lossy(&bytes)),
        })
    }
}

/// A float as a reader of the JSON text sees it: `1.0` was written as `1` and is an integer.
fn number_value(value: f64) -> Value {
    let text = json_float(value);
    if let Ok(integer) = text.parse::<i64>() {
        return integer.into();
    }
    text.parse::<u64>().map_or_else(|_| value.into(), Value::from)
}

enum Building {
    Map { entries: std::vec::IntoIter<(NodeId, NodeId)>, key: Option<Text>, map: Map },
    Seq { next: u32, end: u32, items: Vec<Value> },
}

impl Building {
    fn next(&mut self, tree: &Tree<'_>, meant: &Meant) -> Option<NodeId> {
        match self {
            Self::Map { entries, key, .. } => {
                let (name, value) = entries.next()?;
                *key = match meant.get(&name) {
                    Some(Value::String(text)) => Some(text.clone()),
                    Some(other) => Some(other.to_string().into()),
                    None => tree.key_text(name).map(Text::from),
                };
                Some(value)
            }
            Self::Seq { next, end, .. } if *next < *end => {
                let node = NodeId(*next);
                *next = tree.after(node).0;
                Some(node)
            }
            Self::Seq { .. } => None,
        }
    }

    fn set(&mut self, value: Value) {
        match self {
            Self::Map { key, map, .. } => {
                if let Some(key) = key.take() {
                    map.insert(key, value);
                }
            }
            Self::Seq { items, .. } => items.push(value),
        }
    }

    fn finish(self) -> Value {
        match self {
            Self::Map { map, .. } => Value::Object(map),
            Self::Seq { items, .. } => Value::from(items),
        }
    }
}

fn comma(out: &mut Vec<u8>, first: &mut bool) {
    if !std::mem::take(first) {
        out.push(b',');
    }
}

/// Replaces each byte that is not UTF-8 by U+FFFD, one by one as Go does.
fn lossy(bytes: &[u8]) -> String {
    let mut out = String::new();
    for chunk in bytes.utf8_chunks() {
        out.push_str(chunk.valid());
        out.extend(chunk.invalid().iter().map(|_| char::REPLACEMENT_CHARACTER));
    }
    out
}

/// Writes a string as encoding/json does with HTML escaping on.
pub(crate) fn write_string(bytes: &[u8], out: &mut Vec<u8>) {
    out.push(b'"');
    for chunk in bytes.utf8_chunks() {
        write_text(chunk.valid().as_bytes(), out);
        for _ in chunk.invalid() {
            out.extend_from_slice(b"\\ufffd");
        }
    }
    out.push(b'"');
}

fn write_text(text: &[u8], out: &mut Vec<u8>) {
    let mut from = 0;
    for (at, byte) in text.iter().enumerate() {
        let escape: Cow<'static, str> = match byte {
            b'"' => "\\\"".into(),
            b'\\' => "\\\\".into(),
            b'\n' => "\\n".into(),
            b'\r' => "\\r".into(),
            b'\t' => "\\t".into(),
            0x08 => "\\b".into(),
            0x0C => "\\f".into(),
            0..=0x1F | b'<' | b'>' | b'&' => format!("\\u{byte:04x}").into(),
            0xA8 | 0xA9 if text[..at].ends_with(&[0xE2, 0x80]) => {
                out.extend_from_slice(&text[from..at - 2]);
                out.extend_from_slice(if *byte == 0xA8 { b"\\u2028" } else { b"\\u2029" });
                from = at + 1;
                continue;
            }
            _ => continue,
        };
        out.extend_from_slice(&text[from..at]);
        out.extend_from_slice(escape.as_bytes());
        from = at + 1;
    }
    out.extend_from_slice(&text[from..]);
}
