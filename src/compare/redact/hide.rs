//! Puts marks in the place of what is secret.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::PoisonError;

use super::places::Guard;
use super::{Redactor, mark};
use crate::tree::{Text, Value};

impl Redactor {
    /// The mark that stands for a secret.
    #[must_use]
    pub fn mark(&self, secret: &str) -> String {
        let mark = self.marked.get(secret, &self.budget, || {
            let mark = self.key.mark(secret);
            self.own.lock().unwrap_or_else(PoisonError::into_inner).insert(mark.clone());
            mark
        });
        self.keep(&mark, || Value::from(secret));
        mark
    }

    /// Whether a mark was made here; another one stood in a text that was to be hidden.
    #[must_use]
    pub fn has_made(&self, mark: &str) -> bool {
        self.own.lock().unwrap_or_else(PoisonError::into_inner).contains(mark)
    }

    /// Keeps what a mark stands for, where that is wanted.
    pub(super) fn keep(&self, mark: &str, value: impl FnOnce() -> Value) {
        if let Some(made) = &self.made {
            made.lock().unwrap_or_else(PoisonError::into_inner).insert(mark.to_owned(), value());
        }
    }

    /// A value with every leaf hidden; what is no text keeps its shape as a mark too.
    pub(super) fn hidden(&self, value: &Value) -> Value {
        match value {
            Value::Object(map) => {
                let below =
                    |(name, value): (&Text, &Value)| (self.name(Guard::Free, name).into_owned(), self.hidden(value));
                Value::Object(map.iter().map(below).collect())
            }
            Value::Array(items) => Value::Array(items.iter().map(|value| self.hidden(value)).collect()),
            Value::Null | Value::Bool(_) => value.clone(),
            Value::String(text) if text.is_empty() => value.clone(),
            Value::String(text) => {
                Value::from(self.masked(text, std::iter::once(0..text.len()).collect()).into_owned())
            }
            Value::Number(number) => {
                // Not the mark of the same digits as text: the two are different values.
                let mark = self.mark(&format!("number {number}"));
                self.keep(&mark, || value.clone());
                Value::from(mark)
            }
        }
    }

    /// `text` with the ranges replaced by marks. Marks that it has already stay as they are.
    pub(super) fn masked<'t>(&self, text: &'t str, mut ranges: Vec<Range<usize>>) -> Cow<'t, str> {
        if ranges.is_empty() {
            return Cow::Borrowed(text);
        }
        let kept = mark::marks(text);
        let mut parts = Vec::new();
        self.parts.find(text, &mut parts);
        if !parts.is_empty() {
            parts = union(parts);
            ranges = ranges.into_iter().flat_map(|range| without(range, &parts)).collect();
            ranges.append(&mut parts);
        }
        ranges.sort_unstable_by_key(|range| (range.start, std::cmp::Reverse(range.end)));
        let mut result = String::with_capacity(text.len());
        let mut at = 0;
        for range in ranges {
            for range in without(range.start.max(at)..range.end, &kept) {
                result.push_str(&text[at..range.start]);
                result.push_str(&self.mark(&text[range.clone()]));
                at = range.end;
            }
        }
        result.push_str(&text[at..]);
        Cow::Owned(result)
    }
}

/// Ranges in order, those that overlap as one.
fn union(mut ranges: Vec<Range<usize>>) -> Vec<Range<usize>> {
    ranges.sort_unstable_by_key(|range| range.start);
    ranges.into_iter().fold(Vec::new(), |mut all: Vec<Range<usize>>, range| {
        match all.last_mut().filter(|last| range.start < last.end) {
            Some(last) => last.end = last.end.max(range.end),
            None => all.push(range),
        }
        all
    })
}

/// What is left of a range beside others, which are in order.
fn without(range: Range<usize>, others: &[Range<usize>]) -> impl Iterator<Item = Range<usize>> + use<'_> {
    let Range { mut start, end } = range;
    let pieces = others.iter().cloned().chain(std::iter::once(end..end)).map(move |other| {
        let piece = start..other.start.min(end);
        start = start.max(other.end);
        piece
    });
    pieces.filter(|piece| piece.start < piece.end)
}
