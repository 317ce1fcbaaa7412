//! Whole tokens: a placeholder that stands by itself in a text, not inside a longer word.
//!
//! `55.55.55.55` stands in `https://55.55.55.55:6443/` and at the end of a sentence, but not in `155.55.55.55`, `55.55.55.551` or
//! `55.55.55.55.example`. Positions are bytes of the decoded text; `map.rs` brings them back to the source.

use memchr::memmem::Finder;

use crate::yaml::arena::{NodeId, Shape};
use crate::yaml::tree::Tree;

/// Where a token was found in the scalars of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hit {
    /// The scalar.
    pub node: NodeId,
    /// Index of the token in the list that was searched for.
    pub token: usize,
    /// How often it stands there as a whole token.
    pub whole: usize,
    /// How often it stands there as a part of a longer word.
    pub partial: usize,
    /// True when the scalar is the key of a map, which is never replaced.
    pub key: bool,
}

fn is_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

fn is_joint(character: char) -> bool {
    character == '.' || character == '-'
}

/// True when `text[start..end]` is not part of a longer word on either side. Dots and hyphens join words, but do not make one.
#[must_use]
pub fn is_whole(text: &str, start: usize, end: usize) -> bool {
    let token = &text[start..end];
    let edge = |character: Option<char>| character.is_some_and(|character| is_word(character) || is_joint(character));
    let before = || text[..start].chars().rev().find(|character| !is_joint(*character)).is_some_and(is_word);
    let after = || text[end..].chars().find(|character| !is_joint(*character)).is_some_and(is_word);
    !(edge(token.chars().next()) && before() || edge(token.chars().next_back()) && after())
}

/// Start of each place where `token` stands as a whole token in `text`, without overlaps.
#[must_use]
pub fn find_whole(text: &str, token: &str) -> Vec<usize> {
    split_hits(text, &Finder::new(token.as_bytes()), token.len()).0
}

/// Whole and partial places.
fn split_hits(text: &str, finder: &Finder<'_>, len: usize) -> (Vec<usize>, usize) {
    let mut whole = Vec::new();
    let mut partial = 0;
    if len > 0 {
        for start in finder.find_iter(text.as_bytes()) {
            if is_whole(text, start, start + len) {
                whole.push(start);
            } else {
                partial += 1;
            }
        }
    }
    (whole, partial)
}

/// Replaces whole tokens in a text; earlier places win over later ones that overlap them, then earlier entries of the list.
#[must_use]
pub fn replace_whole(text: &str, replacements: &[(String, String)]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut from = 0;
    for place in places(text, replacements) {
        out.push_str(&text[from..place.start]);
        out.push_str(place.with);
        from = place.end;
    }
    out.push_str(&text[from..]);
    out
}

/// One place to replace, in bytes of the decoded text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place<'r> {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) with: &'r str,
}

/// All places to replace, in order and without overlaps.
pub(crate) fn places<'r>(text: &str, replacements: &'r [(String, String)]) -> Vec<Place<'r>> {
    let mut found: Vec<Place<'r>> = Vec::new();
    for (token, with) in replacements {
        let starts = find_whole(text, token);
        found.extend(starts.into_iter().map(|start| Place { start, end: start + token.len(), with }));
    }
    found.sort_by_key(|place| place.start);
    let mut end = 0;
    found.retain(|place| {
        let free = place.start >= end;
        if free {
            end = place.end;
        }
        free
    });
    found
}

impl Tree<'_> {
    /// Searches the scalars of the document, keys included, for tokens. A scalar that several aliases share is found once.
    #[must_use]
    pub fn find_tokens(&self, tokens: &[&str]) -> Vec<Hit> {
        let finders: Vec<_> = tokens.iter().map(|token| Finder::new(token.as_bytes())).collect();
        let anywhere = |finder: &Finder<'_>| {
            finder.find(self.source.as_bytes()).is_some() || finder.find(self.arena.decoded.as_bytes()).is_some()
        };
        let active: Vec<bool> = finders.iter().map(anywhere).collect();
        let mut hits = Vec::new();
        if !active.contains(&true) {
            return hits;
        }
        // The open maps: node after which each ends, and whether the next child is a key.
        let mut open: Vec<(u32, Option<bool>)> = Vec::new();
        for index in 0..u32::try_from(self.len()).unwrap_or(u32::MAX) {
            while open.last().is_some_and(|(end, _)| *end <= index) {
                open.pop();
            }
            let mut key = false;
            if let Some((_, Some(next_is_key))) = open.last_mut() {
                key = *next_is_key;
                *next_is_key = !key;
            }
            let node = NodeId(index);
            let raw = self.raw(node);
            match raw.shape {
                Shape::Map { .. } => open.push((raw.a, Some(true))),
                Shape::Seq { .. } => open.push((raw.a, None)),
                Shape::Alias => {}
                Shape::Scalar { .. } => {
                    let text = self.scalar_text(node).unwrap_or_default();
                    for (token, finder) in finders.iter().enumerate().filter(|(token, _)| active[*token]) {
                        let (whole, partial) = split_hits(text, finder, tokens[token].len());
                        if !whole.is_empty() || partial > 0 {
                            hits.push(Hit { node, token, whole: whole.len(), partial, key });
                        }
                    }
                }
            }
        }
        hits
    }
}
