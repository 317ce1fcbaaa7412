//! What stops the topology controller for a whole Cluster: a pause, of it or of its class, a variable that is missing, a class or
//! a template that is not there.
//! Read beside `core/reconcilers/topology/cluster/cluster_controller.go` (Reconcile, reconcile) of Cluster API 1.14.

use super::admission::REFUSES;
use super::blueprint::{class_of, templates};
use super::values::list;
use super::variables;
use crate::judge::stage::Stage;
use crate::judge::verdict::Answer;
use crate::judge::waiting::pause::{self, annotation_path};
use crate::judge::waiting::side::Side;
use crate::kinds::fields::{number, text};
use crate::model::{Effect, Hold, Places, RuleId, Why};
use crate::object::{Key, Path};
use crate::tree::Value;

/// What stops the topology controller for a whole Cluster.
pub(super) struct Stop {
    /// What it is, as a clause.
    says: String,
    /// That it is over, as a clause.
    pub(super) over: String,
    /// What ends it.
    pub(super) places: Places,
    /// Whether nobody can tell what waited before: what it is made of was not there.
    pub(super) hides: bool,
}

impl Stop {
    /// As it ended: an object that was missing may have come, or may be named no longer.
    pub(super) fn told(self, cluster: &Key, after: Side<'_>) -> Self {
        let still = self.places.first().filter(|(key, at)| at.is_none() && after.is_missing(key));
        let Some((missing, _)) = still else { return self };
        Self { over: format!("{cluster} no longer needs {missing}, which is not there"), ..self }
    }
}

/// What keeps the topology controller from a Cluster once both sides are written. What a Cluster is made of may be missing only at
/// the end of the write: a controller that looks before that finds it. So that counts where it stopped the controller before, or
/// where one request names what was never there and the Cluster itself stays as it is.
pub(super) fn hold(stage: &Stage<'_>, key: &Key, (old, new): (&Value, &Value)) -> Option<Hold> {
    let [before, after] = Side::both(stage);
    let hold = |Stop { says, over, places, .. }| Hold { why: Why::Paused, places, says, over };
    if let Some(stop) = paused(after, key, new) {
        return Some(hold(stop));
    }
    let stopped_before = |stop: &Stop| lacking(before, key, old).iter().any(|earlier| earlier.over == stop.over);
    let is_new = |stop: &Stop| {
        let mut missing = stop.places.iter().filter(|(_, at)| at.is_none());
        !is_changed(stage, key) && missing.all(|(missing, _)| before.is_missing(missing))
    };
    lacking(after, key, new).into_iter().find(|stop| !stop.hides || stopped_before(stop) || is_new(stop)).map(hold)
}

/// The answer about a class that no longer takes the variables of a Cluster: at each look the topology controller holds the stored values
/// against the class as it is by then, and stops there (DefaultAndValidateVariables). A pause comes before that.
pub(super) fn comes(stage: &Stage<'_>, key: &Key, (old, new): (&Value, &Value)) -> Option<Answer> {
    let [before, after] = Side::both(stage);
    let of = |side: Side<'_>, cluster: &Value| {
        let class_key = class_of(key, cluster)?;
        let class = side.get(&class_key)?;
        of_variables(key, cluster, (&class_key, &class))
    };
    let stop = of(after, new).filter(|_| paused(after, key, new).is_none())?;
    let stopped_before = paused(before, key, old).is_some() || of(before, old).is_some();
    let because = format!(
        "{}: the topology controller stops for it, and no rollout, number, group or health check of it comes any more until the class or the \
         cluster is mended",
        stop.says
    );
    let answer = Answer::known(stage.rules, Effect::Unknown, RuleId::of("class/variables-stop"));
    (!stopped_before).then(|| answer.saying(because))
}

/// Whether the topology controller writes nothing for a Cluster as it is on one side, since something that the Cluster is made of is
/// missing or unfit; after the write as [`hold`] has it.
pub(crate) fn is_stopped(side: Side<'_>, key: &Key, cluster: &Value) -> bool {
    if paused(side, key, cluster).is_some() || !hides(side, key, cluster) {
        return false;
    }
    let is_held = || side.stage.before(key).is_some_and(|old| hold(side.stage, key, (&old, cluster)).is_some());
    !side.is_after() || is_held()
}

/// Whether a template that is not there after the write stops the topology controller for a Cluster all the way: nobody made it
/// before, and where the write names another one than before, the Cluster itself stays as it is.
pub(super) fn stops_for(stage: &Stage<'_>, cluster: &Key, template: &Key, is_named_anew: bool) -> bool {
    let is_missing = Side::both(stage).into_iter().all(|side| side.is_missing(template));
    is_missing && (!is_named_anew || !is_changed(stage, cluster))
}

/// Whether the write changes a Cluster itself.
fn is_changed(stage: &Stage<'_>, cluster: &Key) -> bool {
    stage.pair(cluster).is_some_and(|pair| !pair.changes.is_empty())
}

/// What stops the topology controller for a whole Cluster on one side.
pub(super) fn stop(side: Side<'_>, key: &Key, cluster: &Value) -> Option<Stop> {
    paused(side, key, cluster).or_else(|| lacking(side, key, cluster).into_iter().next())
}

