//! Mirror of the MachineHealthCheck controller: which Machines of a check it calls unhealthy, and whether it lets them be replaced.
//! Read beside `core/reconcilers/machinehealthcheck/machinehealthcheck_{targets,controller}.go` of Cluster API 1.14
//! (needsRemediation, getTargetsFromMHC, isAllowedRemediation). Nodes are seen through the conditions of their Machines
//! (`core/reconcilers/machine/machine_controller_status.go`), which carry the Node's own state and time.

use jiff::{SignedDuration, Timestamp};

use crate::judge::waiting::pause;
use crate::kinds::Versions;
use crate::kinds::fields::annotation;
use crate::kinds::fields::label;
use crate::kinds::fields::list;
use crate::kinds::fields::number;
use crate::kinds::fields::scaled;
use crate::kinds::fields::text;
use crate::kinds::labels;
use crate::object::is_deleting;
use crate::providers::core::changes::V1BETA2;
use crate::tree::Value;

/// A Machine that a check calls unhealthy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Ailing {
    /// Name of the Machine.
    pub(super) machine: String,
    /// Why, as a clause.
    pub(super) says: String,
    /// What it depends on, where the Node's own conditions would have to be read.
    pub(super) depends: bool,
    /// Whether somebody told to replace it, and not its state.
    pub(super) is_told: bool,
    /// When it has lasted long enough, where that is still to come.
    pub(super) due: Option<Timestamp>,
}

/// What a check finds wrong with one Machine.
struct Ailment {
    says: String,
    depends: bool,
    due: Option<Timestamp>,
}

impl Ailment {
    /// One that counts at once.
    fn now(says: String) -> Self {
        Self { says, depends: false, due: None }
    }

    /// One that is not seen from here.
    fn unseen(name: &str, status: &str) -> Self {
        let says = format!("whether the condition {name} of its Node is {status} is not seen from here");
        Self { says, depends: true, due: None }
    }

    /// This ailment as one of a state that counts only after `timeoutSeconds`, counted from `since`.
    fn lasting(mut self, wanted: &Value, since: Option<&str>, now: Timestamp) -> Self {
        let seconds = number(wanted, "/timeoutSeconds").unwrap_or(0);
        self.due =
            since.and_then(|since| since.parse().ok()).and_then(|since| after(since, seconds)).filter(|due| *due > now);
        self
    }
}

/// So many seconds later.
fn after(from: Timestamp, seconds: u64) -> Option<Timestamp> {
    from.checked_add(SignedDuration::from_secs(i64::try_from(seconds).ok()?)).ok()
}

/// What a check finds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Findings {
    /// Machines that it looks after.
    pub(super) targets: usize,
    /// Those that come beside them.
    pub(super) coming: usize,
    /// Those of them that are neither well nor unhealthy yet: they start, go or have time left. They count as unhealthy where it has a
    /// limit.
    pub(super) others: usize,
    /// Those that are unhealthy.
    pub(super) ailing: Vec<Ailing>,
}

/// Machines that are annotated for it are replaced whatever their state.
pub(super) const REMEDIATE: &str = "cluster.x-k8s.io/remediate-machine";
/// Machines that are annotated for it are left alone.
pub(super) const SKIP: &str = "cluster.x-k8s.io/skip-remediation";

/// The condition by which a check tells the owner of a Machine to replace it.
pub(super) const MARK: &str = "OwnerRemediated";

/// Seconds that a Machine has for its Node to appear, unless the check says another number; 0 is no limit.
const STARTUP: u64 = 600;

/// What a check finds among the Machines of its cluster.
#[must_use]
pub(super) fn findings(
    check: &Value,
    machines: &[Value],
    cluster: Option<&Value>,
    now: Timestamp,
    versions: &Versions,
) -> Findings {
    let mut out = Findings::default();
    for machine in machines.iter().filter(|machine| selects(check, machine)) {
        if pause::is_annotated(machine) || annotation(machine, SKIP).is_some() {
            continue;
        }
        out.targets += 1;
        if let Some(Ailment { says, depends, due }) = ailment(check, machine, cluster, now, versions) {
            let is_told = annotation(machine, REMEDIATE).is_some();
            let machine = text(machine, "/metadata/name").unwrap_or_default().to_owned();
            out.ailing.push(Ailing { machine, says, depends, is_told, due });
        } else if is_deleting(machine) || is_without_node(machine) {
            out.others += 1;
        }
    }
    out
}

