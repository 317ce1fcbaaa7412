//! Adoption: what a new owner, or a label, takes over among MachineSets and Machines that nobody controls.
//! Read beside `getAndAdoptMachineSetsForDeployment`, `getAndAdoptMachinesForMachineSet` and `adoptMachines` in
//! `core/reconcilers/machine{deployment,set}` and `controlplane/kubeadm/reconcilers/kubeadmcontrolplane` of Cluster API 1.14.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::holds;
use super::machines::{controller, has_labels, is_orphan};
use super::side::Side;
use super::taken::{Taken, taken};
use crate::judge::stage::Stage;
use crate::kinds::Mirror;
use crate::kinds::contract::CORE;
use crate::kinds::contract::MACHINE;
use crate::kinds::contract::MACHINE_SET;
use crate::kinds::fields::{self, has_controller};
use crate::kinds::{Role, Typed};
use crate::model::Member;
use crate::model::Unit;
use crate::model::{Act, hold_of};
use crate::object::{Key, is_deleting};
use crate::providers::core::machine_deployment::{self, Set};
use crate::providers::machines;
use crate::tree::Value;

/// What a new owner takes over; `None` where nobody waits for it.
#[must_use]
pub(in crate::judge) fn by_new(stage: &Stage<'_>, key: &Typed<'_>, owner: &Value) -> Option<Taken> {
    let side = Side::after(stage);
    let mut owner = owner.clone();
    let mut held = Vec::new();
    let units = if key.known.role == Role::Set {
        // It counts its Machines, and none of them is out of date for it.
        let names = matching(side, key, &owner);
        vec![Unit { count: names.len() as u64, names, before: Vec::new(), after: Vec::new() }]
    } else {
        let mirror = key.known.mirror?;
        let cluster = stage.cluster_of(key, &owner);
        mirror.fill_in(&mut owner, &stage.versions);
        held = holds(side, key, mirror, &owner, cluster.as_ref());
        units(side, key, mirror, &owner, cluster.as_ref().map_or("", |cluster| cluster.name.as_str()))
    };
    if units.iter().all(|unit| unit.count == 0) {
        return None;
    }
    let names = |units: &mut dyn Iterator<Item = &Unit>| units.flat_map(|unit| unit.names.clone()).collect::<Vec<_>>();
    let outdated = names(&mut units.iter().filter(|unit| !unit.after.is_empty()));
    let all = names(&mut units.iter());
    let keeps_some = fields::wanted(&owner, None) > 0;
    let act = if keeps_some && !outdated.is_empty() { Act::Replace } else { Act::Fewer };
    Some(taken(stage, key, &owner, hold_of(&held, act), outdated, all))
}

/// The Machines that a new owner takes over, with what is out of date about them.
fn units(side: Side<'_>, key: &Typed<'_>, mirror: &'static dyn Mirror, owner: &Value, cluster: &str) -> Vec<Unit> {
    let stage = side.stage;
    let (versions, now) = (&stage.versions, stage.scene.world.now);
    if key.known.role == Role::Deployment {
        let sets = orphan_sets(side, key, owner);
        let causes = machine_deployment::outdated(&sets, owner, versions, now);
        return sets
            .into_iter()
            .zip(causes)
            .map(|(set, after)| Unit { names: set.machines, count: set.count, before: Vec::new(), after })
            .collect();
    }
    let members: Vec<Member> = machines::of_control_plane(stage.scene.view, key, cluster, versions);
    let free = members.into_iter().filter(|member| !has_controller(&member.machine) && !member.is_deleting());
    free.map(|member| Unit {
        names: vec![member.name.clone()],
        count: 1,
        before: Vec::new(),
        after: mirror.outdated(&member, owner, versions, now),
    })
    .collect()
}

