//! What is found, in the words of a report: a change for each place that counts from now on, findings for what was due before.

use std::collections::BTreeSet;

use super::owner::members;
use super::steps::{Turn, Way};
use crate::compare::{Change, Pair};
use crate::judge::owner::Assessment;
use crate::judge::stage::Stage;
use crate::judge::why::{Difference, differences};
use crate::kinds::versions::Since;
use crate::model::{Act, Effect, Finding, NextWrite, Unit, plural, plural_is};
use crate::object::Key;
use crate::providers::release_of;

/// Names of Machines that a sentence shows.
const NAMES: usize = 3;

/// The places for which Machines are replaced by the upgrade, each with what the first of them was made of and what is wanted.
pub(super) fn changes(
    (now, then): (&Stage<'_>, &Stage<'_>),
    pair: &Pair,
    is: &Assessment,
    blamed: &[&'static Since],
) -> Vec<Change> {
    let units: Vec<&Unit> = is.units.iter().filter(|unit| unit.count > 0 && !unit.after.is_empty()).collect();
    let members = members(then, pair, is);
    let all: Vec<(&Unit, Vec<Difference>)> =
        units.iter().map(|unit| (*unit, differences(then, &pair.key, is, &members, unit))).collect();
    let mut out: Vec<Change> = Vec::new();
    for difference in all.iter().flat_map(|(_, differences)| differences) {
        if out.iter().any(|change| change.path == difference.path && change.rule == difference.rule) {
            continue;
        }
        let same = |(_, others): &&(&Unit, Vec<Difference>)| {
            others.iter().any(|one| one.path == difference.path && one.rule == difference.rule)
        };
        let those: Vec<&Unit> = all.iter().filter(same).map(|(unit, _)| *unit).collect();
        let mut change = Change::unjudged(difference.path.clone(), difference.before.clone(), difference.after.clone());
        let (says, source) = then.rules.cause(difference.rule).unwrap_or_default();
        let because = because((now, then), &pair.key, &those, difference, blamed);
        (change.rule, change.source) = (difference.rule.to_owned(), source.to_owned());
        change.because = if blamed.is_empty() { format!("{because}; {says}") } else { because };
        change.effect = Effect::Rollout;
        if let Some(hold) = is.held(Act::Replace) {
            (change.effect, change.waits) = (Effect::Latent, Some(Effect::Rollout));
            change.because = hold.tells(&change.because);
        }
        out.push(change);
    }
    out
}

/// Who calls which Machines out of date, and by which behaviour.
fn because(
    (now, then): (&Stage<'_>, &Stage<'_>),
    key: &Key,
    units: &[&Unit],
    difference: &Difference,
    blamed: &[&'static Since],
) -> String {
    let names: Vec<&str> = units.iter().flat_map(|unit| &unit.names).map(String::as_str).collect();
    let count: u64 = units.iter().map(|unit| unit.count).sum();
    let who = match (names.as_slice(), count) {
        ([], count) => plural(count, "Machine"),
        (names, count) if names.len() as u64 == count && names.len() <= NAMES => names.join(", "),
        ([first, ..], count) => format!("{first} and {} more", count.saturating_sub(1)),
    };
    let provider = release_of(&key.group, &key.kind).unwrap_or("its provider");
    let (from, to) = (now.versions.get(provider), then.versions.get(provider));
    let same = match difference.before.is_some() && difference.before == difference.after {
        true => ", although both sides look the same here: it reads differently what the Machine was made of",
        false => "",
    };
    let detail = Some(&difference.detail).filter(|detail| !detail.is_empty());
    let detail = detail.map_or_else(String::new, |detail| format!(" ({detail})"));
    let is_newly = units.iter().any(|unit| unit.before.is_empty());
    let verb = match is_newly {
        true => format!("{provider} v{to} calls {who} outdated by this field{detail}, v{from} does not{same}"),
        false => format!(
            "{who} {} already outdated by this field{detail} but held back; {provider} v{to} starts the rollout",
            if count == 1 { "was" } else { "were" }
        ),
    };
    let by: Vec<String> =
        blamed.iter().map(|since| format!("{} since {}: {}", since.name, since.begun_by(&to), since.what)).collect();
    if by.is_empty() || !is_newly { verb } else { format!("{verb} [{}]", by.join("; ")) }
}

/// What is due before the upgrade, what is no more after it, and what would never end.
pub(super) fn findings(
    was: &Assessment,
    is: &Assessment,
    key: &Key,
    (now, then): (&Stage<'_>, &Stage<'_>),
) -> Vec<Finding> {
    let count = |units: &mut dyn Iterator<Item = &Unit>| units.map(|unit| unit.count).sum::<u64>();
    let provider = release_of(&key.group, &key.kind).unwrap_or_default();
    let (from, to) = (now.versions.get(provider), then.versions.get(provider));
    let mut out = Vec::new();
    let mut add = |id: &str, message: String| out.push(Finding::new(id, key.clone(), message));
    let pending = count(&mut is.pending());
    if pending > 0 {
        let paths: BTreeSet<String> =
            is.pending().flat_map(|unit| &unit.before).map(|cause| cause.path.to_string()).collect();
        let paths: Vec<String> = paths.into_iter().collect();
        let tail = if is.is_released() {
            "and the new version starts their rollout"
        } else {
            "which the upgrade does not change"
        };
        add(
            "pending-rollout",
            format!("{} already outdated by v{from} ({}), {tail}", plural_is(pending, "Machine"), paths.join(", ")),
        );
    }
    let cancelled = count(&mut is.cancelled());
    if cancelled > 0 {
        let text = format!(
            "{} outdated by v{from} and up to date by v{to}, so a rollout that is due ends",
            plural_is(cancelled, "Machine")
        );
        add("cancelled-rollout", text);
    }
    if let Some(cause) = is.perpetual.first().filter(|_| was.perpetual.is_empty()) {
        let text = format!(
            "every new Machine of v{to} is outdated at once ({}), so Machines are replaced for ever; with v{from} they are not",
            cause.path
        );
        add("perpetual-rollout", text);
    }
    out
}

/// What a person should know of the upgrade as a whole.
pub(super) fn warnings(turns: &[Turn], next_writes: &[NextWrite], notes: &[String]) -> Vec<String> {
    let mut out: Vec<String> = turns.iter().filter_map(way).collect();
    out.extend(next_writes.iter().map(|next| next.message.clone()));
    out.extend(notes.iter().cloned());
    out
}

/// What is to be said of the way that a provider goes, where nobody is held for it.
fn way(turn: &Turn) -> Option<String> {
    let step = &turn.step;
    match turn.way {
        Way::Same => Some(format!("{} {} already runs, so nothing of it changes", step.provider, step.to)),
        Way::Down => Some(format!("{step} is a downgrade")),
        Way::Up | Way::Beyond => None,
    }
}
