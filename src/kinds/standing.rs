//! A Machine as the loops of its owner see it: whether it is healthy, how old it is, where it stands.

use jiff::Timestamp;
use serde_json::Value;

use super::fields::{annotation, list, text};
use crate::model::Standing;
use crate::object::is_deleting;

/// Annotation of a Machine that is to go first (Cluster API `api/core/v1beta2/machine_types.go` DeleteMachineAnnotation).
const DELETE_FIRST: &str = "cluster.x-k8s.io/delete-machine";

/// A Machine of a control plane.
#[must_use]
pub fn of(name: &str, machine: &Value) -> Standing {
    Standing {
        name: name.to_owned(),
        set: String::new(),
        set_born: 0,
        born: born(machine),
        is_ready: is_ready(machine),
        is_going: is_deleting(machine),
        is_marked: annotation(machine, DELETE_FIRST).is_some(),
        domain: text(machine, "/spec/failureDomain").unwrap_or_default().to_owned(),
    }
}

/// When an object was made, in seconds; 0 where it does not say.
#[must_use]
pub fn born(object: &Value) -> i64 {
    let stamp = text(object, "/metadata/creationTimestamp").and_then(|stamp| stamp.parse::<Timestamp>().ok());
    stamp.map_or(0, Timestamp::as_second)
}

/// Whether a Machine is available, or ready where it knows no more, or runs; one that says nothing at all is taken for healthy.
fn is_ready(machine: &Value) -> bool {
    let said = |kind: &str| {
        let found = list(machine, "/status/conditions").find(|condition| text(condition, "/type") == Some(kind));
        found.map(|condition| text(condition, "/status") == Some("True"))
    };
    let runs = || text(machine, "/status/phase").map(|phase| phase == "Running");
    !is_deleting(machine) && said("Available").or_else(|| said("Ready")).or_else(runs).unwrap_or(true)
}
