//! The Machines of a control plane by what its loop asks about them, kept as they change: none of its turns looks at all of them.

use std::collections::{BTreeMap, BTreeSet};

use super::{Fleet, Machine};

/// Where the Machines of a control plane stand.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Lineup {
    /// Those that stay, by failure domain.
    domains: BTreeMap<String, Domain>,
    /// The places of those that are being deleted.
    pub(super) going: BTreeSet<usize>,
    /// The places of those that stay and are not healthy.
    pub(super) sick: BTreeSet<usize>,
    /// The places of those that stay and that a health check handed over.
    pub(super) condemned: BTreeSet<usize>,
    /// How many there are, those that are being deleted too.
    pub(super) there: u64,
    /// How many of those that stay are to be replaced.
    pub(super) outdated: u64,
}

/// The Machines of one failure domain.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Domain {
    /// All of them, those that are being deleted too.
    pub(super) all: usize,
    /// Those that stay, by [`sort`]: the oldest first, then by name, with the place of each.
    sorts: [BTreeSet<(i64, String, usize)>; SORTS],
}

/// How many sorts of Machines there are.
const SORTS: usize = 8;

/// Which Machines are asked for.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Asked {
    /// Only those that are to be replaced.
    pub(super) is_outdated: bool,
    /// Only those that somebody asked to be deleted first.
    pub(super) is_marked: bool,
    /// Only those that are not healthy.
    pub(super) is_sick: bool,
}

impl Asked {
    /// The sort of Machines that have what is asked and nothing else of it.
    const fn sort(self) -> usize {
        (self.is_outdated as usize) | (self.is_marked as usize) << 1 | (self.is_sick as usize) << 2
    }

    fn sorts(self) -> impl Iterator<Item = usize> {
        let asked = self.sort();
        (0..SORTS).filter(move |sort| sort & asked == asked)
    }
}

/// The sort that a Machine belongs to.
const fn sort(machine: &Machine) -> usize {
    Asked { is_outdated: machine.is_outdated, is_marked: machine.is_marked, is_sick: !machine.is_ready }.sort()
}

impl Lineup {
    /// The Machines of a fleet.
    pub(super) fn of(fleet: &Fleet) -> Self {
        let mut out = Self::default();
        fleet.machines.iter().enumerate().for_each(|(place, machine)| out.add(machine, place));
        out
    }

    /// A Machine is there.
    pub(super) fn add(&mut self, machine: &Machine, place: usize) {
        self.there += 1;
        if !self.domains.contains_key(&machine.domain) {
            self.domains.insert(machine.domain.clone(), Domain::default());
        }
        let Some(domain) = self.domains.get_mut(&machine.domain) else { return };
        domain.all += 1;
        if machine.is_going {
            self.going.insert(place);
            return;
        }
        domain.sorts[sort(machine)].insert((machine.born, machine.name.clone(), place));
        self.outdated += u64::from(machine.is_outdated);
        if !machine.is_ready {
            self.sick.insert(place);
        }
        if machine.is_condemned {
            self.condemned.insert(place);
        }
    }

    /// A Machine that was there is not, or is no longer what it was.
    pub(super) fn remove(&mut self, machine: &Machine, place: usize) {
        self.there -= 1;
        let Some(domain) = self.domains.get_mut(&machine.domain) else { return };
        domain.all -= 1;
        if machine.is_going {
            self.going.remove(&place);
        } else {
            domain.sorts[sort(machine)].remove(&(machine.born, machine.name.clone(), place));
            self.outdated -= u64::from(machine.is_outdated);
            self.sick.remove(&place);
            self.condemned.remove(&place);
        }
        if domain.all == 0 {
            self.domains.remove(&machine.domain);
        }
    }

    /// The failure domains in which Machines stand, by name; the first is that of Machines without one, where there are any.
    pub(super) fn domains(&self) -> impl Iterator<Item = (&str, &Domain)> {
        self.domains.iter().map(|(name, domain)| (name.as_str(), domain))
    }
}

impl Domain {
    /// How many that stay are what is asked for.
    pub(super) fn count(&self, asked: Asked) -> usize {
        asked.sorts().map(|sort| self.sorts[sort].len()).sum()
    }

    /// How many that stay need not be replaced.
    pub(super) fn fresh(&self) -> usize {
        self.count(Asked::default()) - self.count(Asked { is_outdated: true, ..Asked::default() })
    }

    /// The place of the oldest that stays and is what is asked for.
    pub(super) fn oldest(&self, asked: Asked) -> Option<usize> {
        asked.sorts().filter_map(|sort| self.sorts[sort].first()).min().map(|(.., place)| *place)
    }
}
