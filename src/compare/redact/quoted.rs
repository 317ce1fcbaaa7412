//! Words of other programs about an object: what they quote of it may be any part of it.

use std::ops::Range;

use super::places::{self, Level};
use super::{Redactor, harmless, learn, text};
use crate::object::{Key, Path, Route};
use crate::tree::Value;

/// Fewest letters of a part of an object that is looked for in what a program says of it.
const SHORTEST: usize = 3;

impl Redactor {
    /// Words of another program about an object, such as those of an API server that refuses it, with what they quote hidden where its
    /// form could be secret.
    #[must_use]
    pub fn quoted(&self, text: &str) -> String {
        self.masked(text, self.in_quotes(text)).into_owned()
    }

    /// Words of an API server that refuses an object that it was sent. Beside what it quotes (apimachinery
    /// `pkg/util/validation/field/errors.go`, `ErrorBody`, v0.33), a webhook says of it what it likes, also without marks around it.
    #[must_use]
    pub fn answer(&self, key: &Key, object: &Value, words: &str) -> String {
        let mut parts = Vec::new();
        self.parts_in(key, &Route::At(&Path::root()), (Level::root(key), None), object, &mut parts);
        let mut ranges = self.in_quotes(words);
        let of_word = |c: char| c.is_alphanumeric();
        let is_whole =
            |range: &Range<usize>| !words[..range.start].ends_with(of_word) && !words[range.end..].starts_with(of_word);
        for part in parts.iter().filter(|part| part.chars().count() >= SHORTEST) {
            let found = words.match_indices(part.as_str()).map(|(start, part)| start..start + part.len());
            ranges.extend(found.filter(is_whole));
        }
        self.masked(words, ranges).into_owned()
    }

    /// Where a text is secret, and where it quotes what could be.
    fn in_quotes(&self, text: &str) -> Vec<Range<usize>> {
        let mut ranges = self.looked(text);
        for quote in text::quotes(text) {
            let inner = &text[quote.clone()];
            if !harmless::is_plain_name(inner) && !self.names.contains(inner) {
                let hidden = super::guarded::hidden(inner, self);
                ranges.extend(hidden.into_iter().map(|range| quote.start + range.start..quote.start + range.end));
            }
        }
        ranges
    }

    /// The parts of an object that are hidden at their places: whole, and word by word.
    fn parts_in(
        &self,
        key: &Key,
        place: &Route<'_>,
        (level, item): (Level, Option<&str>),
        value: &Value,
        found: &mut Vec<String>,
    ) {
        if self.is_secret(key, place, item) {
            return learn::leaves(value, found);
        }
        match value {
            Value::Object(map) => {
                let item = places::name_of(value).or(item);
                for (name, value) in map {
                    self.parts_in(key, &place.key(name), (level.below(name), item), value, found);
                }
            }
            Value::Array(items) => {
                for (at, value) in items.iter().enumerate() {
                    self.parts_in(key, &place.index(at), (level, item), value, found);
                }
            }
            Value::String(text) => {
                for range in self.guarded(place, level, item, text) {
                    let part = &text[range];
                    let words = part.split_whitespace().filter(|word| *word != part && !harmless::is_harmless(word));
                    found.extend(words.map(str::to_owned));
                    found.push(part.to_owned());
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}
