//! Rollouts that are over: MachineSets that are left empty, and revisions of a release by which an owner replaces its Machines,
//! with the Machines that were made since.

use jiff::Timestamp;

use super::history::{Rolled, referred, rolled};
use super::{Difference, difference};
use crate::judge::owner::Assessment;
use crate::judge::stage::Stage;
use crate::kinds::Role;
use crate::kinds::contract::{self, MACHINE};
use crate::kinds::fields::{annotation, is_in, number, text};
use crate::object::Key;
use crate::providers::{kind, machines};
use crate::tree::Value;

/// So many rollouts of an owner are told, the newest ones.
const TOLD: usize = 3;
/// Annotation of a MachineSet: which revision of its MachineDeployment it is (Cluster API
/// `internal/controllers/machinedeployment/mdutil/util.go`).
const REVISION: &str = "machinedeployment.clusters.x-k8s.io/revision";
/// Annotation of a Machine that was made in the place of an unhealthy one.
const REMEDIATED_FOR: &str = "controlplane.cluster.x-k8s.io/remediation-for";

/// A rollout that is over, or that has come so far.
#[derive(Debug, Clone)]
pub(crate) struct Rollout {
    /// When it began: when its MachineSet was made, or its revision was written.
    pub since: Timestamp,
    /// How many Machines it replaced: those that were made since, without those that were added.
    pub replaced: u64,
    /// The Machines that were made since, the first one first, each with its time.
    pub made: Vec<(Timestamp, String)>,
    /// Why.
    pub differences: Vec<Difference>,
    /// How it is known.
    pub told_by: ToldBy,
}

/// How a rollout is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ToldBy {
    /// An empty MachineSet and the one that took its place.
    Sets(String, String),
    /// A revision of a release.
    Revision(String, u64),
}

/// The rollouts of an owner, the newest first.
pub(super) fn rollouts(stage: &Stage<'_>, key: &Key, judged: &Assessment) -> Vec<Rollout> {
    let made = made(stage, key, judged);
    let mut out: Vec<Rollout> = of_sets(stage, key, judged).into_iter().collect();
    let world = stage.scene.world;
    let mut until = Timestamp::MAX;
    for revision in rolled(&world.histories, key, judged.mirror, &stage.versions, world.now) {
        // The API server keeps whole seconds of when a Machine was made, Helm parts of one of when it wrote.
        let from = Timestamp::from_second(revision.written.as_second()).unwrap_or(revision.written);
        let to = std::mem::replace(&mut until, from);
        let own = made.iter().filter(|(time, _)| (from..to).contains(time)).cloned().collect();
        let told = of_revision(key, revision, own, judged);
        // What MachineSets tell of it says more exactly when it was.
        let is_known = |told: &Rollout| {
            out.iter()
                .any(|one| one.differences.iter().any(|one| told.differences.iter().any(|two| one.path == two.path)))
        };
        if told.replaced > 0 && !is_known(&told) {
            out.push(told);
        }
    }
    out.sort_by_key(|one| std::cmp::Reverse(one.since));
    out.truncate(TOLD);
    out
}

/// A revision with the Machines that were made after it.
fn of_revision(key: &Key, revision: Rolled, made: Vec<(Timestamp, String)>, judged: &Assessment) -> Rollout {
    let wanted = |owner: &Value| number(owner, "/spec/replicas").unwrap_or(1);
    let added = wanted(&judged.new).saturating_sub(wanted(&revision.old));
    let differences = revision.causes.iter().map(|cause| Difference {
        before: cause.path.get(&revision.old).cloned(),
        was: referred(key, &revision.old, &cause.path),
        ..difference(key, cause, None, &revision.new)
    });
    Rollout {
        since: revision.written,
        replaced: (made.len() as u64).saturating_sub(added),
        differences: differences.collect(),
        told_by: ToldBy::Revision(revision.release, revision.number),
        made,
    }
}

/// The Machines of an owner that were made for no unhealthy one, by when they were made.
fn made(stage: &Stage<'_>, key: &Key, judged: &Assessment) -> Vec<(Timestamp, String)> {
    let (view, versions) = (stage.scene.view, &stage.versions);
    let cluster = judged.cluster.as_ref().map_or("", |cluster| cluster.name.as_str());
    let names = judged.mirror.machine_names(view, key, versions).unwrap_or_else(|| {
        let members = machines::of_control_plane(view, key, cluster, versions);
        members.into_iter().map(|member| member.name).collect()
    });
    let time = |name: &String| {
        let mut all = view.named(name).filter(|object| object.key.kind == MACHINE);
        let machine = all.find(|object| is_in(object, key.namespace.as_deref()))?.value().ok()?;
        (annotation(&machine, REMEDIATED_FOR).is_none()).then_some(())?;
        created(&machine)
    };
    let mut out: Vec<(Timestamp, String)> = names.into_iter().filter_map(|name| Some((time(&name)?, name))).collect();
    out.sort();
    out
}

fn created(object: &Value) -> Option<Timestamp> {
    text(object, "/metadata/creationTimestamp")?.parse().ok()
}

/// The last rollout of workers, as the newest MachineSet that has Machines and the empty one before it tell it.
fn of_sets(stage: &Stage<'_>, key: &Key, judged: &Assessment) -> Option<Rollout> {
    let (view, versions) = (stage.scene.view, &stage.versions);
    let own = view.owned_by(key).filter(|object| kind(&object.key).role == Role::Set);
    let mut sets: Vec<(u64, String, Value)> = own
        .filter_map(|object| {
            let value = machines::read(object, versions)?;
            let revision = annotation(&value, REVISION).and_then(|text| text.parse().ok()).unwrap_or(0);
            Some((revision, object.key.name.clone(), value))
        })
        .collect();
    sets.sort_by_key(|(revision, _, set)| (*revision, created(set)));
    let (_, name, _) = sets.pop()?;
    let (_, old_name, old) = sets.pop()?;
    let is_empty = number(&old, "/spec/replicas") == Some(0) && number(&old, "/status/replicas").unwrap_or(0) == 0;
    is_empty.then_some(())?;
    // A MachineSet without Machines is out of date like one with them; only nothing is replaced by it any more.
    let empty = judged.units.iter().filter(|unit| unit.count == 0).flat_map(|unit| &unit.after);
    let mut differences: Vec<Difference> = Vec::new();
    for cause in empty {
        let (before, after) = (cause.path.get(&old), cause.path.get(&judged.new));
        let told = Difference {
            before: before.cloned(),
            was: referred(key, &old, &cause.path),
            ..difference(key, cause, None, &judged.new)
        };
        if before != after && !differences.iter().any(|one| one.path == told.path) {
            differences.push(told);
        }
    }
    let made = machines_of(stage, &contract::machine_set(key.namespace.as_deref(), &name));
    let since = made.first()?.0;
    (!differences.is_empty()).then_some(Rollout {
        since,
        replaced: made.len() as u64,
        made,
        differences,
        told_by: ToldBy::Sets(old_name, name),
    })
}

/// The Machines of a MachineSet, by when they were made.
fn machines_of(stage: &Stage<'_>, set: &Key) -> Vec<(Timestamp, String)> {
    let own = stage.scene.view.owned_by(set).filter(|object| object.key.kind == MACHINE);
    let mut out: Vec<(Timestamp, String)> =
        own.filter_map(|object| Some((created(object.value().ok()?.as_ref())?, object.key.name.clone()))).collect();
    out.sort();
    out
}
