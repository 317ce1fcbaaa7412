//! The loop of a MachineSet: `core/reconcilers/machineset` of Cluster API 1.14 (syncReplicas, createMachines, deleteMachines,
//! getMachinesToDeletePrioritized, reconcileUnhealthyMachines).

use std::cmp::Reverse;

use super::{Act, Fleet, Machine, Wait};
use crate::model::DeletionOrder;

/// Replaces what a health check handed to the MachineSet; what an old one has is left to the rollout.
pub(super) fn remedy(fleet: &mut Fleet, set: usize) -> Vec<Act> {
    if !fleet.sets[set].is_current {
        return Vec::new();
    }
    let is_condemned = |machine: &Machine| machine.is_condemned && !machine.is_going && machine.set == set;
    let all = fleet.machines.iter().enumerate();
    let condemned: Vec<usize> = all.filter(|(_, one)| is_condemned(one)).map(|(place, _)| place).collect();
    condemned.into_iter().map(|place| fleet.delete(place)).collect()
}

/// Makes what is missing beside the Machines that are `there` where it can and may, or deletes what is too much.
pub(super) fn scale(
    fleet: &mut Fleet,
    set: usize,
    there: u64,
    first: impl FnOnce(&Fleet, usize) -> Vec<usize>,
    (can_make, may_make): (bool, bool),
) -> (Vec<Act>, Option<Wait>) {
    let wanted = fleet.sets[set].wanted;
    if there < wanted {
        if !may_make || !can_make {
            return (Vec::new(), may_make.then_some(Wait::CannotMake));
        }
        return ((there..wanted).map(|_| fleet.make(set, String::new())).collect(), None);
    }
    if there == wanted {
        return (Vec::new(), None);
    }
    let first = first(fleet, usize::try_from(there - wanted).unwrap_or(usize::MAX));
    // What goes already counts as one of those that go.
    let stay: Vec<usize> = first.into_iter().filter(|place| !fleet.machines[*place].is_going).collect();
    (stay.into_iter().map(|place| fleet.delete(place)).collect(), None)
}

/// Class, newest or oldest, name.
pub(super) type Priority<'m> = (u8, Reverse<i64>, i64, &'m str);

/// The places of the Machines of a MachineSet that go first.
pub(super) fn foremost(fleet: &Fleet, set: usize, order: DeletionOrder, most: usize) -> Vec<usize> {
    let all = fleet.machines.iter().enumerate().filter(|(_, machine)| machine.set == set);
    let mut own: Vec<_> = all.map(|(place, machine)| (priority(machine, order), place)).collect();
    own.sort_unstable();
    own.into_iter().take(most).map(|(_, place)| place).collect()
}

/// The smaller, the sooner: what is being deleted, what somebody marked, what is not healthy, then by the order, then by name.
pub(super) fn priority(machine: &Machine, order: DeletionOrder) -> Priority<'_> {
    let class = match machine {
        Machine { is_going: true, .. } => 0,
        Machine { is_marked: true, .. } => 1,
        Machine { is_sick: true, .. } => 2,
        Machine { .. } => 3,
    };
    let (newest, oldest) = match order {
        _ if class < 3 => (0, 0),
        DeletionOrder::Random => (0, 0),
        DeletionOrder::Newest => (machine.born, 0),
        DeletionOrder::Oldest => (0, machine.born),
    };
    (class, Reverse(newest), oldest, &machine.name)
}
