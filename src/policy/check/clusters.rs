//! What a policy says of clusters: gates of some of them, how many Machines may go in a day, and which may be asked themselves.

use super::super::read::PolicyFault;
use super::super::{Budget, ClusterGates, GateAnswer, HistoryPlace, Policy, Selector, Workload, duration};
use super::{fault, gates, is_name};
use crate::object::Path;

/// Gates of some clusters: each entry like `gates`.
pub(super) fn per_cluster(list: &Path, policy: &Policy) -> Vec<Result<(), PolicyFault>> {
    let check = |(place, entry): (usize, &ClusterGates)| {
        let at = list.index(place);
        let selector = Selector::parse(&entry.clusters).map(|_| ());
        [
            selector.or_else(|error| fault(&at.key("clusters"), error)),
            gates(&at.key("gates"), &entry.gates),
            of_all(&at.key("gates").key("budget"), &entry.gates.budget, &policy.gates.budget),
        ]
    };
    policy.per_cluster.iter().enumerate().flat_map(check).collect()
}

/// What is counted over a day is counted over all clusters.
fn of_all(at: &Path, entry: &Budget, all: &Budget) -> Result<(), PolicyFault> {
    let days = |budget: &Budget| (budget.per_day, budget.per_cluster_and_day, budget.history.clone());
    let none = days(&Budget::default());
    if days(entry) == none || days(entry) == days(all) {
        return Ok(());
    }
    fault(at, "perDay, perClusterAndDay and history are of all clusters: say them in gates.budget")
}

/// A day is counted from a place that can be read, and that keeps nothing else.
pub(super) fn budget(at: &Path, policy: &Policy) -> Result<(), PolicyFault> {
    let budget = &policy.gates.budget;
    let at = at.key("history");
    match &budget.history {
        None if budget.counts_days() => {
            fault(&at, "say where it is noted what went out: configmap/NAME, configmap/NAMESPACE/NAME, or {file: PATH}")
        }
        None => Ok(()),
        Some(place) => keeps(&at, policy, place, policy.forecasts.keep.as_ref()),
    }
}

/// Forecasts have a place of their own, and what depends on it is said only where there is one.
pub(super) fn forecasts(at: &Path, policy: &Policy) -> Result<(), PolicyFault> {
    let told = &policy.forecasts;
    match &told.keep {
        Some(place) => keeps(&at.key("keep"), policy, place, policy.gates.budget.history.as_ref())?,
        None if told.plan || told.worlds.is_some() => {
            return fault(&at.key("keep"), "say where forecasts are kept: configmap/NAME or {file: PATH}");
        }
        None => {}
    }
    match told.worlds.as_deref() {
        Some("") => fault(&at.key("worlds"), "the folder has no name"),
        _ => Ok(()),
    }
}

/// A place of our own keeps one thing.
fn keeps(at: &Path, policy: &Policy, place: &HistoryPlace, other: Option<&HistoryPlace>) -> Result<(), PolicyFault> {
    let is_taken =
        |name: &str| policy.approvals.from.iter().any(|place| place.to_string() == name) || other == Some(place);
    match place {
        HistoryPlace::Object(text) => match place.config_map() {
            Some((namespace, name)) if is_name(name) && namespace.is_none_or(is_name) => {
                let is_pins = policy.pins.in_cluster().is_some_and(|(_, pins)| pins == name);
                match is_pins || is_taken(&format!("configmap/{name}")) {
                    true => fault(at, format!("{text} keeps something else already; give it a place of its own")),
                    false => Ok(()),
                }
            }
            _ => fault(
                at,
                format!(
                    "{text:?} is no place for it; write configmap/NAME, configmap/NAMESPACE/NAME, or {{file: PATH}}"
                ),
            ),
        },
        HistoryPlace::File(file) if file.file.is_empty() => fault(&at.key("file"), "the file has no name"),
        HistoryPlace::File(file) => {
            match policy.pins.file.as_ref() == Some(&file.file) || is_taken(&place.to_string()) {
                true => fault(&at.key("file"), "it keeps something else already; give it a place of its own"),
                false => Ok(()),
            }
        }
    }
}

/// What is asked of workload clusters: a gate that holds by it needs them to be read.
pub(super) fn workload(root: &Path, policy: &Policy) -> Result<(), PolicyFault> {
    let Workload { read, timeout, clusters } = &policy.workload;
    let at = root.key("workload");
    let entries = (0..policy.per_cluster.len()).map(|place| root.key("perCluster").index(place).key("gates"));
    let gates = std::iter::once(root.key("gates")).chain(entries).zip(policy.all_gates());
    let told = gates
        .flat_map(|(gates, all)| [("vip", all.health.vip), ("pdb", all.health.pdb)].map(|one| (gates.clone(), one)));
    for (gates, (name, told)) in told {
        if told == Some(GateAnswer::Hold) && !read {
            let why = "hold cannot be kept: what this asks stands in the workload cluster alone, where nobody may look; say \
                       workload: {read: true}, or warn or allow here";
            return fault(&gates.key("health").key(name), why);
        }
    }
    match timeout.as_deref().map(duration) {
        Some(Err(error)) => return fault(&at.key("timeout"), error.to_string()),
        Some(Ok(length)) if length.is_zero() => return fault(&at.key("timeout"), "no time at all is too little"),
        _ => {}
    }
    let is_name = |text: &str| {
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '.' | '*');
        !text.is_empty()
            && text.split('/').count() <= 2
            && text.split('/').all(|part| !part.is_empty() && part.chars().all(plain))
    };
    match clusters.iter().position(|text| !is_name(text)) {
        Some(place) => {
            let text = &clusters[place];
            fault(
                &at.key("clusters").index(place),
                format!("{text:?} names no cluster; write it as edge-1, edge-* or fleet/edge-1"),
            )
        }
        None => Ok(()),
    }
}
