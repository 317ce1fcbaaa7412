//! What stands where the stream writes, beyond what is compared. Namespaces: nothing is written to one that is not there, and nothing
//! new to one that is being deleted. Objects of any kind: Helm refuses a release that would take over what is not its own, and the API
//! server refuses an apply to a field that somebody else has given another value. Of those only the metadata is asked for, and only
//! Helm's own marks of it are kept.

use std::collections::{BTreeMap, BTreeSet};

use super::call::{CallFault, Caller};
use super::discover::{Catalogue, Resource, Served};
use super::read::{login, refused, unread};
use super::{Online, WorldRead, list};
use crate::cluster::plan::{GroupKind, Keep};
use crate::contract::SECRET;
use crate::host::hook::{Role, role};
use crate::host::{HostKind, contested, kinds, may_apply, other_manager};
use crate::object::{ApiVersion, Key, Object};
use crate::tree::Value;
use crate::world::{BaseKind, Marks, There, Unread, World};

/// Up to so many namespaces, and objects of one kind in one, are asked for one by one; above that a list is the smaller read.
const BY_NAME: usize = 8;
/// All namespaces.
const ALL: &str = "/api/v1/namespaces";

/// The key of a namespace.
fn key(name: &str) -> Key {
    Key::new("v1", "Namespace", None, name)
}

/// Notes the namespaces that objects are to be written to and that are not there, or are being deleted. Helm makes that of the
/// release where it is told so, and the record of an upgrade lies in it; kubectl makes none.
pub(super) async fn namespaces(caller: &Caller, online: &Online<'_>, outcome: &mut WorldRead) {
    let (host, rendered) = (&outcome.world.host, online.rendered);
    let (home, is_kubectl) = (host.namespace.as_deref(), host.kind == Some(HostKind::Kubectl));
    // Of a release whose namespace is not known nobody can say which one Helm makes.
    if home.is_none() && !is_kubectl {
        return;
    }
    let mut all: BTreeSet<String> =
        home.filter(|_| !is_kubectl && !rendered.is_empty()).map(str::to_owned).into_iter().collect();
    for object in rendered.objects().iter().filter(|object| !kinds::is_cluster_wide(&object.key)) {
        all.extend(object.key.namespace.as_deref().or(home).map(str::to_owned));
    }
    let written = outcome.world.live.objects().iter().chain(outcome.world.base.objects.objects());
    let written: BTreeSet<&str> = written.filter_map(|object| object.key.namespace.as_deref()).collect();
    // What was written to last time was there, and the stream or Helm may make what was not.
    let must_be_there = |name: &str| {
        !written.contains(name) && rendered.get(&key(name)).is_none() && (is_kubectl || Some(name) != home)
    };
    let needed: BTreeSet<String> = all.iter().filter(|name| must_be_there(name)).cloned().collect();
    if all.len() > BY_NAME
        && let Ok(there) = list::metadata(caller, ALL).await
    {
        let names: BTreeSet<&str> = there.iter().map(|one| one.key.name.as_str()).collect();
        for name in needed.iter().filter(|name| !names.contains(name.as_str())) {
            outcome.world.coverage.note_absent(key(name));
        }
        let ending = there.iter().filter(|one| all.contains(&one.key.name)).filter(|one| is_going(one));
        outcome.world.standing.ending.extend(ending.map(|one| one.key.name.clone()));
        return;
    }
    let asked = all
        .iter()
        .map(|name| async move { (name, list::get(caller, &format!("{ALL}/{name}"), Keep::default()).await) });
    for (name, answer) in futures_util::future::join_all(asked).await {
        match answer {
            Ok(value) if is_ending(&value) => drop(outcome.world.standing.ending.insert(name.clone())),
            Ok(_) => {}
            Err(CallFault::NotFound(found)) if found == *name => {
                if needed.contains(name) {
                    outcome.world.coverage.note_absent(key(name));
                }
            }
            // All that is in a namespace that is being deleted is being deleted.
            Err(CallFault::Forbidden(_)) if stays(outcome, name) => {}
            Err(fault) => {
                let remedy = refused(&fault, "", "namespaces", &["get"]);
                let what = if needed.contains(name) {
                    format!("whether there is a namespace {name}, to which the release has not written yet")
                } else {
                    format!("whether the namespace {name} is being deleted")
                };
                outcome.world.unread.push(unread(&what, &fault, &remedy, Vec::new()));
            }
        }
    }
}

