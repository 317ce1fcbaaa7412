//! Whose turn it is in an upgrade of a topology. A group may defer its own; so many groups of workers are upgraded at once, and one that is
//! paused, or whose Machines go only when somebody deletes them, never comes to an end by itself: those behind it wait, and so does the
//! control plane.
//! Read beside `exp/topology/scope/upgradetracker.go` (UpgradeConcurrencyReached), `exp/topology/desiredstate/desired_state.go`
//! (computeControlPlaneVersion, computeMachineDeploymentVersion) and `internal/topology/check/upgrade.go` of Cluster API 1.14.

use std::sync::Arc;

use super::values::list;
use crate::hashed::{HashMap, HashSet};
use crate::judge::stage::{Stall, Stalled};
use crate::judge::waiting::pause;
use crate::judge::waiting::side::Side;
use crate::kinds::contract::{CORE, MACHINE, MACHINE_DEPLOYMENT, MACHINE_POOL, UPGRADE_CONCURRENCY};
use crate::kinds::fields::{annotation, text};
use crate::kinds::versions::parse;
use crate::object::{Key, Path, is_deleting};
use crate::providers::{machines, typed};
use crate::tree::Value;

/// Annotation of a group that keeps its version as it is.
pub(super) const DEFER: &str = "topology.cluster.x-k8s.io/defer-upgrade";
/// Annotation of a group that keeps its version as it is, and those of the groups behind it too.
pub(super) const HOLD: &str = "topology.cluster.x-k8s.io/hold-upgrade-sequence";

/// What a group of MachineDeployments or the control plane of a Cluster waits for before it gets its version, as a clause with the field that
/// says so; `None` where it gets its turn.
pub(super) fn turn(side: Side<'_>, key: &Key, cluster: &Value, (word, name): (&str, &str)) -> Option<(String, Path)> {
    if word == "machinePool" {
        return turn_of_pool(side, key, cluster, name);
    }
    let raised = raised(side, key, cluster).filter(|_| word == "machineDeployment");
    let stalled = side.stage.stalled(key, side.is_after(), || Arc::new(stalled(side, key)));
    if stalled.is_empty() {
        return None;
    }
    let sequence = Sequence::of(cluster, "machineDeployments");
    let (limit, own) = match (word, sequence.place(name)) {
        // It waits for all workers.
        ("controlPlane", _) => (1, None),
        ("machineDeployment", Some(own)) => (limit(cluster), Some(own)),
        _ => return None,
    };
    let wanted = text(cluster, "/spec/topology/version");
    let is_ahead = |place: usize| own.is_some_and(|own| place < own) && sequence.deferred(place).is_none();
    let mut stuck: Vec<(usize, Stall)> = stalled
        .iter()
        .filter(|group| group.why != Stall::OnTheWay || raised.is_some())
        .filter_map(|group| Some((group, sequence.place(&group.name).filter(|place| own != Some(*place))?)))
        .filter(|(group, place)| is_stuck(group, wanted.filter(|_| is_ahead(*place))))
        .map(|(group, place)| (place, group.why))
        .collect();
    stuck.sort_unstable();
    let (place, why) = *stuck.get(usize::checked_sub(limit, 1)?)?;
    if let Some(raised) = raised.filter(|raised| stuck.len() < *raised) {
        return Some(at_once(raised));
    }
    let path = Path::root().key("spec").key("topology").key("workers").key("machineDeployments").index(place);
    let name = sequence.groups.get(place).and_then(|group| text(group, "/name")).unwrap_or_default();
    Some(match why {
        Stall::Paused => (format!("worker group {name} is no longer paused"), path),
        Stall::ByHand => (
            format!("worker group {name} no longer waits for somebody to delete its Machines (OnDelete)"),
            path.key("rollout").key("strategy"),
        ),
        Stall::OnTheWay => (format!("worker group {name} is upgraded"), path),
    })
}

/// What a pool waits for that has its turn by the write: others that have the version may be on their way still, which only their Nodes
/// tell (`exp/topology/scope/state.go`, MachinePoolsStateMap.Upgrading).
fn turn_of_pool(side: Side<'_>, key: &Key, cluster: &Value, name: &str) -> Option<(String, Path)> {
    let raised = raised(side, key, cluster)?;
    let wanted = text(cluster, "/spec/topology/version");
    let owners = side.stage.owners_by_group(key);
    let others = owners.iter().filter(|((kind, other), owner)| {
        let pool = if kind == MACHINE_POOL && other != name { side.stage.before(owner) } else { None };
        pool.is_some_and(|pool| text(&pool, "/spec/template/spec/version") == wanted)
    });
    (others.count() >= limit(cluster)).then(|| at_once(raised))
}

/// What is over where so many groups may be upgraded at once, and the place that says so.
fn at_once(many: usize) -> (String, Path) {
    let path = Path::root().key("metadata").key("annotations").key(UPGRADE_CONCURRENCY);
    (format!("{many} groups of workers may be upgraded at once"), path)
}

/// How many groups of a kind of a Cluster are upgraded at once.
fn limit(cluster: &Value) -> usize {
    annotation(cluster, UPGRADE_CONCURRENCY).and_then(|many| many.parse().ok()).unwrap_or(1)
}

/// How many are from the write on, where those are more.
fn raised(side: Side<'_>, key: &Key, cluster: &Value) -> Option<usize> {
    let after = if side.is_after() { None } else { side.stage.after(key) };
    after.map(|after| limit(&after)).filter(|after| *after > limit(cluster))
}

