//! Which object of one side is which of another: by group, kind, namespace and name.
//! A missing namespace is that of the release; where that is not known, the answer is doubt and never `default`.

use super::kinds;
use crate::object::{Inventory, Key, Object};
use crate::world::{Coverage, LiveKind, World};

/// The object of one side that has a key.
pub(super) enum Located<'a> {
    /// It is there.
    Found(&'a Object),
    /// It is not there.
    Absent,
    /// Nobody asked whether it is there.
    Unread,
    /// The key has no namespace, needs one, and none is known.
    NoNamespace,
}

/// What is known about namespaces in this run.
#[derive(Clone, Copy)]
pub(super) struct Locator<'a> {
    /// Namespace of objects that do not say one.
    home: Option<&'a str>,
    /// Whether objects of the live side always carry their namespace.
    online: bool,
    /// Of which objects the live side would show that they are there.
    coverage: &'a Coverage,
}

impl<'a> Locator<'a> {
    /// What a World says about namespaces.
    pub(super) fn new(world: &'a World) -> Self {
        let of_release = world.release.as_ref().map(|release| release.namespace.as_str());
        let home = world.host.namespace.as_deref().or(of_release).filter(|text| !text.is_empty());
        Self { home, online: world.source.kind == LiveKind::Cluster, coverage: &world.coverage }
    }

    /// Namespace of objects that do not say one, where it is known.
    pub(super) fn home(&self) -> Option<&'a str> {
        self.home
    }

    /// The key under which the live side knows an object of the stream or of the base.
    pub(super) fn full(&self, key: &Key) -> Key {
        match (&key.namespace, self.home) {
            (None, Some(home)) if self.online && !kinds::is_cluster_wide(key) => {
                key.in_namespace(Some(home.to_owned()))
            }
            (Some(_), _) if self.online && kinds::is_cluster_wide(key) => key.in_namespace(None),
            _ => key.clone(),
        }
    }

    /// Finds an object of the stream or of the base in the live side.
    pub(super) fn in_live<'o>(&self, live: &'o Inventory, key: &Key) -> Located<'o> {
        match self.anywhere(live, key) {
            Some(object) => Located::Found(object),
            None if self.online && key.namespace.is_none() && self.home.is_none() && !kinds::is_cluster_wide(key) => {
                Located::NoNamespace
            }
            None if self.coverage.shows(&self.full(key)) => Located::Absent,
            None => Located::Unread,
        }
    }

    /// Finds an object in another manifest, where either side may leave the namespace of the release out.
    pub(super) fn anywhere<'o>(&self, objects: &'o Inventory, key: &Key) -> Option<&'o Object> {
        objects.get(key).or_else(|| objects.get(&self.other_spelling(key)?))
    }

    /// This key with the namespace left out or filled in; `None` where there is no other way to say it. What lives outside namespaces has
    /// none, whatever is rendered.
    pub(super) fn other_spelling(&self, key: &Key) -> Option<Key> {
        let with = |namespace: Option<String>| key.in_namespace(namespace);
        match (&key.namespace, self.home) {
            (Some(_), _) if kinds::is_cluster_wide(key) => Some(with(None)),
            (None, Some(home)) => Some(with(Some(home.to_owned()))),
            (Some(namespace), Some(home)) if namespace == home => Some(with(None)),
            _ => None,
        }
    }
}
