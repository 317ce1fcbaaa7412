//! The loop of control planes: `controlplane/kubeadm/reconcilers/kubeadmcontrolplane` of Cluster API 1.14 (reconcile, rollingUpdate,
//! scaleUpControlPlane, scaleDownControlPlane, preflightChecks) and its like in cluster-api-provider-rke2 0.21 (upgradeControlPlane).

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::{Act, Fleet, MADE, Machine, Wait};

/// One reconcile: at most one Machine is made or deleted.
pub(super) fn turn(fleet: &mut Fleet, surge: u64, sick_first: bool, can_make: bool) -> (Vec<Act>, Option<Wait>) {
    if let Some(place) = condemned(fleet) {
        return (vec![fleet.delete(place)], None);
    }
    let outdated: Vec<usize> = of(fleet, |machine| machine.is_outdated && !machine.is_going);
    let there = fleet.count();
    let grows = there < fleet.wanted || (!outdated.is_empty() && there < fleet.wanted + surge);
    if grows {
        if let Some(wait) = preflight(fleet, None) {
            return (Vec::new(), Some(wait));
        }
        if !can_make {
            return (Vec::new(), Some(Wait::CannotMake));
        }
        let domain = next_domain(fleet);
        return (vec![fleet.make(0, domain)], None);
    }
    if outdated.is_empty() && there <= fleet.wanted {
        return (Vec::new(), None);
    }
    let Some(victim) = victim(fleet, &outdated, sick_first) else { return (Vec::new(), None) };
    match preflight(fleet, Some(victim)) {
        Some(wait) => (Vec::new(), Some(wait)),
        None => (vec![fleet.delete(victim)], None),
    }
}

/// The Machine that is deleted because a health check found it unhealthy (reconcileUnhealthyMachines, canSafelyRemediateMachine): not
/// the last one, not while another one goes or comes, and not where too few that are healthy would be left.
fn condemned(fleet: &Fleet) -> Option<usize> {
    let is_moving = |machine: &Machine| machine.is_going || (machine.born > MADE && !machine.is_ready);
    if fleet.machines.len() < 2 || fleet.machines.iter().any(is_moving) {
        return None;
    }
    let place = of(fleet, |machine| machine.is_condemned).into_iter().min_by_key(|place| {
        let machine = &fleet.machines[*place];
        (machine.born, machine.name.clone())
    })?;
    let others = fleet.machines.iter().enumerate().filter(|(other, _)| *other != place);
    let healthy = others.filter(|(_, machine)| machine.is_ready && !machine.is_condemned).count();
    (healthy > (fleet.machines.len() - 1) / 2).then_some(place)
}

/// Nothing is done while a Machine is being deleted, or one beside that to be deleted is not healthy.
fn preflight(fleet: &Fleet, except: Option<usize>) -> Option<Wait> {
    if fleet.machines.iter().all(|machine| machine.is_ready && !machine.is_going) {
        return None;
    }
    let [going, mut sick] = fleet.ailing();
    if !going.is_empty() {
        return Some(Wait::Going(going));
    }
    if let Some(place) = except {
        sick.retain(|name| *name != fleet.machines[place].name);
    }
    (!sick.is_empty()).then_some(Wait::NotReady(sick))
}

/// Which Machine goes next (selectMachineForInPlaceUpdateOrScaleDown, MachineInFailureDomainWithMostMachines; of RKE2
/// selectMachineForScaleDown, which looks for the unhealthy ones only where none is out of date).
fn victim(fleet: &Fleet, outdated: &[usize], sick_first: bool) -> Option<usize> {
    let is = |place: &usize, ask: fn(&Machine) -> bool| ask(&fleet.machines[*place]);
    let sick = |among: Vec<usize>| -> Vec<usize> {
        among.into_iter().filter(|place| is(place, |machine| !machine.is_ready)).collect()
    };
    // Each is looked for only where those before it are none.
    let choices: [&dyn Fn() -> Vec<usize>; 6] = [
        &|| outdated.iter().copied().filter(|place| is(place, |machine| machine.is_marked)).collect(),
        &|| of(fleet, |machine| machine.is_marked),
        &|| if sick_first { sick(outdated.to_vec()) } else { Vec::new() },
        &|| outdated.to_vec(),
        &|| if sick_first { Vec::new() } else { sick(of(fleet, |_| true)) },
        &|| of(fleet, |_| true),
    ];
    let eligible = choices.into_iter().map(|choice| choice()).find(|choice| !choice.is_empty())?;
    let oldest = |among: &[usize]| {
        let of = |place: &usize| (fleet.machines[*place].born, fleet.machines[*place].name.as_str());
        among.iter().copied().min_by(|left, right| of(left).cmp(&of(right)))
    };
    // A Machine without a failure domain, or in one that is none any more, goes first.
    let nowhere: Vec<usize> =
        eligible.iter().copied().filter(|place| is(place, |machine| machine.domain.is_empty())).collect();
    if let Some(place) = oldest(&nowhere) {
        return Some(place);
    }
    let domains: BTreeSet<&str> = eligible.iter().map(|place| fleet.machines[*place].domain.as_str()).collect();
    let weight = |domain: &str, among: &mut dyn Iterator<Item = usize>| {
        among.filter(|place| fleet.machines[*place].domain == domain).count()
    };
    let fullest = domains.into_iter().max_by_key(|domain| {
        let all = weight(domain, &mut (0..fleet.machines.len()));
        // Where two are alike, chance decides there, and the name here.
        (weight(domain, &mut eligible.iter().copied()), all, Reverse(*domain))
    })?;
    let there: Vec<usize> = eligible.iter().copied().filter(|place| fleet.machines[*place].domain == fullest).collect();
    oldest(&there)
}

/// Where the next Machine goes: the domain with the fewest that are up to date, then with the fewest (PickFewest). Domains in which no
/// Machine stands are not known here.
fn next_domain(fleet: &Fleet) -> String {
    let mut counts: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for machine in fleet.machines.iter().filter(|machine| !machine.domain.is_empty()) {
        let count = counts.entry(&machine.domain).or_default();
        count.0 += usize::from(!machine.is_outdated && !machine.is_going);
        count.1 += 1;
    }
    let fewest = counts.into_iter().max_by_key(|(domain, count)| (Reverse(*count), Reverse(*domain)));
    fewest.map(|(domain, _)| domain.to_owned()).unwrap_or_default()
}

fn of(fleet: &Fleet, is: impl Fn(&Machine) -> bool) -> Vec<usize> {
    (0..fleet.machines.len()).filter(|place| is(&fleet.machines[*place])).collect()
}
