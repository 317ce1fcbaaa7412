//! What an upgrade may do that no mirror computes: doubt where it can reach Machines, a note where it cannot.

use std::collections::{BTreeMap, BTreeSet};

use super::owner::Foreseen;
use super::steps::{Turn, Way};
use crate::judge::Scene;
use crate::kinds::Role;
use crate::kinds::contract::{CLUSTER, CORE, is_infrastructure};
use crate::kinds::fields::text;
use crate::kinds::references::{Reference, references};
use crate::model::plural;
use crate::object::{Key, Object};
use crate::providers::core::RELEASE;
use crate::providers::versions::named;
use crate::providers::{kind, release_of};
use crate::world::{LiveKind, Unread};

/// What may be done about what nobody computes.
const READ_NOTES: &str = "read the provider's notes from the one version to the other, try the upgrade on a management cluster that may \
                          fail, and say `unseen: {controllers: warn}` in the policy for this upgrade";
/// What is done by every upgrade and looked at in none.
const NEVER: &str = "not looked at: API versions that the new definitions serve no more, stored objects that are migrated, what new webhooks \
                     write by default into objects that no mirror compares, new flags and feature gates of the controllers, and what health \
                     checks of the new version call unhealthy";

/// The doubts, and the notes that nobody is held for.
pub(super) fn of(scene: &Scene<'_>, turns: &[Turn], found: &[Foreseen]) -> (Vec<Unread>, Vec<String>) {
    let mut doubts = Vec::new();
    let moving: Vec<&Turn> = turns.iter().filter(|turn| turn.way != Way::Same).collect();
    for turn in &moving {
        doubts.extend(of_version(turn));
        doubts.extend(of_start(scene, turn));
        doubts.extend(unmirrored(scene, turn));
        doubts.extend(topologies(scene, turn));
        doubts.extend(unread(turn, found));
    }
    if !moving.is_empty() {
        doubts.extend(pools(scene, &moving));
    }
    let mut notes = Vec::new();
    if scene.world.source.kind != LiveKind::Cluster {
        notes.push(format!(
            "{} is no read of a cluster: only the objects in it are asked, and Machines that are not in it are not",
            scene.world.source.name
        ));
    }
    notes.extend(Some(NEVER.to_owned()).filter(|_| !moving.is_empty()));
    (doubts, notes)
}

fn doubt(what: String, why: String, keys: Vec<Key>) -> Unread {
    Unread { what, why, remedy: READ_NOTES.to_owned(), keys }
}

/// A version that is not known here, or older than what runs.
fn of_version(turn: &Turn) -> Option<Unread> {
    let step = &turn.step;
    let what = format!("what {} {} does to Machines", step.provider, step.to);
    let why = match (&turn.newest, turn.way) {
        (None, _) => format!("no version of {} is told apart here, so nothing is known of any", step.provider),
        (Some(newest), Way::Beyond) => format!(
            "it is not known here, where v{newest} is the newest: what came up to v{newest} is judged below, and of what came after it \
             nothing is known"
        ),
        (_, Way::Down) => format!(
            "{step} is a downgrade: what an older controller makes of objects that a newer one has written is not computed, and no provider \
             is tested for it"
        ),
        (_, Way::Up | Way::Same) => return None,
    };
    Some(doubt(what, why, Vec::new()))
}

/// A version that runs now and is not known.
fn of_start(scene: &Scene<'_>, turn: &Turn) -> Option<Unread> {
    let provider = &turn.step.provider;
    // Where nothing is of it, nothing is done by it.
    scene.view.objects().find(|object| is_of(&object.key, provider))?;
    let what = format!("which version of {provider} runs now");
    let (from, newest) = (turn.from.as_ref(), turn.newest.as_ref()?);
    let why = match from {
        None => {
            "nothing that was read tells it, so every version that behaves otherwise was tried and the worst counts"
                .to_owned()
        }
        Some(from) if (from.major, from.minor) > (newest.major, newest.minor) => {
            format!("v{from} is newer than v{newest}, the newest that is known here")
        }
        Some(_) => return None,
    };
    let remedy = format!("say --provider {provider}=VERSION");
    Some(Unread { what, why, remedy, keys: Vec::new() })
}

/// Whether an object is of a provider.
fn is_of(key: &Key, provider: &str) -> bool {
    release_of(&key.group, &key.kind).is_some_and(|name| named(name) == provider)
}

