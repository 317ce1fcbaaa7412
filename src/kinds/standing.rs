//! A Machine as the loops of its owner see it: whether it is healthy, how old it is, where it stands.

use jiff::Timestamp;

use super::fields::{annotation, list, text};
use crate::model::Standing;
use crate::object::is_deleting;
use crate::tree::Value;

/// Annotation of a Machine that is to go first (Cluster API `api/core/v1beta2/machine_types.go` DeleteMachineAnnotation).
pub(crate) const DELETE_FIRST: &str = "cluster.x-k8s.io/delete-machine";

/// A Machine of a control plane, whose loop asks for conditions of its own; where none of them is told, for what all Machines have.
#[must_use]
pub(crate) fn of_control_plane(name: &str, machine: &Value, preflight: &[&str]) -> Standing {
    let mut out = of(name, machine);
    let told: Vec<&str> = preflight.iter().filter_map(|kind| condition(machine, kind)).collect();
    if !told.is_empty() {
        let has_node = machine.pointer("/status/nodeRef").is_some();
        out.is_ready = !out.is_going && has_node && told.iter().all(|status| *status == "True");
    }
    out
}

/// A Machine.
#[must_use]
pub(crate) fn of(name: &str, machine: &Value) -> Standing {
    Standing {
        name: name.to_owned(),
        set: String::new(),
        set_born: 0,
        born: born(machine),
        is_ready: is_ready(machine),
        is_sick: is_sick(machine),
        is_going: is_deleting(machine),
        is_marked: annotation(machine, DELETE_FIRST).is_some(),
        is_condemned: is_condemned(machine),
        domain: text(machine, "/spec/failureDomain").unwrap_or_default().to_owned(),
    }
}

/// When an object was made, in seconds; 0 where it does not say.
#[must_use]
pub(crate) fn born(object: &Value) -> i64 {
    let stamp = text(object, "/metadata/creationTimestamp").and_then(|stamp| stamp.parse::<Timestamp>().ok());
    stamp.map_or(0, Timestamp::as_second)
}

/// Whether a Machine counts as healthy: nothing ails it, and it does not call itself unavailable.
fn is_ready(machine: &Value) -> bool {
    let said = || condition(machine, "Available").or_else(|| condition(machine, "Ready"));
    trouble(machine).is_none() && said().is_none_or(|status| status == "True")
}

/// Whether a MachineSet gives a Machine up before others; a Node of which nothing is heard does not count (Cluster API 1.14
/// `machineset_deletion_order.go` isMachineHealthy).
fn is_sick(machine: &Value) -> bool {
    let is_told = machine.get("status").and_then(Value::as_object).is_some_and(|status| !status.is_empty());
    let is_false = |kind: &str| condition(machine, kind) == Some("False");
    is_told
        && (machine.pointer("/status/nodeRef").is_none()
            || ["NodeHealthy", "HealthCheckSucceeded"].iter().any(|kind| is_false(kind)))
}

/// Whether a health check handed a Machine to its owner, who deletes it and makes another one (Cluster API 1.14
/// `util/collections/machine_filters.go` IsUnhealthyAndOwnerRemediated).
fn is_condemned(machine: &Value) -> bool {
    ["HealthCheckSucceeded", "OwnerRemediated"].iter().all(|kind| condition(machine, kind) == Some("False"))
}

/// The status of a condition, in whichever list the API version keeps it.
#[must_use]
pub(crate) fn condition<'v>(machine: &'v Value, name: &str) -> Option<&'v str> {
    found(machine, name)?.get("status")?.as_str()
}

/// The message of a condition, where it has one.
#[must_use]
pub(crate) fn message<'v>(machine: &'v Value, name: &str) -> Option<&'v str> {
    found(machine, name)?.get("message")?.as_str()
}

fn found<'v>(machine: &'v Value, name: &str) -> Option<&'v Value> {
    ["/status/conditions", "/status/v1beta2/conditions", "/status/deprecated/v1beta1/conditions"]
        .iter()
        .filter_map(|pointer| machine.pointer(pointer)?.as_array())
        .flatten()
        .find(|condition| condition.get("type").and_then(Value::as_str) == Some(name))
}

/// What is wrong with a Machine, or what nobody says of it, in a few words. `is_told`: whether controllers say something of Machines
/// here, so that one of which they say nothing is not known to be healthy; a dump may leave the states of all of them out.
#[must_use]
pub(crate) fn ailment(machine: &Value, is_told: bool) -> Option<String> {
    let is_silent = is_told && condition(machine, "NodeHealthy").is_none();
    let silence = || is_silent.then(|| format!("{}: nobody says whether its node is healthy", name_of(machine)));
    trouble(machine).or_else(silence)
}

/// Whether controllers say anything of the state of a Machine.
#[must_use]
pub(crate) fn has_conditions(machine: &Value) -> bool {
    list(machine, "/status/conditions").next().is_some()
}

fn name_of(machine: &Value) -> &str {
    text(machine, "/metadata/name").unwrap_or("?")
}

/// What is wrong with a Machine, in a few words.
fn trouble(machine: &Value) -> Option<String> {
    let name = name_of(machine);
    if is_deleting(machine) {
        return Some(format!("{name} is being deleted"));
    }
    // A Machine without any status was never looked at by a controller; that is said by the read, not here.
    machine.get("status").filter(|status| status.as_object().is_some_and(|status| !status.is_empty()))?;
    if text(machine, "/status/phase") == Some("Failed") {
        return Some(format!("{name} has failed"));
    }
    if machine.pointer("/status/nodeRef").is_none() {
        return Some(format!("{name} has no node yet"));
    }
    // A node that nobody hears of is Unknown, and as good as lost.
    ["NodeHealthy", "HealthCheckSucceeded"].into_iter().find_map(|kind| {
        let status = condition(machine, kind).filter(|status| *status != "True")?;
        Some(format!("{name}: {kind} is {status}"))
    })
}
