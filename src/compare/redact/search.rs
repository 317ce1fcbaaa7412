//! Where in a text secrets are: by its form, because they were learned, behind escapes and encodings of a part of it.

use std::cell::Cell;
use std::ops::Range;

use super::{DEEPEST, ESCAPES, Redactor, UNSEEN, text, views};

/// Nothing more is unpacked in this run.
pub(super) struct Spent;

impl Redactor {
    /// Where a text is secret, found once for each text.
    pub(super) fn looked(&self, text: &str) -> Vec<Range<usize>> {
        self.looked.get(text, &self.budget, || self.ranges(text, 0))
    }

    /// Where a text is secret: by its form, because it was learned, or behind an encoding of a part of it.
    fn ranges(&self, text: &str, depth: usize) -> Vec<Range<usize>> {
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

    /// Finds secrets behind escapes.
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
        let before = self.budget.left();
        if before == 0 {
            return Err(Spent);
        }
        let left = Cell::new(before);
        let plain = views::decoded(word, &left);
        self.budget.spend(before - left.get());
        Ok(plain)
    }
}
