//! Where in a text secrets are: by its form, because they were learned, behind escapes and encodings of a part of it.

use std::cell::Cell;
use std::ops::Range;
use std::sync::atomic::Ordering;

use super::{DEEPEST, ESCAPES, Redactor, UNSEEN, text, views};

/// Nothing more is unpacked in this run.
pub(super) struct Spent;

impl Redactor {
    /// Where a text is secret: by its form, because it was learned, or behind an encoding of a part of it.
    pub(super) fn ranges(&self, text: &str, depth: usize) -> Vec<Range<usize>> {
        let mut found = text::secrets(text);
        self.look(text, depth, &mut found);
        if let Some(view) = views::joined(text) {
            let mut inner = Vec::new();
            self.look(&view.text, depth, &mut inner);
            found.extend(inner.iter().map(|range| view.below(range)));
        }
        self.unescape(text, depth, ESCAPES, &mut found);
        found
    }

    /// The same behind escapes.
    fn unescape(&self, text: &str, depth: usize, layers: usize, found: &mut Vec<Range<usize>>) {
        let Some(view) = views::unescaped(text).filter(|_| layers > 0) else { return };
        let mut inner = text::secrets(&view.text);
        self.look(&view.text, depth, &mut inner);
        self.unescape(&view.text, depth, layers - 1, &mut inner);
        found.extend(inner.iter().map(|range| view.below(range)));
    }

    /// Looks for what was learned, and behind encodings.
    fn look(&self, text: &str, depth: usize, found: &mut Vec<Range<usize>>) {
        self.known.find(text, found);
        if depth >= DEEPEST {
            return;
        }
        found.extend(views::encoded(text).into_iter().filter(|range| match self.unpacked(&text[range.clone()]) {
            Ok(inner) => inner.is_some_and(|inner| !self.ranges(&inner, depth + 1).is_empty()),
            Err(Spent) => range.len() >= UNSEEN,
        }));
    }

    /// What is behind an encoding.
    pub(super) fn unpacked(&self, word: &str) -> Result<Option<String>, Spent> {
        let before = self.budget.load(Ordering::Relaxed);
        if before == 0 {
            return Err(Spent);
        }
        let left = Cell::new(before);
        let plain = views::decoded(word, &left);
        let spent = before - left.get();
        let spend = |left: usize| Some(left.saturating_sub(spent));
        let _: Result<usize, usize> = self.budget.fetch_update(Ordering::Relaxed, Ordering::Relaxed, spend);
        Ok(plain)
    }
}
