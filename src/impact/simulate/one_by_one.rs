//! The loop of control planes: `controlplane/kubeadm/reconcilers/kubeadmcontrolplane` of Cluster API 1.14 (reconcile, rollingUpdate,
//! scaleUpControlPlane, scaleDownControlPlane, preflightChecks) and its like in cluster-api-provider-rke2 0.21 (upgradeControlPlane).

use std::cmp::Reverse;

use super::lineup::{Asked, Lineup};
use super::{Act, Fleet, MADE, Wait};

/// One reconcile: at most one Machine is made or deleted. The lineup is that of the fleet.
pub(super) fn turn(
    fleet: &mut Fleet,
    lineup: &Lineup,
    (surge, sick_first): (u64, bool),
    can_make: bool,
) -> (Vec<Act>, Option<Wait>) {
    if let Some(place) = condemned(fleet, lineup) {
        return (vec![fleet.delete(place)], None);
    }
    let there = lineup.there;
    let grows = there < fleet.wanted || (lineup.outdated > 0 && there < fleet.wanted + surge);
    if grows {
        if let Some(wait) = preflight(fleet, lineup, None) {
            return (Vec::new(), Some(wait));
        }
        if !can_make {
            return (Vec::new(), Some(Wait::CannotMake));
        }
        let domain = next_domain(lineup);
        return (vec![fleet.make(0, domain)], None);
    }
    if lineup.outdated == 0 && there <= fleet.wanted {
        return (Vec::new(), None);
    }
    let victim = victim(lineup, sick_first);
    match (preflight(fleet, lineup, victim), victim) {
        (Some(wait), _) => (Vec::new(), Some(wait)),
        (None, Some(victim)) => (vec![fleet.delete(victim)], None),
        (None, None) => (Vec::new(), None),
    }
}

/// The Machine that is deleted because a health check found it unhealthy (reconcileUnhealthyMachines, canSafelyRemediateMachine): not
/// the last one, not while another one goes or comes, and not where too few that are healthy would be left.
fn condemned(fleet: &Fleet, lineup: &Lineup) -> Option<usize> {
    let machine = |place: &usize| &fleet.machines[*place];
    let comes = |place: &usize| machine(place).born > MADE;
    if lineup.there < 2 || !lineup.going.is_empty() || lineup.sick.iter().any(comes) {
        return None;
    }
    let first = lineup.condemned.iter().min_by_key(|place| (machine(place).born, &machine(place).name))?;
    let sick = lineup.sick.union(&lineup.condemned).count() as u64;
    (lineup.there - sick > (lineup.there - 1) / 2).then_some(*first)
}

/// Nothing is done while a Machine is being deleted, or one beside that to be deleted is not healthy.
fn preflight(fleet: &Fleet, lineup: &Lineup, except: Option<usize>) -> Option<Wait> {
    let names = |places: &mut dyn Iterator<Item = usize>| -> Vec<String> {
        places.map(|place| fleet.machines[place].name.clone()).collect()
    };
    if !lineup.going.is_empty() {
        return Some(Wait::Going(names(&mut lineup.going.iter().copied())));
    }
    let sick = names(&mut lineup.sick.iter().copied().filter(|place| Some(*place) != except));
    (!sick.is_empty()).then_some(Wait::NotReady(sick))
}

/// Which Machine that stays goes next (selectMachineForInPlaceUpdateOrScaleDown, MachineInFailureDomainWithMostMachines; of RKE2
/// selectMachineForScaleDown, which looks for the unhealthy ones only where none is out of date).
fn victim(lineup: &Lineup, sick_first: bool) -> Option<usize> {
    let all = Asked::default();
    let (outdated, marked, sick) =
        (Asked { is_outdated: true, ..all }, Asked { is_marked: true, ..all }, Asked { is_sick: true, ..all });
    let outdated_and_marked = Asked { is_marked: true, ..outdated };
    let outdated_and_sick = Asked { is_sick: true, ..outdated };
    // Each is looked for only where those before it are none.
    let choices = match sick_first {
        true => [outdated_and_marked, marked, outdated_and_sick, outdated, all],
        false => [outdated_and_marked, marked, outdated, sick, all],
    };
    let is_there = |asked: &Asked| lineup.domains().any(|(_, domain)| domain.count(*asked) > 0);
    let asked = choices.into_iter().find(is_there)?;
    // A Machine without a failure domain, or in one that is none any more, goes first.
    let nowhere = lineup.domains().find(|(name, _)| name.is_empty());
    if let Some(place) = nowhere.and_then(|(_, domain)| domain.oldest(asked)) {
        return Some(place);
    }
    let domains = lineup.domains().filter(|(_, domain)| domain.count(asked) > 0);
    // Where two are alike, chance decides there, and the name here.
    let fullest = domains.max_by_key(|(name, domain)| (domain.count(asked), domain.all, Reverse(*name)));
    fullest.and_then(|(_, domain)| domain.oldest(asked))
}

/// Where the next Machine goes: the domain with the fewest that are up to date, then with the fewest (PickFewest). Domains in which no
/// Machine stands are not known here.
fn next_domain(lineup: &Lineup) -> String {
    let domains = lineup.domains().filter(|(name, _)| !name.is_empty());
    let fewest = domains.min_by_key(|(name, domain)| (domain.fresh(), domain.all, *name));
    fewest.map(|(name, _)| name.to_owned()).unwrap_or_default()
}
