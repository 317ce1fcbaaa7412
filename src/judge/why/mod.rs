//! Why Machines are out of date: the owners as they stand, asked by their own mirrors, with no write at all; or as they stood
//! before, against what is wanted now. Also what is due by itself later.

mod history;
mod past;

use jiff::{SignedDuration, Timestamp};

pub(crate) use self::history::{Move, RevisionStep, apart, below, like, places, revisions};
pub(crate) use self::past::{Rollout, ToldBy};
use crate::apiserver::admission::Sides;
use crate::judge::owner::Assessment;
use crate::judge::stage::Stage;
use crate::judge::{Once, Scene};
use crate::kinds::Versions;
use crate::kinds::contract::MACHINE;
use crate::kinds::fields::{annotation, controller, is_in};
use crate::kinds::mirror::Mirror;
use crate::model::{Act, Basis, Cause, Member, Unit};
use crate::object::{Inventory, Key, Object, Path, Segment};
use crate::providers::{kind, machines};
use crate::rules::Rules;
use crate::tree::Value;
use crate::world::World;

/// How far ahead what is due by itself is looked for.
const AHEAD: SignedDuration = SignedDuration::from_hours(24 * 400);
/// Annotation of an infrastructure Machine: the template that it was made from.
const CLONED_FROM: &str = "cluster.x-k8s.io/cloned-from-name";
/// How exactly its time is found.
const EXACT: SignedDuration = SignedDuration::from_mins(1);

/// What is found about one owner of Machines.
#[derive(Debug)]
pub(crate) struct OwnerState {
    /// The owner.
    pub key: Key,
    /// Its Cluster, where it is known.
    pub cluster: Option<Key>,
    /// How many Machines it has.
    pub machines: u64,
    /// Whether its Machines could be read.
    pub basis: Basis,
    /// Whether it has no Machine: all that there are were read.
    pub is_bare: bool,
    /// The Machines that are out of date.
    pub outdated: Vec<Outdated>,
    /// What keeps the controller from replacing them.
    pub held: Option<String>,
    /// Why a Machine that it makes is out of date at once.
    pub perpetual: Vec<Difference>,
    /// What is due by itself later.
    pub soon: Option<Due>,
    /// What was replaced before, as what is left of it tells.
    pub rollouts: Vec<Rollout>,
    /// The owner as it is wanted, in the superset form with defaults.
    pub wanted: Value,
}

/// Machines that are out of date for the same reasons.
#[derive(Debug)]
pub(crate) struct Outdated {
    /// Their names; empty for those that are gone.
    pub names: Vec<String>,
    /// Why.
    pub differences: Vec<Difference>,
}

/// One reason: a place of the owner, what the Machine has there and what the owner wants.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Difference {
    /// Id of the cause.
    pub rule: &'static str,
    /// Place in the owner, in the superset form.
    pub path: Path,
    /// What the Machine was made of, where it could be read.
    pub before: Option<Value>,
    /// What the owner wants.
    pub after: Option<Value>,
    /// What differs, for a person; empty where the values say it.
    pub detail: String,
    /// The object that a reference meant before, where the place is a reference that moved.
    pub was: Option<Key>,
    /// The object that it means now.
    pub is: Option<Key>,
}

/// Machines that will be out of date at a time, with nobody writing anything.
#[derive(Debug)]
pub(crate) struct Due {
    /// When the first of them is.
    pub at: Timestamp,
    /// Which.
    pub names: Vec<String>,
    /// Why.
    pub differences: Vec<Difference>,
}

/// The owners of Machines of a World, each with its Machines that are out of date now.
#[must_use]
pub(crate) fn now(world: &World, rules: &Rules) -> Vec<OwnerState> {
    with_stage(world, rules, |stage| {
        let owners = owners(world).filter_map(|(object, mirror)| {
            let owner = machines::read(object, &stage.versions)?;
            let sides = || Sides { old: owner.clone(), new: owner.clone() };
            let judged = Assessment::of(stage, &object.key, mirror, sides());
            let outdated = judged.units.iter().filter(|unit| unit.count > 0 && !unit.after.is_empty());
            let mut state = state(stage, &object.key, &judged, outdated);
            state.soon = due(stage, &object.key, mirror, &sides);
            state.rollouts = past::rollouts(stage, &object.key, &judged);
            Some(state)
        });
        owners.collect()
    })
}

