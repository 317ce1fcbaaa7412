//! A map whose entries keep the order in which they came, shared until somebody writes.

use std::sync::Arc;

use super::entries::Entries;
use super::{Text, Value};

/// The entries of a map, in the order in which they came. A copy is a count; the first write to a shared one makes it one's own.
#[derive(Clone, Default)]
pub struct Map(Arc<Entries>);

impl Map {
    /// No entries.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// No entries yet, and room for some.
    #[must_use]
    pub fn with_capacity(room: usize) -> Self {
        Self(Arc::new(Entries::from(Vec::with_capacity(room))))
    }

    /// A map of these entries, in no more room than they take.
    pub(super) fn of(mut entries: Entries) -> Self {
        entries.list.shrink_to_fit();
        Self(Arc::new(entries))
    }

    /// Whether both are the same memory.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Where it lies in memory: no other map does as long as this one is held.
    #[must_use]
    pub fn memory(&self) -> usize {
        Arc::as_ptr(&self.0).addr()
    }

    /// The entries, where nobody else holds them.
    pub(super) fn own(&mut self) -> Option<&mut [(Text, Value)]> {
        Arc::get_mut(&mut self.0).map(|entries| entries.list.as_mut_slice())
    }

    /// How many entries there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.list.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.list.is_empty()
    }

    /// The value of a key.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.0.place(key).map(|place| &self.0.list[place].1)
    }

    /// Key and value of a key.
    #[must_use]
    pub fn get_key_value(&self, key: &str) -> Option<(&Text, &Value)> {
        let (key, value) = &self.0.list[self.0.place(key)?];
        Some((key, value))
    }

    /// The value of a key, to be changed.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut Value> {
        let place = self.0.place(key)?;
        Some(&mut Arc::make_mut(&mut self.0).list[place].1)
    }

    /// Whether a key is there.
    #[must_use]
    pub fn contains_key(&self, key: &str) -> bool {
        self.0.place(key).is_some()
    }

    /// The entry at a position.
    pub(crate) fn at(&self, place: usize) -> Option<&(Text, Value)> {
        self.0.list.get(place)
    }

    /// Gives a key a value, and the value that it had. A key that was there keeps its place.
    pub fn insert(&mut self, key: impl Into<Text>, value: Value) -> Option<Value> {
        Arc::make_mut(&mut self.0).put(key.into(), value)
    }

    /// Takes a key out; the last entry takes its place.
    pub fn remove(&mut self, key: &str) -> Option<Value> {
        self.remove_entry(key).map(|(_, value)| value)
    }

    /// Takes a key out; the last entry takes its place.
    pub fn remove_entry(&mut self, key: &str) -> Option<(Text, Value)> {
        let place = self.0.place(key)?;
        Some(Arc::make_mut(&mut self.0).swap_remove(place))
    }

    /// Takes a key out; the others keep their order.
    pub fn shift_remove(&mut self, key: &str) -> Option<Value> {
        let place = self.0.place(key)?;
        let entries = Arc::make_mut(&mut self.0);
        let (_, value) = entries.list.remove(place);
        entries.note_places();
        Some(value)
    }

    /// The entry of a key, there or not.
    pub fn entry(&mut self, key: impl Into<Text>) -> Entry<'_> {
        let key = key.into();
        match self.0.place(&key) {
            Some(place) => Entry::Occupied(&mut Arc::make_mut(&mut self.0).list[place].1),
            None => Entry::Vacant(self, key),
        }
    }

    /// Keeps the entries of which the answer is true.
    pub fn retain(&mut self, mut is_kept: impl FnMut(&Text, &mut Value) -> bool) {
        if self.is_empty() {
            return;
        }
        let entries = Arc::make_mut(&mut self.0);
        let before = entries.list.len();
        entries.list.retain_mut(|(key, value)| is_kept(key, value));
        if entries.list.len() != before {
            entries.note_places();
        }
    }

    /// The map without the entries of which the answer is false; `None` where all are kept.
    #[must_use]
    pub fn filtered(&self, mut is_kept: impl FnMut(&Text, &Value) -> bool) -> Option<Self> {
        let all = &self.0.list;
        let mut kept: Option<Vec<(Text, Value)>> = None;
        for (place, (key, value)) in all.iter().enumerate() {
            match (is_kept(key, value), &mut kept) {
                (true, Some(kept)) => kept.push((key.clone(), value.clone())),
                (false, kept @ None) => *kept = Some(all[..place].to_vec()),
                _ => {}
            }
        }
        Some(Self(Arc::new(Entries::from(kept?))))
    }

    /// The map with other values where there are some; `None` where no value changes.
    #[must_use]
    pub fn changed(&self, mut other: impl FnMut(&Text, &Value) -> Option<Value>) -> Option<Self> {
        let mut out: Option<Self> = None;
        for (place, (key, value)) in self.0.list.iter().enumerate() {
            if let Some(other) = other(key, value) {
                let out = out.get_or_insert_with(|| self.clone());
                Arc::make_mut(&mut out.0).list[place].1 = other;
            }
        }
        out
    }

    /// Sorts the entries by key.
    pub fn sort_keys(&mut self) {
        let entries = Arc::make_mut(&mut self.0);
        entries.list.sort_by(|a, b| a.0.cmp(&b.0));
        entries.note_places();
    }

    /// Takes all entries of another map, which is empty then.
    pub fn append(&mut self, other: &mut Self) {
        self.extend(std::mem::take(other));
    }

    /// Takes all entries out.
    pub fn clear(&mut self) {
        *self = Self::new();
    }

    /// Keys and values.
    pub fn iter(&self) -> Iter<'_> {
        self.0.list.iter().map(|(key, value)| (key, value))
    }

    /// Keys and values, to be changed.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (&Text, &mut Value)> {
        Arc::make_mut(&mut self.0).list.iter_mut().map(|(key, value)| (&*key, value))
    }

    /// The keys.
    pub fn keys(&self) -> impl DoubleEndedIterator<Item = &Text> + ExactSizeIterator + Clone {
        self.0.list.iter().map(|(key, _)| key)
    }

    /// The values.
    pub fn values(&self) -> impl DoubleEndedIterator<Item = &Value> + ExactSizeIterator + Clone {
        self.0.list.iter().map(|(_, value)| value)
    }

    /// The values, to be changed.
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut Value> {
        Arc::make_mut(&mut self.0).list.iter_mut().map(|(_, value)| value)
    }

    /// The keys, each one's own.
    pub fn into_keys(self) -> impl Iterator<Item = Text> {
        self.into_iter().map(|(key, _)| key)
    }

    /// The values, each one's own.
    pub fn into_values(self) -> impl Iterator<Item = Value> {
        self.into_iter().map(|(_, value)| value)
    }
}

