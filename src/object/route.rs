//! A place while a tree is walked: steps that are borrowed from the tree and lie on the stack.
//! Most places of a walk are never named, so a path is made of a route only where somebody keeps it.

use super::{Path, Segment};

/// A way down from a path.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Route<'a> {
    /// Where the walk starts.
    At(&'a Path),
    /// One key further.
    Key(&'a Self, &'a str),
    /// One list place further.
    Index(&'a Self, usize),
}

impl<'a> Route<'a> {
    /// One key further down.
    pub(crate) const fn key(&'a self, key: &'a str) -> Self {
        Self::Key(self, key)
    }

    /// One list place further down.
    pub(crate) const fn index(&'a self, place: usize) -> Self {
        Self::Index(self, place)
    }

    /// The last key on the way, list places left out.
    pub(crate) fn last_key(&self) -> Option<&'a str> {
        match *self {
            Self::Key(_, key) => Some(key),
            Self::Index(above, _) => above.last_key(),
            Self::At(path) => path.segments().iter().rev().find_map(|segment| match segment {
                Segment::Key(key) => Some(key.as_str()),
                Segment::Index(_) => None,
            }),
        }
    }

    /// This place as a path.
    pub(crate) fn to_path(self) -> Path {
        match self {
            Self::At(path) => path.clone(),
            Self::Key(above, key) => pushed(above.to_path(), Segment::Key(key.to_owned())),
            Self::Index(above, place) => pushed(above.to_path(), Segment::Index(place)),
        }
    }
}

/// A path and one step more.
fn pushed(mut path: Path, segment: Segment) -> Path {
    path.push(segment);
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_route_is_the_path_of_its_steps() {
        let start = Path::parse("spec.files[0]").expect("a path");
        let start = Route::At(&start);
        let list = start.key("lines");
        let item = list.index(2);
        assert_eq!(item.to_path().to_string(), "spec.files[0].lines[2]");
        assert_eq!((item.last_key(), start.last_key()), (Some("lines"), Some("files")));
    }
}
