//! Judges one owner of Machines: which Machines are out of date before the write, and which after it.

use std::cell::OnceCell;
use std::sync::Arc;

use jiff::Timestamp;

use crate::apiserver::admission::Sides;
use crate::impact::simulate::Plays;
use crate::impact::{Weighed, has_more_room};
use crate::judge::stage::Stage;
use crate::judge::waiting;
use crate::judge::waiting::side::Side;
use crate::kinds::contract::{CORE, MACHINE, MACHINE_SET};
use crate::kinds::fields::{self, target};
use crate::kinds::mirror::{Case, Mirror};
use crate::kinds::{Role, Typed, Versions};
use crate::model::{Act, Basis, Cause, Hold, Standing, Unit, Why, hold_of};
use crate::object::{GroupKind, Key, Path, is_deleting};
use crate::providers::{hosts, kind, machines, typed};
use crate::tree::Value;
use crate::world::Coverage;

/// What was found about one owner.
pub(crate) struct Assessment {
    /// Its mirror.
    pub mirror: &'static dyn Mirror,
    /// Which comparison was possible.
    pub basis: Basis,
    /// Whether all Machines were read and none is its own: it never made one.
    pub is_bare: bool,
    /// Its Machines.
    pub units: Vec<Unit>,
    /// Its Machines as its controller's loop sees them, where some are out of date.
    pub standing: Vec<Standing>,
    /// Why no Machine can be made for it after the write.
    pub makes_none: Option<String>,
    /// How many Machines its controller never goes below.
    pub keeps: u64,
    /// Hosts that are free for its next Machines.
    pub hosts: Option<u64>,
    /// The extension that may update its Machines in place.
    pub in_place: Option<String>,
    /// Rollouts that were played already.
    pub plays: Arc<Plays>,
    /// What Machines made of the old spec would be out of date for, once it was asked for.
    of_specs: OnceCell<Vec<Cause>>,
    /// The Cluster it belongs to.
    pub cluster: Option<Key>,
    /// What keeps its controllers from acting after the write.
    pub held: Vec<Hold>,
    /// What kept them from it before.
    pub was_held: Vec<Hold>,
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
        Self::at(stage, key, mirror, sides, stage.scene.world.now)
    }

    /// Judges an owner that is there before and after the write, as if the time were `now`.
    #[must_use]
    pub(crate) fn at(stage: &Stage<'_>, key: &Key, mirror: &'static dyn Mirror, sides: Sides, now: Timestamp) -> Self {
        let key = &typed(key);
        let (versions, live) = (&stage.versions, stage.scene.view);
        let Sides { mut old, mut new } = sides;
        mirror.fill_in(&mut old, versions);
        mirror.fill_in(&mut new, versions);
        let cluster = stage.cluster_of(key, &new);
        let name = cluster.as_ref().map_or("", |cluster| cluster.name.as_str());
        let members = || machines::of_control_plane(live, key, name, versions);
        let was_read = |reference: &Value| was_read(stage, reference, key.namespace.as_deref());
        let api_version = stage.pair(key).map_or("", |pair| pair.api_version.as_str());
        let case = Case {
            live,
            members: &members,
            was_read: &was_read,
            key,
            api_version,
            old: &old,
            new: &new,
            versions,
            now,
            compared: stage.compared(),
        };
        let (basis, units) = mirror.units(&case);
        let [before, after] = Side::both(stage);
        let rolls = basis == Basis::Machines && units.iter().any(|unit| !unit.after.is_empty());
        let standing = if rolls { mirror.standing(&case) } else { Vec::new() };
        let is_due = units.iter().any(|unit| !unit.after.is_empty());
        let has_all = waiting::hosts::are_read(stage.scene.world, live, key.namespace.as_deref());
        let get = |key: &Key| after.get(key).map(|value| Value::clone(&value));
        let mut out = Self {
            keeps: key.known.keeps,
            hosts: is_due.then(|| hosts::free(live, key, has_all, get)).flatten(),
            plays: Arc::clone(&stage.scene.once.plays),
            in_place: is_due.then(|| stage.updaters().of(key, name)).flatten(),
            mirror,
            basis,
            is_bare: basis == Basis::Specs && has_whole_list(stage, key),
            units,
            standing,
            makes_none: waiting::makes_none(after, key, &new, cluster.as_ref()).filter(|_| rolls),
            of_specs: OnceCell::new(),
            perpetual: mirror.perpetual(&new, versions, now),
            held: waiting::holds(after, key, mirror, &new, cluster.as_ref()),
            was_held: waiting::holds(before, key, mirror, &old, cluster.as_ref()),
            missing: missing_template(stage, key, mirror, &new),
            cluster,
            old,
            new,
        };
        out.stop_without_set(key);
        out.was_held.extend(out.little_room(key));
        if let Some(hold) = waiting::hosts::none_free(stage, key, &out) {
            out.hosts = Some(hold.places.len() as u64);
            out.was_held.push(hold);
        }
        out
    }

    /// A MachineDeployment that has no MachineSet for its template and cannot make one stops with an error, and does not scale either
    /// (`machinedeployment_rollout_planner.go` init; `machinedeployment_sync.go` getNewMachineSet up to 1.11). Where it is paused it
    /// looks for none.
    fn stop_without_set(&mut self, key: &Typed<'_>) {
        if key.known.role != Role::Deployment || self.basis != Basis::Machines {
            return;
        }
        let stop = |holds: &mut Vec<Hold>, owner: &Value, has_current: bool| {
            let is_paused = owner.pointer("/spec/paused") == Some(&Value::Bool(true));
            let is_template = |hold: &Hold| hold.places.iter().any(|(named, _)| kind(named).role == Role::Template);
            for hold in holds.iter_mut().filter(|_| !has_current && !is_paused) {
                if hold.why == Why::NothingToMakeOf && is_template(hold) {
                    hold.why = Why::Stopped;
                }
            }
        };
        stop(&mut self.was_held, &self.old, self.units.iter().any(|unit| unit.before.is_empty()));
        stop(&mut self.held, &self.new, self.units.iter().any(|unit| unit.after.is_empty()));
    }

    /// What held Machines back that are out of date already, where it was the room that their strategy gave.
    fn little_room(&self, key: &Key) -> Option<Hold> {
        let is_held = hold_of(&self.was_held, Act::Replace).is_some() || self.waits();
        self.pending().next().filter(|_| !is_held && !is_deleting(&self.old))?;
        let wanted = fields::wanted(&self.new, Some(&self.old));
        has_more_room(&self.weighed(), wanted).then(|| {
            let place = |field: &str, below: &str| (key.clone(), Some(Path::root().key("spec").key(field).key(below)));
            Hold {
                why: Why::LittleRoom,
                places: vec![place("rollout", "strategy"), place("rolloutStrategy", "rollingUpdate")],
                says: "the strategy leaves less room".to_owned(),
                over: "the strategy lets more Machines go at a time, or before others are made".to_owned(),
            }
        })
    }

    /// What Machines made of the old spec would be out of date for.
    #[must_use]
    pub(crate) fn of_specs(&self, versions: &Versions, now: Timestamp) -> &[Cause] {
        self.of_specs.get_or_init(|| self.mirror.of_specs(&self.old, &self.new, versions, now))
    }

    /// What is weighed of it.
    #[must_use]
    pub(crate) fn weighed(&self) -> Weighed<'_> {
        Weighed {
            mirror: self.mirror,
            cluster: self.cluster.as_ref(),
            basis: self.basis,
            units: &self.units,
            standing: &self.standing,
            makes_none: self.makes_none.as_deref(),
            keeps: self.keeps,
            hosts: self.hosts,
            in_place: self.in_place.as_deref(),
            plays: &self.plays,
            old: &self.old,
            new: &self.new,
            waits: self.waits(),
            keeps_all: self.held(Act::Fewer).is_some(),
            is_released: self.is_released(),
        }
    }

    /// Every reason why a Machine is out of date after the write.
    pub(crate) fn causes(&self) -> impl Iterator<Item = &Cause> {
        self.units.iter().filter(|unit| unit.count > 0).flat_map(|unit| &unit.after)
    }

    /// The Machines that this write makes out of date.
    pub(crate) fn newly(&self) -> impl Iterator<Item = &Unit> {
        self.units.iter().filter(|unit| unit.count > 0 && unit.before.is_empty() && !unit.after.is_empty())
    }

    /// The Machines that were out of date already and still are.
    pub(crate) fn pending(&self) -> impl Iterator<Item = &Unit> {
        self.units.iter().filter(|unit| unit.count > 0 && !unit.before.is_empty() && !unit.after.is_empty())
    }

    /// The Machines that stop being out of date.
    pub(crate) fn cancelled(&self) -> impl Iterator<Item = &Unit> {
        self.units.iter().filter(|unit| unit.count > 0 && !unit.before.is_empty() && unit.after.is_empty())
    }

    /// Whether Machines that are out of date are left alone for now.
    #[must_use]
    pub(crate) fn waits(&self) -> bool {
        self.held(Act::Replace).is_some()
    }

    /// What keeps the controllers from an act after the write.
    #[must_use]
    pub(crate) fn held(&self, act: Act) -> Option<&Hold> {
        hold_of(&self.held, act)
    }

    /// Whether the write lets go what waited before.
    #[must_use]
    pub(crate) fn is_released(&self) -> bool {
        hold_of(&self.was_held, Act::Replace).is_some() && !self.waits()
    }

    /// How many Machines there are, as they were counted.
    #[must_use]
    pub(crate) fn count(&self) -> u64 {
        self.units.iter().map(|unit| unit.count).sum()
    }
}

/// Whether every Machine in the namespace of an owner was read.
fn has_whole_list(stage: &Stage<'_>, key: &Typed<'_>) -> bool {
    let coverage = &stage.scene.world.coverage;
    let has = |name: &str| {
        let list = GroupKind::new(CORE, name);
        key.namespace.as_deref().is_some_and(|namespace| coverage.has_list(&list, namespace))
    };
    matches!(coverage, Coverage::Asked(_)) && has(MACHINE) && (!key.known.role.is_workers() || has(MACHINE_SET))
}

/// The template without which the controller stops, where it is known not to be there.
fn missing_template(stage: &Stage<'_>, key: &Key, mirror: &dyn Mirror, new: &Value) -> Option<Key> {
    let target = target(mirror.needed(new)?, key.namespace.as_deref())?;
    (stage.is_absent(&target) && stage.after(&target).is_none()).then_some(target)
}

/// Whether what a reference means was looked for and is not there.
fn was_read(stage: &Stage<'_>, reference: &Value, namespace: Option<&str>) -> bool {
    target(reference, namespace).is_some_and(|key| stage.is_absent(&key))
}
