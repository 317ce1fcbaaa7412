//! The view that a World in memory gives of a cluster: what is in it is there, what was asked for and is not in it is absent,
//! and the rest is unread.

use std::collections::{HashMap, HashSet};
use std::sync::OnceLock;

use super::{Coverage, World};
use crate::object::{Key, Objects, Presence, View};

/// The view that a World gives.
#[derive(Debug)]
pub struct InMemory<'w> {
    world: &'w World,
    absences: OnceLock<Absences>,
}

impl World {
    /// What a judgement reads of it.
    #[must_use]
    pub fn view(&self) -> InMemory<'_> {
        InMemory { world: self, absences: OnceLock::new() }
    }
}

impl View for InMemory<'_> {
    fn get(&self, key: &Key) -> Presence<'_> {
        if let Some(object) = self.world.live.get(key) {
            return Presence::There(object);
        }
        let asked = matches!(self.world.coverage, Coverage::Asked(_)) && self.world.coverage.shows(key);
        // Files say nothing of what they lack, unless somebody noted it.
        let is_absent = asked || self.absences.get_or_init(|| Absences::of(self.world)).has(key);
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

    fn owned_by(&self, kind: &str, name: &str) -> Objects<'_> {
        Box::new(self.world.live.owned_by(kind, name))
    }

    fn unowned(&self) -> Objects<'_> {
        Box::new(self.world.live.unowned())
    }

    fn machines_of_cluster(&self, cluster: &str) -> Objects<'_> {
        Box::new(self.world.live.machines_of_cluster(cluster))
    }
}

/// What is known not to be there: kinds that were asked for or listed, and single objects by kind and name.
#[derive(Debug, Default)]
struct Absences {
    kinds: HashSet<String>,
    names: HashMap<String, HashSet<String>>,
}

impl Absences {
    fn of(world: &World) -> Self {
        let kind_of = |text: &str| text.split(['.', ' ']).next().unwrap_or_default().to_owned();
        let mut out = Self::default();
        if matches!(world.coverage, Coverage::Whole) {
            out.kinds.extend(world.source.resource_versions.keys().map(|listed| kind_of(listed)));
        }
        for absent in &world.absent {
            match absent.what.strip_prefix("kind ") {
                Some(kind) => {
                    out.kinds.insert(kind_of(kind));
                }
                None => {
                    let name = absent.what.rsplit([' ', '/']).next().unwrap_or_default();
                    out.names.entry(kind_of(&absent.what)).or_default().insert(name.to_owned());
                }
            }
        }
        out
    }

    fn has(&self, key: &Key) -> bool {
        self.kinds.contains(&key.kind) || self.names.get(&key.kind).is_some_and(|names| names.contains(&key.name))
    }
}
