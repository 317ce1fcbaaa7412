//! What the topology controller has still to do in a Cluster, and what keeps it from it: a pause, an annotation that defers
//! an upgrade, a variable that is missing, a class that is not there. A write that ends one of these lets the rest go.
//! Read beside `core/reconcilers/topology/cluster/cluster_controller.go` (Reconcile, reconcile) and
//! `exp/topology/desiredstate/desired_state.go` (isMachineDeploymentDeferred) of Cluster API 1.14.

use std::collections::{HashMap, HashSet};

use serde_json::{Value, json};

use super::blueprint::{Part, Role, class_of, parts};
use super::forecast::{self, drift};
use super::patches;
use super::values::{self, list};
use super::weight::{entry_of, machines, owner};
use crate::judge::stage::Stage;
use crate::judge::waiting::Lifted;
use crate::judge::waiting::pause::{self, annotation_path};
use crate::judge::waiting::side::Side;
use crate::kinds::contract::MACHINE_DEPLOYMENT;
use crate::kinds::fields::label;
use crate::kinds::fields::number;
use crate::kinds::fields::target;
use crate::kinds::fields::text;
use crate::model::Places;
use crate::model::RuleId;
use crate::model::{Action, Effect};
use crate::object::{Key, Path};

/// Annotations of a group that keep its version as it is; the second one holds those behind it, too.
const DEFER: &str = "topology.cluster.x-k8s.io/defer-upgrade";
const HOLD: &str = "topology.cluster.x-k8s.io/hold-upgrade-sequence";

/// Something that is not yet as the topology wants it.
#[derive(Debug, Clone, PartialEq)]
struct Task {
    /// `controlPlane`, `machineDeployment` or `machinePool`.
    word: &'static str,
    /// Name of the group.
    name: String,
    effect: Effect,
    /// What is not as it should be, as a clause.
    says: String,
    /// Whether the controller sees it only when something else makes it look.
    is_dormant: bool,
    /// What keeps it as it is, and the field of the Cluster that says so.
    held: Option<(String, Path)>,
}

/// What a write to a Cluster or its class lets go in a Cluster.
#[must_use]
pub(crate) fn lifted(stage: &Stage<'_>, key: &Key) -> Vec<Lifted> {
    let [before, after] = Side::both(stage);
    let (Some(old), Some(new)) = (stage.before(key), stage.after(key)) else { return Vec::new() };
    if class_of(key, &old).is_none() || class_of(key, &new).is_none() {
        return Vec::new();
    }
    if stop(after, key, &new).is_some() {
        return Vec::new();
    }
    let stopped = stop(before, key, &old);
    let is_written = stage.pair(key).is_some_and(|pair| pair.action == Action::Update && !pair.changes.is_empty());
    let (was, now) = (tasks(before, key, &old), tasks(after, key, &new));
    let mut out = Vec::new();
    for task in now.iter().filter(|task| task.held.is_none()) {
        let Some(known) =
            was.iter().find(|was| (was.word, &was.name, &was.says) == (task.word, &task.name, &task.says))
        else {
            continue;
        };
        let (why, places) = match (&stopped, &known.held) {
            (Some((why, places)), _) => (why.clone(), places.clone()),
            (None, Some((why, path))) => (why.clone(), vec![(key.clone(), Some(path.clone()))]),
            (None, None) if known.is_dormant && is_written => {
                ("any write to the Cluster makes its controller look".to_owned(), vec![(key.clone(), None)])
            }
            (None, None) => continue,
        };
        let who =
            if task.name.is_empty() { "the control plane".to_owned() } else { format!("the workers {}", task.name) };
        out.push(Lifted {
            owner: owner(stage, key, &old, task.word, &task.name),
            effect: task.effect,
            waits: None,
            rule: RuleId::of("waiting/topology"),
            because: format!("{why}, and what waits in {key} comes along: {who}: {}", task.says),
            places,
            rollout: Some(entry_of(stage, key, &old, (task.word, &task.name), task.effect, &task.says))
                .filter(|_| matches!(task.effect, Effect::Rollout | Effect::Delete | Effect::Unknown)),
        });
    }
    out
}

