//! The loop of a MachineSet: `core/reconcilers/machineset` of Cluster API 1.14 (syncReplicas, createMachines, deleteMachines,
//! getMachinesToDeletePrioritized, reconcileUnhealthyMachines).

use std::cmp::Reverse;

use super::{Act, Fleet, Machine, Wait};
use crate::model::DeletionOrder;

/// One reconcile. A MachineSet makes what is missing where it can and may, or deletes what is too much.
pub(super) fn turn(
    fleet: &mut Fleet,
    set: usize,
    order: DeletionOrder,
    (can_make, may_make): (bool, bool),
) -> (Vec<Act>, Option<Wait>) {
    // What an old MachineSet has is left to the rollout.
    if fleet.sets[set].is_current {
        let is_condemned = |machine: &Machine| machine.is_condemned && !machine.is_going && machine.set == set;
        let all = fleet.machines.iter().enumerate();
        let condemned: Vec<usize> = all.filter(|(_, one)| is_condemned(one)).map(|(place, _)| place).collect();
        if !condemned.is_empty() {
            return (condemned.into_iter().map(|place| fleet.delete(place)).collect(), None);
        }
    }
    let there = fleet.machines.iter().filter(|machine| machine.set == set).count() as u64;
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
    let most = usize::try_from(there - wanted).unwrap_or(usize::MAX);
    if most == 1 {
        let own = fleet.machines.iter().enumerate().filter(|(_, machine)| machine.set == set);
        let first = own.min_by_key(|(_, machine)| priority(machine, order)).map(|(place, _)| place);
        let first = first.filter(|place| !fleet.machines[*place].is_going);
        return (first.map(|place| fleet.delete(place)).into_iter().collect(), None);
    }
    let mut going_first: Vec<usize> =
        (0..fleet.machines.len()).filter(|place| fleet.machines[*place].set == set).collect();
    let most = most.min(going_first.len());
    let sooner = |left: &usize, right: &usize| {
        let of = |place: &usize| priority(&fleet.machines[*place], order);
        of(left).cmp(&of(right))
    };
    // One of a thousand, a thousand times: only those that go are put in order.
    going_first.select_nth_unstable_by(most - 1, sooner);
    going_first[..most].sort_by(sooner);
    let acts = going_first.into_iter().take(most).filter(|place| !fleet.machines[*place].is_going);
    (acts.collect::<Vec<_>>().into_iter().map(|place| fleet.delete(place)).collect(), None)
}

/// The smaller, the sooner: what is being deleted, what somebody marked, what is not healthy, then by the order, then by name.
fn priority(machine: &Machine, order: DeletionOrder) -> (u8, Reverse<i64>, i64, &str) {
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
