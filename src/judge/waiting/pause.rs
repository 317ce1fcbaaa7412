//! Pauses: of a Cluster, of an owner by annotation, of a MachineDeployment's rollouts, and the strategy OnDelete.
//! Read beside `util/paused/paused.go`, `util/annotations/helpers.go` and `core/reconcilers/machinedeployment` of Cluster
//! API 1.14, and `controlplane/internal/controllers/rke2controlplane_controller.go` of cluster-api-provider-rke2 0.21.

use serde_json::Value;

use super::hold::{Hold, Why};
use super::side::Side;
use crate::judge::owner::Mirror;
use crate::kinds::machines::annotation;
use crate::object::{Key, Path};
use crate::providers::core::machine_deployment;

/// The annotation that pauses one object, whatever its value.
pub(in crate::judge) const ANNOTATION: &str = "cluster.x-k8s.io/paused";

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
    out
}

/// What keeps the Machines of an owner as they are by its own strategy.
pub(super) fn of_strategy(key: &Key, mirror: Mirror, owner: &Value) -> Vec<Hold> {
    let mut out = Vec::new();
    if mirror == Mirror::Rke2 {
        out.extend(without_strategy(key, owner));
    }
    if mirror != Mirror::Workers {
        return out;
    }
    if owner.pointer("/spec/paused") == Some(&Value::Bool(true)) {
        out.push(Hold {
            why: Why::RolloutPaused,
            places: vec![(key.clone(), Some(Path::root().key("spec").key("paused")))],
            says: "it is paused".to_owned(),
            over: "it is no longer paused".to_owned(),
        });
    }
    if machine_deployment::is_on_delete(owner) {
        out.push(Hold {
            why: Why::OnDelete,
            places: vec![(key.clone(), Some(Path::root().key("spec").key("rollout").key("strategy").key("type")))],
            says: "the strategy is OnDelete".to_owned(),
            over: "the strategy is no longer OnDelete or somebody deletes a Machine".to_owned(),
        });
    }
    out
}

/// An RKE2 control plane whose strategy has no type: nothing fills it in, and its controller replaces nothing
/// (`rke2controlplane_controller.go` upgradeControlPlane).
fn without_strategy(key: &Key, owner: &Value) -> Option<Hold> {
    let strategy = owner.pointer("/spec/rolloutStrategy")?;
    let is_known = strategy.get("type").and_then(Value::as_str).is_some_and(|told| !told.is_empty());
    (!is_known).then(|| Hold {
        why: Why::NoStrategy,
        places: vec![(key.clone(), Some(Path::root().key("spec").key("rolloutStrategy").key("type")))],
        says: "its rollout strategy has no type, so its controller replaces nothing".to_owned(),
        over: "the rollout strategy has a type".to_owned(),
    })
}

/// The place of an annotation.
#[must_use]
pub(in crate::judge) fn annotation_path(name: &str) -> Path {
    Path::root().key("metadata").key("annotations").key(name)
}