/// The owners of two Worlds, each with the Machines of the first that what the second wants made out of date.
#[must_use]
pub(crate) fn between(before: &World, after: &World, rules: &Rules) -> Vec<OwnerState> {
    with_stage(before, rules, |stage| {
        let owners = owners(before).filter_map(|(object, mirror)| {
            let old = machines::read(object, &stage.versions)?;
            let new = machines::read(after.live.get(&object.key)?, &stage.versions)?;
            let judged = Assessment::of(stage, &object.key, mirror, Sides { old, new });
            let mut state = state(stage, &object.key, &judged, judged.newly());
            // What is gone was replaced; what is still there is out of date.
            let is_there =
                |name: &String| after.live.named(name).any(|object| object.key.namespace == state.key.namespace);
            state.outdated.iter_mut().for_each(|one| one.names.retain(|name| !is_there(name)));
            // Where no Machine was read now, nobody knows which are gone.
            let mut machines =
                after.live.of_kind(MACHINE).filter(|machine| is_in(machine, state.key.namespace.as_deref()));
            let are_read = machines.next().is_some();
            state.outdated.retain(|one| are_read && !one.names.is_empty());
            Some(state)
        });
        owners.collect()
    })
}

/// The versions by which a World is judged.
#[must_use]
pub(crate) fn versions(world: &World) -> Versions {
    let told = world.told_versions();
    let mut all = Versions::candidates(&told, &std::collections::BTreeMap::new()).into_iter();
    all.next().unwrap_or_else(|| Versions::of(&told))
}

/// The stage of a World that nothing is written to.
fn with_stage<T>(world: &World, rules: &Rules, ask: impl FnOnce(&Stage<'_>) -> Vec<T>) -> Vec<T> {
    let (view, nothing, once) = (world.view(), Inventory::default(), Once::default());
    let scene = Scene { world, view: &view, rendered: &nothing, once: &once, way: None };
    ask(&Stage::new(scene, &[], rules, versions(world)))
}

/// The objects whose controllers decide about Machines, with what decides.
fn owners(world: &World) -> impl Iterator<Item = (&Object, &'static dyn Mirror)> {
    world.live.objects().iter().filter_map(|object| Some((object, kind(&object.key).mirror?)))
}

fn state<'u>(stage: &Stage<'_>, key: &Key, judged: &Assessment, units: impl Iterator<Item = &'u Unit>) -> OwnerState {
    let cluster = judged.cluster.as_ref().map_or("", |cluster| cluster.name.as_str());
    let members = machines::of_control_plane(stage.scene.view, key, cluster, &stage.versions);
    let outdated = units.map(|unit| Outdated {
        names: unit.names.clone(),
        differences: differences(stage, key, judged, &members, unit),
    });
    OwnerState {
        key: key.clone(),
        cluster: judged.cluster.clone(),
        machines: judged.count(),
        basis: judged.basis,
        is_bare: judged.is_bare,
        outdated: outdated.collect(),
        held: judged.held(Act::Replace).map(|hold| hold.says.clone()),
        perpetual: judged.perpetual.iter().map(|cause| difference(key, cause, None, &judged.new)).collect(),
        soon: None,
        rollouts: Vec::new(),
        wanted: judged.new.clone(),
    }
}

/// The reasons of one unit with the values on both sides; `members` are the Machines of its owner.
pub(super) fn differences(
    stage: &Stage<'_>,
    key: &Key,
    judged: &Assessment,
    members: &[Member],
    unit: &Unit,
) -> Vec<Difference> {
    let member = members.iter().find(|member| unit.names.contains(&member.name));
    let set = if member.is_none() { set_of(stage, key, unit) } else { None };
    let of_set = |mut told: Difference| {
        if let Some(set) = &set {
            told.before = told.path.get(set).cloned();
            told.was = history::referred(key, set, &told.path);
        }
        told
    };
    let of_cause = |cause| {
        let mut told = difference(key, cause, member, &judged.new);
        told.before = told.before.or_else(|| judged.mirror.carried(member?, &told.path));
        of_set(told)
    };
    unit.after.iter().map(of_cause).collect()
}

