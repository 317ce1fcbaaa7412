//! Mirror of the MachineHealthCheck controller: which Machines of a check it calls unhealthy, and whether it lets them be replaced.
//! Read beside `core/reconcilers/machinehealthcheck/machinehealthcheck_{targets,controller}.go` of Cluster API 1.14
//! (needsRemediation, getTargetsFromMHC, isAllowedRemediation). Nodes are seen through the conditions of their Machines
//! (`core/reconcilers/machine/machine_controller_status.go`), which carry the Node's own state and time.

use jiff::Timestamp;
use serde_json::Value;

use crate::judge::waiting::pause;
use crate::kinds::fields::annotation;
use crate::kinds::fields::label;
use crate::kinds::fields::list;
use crate::kinds::fields::number;
use crate::kinds::fields::text;
use crate::kinds::labels;

/// A Machine that a check calls unhealthy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Ailing {
    /// Name of the Machine.
    pub(super) machine: String,
    /// Why, as a clause.
    pub(super) says: String,
    /// What it depends on, where the Node's own conditions would have to be read.
    pub(super) depends: bool,
}

/// What a check finds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Findings {
    /// Machines that it looks after.
    pub(super) targets: usize,
    /// Those that are unhealthy.
    pub(super) ailing: Vec<Ailing>,
}

/// Machines that are annotated for it are replaced whatever their state.
pub(super) const REMEDIATE: &str = "cluster.x-k8s.io/remediate-machine";
/// Machines that are annotated for it are left alone.
pub(super) const SKIP: &str = "cluster.x-k8s.io/skip-remediation";

/// Seconds that a Machine has for its Node to appear, unless the check says another number; 0 is no limit.
const STARTUP: u64 = 600;

/// What a check finds among the Machines of its cluster.
#[must_use]
pub(super) fn findings(check: &Value, machines: &[Value], cluster: Option<&Value>, now: Timestamp) -> Findings {
    let mut out = Findings::default();
    for machine in machines.iter().filter(|machine| selects(check, machine)) {
        if pause::is_annotated(machine) || annotation(machine, SKIP).is_some() {
            continue;
        }
        out.targets += 1;
        if let Some((says, depends)) = ailment(check, machine, cluster, now) {
            let machine = text(machine, "/metadata/name").unwrap_or_default().to_owned();
            out.ailing.push(Ailing { machine, says, depends });
        }
    }
    out
}

/// Whether a check selects a Machine: by its cluster and its selector.
fn selects(check: &Value, machine: &Value) -> bool {
    let cluster = text(check, "/spec/clusterName");
    let selector = check.pointer("/spec/selector").unwrap_or(&Value::Null);
    cluster.is_none_or(|cluster| label(machine, "cluster.x-k8s.io/cluster-name") == Some(cluster))
        && labels::selects(selector, |key| label(machine, key)) == Some(true)
}

/// What a check finds wrong with a Machine, and whether that depends on what its Node says.
fn ailment(check: &Value, machine: &Value, cluster: Option<&Value>, now: Timestamp) -> Option<(String, bool)> {
    if annotation(machine, REMEDIATE).is_some() {
        return Some((format!("it is annotated with {REMEDIATE}"), false));
    }
    let is_control_plane = label(machine, "cluster.x-k8s.io/control-plane").is_some();
    let says_no = |name: &str| {
        cluster.is_some_and(|cluster| condition(cluster, name).is_some_and(|found| found.status != "True"))
    };
    if says_no("InfrastructureReady") || (says_no("ControlPlaneInitialized") && !is_control_plane) {
        return None;
    }
    machine_conditions(check, machine).map(|says| (says, false)).or_else(|| node(check, machine, cluster, now))
}

/// A condition of the Machine itself that the check calls unhealthy.
fn machine_conditions(check: &Value, machine: &Value) -> Option<String> {
    list(check, "/spec/checks/unhealthyMachineConditions").find_map(|wanted| {
        let (name, status) = (text(wanted, "/type")?, text(wanted, "/status")?);
        let found = condition(machine, name).filter(|found| found.status == status)?;
        Some(format!("its condition {name} is {status}{}", found.since()))
    })
}

/// What is wrong with the Node of a Machine, as far as the Machine tells it.
fn node(check: &Value, machine: &Value, cluster: Option<&Value>, now: Timestamp) -> Option<(String, bool)> {
    if machine.pointer("/status/nodeRef/name").is_none() {
        return late(check, machine, cluster, now).map(|says| (says, false));
    }
    let healthy = condition(machine, "NodeHealthy");
    if healthy.as_ref().is_some_and(|found| matches!(found.reason, "NodeDeleted" | "NodeNotFound")) {
        return Some(("its Node is gone".to_owned(), false));
    }
    list(check, "/spec/checks/unhealthyNodeConditions").find_map(|wanted| {
        let (name, status) = (text(wanted, "/type")?, text(wanted, "/status")?);
        node_condition(machine, name, status)
    })
}

