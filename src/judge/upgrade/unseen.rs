//! What an upgrade may do that no mirror computes: doubt where it can reach Machines, a note where it cannot.

use std::collections::{BTreeMap, BTreeSet};

use super::owner::Foreseen;
use super::steps::{Turn, Way};
use crate::judge::Scene;
use crate::kinds::Role;
use crate::kinds::contract::{CLUSTER, CORE, MACHINE, MACHINE_POOL, MACHINE_SET, is_infrastructure};
use crate::kinds::fields::text;
use crate::kinds::references::{Reference, references};
use crate::model::plural;
use crate::object::{GroupKind, Key, Object};
use crate::providers::core::RELEASE;
use crate::providers::versions::named;
use crate::providers::{PROVIDERS, kind, release_of};
use crate::world::{Extent, LiveKind, Unread};

/// What may be done about what nobody computes.
const READ_NOTES: &str = "read the provider's release notes between the two versions, try the upgrade on a test management cluster, and \
                          set `unseen: {controllers: warn}` in the policy for this upgrade";
/// Where all that is needed comes from.
const TAKE_IT: &str =
    "ask the cluster (--live cluster), or take a snapshot of it with `rollgate snapshot --upgrade NAME=VERSION`";
/// What is done by every upgrade and looked at in none.
const NEVER: &str = "not checked: API versions that the new definitions no longer serve, the migration of stored objects, defaults that new \
                     webhooks write into objects that no mirror compares, new flags and feature gates of the controllers, and what the new \
                     health checks call unhealthy";

/// What is not known.
#[derive(Debug, Default)]
pub(super) struct Unseen {
    /// What was not read, or not told: nobody's notes answer that.
    pub(super) unread: Vec<Unread>,
    /// What nobody computes; somebody who has read the provider's notes may answer for it.
    pub(super) doubts: Vec<Unread>,
    /// What nobody is held for.
    pub(super) notes: Vec<String>,
}

/// What an upgrade may do that was not computed.
pub(super) fn of(scene: &Scene<'_>, turns: &[Turn], found: &[Foreseen]) -> Unseen {
    let (mut not_read, mut doubts) = (Vec::new(), Vec::new());
    let moving: Vec<&Turn> = turns.iter().filter(|turn| turn.way != Way::Same).collect();
    for turn in &moving {
        doubts.extend(of_version(turn));
        not_read.extend(of_start(scene, turn));
        doubts.extend(unmirrored(scene, turn));
        doubts.extend(topologies(scene, turn));
        not_read.extend(unread(turn, found));
    }
    let mut notes = Vec::new();
    if !moving.is_empty() {
        doubts.extend(pools(scene, &moving));
        not_read.extend(unlisted(scene));
        notes.extend(one_namespace(scene));
    }
    if scene.world.source.kind != LiveKind::Cluster {
        notes.push(format!(
            "{} is no read of a cluster: only the objects in it are asked, and Machines that are not in it are not",
            scene.world.source.name
        ));
    }
    notes.extend(Some(NEVER.to_owned()).filter(|_| !moving.is_empty()));
    Unseen { unread: not_read, doubts, notes }
}

/// The kinds of which every object must have been read: owners of Machines, and what tells how they stand.
fn needed() -> impl Iterator<Item = GroupKind> {
    let mirrored = PROVIDERS.iter().flat_map(|provider| provider.kinds).filter(|kind| kind.mirror.is_some());
    let owners = mirrored.map(|kind| GroupKind::new(kind.group, kind.name));
    owners.chain([CLUSTER, MACHINE, MACHINE_SET, MACHINE_POOL].map(|name| GroupKind::new(CORE, name)))
}

/// The namespaces that were read, where it is not all of the cluster.
fn parts(scene: &Scene<'_>) -> BTreeSet<String> {
    let extents = needed().filter_map(|kind| scene.world.coverage.extent(&kind).cloned());
    extents
        .flat_map(|extent| match extent {
            Extent::Namespaces(names) => names,
            Extent::Everywhere | Extent::NotServed => BTreeSet::new(),
        })
        .collect()
}

/// That one namespace was asked for, and no other.
fn one_namespace(scene: &Scene<'_>) -> Option<String> {
    let names = parts(scene);
    let told = scene.world.host.namespace.as_ref()?;
    (names.len() == 1 && names.contains(told))
        .then(|| format!("only namespace {told} was asked; the controllers of a new version act on all of them"))
}

/// Kinds that were not read, or in some namespaces alone that nobody told: a snapshot that was taken for one chart.
fn unlisted(scene: &Scene<'_>) -> Option<Unread> {
    let told = scene.world.host.namespace.as_ref();
    let is_read = |extent: &Extent| match extent {
        Extent::Everywhere | Extent::NotServed => true,
        Extent::Namespaces(names) => names.len() == 1 && told.is_some_and(|told| names.contains(told)),
    };
    let lacks: Vec<String> =
        needed().filter(|kind| !scene.world.coverage.extent(kind).is_some_and(is_read)).map(|kind| kind.kind).collect();
    (!lacks.is_empty()).then(|| Unread {
        what: format!("all objects of {}", lacks.join(", ")),
        why: "not all of them were read, and a new version is asked about each".to_owned(),
        remedy: TAKE_IT.to_owned(),
        keys: Vec::new(),
    })
}

fn doubt(what: String, why: String, keys: Vec<Key>) -> Unread {
    Unread { what, why, remedy: READ_NOTES.to_owned(), keys }
}

/// A version that is not known here, or older than what runs.
fn of_version(turn: &Turn) -> Option<Unread> {
    let step = &turn.step;
    let what = format!("what {} {} does to Machines", step.provider, step.to);
    let why = match (&turn.newest, turn.way) {
        (None, _) => format!("rollgate knows no version of {}", step.provider),
        (Some(newest), Way::Beyond) => format!(
            "rollgate knows {} up to v{newest}; changes up to there are judged below, later ones are unknown",
            step.provider
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
            "nothing that was read shows it, so every version that behaves differently was tried and the worst one counts"
                .to_owned()
        }
        Some(from) if (from.major, from.minor) > (newest.major, newest.minor) => {
            format!("v{from} is newer than v{newest}, the newest that is known here")
        }
        Some(_) => return None,
    };
    let remedy = format!("pass --provider {provider}=VERSION");
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
    let key = |reference: Reference| {
        Key::of(
            reference.group.unwrap_or_default(),
            reference.kind,
            reference.namespace.or_else(|| object.key.namespace.clone()),
            reference.name,
        )
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
                "with {provider} {} it renders their class again, with other defaults, and a template that comes out different replaces Machines: \
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
            "bootstrap data that a new version writes differently may make a pool replace its instances: that is not computed".to_owned(),
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
        why: "the Machines, or the objects that they were made of, were not read, and the new version compares these"
            .to_owned(),
        remedy: TAKE_IT.to_owned(),
        keys,
    })
}