/// The MachineSet of Machines of workers, in the superset form: what they were made from.
fn set_of(stage: &Stage<'_>, key: &Key, unit: &Unit) -> Option<Value> {
    let name = unit.names.first()?;
    let mut machines = stage.scene.view.named(name).filter(|object| object.key.kind == MACHINE);
    let machine = machines.find(|object| is_in(object, key.namespace.as_deref()))?;
    let set = controller(&machine.key, machine.value().ok()?.as_ref())?;
    machines::read(stage.scene.view.get(&set).object()?, &stage.versions)
}

/// A cause with the values on both sides.
fn difference(key: &Key, cause: &Cause, member: Option<&Member>, owner: &Value) -> Difference {
    let is = history::referred(key, owner, &cause.path);
    let was = member.zip(is.as_ref()).and_then(|(member, now)| cloned_from(member, now.clone()));
    let is_name = cause.path.segments().last() == Some(&Segment::Key("name".to_owned()));
    let name = was.as_ref().filter(|_| is_name).map(|was| was.name.as_str().into());
    Difference {
        rule: cause.rule.as_str(),
        path: cause.path.clone(),
        before: member.and_then(|member| made_of(member, &cause.path)).or(name),
        after: at(owner, cause.path.segments()).cloned(),
        detail: cause.detail.clone(),
        was,
        is,
    }
}

/// The template that an infrastructure Machine was made from, where it is of the kind that the owner names now.
fn cloned_from(member: &Member, now: Key) -> Option<Key> {
    let infra = member.infra.as_ref()?;
    let name = annotation(infra, CLONED_FROM)?;
    Some(now.with_name(name))
}

/// What a Machine was made of at a place of its owner: the same place of its bootstrap config, which holds what is below the
/// configuration of the owner, or of the Machine itself.
fn made_of(member: &Member, path: &Path) -> Option<Value> {
    let (_, below) = path.segments().split_first()?;
    let config = member.config.as_ref().and_then(|config| config.get("spec"));
    let of_config = |steps: &[Segment]| config.and_then(|spec| at(spec, steps)).cloned();
    let of_machine = || member.machine.get("spec").and_then(|spec| at(spec, below)).cloned();
    let inner = || below.split_first().map(|(_, inner)| inner).filter(|inner| !inner.is_empty());
    of_config(below).or_else(|| of_config(inner()?)).or_else(of_machine)
}

/// What stands at a place below a value.
fn at<'v>(value: &'v Value, steps: &[Segment]) -> Option<&'v Value> {
    steps.iter().try_fold(value, |value, step| match step {
        Segment::Key(key) => value.get(key),
        Segment::Index(index) => value.get(index),
    })
}

/// What is out of date later although nobody writes: a time that the owner names, a certificate that ends.
fn due(stage: &Stage<'_>, key: &Key, mirror: &'static dyn Mirror, sides: &dyn Fn() -> Sides) -> Option<Due> {
    let start = stage.scene.world.now;
    let names = |judged: &Assessment| -> Vec<String> {
        let due = judged.units.iter().filter(|unit| unit.count > 0 && !unit.after.is_empty());
        due.flat_map(|unit| unit.names.clone()).collect()
    };
    let judged = |time: Timestamp| Assessment::at(stage, key, mirror, sides(), time);
    let known = names(&judged(start));
    let is_due = |time: Timestamp| names(&judged(time)).len() > known.len();
    let (mut early, mut late) = (start, start.checked_add(AHEAD).ok()?);
    if !is_due(late) {
        return None;
    }
    while late.duration_since(early) > EXACT {
        let middle = early.checked_add(late.duration_since(early) / 2).ok()?;
        if is_due(middle) { late = middle } else { early = middle }
    }
    let found = judged(late);
    let first =
        found.units.iter().find(|unit| unit.names.iter().any(|name| !known.contains(name)) && !unit.after.is_empty());
    let differences =
        first.map(|unit| unit.after.iter().map(|cause| difference(key, cause, None, &found.new)).collect());
    let names = names(&found).into_iter().filter(|name| !known.contains(name)).collect();
    Some(Due { at: late, names, differences: differences.unwrap_or_default() })
}
