//! Path patterns of rules: `*` is one key, `["start*"]` one that starts so, `[*]` one list place, `**` everything below.

use crate::object::{Path, Segment};

/// One step of a pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Step {
    /// This key.
    Key(String),
    /// Any key that starts so.
    Start(String),
    /// Any key.
    AnyKey,
    /// Any list place.
    AnyPlace,
    /// Everything from here on, also nothing.
    Rest,
}

/// A pattern over paths in the superset form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern {
    text: String,
    steps: Vec<Step>,
}

impl Pattern {
    /// Reads a pattern as it stands in a pack.
    ///
    /// # Errors
    /// A sentence, when a step is empty, a bracket does not close or something follows `**`.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut steps = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            if matches!(steps.last(), Some(Step::Rest)) {
                return Err(format!("{text:?}: nothing can follow **"));
            }
            if let Some(tail) = rest.strip_prefix("[*]") {
                steps.push(Step::AnyPlace);
                rest = tail;
            } else if let Some(inner) = rest.strip_prefix("[\"") {
                let (key, tail) =
                    inner.split_once("\"]").ok_or_else(|| format!("{text:?}: a bracket does not close"))?;
                steps.push(match key.strip_suffix('*') {
                    Some(start) => Step::Start(start.to_owned()),
                    None => Step::Key(key.to_owned()),
                });
                rest = tail;
            } else {
                let body = if steps.is_empty() { rest } else { rest.strip_prefix('.').unwrap_or_default() };
                let end = body.find(['.', '[']).unwrap_or(body.len());
                match &body[..end] {
                    "" => return Err(format!("{text:?}: a step is empty")),
                    "*" => steps.push(Step::AnyKey),
                    "**" => steps.push(Step::Rest),
                    key => steps.push(Step::Key(key.to_owned())),
                }
                rest = &body[end..];
            }
        }
        Ok(Self { text: text.to_owned(), steps })
    }

    /// Whether a path is one of those that the pattern means.
    #[must_use]
    pub fn matches(&self, path: &Path) -> bool {
        let segments = path.segments();
        for (place, step) in self.steps.iter().enumerate() {
            let matched = match (step, segments.get(place)) {
                (Step::Rest, _) => return true,
                (Step::Key(want), Some(Segment::Key(have))) => want == have,
                (Step::Start(want), Some(Segment::Key(have))) => have.starts_with(want.as_str()),
                (Step::AnyKey, Some(Segment::Key(_))) | (Step::AnyPlace, Some(Segment::Index(_))) => true,
                _ => false,
            };
            if !matched {
                return false;
            }
        }
        segments.len() == self.steps.len()
    }

    /// The pattern as it was written.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hit(pattern: &str, path: &str) -> bool {
        Pattern::parse(pattern).expect("a pattern").matches(&Path::parse(path).expect("a path"))
    }

    #[test]
    fn a_pattern_means_what_it_says() {
        assert!(hit("spec.version", "spec.version"));
        assert!(!hit("spec.version", "spec"));
        assert!(!hit("spec.version", "spec.version.x"));
        assert!(hit("spec.**", "spec"));
        assert!(hit("spec.**", "spec.a[0].b"));
        assert!(!hit("spec.**", "status.a"));
        assert!(hit("spec.a[*].b", "spec.a[7].b"));
        assert!(!hit("spec.a[*].b", "spec.a.b"));
        assert!(hit("spec.*.b", "spec.x.b"));
        assert!(hit("metadata.annotations[\"a.b/c\"]", "metadata.annotations[\"a.b/c\"]"));
        assert!(hit("metadata.annotations[\"a.b/*\"]", "metadata.annotations[\"a.b/c\"]"));
        assert!(!hit("metadata.annotations[\"a.b/*\"]", "metadata.annotations[\"a.b\"]"));
    }

    #[test]
    fn broken_patterns_are_refused() {
        for text in ["spec..a", "spec.**.a", "spec[\"a", "spec[0]"] {
            assert!(Pattern::parse(text).is_err(), "{text}");
        }
    }
}
