//! Judges one owner of Machines: which Machines are out of date before the write, and which after it.

use std::cell::OnceCell;

use jiff::Timestamp;
use serde_json::Value;

use crate::impact::Weighed;
use crate::judge::admission::Sides;
use crate::judge::stage::Stage;
use crate::kinds::Versions;
use crate::kinds::fields::{is_paused, target, text};
use crate::kinds::mirror::{Case, Mirror};
use crate::model::{Basis, Cause, Unit};
use crate::object::Key;
use crate::providers::machines;

/// What was found about one owner.
pub struct Assessment {
    /// Its mirror.
    pub mirror: &'static dyn Mirror,
    /// Which comparison was possible.
    pub basis: Basis,
    /// Its Machines.
    pub units: Vec<Unit>,
    /// What Machines made of the old spec would be out of date for, once it was asked for.
    of_specs: OnceCell<Vec<Cause>>,
    /// The Cluster it belongs to.
    pub cluster: Option<Key>,
    /// Whether its controller does nothing for it after the write.
    pub paused: bool,
    /// Whether that was so before.
    pub was_paused: bool,
    /// Whether Machines are only replaced by hand after the write.
    pub on_delete: bool,
    /// Whether that was so before.
    pub was_on_delete: bool,
    /// What a Machine made by the new spec is out of date for at once.
    pub perpetual: Vec<Cause>,
    /// The infrastructure template that a control plane names and that is known not to be there.
    pub missing: Option<Key>,
    /// The owner before the write, in the superset form with defaults.
    pub old: Value,
    /// The owner after it.
    pub new: Value,
}

impl std::fmt::Debug for Assessment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { basis, units, cluster, .. } = self;
        let mut shown = f.debug_struct("Assessment");
        shown.field("basis", basis).field("units", units).field("cluster", cluster);
        shown.finish_non_exhaustive()
    }
}

impl Assessment {
    /// Judges an owner that is there before and after the write.
    #[must_use]
    pub(crate) fn of(stage: &Stage<'_>, key: &Key, mirror: &'static dyn Mirror, sides: Sides) -> Self {
        let (versions, now, live) = (&stage.versions, stage.scene.world.now, &stage.scene.world.live);
        let Sides { mut old, mut new } = sides;
        mirror.fill_in(&mut old, versions);
        mirror.fill_in(&mut new, versions);
        let cluster = stage.cluster_of(key, &new);
        let (before, after) = match &cluster {
            Some(cluster) => (stage.before(cluster), stage.after(cluster)),
            None => (None, None),
        };
        let name = cluster.as_ref().map_or("", |cluster| cluster.name.as_str());
        let members = || machines::of_control_plane(live, key, name, versions);
        let was_read = |reference: &Value| was_read(stage, reference);
        let case = Case { live, members: &members, was_read: &was_read, key, old: &old, new: &new, versions, now };
        let (basis, units) = mirror.units(&case);
        Self {
            mirror,
            basis,
            units,
            of_specs: OnceCell::new(),
            perpetual: mirror.perpetual(&new, versions, now),
            paused: is_paused(&new, after.as_ref()) || mirror.is_paused(&new),
            was_paused: is_paused(&old, before.as_ref()) || mirror.is_paused(&old),
            on_delete: mirror.is_on_delete(&new),
            was_on_delete: mirror.is_on_delete(&old),
            missing: missing_template(stage, key, mirror, &new),
            cluster,
            old,
            new,
        }
    }

    /// What Machines made of the old spec would be out of date for.
    #[must_use]
    pub fn of_specs(&self, versions: &Versions, now: Timestamp) -> &[Cause] {
        self.of_specs.get_or_init(|| self.mirror.of_specs(&self.old, &self.new, versions, now))
    }

    /// What is weighed of it.
    #[must_use]
    pub fn weighed(&self) -> Weighed<'_> {
        Weighed {
            mirror: self.mirror,
            cluster: self.cluster.as_ref(),
            units: &self.units,
            old: &self.old,
            new: &self.new,
            waits: self.waits(),
            is_released: self.is_released(),
        }
    }

    /// Every reason why a Machine is out of date after the write.
    pub fn causes(&self) -> impl Iterator<Item = &Cause> {
        self.units.iter().filter(|unit| unit.count > 0).flat_map(|unit| &unit.after)
    }

    /// The Machines that this write makes out of date.
    pub fn newly(&self) -> impl Iterator<Item = &Unit> {
        self.units.iter().filter(|unit| unit.count > 0 && unit.before.is_empty() && !unit.after.is_empty())
    }

    /// The Machines that were out of date already and still are.
    pub fn pending(&self) -> impl Iterator<Item = &Unit> {
        self.units.iter().filter(|unit| unit.count > 0 && !unit.before.is_empty() && !unit.after.is_empty())
    }

    /// The Machines that stop being out of date.
    pub fn cancelled(&self) -> impl Iterator<Item = &Unit> {
        self.units.iter().filter(|unit| unit.count > 0 && !unit.before.is_empty() && unit.after.is_empty())
    }

    /// Whether Machines that are out of date are left alone for now.
    #[must_use]
    pub const fn waits(&self) -> bool {
        self.paused || self.on_delete
    }

    /// Whether the write lets go what waited before.
    #[must_use]
    pub const fn is_released(&self) -> bool {
        (self.was_paused || self.was_on_delete) && !self.waits()
    }
}

/// The template without which the controller stops, where it is known not to be there.
fn missing_template(stage: &Stage<'_>, key: &Key, mirror: &dyn Mirror, new: &Value) -> Option<Key> {
    let target = target(mirror.needed(new)?, key.namespace.as_deref())?;
    (stage.is_absent(&target) && stage.after(&target).is_none()).then_some(target)
}

/// Whether what a reference means was looked for, so that its absence is known.
fn was_read(stage: &Stage<'_>, reference: &Value) -> bool {
    let kind = text(reference, "/kind").unwrap_or_default();
    stage.scene.world.live.of_kind(kind).next().is_some()
        || stage.scene.world.absent.iter().any(|absent| absent.what.contains(kind))
}
