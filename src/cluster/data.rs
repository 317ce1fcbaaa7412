//! Secrets and ConfigMaps that change beside no object of Cluster API, or beside none that says so: whether something in the
//! cluster names them. Its Clusters are asked for first, and where a namespace has none, nothing more is.

use std::collections::BTreeSet;

use super::call::Caller;
use super::discover::Catalogue;
use super::read::{lists, objects_of, place};
use super::{Online, Progress, WorldRead};
use crate::cluster::needs;
use crate::cluster::plan::{GroupKind, ObjectRead, ReadPlan, Scope, Use};
use crate::hashed::HashSet;
use crate::host::{HostKind, kinds, referred};
use crate::kinds::Role;
use crate::kinds::contract::{CLUSTER, CORE, MACHINE, MACHINE_DEPLOYMENT, MACHINE_POOL, MACHINE_SET};
use crate::object::{Key, Object};
use crate::providers::kind;
use crate::tree::Map;
use crate::world::BaseKind;

/// What the owners of Machines are read for.
const WHY: &str = "changed Secrets and ConfigMaps may be theirs";

/// Reads the Clusters around changed data, and where there are some, the owners of Machines.
pub(super) async fn around(
    caller: &Caller,
    online: &Online<'_>,
    catalogue: &mut Catalogue,
    outcome: &mut WorldRead,
    progress: &mut Progress<'_>,
) {
    // Of a release that nobody names nothing is known, which is doubt of its own, unless a file says what was written last.
    let host = &outcome.world.host;
    let is_named = host.release.is_some() || matches!(host.kind, Some(HostKind::Kubectl | HostKind::Argocd));
    if !is_named && outcome.world.base.kind == BaseKind::Unknown {
        return;
    }
    let clusters = GroupKind::new(CORE, CLUSTER);
    let mut namespaces: BTreeSet<String> =
        changed(online, outcome).into_iter().filter_map(|key| key.namespace.clone()).collect();
    namespaces.retain(|namespace| !outcome.world.coverage.has_list(&clusters, namespace));
    let had = outcome.plan.scope.clone();
    for names in [&[CLUSTER][..], &[MACHINE_DEPLOYMENT, MACHINE_SET, MACHINE]] {
        if namespaces.is_empty() {
            break;
        }
        let mut more = ReadPlan::default();
        for name in names {
            more.list(GroupKind::new(CORE, name), WHY);
        }
        if names.contains(&MACHINE) {
            more.may_list(GroupKind::new(CORE, MACHINE_POOL), WHY);
        }
        catalogue.more(caller, &more.kinds.keys().map(|kind| (kind.clone(), None)).collect()).await;
        outcome.plan.scope = needs::scope(namespaces.clone(), false);
        lists(caller, online, catalogue, &more.kinds, outcome, progress).await;
        let found = outcome.world.live.objects().iter().filter(|object| kind(&object.key).role == Role::Cluster);
        let found: BTreeSet<String> = found.filter_map(|object| object.key.namespace.clone()).collect();
        namespaces.retain(|namespace| found.contains(namespace));
        if namespaces.is_empty() {
            break;
        }
        for (kind, read) in more.kinds {
            outcome.plan.kinds.entry(kind).or_insert(read);
        }
    }
    outcome.plan.providers |= !outcome.plan.kinds.is_empty();
    let all = had.namespaces().into_iter().flatten().cloned().chain(namespaces).collect();
    outcome.plan.scope = needs::scope(all, matches!(had, Scope::Everywhere(_)));
}

/// Reads the changed data that live objects name, or in which a live Cluster keeps its keys.
pub(super) async fn named(caller: &Caller, online: &Online<'_>, catalogue: &Catalogue, outcome: &mut WorldRead) {
    let changed = changed(online, outcome);
    let names: HashSet<&str> = changed.iter().map(|key| key.name.as_str()).collect();
    // What cannot be read names nothing here; that it cannot is told where it is compared.
    let named = referred::named(&outcome.world.live, &names).unwrap_or_default();
    let live = &outcome.world.live;
    let is_of_cluster = |key: &Key| referred::cluster_of(key).is_some_and(|cluster| live.get(&cluster).is_some());
    let wanted = changed.iter().filter(|key| named.contains(key.name.as_str()) || is_of_cluster(key));
    let reads: Vec<ObjectRead> = wanted
        .map(|key| ObjectRead {
            kind: GroupKind::new("", &key.kind),
            version: Some("v1".to_owned()),
            namespace: key.namespace.clone(),
            name: key.name.clone(),
            used: Use::Referenced,
        })
        .filter(|read| !outcome.plan.objects.contains(read))
        .filter(|read| live.get(&super::read::key(read)).is_none())
        .collect();
    let answers = objects_of(caller, catalogue, &reads).await;
    for (read, answer) in reads.iter().zip(answers) {
        place(outcome, read, answer);
    }
    outcome.plan.objects.extend(reads);
}

/// The rendered or removed Secrets and ConfigMaps that are not as they were written last time, with their namespaces.
fn changed(online: &Online<'_>, outcome: &WorldRead) -> Vec<Key> {
    let (rendered, base) = (online.rendered, &outcome.world.base.objects);
    let home = outcome.world.host.namespace.as_deref();
    let is_data = |object: &&Object| kinds::is_compared_when_referred(&object.key);
    let said = |object: &Object| -> Option<Map> {
        let mut map = object.value().ok()?.as_object()?.clone();
        map.retain(|_, field| !field.is_null());
        Some(map)
    };
    let stays = |object: &Object, other: Option<&Object>| {
        other.is_some_and(|other| said(object).is_some_and(|one| said(other) == Some(one)))
    };
    let written = rendered.objects().iter().filter(is_data).filter(|object| !stays(object, base.get(&object.key)));
    let gone = base.objects().iter().filter(is_data).filter(|object| rendered.get(&object.key).is_none());
    let full =
        |object: &Object| object.key.in_namespace(object.key.namespace.clone().or_else(|| home.map(str::to_owned)));
    written.chain(gone).map(full).filter(|key| key.namespace.is_some()).collect()
}
