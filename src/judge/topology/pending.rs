//! What the topology controller has still to do in a Cluster, and what keeps a part of it back: an annotation that defers an
//! upgrade. A write that ends this, or what stops it as a whole, lets the rest go.
//! Read beside `core/reconcilers/topology/cluster/cluster_controller.go` (Reconcile, reconcile) and
//! `exp/topology/desiredstate/desired_state.go` (isMachineDeploymentDeferred) of Cluster API 1.14.

use std::cell::LazyCell;

use super::blueprint::{ClassPart, class_of};
use super::claimed;
use super::held::Holds;
use super::in_use::drifts;
use super::queue::{Sequence, turn};
use super::stop::{hides, stop};
use super::values::list;
use super::weight::{entry_of, fewer_of, machines, own_cause, owner};
use super::woken;
use crate::hashed::{HashMap, HashSet};
use crate::judge::stage::Stage;
use crate::judge::waiting::Lifted;
use crate::judge::waiting::pause::annotation_path;
use crate::judge::waiting::side::Side;
use crate::kinds::contract::{MACHINE_DEPLOYMENT, MACHINE_POOL, TOPOLOGY_OWNED};
use crate::kinds::fields::{annotation, label, number, target, text};
use crate::model::{Act, Effect, Hold, Rollout, RuleId, Why};
use crate::object::{Key, Path};
use crate::providers::core::RUNTIME_SDK;
use crate::tree::{Value, json};

/// The annotation that names the hooks that are still to be called.
pub(super) const PENDING_HOOKS: &str = "runtime.cluster.x-k8s.io/pending-hooks";
/// How the annotations of a Cluster start that block an upgrade before its control plane gets the version.
const BEFORE_UPGRADE: &str = "before-upgrade.hook.cluster.cluster.x-k8s.io";

/// Something that is not yet as the topology wants it.
#[derive(Debug, Clone, PartialEq)]
struct Task {
    /// `controlPlane`, `machineDeployment` or `machinePool`.
    word: &'static str,
    /// Name of the group.
    name: String,
    what: What,
    effect: Effect,
    /// What is not as it should be, as a clause.
    says: String,
    /// Whether the controller sees it only when something else makes it look.
    is_dormant: bool,
    /// What keeps it as it is, and the field of the Cluster that says so.
    held: Option<(String, Path)>,
}

/// What tells a task from others of its Cluster.
type Id<'t> = (&'static str, &'t str, What);

/// What of a group is not as it should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum What {
    Version,
    /// Its number of Machines falls, or rises.
    Fewer,
    More,
    /// The group itself is there no more.
    Removed,
    /// A time or a failure domain.
    Own,
    /// The template of a slot.
    Content(&'static str),
}

impl What {
    /// What a controller does to bring it about.
    const fn act(self) -> Act {
        match self {
            Self::Version | Self::Own | Self::Content(_) => Act::Replace,
            Self::Fewer => Act::Fewer,
            Self::More => Act::Make,
            Self::Removed => Act::Delete,
        }
    }
}

impl Task {
    /// What a person calls the group.
    fn who(&self) -> String {
        match self.word {
            "controlPlane" => "the control plane".to_owned(),
            "cluster" => "the infrastructure of the cluster".to_owned(),
            "machinePool" => format!("machine pool {}", self.name),
            _ => format!("worker group {}", self.name),
        }
    }

