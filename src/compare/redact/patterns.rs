//! Places that a policy names, as patterns of keys.

use crate::object::{Route, Segment};

/// The steps of a pattern.
pub(super) fn steps(pattern: &str) -> Vec<String> {
    pattern.split('.').map(str::to_owned).collect()
}

/// Whether one of the patterns covers a place.
pub(super) fn is_at(patterns: &[Vec<String>], place: &Route<'_>) -> bool {
    !patterns.is_empty() && {
        let path = place.to_path();
        patterns.iter().any(|pattern| matches(pattern, path.segments()))
    }
}

/// Whether a pattern covers a path.
fn matches(pattern: &[String], path: &[Segment]) -> bool {
    match (pattern.split_first(), path.split_first()) {
        (None, None) => true,
        (Some((first, rest)), _) if first == "**" => {
            matches(rest, path) || path.split_first().is_some_and(|(_, path)| matches(pattern, path))
        }
        (Some((first, rest)), Some((segment, path))) => {
            let fits = first == "*"
                || match segment {
                    Segment::Key(key) => key == first,
                    Segment::Index(index) => *first == index.to_string(),
                };
            fits && matches(rest, path)
        }
        _ => false,
    }
}
