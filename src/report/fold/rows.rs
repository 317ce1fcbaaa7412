//! The table of Machines: one row for every owner, or for all owners of many clusters that fare alike.

use super::names::{Crowd, Names, Own};
use super::{by_effect, by_role};
use crate::hashed::{HashMap, HashSet};
use crate::impact::Rollout;
use crate::model::Effect;
use crate::report::{ChangeReport, ObjectReport, Report, sentence};

/// Most rows before owners that differ in nothing but their size share one.
const ROWS: usize = 24;
/// Most values in else equal causes before they are one.
const VALUES: usize = 3;

/// A number that may differ between those who share a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Count {
    /// The least.
    pub least: u64,
    /// The most.
    pub most: u64,
}

impl From<u64> for Count {
    fn from(count: u64) -> Self {
        Self { least: count, most: count }
    }
}

impl std::fmt::Display for Count {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.least == self.most { write!(f, "{}", self.least) } else { write!(f, "{}-{}", self.least, self.most) }
    }
}

/// What happens to the Machines of one owner, or of several that fare alike.
#[derive(Debug)]
pub(crate) struct Row<'r> {
    /// The owners.
    pub owners: Crowd<'r>,
    /// What happens to the Machines.
    pub effect: Effect,
    /// How many Machines each owner loses; `None` where one of them is not known.
    pub machines: Option<Count>,
    /// How many Machines each owner wants; `None` where one of them is not known.
    pub replicas: Option<Count>,
    /// Fewest Machines that each owner has meanwhile; `None` where one of them is not known.
    pub lowest: Option<Count>,
    /// How many Machines all of them lose together, as far as it is known.
    pub total: u64,
    /// Why: the change that weighs most, and how many there are beside it.
    pub cause: String,
    /// Names of the Machines, where they could be read.
    pub machine_names: Vec<&'r str>,
    /// What happens, in order; empty where the owners differ in it.
    pub steps: Vec<String>,
}

/// A rollout with what it is compared by.
struct Entry<'r> {
    rollout: &'r Rollout,
    own: Own<'r>,
    cause: String,
    /// The cause without values, which may be each owner's own.
    place: String,
    steps: Vec<String>,
}

/// The rows, deletions first, control planes before workers.
pub(super) fn rows<'r>(report: &'r Report, names: &Names<'r>) -> Vec<Row<'r>> {
    let entry = |rollout: &'r Rollout| {
        let own = names.own(&rollout.owner);
        let (cause, place) = cause(rollout, names);
        let steps = rollout.steps.iter().map(|step| own.pattern(step)).collect();
        Entry { rollout, cause: own.pattern(&cause), place: own.pattern(&place), steps, own }
    };
    let mut entries: Vec<Entry<'r>> = report.rollouts.iter().map(entry).collect();
    without_values(&mut entries);
    entries.sort_by_key(|entry| (by_effect(entry.rollout.effect), by_role(&entry.rollout.owner)));
    let alike = |entry: &Entry<'r>| {
        let one = entry.rollout;
        let size = (one.machines, one.replicas, lowest(one));
        format!("{:?}", (one.effect, &one.owner.kind, entry.own.short(), size, &entry.cause, &entry.steps))
    };
    let rows = grouped(&entries, alike);
    let rows = if rows.len() > ROWS {
        grouped(&entries, |entry| format!("{:?}", (entry.rollout.effect, &entry.rollout.owner.kind, &entry.cause)))
    } else {
        rows
    };
    rows.iter().map(|entries| row(entries)).collect()
}