/// Whether a group is being upgraded, or will be to the version that is `next`, and does not come to an end by itself.
fn is_stuck(group: &Stalled, next: Option<&str>) -> bool {
    let next = next.filter(|_| group.why != Stall::OnTheWay);
    let have = group.version.as_deref();
    let has_other = |version: Option<&str>| {
        version.is_some() && group.of_machines.iter().any(|machine| machine.as_deref() != version)
    };
    has_other(have) || next.is_some() && have != next && has_other(next)
}

/// The groups of a Cluster for which others may wait.
fn stalled(side: Side<'_>, key: &Key) -> Vec<Stalled> {
    let stage = side.stage;
    let is_raised = stage.before(key).is_some_and(|cluster| raised(side, key, &cluster).is_some());
    let of_group = |((_, name), owner): (&(String, String), &Key)| {
        let (live, now) = (stage.before(owner)?, side.get(owner)?);
        let is_paused = pause::is_annotated(&now) || now.pointer("/spec/paused") == Some(&Value::Bool(true));
        let is_by_hand = text(&now, "/spec/rollout/strategy/type") == Some("OnDelete");
        let why = match (is_paused, is_by_hand) {
            (true, _) => Stall::Paused,
            (false, true) => Stall::ByHand,
            (false, false) => Stall::OnTheWay,
        };
        if is_deleting(&live) || why == Stall::OnTheWay && !is_raised {
            return None;
        }
        let names = machines::names(stage.scene.view, &typed(owner), &key.name, &stage.versions);
        let own = names.into_iter().filter_map(|name| {
            let (group, kind) = (CORE.to_owned(), MACHINE.to_owned());
            stage.before(&Key::of(group, kind, owner.namespace.clone(), name))
        });
        let version = |value: &Value, at| text(value, at).map(str::to_owned);
        let of_machines =
            own.filter(|machine| !is_deleting(machine)).map(|machine| version(&machine, "/spec/version")).collect();
        let version = version(&live, "/spec/template/spec/version");
        Some(Stalled { name: name.clone(), why, version, of_machines })
    };
    let owners = stage.owners_by_group(key);
    owners.iter().filter(|((kind, _), _)| kind == MACHINE_DEPLOYMENT).filter_map(of_group).collect()
}

/// The groups of a list of workers in their order, as an upgrade comes to them.
#[derive(Debug)]
pub(super) struct Sequence<'c> {
    lists: &'static str,
    /// The groups.
    pub(super) groups: Vec<&'c Value>,
    /// The place of each name, the first where it stands twice.
    places: HashMap<&'c str, usize>,
    /// The first group that holds those behind it.
    holder: Option<usize>,
}

/// Whether a group has an annotation.
fn has(group: &Value, name: &str) -> bool {
    group.pointer("/metadata/annotations").is_some_and(|all| all.get(name).is_some())
}

impl<'c> Sequence<'c> {
    /// The groups of one kind (`machineDeployments`) of the topology of a Cluster.
    pub(super) fn of(cluster: &'c Value, lists: &'static str) -> Self {
        let groups: Vec<&Value> = list(cluster, &format!("/spec/topology/workers/{lists}")).collect();
        let mut places = HashMap::default();
        for (place, group) in groups.iter().enumerate() {
            if let Some(name) = text(group, "/name") {
                places.entry(name).or_insert(place);
            }
        }
        let holder = groups.iter().position(|group| has(group, HOLD));
        Self { lists, groups, places, holder }
    }

    /// Where a group stands.
    pub(super) fn place(&self, name: &str) -> Option<usize> {
        self.places.get(name).copied()
    }

    /// Why a group keeps its version: its own annotation, or one of a group before it that holds the sequence.
    pub(super) fn deferred(&self, place: usize) -> Option<(String, Path)> {
        let path = Path::root().key("spec").key("topology").key("workers").key(self.lists);
        let own = [DEFER, HOLD].into_iter().find(|name| has(self.groups[place], name)).map(|name| (place, name));
        let before = self.holder.filter(|holder| *holder < place).map(|holder| (holder, HOLD));
        own.or(before).map(|(place, name)| {
            let at = path.index(place).key("metadata").key("annotations").key(name);
            (format!("nothing defers the upgrade any more ({name})"), at)
        })
    }
}

/// The minor versions to which a group goes one after the other where its topology goes from one version to another: a control plane
/// through each, workers where they would else be more than three behind it (`exp/topology/desiredstate/upgrade_plan.go`,
/// DefaultAndValidateUpgradePlans). Empty where a version is not one.
pub(super) fn rounds(word: &str, (old, new): (Option<String>, Option<String>)) -> Vec<String> {
    let minor = |told: Option<String>| parse(&told?).map(|version| (version.major, version.minor));
    let Some(((major, from), (_, to))) = minor(old).zip(minor(new)).filter(|(old, new)| old.0 == new.0) else {
        return Vec::new();
    };
    let is_a_step = |minor: &u64| word == "controlPlane" || *minor == to || (minor - from).is_multiple_of(3);
    (from + 1..=to).filter(is_a_step).map(|minor| format!("v{major}.{minor}")).collect()
}

/// The groups of workers whose version stays as it is although the topology says another one, by word and name: a group that
/// defers its upgrade, one that holds the sequence, and all behind that.
#[must_use]
pub(super) fn all_deferred(cluster: &Value) -> HashSet<(&'static str, &str)> {
    let mut out = HashSet::default();
    for (lists, word) in [("machineDeployments", "machineDeployment"), ("machinePools", "machinePool")] {
        let mut is_held = false;
        for group in list(cluster, &format!("/spec/topology/workers/{lists}")) {
            is_held |= has(group, HOLD);
            if is_held || has(group, DEFER) {
                out.extend(text(group, "/name").map(|name| (word, name)));
            }
        }
    }
    out
}
