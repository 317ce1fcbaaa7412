//! The Machines of a cluster on one side of a write: with their owners, and with the labels and annotations that a changed
//! template gives to Machines that exist (`core/reconcilers/machineset/machineset_controller.go` syncMachines and
//! `controlplane/kubeadm/pkg/desiredstate/desired_state.go` of Cluster API 1.14).

use std::sync::Arc;

use super::pause;
use super::side::Side;
use crate::hashed::HashMap;
use crate::judge::topology;
use crate::kinds::contract::CORE;
use crate::kinds::contract::MACHINE;
use crate::kinds::contract::MACHINE_SET;
use crate::kinds::fields;
pub(super) use crate::kinds::fields::controller;
use crate::object::{Key, Object, is_deleting};
use crate::providers::machines::read;
use crate::tree::Value;

/// A Machine of a cluster.
#[derive(Debug, Clone)]
pub(super) struct KnownMachine {
    /// Its name.
    pub(super) name: String,
    /// The Machine in the superset form, as it is on the side that was asked.
    pub(super) value: Value,
    /// The control plane or MachineDeployment (or MachineSet that stands alone) that replaces it; `None` for an orphan.
    pub(super) owner: Option<Key>,
    /// The MachineSet between both.
    pub(super) set: Option<Key>,
}

impl KnownMachine {
    /// Whether it is being deleted.
    #[must_use]
    pub(super) fn is_deleting(&self) -> bool {
        is_deleting(&self.value)
    }
}

/// The Machines of a cluster as they are kept.
fn live<'s>(side: Side<'s>, cluster: &Key) -> impl Iterator<Item = &'s Object> {
    let all = side.stage.scene.view.machines_of_cluster(&cluster.name, cluster.namespace.as_deref());
    all.filter(|object| object.key.kind == MACHINE)
}

/// Whether a cluster has Machines.
pub(super) fn has_any(side: Side<'_>, cluster: &Key) -> bool {
    live(side, cluster).next().is_some()
}

/// Whether a Machine of a cluster may say a word: the text of one does, or one is written.
pub(super) fn may_say(side: Side<'_>, cluster: &Key, word: &str) -> bool {
    live(side, cluster).any(|object| side.stage.pair(&object.key).is_some() || object.may_say(word))
}

/// Whether a Machine of a cluster may be being deleted: one is, or is written. No template hands that on.
pub(super) fn may_be_deleting(side: Side<'_>, cluster: &Key) -> bool {
    let is = |object: &Object| object.value().is_ok_and(|value| is_deleting(&value));
    live(side, cluster).any(|object| side.stage.pair(&object.key).is_some() || is(object))
}

/// The Machines of a cluster.
pub(super) fn of_cluster(side: Side<'_>, cluster: &Key) -> Vec<KnownMachine> {
    let stage = side.stage;
    let mut known: HashMap<Key, Option<Handed>> = HashMap::default();
    live(side, cluster)
        .filter_map(|object| {
            // Most Machines are in no stream: what was read is what there is.
            let mut value = if stage.pair(&object.key).is_some() {
                Arc::unwrap_or_clone(side.get(&object.key)?)
            } else {
                read(object, &stage.versions)?
            };
            let (owner, set) = owner(side, &object.key, &value);
            if let Some(owner) = owner.as_ref().filter(|_| side.is_after())
                && let Some(Handed(before, after)) =
                    known.entry(owner.clone()).or_insert_with(|| handed(side, owner)).as_ref()
            {
                topology::change_metadata(&mut value, before, after);
            }
            Some(KnownMachine { name: object.key.name.clone(), value, owner, set })
        })
        .collect()
}

/// Who replaces a Machine, and the MachineSet between.
fn owner(side: Side<'_>, key: &Key, machine: &Value) -> (Option<Key>, Option<Key>) {
    let Some(direct) = controller(key, machine) else { return (None, None) };
    if direct.kind != MACHINE_SET {
        return (Some(direct), None);
    }
    let above = side.get(&direct).and_then(|set| controller(&direct, &set));
    (above.or_else(|| Some(direct.clone())), Some(direct))
}

/// The labels and annotations in the template of an owner, before and after a write.
#[derive(Debug, Clone)]
struct Handed(Value, Value);

/// What a write hands to the Machines of an owner; `None` where that is nothing.
fn handed(side: Side<'_>, owner: &Key) -> Option<Handed> {
    let (before, after) = (side.stage.before(owner)?, side.get(owner)?);
    let at = if owner.group == CORE { "/spec/template/metadata" } else { "/spec/machineTemplate/metadata" };
    let of = |owner: &Value| owner.pointer(at).cloned().unwrap_or_default();
    let handed = Handed(of(&before), of(&after));
    if handed.0 == handed.1 {
        return None;
    }
    let cluster = side.stage.cluster_of(owner, &after);
    pause::of_object(side, owner, &after, cluster.as_ref()).is_empty().then_some(handed)
}

/// Names of Machines, in their order.
#[must_use]
pub(super) fn names(found: &[&KnownMachine]) -> Vec<String> {
    let mut names: Vec<String> = found.iter().map(|found| found.name.clone()).collect();
    names.sort();
    names
}

/// Whether an object has no owner that controls it.
#[must_use]
pub(super) fn is_orphan(object: &Value) -> bool {
    !fields::has_controller(object) && !is_deleting(object)
}

/// Labels of an object, as a selector asks for them.
#[must_use]
pub(super) fn has_labels(selector: &Value, object: &Value) -> bool {
    crate::kinds::labels::selects(selector, |key| fields::label(object, key)) == Some(true)
}
