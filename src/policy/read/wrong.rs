//! Everything that is wrong with a policy in one run: what serde stops at is noted and put aside, and the rest is read again.

use super::PolicyFault;
use crate::object::{Path, Segment};
use crate::policy::expected;
use crate::tree::Value;

/// What was found wrong, and what was put aside for it. Places are those of the file.
#[derive(Default)]
pub(super) struct Wrong {
    pub(super) faults: Vec<PolicyFault>,
    aside: Vec<Path>,
    /// Where something stands in for what is missing, or was put aside and cannot be missing.
    filled: Vec<Path>,
}

impl Wrong {
    /// Notes faults and takes what they are about out of the tree; false where nothing is left to look at.
    pub(super) fn put_aside(&mut self, value: &mut Value, faults: Vec<PolicyFault>) -> bool {
        let faults: Vec<PolicyFault> =
            faults.into_iter().map(|fault| PolicyFault { path: self.in_file(&fault.path), ..fault }).collect();
        let mut goes_on = false;
        for fault in faults {
            let missing = fault.message.strip_prefix("the field `").and_then(|rest| rest.strip_suffix("` is missing"));
            let missing = missing.map(|name| fault.path.key(name));
            // What is wrong only because something in it was put aside is not the fault of whoever wrote it.
            let about = missing.as_ref().unwrap_or(&fault.path);
            let is_ours = self.aside.iter().any(|aside| about.covers(aside));
            let stand_in = missing.filter(|path| !self.filled.contains(path));
            let stand_in = stand_in.and_then(|path| Some((expected::blank(&path)?, path)));
            goes_on |= match stand_in {
                Some((blank, path)) => self.fill(value, &path, blank),
                None => self.take(value, &fault.path),
            };
            if !is_ours && !self.faults.contains(&fault) {
                self.faults.push(fault);
            }
        }
        goes_on
    }

    /// A place of the tree as it is now as a place of the file: items before it may have gone.
    fn in_file(&self, path: &Path) -> Path {
        let mut out = Path::root();
        for segment in path.segments() {
            match segment {
                Segment::Key(key) => out.push(Segment::Key(key.clone())),
                Segment::Index(place) => {
                    let mut place = *place;
                    let mut at = 0;
                    while at <= place {
                        place += usize::from(self.aside.contains(&out.index(at)));
                        at += 1;
                    }
                    out.push(Segment::Index(place));
                }
            }
        }
        out
    }

    /// The map or list that holds a place of the file.
    fn above<'v>(&self, value: &'v mut Value, path: &Path) -> Option<(&'v mut Value, Segment)> {
        let (mut node, mut at) = (value, Path::root());
        for segment in path.segments() {
            let here = match segment {
                Segment::Key(key) => Segment::Key(key.clone()),
                Segment::Index(place) => {
                    let before = (0..*place).filter(|earlier| self.aside.contains(&at.index(*earlier))).count();
                    Segment::Index(place - before)
                }
            };
            at.push(segment.clone());
            if at == *path {
                return Some((node, here));
            }
            node = match &here {
                Segment::Key(key) => node.get_mut(key)?,
                Segment::Index(place) => node.get_mut(*place)?,
            };
        }
        None
    }

    /// Takes a place out, or the nearest one around it that is there.
    fn take(&mut self, value: &mut Value, path: &Path) -> bool {
        let mut path = path.clone();
        while !path.is_root() {
            let taken = !self.aside.contains(&path)
                && match self.above(value, &path) {
                    Some((Value::Object(map), Segment::Key(key))) => map.shift_remove(&key).is_some(),
                    Some((Value::Array(list), Segment::Index(place))) if place < list.len() => {
                        list.remove(place);
                        true
                    }
                    _ => false,
                };
            if taken {
                self.aside.push(path);
                return true;
            }
            path.pop();
        }
        false
    }

    /// Puts something in the place of a field that is missing.
    fn fill(&mut self, value: &mut Value, path: &Path, blank: Value) -> bool {
        let Some((Value::Object(map), Segment::Key(key))) = self.above(value, path) else { return false };
        map.insert(key, blank);
        self.aside.push(path.clone());
        self.filled.push(path.clone());
        true
    }
}
