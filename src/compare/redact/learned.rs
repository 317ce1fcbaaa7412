//! Secrets that were seen, and where they stand in other texts. A fleet has thousands of them and of texts, so all are looked
//! for at once: by a piece from the middle of each, because keys and certificates begin and end alike.

use crate::hashed::{HashMap, HashSet};
use std::ops::Range;
use std::sync::OnceLock;

use aho_corasick::AhoCorasick;

/// Longest piece that is looked for; bounds the memory of the search.
const PIECE: usize = 32;

/// Secrets that are shorter than this count as words only: as part of other words they would hide half of a text.
const SHORTEST_PART: usize = 8;

/// Whether what was found is long enough and no number, or is a word.
fn is_whole(text: &str, range: &Range<usize>) -> bool {
    let of_word = |c: char| c.is_alphanumeric();
    let may_be_part = || range.len() >= SHORTEST_PART && !text.as_bytes()[range.clone()].iter().all(u8::is_ascii_digit);
    may_be_part() || !text[..range.start].ends_with(of_word) && !text[range.end..].starts_with(of_word)
}

/// Secrets, found as part of texts.
#[derive(Clone, Default)]
pub(super) struct Learned {
    secrets: HashSet<String>,
    search: OnceLock<Search>,
}

/// All pieces, and the secrets around each.
#[derive(Clone)]
struct Search {
    /// `None` where the pieces are too many for one automaton; then each secret is looked for by itself.
    pieces: Option<AhoCorasick>,
    /// For each piece the secrets that it comes from, with its place in them.
    around: Vec<Vec<(usize, String)>>,
}

impl Learned {
    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.secrets.len()
    }

    /// Adds one, and says whether it is new.
    pub(super) fn add(&mut self, secret: &str) -> bool {
        let is_new = !self.secrets.contains(secret);
        if is_new {
            self.secrets.insert(secret.to_owned());
            self.search = OnceLock::new();
        }
        is_new
    }

    /// Adds the ranges of `text` that hold a secret; they may overlap.
    pub(super) fn find(&self, text: &str, ranges: &mut Vec<Range<usize>>) {
        if self.secrets.is_empty() {
            return;
        }
        let search = self.search.get_or_init(|| Search::of(&self.secrets));
        let Some(pieces) = &search.pieces else {
            for secret in &self.secrets {
                let found = text.match_indices(secret.as_str()).map(|(start, secret)| start..start + secret.len());
                ranges.extend(found.filter(|range| is_whole(text, range)));
            }
            return;
        };
        for piece in pieces.find_overlapping_iter(text) {
            for (offset, secret) in search.around.get(piece.pattern().as_usize()).into_iter().flatten() {
                let Some(start) = piece.start().checked_sub(*offset) else { continue };
                let range = start..start + secret.len();
                if text.as_bytes().get(range.clone()) == Some(secret.as_bytes()) && is_whole(text, &range) {
                    ranges.push(range);
                }
            }
        }
    }
}

impl Search {
    fn of(secrets: &HashSet<String>) -> Self {
        let mut by_piece: HashMap<&[u8], Vec<(usize, String)>> = HashMap::default();
        for secret in secrets {
            let length = secret.len().min(PIECE);
            let offset = (secret.len() - length) / 2;
            let piece = &secret.as_bytes()[offset..offset + length];
            by_piece.entry(piece).or_default().push((offset, secret.clone()));
        }
        let (pieces, around): (Vec<&[u8]>, Vec<_>) = by_piece.into_iter().unzip();
        Self { pieces: AhoCorasick::new(pieces).ok(), around }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Whether each byte is in a range.
    fn covered(text: &str, ranges: &[Range<usize>]) -> Vec<bool> {
        (0..text.len()).map(|place| ranges.iter().any(|range| range.contains(&place))).collect()
    }

    #[test]
    fn long_secrets_that_begin_and_end_alike_are_told_apart() {
        let secret = |middle: &str| format!("{}{middle}{}", "a".repeat(60), "b".repeat(60));
        let mut learned = Learned::default();
        assert!((0..50).all(|number| learned.add(&secret(&format!("<{number:02}>")))));
        let text = format!("x{}y{}", secret("<07>"), secret("<99>"));
        let mut ranges = Vec::new();
        learned.find(&text, &mut ranges);
        assert_eq!((ranges.len(), ranges.first()), (1, Some(&(1..125))));
    }

    proptest! {
        #[test]
        fn nothing_is_missed_that_a_plain_search_finds(
            secrets in prop::collection::vec("[abé]{1,40}", 1..12), text in "[abé]{0,120}"
        ) {
            let mut learned = Learned::default();
            for secret in &secrets {
                learned.add(secret);
            }
            let mut found = Vec::new();
            learned.find(&text, &mut found);
            let plain: Vec<Range<usize>> = secrets.iter()
                .flat_map(|secret| text.match_indices(secret.as_str()).map(|(start, secret)| start..start + secret.len()))
                .collect();
            let plain: Vec<Range<usize>> = plain.into_iter().filter(|range| is_whole(&text, range)).collect();
            let (found, plain) = (covered(&text, &found), covered(&text, &plain));
            for (place, wanted) in plain.iter().enumerate() {
                prop_assert!(!wanted || found[place]);
            }
        }
    }
}
