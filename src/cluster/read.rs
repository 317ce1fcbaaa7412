//! The order of the read: groups and release record first, then every list at once, then what the release and the
//! Machines add. Each step turns its faults into unreads; none stops the others.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use super::call::{CallFault, Caller};
use super::discover::{Catalogue, Resource, Served};
use super::{
    Lookup, Online, Progress, SourceObject, WorldRead, called_for, data, installed, list, record, remote, second,
    standing, taken, unserved,
};
use crate::cluster::needs;
use crate::cluster::plan::{GroupKind, Keep, KindRead, ObjectRead, ReadPlan, Scope, Use};
use crate::host::{HostKind, kinds};
use crate::kinds::contract::MACHINE_POOL;
use crate::model::first_and_more;
use crate::object::{Key, Object};
use crate::tree::Value;
use crate::world::remote::Own;
use crate::world::rights;
use crate::world::{Absent, Unread};
use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;

/// Reads all of the plan and what follows from it.
pub(super) async fn all(
    caller: &Caller,
    online: &Online<'_>,
    own: Own,
    outcome: &mut WorldRead,
    progress: &mut Progress<'_>,
) {
    homeless(outcome);
    let mut catalogue = match Catalogue::read(caller, &wanted(&outcome.plan)).await {
        Ok(catalogue) => catalogue,
        Err(fault) => {
            outcome.world.unread.push(unread("the API groups of the cluster", &fault, &login(&fault), Vec::new()));
            for read in outcome.plan.objects.clone() {
                place(outcome, &read, Lookup::Unread(unread(&line(&read), &fault, &login(&fault), Vec::new())));
            }
            return;
        }
    };
    let kinds = outcome.plan.kinds.clone();
    lists(caller, online, &catalogue, &kinds, outcome, progress).await;
    let objects = outcome.plan.objects.clone();
    let answers = objects_of(caller, &catalogue, &objects).await;
    for (read, answer) in objects.iter().zip(answers) {
        place(outcome, read, answer);
    }
    record::read(caller, online, outcome).await;
    removed(caller, online, &mut catalogue, outcome, progress).await;
    data::around(caller, online, &mut catalogue, outcome, progress).await;
    installed::read(caller, &mut catalogue, outcome).await;
    called_for::clusters(caller, online, &mut catalogue, outcome, progress).await;
    second::pointed(caller, online, &mut catalogue, outcome, progress).await;
    called_for::hosts(caller, online, &mut catalogue, outcome, progress).await;
    data::named(caller, online, &catalogue, outcome).await;
    remote::read(caller, online, &catalogue, own, outcome).await;
    unserved::kinds(caller, online.rendered, &mut catalogue, outcome).await;
    standing::namespaces(caller, online, outcome).await;
    standing::objects(caller, online, &mut catalogue, outcome).await;
    taken::over(caller, online, &mut catalogue, outcome, progress).await;
    // Last, since it can be done without: where it is not answered, it uses up what is left of the deadline.
    installed::gates(caller, &mut catalogue, outcome).await;
}

/// Objects whose namespace nobody said cannot be looked up.
fn homeless(outcome: &mut WorldRead) {
    if !outcome.plan.homeless.is_empty() {
        outcome.world.unread.push(Unread {
            what: format!("the namespace of {}", outcome.plan.homeless[0]),
            why: "neither the object nor the host says it".to_owned(),
            remedy: "pass --namespace".to_owned(),
            keys: outcome.plan.homeless.clone(),
        });
    }
}

/// The kinds of a plan with the versions in which they are asked for.
pub(super) fn wanted(plan: &ReadPlan) -> BTreeSet<(GroupKind, Option<String>)> {
    let kinds = plan.kinds.iter().map(|(kind, read)| (kind.clone(), read.version.clone()));
    kinds.chain(plan.objects.iter().map(|read| (read.kind.clone(), read.version.clone()))).collect()
}

