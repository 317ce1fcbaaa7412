//! The view that a World in memory gives of a cluster: what is in it is there, what was asked for and is not in it is absent,
//! and the rest is unread.

use std::collections::HashSet;
use std::sync::OnceLock;

use super::{Coverage, World};
use crate::object::{Key, Objects, Presence, View};

/// The view that a World gives.
#[derive(Debug)]
pub struct InMemory<'w> {
    world: &'w World,
    absent: OnceLock<HashSet<&'w Key>>,
}

impl World {
    /// What a judgement reads of it.
    #[must_use]
    pub fn view(&self) -> InMemory<'_> {
        InMemory { world: self, absent: OnceLock::new() }
    }
}

impl View for InMemory<'_> {
    fn get(&self, key: &Key) -> Presence<'_> {
        if let Some(object) = self.world.live.get(key) {
            return Presence::There(object);
        }
        let asked = matches!(self.world.coverage, Coverage::Asked(_)) && self.world.coverage.shows(key);
        // Files say nothing of what they lack, unless somebody noted it.
        let noted = || {
            self.absent.get_or_init(|| self.world.absent.iter().filter_map(|absent| absent.object.as_ref()).collect())
        };
        let is_absent = asked || noted().contains(key);
        if is_absent { Presence::Absent } else { Presence::Unread }
    }

    fn objects(&self) -> Objects<'_> {
        Box::new(self.world.live.objects().iter())
    }

    fn of_kind(&self, kind: &str) -> Objects<'_> {
        Box::new(self.world.live.of_kind(kind))
    }

    fn named(&self, name: &str) -> Objects<'_> {
        Box::new(self.world.live.named(name))
    }

    fn owned_by(&self, owner: &Key) -> Objects<'_> {
        let home = owner.namespace.clone();
        let is_near = move |own: &Option<String>| home.is_none() || own.is_none() || *own == home;
        let own = self.world.live.owned_by(&owner.kind, &owner.name);
        Box::new(own.filter(move |object| is_near(&object.key.namespace)))
    }

    fn unowned(&self) -> Objects<'_> {
        Box::new(self.world.live.unowned())
    }

    fn machines_of_cluster(&self, cluster: &str) -> Objects<'_> {
        Box::new(self.world.live.machines_of_cluster(cluster))
    }
}

#[cfg(test)]
#[path = "view_tests.rs"]
mod tests;
