//! The planner of MachineDeployments: `core/reconcilers/machinedeployment` of Cluster API 1.14 (planRollingUpdate, planOnDelete,
//! reconcileNewMachineSet, reconcileOldMachineSetsRollingUpdate, reconcileDeadlockBreaker, mdutil.NewMSNewReplicas).

use super::{Fleet, Set, Wait};

/// What one reconcile wants of each MachineSet; `None` where it leaves it.
type Intents = Vec<Option<u64>>;

/// One reconcile with the strategy `RollingUpdate`. Percentages are numbers by now.
pub(super) fn roll(fleet: &mut Fleet, surge: u64, unavailable: u64) {
    let new = current(fleet);
    let mut intents: Intents = vec![None; fleet.sets.len()];
    intents[new] = grow(fleet, new, fleet.wanted + surge);
    let least = fleet.wanted.saturating_sub(unavailable);
    shrink(fleet, new, least, &mut intents);
    break_deadlock(fleet, new, &mut intents);
    let _moved = apply(fleet, &intents);
}

/// One reconcile with the strategy `OnDelete`: old MachineSets forget the Machines that somebody deleted.
pub(super) fn on_delete(fleet: &mut Fleet) -> Option<Wait> {
    let new = current(fleet);
    let mut intents: Intents = vec![None; fleet.sets.len()];
    intents[new] = grow(fleet, new, fleet.wanted);
    let old = || (0..fleet.sets.len()).filter(move |set| *set != new);
    let total: u64 = old().map(|set| fleet.sets[set].wanted).sum();
    if total > 0 {
        let grown = intents[new].unwrap_or(fleet.sets[new].wanted);
        let mut left = (total + grown).saturating_sub(fleet.wanted);
        for set in old() {
            let Set { wanted, told, .. } = fleet.sets[set];
            let lost = wanted.saturating_sub(told);
            if lost > 0 {
                intents[set] = Some(wanted - lost);
                left = left.saturating_sub(lost);
            }
        }
        for set in old() {
            let now = intents[set].unwrap_or(fleet.sets[set].wanted);
            let less = now.min(left);
            if less > 0 {
                intents[set] = Some(fleet.sets[set].wanted.saturating_sub(less));
                left -= less;
            }
        }
    }
    let is_done = apply(fleet, &intents);
    let has_old = fleet.machines.iter().any(|machine| machine.is_outdated && !machine.is_going);
    (!is_done && has_old).then_some(Wait::ByHand)
}

/// The place of the MachineSet that the template matches; one is made where there is none.
fn current(fleet: &mut Fleet) -> usize {
    if let Some(place) = fleet.sets.iter().position(|set| set.is_current) {
        return place;
    }
    fleet.sets.push(Set { wanted: 0, told: 0, told_available: 0, is_current: true });
    fleet.sets.len() - 1
}

/// What the new MachineSet is to have (reconcileNewMachineSet, NewMSNewReplicas): `most` Machines in all.
fn grow(fleet: &Fleet, new: usize, most: u64) -> Option<u64> {
    let has = fleet.sets[new].wanted;
    if has == fleet.wanted {
        return None;
    }
    if has > fleet.wanted {
        return Some(fleet.wanted);
    }
    // What was asked for counts before it is there, and what was given up as long as it is there (TotalMachineSetsReplicaSum).
    let total: u64 = fleet.sets.iter().map(|set| set.wanted.max(set.told)).sum();
    let more = most.saturating_sub(total).min(fleet.wanted - has);
    (more > 0).then_some(has + more)
}

