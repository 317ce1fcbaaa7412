//! Weighs what a mirror found: how many Machines, with what room, in which order.
//! The order is the controllers' own (`docs` of each provider); percentages round as they round.

use super::course;
use super::simulate::Plays;
use crate::hashed::HashSet;
use crate::kinds::Mirror;
use crate::kinds::fields;
use crate::kinds::standing::DELETE_FIRST;
use crate::model::{Basis, Cause, Effect, Rollout, Standing, Strategy, Unit};
use crate::object::{Key, is_deleting};
use crate::tree::Value;

/// An owner of Machines, as it is weighed.
#[derive(Clone, Copy)]
pub(crate) struct Weighed<'a> {
    /// How its controller decides and replaces.
    pub mirror: &'static dyn Mirror,
    /// The Cluster it belongs to.
    pub cluster: Option<&'a Key>,
    /// Which comparison was possible.
    pub basis: Basis,
    /// Its Machines.
    pub units: &'a [Unit],
    /// Its Machines as its controller's loop sees them, where they were read.
    pub standing: &'a [Standing],
    /// Why no Machine can be made for it.
    pub makes_none: Option<&'a str>,
    /// How many Machines its controller never goes below.
    pub keeps: u64,
    /// Hosts that are free for its next Machines, where these choose from hosts that were read.
    pub hosts: Option<u64>,
    /// The extension that may update its Machines in place.
    pub in_place: Option<&'a str>,
    /// Rollouts that were played already.
    pub plays: &'a Plays,
    /// The owner before the write.
    pub old: &'a Value,
    /// The owner after it.
    pub new: &'a Value,
    /// Whether Machines that are out of date are left alone for now.
    pub waits: bool,
    /// Whether no Machine that is too many is deleted for now.
    pub keeps_all: bool,
    /// Whether the write lets go what waited before.
    pub is_released: bool,
}

impl std::fmt::Debug for Weighed<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Weighed").field("cluster", &self.cluster).field("units", &self.units).finish_non_exhaustive()
    }
}

impl<'a> Weighed<'a> {
    /// How many Machines there are, as they were counted.
    fn count(&self) -> u64 {
        self.units.iter().map(|unit| unit.count).sum()
    }

    /// How many Machines are there, where each was read.
    fn present(&self) -> Option<u64> {
        let read: usize = self.units.iter().map(|unit| unit.names.len()).sum();
        let count = self.count();
        (self.basis == Basis::Machines && read as u64 == count).then_some(count)
    }

    /// Whether a rollout of several sets of Machines is paused and stays so (`machinedeployment_sync.go`, scale, of Cluster API 1.14).
    fn is_paused_half_way(&self) -> bool {
        let sets = self.units.iter().filter(|unit| unit.count > 0).count();
        self.new.pointer("/spec/paused") == Some(&Value::Bool(true)) && sets > 1
    }

    /// Whether Machines that were out of date already are so for something that this write changes: a rollout that hangs is asked
    /// to start once more.
    fn asks_anew(&self, unit: &Unit) -> bool {
        // What a whole block was out of date for is a part of it once the block has something else.
        let is_part = |cause: &Cause, whole: &Cause| {
            whole.rule == cause.rule && whole.path != cause.path && whole.path.covers(&cause.path)
        };
        let was_there = |cause: &Cause| unit.before.iter().any(|was| was == cause || is_part(cause, was));
        let is_other = |cause: &Cause| cause.path.get(self.old) != cause.path.get(self.new);
        unit.after.iter().any(|cause| !was_there(cause) || is_other(cause))
    }

    /// The Machines that are out of date after the write, those that were not before it first.
    fn outdated(&self) -> impl Iterator<Item = &'a Unit> {
        let due = self.units.iter().filter(|unit| unit.count > 0 && !unit.after.is_empty());
        let (newly, pending): (Vec<_>, Vec<_>) = due.partition(|unit| unit.before.is_empty());
        newly.into_iter().chain(pending)
    }
}

/// The entry of an owner, where Machines are replaced, deleted or their number falls; `None` where none is.
#[must_use]
pub(crate) fn of(owner: &Key, assessment: &Weighed<'_>) -> Option<Rollout> {
    let before = fields::wanted(assessment.old, None);
    let wanted = fields::comes_to(fields::wanted(assessment.new, Some(assessment.old)), assessment.keeps, before);
    let cluster = assessment.cluster.map(|key| key.name.clone()).unwrap_or_default();
    let base = Rollout {
        owner: owner.clone(),
        cluster,
        effect: Effect::Rollout,
        replicas: Some(wanted),
        present: assessment.present(),
        machines: None,
        machine_names: Vec::new(),
        max_surge: None,
        max_unavailable: None,
        course: None,
        steps: Vec::new(),
        causes: Vec::new(),
    };
    // Machines that were read are counted; what is said of their number is not.
    let runs = match assessment.basis {
        // Where a rollout is paused half-way, nothing but this takes the Machines above the wanted number away.
        Basis::Machines if assessment.is_paused_half_way() => assessment.count(),
        Basis::Machines => assessment.count().min(before),
        _ => before,
    };
    let is_unseen = assessment.basis != Basis::Machines
        && fields::is_autoscaled(assessment.old)
        && fields::number(assessment.old, "/spec/replicas").is_none();
    let counts = !assessment.keeps_all && !is_deleting(assessment.old);
    if wanted == 0 && runs > 0 && counts {
        let names = assessment.units.iter().flat_map(|unit| unit.names.clone()).collect();
        return Some(gone(base, runs, names, vec!["spec.replicas".to_owned()]));
    }
    let rolls = assessment
        .outdated()
        .any(|unit| unit.before.is_empty() || assessment.is_released || assessment.asks_anew(unit));
    if rolls && !assessment.waits && !is_deleting(assessment.old) {
        let replaced = replaced(base, assessment, wanted);
        return Some(if is_unseen { of_unseen(replaced) } else { replaced });
    }
    (wanted < before && wanted < runs && counts).then(|| fewer(base, runs, wanted))
}