/// Whether something in a namespace shows that the namespace is not being deleted.
fn stays(outcome: &WorldRead, namespace: &str) -> bool {
    let mut inside =
        outcome.world.live.objects().iter().filter(|object| object.key.namespace.as_deref() == Some(namespace));
    inside.any(|object| !is_going(object))
}

/// Whether an object is being deleted.
fn is_going(object: &Object) -> bool {
    object.value().is_ok_and(|value| is_ending(&value))
}

/// Whether a namespace, or any other object, is being deleted.
fn is_ending(value: &Value) -> bool {
    let phase = value.get("status").and_then(|status| status.get("phase")?.as_str());
    phase == Some("Terminating") || value.pointer("/metadata/deletionTimestamp").is_some_and(|at| !at.is_null())
}

/// Notes which objects are there already that the release writes for the first time and nothing compares, and which of those that it
/// applies, again or for the first time, somebody else holds.
pub(super) async fn objects(caller: &Caller, online: &Online<'_>, catalogue: &mut Catalogue, outcome: &mut WorldRead) {
    let wanted = wanted(online, outcome);
    if wanted.is_empty() {
        return;
    }
    let asked = wanted.keys().map(|(kind, version)| (kind.clone(), Some(version.clone()))).collect();
    catalogue.more(caller, &asked).await;
    for ((kind, version), keys) in wanted {
        match catalogue.find(&kind, Some(&version)) {
            Ok(Served::As(resource) | Served::Otherwise(resource)) => {
                of_kind(caller, online, &resource, keys, outcome).await;
            }
            // What is not served cannot be there.
            Ok(Served::Absent) => {}
            Err(fault) => {
                let what = format!("whether {} is there already", named(&keys));
                outcome.world.standing.unread.push(unread(&what, &fault, &login(&fault), keys));
            }
        }
    }
}

/// What is asked for: kind and version, and which objects.
fn wanted(online: &Online<'_>, outcome: &WorldRead) -> BTreeMap<(GroupKind, String), Vec<Key>> {
    let mut wanted: BTreeMap<(GroupKind, String), Vec<Key>> = BTreeMap::new();
    let (world, rendered) = (&outcome.world, online.rendered);
    let (host, home) = (&world.host, world.host.namespace.as_deref());
    let asks_whose = matches!(host.kind, Some(HostKind::Helm3 | HostKind::Helm4))
        && matches!(world.base.kind, BaseKind::Release | BaseKind::FirstInstall)
        && !host.take_ownership;
    // An apply on the server's side meets whoever else has written, also in what the last manifest had.
    let applies = may_apply(world);
    if !asks_whose && !applies && world.standing.ending.is_empty() {
        return wanted;
    }
    for object in rendered.objects().iter().filter(|object| !kinds::is_compared(&object.key)) {
        let namespace = object.key.namespace.as_deref().or(home).filter(|_| !kinds::is_cluster_wide(&object.key));
        let is_ending = namespace.is_some_and(|namespace| world.standing.ending.contains(namespace));
        let is_asked = asks_whose || applies || is_ending;
        if !is_asked || matches!(role(object, host), Ok(Role::Hook | Role::Skipped | Role::Left)) {
            continue;
        }
        let is_known =
            spellings(world, &object.key).any(|key| world.live.get(&key).is_some() || world.coverage.is_absent(&key));
        if !is_known && (applies || !is_kept(online, world, &object.key)) {
            let (kind, version) = (
                GroupKind::new(&object.key.group, &object.key.kind),
                ApiVersion::parse(&object.api_version).version.to_owned(),
            );
            let key = object.key.in_namespace(namespace.map(str::to_owned));
            wanted.entry((kind, version)).or_default().push(key);
        }
    }
    wanted
}

/// The ways in which a stream or a manifest may name an object.
fn spellings(world: &World, key: &Key) -> impl Iterator<Item = Key> {
    let home = world.host.namespace.as_deref();
    let with = |namespace: Option<&str>| key.in_namespace(namespace.map(str::to_owned));
    let is_home = key.namespace.is_none() || key.namespace.as_deref() == home;
    [Some(key.clone()), is_home.then(|| with(home)), is_home.then(|| with(None))].into_iter().flatten()
}

/// Whether the last manifest has an object in the version in which it is rendered; Helm looks whose every other one is.
fn is_kept(online: &Online<'_>, world: &World, key: &Key) -> bool {
    let now = spellings(world, key).find_map(|key| online.rendered.get(&key));
    let last = spellings(world, key).find_map(|key| world.base.objects.get(&key));
    last.is_some_and(|last| now.is_none_or(|now| now.api_version == last.api_version))
}

