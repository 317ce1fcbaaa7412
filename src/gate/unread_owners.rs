//! Owners that are there and were not read: what lives names them. An object all of whose owners are gone is deleted
//! (Kubernetes `pkg/controller/garbagecollector/garbagecollector.go`, attemptToDeleteItem), so a dump without them was made without their
//! kind. What a write does to such an owner nobody knows.

use std::collections::BTreeMap;

use super::Judged;
use crate::compare::Pair;
use crate::kinds::Role;
use crate::kinds::contract::{CORE, DEPLOYMENT_NAME, MACHINE_POOL};
use crate::kinds::fields::{cluster_name, label, owned_by};
use crate::kinds::reads::names_pools;
use crate::model::Action;
use crate::object::{GroupKind, Key, is_deleting};
use crate::providers::kind;
use crate::world::{Coverage, Extent, LiveKind, Unread};

/// What names an owner that was not read.
struct Child<'j> {
    key: &'j Key,
    cluster: Option<String>,
    /// The MachineDeployment of a MachineSet, where its Machine says it.
    deployment: Option<String>,
}

/// A doubt for each kind of owner that a change may reach and that nobody read.
pub(super) fn of(judged: &Judged<'_>) -> Vec<Unread> {
    let changes: Vec<&Pair> = judged.pairs.iter().filter(|pair| may_reach_owners(pair)).collect();
    if judged.world.source.kind != LiveKind::Cluster || changes.is_empty() {
        return Vec::new();
    }
    let mut unread: BTreeMap<(String, String), BTreeMap<Key, &Key>> = BTreeMap::new();
    for (owner, child) in missing(judged) {
        if changes.iter().any(|pair| reaches(pair, &owner, &child)) {
            let kind = (owner.kind.to_string(), owner.group.to_string());
            unread.entry(kind).or_default().insert(owner, child.key);
        }
    }
    let owners = unread.into_iter().filter_map(|(kind, owners)| doubt(kind, &owners));
    owners.chain(unread_pools(judged, &changes)).collect()
}

/// A doubt where a change reaches the pools of a Cluster, and nobody asked which there are: snapshots of older versions of this program did not.
fn unread_pools(judged: &Judged<'_>, changes: &[&Pair]) -> Option<Unread> {
    let pools = GroupKind::new(CORE, MACHINE_POOL);
    let coverage = &judged.world.coverage;
    let is_listed = |pair: &&&Pair| match kind(&pair.key).role {
        Role::Cluster => pair.key.namespace.as_deref().is_some_and(|namespace| coverage.has_list(&pools, namespace)),
        _ => matches!(coverage.extent(&pools), Some(Extent::Everywhere | Extent::NotServed)),
    };
    let has = |pair: &&&Pair| {
        matches!(kind(&pair.key).role, Role::Cluster | Role::Class)
            && [&pair.live, &pair.predicted].into_iter().flatten().any(names_pools)
    };
    // Who may not read them hears of that already.
    let is_said = judged.world.unread.iter().any(|unread| unread.what.contains(MACHINE_POOL));
    let first = changes.iter().filter(has).find(|pair| !is_listed(pair)).filter(|_| !is_said)?;
    Some(Unread {
        what: format!("the MachinePools of {}", first.key),
        why: "they were not asked for".to_owned(),
        remedy: "take the snapshot anew, by an account that may list machinepools".to_owned(),
        keys: Vec::new(),
    })
}

/// The doubt about the owners of one kind.
fn doubt((kind, group): (String, String), owners: &BTreeMap<Key, &Key>) -> Option<Unread> {
    let (first, child) = owners.first_key_value()?;
    let more = match owners.len() - 1 {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    Some(Unread {
        what: format!("what becomes of {first}{more}"),
        why: format!("{child} names it as its owner, so it is there, and it was not read"),
        remedy: format!("add {kind}.{group} to the live side"),
        keys: Vec::new(),
    })
}

/// Owners of Machines, and Clusters, that live objects name and that were neither read nor looked for; the first child of each.
fn missing<'j>(judged: &Judged<'j>) -> BTreeMap<Key, Child<'j>> {
    let mut out = BTreeMap::new();
    let is_asked = |owner: &Key| {
        let role = kind(owner).role;
        role == Role::Cluster || role.owns_machines()
    };
    let is_shown = |owner: &Key| judged.world.coverage != Coverage::Whole && judged.world.coverage.shows(owner);
    let children = judged.view.objects().filter(|object| {
        let role = kind(&object.key).role;
        role.owns_machines() || role == Role::Machine
    });
    for object in children {
        let Ok(value) = object.value() else { continue };
        if is_deleting(&value) {
            continue;
        }
        for owner in owned_by(&object.key, &value).filter(is_asked) {
            if out.contains_key(&owner) || judged.view.get(&owner).object().is_some() || is_shown(&owner) {
                continue;
            }
            let cluster = cluster_name(&value).map(str::to_owned);
            let deployment = label(&value, DEPLOYMENT_NAME).map(str::to_owned);
            out.insert(owner, Child { key: &object.key, cluster, deployment });
        }
    }
    out
}

/// Whether a change is one that owners feel which it does not name.
fn may_reach_owners(pair: &Pair) -> bool {
    let role = kind(&pair.key).role;
    pair.action != Action::Unchanged
        && matches!(role, Role::Cluster | Role::Class | Role::HealthCheck | Role::Template | Role::Deployment)
}

/// Whether a change may reach an owner: a Cluster all of its own, a class whatever there is, a template who makes Machines of it, a
/// MachineDeployment its MachineSets. One that is rendered as if it were new is judged so where it is an owner of Machines.
fn reaches(pair: &Pair, owner: &Key, child: &Child<'_>) -> bool {
    let (own, role) = (kind(&pair.key).role, kind(owner).role);
    if own != Role::Class && pair.key.namespace.is_some() && pair.key.namespace != owner.namespace {
        return false;
    }
    match own {
        Role::Class => true,
        Role::Cluster if role == Role::Cluster => pair.key.name == owner.name,
        Role::Cluster => child.cluster.as_ref().is_none_or(|cluster| *cluster == *pair.key.name),
        Role::HealthCheck => role.owns_machines(),
        Role::Template => role.owns_machines() && role != Role::Set,
        Role::Deployment => {
            role == Role::Set && child.deployment.as_ref().is_none_or(|deployment| *deployment == *pair.key.name)
        }
        _ => false,
    }
}