/// Whether a Machine says of itself that it has no Node; one that was read without its status says nothing.
fn is_without_node(machine: &Value) -> bool {
    machine.get("status").is_some() && machine.pointer("/status/nodeRef/name").is_none()
}

/// Whether the owner of a Machine is told to replace it, by a check that found it unhealthy: nothing but a check that finds it well takes
/// that back (`util/collections/machine_filters.go` IsUnhealthyAndOwnerRemediated).
pub(super) fn is_marked(machine: &Value) -> bool {
    let is_false = |name: &str| condition(machine, name).is_some_and(|found| found.status == "False");
    is_false("HealthCheckSucceeded") && is_false(MARK) && !is_deleting(machine)
}

/// Whether a check looks after a Machine and finds it well.
pub(super) fn finds_well(check: &Value, found: &Findings, machine: &Value) -> bool {
    let name = text(machine, "/metadata/name").unwrap_or_default();
    selects(check, machine)
        && !pause::is_annotated(machine)
        && annotation(machine, SKIP).is_none()
        && found.ailing.iter().all(|ailing| ailing.machine != name)
        && !is_without_node(machine)
}

/// Whether a check selects a Machine: by its cluster and its selector.
pub(super) fn selects(check: &Value, machine: &Value) -> bool {
    let cluster = text(check, "/spec/clusterName");
    let selector = check.pointer("/spec/selector").unwrap_or(&Value::Null);
    cluster.is_none_or(|cluster| label(machine, "cluster.x-k8s.io/cluster-name") == Some(cluster))
        && labels::selects(selector, |key| label(machine, key)) == Some(true)
}

/// What a check finds wrong with a Machine: what counts at once before what is not seen, and that before what is to come.
fn ailment(
    check: &Value,
    machine: &Value,
    cluster: Option<&Value>,
    now: Timestamp,
    versions: &Versions,
) -> Option<Ailment> {
    if annotation(machine, REMEDIATE).is_some() {
        return Some(Ailment::now(format!("it is annotated with {REMEDIATE}")));
    }
    let failed = ["failureReason", "failureMessage"].into_iter().find(|key| failure(machine, key).is_some());
    if let Some(key) = failed.filter(|_| !versions.has(&V1BETA2)) {
        return Some(Ailment::now(format!("its status has a {key}")));
    }
    let is_control_plane = label(machine, "cluster.x-k8s.io/control-plane").is_some();
    let says_no = |name: &str| {
        cluster.is_some_and(|cluster| condition(cluster, name).is_some_and(|found| found.status != "True"))
    };
    if says_no("InfrastructureReady") || (says_no("ControlPlaneInitialized") && !is_control_plane) {
        return None;
    }
    let mut all = machine_conditions(check, machine, now);
    all.extend(node(check, machine, cluster, now));
    all.into_iter().min_by_key(|ailment| (ailment.due, ailment.depends))
}

/// What the status of a Machine calls its failure, in whichever place its API version keeps it. Up to 1.10 such a Machine is unhealthy.
fn failure<'m>(machine: &'m Value, key: &str) -> Option<&'m str> {
    let block = ["/status", "/status/deprecated/v1beta1"].into_iter().filter_map(|place| machine.pointer(place));
    block.filter_map(|block| block.get(key)?.as_str()).next()
}

/// The conditions of the Machine itself that the check calls unhealthy.
fn machine_conditions(check: &Value, machine: &Value, now: Timestamp) -> Vec<Ailment> {
    let wanted = list(check, "/spec/checks/unhealthyMachineConditions");
    let found = wanted.filter_map(|wanted| {
        let (name, status) = (text(wanted, "/type")?, text(wanted, "/status")?);
        let found = condition(machine, name).filter(|found| found.status == status)?;
        let says = format!("its condition {name} is {status}{}", found.since());
        Some(Ailment::now(says).lasting(wanted, found.at, now))
    });
    found.collect()
}