/// Whether nobody can tell what waits on one side, paused or not: what a Cluster is made of is not there.
pub(super) fn hides(side: Side<'_>, key: &Key, cluster: &Value) -> bool {
    lacking(side, key, cluster).iter().any(|stop| stop.hides)
}

/// The place below some keys.
fn at(keys: &[&str]) -> Option<Path> {
    Some(keys.iter().fold(Path::root(), |path, key| path.key(*key)))
}

/// A pause of the Cluster itself, or other controllers that look at it.
fn paused(side: Side<'_>, key: &Key, cluster: &Value) -> Option<Stop> {
    if pause::is_paused_cluster(cluster) || pause::is_annotated(cluster) {
        let places =
            vec![(key.clone(), at(&["spec", "paused"])), (key.clone(), Some(annotation_path(pause::ANNOTATION)))];
        let says = format!("{key} is paused");
        return Some(Stop { says, over: format!("{key} is no longer paused"), places, hides: false });
    }
    let Hold { says, over, places, .. } = pause::left_alone(side, key, cluster)?;
    Some(Stop { says: format!("{key}: {says}"), over: format!("{key}: {over}"), places, hides: false })
}

/// What is not there or not fit, first what the controller looks at first: a class, which may be paused, a variable, a template.
fn lacking(side: Side<'_>, key: &Key, cluster: &Value) -> Vec<Stop> {
    let Some(class_key) = class_of(key, cluster) else { return Vec::new() };
    let Some(class) = side.get(&class_key) else {
        return side.is_missing(&class_key).then(|| arrived(class_key)).into_iter().collect();
    };
    if is_stale(side, key, (&class_key, &class)) {
        return vec![of_class(class_key)];
    }
    let variables = of_variables(key, cluster, (&class_key, &class));
    let missing = templates(&class_key, &class).into_iter().filter(|template| side.is_missing(template));
    variables.into_iter().chain(missing.map(arrived)).collect()
}

/// The stop by variables.
fn of_variables(key: &Key, cluster: &Value, class: (&Key, &Value)) -> Option<Stop> {
    unset(key, cluster, class).or_else(|| unfit(key, cluster, class))
}

/// The stop by a required variable that has no value.
fn unset(key: &Key, cluster: &Value, (class_key, class): (&Key, &Value)) -> Option<Stop> {
    let has =
        |name: &str| list(cluster, "/spec/topology/variables").any(|variable| text(variable, "/name") == Some(name));
    let missing = list(class, "/spec/variables").find(|definition| {
        definition.get("required") == Some(&Value::Bool(true))
            && definition.pointer("/schema/openAPIV3Schema/default").is_none()
            && text(definition, "/name").is_some_and(|name| !has(name))
    });
    let name = text(missing?, "/name")?;
    let places =
        vec![(key.clone(), at(&["spec", "topology", "variables"])), (class_key.clone(), at(&["spec", "variables"]))];
    let says = format!("the required variable {name} is not set");
    Some(Stop { says, over: format!("the required variable {name} is set"), places, hides: true })
}

/// The stop by a variable that its class does not take.
fn unfit(key: &Key, cluster: &Value, (class_key, class): (&Key, &Value)) -> Option<Stop> {
    let mut unfit = Vec::new();
    variables::refusals(cluster, class, &mut unfit);
    let places = vec![(key.clone(), at(&["spec", "topology"])), (class_key.clone(), at(&["spec", "variables"]))];
    let says = unfit.first()?.message.trim_start_matches(REFUSES).to_owned();
    Some(Stop { says, over: format!("the variables of {key} are those of its class"), places, hides: true })
}

/// The stop that ends with the arrival of an object.
fn arrived(missing: Key) -> Stop {
    let says = format!("{missing} is not there");
    Stop { says, over: format!("{missing} is there"), places: vec![(missing, None)], hides: true }
}

/// The stop that ends when a class is no longer paused.
fn of_class(class: Key) -> Stop {
    let says = format!("{class} is paused and has changed");
    let over = format!("{class} is no longer paused");
    Stop { says, over, places: vec![(class, Some(annotation_path(pause::ANNOTATION)))], hides: false }
}

/// Whether a class is paused and its controller has not seen it as it is now: to the topology controller it then is not ready
/// (`core/reconcilers/topology/cluster/cluster_controller.go` reconcile: its generation and `status.observedGeneration`). What the
/// write changes in it counts too, unless the Cluster changes with it, which may be written first. So does a pause that comes in the same
/// request as what changes; one that comes alone stops nothing that was seen before.
fn is_stale(side: Side<'_>, cluster: &Key, (key, class): (&Key, &Value)) -> bool {
    let stage = side.stage;
    let was_paused = || stage.before(key).is_some_and(|class| pause::is_annotated(&class));
    let seen = number(class, "/metadata/generation").zip(number(class, "/status/observedGeneration"));
    let changes = |key: &Key| {
        let pair = stage.pair(key).filter(|_| side.is_after());
        pair.is_some_and(|pair| pair.changes.iter().any(|change| change.path.starts_with(&["spec"])))
    };
    let was_unseen = || seen.is_some_and(|(generation, seen)| generation != seen) && was_paused();
    pause::is_annotated(class) && (was_unseen() || changes(key) && !changes(cluster))
}
