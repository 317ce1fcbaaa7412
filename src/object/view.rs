//! What a judgement reads of a cluster, behind one interface: a World in memory gives it, and so can a cache that a watch
//! keeps up to date. Whether an object is there is a type of three, so that nobody takes the unread for absent.

use std::fmt;

use super::{Key, Object};

/// Whether an object is there.
#[derive(Debug, Clone, Copy)]
pub enum Presence<'v> {
    /// It is.
    There(&'v Object),
    /// It is not, on the word of somebody who looked.
    Absent,
    /// Nobody looked.
    Unread,
}

impl<'v> Presence<'v> {
    /// The object, where it is there.
    #[must_use]
    pub fn object(self) -> Option<&'v Object> {
        if let Self::There(object) = self { Some(object) } else { None }
    }
}

/// Some objects of a view.
pub(crate) type Objects<'v> = Box<dyn Iterator<Item = &'v Object> + 'v>;

/// One moment of a cluster, as far as it is known.
pub trait View: fmt::Debug + Sync {
    /// Whether an object is there.
    fn get(&self, key: &Key) -> Presence<'_>;

    /// Every object.
    fn objects(&self) -> Objects<'_>;

    /// The objects of a kind, of whatever group.
    fn of_kind(&self, kind: &str) -> Objects<'_>;

    /// The objects with a name, of whatever kind.
    fn named(&self, name: &str) -> Objects<'_>;

    /// The Machines and MachineSets that name an owner, in its namespace where both are known.
    fn owned_by(&self, owner: &Key) -> Objects<'_>;

    /// The Machines and MachineSets that name no owner.
    fn unowned(&self) -> Objects<'_>;

    /// The Machines with the label of a cluster, in a namespace where both are known.
    fn machines_of_cluster(&self, cluster: &str, namespace: Option<&str>) -> Objects<'_>;
}
