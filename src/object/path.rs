//! Paths inside an object, written as people write them: `spec.files[0].content`,
//! with `["a.b/c"]` for keys that hold dots, slashes or brackets.

use crate::tree::Value;

/// One step of a path.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Segment {
    /// A key of a map.
    Key(String),
    /// A place in a list, from 0.
    Index(usize),
}

/// A place in an object.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Path(Vec<Segment>);

/// Why a text is not a path.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a path at byte {at}: {text:?}; write it as spec.files[0].content or metadata.annotations[\"a.b/c\"]")]
pub struct PathError {
    /// The whole text.
    pub text: String,
    /// Byte where it stops making sense.
    pub at: usize,
}

impl Path {
    /// The path of the object itself.
    #[must_use]
    pub const fn root() -> Self {
        Self(Vec::new())
    }

    /// The steps, outermost first.
    #[must_use]
    pub fn segments(&self) -> &[Segment] {
        &self.0
    }

    /// Whether this is the object itself.
    #[must_use]
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// This path and one key more.
    #[must_use]
    pub fn key(&self, key: impl Into<String>) -> Self {
        self.with(Segment::Key(key.into()))
    }

    /// This path and one list place more.
    #[must_use]
    pub fn index(&self, index: usize) -> Self {
        self.with(Segment::Index(index))
    }

    /// This path and one step more.
    #[must_use]
    pub fn with(&self, segment: Segment) -> Self {
        let mut segments = Vec::with_capacity(self.0.len() + 1);
        segments.extend_from_slice(&self.0);
        segments.push(segment);
        Self(segments)
    }

    /// Adds a step in place.
    pub fn push(&mut self, segment: Segment) {
        self.0.push(segment);
    }

    /// Takes the last step off.
    pub fn pop(&mut self) -> Option<Segment> {
        self.0.pop()
    }

    /// Whether it is exactly these keys.
    #[must_use]
    pub fn is(&self, keys: &[&str]) -> bool {
        let is_key = |(segment, key): (&Segment, &&str)| matches!(segment, Segment::Key(have) if have == key);
        self.segments().len() == keys.len() && self.segments().iter().zip(keys).all(is_key)
    }

    /// Whether it lies at or below these keys.
    #[must_use]
    pub fn starts_with(&self, keys: &[&str]) -> bool {
        self.segments().get(..keys.len()).is_some_and(|head| {
            head.iter().zip(keys).all(|(segment, key)| matches!(segment, Segment::Key(have) if have == key))
        })
    }

    /// Whether `self` is `other` or lies above it.
    #[must_use]
    pub fn covers(&self, other: &Self) -> bool {
        other.0.starts_with(&self.0)
    }

    /// The value at this path, if there is one.
    #[must_use]
    pub fn get<'v>(&self, value: &'v Value) -> Option<&'v Value> {
        self.0.iter().try_fold(value, |value, segment| match segment {
            Segment::Key(key) => value.get(key),
            Segment::Index(index) => value.get(*index),
        })
    }

    /// Reads a path as a person writes it.
    ///
    /// # Errors
    /// When brackets or quotes do not close, or a step is empty.
    pub fn parse(text: &str) -> Result<Self, PathError> {
        let fault = |at: usize| PathError { text: text.to_owned(), at };
        let mut segments = Vec::new();
        let mut rest = text;
        let mut after_segment = false;
        while !rest.is_empty() {
            let at = text.len() - rest.len();
            if let Some(inner) = rest.strip_prefix('[') {
                let (segment, tail) = bracket(inner).ok_or_else(|| fault(at))?;
                segments.push(segment);
                rest = tail;
            } else {
                let body = match (rest.strip_prefix('.'), after_segment) {
                    (Some(body), true) => body,
                    (None, false) => rest,
                    _ => return Err(fault(at)),
                };
                let end = body.find(['.', '[']).unwrap_or(body.len());
                if end == 0 {
                    return Err(fault(at));
                }
                segments.push(Segment::Key(body[..end].to_owned()));
                rest = &body[end..];
            }
            after_segment = true;
        }
        Ok(Self(segments))
    }
}

/// Reads what follows a `[`: a number, or a JSON string, and the closing bracket.
fn bracket(inner: &str) -> Option<(Segment, &str)> {
    if inner.starts_with('"') {
        let mut strings = serde_json::Deserializer::from_str(inner).into_iter::<String>();
        let key = strings.next()?.ok()?;
        let tail = inner[strings.byte_offset()..].strip_prefix(']')?;
        return Some((Segment::Key(key), tail));
    }
    let (digits, tail) = inner.split_once(']')?;
    Some((Segment::Index(digits.parse().ok()?), tail))
}

impl From<Vec<Segment>> for Path {
    fn from(segments: Vec<Segment>) -> Self {
        Self(segments)
    }
}

impl std::str::FromStr for Path {
    type Err = PathError;

    fn from_str(text: &str) -> Result<Self, PathError> {
        Self::parse(text)
    }
}

impl std::fmt::Display for Path {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (place, segment) in self.0.iter().enumerate() {
            match segment {
                Segment::Index(index) => write!(f, "[{index}]")?,
                Segment::Key(key) if is_plain(key) => {
                    if place > 0 {
                        f.write_str(".")?;
                    }
                    f.write_str(key)?;
                }
                Segment::Key(key) => write!(f, "[{}]", Value::from(key))?,
            }
        }
        Ok(())
    }
}

/// Whether a key can stand between dots without doubt.
fn is_plain(key: &str) -> bool {
    !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'$'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_reads_back_as_it_is_printed() {
        for text in ["spec.files[0].content", "metadata.annotations[\"a.b/c\"]", "[2].x", "data[\"a\\\"b\"][0]", "spec"]
        {
            assert_eq!(Path::parse(text).expect("a path").to_string(), text);
        }
    }

    #[test]
    fn broken_paths_are_refused() {
        for text in [".a", "a..b", "a[", "a[x]", "a[\"b]", "a."] {
            assert!(Path::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_path_covers_itself_and_what_lies_below() {
        let files = Path::parse("spec.files").expect("a path");
        assert!(files.covers(&files));
        assert!(files.covers(&files.index(0).key("content")));
        assert!(!files.index(0).covers(&files));
    }
}
