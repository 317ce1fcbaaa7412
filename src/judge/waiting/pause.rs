//! Pauses that all owners share: of their Cluster, and by annotation. What an owner says of itself its mirror knows.
//! Read beside `util/paused/paused.go` and `util/annotations/helpers.go` of Cluster API 1.14.

use super::side::Side;
use crate::kinds::contract::{PAUSED, WATCH_FILTER};
use crate::kinds::fields::{annotation, label};
use crate::model::{Action, Hold, Pair, Why};
use crate::object::{Key, Path};
use crate::tree::Value;

/// The annotation that pauses one object, whatever its value.
pub(in crate::judge) const ANNOTATION: &str = PAUSED;

/// Whether an object carries the annotation.
#[must_use]
pub(in crate::judge) fn is_annotated(object: &Value) -> bool {
    annotation(object, ANNOTATION).is_some()
}

/// Whether a Cluster pauses everything in it. Its own annotation pauses only what is done to the Cluster itself.
#[must_use]
pub(in crate::judge) fn is_paused_cluster(cluster: &Value) -> bool {
    cluster.pointer("/spec/paused") == Some(&Value::Bool(true))
}

/// What keeps every controller from an object: its Cluster, or its own annotation.
pub(in crate::judge) fn of_object(side: Side<'_>, key: &Key, object: &Value, cluster: Option<&Key>) -> Vec<Hold> {
    let mut out = Vec::new();
    if let Some(cluster) =
        cluster.filter(|cluster| side.cluster(cluster).is_some_and(|value| is_paused_cluster(&value)))
    {
        out.push(Hold {
            why: Why::Paused,
            places: vec![(cluster.clone(), Some(Path::root().key("spec").key("paused")))],
            says: format!("{cluster} is paused"),
            over: format!("{cluster} is no longer paused"),
        });
    }
    if is_annotated(object) {
        out.push(Hold {
            why: Why::Paused,
            places: vec![(key.clone(), Some(annotation_path(ANNOTATION)))],
            says: "it is paused".to_owned(),
            over: "it is no longer paused".to_owned(),
        });
    }
    out.extend(left_alone(side, key, object));
    out
}

/// What the controllers that look at an object now may have left alone: this write hands it to others (`--watch-filter`, Cluster API
/// `util/predicates/generic_predicates.go`, ResourceHasFilterLabel).
pub(in crate::judge) fn left_alone(side: Side<'_>, key: &Key, object: &Value) -> Option<Hold> {
    let after = if side.is_after() { None } else { Side::after(side.stage).get(key) }?;
    (label(object, WATCH_FILTER) != label(&after, WATCH_FILTER)).then(|| Hold {
        why: Why::Paused,
        places: vec![(key.clone(), Some(filter_path()))],
        says: "other controllers look at it".to_owned(),
        over: "other controllers look at it now (label cluster.x-k8s.io/watch-filter)".to_owned(),
    })
}

/// Whether a write hands its object from some controllers to others.
pub(in crate::judge) fn is_handed_on(pair: &Pair) -> bool {
    let filter = |side: &Option<Value>| side.as_ref().and_then(|value| label(value, WATCH_FILTER).map(str::to_owned));
    pair.action == Action::Update && filter(&pair.live) != filter(&pair.predicted)
}

/// The place of the label that says which controllers look at an object.
#[must_use]
pub(in crate::judge) fn filter_path() -> Path {
    Path::root().key("metadata").key("labels").key(WATCH_FILTER)
}

/// The place of an annotation.
#[must_use]
pub(in crate::judge) fn annotation_path(name: &str) -> Path {
    Path::root().key("metadata").key("annotations").key(name)
}