/// The entry of an owner whose number an autoscaler has chosen: an old render says between which bounds, and not what it has chosen.
fn of_unseen(replaced: Rollout) -> Rollout {
    let steps = vec![
        "replaces all of its Machines; an autoscaler chose how many, and an old render does not say it".to_owned(),
    ];
    Rollout { replicas: None, machines: None, course: None, steps, ..replaced }
}

/// The step of an owner that loses so many Machines, which are all that it has.
#[must_use]
pub(crate) fn deletes_all(count: u64) -> String {
    match count {
        1 => "deletes its only Machine; nothing replaces it".to_owned(),
        _ => format!("deletes all {count} Machines; nothing replaces them"),
    }
}

/// All Machines go.
#[must_use]
pub(crate) fn gone(base: Rollout, before: u64, machine_names: Vec<String>, causes: Vec<String>) -> Rollout {
    Rollout {
        effect: Effect::Delete,
        machines: Some(before),
        machine_names,
        steps: vec![deletes_all(before)],
        causes,
        ..base
    }
}

/// The number of Machines falls, and none is replaced.
#[must_use]
pub(crate) fn fewer(base: Rollout, before: u64, wanted: u64) -> Rollout {
    let count = before - wanted;
    Rollout {
        effect: Effect::Scale,
        machines: Some(count),
        machine_names: Vec::new(),
        steps: vec![format!("deletes {count} of {before} Machines, drained one after another")],
        causes: vec!["spec.replicas".to_owned()],
        ..base
    }
}

/// Machines are replaced.
fn replaced(base: Rollout, assessment: &Weighed<'_>, wanted: u64) -> Rollout {
    let mut units: Vec<&Unit> = assessment.outdated().collect();
    units.sort_by(|left, right| left.names.cmp(&right.names));
    let count: u64 = units.iter().map(|unit| unit.count).sum();
    let room = assessment.mirror.room(assessment.new, wanted);
    let each = if count == 1 { "the outdated Machine".to_owned() } else { format!("all {count} outdated Machines") };
    let paths = units.iter().flat_map(|unit| &unit.after).map(|cause| cause.path.to_string());
    let mut steps = assessment.mirror.steps(&each, (base.present.unwrap_or(wanted), wanted), room);
    // Which Machines an extension updates where they are, it alone knows: a course of replaced ones would be a wrong one.
    let course = assessment.in_place.is_none().then(|| course::of(assessment, wanted));
    if let Some(course) = &course {
        steps.extend(course.drains());
        steps.extend(course.stops.clone());
    }
    steps.extend(assessment.in_place.map(|name| {
        format!(
            "asks {name} first, which may update Machines in place of replacing them; how that goes is not simulated"
        )
    }));
    let marked = marked(assessment, wanted);
    if !marked.is_empty() {
        let are = if marked.len() == 1 { "is" } else { "are" };
        steps.insert(
            0,
            format!("takes {} first, which {are} up to date and annotated with {DELETE_FIRST}", marked.join(", ")),
        );
    }
    let mut seen = HashSet::default();
    let causes: Vec<String> = paths.filter(|path| seen.insert(path.clone())).collect();
    Rollout {
        machines: Some(count + marked.len() as u64),
        machine_names: units.iter().flat_map(|unit| unit.names.clone()).chain(marked).collect(),
        max_surge: Some(room.0),
        max_unavailable: Some(room.1),
        steps,
        course,
        causes,
        ..base
    }
}

/// Machines that a control plane takes before those that are out of date, although they are not: somebody marked them to go
/// (`controlplane/kubeadm/reconcilers/kubeadmcontrolplane/scale.go` selectMachineForInPlaceUpdateOrScaleDown of Cluster API 1.14; those of
/// RKE2 and Talos do the same). A MachineDeployment takes none from the MachineSet that is up to date.
fn marked(assessment: &Weighed<'_>, wanted: u64) -> Vec<String> {
    if !matches!(assessment.mirror.strategy(assessment.new, wanted), Strategy::OneByOne { .. }) {
        return Vec::new();
    }
    let is_current =
        |name: &String| assessment.units.iter().any(|unit| unit.after.is_empty() && unit.names.contains(name));
    let marked = assessment.standing.iter().filter(|machine| machine.is_marked && !machine.is_going);
    marked.map(|machine| machine.name.clone()).filter(is_current).collect()
}