/// The entry of a key, there or not.
pub enum Entry<'m> {
    /// The key is there, with this value.
    Occupied(&'m mut Value),
    /// The key is not there.
    Vacant(&'m mut Map, Text),
}

impl<'m> Entry<'m> {
    /// The value of the key, or this one, which the key has from then on.
    pub fn or_insert(self, value: Value) -> &'m mut Value {
        self.or_insert_with(|| value)
    }

    /// The value of the key, or one that is made for it.
    pub fn or_insert_with(self, value: impl FnOnce() -> Value) -> &'m mut Value {
        match self {
            Self::Occupied(value) => value,
            Self::Vacant(map, key) => {
                let entries = Arc::make_mut(&mut map.0);
                let place = entries.push(key, value());
                &mut entries.list[place].1
            }
        }
    }

    /// Changes the value where the key is there.
    #[must_use]
    pub fn and_modify(mut self, change: impl FnOnce(&mut Value)) -> Self {
        if let Self::Occupied(value) = &mut self {
            change(value);
        }
        self
    }
}

type Iter<'m> = std::iter::Map<std::slice::Iter<'m, (Text, Value)>, fn(&'m (Text, Value)) -> (&'m Text, &'m Value)>;

impl<'m> IntoIterator for &'m Map {
    type Item = (&'m Text, &'m Value);
    type IntoIter = Iter<'m>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<'m> IntoIterator for &'m mut Map {
    type Item = (&'m Text, &'m mut Value);
    type IntoIter =
        std::iter::Map<std::slice::IterMut<'m, (Text, Value)>, fn(&'m mut (Text, Value)) -> (&'m Text, &'m mut Value)>;

    fn into_iter(self) -> Self::IntoIter {
        Arc::make_mut(&mut self.0).list.iter_mut().map(|(key, value)| (&*key, value))
    }
}

impl IntoIterator for Map {
    type Item = (Text, Value);
    type IntoIter = std::vec::IntoIter<(Text, Value)>;

    fn into_iter(self) -> Self::IntoIter {
        Arc::unwrap_or_clone(self.0).list.into_iter()
    }
}

impl<K: Into<Text>> Extend<(K, Value)> for Map {
    fn extend<I: IntoIterator<Item = (K, Value)>>(&mut self, entries: I) {
        for (key, value) in entries {
            self.insert(key, value);
        }
    }
}

impl<K: Into<Text>> FromIterator<(K, Value)> for Map {
    fn from_iter<I: IntoIterator<Item = (K, Value)>>(entries: I) -> Self {
        let entries = entries.into_iter();
        let mut map = Self::with_capacity(entries.size_hint().0);
        map.extend(entries);
        map
    }
}

impl<K: Into<Text>, const N: usize> From<[(K, Value); N]> for Map {
    fn from(entries: [(K, Value); N]) -> Self {
        entries.into_iter().collect()
    }
}

impl std::fmt::Debug for Map {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

impl std::ops::Index<&str> for Map {
    type Output = Value;

    fn index(&self, key: &str) -> &Value {
        super::place::or_null(self.get(key))
    }
}
