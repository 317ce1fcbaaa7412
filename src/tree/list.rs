//! The items of a list: shared until somebody writes.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use super::Value;

/// The items of a list. A copy is a count; the first write to a shared one makes it one's own.
#[derive(Clone, Debug, Default)]
pub struct List(Arc<Vec<Value>>);

impl List {
    /// Whether both are the same memory.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// The items, where nobody else holds them.
    pub(super) fn own(&mut self) -> Option<&mut [Value]> {
        Arc::get_mut(&mut self.0).map(Vec::as_mut_slice)
    }

    /// The list with other items where there are some; `None` where no item changes.
    #[must_use]
    pub fn changed(&self, mut other: impl FnMut(usize, &Value) -> Option<Value>) -> Option<Self> {
        let mut out: Option<Self> = None;
        for (place, item) in self.0.iter().enumerate() {
            if let Some(other) = other(place, item) {
                out.get_or_insert_with(|| self.clone())[place] = other;
            }
        }
        out
    }
}

impl Deref for List {
    type Target = Vec<Value>;

    fn deref(&self) -> &Vec<Value> {
        &self.0
    }
}

impl DerefMut for List {
    fn deref_mut(&mut self) -> &mut Vec<Value> {
        Arc::make_mut(&mut self.0)
    }
}

impl From<Vec<Value>> for List {
    fn from(items: Vec<Value>) -> Self {
        Self(Arc::new(items))
    }
}

impl From<List> for Vec<Value> {
    fn from(list: List) -> Self {
        Arc::unwrap_or_clone(list.0)
    }
}

impl FromIterator<Value> for List {
    fn from_iter<I: IntoIterator<Item = Value>>(items: I) -> Self {
        Vec::from_iter(items).into()
    }
}

impl IntoIterator for List {
    type Item = Value;
    type IntoIter = std::vec::IntoIter<Value>;

    fn into_iter(self) -> Self::IntoIter {
        Vec::from(self).into_iter()
    }
}

impl<'l> IntoIterator for &'l List {
    type Item = &'l Value;
    type IntoIter = std::slice::Iter<'l, Value>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

impl<'l> IntoIterator for &'l mut List {
    type Item = &'l mut Value;
    type IntoIter = std::slice::IterMut<'l, Value>;

    fn into_iter(self) -> Self::IntoIter {
        self.deref_mut().iter_mut()
    }
}