/// What is wrong with the Node of a Machine, as far as the Machine tells it.
fn node(check: &Value, machine: &Value, cluster: Option<&Value>, now: Timestamp) -> Vec<Ailment> {
    if machine.pointer("/status/nodeRef/name").is_none() {
        return late(check, machine, cluster, now).into_iter().collect();
    }
    let healthy = condition(machine, "NodeHealthy");
    if healthy.as_ref().is_some_and(|found| matches!(found.reason, "NodeDeleted" | "NodeNotFound")) {
        return vec![Ailment::now("its Node is gone".to_owned())];
    }
    let found = list(check, "/spec/checks/unhealthyNodeConditions").filter_map(|wanted| {
        let (name, status) = (text(wanted, "/type")?, text(wanted, "/status")?);
        let (ailment, since) = node_condition(machine, name, status)?;
        Some(ailment.lasting(wanted, since, now))
    });
    found.collect()
}

/// Whether a Node may have a condition, and since when: its readiness is told by the Machine word for word, pressures in one
/// condition.
fn node_condition<'m>(machine: &'m Value, name: &str, status: &str) -> Option<(Ailment, Option<&'m str>)> {
    let unseen = || Some((Ailment::unseen(name, status), None));
    let healthy = condition(machine, "NodeHealthy");
    if name == "Ready" {
        if let Some(ready) = condition(machine, "NodeReady") {
            let says = format!("its Node's condition Ready is {status}{}", ready.since());
            return (ready.status == status).then(|| (Ailment::now(says), ready.at));
        }
        // Up to 1.8 a Machine has one condition for the whole Node.
        return match healthy {
            Some(found) if (found.status == "True") == (status == "True") && found.status != "Unknown" => {
                let says = format!("its condition NodeHealthy is {}{}", found.status, found.since());
                Some((Ailment { depends: found.status != "True", ..Ailment::now(says) }, found.at))
            }
            Some(found) if found.status == status => {
                Some((Ailment::now(format!("its condition NodeHealthy is {status}{}", found.since())), found.at))
            }
            Some(_) => None,
            None => unseen(),
        };
    }
    if matches!(name, "MemoryPressure" | "DiskPressure" | "PIDPressure") {
        let is_pressed = status != "False";
        return match healthy {
            Some(found) if found.status == "True" => {
                (!is_pressed).then(|| (Ailment::now(format!("its Node's condition {name} is False")), found.at))
            }
            _ => unseen(),
        };
    }
    unseen()
}

/// A Machine whose Node did not appear in time, or would not.
fn late(check: &Value, machine: &Value, cluster: Option<&Value>, now: Timestamp) -> Option<Ailment> {
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
    let says = format!("it has had no Node since {from}, and {seconds} seconds are allowed");
    Some(Ailment { due: after(from, seconds).filter(|due| *due >= now), ..Ailment::now(says) })
}

impl Findings {
    /// How many Machines are unhealthy whatever becomes of those that start, go or have time left.
    pub(super) fn unhealthy(&self) -> usize {
        self.ailing.iter().filter(|ailing| ailing.due.is_none()).count()
    }

    /// How many Machines its limit is about (`status.expectedMachines`).
    pub(super) const fn expected(&self) -> usize {
        self.targets.saturating_add(self.coming)
    }

    /// How many Machines are not well, as the controller counts: all but those that it found well (unhealthyMachineCount).
    pub(super) const fn not_well(&self) -> usize {
        self.ailing.len() + self.others
    }
}

/// Whether a check lets Machines be replaced where so many of its Machines are unhealthy (isAllowedRemediation).
#[must_use]
pub(super) fn is_allowed(check: &Value, targets: usize, ailing: usize) -> bool {
    let (total, ailing) = (targets as u64, ailing as u64);
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

/// A condition as an object tells it.
pub(super) struct Condition<'v> {
    pub(super) status: &'v str,
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
pub(super) fn condition<'v>(object: &'v Value, name: &str) -> Option<Condition<'v>> {
    // A Machine that is read through v1beta1 has the old list, in which some names mean something else, where the new one has it.
    let lists = ["/status/v1beta2/conditions", "/status/conditions", "/status/deprecated/v1beta1/conditions"];
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