/// Asks for objects of one kind, by name or as a list of their namespace.
async fn of_kind(caller: &Caller, online: &Online<'_>, resource: &Resource, keys: Vec<Key>, outcome: &mut WorldRead) {
    let mut places: BTreeMap<Option<String>, Vec<Key>> = BTreeMap::new();
    for key in keys {
        let namespace = key.namespace.clone().filter(|_| resource.namespaced);
        places.entry(namespace).or_default().push(key);
    }
    for (namespace, keys) in places {
        if namespace.is_none() && resource.namespaced {
            // Of an object whose namespace nobody knows the run is undecided anyhow.
            continue;
        }
        // A list does not say who owns which field, which counts where the host applies.
        if keys.len() > BY_NAME
            && !may_apply(&outcome.world)
            && let Ok(there) = list::metadata(caller, &resource.path(namespace.as_deref())).await
        {
            for key in keys {
                let found = there.iter().find(|one| one.key.name == key.name).and_then(|one| one.value().ok());
                outcome.world.standing.there.extend(found.map(|value| There { key, marks: Marks::of(&value) }));
            }
            continue;
        }
        let namespace = namespace.as_deref();
        let asked = keys.into_iter().map(|key| async move {
            let answer = list::metadata_of(caller, &resource.object(namespace, &key.name)).await;
            (key, answer)
        });
        for (key, answer) in futures_util::future::join_all(asked).await {
            match answer {
                Ok(value) => {
                    let path = resource.object(namespace, &key.name);
                    let found = contest(caller, online, &outcome.world, (&key, &value), &path).await;
                    outcome.world.standing.unread.extend(found);
                    if !is_kept(online, &outcome.world, &key) {
                        outcome.world.standing.there.push(There { key, marks: Marks::of(&value) });
                    }
                }
                Err(CallFault::NotFound(_)) => {}
                Err(fault) => {
                    let what = match is_kept(online, &outcome.world, &key) {
                        true => format!("whether another manager owns fields of {key}, which Helm applies again"),
                        false => format!("whether {key} is there already, and whose it is"),
                    };
                    let mut remedy = refused(&fault, &resource.group, &resource.plural, &["get"]);
                    if matches!(fault, CallFault::Forbidden(_)) {
                        remedy.push_str(", or set `unseen: {ownership: warn}` in the policy");
                    }
                    outcome.world.standing.unread.push(unread(&what, &fault, &remedy, vec![key]));
                }
            }
        }
    }
}

/// What keeps an object from being applied: another manager has given a field of it another value. Where its metadata names such a
/// manager the object is read once more, whole, and nothing of it is kept; a Secret is not, so that any field of another counts.
async fn contest(
    caller: &Caller,
    online: &Online<'_>,
    world: &World,
    (key, metadata): (&Key, &Value),
    path: &str,
) -> Option<Unread> {
    let other = other_manager(world, metadata)?;
    let is_it = |object: &&Object| {
        let here = object.key.namespace.as_deref().or(world.host.namespace.as_deref());
        let same = |of: &Key| (&of.group, &of.kind, &of.name) == (&key.group, &key.kind, &key.name);
        same(&object.key) && here == key.namespace.as_deref()
    };
    let rendered = online.rendered.objects().iter().find(is_it)?.value().ok()?;
    let whole =
        if key.kind == SECRET { None } else { list::get(caller, path, Keep { managed_fields: true }).await.ok() };
    let why = match whole {
        Some(whole) => format!("{} with another value", contested(world, &whole, &rendered)?),
        None if key.kind == SECRET => {
            format!("{}, perhaps with another value", contested(world, metadata, &rendered)?)
        }
        None => format!("{other:?} owns fields of it, perhaps with another value"),
    };
    Some(Unread {
        what: format!("whether {key} can be applied"),
        why: format!("{why}: there the API server refuses the apply, and the write stops half-way"),
        remedy: "take the fields over once with --force-conflicts, and say it here too".to_owned(),
        keys: vec![key.clone()],
    })
}

/// The first of some objects, and how many more.
fn named(keys: &[Key]) -> String {
    match keys {
        [] => String::new(),
        [one] => one.to_string(),
        [first, rest @ ..] => format!("{first}, or one of {} more,", rest.len()),
    }
}