/// What stops the topology controller for a whole Cluster: a clause that tells that it is over, and the places that end it.
fn stop(side: Side<'_>, key: &Key, cluster: &Value) -> Option<(String, Places)> {
    let at = |keys: &[&str]| Some(keys.iter().fold(Path::root(), |path, key| path.key(*key)));
    if pause::is_paused_cluster(cluster) || pause::is_annotated(cluster) {
        let places =
            vec![(key.clone(), at(&["spec", "paused"])), (key.clone(), Some(annotation_path(pause::ANNOTATION)))];
        return Some((format!("{key} is no longer paused"), places));
    }
    let class_key = class_of(key, cluster)?;
    let Some(class) = side.get(&class_key) else {
        return side.is_missing(&class_key).then(|| (format!("{class_key} is there"), vec![(class_key, None)]));
    };
    let is_behind = number(&class, "/metadata/generation").zip(number(&class, "/status/observedGeneration"));
    if pause::is_annotated(&class) && is_behind.is_some_and(|(generation, seen)| generation != seen) {
        let places = vec![(class_key.clone(), Some(annotation_path(pause::ANNOTATION)))];
        return Some((format!("{class_key} is no longer paused"), places));
    }
    let has =
        |name: &str| list(cluster, "/spec/topology/variables").any(|variable| text(variable, "/name") == Some(name));
    let missing = list(&class, "/spec/variables").find(|definition| {
        definition.get("required") == Some(&Value::Bool(true))
            && definition.pointer("/schema/openAPIV3Schema/default").is_none()
            && text(definition, "/name").is_some_and(|name| !has(name))
    });
    if let Some(name) = missing.and_then(|definition| text(definition, "/name")) {
        let places =
            vec![(key.clone(), at(&["spec", "topology", "variables"])), (class_key, at(&["spec", "variables"]))];
        return Some((format!("the required variable {name} is set"), places));
    }
    let gone =
        parts(cluster, &class).into_iter().map(|part| part.key(&class_key)).find(|template| side.is_missing(template));
    gone.map(|template| (format!("{template} is there"), vec![(template, None)]))
}

/// Everything in a Cluster that is not as the topology wants it.
fn tasks(side: Side<'_>, key: &Key, cluster: &Value) -> Vec<Task> {
    let stage = side.stage;
    let mut out = Vec::new();
    let version = text(cluster, "/spec/topology/version");
    let plane = cluster.pointer("/spec/controlPlaneRef").and_then(|plane| target(plane, key.namespace.as_deref()));
    let task = |word, name: &str, effect, says: String| Task {
        word,
        name: name.to_owned(),
        effect,
        says,
        is_dormant: false,
        held: None,
    };
    if let Some(plane) = plane.and_then(|plane| stage.before(&plane)) {
        let have = text(&plane, "/spec/version");
        if have.is_some() && version.is_some() && have != version {
            let says =
                format!("its version is {} and {} is wanted", have.unwrap_or_default(), version.unwrap_or_default());
            out.push(task("controlPlane", "", Effect::Rollout, says));
        }
    }
    let mut live: Vec<(Key, Value)> = Vec::new();
    for owner in stage.owners_of(key).into_iter().filter(|owner| owner.kind == MACHINE_DEPLOYMENT) {
        let value = stage.before(owner).filter(|value| label(value, "topology.cluster.x-k8s.io/owned").is_some());
        live.extend(value.map(|value| (owner.clone(), value)));
    }
    let groups: Vec<&Value> = list(cluster, "/spec/topology/workers/machineDeployments").collect();
    let mut places: HashMap<&str, usize> = HashMap::new();
    for (place, name) in groups.iter().enumerate().filter_map(|(place, group)| Some((place, text(group, "/name")?))) {
        places.entry(name).or_insert(place);
    }
    let name_of = |value: &Value| label(value, "topology.cluster.x-k8s.io/deployment-name").map(str::to_owned);
    for (_, workers) in &live {
        let Some(name) = name_of(workers) else { continue };
        let Some(place) = places.get(name.as_str()).copied() else {
            let left = "they left the topology and are deleted".to_owned();
            if machines(stage, key, cluster, ("machineDeployment", &name)) != Some(0) {
                out.push(task("machineDeployment", &name, Effect::Delete, left));
            }
            continue;
        };
        let have = text(workers, "/spec/template/spec/version");
        if have.is_some() && version.is_some() && have != version {
            let says =
                format!("their version is {} and {} is wanted", have.unwrap_or_default(), version.unwrap_or_default());
            out.push(Task {
                held: deferred(&groups, place),
                ..task("machineDeployment", &name, Effect::Rollout, says)
            });
        }
        let counts = number(groups[place], "/replicas").zip(number(workers, "/spec/replicas"));
        if let Some((wanted, have)) = counts.filter(|(wanted, have)| wanted != have) {
            let effect = if wanted == 0 { Effect::Delete } else { Effect::Scale };
            out.push(task("machineDeployment", &name, effect, format!("they are {have} and {wanted} are wanted")));
        }
    }
    out.extend(contents(side, key, cluster, &live));
    out
}

