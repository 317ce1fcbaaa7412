//! The view that a World in memory gives of a cluster: what is in it is there, what was asked for and is not in it is absent,
//! and the rest is unread.

use std::sync::OnceLock;

use super::{Coverage, World};
use crate::hashed::HashSet;
use crate::object::{Key, Object, Objects, Presence, View};

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
        let own = self.world.live.owned_by(&owner.kind, &owner.name);
        near(own, owner.namespace.as_deref())
    }

    fn unowned(&self) -> Objects<'_> {
        Box::new(self.world.live.unowned())
    }

    fn machines_of_cluster(&self, cluster: &str, namespace: Option<&str>) -> Objects<'_> {
        near(self.world.live.machines_of_cluster(cluster), namespace)
    }
}

/// The objects that are in a namespace, where both are known.
fn near<'v>(all: impl Iterator<Item = &'v Object> + 'v, namespace: Option<&str>) -> Objects<'v> {
    let Some(home) = namespace.map(str::to_owned) else { return Box::new(all) };
    Box::new(all.filter(move |object| object.key.namespace.as_ref().is_none_or(|own| *own == home)))
}

#[cfg(test)]
#[path = "view_tests.rs"]
mod tests;