/// What the old MachineSets are to give up, so that `least` Machines stay available (reconcileOldMachineSetsRollingUpdate).
fn shrink(fleet: &Fleet, new: usize, least: u64, intents: &mut Intents) {
    let sets = &fleet.sets;
    let of_old: u64 = sets.iter().enumerate().filter(|(set, _)| *set != new).map(|(_, set)| set.wanted).sum();
    if of_old == 0 {
        return;
    }
    let asked: u64 = sets.iter().map(|set| set.wanted).sum();
    let going: u64 = sets
        .iter()
        .zip(intents.iter())
        .map(|(set, intent)| set.told.saturating_sub(intent.map_or(set.wanted, |intent| set.wanted.min(intent))))
        .sum();
    let missing = sets[new].wanted.saturating_sub(sets[new].told_available);
    let mut room = asked.saturating_sub(going).saturating_sub(least).saturating_sub(missing);
    let mut available: u64 = sets.iter().map(|set| set.told_available).sum();
    for is_sick_only in [true, false] {
        for set in (0..sets.len()).filter(|set| *set != new) {
            if room == 0 {
                break;
            }
            give_up(fleet, set, least, is_sick_only, (&mut room, &mut available), intents);
        }
    }
}

/// What one old MachineSet is to give up (scaleDownOldMSs). Which Machine it will delete is not known to the planner, so it counts on
/// an available one.
fn give_up(
    fleet: &Fleet,
    place: usize,
    least: u64,
    is_sick_only: bool,
    (room, available): (&mut u64, &mut u64),
    intents: &mut Intents,
) {
    let set = &fleet.sets[place];
    let has = intents[place].unwrap_or(set.wanted);
    let most = if is_sick_only { has.saturating_sub(set.told_available) } else { has };
    let mut less = most.min(*room);
    if less == 0 {
        return;
    }
    if set.told_available > 0 {
        let mut lost = set.told.saturating_sub(has - less);
        if lost > 0 {
            let spare = available.saturating_sub(least);
            if spare < lost {
                let revised = set.told.saturating_sub(spare).min(has);
                less = has - revised;
                lost = set.told.saturating_sub(revised);
            }
            *available = available.saturating_sub(set.told_available.min(lost));
        }
    }
    if less > 0 {
        intents[place] = Some(has - less);
        *room = room.saturating_sub(less);
    }
}

/// Where nothing moves and old Machines are not available, one of them goes all the same (reconcileDeadlockBreaker).
fn break_deadlock(fleet: &Fleet, new: usize, intents: &mut Intents) {
    let sets = &fleet.sets;
    let old = || sets.iter().enumerate().filter(|(set, _)| *set != new);
    let told: u64 = old().map(|(_, set)| set.told).sum();
    let available: u64 = old().map(|(_, set)| set.told_available).sum();
    let moves = sets.iter().any(|set| set.wanted != set.told) || intents.iter().any(Option::is_some);
    if told == 0 || told == available || moves || sets[new].told_available != sets[new].told {
        return;
    }
    if let Some((place, set)) = old().find(|(_, set)| set.told_available != set.told && set.wanted > 0) {
        intents[place] = Some(set.wanted - 1);
    }
}

/// Writes the intents; whether any changes something.
fn apply(fleet: &mut Fleet, intents: &Intents) -> bool {
    let mut moved = false;
    for (set, intent) in fleet.sets.iter_mut().zip(intents) {
        if let Some(intent) = *intent {
            moved |= set.wanted != intent;
            set.wanted = intent;
        }
    }
    moved
}

/// Why a reconcile of a rolling update changed nothing while old Machines are still there.
pub(super) fn waits(fleet: &Fleet) -> Option<Wait> {
    let new = fleet.sets.iter().position(|set| set.is_current);
    let has_old = fleet.sets.iter().enumerate().any(|(set, one)| Some(set) != new && one.told.max(one.wanted) > 0);
    let [going, sick] = fleet.ailing();
    match (has_old, sick.is_empty(), going.is_empty()) {
        (false, _, _) => None,
        (_, false, _) => Some(Wait::NotReady(sick)),
        (_, _, false) => Some(Wait::Going(going)),
        _ => Some(Wait::NoRoom),
    }
}