/// Lists kinds, all at once, and puts what they hold into the World; gives the kinds of which a list is missing.
pub(super) async fn lists(
    caller: &Caller,
    online: &Online<'_>,
    catalogue: &Catalogue,
    kinds: &BTreeMap<GroupKind, KindRead>,
    outcome: &mut WorldRead,
    progress: &mut Progress<'_>,
) -> BTreeSet<GroupKind> {
    let mut missing = BTreeSet::new();
    let mut put_off = Vec::new();
    let mut running = FuturesUnordered::new();
    for (kind, read) in kinds {
        match served(catalogue, kind, read, online, outcome) {
            Some(resource) => {
                if !resource.namespaced {
                    outcome.cluster_wide.insert(kind.clone());
                }
                let scope = outcome.plan.scope.clone();
                running.push(async move { (kind, read, list_kind(caller, &resource, read, &scope).await, resource) });
            }
            None => continue,
        }
    }
    let total = running.len();
    let mut done = 0;
    while let Some((kind, read, listed, resource)) = running.next().await {
        done += 1;
        progress.say(&format!("reading the cluster: {done}/{total} kinds, {} objects", outcome.world.live.len()));
        for part in listed {
            match part {
                Part::Read(namespace, listed) => {
                    // A list by label says nothing about the objects without it.
                    if read.selector.is_none() {
                        let place = namespace.as_deref().map(in_namespace).unwrap_or_default();
                        outcome.versions.insert(format!("{kind}{place}"), listed.resource_version);
                        outcome.world.coverage.note_list(kind, namespace.as_deref());
                    }
                    for object in listed.objects {
                        // A second list of a kind, of more namespaces, brings the first ones again.
                        if outcome.world.live.get(&object.key).is_none() {
                            outcome.world.live.push(object);
                        }
                    }
                }
                Part::Unread(place, fault) => {
                    missing.insert(kind.clone());
                    let keys = if read.keep.managed_fields { keys_of(online, kind) } else { Vec::new() };
                    let what = format!("list of {kind}{place}");
                    let remedy = refused(&fault, &resource.group, &resource.plural, &["get", "list"]);
                    let unread = unread(&what, &fault, &remedy, keys);
                    match read.optional && matches!(fault, CallFault::Forbidden(_)) {
                        true => put_off.push((kind, unread)),
                        false => outcome.world.unread.push(unread),
                    }
                }
            }
        }
    }
    let known = || online.rendered.objects().iter().chain(outcome.world.live.objects());
    put_off.retain(|(kind, _)| kind.kind == MACHINE_POOL && known().any(needs::may_have_pools));
    outcome.world.unread.extend(put_off.into_iter().map(|(_, unread)| unread));
    missing
}

/// One list of a kind: all of it, or that of one namespace.
enum Part {
    /// With the namespace where it is that of one.
    Read(Option<String>, list::Listed),
    /// With the end of the phrase that says what is missing.
    Unread(String, CallFault),
}

/// Lists a kind where the plan wants it: everywhere in one list, else each namespace.
async fn list_kind(caller: &Caller, resource: &Resource, read: &KindRead, scope: &Scope) -> Vec<Part> {
    let one = async |namespace: Option<&str>| {
        list::list(caller, &resource.path(namespace), read.selector, list::JSON, read.keep).await
    };
    let mut parts = Vec::new();
    if *scope == Scope::Nowhere && resource.namespaced && !read.everywhere {
        return parts;
    }
    let narrow = matches!(scope, Scope::Only(_)) && resource.namespaced && !read.everywhere;
    if !narrow {
        match one(None).await {
            Ok(listed) => return vec![Part::Read(None, listed)],
            Err(CallFault::Forbidden(why))
                if resource.namespaced && scope.namespaces().is_some_and(|all| !all.is_empty()) =>
            {
                if read.everywhere {
                    parts.push(Part::Unread(" in other namespaces".to_owned(), CallFault::Forbidden(why)));
                }
            }
            Err(fault) => return vec![Part::Unread(String::new(), fault)],
        }
    }
    let namespaces: Vec<&String> = scope.namespaces().into_iter().flatten().collect();
    let answers =
        futures_util::future::join_all(namespaces.iter().map(|namespace| one(Some(namespace.as_str())))).await;
    for (namespace, answer) in namespaces.into_iter().zip(answers) {
        parts.push(match answer {
            Ok(listed) => Part::Read(Some(namespace.clone()), listed),
            Err(fault) => Part::Unread(in_namespace(namespace), fault),
        });
    }
    parts
}

