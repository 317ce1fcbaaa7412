//! The objects of one side, and how to find one by its key, its kind, its name or its owner.

use std::sync::Arc;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

use super::index::{Event, Index};
use super::{Key, Object};
use crate::hashed::HashMap;
use crate::parallel;
use crate::tree::Pool;

/// The objects of one side. Where a key stands twice, both are kept and the last one is found. A copy is a count, and shares what was
/// read of the objects.
#[derive(Debug, Clone, Default, Serialize)]
#[serde(into = "Vec<Object>")]
pub struct Inventory {
    objects: Arc<Vec<Object>>,
    by_key: Arc<HashMap<Key, usize>>,
    index: Index,
}

impl Inventory {
    /// All objects, in the order in which they came.
    #[must_use]
    pub fn objects(&self) -> &[Object] {
        &self.objects
    }

    /// Whether both hold the same objects in the same memory.
    #[must_use]
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.objects, &other.objects)
    }

    /// The object with this key; the last one where it stands twice.
    #[must_use]
    pub fn get(&self, key: &Key) -> Option<&Object> {
        self.by_key.get(key).and_then(|place| self.objects.get(*place))
    }

    /// The objects of a kind, of whatever group.
    pub fn of_kind(&self, kind: &str) -> impl Iterator<Item = &Object> + use<'_> {
        self.at(self.index.of_kind(&self.objects, kind))
    }

    /// The objects with a name, of whatever kind.
    pub fn named(&self, name: &str) -> impl Iterator<Item = &Object> + use<'_> {
        self.at(self.index.named(&self.objects, name))
    }

    /// The Machines and MachineSets that name an owner of this kind and name, in whatever namespace.
    pub fn owned_by(&self, kind: &str, name: &str) -> impl Iterator<Item = &Object> + use<'_> {
        self.at(self.index.owned_by(&self.objects, kind, name))
    }

    /// The Machines and MachineSets that have no list of owners.
    pub fn unowned(&self) -> impl Iterator<Item = &Object> {
        self.at(self.index.unowned(&self.objects))
    }

    /// The Machines with the label of a cluster, in whatever namespace.
    pub fn machines_of_cluster(&self, cluster: &str) -> impl Iterator<Item = &Object> + use<'_> {
        self.at(self.index.of_cluster(&self.objects, cluster))
    }

    fn at<'o>(&'o self, places: &'o [usize]) -> impl Iterator<Item = &'o Object> {
        places.iter().filter_map(|place| self.objects.get(*place))
    }

    /// Adds an object, also where one with its key is there.
    pub fn push(&mut self, object: Object) {
        let place = self.objects.len();
        self.note(&object, Event::Came(place));
        Arc::make_mut(&mut self.by_key).insert(object.key.clone(), place);
        Arc::make_mut(&mut self.objects).push(object);
    }

    /// Puts an object in the place of the one with its key, which is handed back, or adds it.
    pub fn insert(&mut self, object: Object) -> Option<Object> {
        let Some(place) = self.by_key.get(&object.key).copied() else {
            self.push(object);
            return None;
        };
        let old = std::mem::replace(Arc::make_mut(&mut self.objects).get_mut(place)?, object.clone());
        self.note(&old, Event::Goes(place));
        self.note(&object, Event::Came(place));
        Some(old)
    }

    /// Takes the object with a key out; the last one takes its place.
    pub fn remove(&mut self, key: &Key) -> Option<Object> {
        let place = Arc::make_mut(&mut self.by_key).remove(key)?;
        let last = self.objects.len().checked_sub(1)?;
        let old = Arc::make_mut(&mut self.objects).swap_remove(place);
        self.note(&old, Event::Goes(place));
        if let Some(object) = self.objects.get(place).cloned() {
            self.note(&object, Event::Moved(last, place));
            Arc::make_mut(&mut self.by_key).insert(object.key, place);
        }
        Some(old)
    }

    fn note(&mut self, object: &Object, event: Event) {
        self.index.note(object, event);
    }

    /// Whether there is no object.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.objects.is_empty()
    }

    /// How many objects there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.objects.len()
    }
}

impl From<Vec<Object>> for Inventory {
    fn from(objects: Vec<Object>) -> Self {
        let by_key = objects.iter().enumerate().map(|(place, object)| (object.key.clone(), place)).collect();
        Self { objects: Arc::new(objects), by_key: Arc::new(by_key), index: Index::default() }
    }
}

/// From JSON, each object by itself. Other formats are not read.
impl<'de> Deserialize<'de> for Inventory {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let texts = Vec::<&RawValue>::deserialize(from)?;
        let objects = parallel::map_with(&texts, Pool::default, |pool, text| Object::of_json(text.get(), pool));
        let objects: Result<Vec<_>, _> = objects.into_iter().collect();
        Ok(objects.map_err(D::Error::custom)?.into())
    }
}

impl From<Inventory> for Vec<Object> {
    fn from(inventory: Inventory) -> Self {
        Arc::unwrap_or_clone(inventory.objects)
    }
}