    fn id(&self) -> Id<'_> {
        (self.word, &self.name, self.what)
    }

    fn new((word, name): (&'static str, &str), what: What, effect: Effect, says: String) -> Self {
        Self { word, name: name.to_owned(), what, effect, says, is_dormant: false, held: None }
    }

    /// Another number of Machines; `None` where it is the one that is wanted.
    fn scales(who: (&'static str, &str), (wanted, have): (u64, u64)) -> Option<Self> {
        let what = if wanted < have { What::Fewer } else { What::More };
        let effect = if wanted == 0 { Effect::Delete } else { Effect::Scale };
        let says = format!("the number of Machines is {have} and {wanted} is wanted");
        (wanted != have).then(|| Self::new(who, what, effect, says))
    }
}

/// What a write to a Cluster or its class lets go in a Cluster.
#[must_use]
pub(crate) fn lifted(stage: &Stage<'_>, key: &Key) -> Vec<Lifted> {
    let [before, after] = Side::both(stage);
    let (Some(old), Some(new)) = (stage.before(key), stage.after(key)) else { return Vec::new() };
    if class_of(key, &old).is_none() || class_of(key, &new).is_none() {
        return Vec::new();
    }
    let claimed = claimed::lifted(stage, key, &new);
    if stop(after, key, &new).is_some() {
        return claimed.into_iter().map(claimed::held).collect();
    }
    let stopped = stop(before, key, &old).map(|stop| stop.told(key, after));
    let hidden = stopped.as_ref().is_some_and(|stop| stop.hides || hides(before, key, &old));
    let written = woken::by(stage, key, &new, class_of(key, &new).as_ref());
    let is_written = written.is_some();
    // Contents are let go only where the controller was stopped, or looks again because of this write: nothing holds a single one.
    let contents = stopped.is_some() || is_written;
    let all = |_: &ClassPart| true;
    let now = tasks(after, key, &new, contents.then_some(&all));
    // Of what was there before nothing is asked but whether it is this, too.
    let wanted: HashSet<Id<'_>> = now.iter().map(Task::id).collect();
    let contents_of = |part: &ClassPart| {
        let (word, name, slot) = part.id();
        wanted.contains(&(word, name.as_str(), What::Content(slot)))
    };
    let was = LazyCell::new(|| {
        let was = tasks(before, key, &old, contents.then_some(&contents_of)).into_iter().rev();
        was.map(|task| ((task.word, task.name.clone(), task.what), task)).collect::<HashMap<_, _>>()
    });
    let mut out = claimed;
    // Where there is no Machine and none is wanted, none is replaced; new ones are made as they should be.
    let is_empty = |task: &Task| {
        let wants = stage.before(&owner(stage, key, &old, task.word, &task.name));
        wants.is_some_and(|owner| number(&owner, "/spec/replicas") == Some(0))
            && machines(stage, key, &old, (task.word, &task.name)) == Some(0)
    };
    let is_felt = |task: &&Task| task.what.act() != Act::Replace || task.word == "cluster" || !is_empty(task);
    let holds = Holds::of(stage, key, (&old, &new));
    for task in now.iter().filter(|task| task.held.is_none()).filter(is_felt) {
        let known = was.get(&(task.word, task.name.clone(), task.what));
        let (why, places) = match (&stopped, known) {
            (Some(stop), known) if known.is_some() || hidden => (stop.over.clone(), stop.places.clone()),
            (None, Some(Task { held: Some((why, path)), .. })) => {
                (why.clone(), vec![(key.clone(), Some(path.clone()))])
            }
            (None, Some(known)) if known.is_dormant => match &written {
                Some((written, who)) => {
                    let why = format!("any write to {who} makes the topology controller look");
                    (why, vec![(written.clone(), None)])
                }
                None => continue,
            },
            _ => continue,
        };
        let hold = holds.hold((task.word, &task.name), task.what.act());
        let hold = hold.filter(|_| matches!(task.effect, Effect::Rollout | Effect::Scale | Effect::Delete));
        let because = format!("{why}, so pending changes of {key} happen too, for {}: {}", task.who(), task.says);
        out.push(Lifted {
            owner: owner(stage, key, &old, task.word, &task.name),
            effect: if hold.is_some() { Effect::Latent } else { task.effect },
            waits: hold.is_some().then_some(task.effect),
            rule: RuleId::of("waiting/topology"),
            because: hold.as_ref().map_or_else(|| because.clone(), |hold| hold.tells(&because)),
            places,
            rollouts: if hold.is_some() {
                Vec::new()
            } else {
                weight(stage, key, (&old, &new), task).into_iter().collect()
            },
        });
    }
    out
}

/// The weight of a task that nothing holds back.
fn weight(stage: &Stage<'_>, key: &Key, (old, new): (&Value, &Value), task: &Task) -> Option<Rollout> {
    let at = (task.word, task.name.as_str());
    match task.effect {
        Effect::Scale => fewer_of(stage, key, old, new, at),
        Effect::Rollout | Effect::Delete | Effect::Unknown if task.word != "cluster" => {
            Some(entry_of(stage, key, (old, new), at, task.effect, &task.says))
        }
        _ => None,
    }
}

/// Everything in a Cluster that is not as the topology wants it, with the contents of what its class makes where these are asked for.
fn tasks(side: Side<'_>, key: &Key, cluster: &Value, contents: Option<&dyn Fn(&ClassPart) -> bool>) -> Vec<Task> {
    let mut out = of_control_plane(side, key, cluster);
    let of_plane = || blocked(side, cluster).or_else(|| turn(side, key, cluster, ("controlPlane", "")));
    let blocks = out.iter().any(|task| task.what == What::Version).then(of_plane).flatten();
    for (lists, word, kind) in
        [("machineDeployments", "machineDeployment", MACHINE_DEPLOYMENT), ("machinePools", "machinePool", MACHINE_POOL)]
    {
        out.extend(of_workers(side, key, cluster, (lists, word, kind)));
    }
    // Workers wait for their control plane.
    for task in out.iter_mut().filter(|task| task.what == What::Version && task.held.is_none()) {
        task.held.clone_from(&blocks);
    }
    let Some((class_key, contents)) = class_of(key, cluster).zip(contents) else { return out };
    let drifts = drifts(side, key, cluster, &class_key, contents);
    out.extend(drifts.into_iter().map(|drift| Task {
        is_dormant: drift.is_edit,
        ..Task::new((drift.word, &drift.name), What::Content(drift.slot), drift.effect, drift.says)
    }));
    // A group whose upgrade waits is left alone altogether.
    let waiting: HashMap<(&str, String), _> = out
        .iter()
        .filter(|task| task.what == What::Version)
        .filter_map(|task| Some(((task.word, task.name.clone()), task.held.clone()?)))
        .collect();
    for task in out.iter_mut().filter(|task| task.held.is_none() && task.what != What::Removed) {
        task.held = waiting.get(&(task.word, task.name.clone())).cloned();
    }
    out
}

/// What holds the upgrade of a group back once the Cluster is written: until it is over, the topology controller writes nothing of the group
/// (`core/reconcilers/topology/cluster/reconcile_state.go` reconcileControlPlane, updateMachineDeployment, updateMachinePool of
/// Cluster API 1.14).
#[must_use]
pub(super) fn upgrade_held(
    stage: &Stage<'_>,
    key: &Key,
    (old, new): (&Value, &Value),
    (word, name): (&str, &str),
    sequence: Option<&Sequence<'_>>,
) -> Option<Hold> {
    let wanted = text(new, "/spec/topology/version")?;
    let is_behind = |word: &str, name: &str| {
        let live = stage.before(&owner(stage, key, old, word, name));
        let at = if word == "controlPlane" { "/spec/version" } else { "/spec/template/spec/version" };
        let have = live.as_deref().map_or_else(|| text(old, "/spec/topology/version"), |live| text(live, at));
        have.is_some_and(|have| have != wanted)
    };
    let own = || sequence.and_then(|groups| groups.deferred(groups.place(name)?));
    let turn = |who| turn(Side::after(stage), key, new, who);
    let of_plane = || blocked(Side::after(stage), new).or_else(|| turn(("controlPlane", "")));
    let held =
        || own().or_else(|| turn((word, name))).or_else(|| is_behind("controlPlane", "").then(of_plane).flatten());
    let (over, path) = is_behind(word, name).then(held)??;
    Some(Hold {
        why: Why::UpgradeHeld,
        says: format!("{key} holds an upgrade back ({path})"),
        places: vec![(key.clone(), Some(path))],
        over,
    })
}

/// Why a Cluster does not start an upgrade: an annotation that stands for a hook before it (`exp/topology/desiredstate/lifecycle_hooks.go`,
/// callBeforeClusterUpgradeHook of Cluster API 1.14).
/// Without the gate nobody asks; where nobody told it, the annotation may have held something back so far, and may hold back nothing
/// from now on.
fn blocked(side: Side<'_>, cluster: &Value) -> Option<(String, Path)> {
    let is_asked = side.stage.told_gate(RUNTIME_SDK).unwrap_or(!side.is_after());
    let pending = annotation(cluster, PENDING_HOOKS).unwrap_or_default();
    if !is_asked || pending.split(',').any(|hook| hook == "AfterClusterUpgrade") {
        return None;
    }
    let annotations = cluster.pointer("/metadata/annotations").and_then(Value::as_object)?;
    let name = annotations.keys().find(|name| name.starts_with(BEFORE_UPGRADE))?;
    Some((format!("nothing blocks the upgrade any more ({name})"), annotation_path(name)))
}

/// What the control plane of a Cluster has still to come to, beside its content.
fn of_control_plane(side: Side<'_>, key: &Key, cluster: &Value) -> Vec<Task> {
    let plane = cluster.pointer("/spec/controlPlaneRef").and_then(|plane| target(plane, key.namespace.as_deref()));
    let Some(plane) = plane.and_then(|plane| side.stage.before(&plane)) else { return Vec::new() };
    let mut out = Vec::new();
    let versions = text(&plane, "/spec/version").zip(text(cluster, "/spec/topology/version"));
    if let Some((have, wanted)) = versions.filter(|(have, wanted)| have != wanted) {
        let says = format!("its version is {have} and {wanted} is wanted");
        out.push(Task::new(("controlPlane", ""), What::Version, Effect::Rollout, says));
    }
    let counts = number(cluster, "/spec/topology/controlPlane/replicas").zip(number(&plane, "/spec/replicas"));
    out.extend(counts.and_then(|counts| Task::scales(("controlPlane", ""), counts)));
    let group = cluster.pointer("/spec/topology/controlPlane").unwrap_or(&Value::Null);
    out.extend(of_own_fields(side, key, cluster, ("controlPlane", "", group), &plane));
    out
}

/// What a time or a failure domain of a group, which replace its Machines by themselves, has still to bring about.
fn of_own_fields(
    side: Side<'_>,
    key: &Key,
    cluster: &Value,
    (word, name, group): (&'static str, &str, &Value),
    live: &Value,
) -> Option<Task> {
    let class = class_of(key, cluster).and_then(|class| side.get(&class)).unwrap_or_default();
    let own = text(group, "/class");
    let mut of_class = list(&class, "/spec/workers/machineDeployments");
    let of_class = of_class.find(|item| own.is_some() && text(item, "/class") == own).unwrap_or(&Value::Null);
    let domain = text(group, "/failureDomain").or_else(|| text(of_class, "/failureDomain"));
    let wanted = json!({"rollout": {"after": text(group, "/rollout/after")}, "failureDomain": domain});
    let have = json!({
        "rollout": {"after": text(live, "/spec/rollout/after")},
        "failureDomain": text(live, "/spec/template/spec/failureDomain"),
    });
    let cause = own_cause(side.stage, key, cluster, (&have, &wanted), word, name)?;
    Some(Task::new((word, name), What::Own, Effect::Rollout, format!("{cause} is not what is in use")))
}

/// What the workers of one kind in a Cluster have still to come to, beside their content.
fn of_workers(
    side: Side<'_>,
    key: &Key,
    cluster: &Value,
    (lists, word, kind): (&'static str, &'static str, &str),
) -> Vec<Task> {
    let stage = side.stage;
    let mut out = Vec::new();
    let version = text(cluster, "/spec/topology/version");
    let sequence = Sequence::of(cluster, lists);
    let groups = &sequence.groups;
    let owners = stage.owners_by_group(key);
    let mut live: Vec<(&str, &Key)> =
        owners.iter().filter(|((of, _), _)| of == kind).map(|((_, name), owner)| (name.as_str(), owner)).collect();
    live.sort();
    for (name, owner) in live {
        let Some(workers) = stage.before(owner).filter(|workers| label(workers, TOPOLOGY_OWNED).is_some()) else {
            continue;
        };
        let Some(place) = sequence.place(name) else {
            if machines(stage, key, cluster, (word, name)) != Some(0) {
                let left = "they left the topology and are deleted".to_owned();
                out.push(Task::new((word, name), What::Removed, Effect::Delete, left));
            }
            continue;
        };
        let versions = text(&workers, "/spec/template/spec/version").zip(version);
        if let Some((have, wanted)) = versions.filter(|(have, wanted)| have != wanted) {
            let says = format!("their version is {have}, and {wanted} is wanted");
            let task = Task::new((word, name), What::Version, Effect::Rollout, says);
            let held = sequence.deferred(place).or_else(|| turn(side, key, cluster, (word, name)));
            out.push(Task { held, ..task });
        }
        let counts = number(groups[place], "/replicas").zip(number(&workers, "/spec/replicas"));
        out.extend(counts.and_then(|counts| Task::scales((word, name), counts)));
        out.extend(of_own_fields(side, key, cluster, (word, name, groups[place]), &workers));
    }
    out
}
