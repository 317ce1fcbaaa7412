//! What a judgement reads of a cluster, behind one interface: a World in memory gives it, and so can a cache that a watch
//! keeps up to date. Whether an object is there is a type of three, so that nobody takes the unread for absent.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::OnceLock;

use super::{Coverage, World};
use crate::object::{Inventory, Key, Object};

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
pub type Objects<'v> = Box<dyn Iterator<Item = &'v Object> + 'v>;

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

    /// The Machines and MachineSets that name an owner of this kind and name, in whatever namespace.
    fn owned_by(&self, kind: &str, name: &str) -> Objects<'_>;

    /// The Machines and MachineSets that name no owner.
    fn unowned(&self) -> Objects<'_>;

    /// The Machines with the label of a cluster, in whatever namespace.
    fn machines_of_cluster(&self, cluster: &str) -> Objects<'_>;

    /// What the objects say of each other, where the view keeps account of it; `None` where whoever asks has to read them.
    fn links(&self) -> Option<&dyn Links>;
}

/// What the objects of a view say of each other, kept up to date as they come and go. Names only: a render often leaves a
/// namespace out, so whoever asks compares those.
pub trait Links: fmt::Debug + Sync {
    /// Who refers to an object of this kind and name.
    fn referrers(&self, kind: &str, name: &str) -> Objects<'_>;

    /// The Clusters that name a control plane of this kind and name.
    fn clusters_naming(&self, kind: &str, name: &str) -> Objects<'_>;

    /// The owners of Machines that say that they belong to a Cluster of this name.
    fn owners_of(&self, cluster: &str) -> Objects<'_>;

    /// The Clusters that have a class of this name.
    fn members_of(&self, class: &str) -> Objects<'_>;
}

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

    fn links(&self) -> Option<&dyn Links> {
        self.world.live.keeps_links().then_some(&self.world.live as &dyn Links)
    }
}

impl Links for Inventory {
    fn referrers(&self, kind: &str, name: &str) -> Objects<'_> {
        self.linked(|links| links.referrers(kind, name))
    }

    fn clusters_naming(&self, kind: &str, name: &str) -> Objects<'_> {
        self.linked(|links| links.clusters_naming(kind, name))
    }

    fn owners_of(&self, cluster: &str) -> Objects<'_> {
        self.linked(|links| links.owners_of(cluster))
    }

    fn members_of(&self, class: &str) -> Objects<'_> {
        self.linked(|links| links.members_of(class))
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
