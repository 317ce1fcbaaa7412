//! Fields of objects that are there whose next write does something else by the new version: by the behaviours of the mirrors and
//! webhooks, and by the rules of the packs that begin with a version.

use std::collections::{BTreeMap, BTreeSet};

use semver::Version;

use super::steps::{Turn, word};
use crate::judge::Scene;
use crate::kinds::contract::CLUSTER;
use crate::model::{Effect, NextWrite};
use crate::object::Object;
use crate::providers::kind;
use crate::providers::versions::named;
use crate::rules::{Pack, Rule, Rules};

/// What only some Clusters have.
const TOPOLOGY: &str = "spec.topology";

/// The fields of which the next write is worse than now, in the order of the versions.
pub(super) fn next_writes(scene: &Scene<'_>, rules: &Rules, turns: &[Turn]) -> Vec<NextWrite> {
    // What controllers make nobody writes.
    let is_written = |object: &&Object| !kind(&object.key).role.is_made_by_controllers();
    let kinds: BTreeSet<(&str, &str)> = scene
        .view
        .objects()
        .filter(is_written)
        .map(|object| (object.key.group.as_str(), object.key.kind.as_str()))
        .collect();
    let mut out = Vec::new();
    for turn in turns {
        for since in &turn.between {
            let is_there = |kind: &str| kinds.iter().any(|(_, name)| *name == kind);
            let there = since.later.iter().filter(|later| is_there(later.kind));
            out.extend(there.map(|later| {
                told(turn, since.version, since.name, (later.kind, later.path), (later.effect, later.says))
            }));
        }
        let packs = rules.packs_of(|provider| named(provider) == turn.step.provider);
        packs.for_each(|pack| of_pack(pack, turn, &kinds, &mut out));
    }
    let has_one = |object: &Object| object.value().is_ok_and(|value| value.pointer("/spec/topology").is_some());
    let has_topology = || scene.view.of_kind(CLUSTER).any(has_one);
    out.retain(|next: &NextWrite| !next.path.starts_with(TOPOLOGY) || has_topology());
    out.sort_by(|one, other| (&one.kind, &one.path).cmp(&(&other.kind, &other.path)));
    out.dedup_by(|one, other| (&one.kind, &one.path, one.effect) == (&other.kind, &other.path, other.effect));
    out
}

/// The rules of a pack that begin between the two versions, where they are worse than what was said of the same place before.
fn of_pack(pack: &Pack, turn: &Turn, kinds: &BTreeSet<(&str, &str)>, out: &mut Vec<NextWrite>) {
    let Some(from) = &turn.from else { return };
    let there: Vec<&str> =
        kinds.iter().filter(|(group, kind)| pack.is_about(group, kind)).map(|(_, kind)| *kind).collect();
    // What a feature gate decides, its own word decides.
    let begins = |rule: &&Rule| {
        !rule.in_force(from) && rule.in_force(&turn.judged_as) && rule.since.is_some() && rule.when.gate.is_none()
    };
    let mut worst: BTreeMap<&str, Effect> = BTreeMap::new();
    for rule in pack.rules.iter().filter(|rule| rule.in_force(from)) {
        for pattern in &rule.paths {
            let known = worst.entry(pattern.text()).or_default();
            *known = (*known).max(rule.effect);
        }
    }
    for rule in pack.rules.iter().filter(begins) {
        let Some(Version { major, minor, .. }) = rule.since else { continue };
        for pattern in &rule.paths {
            let was = worst.get(pattern.text()).copied().unwrap_or_default();
            // What is latent by a rule may have been anything by a mirror.
            if rule.effect <= was || !matches!(rule.effect, Effect::Rollout | Effect::Rejected | Effect::Delete) {
                continue;
            }
            let says = format!("{}: {}", does(rule.effect), rule.because.trim_end_matches('.'));
            let place =
                |kind: &&str| told(turn, (major, minor), &rule.id, (kind, pattern.text()), (rule.effect, &says));
            out.extend(there.iter().map(place));
        }
    }
}

/// What an effect does, behind the name of a field.
fn does(effect: Effect) -> &'static str {
    match effect {
        Effect::Rollout => "replaces Machines",
        Effect::Rejected => "is refused",
        Effect::Delete => "destroys Machines",
        _ => "may do anything",
    }
}

/// One field, with its sentence.
fn told(
    turn: &Turn,
    since: (u64, u64),
    rule: &str,
    (kind, path): (&str, &str),
    (effect, says): (Effect, &str),
) -> NextWrite {
    let (provider, since) = (turn.step.provider.clone(), word(since));
    let now = turn.step.from.as_deref().unwrap_or("the version that runs now");
    let message = format!(
        "from {provider} {since} on, and not yet with {now}, a change of {kind} {path} {} [{rule}]",
        says.trim_end_matches('.')
    );
    NextWrite { provider, since, rule: rule.to_owned(), kind: kind.to_owned(), path: path.to_owned(), effect, message }
}
