//! New bytes for one scalar whose text changed in some spots, in the style in which it is written.
//! Only the spots change where that is possible; else the whole scalar is written anew in double quotes.

use memchr::memmem;

use super::layers::{Spot, apply};
use crate::yaml::{Scalar, Style, double_quoted};

/// One scalar and what is to change in it.
pub(super) struct Change<'t> {
    /// Its bytes, quotes and block header included.
    pub(super) raw: &'t [u8],
    /// How it is written.
    pub(super) style: Style,
    /// Its text as it reads.
    pub(super) text: &'t str,
    /// What it resolves to.
    pub(super) old: Scalar<'t>,
    /// The spots of the text, in order.
    pub(super) spots: &'t [Spot],
    /// Whether the whole scalar is the placeholder of an integer, which then reads as one.
    pub(super) integer: bool,
}

impl Change<'_> {
    /// The bytes that keep as much as can be kept.
    pub(super) fn careful(&self) -> Vec<u8> {
        let kept = match self.style {
            Style::Plain => self.plain(),
            Style::Single => self.verbatim(|new| new.replace('\'', "''")),
            Style::Double => self.verbatim(escaped),
            Style::Literal => self.verbatim(str::to_owned).or_else(|| self.literal()),
            Style::Folded => self.verbatim(str::to_owned),
        };
        kept.unwrap_or_else(|| self.quoted())
    }

    /// The whole scalar in double quotes, with the line break that a block scalar brings along.
    pub(super) fn quoted(&self) -> Vec<u8> {
        let mut bytes = double_quoted(&apply(self.text, self.spots)).into_bytes();
        if matches!(self.style, Style::Literal | Style::Folded) {
            bytes.extend_from_slice(line_break(self.raw));
        }
        bytes
    }

    /// Whether `new` is what the scalar should read as.
    pub(super) fn accepts(&self, new: &Scalar<'_>) -> bool {
        match new {
            Scalar::Text(text) => *text == apply(self.text, self.spots),
            Scalar::Int(_) | Scalar::Uint(_) => self.integer || matches!(self.old, Scalar::Int(_) | Scalar::Uint(_)),
            _ => false,
        }
    }

    /// A plain scalar stays plain where every value put into it is harmless there and the whole still reads as intended.
    fn plain(&self) -> Option<Vec<u8>> {
        let harmless = |new: &str| {
            new.bytes().all(|byte| {
                byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-' | b'/' | b':' | b'+' | b'=')
            }) && !new.starts_with(['-', ':', '='])
                && !new.ends_with(':')
        };
        let calm = self.spots.iter().filter_map(|spot| spot.new.as_deref()).all(harmless);
        let new = apply(self.text, self.spots);
        let tree = crate::yaml::read(new.as_bytes()).ok()?;
        let reads = tree.root().and_then(|root| tree.scalar(root)).is_some_and(|scalar| self.accepts(&scalar));
        if calm && reads { self.verbatim(str::to_owned) } else { None }
    }

    /// Replaces each spot where its old text stands in the raw bytes. A value of several lines is none for this.
    fn verbatim(&self, encode: impl Fn(&str) -> String) -> Option<Vec<u8>> {
        let block = matches!(self.style, Style::Literal | Style::Folded);
        let start = if block { memchr::memchr(b'\n', self.raw)? } else { 0 };
        let mut bytes = Vec::with_capacity(self.raw.len());
        let mut done = 0;
        for spot in self.spots {
            let Some(new) = &spot.new else { continue };
            let old = &self.text[spot.range.clone()];
            if old.contains(['\n', '\r']) || new.contains(['\n', '\r']) && self.style != Style::Double {
                return None;
            }
            let nth = occurrences(self.text.as_bytes(), old).position(|at| at == spot.range.start)?;
            let at = start + occurrences(&self.raw[start..], old).nth(nth)?;
            if at < done {
                return None;
            }
            bytes.extend_from_slice(&self.raw[done..at]);
            bytes.extend_from_slice(encode(new).as_bytes());
            done = at + old.len();
        }
        bytes.extend_from_slice(&self.raw[done..]);
        Some(bytes)
    }

    /// A literal block with its header and indentation, and the new lines in it.
    fn literal(&self) -> Option<Vec<u8>> {
        let header = memchr::memchr(b'\n', self.raw)? + 1;
        let body = &self.raw[header..];
        let first = body.split(|byte| *byte == b'\n').find(|line| !line.trim_ascii().is_empty())?;
        let leading = self.text.lines().find(|line| !line.trim().is_empty())?;
        let leading = leading.len() - leading.trim_start_matches(' ').len();
        let indent = first.iter().take_while(|byte| **byte == b' ').count().checked_sub(leading)?;
        let content = body.trim_ascii_end().len();
        let end = &body[content..];
        let new = apply(self.text, self.spots);
        let mut bytes = self.raw[..header].to_vec();
        for (place, line) in new.trim_end_matches(['\n', ' ']).split('\n').enumerate() {
            if place > 0 {
                bytes.extend_from_slice(line_break(self.raw));
            }
            if !line.is_empty() {
                bytes.extend(std::iter::repeat_n(b' ', indent));
                bytes.extend_from_slice(line.as_bytes());
            }
        }
        bytes.extend_from_slice(end);
        Some(bytes)
    }
}

/// A text as it stands between double quotes.
fn escaped(text: &str) -> String {
    let quoted = double_quoted(text);
    quoted[1..quoted.len() - 1].to_owned()
}

/// Every place of `needle`, also where two of them overlap.
fn occurrences<'h>(haystack: &'h [u8], needle: &'h str) -> impl Iterator<Item = usize> + 'h {
    let finder = memmem::Finder::new(needle);
    let mut from = 0;
    std::iter::from_fn(move || {
        let at = from + finder.find(haystack.get(from..)?)?;
        from = at + 1;
        Some(at)
    })
}

/// The line break that a block scalar is written with.
fn line_break(raw: &[u8]) -> &'static [u8] {
    match memchr::memchr(b'\n', raw) {
        Some(at) if at > 0 && raw[at - 1] == b'\r' => b"\r\n",
        _ => b"\n",
    }
}