/// The end of a phrase about one namespace.
pub(super) fn in_namespace(namespace: &str) -> String {
    format!(" in namespace {namespace}")
}

/// How a kind is asked for; absence and doubt are written down.
fn served(
    catalogue: &Catalogue,
    kind: &GroupKind,
    read: &KindRead,
    online: &Online<'_>,
    outcome: &mut WorldRead,
) -> Option<Resource> {
    let rendered = read.keep.managed_fields;
    let found = catalogue.find(kind, read.version.as_deref());
    if let Ok(Served::As(resource) | Served::Otherwise(resource)) = &found
        && resource.closed
    {
        outcome.world.coverage.note_closed(kind);
    }
    match found {
        Ok(Served::As(resource)) => Some(resource),
        Ok(Served::Otherwise(resource)) => {
            let asked = read.version.as_deref().unwrap_or_default();
            // Flux and Argo CD may bring the definition along; Helm and kubectl refuse the version.
            let may_bring = matches!(outcome.world.host.kind, None | Some(HostKind::Flux | HostKind::Argocd));
            if rendered && !may_bring {
                outcome.world.coverage.note_unserved(kind, &format!("{}/{asked}", kind.group));
            } else if rendered {
                outcome.world.unread.push(Unread {
                    what: format!("{kind} in version {asked}"),
                    why: format!("the API server serves it only as {}", resource.api_version()),
                    remedy: format!("render apiVersion {}", resource.api_version()),
                    keys: keys_of(online, kind),
                });
            }
            Some(resource)
        }
        Ok(Served::Absent) => {
            outcome.world.absent.push(Absent { what: format!("kind {kind}"), object: None });
            outcome.world.coverage.note_not_served(kind);
            None
        }
        Err(fault) => {
            let keys = if rendered { keys_of(online, kind) } else { Vec::new() };
            outcome.world.unread.push(unread(&format!("whether the cluster has {kind}"), &fault, &login(&fault), keys));
            None
        }
    }
}

/// Reads single objects whose kinds are not known yet.
pub(super) async fn singles(caller: &Caller, reads: &[ObjectRead]) -> Vec<Lookup> {
    let wanted = reads.iter().map(|read| (read.kind.clone(), read.version.clone())).collect();
    match Catalogue::read(caller, &wanted).await {
        Ok(catalogue) => objects_of(caller, &catalogue, reads).await,
        Err(fault) => {
            reads.iter().map(|read| Lookup::Unread(unread(&line(read), &fault, &login(&fault), Vec::new()))).collect()
        }
    }
}

/// Reads single objects.
pub(super) async fn objects_of(caller: &Caller, catalogue: &Catalogue, reads: &[ObjectRead]) -> Vec<Lookup> {
    futures_util::future::join_all(reads.iter().map(|read| object(caller, catalogue, read))).await
}