/// Whether a Node may have a condition: its readiness is told by the Machine word for word, pressures in one condition.
fn node_condition(machine: &Value, name: &str, status: &str) -> Option<(String, bool)> {
    let depends =
        || Some((format!("whether the condition {name} of its Node is {status} is not seen from here"), true));
    let healthy = condition(machine, "NodeHealthy");
    if name == "Ready" {
        if let Some(ready) = condition(machine, "NodeReady") {
            return (ready.status == status)
                .then(|| (format!("its Node's condition Ready is {status}{}", ready.since()), false));
        }
        // Up to 1.8 a Machine has one condition for the whole Node.
        return match healthy {
            Some(found) if (found.status == "True") == (status == "True") && found.status != "Unknown" => Some((
                format!("its condition NodeHealthy is {}{}", found.status, found.since()),
                found.status != "True",
            )),
            Some(found) if found.status == status => {
                Some((format!("its condition NodeHealthy is {status}{}", found.since()), false))
            }
            Some(_) => None,
            None => depends(),
        };
    }
    if matches!(name, "MemoryPressure" | "DiskPressure" | "PIDPressure") {
        let is_pressed = status != "False";
        return match healthy {
            Some(found) if found.status == "True" => {
                (!is_pressed).then(|| (format!("its Node's condition {name} is False"), false))
            }
            _ => depends(),
        };
    }
    depends()
}

/// A Machine whose Node did not appear in time.
fn late(check: &Value, machine: &Value, cluster: Option<&Value>, now: Timestamp) -> Option<String> {
    let seconds = number(check, "/spec/checks/nodeStartupTimeoutSeconds").unwrap_or(STARTUP);
    if seconds == 0 {
        return None;
    }
    let stamp = |text: Option<&str>| text.and_then(|text| text.parse::<Timestamp>().ok());
    let reached = |object: Option<&Value>, name: &str| {
        let found = object.and_then(|object| condition(object, name)).filter(|found| found.status == "True")?;
        stamp(found.at)
    };
    let times = [
        stamp(text(machine, "/metadata/creationTimestamp")),
        reached(cluster, "ControlPlaneInitialized"),
        reached(cluster, "InfrastructureReady"),
        reached(Some(machine), "InfrastructureReady"),
    ];
    let from = times.into_iter().flatten().max()?;
    let waited = now.as_second().saturating_sub(from.as_second());
    (waited > i64::try_from(seconds).unwrap_or(i64::MAX))
        .then(|| format!("it has no Node after {waited} seconds, and {seconds} are allowed"))
}

/// Whether a check lets so many unhealthy Machines be replaced (isAllowedRemediation).
#[must_use]
pub(super) fn is_allowed(check: &Value, found: &Findings) -> bool {
    let (total, ailing) = (found.targets as u64, found.ailing.len() as u64);
    let trigger = check.pointer("/spec/remediation/triggerIf").unwrap_or(&Value::Null);
    if let Some(range) = text(trigger, "/unhealthyInRange") {
        let bounds = range.trim_start_matches('[').trim_end_matches(']').split_once('-');
        let bounds = bounds.and_then(|(least, most)| Some((least.parse::<u64>().ok()?, most.parse::<u64>().ok()?)));
        return bounds.is_some_and(|(least, most)| (least..=most).contains(&ailing));
    }
    let most = match trigger.get("unhealthyLessThanOrEqualTo") {
        None | Some(Value::Null) => total,
        Some(value) => scaled(value, total, false).unwrap_or(0),
    };
    ailing <= most
}

/// A number, or a percentage of so many.
#[must_use]
pub(super) fn scaled(value: &Value, of: u64, up: bool) -> Option<u64> {
    if let Some(number) = value.as_u64() {
        return Some(number);
    }
    let text = value.as_str()?;
    match text.strip_suffix('%') {
        Some(percent) => {
            let share = of.checked_mul(percent.parse::<u64>().ok()?)?;
            Some(if up { share.div_ceil(100) } else { share / 100 })
        }
        None => text.parse().ok(),
    }
}

/// A condition as an object tells it.
pub(super) struct Condition<'v> {
    status: &'v str,
    reason: &'v str,
    at: Option<&'v str>,
}

impl Condition<'_> {
    /// Since when, where it is told.
    fn since(&self) -> String {
        self.at.map(|at| format!(" since {at}")).unwrap_or_default()
    }
}

/// A condition of an object, in whichever list its API version keeps it.
fn condition<'v>(object: &'v Value, name: &str) -> Option<Condition<'v>> {
    let lists = ["/status/conditions", "/status/v1beta2/conditions", "/status/deprecated/v1beta1/conditions"];
    let found = lists
        .iter()
        .filter_map(|pointer| object.pointer(pointer)?.as_array())
        .flatten()
        .find(|condition| text(condition, "/type") == Some(name))?;
    Some(Condition {
        status: text(found, "/status")?,
        reason: text(found, "/reason").unwrap_or_default(),
        at: text(found, "/lastTransitionTime"),
    })
}