/// The MachineSets without a controller that the selector of a MachineDeployment matches.
pub(in crate::judge) fn orphan_sets(side: Side<'_>, key: &Key, owner: &Value) -> Vec<Set> {
    let selector = owner.pointer("/spec/selector").unwrap_or(&Value::Null);
    if is_empty(selector) {
        return Vec::new();
    }
    let free = loose(side, key, owner, MACHINE_SET).into_iter().filter(|(_, set)| has_labels(selector, set));
    free.map(|(key, set)| {
        let machines = matching(side, &key, &set);
        let own = machine_deployment::set(side.stage.scene.view, &key, Arc::unwrap_or_clone(set));
        let mut names = own.machines.clone();
        names.extend(machines.into_iter().filter(|name| !own.machines.contains(name)));
        Set { count: own.count.max(names.len() as u64), machines: names, ..own }
    })
    .collect()
}

/// The objects of a kind that nobody controls, in the namespace of an owner. Most are controlled: only those are read that
/// name no owner, or only their Cluster, or that are written.
fn loose(side: Side<'_>, key: &Key, owner: &Value, kind: &str) -> Vec<(Key, Arc<Value>)> {
    let stage = side.stage;
    let live = stage.scene.view;
    let cluster = stage.cluster_of(key, owner);
    let of_cluster = cluster.iter().flat_map(|cluster| live.owned_by(cluster));
    let known = live.unowned().chain(of_cluster).map(|object| &object.key);
    let written = stage.pairs_of_kind(kind).map(|pair| &pair.key);
    let is_here = |other: &&Key| {
        other.group == CORE && other.kind == kind && (other.namespace == key.namespace || other.namespace.is_none())
    };
    let keys: BTreeSet<&Key> = known.chain(written).filter(is_here).collect();
    let found = keys.into_iter().filter_map(|key| Some((key.clone(), side.get(key)?)));
    found.filter(|(_, object)| is_orphan(object)).collect()
}

/// Names of the Machines without a controller that the selector of a MachineSet matches.
fn matching(side: Side<'_>, key: &Key, set: &Value) -> Vec<String> {
    let selector = set.pointer("/spec/selector").unwrap_or(&Value::Null);
    if is_empty(selector) {
        return Vec::new();
    }
    let free = loose(side, key, set, MACHINE).into_iter().filter(|(_, machine)| has_labels(selector, machine));
    free.map(|(key, _)| key.name.clone()).collect()
}

/// The Machines of a MachineSet that are too many, as it counts them on one side: its own and those that it takes over.
#[must_use]
pub(in crate::judge) fn surplus(side: Side<'_>, key: &Key, set: &Value) -> u64 {
    selected(side, key, set).saturating_sub(wanted(set))
}

/// How many Machines a MachineSet counts on one side.
#[must_use]
pub(super) fn selected(side: Side<'_>, key: &Key, set: &Value) -> u64 {
    let selector = set.pointer("/spec/selector").unwrap_or(&Value::Null);
    if is_empty(selector) {
        return 0;
    }
    let machines = side.all(CORE, MACHINE, key.namespace.as_deref());
    let is_counted = |(name, machine): &&(Key, Arc<Value>)| {
        has_labels(selector, machine)
            // One that is being deleted goes with or without a set that is.
            && !(is_deleting(set) && is_deleting(machine))
            && controller(name, machine).is_none_or(|owner| owner.kind == MACHINE_SET && owner.name == key.name)
    };
    machines.iter().filter(is_counted).count() as u64
}

/// How many Machines a MachineSet wants: none while it is being deleted.
#[must_use]
pub(in crate::judge) fn wanted(set: &Value) -> u64 {
    if is_deleting(set) { 0 } else { fields::wanted(set, None) }
}

/// Whether a selector selects nothing in particular.
fn is_empty(selector: &Value) -> bool {
    let none = |key: &str| {
        selector.get(key).is_none_or(|value| {
            value.as_object().is_none_or(crate::tree::Map::is_empty) && value.as_array().is_none_or(Vec::is_empty)
        })
    };
    none("matchLabels") && none("matchExpressions")
}