/// Reads one object.
async fn object(caller: &Caller, catalogue: &Catalogue, read: &ObjectRead) -> Lookup {
    let doubt = |fault: &CallFault, remedy: &str| Lookup::Unread(unread(&line(read), fault, remedy, Vec::new()));
    let resource = match catalogue.find(&read.kind, read.version.as_deref()) {
        Ok(Served::As(resource) | Served::Otherwise(resource)) => resource,
        Ok(Served::Absent) => return Lookup::NoKind,
        Err(fault) => return doubt(&fault, &login(&fault)),
    };
    if resource.namespaced && read.namespace.is_none() {
        return doubt(&CallFault::Other("its namespace is not known".to_owned()), "pass --namespace");
    }
    let keep = Keep { managed_fields: matches!(read.used, Use::Referenced | Use::Kin) };
    if let Use::Late(_, _, Some(selector)) = &read.used {
        let path = resource.path(read.namespace.as_deref());
        return match list::list(caller, &path, Some(selector), list::JSON, keep).await {
            Ok(listed) if listed.objects.is_empty() => Lookup::Absent,
            Ok(listed) => {
                let items: Vec<Value> =
                    listed.objects.iter().filter_map(|object| object.value().ok().map(Cow::into_owned)).collect();
                Lookup::Found(Box::new(crate::tree::json!({ "items": items })))
            }
            Err(fault) => doubt(&fault, &refused(&fault, &resource.group, &resource.plural, &["list"])),
        };
    }
    match list::get(caller, &resource.object(read.namespace.as_deref(), &read.name), keep).await {
        Ok(value) => Lookup::Found(Box::new(value)),
        Err(CallFault::NotFound(name)) if name == read.name => Lookup::Absent,
        Err(fault) => doubt(&fault, &refused(&fault, &resource.group, &resource.plural, &["get"])),
    }
}

/// Puts one object where it belongs.
pub(super) fn place(outcome: &mut WorldRead, read: &ObjectRead, answer: Lookup) {
    let text = line(read);
    match (&read.used, answer) {
        (Use::Late(value, place, _), answer) => {
            outcome.sources.push(SourceObject { value: value.clone(), place: *place, source: text, answer });
        }
        (Use::Pins, answer) => outcome.pins = Some(answer),
        (Use::History, answer) => outcome.history = Some(answer),
        (Use::Approvals(place), answer) => outcome.approvals.push((*place, text, answer)),
        (Use::Referenced | Use::Pointed | Use::Application | Use::Kin, Lookup::Found(value)) => {
            match Object::from_value(*value, 0) {
                Ok(object) => outcome.world.live.push(object),
                Err(_) => outcome.world.unread.push(Unread {
                    what: text,
                    why: "the answer is not an object".to_owned(),
                    remedy: "try again".to_owned(),
                    keys: Vec::new(),
                }),
            }
        }
        // Told where it leads, and kept nowhere.
        (Use::Remote, _) => {}
        (_, Lookup::Absent | Lookup::NoKind) => {
            outcome.world.absent.push(Absent { what: text, object: Some(key(read)) });
            outcome.world.coverage.note_absent(key(read));
        }
        // Others may say the same, and that nobody says it is doubt of its own.
        (Use::Kin, Lookup::Unread(_)) => {}
        (_, Lookup::Unread(unread)) => outcome.world.unread.push(unread),
    }
}

/// What the last release wrote and the chart no longer renders is deleted, so its kinds are read too, and what goes with
/// it: a chart that renders nothing of Cluster API any more deletes all that it had.
async fn removed(
    caller: &Caller,
    online: &Online<'_>,
    catalogue: &mut Catalogue,
    outcome: &mut WorldRead,
    progress: &mut Progress<'_>,
) {
    let home = outcome.world.host.namespace.clone();
    let base = std::mem::take(&mut outcome.world.base);
    let more = needs::removed(online.rendered, &base, online.policy, home.as_deref(), &outcome.plan);
    let namespaces = more.scope.namespaces().cloned().unwrap_or_default();
    let known = outcome.plan.scope.namespaces().cloned().unwrap_or_default();
    let fresh: BTreeSet<String> = namespaces.difference(&known).cloned().collect();
    catalogue.more(caller, &wanted(&more)).await;
    if !fresh.is_empty() {
        // What the stream called for was not read in these namespaces, unless it was read everywhere.
        let mut kinds = outcome.plan.kinds.clone();
        kinds.retain(|kind, _| fresh.iter().any(|namespace| !outcome.world.coverage.has_list(kind, namespace)));
        outcome.plan.scope = Scope::Only(fresh);
        lists(caller, online, catalogue, &kinds, outcome, progress).await;
    }
    let everywhere = outcome.plan.kinds.values().any(|read| read.everywhere);
    outcome.plan.scope = needs::scope(known.into_iter().chain(namespaces).collect(), everywhere);
    lists(caller, online, catalogue, &more.kinds, outcome, progress).await;
    outcome.plan.kinds.extend(more.kinds);
    outcome.plan.providers |= !outcome.plan.kinds.is_empty();
    outcome.world.base = base;
    not_served(outcome);
}