/// Causes that differ in values only are one where the values are many.
fn without_values(entries: &mut [Entry<'_>]) {
    let mut causes: HashMap<String, HashSet<String>> = HashMap::default();
    for entry in entries.iter() {
        causes.entry(entry.place.clone()).or_default().insert(entry.cause.clone());
    }
    for entry in entries.iter_mut().filter(|entry| causes.get(&entry.place).is_some_and(|all| all.len() > VALUES)) {
        entry.cause.clone_from(&entry.place);
    }
}

/// Entries that are alike, in the order of the first of each.
fn grouped<'e, 'r>(entries: &'e [Entry<'r>], alike: impl Fn(&Entry<'r>) -> String) -> Vec<Vec<&'e Entry<'r>>> {
    let mut places: HashMap<String, usize> = HashMap::default();
    let mut out: Vec<Vec<&Entry<'r>>> = Vec::new();
    for entry in entries {
        let place = *places.entry(alike(entry)).or_insert(out.len());
        match out.get_mut(place) {
            Some(group) => group.push(entry),
            None => out.push(vec![entry]),
        }
    }
    out
}

fn row<'r>(entries: &[&Entry<'r>]) -> Row<'r> {
    let owners = Crowd::of(&entries.iter().map(|entry| entry.own.clone()).collect::<Vec<_>>());
    let all = |number: fn(&Rollout) -> Option<u64>| {
        let numbers: Option<Vec<u64>> = entries.iter().map(|entry| number(entry.rollout)).collect();
        numbers.and_then(|all| Some(Count { least: *all.iter().min()?, most: *all.iter().max()? }))
    };
    let first = entries.first();
    let steps = first.map(|first| first.steps.as_slice()).unwrap_or_default();
    let same = entries.iter().all(|entry| entry.steps == steps);
    Row {
        effect: first.map(|entry| entry.rollout.effect).unwrap_or_default(),
        machines: all(|rollout| rollout.machines),
        replicas: all(|rollout| rollout.replicas),
        lowest: all(lowest),
        total: entries.iter().filter_map(|entry| entry.rollout.machines).sum(),
        cause: first.map(|entry| owners.shown(&entry.cause)).unwrap_or_default(),
        machine_names: entries.iter().flat_map(|entry| &entry.rollout.machine_names).map(String::as_str).collect(),
        steps: if same { steps.iter().map(|step| owners.shown(step)).collect() } else { Vec::new() },
        owners,
    }
}

/// Fewest Machines that an owner has while it happens.
fn lowest(rollout: &Rollout) -> Option<u64> {
    let replicas = rollout.replicas;
    match rollout.effect {
        Effect::Delete => Some(rollout.present.zip(rollout.machines).map_or(0, |(now, gone)| now.saturating_sub(gone))),
        Effect::Rollout => {
            if let Some(course) = &rollout.course {
                return Some(course.lowest);
            }
            let away = rollout.max_unavailable?;
            let least = replicas?.saturating_sub(rollout.machines.map_or(away, |machines| machines.min(away)));
            Some(rollout.present.map_or(least, |present| present.min(least)))
        }
        _ => replicas,
    }
}

/// Why the Machines of an owner go: the change of it that weighs most, else what its controller compares. With its values, and
/// without them.
fn cause(rollout: &Rollout, names: &Names<'_>) -> (String, String) {
    let object = names.object(&rollout.owner);
    let changes = object.map(|object| object.changes.as_slice()).unwrap_or_default();
    let mut weighty = changes.iter().filter(|change| change.effect >= rollout.effect.min(Effect::Rollout));
    let Some((object, first)) = object.zip(weighty.next()) else {
        let whole = object.map(|object| object.because.as_str()).filter(|text| !text.is_empty());
        let cause = match rollout.causes.split_first() {
            Some((first, rest)) => with_more(first, rest.len()),
            None => whole.unwrap_or_default().to_owned(),
        };
        return (cause.clone(), cause);
    };
    let more = weighty.count();
    match names.rename(object, first) {
        Some(template) => {
            let (cause, place) = renamed(template);
            (with_more(&cause, more), with_more(&place, more))
        }
        None => {
            let (cause, place) = of_change(first);
            (with_more(&cause, more), with_more(&place, more))
        }
    }
}

/// A change with its values, and without them.
fn of_change(change: &ChangeReport) -> (String, String) {
    let (before, after) = sentence::excerpt(change.before.as_ref(), change.after.as_ref());
    let place = sentence::way(&change.path, &change.within);
    (format!("{place} {before} -> {after}"), format!("{place}, values of its own"))
}

/// A reference that moves to a template of another name: what differs in the template.
fn renamed(template: &ObjectReport) -> (String, String) {
    let Some((first, rest)) = template.changes.split_first() else {
        let same = format!("a {} of another name and the same content", template.kind);
        return (same.clone(), same);
    };
    let (cause, place) = of_change(first);
    let with = |text: &str| with_more(&format!("renamed {}: {text}", template.kind), rest.len());
    (with(&cause), with(&place))
}

fn with_more(first: &str, more: usize) -> String {
    if more == 0 { first.to_owned() } else { format!("{first}; and {more} more") }
}
