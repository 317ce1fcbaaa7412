//! By which sets of provider versions a write has to be judged: providers that no object here is about are left out, and an `apiVersion`
//! that is here says how old its provider is at most.

use std::collections::{BTreeMap, BTreeSet};

use super::Scene;
use crate::compare::Pair;
use crate::kinds::versions::Versions;
use crate::kinds::{Role, shapes};
use crate::object::Key;
use crate::providers::versions::{named, turns};
use crate::providers::{kind, release_of};
use crate::rules::Rules;

/// Every set of versions by which these pairs may have to be judged; the first one is the likeliest.
pub(super) fn candidates(scene: &Scene<'_>, pairs: &[Pair], rules: &Rules) -> Vec<Versions> {
    let told = scene.world.told_versions();
    let of_pairs = pairs.iter().map(|pair| (&pair.key, pair.api_version.as_str()));
    let live = scene.view.objects().map(|object| (&object.key, object.api_version.as_str()));
    let seen: BTreeSet<(&str, &str, &str)> =
        of_pairs.chain(live).map(|(key, api)| (key.group.as_str(), key.kind.as_str(), api)).collect();
    let mut turns = turns();
    for (provider, turn) in rules.turns() {
        turns.entry(named(provider).to_owned()).or_default().insert(turn);
    }
    let (asked, oldest) = (asked(&seen, rules), oldest(&seen));
    turns.retain(|name, _| asked.contains(name.as_str()));
    for (name, turns) in &mut turns {
        turns.retain(|turn| oldest.get(name.as_str()).is_none_or(|(major, minor)| *turn > (*major, *minor, 0)));
    }
    Versions::candidates(&told, &turns)
}

/// The providers whose versions may decide about these kinds.
fn asked<'s>(seen: &BTreeSet<(&'s str, &'s str, &'s str)>, rules: &'s Rules) -> BTreeSet<&'s str> {
    let kinds: BTreeSet<(&str, &str)> = seen.iter().map(|(group, kind, _)| (*group, *kind)).collect();
    let mut out = BTreeSet::new();
    for (group, kind) in kinds {
        out.extend(release_of(group, kind));
        out.extend(rules.providers_about(group, kind).map(named));
    }
    out
}

/// The oldest minor version that each provider can have, by the versions of its kinds that are there: one that a recorded
/// release does not serve yet. Nothing older than the oldest recorded release says anything.
fn oldest<'s>(seen: &BTreeSet<(&'s str, &'s str, &'s str)>) -> BTreeMap<&'static str, (u64, u64)> {
    let mut out: BTreeMap<&'static str, (u64, u64)> = BTreeMap::new();
    for (group, kind, api_version) in seen {
        let recorded = release_of(group, kind).zip(shapes::came_with(kind, api_version));
        let Some((name, came)) = recorded.filter(|(name, came)| named(came.provider) == *name) else { continue };
        let oldest = (came.not_in.0, came.not_in.1 + 1);
        let known = out.entry(name).or_insert(oldest);
        *known = (*known).max(oldest);
    }
    out
}

/// Says of which objects nobody knows whether they are refused: nothing of them changes, they are sent all the same, and not all versions of
/// their provider let them through.
pub(super) fn torn(keys: &BTreeSet<&Key>) -> Vec<String> {
    let mut by_provider: BTreeMap<&str, Vec<&Key>> = BTreeMap::new();
    for key in keys {
        by_provider.entry(release_of(&key.group, &key.kind).unwrap_or(key.group.as_str())).or_default().push(key);
    }
    let say = |(provider, keys): (&str, Vec<&Key>)| {
        let first = keys.first()?;
        let which = match keys.len() {
            1 => format!("{first}, which does not change and is sent"),
            count => format!("{first} and {} more, which do not change and are sent", count - 1),
        };
        Some(format!(
            "not checked: whether the version of {provider} that runs refuses {which} all the same, as not all versions let it through; pass --provider {provider}=VERSION"
        ))
    };
    by_provider.into_iter().filter_map(say).collect()
}

/// Whether the webhook of an object looks at nothing but itself; those of a topology read classes and Clusters too.
pub(super) fn is_alone(key: &Key) -> bool {
    !matches!(kind(key).role, Role::Cluster | Role::Class)
}
