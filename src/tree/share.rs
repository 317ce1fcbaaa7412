//! Two trees of one object as one memory wherever they are equal, so that no later stage looks at the same part twice.

use super::{List, Map, Value};

impl Value {
    /// Takes over from another tree every part that is equal to what stands at the same place there, with the same order of
    /// keys; whether that is all of it. Nothing that the tree says changes.
    pub fn share(&mut self, other: &Self) -> bool {
        match (self, other) {
            (Self::Object(map), Self::Object(other)) => map.share(other),
            (Self::Array(list), Self::Array(other)) => list.share(other),
            (Self::Object(_) | Self::Array(_), _) | (_, Self::Object(_) | Self::Array(_)) => false,
            (own, other) => {
                let is_same = own == other;
                if is_same {
                    own.clone_from(other);
                }
                is_same
            }
        }
    }
}

impl Map {
    fn share(&mut self, other: &Self) -> bool {
        if self.is_same(other) {
            return true;
        }
        let mut is_all = self.len() == other.len();
        // What somebody else holds too stays as it is.
        let Some(entries) = self.own() else { return false };
        for (place, (key, value)) in entries.iter_mut().enumerate() {
            let there = match other.at(place).filter(|(name, _)| name == key) {
                Some((_, there)) => Some(there),
                None => {
                    is_all = false;
                    other.get(key)
                }
            };
            is_all &= there.is_some_and(|there| value.share(there));
        }
        if is_all {
            self.clone_from(other);
        }
        is_all
    }
}

impl List {
    fn share(&mut self, other: &Self) -> bool {
        if self.is_same(other) {
            return true;
        }
        let mut is_all = self.len() == other.len();
        let Some(items) = self.own() else { return false };
        for (item, there) in items.iter_mut().zip(other) {
            is_all &= item.share(there);
        }
        if is_all {
            self.clone_from(other);
        }
        is_all
    }
}
