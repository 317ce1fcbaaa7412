//! The budget: how many Machines one run may replace or take away, of all clusters and of each; and how many all runs of a day, as far
//! as the history says what went out before.

use std::collections::BTreeMap;

use super::Judged;
use crate::approval::ReleaseId;
use crate::compare::Pair;
use crate::hashed::HashSet;
use crate::history::{Limits, OfCluster, Over, Spent};
use crate::impact::counted;
use crate::kinds::{Role, contract};
use crate::model::Reason;
use crate::model::{Decision, Effect};
use crate::object::{Inventory, Key};
use crate::policy::{HistoryPlace, Policy, Profile};
use crate::providers::kind;
use crate::report::{self, plural};

/// What is to be noted when it goes out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spending {
    /// The entry.
    pub entry: Spent,
    /// The limits that it went over when it was judged, which was let through; `None` where no limit holds anything.
    pub judged: Option<Vec<Over>>,
}

/// Machines that go, as far as they are counted, and owners of which nobody can say how many.
#[derive(Debug, Clone, Copy, Default)]
struct Count {
    known: u64,
    unknown: usize,
}

impl Count {
    fn add(&mut self, machines: Option<u64>) {
        match machines {
            Some(machines) => self.known = self.known.saturating_add(machines),
            None => self.unknown += 1,
        }
    }

    const fn all(self) -> Option<u64> {
        if self.unknown == 0 { Some(self.known) } else { None }
    }
}

/// A hold when more Machines go than the policy allows, or when their number is not known.
pub(super) fn reasons(judged: &Judged<'_>) -> Vec<Reason> {
    let clusters = clusters(judged);
    let mut reasons = run(judged, &clusters);
    reasons.extend(each(judged, &clusters));
    reasons
}

/// A hold when more Machines go in 24 hours than the policy allows. Asked once of the whole write, whatever gates its clusters have of
/// their own.
pub(super) fn days(judged: &Judged<'_>) -> Vec<Reason> {
    day(judged, &clusters(judged))
}

/// What goes, cluster by cluster.
fn clusters(judged: &Judged<'_>) -> BTreeMap<(Option<String>, String), Count> {
    let weights = &judged.classified.rollouts;
    let mut clusters: BTreeMap<(Option<String>, String), Count> = BTreeMap::new();
    for rollout in counted(weights) {
        let name = (rollout.owner.namespace.clone(), rollout.cluster.clone());
        clusters.entry(name).or_default().add(rollout.machines);
    }
    // A topology's groups are weighed as the owners that they become.
    let owners: HashSet<&Key> = weights.iter().map(|rollout| &rollout.owner).collect();
    let is_weighed = |pair: &Pair| kind(&pair.key).role == Role::Cluster || owners.contains(&pair.key);
    for pair in judged.pairs.iter().filter(|pair| !is_weighed(pair)) {
        let machines = scaled_in(pair);
        if machines > 0 {
            let name = (pair.key.namespace.clone(), report::cluster(pair).unwrap_or_default());
            clusters.entry(name).or_default().add(Some(machines));
        }
    }
    clusters
}

/// `maxMachines`: of all clusters in one run.
fn run(judged: &Judged<'_>, clusters: &BTreeMap<(Option<String>, String), Count>) -> Vec<Reason> {
    let Some(limit) = judged.policy.gates.max_machines else { return Vec::new() };
    let known = clusters.values().map(|count| count.known).sum::<u64>();
    let unknown = clusters.values().map(|count| count.unknown).sum::<usize>();
    if known <= limit && unknown == 0 {
        return Vec::new();
    }
    let more = if unknown > 0 { format!(", and {unknown} of unknown size") } else { String::new() };
    let message = format!("{} would be replaced or removed{more}; the policy allows {limit}", plural(known, "Machine"));
    let next = "split the change, or raise gates.maxMachines in the policy".to_owned();
    vec![Reason::new("maxMachines", Decision::Hold, message).with_remedy(next).with_machines(Some(known))]
}

/// `budget.perCluster`: of each cluster in one run.
fn each(judged: &Judged<'_>, clusters: &BTreeMap<(Option<String>, String), Count>) -> Vec<Reason> {
    let Some(limit) = judged.policy.gates.budget.per_cluster else { return Vec::new() };
    let too_many = clusters.iter().filter(|(_, count)| count.known > limit || count.unknown > 0);
    let reasons = too_many.map(|((namespace, name), count)| {
        let place = namespace.as_ref().map_or_else(String::new, |namespace| format!("{namespace}/"));
        let more = if count.unknown > 0 { format!(", and {} of unknown size", count.unknown) } else { String::new() };
        let message = format!(
            "{} of {place}{name} would be replaced or removed{more}; the policy allows {limit} of a cluster",
            plural(count.known, "Machine")
        );
        let next = "split the change, or raise gates.budget.perCluster in the policy".to_owned();
        let about = contract::cluster(namespace.as_deref(), name);
        Reason::new("budget.perCluster", Decision::Hold, message)
            .with_remedy(next)
            .of(&about)
            .with_machines(Some(count.known))
    });
    reasons.collect()
}