/// A kind of which the last manifest holds objects was there when it was written. Helm stops where it is gone; where the
/// API server only does not say so, nothing is known of what the host deletes.
fn not_served(outcome: &mut WorldRead) {
    let mut kinds: BTreeMap<GroupKind, Vec<Key>> = BTreeMap::new();
    for object in outcome.world.base.objects.objects().iter().filter(|object| kinds::is_compared(&object.key)) {
        let kind = GroupKind::new(&object.key.group, &object.key.kind);
        if outcome.world.coverage.lacks(&kind) {
            kinds.entry(kind).or_default().push(object.key.clone());
        }
    }
    for (kind, keys) in kinds {
        outcome.world.unread.push(Unread {
            what: format!("what becomes of {} of kind {kind}", first_and_more(&keys)),
            why: "the last manifest holds them, and the API server does not list their kind".to_owned(),
            remedy: "install its provider again, or wait until kubectl api-resources lists it".to_owned(),
            keys,
        });
    }
}

/// The version in which kinds of a group are read: that of the chart.
pub(super) fn version_of(outcome: &WorldRead, group: &str) -> Option<String> {
    let mut same = outcome.plan.kinds.iter().filter(|(kind, _)| kind.group == group);
    same.find_map(|(_, read)| read.version.clone())
}

/// The key of an object that is read by name.
pub(super) fn key(read: &ObjectRead) -> Key {
    Key::of(&read.kind.group, &read.kind.kind, read.namespace.clone(), &read.name)
}

/// Keys of the rendered objects of a kind.
fn keys_of(online: &Online<'_>, kind: &GroupKind) -> Vec<Key> {
    let of = |key: &Key| key.group == kind.group && key.kind == kind.kind;
    online.rendered.objects().iter().map(|object| &object.key).filter(|key| of(key)).cloned().collect()
}

/// An object as words.
fn line(read: &ObjectRead) -> String {
    let place = read.namespace.as_deref().map(|namespace| format!("{namespace}/")).unwrap_or_default();
    format!("{} {place}{}", read.kind, read.name)
}

/// A fault as an unread.
pub(super) fn unread(what: &str, fault: &CallFault, remedy: &str, keys: Vec<Key>) -> Unread {
    Unread { what: what.to_owned(), why: fault.why(), remedy: remedy.to_owned(), keys }
}

/// What to do about a read that failed.
pub(super) fn refused(fault: &CallFault, group: &str, plural: &str, verbs: &[&str]) -> String {
    match fault {
        CallFault::Forbidden(_) => rights::remedy(group, plural, verbs),
        other => login(other),
    }
}

/// What to do about a fault that is not about one kind.
pub(super) fn login(fault: &CallFault) -> String {
    match fault {
        CallFault::Unauthorized => "log in again; kubectl get ns shows whether it worked".to_owned(),
        CallFault::Forbidden(_) => "bind the user to the role system:discovery".to_owned(),
        CallFault::Deadline(_) => "try again, or give more time with --deadline".to_owned(),
        _ => "try again; kubectl get --raw /readyz shows the state of the API server".to_owned(),
    }
}