/// Objects of a provider whose controllers nobody mirrors, and the machines behind an infrastructure provider.
fn unmirrored(scene: &Scene<'_>, turn: &Turn) -> Option<Unread> {
    let provider = turn.step.provider.as_str();
    let acts = |key: &Key| {
        let known = kind(key);
        let role = known.role;
        known.mirror.is_none() && (role == Role::ControlPlane || is_infrastructure(&key.group)) && is_of(key, provider)
    };
    let mut names: BTreeSet<Key> = scene.view.objects().map(|object| object.key.clone()).filter(acts).collect();
    names.extend(scene.view.objects().flat_map(referred).filter(acts));
    let mut kinds: BTreeMap<&str, u64> = BTreeMap::new();
    names.iter().for_each(|key| *kinds.entry(&key.kind).or_default() += 1);
    let told: Vec<String> = kinds.iter().map(|(kind, count)| plural(*count, kind)).collect();
    (!told.is_empty()).then(|| {
        doubt(
            format!("what {provider} {} does to the Machines behind {}", turn.step.to, told.join(", ")),
            "how its controllers decide is not computed here".to_owned(),
            names.into_iter().collect(),
        )
    })
}

/// What an owner, a Machine or a Cluster refers to: the objects themselves are often not read.
fn referred(object: &Object) -> Vec<Key> {
    let role = kind(&object.key).role;
    if !(role.owns_machines() || matches!(role, Role::Machine | Role::Cluster)) {
        return Vec::new();
    }
    let Ok(value) = object.value() else { return Vec::new() };
    let key = |reference: Reference| Key {
        group: reference.group.unwrap_or_default(),
        kind: reference.kind,
        namespace: reference.namespace.or_else(|| object.key.namespace.clone()),
        name: reference.name,
    };
    references(&value).into_iter().map(key).collect()
}

/// Clusters whose topology controller computes their owners anew.
fn topologies(scene: &Scene<'_>, turn: &Turn) -> Option<Unread> {
    let moves = turn.from.as_ref().is_none_or(|from| {
        (from.major, from.minor) != (turn.judged_as.major, turn.judged_as.minor) || turn.way == Way::Beyond
    });
    let provider = turn.step.provider.as_str();
    let is_one = |object: &&Object| {
        object.key.group == CORE
            && object.key.kind == CLUSTER
            && object.value().is_ok_and(|value| {
                let of_provider = || {
                    let group = text(&value, "/spec/controlPlaneRef/apiGroup")
                        .or_else(|| text(&value, "/spec/controlPlaneRef/apiVersion"));
                    let group = group.and_then(|group| group.split('/').next()).unwrap_or_default();
                    let kind = text(&value, "/spec/controlPlaneRef/kind").unwrap_or_default();
                    release_of(group, kind).is_some_and(|name| named(name) == provider)
                };
                value.pointer("/spec/topology").is_some() && (provider == RELEASE.name || of_provider())
            })
    };
    let keys: Vec<Key> = scene.view.of_kind(CLUSTER).filter(is_one).map(|object| object.key.clone()).collect();
    (moves && !keys.is_empty()).then(|| {
        doubt(
            format!("what the topology controller makes of {}", plural(keys.len() as u64, CLUSTER)),
            format!(
                "with {provider} {} it renders their class anew, with other defaults, and a template that comes out otherwise replaces Machines: \
                 that is not computed",
                turn.step.to
            ),
            keys,
        )
    })
}

/// Pools, whose Machines their infrastructure provider replaces by what it finds in them.
fn pools(scene: &Scene<'_>, turns: &[&Turn]) -> Option<Unread> {
    let keys: Vec<Key> =
        scene.view.objects().map(|object| &object.key).filter(|key| kind(key).role == Role::Pool).cloned().collect();
    let names: Vec<String> = turns.iter().map(|turn| format!("{} {}", turn.step.provider, turn.step.to)).collect();
    (!keys.is_empty()).then(|| {
        doubt(
            format!("what {} does to {}", names.join(" with "), plural(keys.len() as u64, "pool")),
            "bootstrap data that a new version writes otherwise may make a pool replace its instances: that is not computed".to_owned(),
            keys,
        )
    })
}

/// Owners whose Machines, or what these were made of, were not read.
fn unread(turn: &Turn, found: &[Foreseen]) -> Option<Unread> {
    let keys: Vec<Key> = found
        .iter()
        .filter(|one| !one.is_read && is_of(&one.pair.key, &turn.step.provider))
        .map(|one| one.pair.key.clone())
        .collect();
    let shown: Vec<String> = keys.iter().take(3).map(ToString::to_string).collect();
    let more = if keys.len() > shown.len() { ", ..." } else { "" };
    (!keys.is_empty()).then(|| Unread {
        what: format!("the Machines of {} ({}{more})", plural(keys.len() as u64, "owner"), shown.join(", ")),
        why: "they were not read, or not what they were made of, and that is what a new version is asked about"
            .to_owned(),
        remedy:
            "ask the cluster (--live cluster), or take a snapshot of it with `rollgate snapshot --upgrade NAME=VERSION`"
                .to_owned(),
        keys,
    })
}