/// The limits of a day.
#[must_use]
pub(crate) const fn limits(policy: &Policy) -> Limits {
    let budget = &policy.gates.budget;
    Limits { per_day: budget.per_day, per_cluster: budget.per_cluster_and_day }
}

/// `budget.perDay` and `budget.perClusterAndDay`: with what went out in the last 24 hours.
fn day(judged: &Judged<'_>, clusters: &BTreeMap<(Option<String>, String), Count>) -> Vec<Reason> {
    let budget = &judged.policy.gates.budget;
    let goes = clusters.values().any(|count| count.known > 0 || count.unknown > 0);
    let (true, true, Some(place)) = (goes, budget.counts_days(), &budget.history) else { return Vec::new() };
    let doubt = |why: &str| {
        let message = format!("how many Machines went in the last 24 hours is unknown: {place}: {why}");
        let next = match place {
            HistoryPlace::Object(_) => {
                "run with --live cluster or a snapshot, and let it be read (docs/rbac.yaml, rollgate-read)"
            }
            HistoryPlace::File(_) => "make the file where all runs share it, empty at first, or fix it",
        };
        let gate = if budget.per_day.is_some() { PER_DAY } else { PER_CLUSTER_AND_DAY };
        vec![Reason::new(gate, Decision::Undecided, message).with_remedy(next.to_owned())]
    };
    let found = judged.world.history.as_ref().filter(|found| found.place == place.to_string());
    let Some(found) = found else { return doubt("it was not read; only a run with the cluster reads it") };
    if let Some(why) = &found.unread {
        return doubt(why);
    }
    let over = found.history().over(&entry(judged, clusters), limits(judged.policy));
    over.iter().map(|one| too_many(one, place)).collect()
}

const PER_DAY: &str = "budget.perDay";
const PER_CLUSTER_AND_DAY: &str = "budget.perClusterAndDay";

fn too_many(over: &Over, place: &HistoryPlace) -> Reason {
    let gate = if over.cluster.is_some() { PER_CLUSTER_AND_DAY } else { PER_DAY };
    let next = match over.until {
        Some(until) => format!("wait until {until}, or raise gates.{gate} in the policy"),
        None => format!("split the change, or raise gates.{gate} in the policy"),
    };
    let message = format!("{over} [{place}]");
    Reason::new(gate, Decision::Hold, message).with_remedy(next).with_machines(over.now)
}

/// What is noted.
fn entry(judged: &Judged<'_>, clusters: &BTreeMap<(Option<String>, String), Count>) -> Spent {
    let world = judged.world;
    let release = ReleaseId::of(world.host.namespace.as_deref(), world.host.release.as_deref());
    let clusters = clusters.iter().map(|((namespace, name), count)| OfCluster {
        namespace: namespace.clone(),
        name: name.clone(),
        machines: count.all(),
    });
    let entry = Spent {
        id: String::new(),
        time: crate::approval::to_the_second(world.now),
        digest: judged.digest.to_owned(),
        release: release.map(|release| release.to_string()),
        by: None,
        clusters: clusters.filter(|one| one.machines != Some(0)).collect(),
    };
    entry.named()
}

/// What has to be noted before it goes out; nothing where no Machine goes, or the policy names no place for it.
#[must_use]
pub(crate) fn spending(judged: &Judged<'_>) -> Option<Spending> {
    judged.policy.gates.budget.history.as_ref()?;
    let entry = entry(judged, &clusters(judged));
    if entry.clusters.is_empty() {
        return None;
    }
    let limits = limits(judged.policy);
    let is_asked = judged.policy.gates.budget.counts_days() && judged.policy.profile != Profile::Observe;
    let over = || judged.world.history.as_ref().map_or_else(Vec::new, |found| found.history().over(&entry, limits));
    let judged = is_asked.then(over);
    Some(Spending { entry, judged })
}

/// A hold where the stream itself writes the object in which it is noted what went out.
#[must_use]
pub(crate) fn written(policy: &Policy, rendered: &Inventory, home: Option<&str>) -> Vec<Reason> {
    let Some((told, name)) = policy.gates.budget.history.as_ref().and_then(HistoryPlace::config_map) else {
        return Vec::new();
    };
    let place = told.or(home);
    let is_it = |key: &&Key| {
        let here = key.namespace.is_none() || place.is_none() || key.namespace.as_deref() == place;
        here && key.group.is_empty() && key.kind == contract::CONFIG_MAP && key.name == name
    };
    let keys = rendered.objects().iter().map(|object| &object.key).filter(is_it);
    keys.map(|key| {
        let message = format!("{key}: the policy keeps the history of what went out there, and the stream writes it");
        let decision = if policy.profile == Profile::Observe { Decision::Warn } else { Decision::Hold };
        Reason::new("budget.history", decision, message).with_remedy("take it out of the chart".to_owned()).of(key)
    })
    .collect()
}

/// Machines that a smaller `replicas` of an owner without a weight takes away.
fn scaled_in(pair: &Pair) -> u64 {
    let number = |value: &Option<crate::tree::Value>| value.as_ref().and_then(crate::tree::Value::as_u64);
    pair.changes
        .iter()
        .filter(|change| change.effect == Effect::Scale)
        .filter_map(|change| Some(number(&change.before)?.saturating_sub(number(&change.after)?)))
        .sum()
}