/// Why a group keeps its version: its own annotation, or one of a group before it that holds the sequence.
fn deferred(groups: &[&Value], place: usize) -> Option<(String, Path)> {
    let has =
        |group: &Value, name: &str| group.pointer("/metadata/annotations").is_some_and(|all| all.get(name).is_some());
    let at = |place: usize, name: &str| {
        Path::root()
            .key("spec")
            .key("topology")
            .key("workers")
            .key("machineDeployments")
            .index(place)
            .key("metadata")
            .key("annotations")
            .key(name)
    };
    let own = [DEFER, HOLD].into_iter().find(|name| has(groups[place], name)).map(|name| (place, name));
    let before = (0..place).find(|place| has(groups[*place], HOLD)).map(|place| (place, HOLD));
    own.or(before).map(|(place, name)| (format!("nothing defers the upgrade any more ({name})"), at(place, name)))
}

/// The groups of workers whose version stays as it is although the topology says another one, by word and name: a group that
/// defers its upgrade, one that holds the sequence, and all behind that.
#[must_use]
pub(super) fn all_deferred(cluster: &Value) -> HashSet<(&'static str, &str)> {
    let mut out = HashSet::new();
    for (lists, word) in [("machineDeployments", "machineDeployment"), ("machinePools", "machinePool")] {
        let mut is_held = false;
        for group in list(cluster, &format!("/spec/topology/workers/{lists}")) {
            let has = |name: &str| group.pointer("/metadata/annotations").is_some_and(|all| all.get(name).is_some());
            is_held |= has(HOLD);
            if is_held || has(DEFER) {
                out.extend(text(group, "/name").map(|name| (word, name)));
            }
        }
    }
    out
}

/// Templates of workers whose content is another one than the class makes of it now: an edit in place that nobody saw yet.
fn contents(side: Side<'_>, key: &Key, cluster: &Value, live: &[(Key, Value)]) -> Vec<Task> {
    let stage = side.stage;
    let Some(class_key) = class_of(key, cluster) else { return Vec::new() };
    let written = |key: &Key| if side.is_after() { stage.written_after(key) } else { stage.written_before(key) };
    let Some(class) = written(&class_key) else { return Vec::new() };
    let global = values::of_cluster(cluster, &class);
    let mut out = Vec::new();
    let mut by_group: HashMap<&str, &(Key, Value)> = HashMap::new();
    for one in live {
        if let Some(name) = label(&one.1, "topology.cluster.x-k8s.io/deployment-name") {
            by_group.entry(name).or_insert(one);
        }
    }
    for part in parts(cluster, &class)
        .into_iter()
        .filter(|part| part.role == Role::Rotated && part.group.word == "machineDeployment")
    {
        let Some((owner, workers)) = by_group.get(part.group.name.as_str()) else { continue };
        let Some(template) = written(&part.key(&class_key)) else { continue };
        // A template that nobody ever edited is as it was when the workers got theirs.
        if number(&template, "/metadata/generation") == Some(1) {
            continue;
        }
        let made = patches::apply(&template, &part, &class, &values::of_group(cluster, &global, &part.group));
        if made.broken.is_some() || !made.opaque.is_empty() {
            continue;
        }
        let Some(have) = used(stage, owner, workers, &part) else { continue };
        if let Some(place) = drift(stage, &part, &made.spec, &have) {
            let kind = text(&part.reference, "/kind").unwrap_or_default();
            out.push(Task {
                word: "machineDeployment",
                name: part.group.name.clone(),
                effect: Effect::Rollout,
                says: format!("{kind} of the class says another thing than the one in use ({place})"),
                is_dormant: true,
                held: None,
            });
        }
    }
    out
}

/// The spec of the template that workers use for a part.
fn used(stage: &Stage<'_>, owner: &Key, workers: &Value, part: &Part) -> Option<Value> {
    let place = if part.slot == "bootstrap" {
        "/spec/template/spec/bootstrap/configRef"
    } else {
        "/spec/template/spec/infrastructureRef"
    };
    let key = target(workers.pointer(place)?, owner.namespace.as_deref())?;
    let template = stage.written_before(&key)?;
    let kind = text(&part.reference, "/kind")?;
    let made = json!({"apiVersion": template.get("apiVersion"), "kind": kind, "spec": template.get("spec")});
    (key.kind == kind).then(|| forecast::normal_of(stage, &made))
}
