//! Plays the controllers' loops over the Machines of one owner, without a clock and without chance: which Machine is made or
//! deleted when, how few are available, how many there are, and where it stands still. Held equal to recorded rollouts.

mod ground;
mod lineup;
mod one_by_one;
mod play;
mod set;
#[cfg(test)]
mod tests;
mod workers;

pub(crate) use play::Plays;
pub use play::{End, Pace, Played, play, worst};

use self::lineup::Lineup;
use crate::hashed::HashMap;
use crate::model::{Standing, Strategy};

/// A Machine in a simulation.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Machine {
    /// Its name; `new-1` and so on for those that are made.
    pub name: String,
    /// The place of its MachineSet in the fleet; 0 for control planes.
    pub set: usize,
    /// When it was made, in seconds.
    pub born: i64,
    /// Whether it is to be replaced.
    pub is_outdated: bool,
    /// Whether it is healthy or available, whichever the loop asks.
    pub is_ready: bool,
    /// Whether its MachineSet gives it up before others.
    pub is_sick: bool,
    /// Whether it is being deleted.
    pub is_going: bool,
    /// Whether somebody asked for it to be deleted first.
    pub is_marked: bool,
    /// Whether a health check handed it to its owner, who deletes it and makes another one.
    pub is_condemned: bool,
    /// Where it stands; empty where no failure domain is told.
    pub domain: String,
}

/// A MachineSet in a simulation.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Set {
    /// `spec.replicas`.
    pub wanted: u64,
    /// `status.replicas`: Machines when it was last looked at.
    pub told: u64,
    /// `status.availableReplicas`.
    pub told_available: u64,
    /// Whether it is the one that the owner's template matches.
    pub is_current: bool,
}

/// The Machines of one owner at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Fleet {
    /// Machines that the owner wants.
    pub wanted: u64,
    /// Those that are there.
    pub machines: Vec<Machine>,
    /// Their MachineSets, the oldest first; empty for control planes.
    pub sets: Vec<Set>,
    /// How many were made so far.
    pub made: u64,
}

/// When Machines are made in a simulation: after all that are there.
const MADE: i64 = i64::MAX / 2;

/// What a loop does that can be seen from outside.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Act {
    /// Makes a Machine.
    Make(String),
    /// Deletes one.
    Delete(String),
}

/// Why a loop does nothing although something is left to do.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Wait {
    /// The controller stops before it does anything.
    Stopped(String),
    /// Machines are not healthy, or not available: their names.
    NotReady(Vec<String>),
    /// Machines are being deleted and stay.
    Going(Vec<String>),
    /// So many Machines that are made find no host that is free.
    NoHost(u64),
    /// Somebody has to delete the Machines that are out of date.
    ByHand,
    /// No Machine can be made.
    CannotMake,
    /// Nothing may be taken away, and nothing may be added.
    NoRoom,
}

impl Fleet {
    /// The Machines of an owner with what is wanted; `outdated` are the names of those to replace.
    #[must_use]
    pub fn of(wanted: u64, standing: &[Standing], is_outdated: impl Fn(&Standing) -> bool) -> Self {
        let has_sets = standing.iter().any(|machine| !machine.set.is_empty());
        let mut keys: Vec<(i64, &str, bool)> = standing
            .iter()
            .filter(|_| has_sets)
            .map(|machine| (machine.set_born, machine.set.as_str(), is_outdated(machine)))
            .collect();
        keys.sort_unstable();
        keys.dedup_by_key(|key| key.1);
        let mut places: HashMap<&str, usize> = HashMap::default();
        for (place, key) in keys.iter().enumerate() {
            places.entry(key.1).or_insert(place);
        }
        let place = |machine: &Standing| places.get(machine.set.as_str()).copied().unwrap_or(0);
        let machines: Vec<Machine> = standing
            .iter()
            .map(|machine| Machine {
                name: machine.name.clone(),
                set: place(machine),
                born: machine.born,
                is_outdated: is_outdated(machine),
                is_ready: machine.is_ready && !machine.is_going,
                is_sick: machine.is_sick,
                is_going: machine.is_going,
                is_marked: machine.is_marked,
                is_condemned: machine.is_condemned,
                domain: machine.domain.clone(),
            })
            .collect();
        let none = |is_current: bool| Set { wanted: 0, told: 0, told_available: 0, is_current };
        let mut sets: Vec<Set> = keys.iter().map(|key| none(!key.2)).collect();
        for machine in &machines {
            if let Some(set) = sets.get_mut(machine.set) {
                set.wanted += u64::from(!machine.is_going);
                set.told += 1;
                set.told_available += u64::from(machine.is_ready);
            }
        }
        Self { wanted, machines, sets, made: 0 }
    }

    /// The number of Machines, those that are being deleted too.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.machines.len() as u64
    }

    /// Machines that are available.
    #[must_use]
    pub fn available(&self) -> u64 {
        self.machines.iter().filter(|machine| machine.is_ready).count() as u64
    }

    /// A MachineSet's controller writes what it sees (`machineset_controller_status.go` updateStatus).
    pub fn tell(&mut self, set: usize) {
        let own = || self.machines.iter().filter(|machine| machine.set == set);
        let (told, available) = (own().count() as u64, own().filter(|machine| machine.is_ready).count() as u64);
        self.sets[set].told = told;
        self.sets[set].told_available = available;
    }

    /// Why the owner's reconcile did nothing, where it does not say so itself: looked for once nothing moves any more.
    #[must_use]
    pub fn stands(&self, strategy: &Strategy) -> Option<Wait> {
        matches!(strategy, Strategy::Rolling { .. }).then(|| workers::waits(self)).flatten()
    }

    /// One reconcile of the owner: what it does, or why it waits.
    pub fn owner_turn(&mut self, strategy: &Strategy, can_make: bool) -> (Vec<Act>, Option<Wait>) {
        match strategy {
            Strategy::OneByOne { .. } => self.turn_of(&Lineup::of(self), strategy, can_make),
            Strategy::Rolling { surge, unavailable, .. } => {
                workers::roll(self, *surge, *unavailable);
                (Vec::new(), None)
            }
            Strategy::OnDelete { .. } => (Vec::new(), workers::on_delete(self)),
            Strategy::Stopped { why } => (Vec::new(), Some(Wait::Stopped(why.clone()))),
        }
    }

    /// One reconcile of a control plane whose lineup is kept; of other owners nothing.
    fn turn_of(&mut self, lineup: &Lineup, strategy: &Strategy, can_make: bool) -> (Vec<Act>, Option<Wait>) {
        let Strategy::OneByOne { surge, sick_first, .. } = strategy else { return (Vec::new(), None) };
        one_by_one::turn(self, lineup, (*surge, *sick_first), can_make)
    }

    /// One reconcile of an owner whose cache does not show the last so many Machines that it made.
    pub fn late_turn(&mut self, strategy: &Strategy, can_make: bool, unseen: u64) -> (Vec<Act>, Option<Wait>) {
        let newest = MADE + i64::try_from(self.made.saturating_sub(unseen)).unwrap_or_default();
        let (seen, hidden) = self.machines.drain(..).partition(|machine| machine.born <= newest);
        self.machines = seen;
        let out = self.owner_turn(strategy, can_make);
        self.machines.extend::<Vec<_>>(hidden);
        self.machines.sort_by_key(|machine| machine.born);
        out
    }

    /// One reconcile of a MachineSet: what it does, or why it waits.
    pub fn set_turn(&mut self, set: usize, strategy: &Strategy, can_make: bool) -> (Vec<Act>, Option<Wait>) {
        let acts = matches!(strategy, Strategy::Rolling { .. } | Strategy::OnDelete { .. });
        let replaced = if acts { set::remedy(self, set) } else { Vec::new() };
        if !replaced.is_empty() {
            return (replaced, None);
        }
        let there = self.machines.iter().filter(|machine| machine.set == set).count() as u64;
        let (Strategy::Rolling { order, .. } | Strategy::OnDelete { order }) = strategy else {
            return (Vec::new(), None);
        };
        self.scale((set, there), strategy, can_make, |fleet, most| set::foremost(fleet, set, *order, most))
    }

    /// Scales a set that nothing was handed to, whose Machines were counted already and of which it is known which go first.
    fn scale(
        &mut self,
        (set, there): (usize, u64),
        strategy: &Strategy,
        can_make: bool,
        first: impl FnOnce(&Self, usize) -> Vec<usize>,
    ) -> (Vec<Act>, Option<Wait>) {
        let may_make = match strategy {
            Strategy::Rolling { .. } => true,
            Strategy::OnDelete { .. } => self.sets[set].is_current,
            Strategy::OneByOne { .. } | Strategy::Stopped { .. } => return (Vec::new(), None),
        };
        set::scale(self, set, there, first, (can_make, may_make))
    }

    /// Adds a Machine.
    fn make(&mut self, set: usize, domain: String) -> Act {
        self.made += 1;
        let name = format!("new-{}", self.made);
        let born = MADE + i64::try_from(self.made).unwrap_or_default();
        self.machines.push(Machine {
            name: name.clone(),
            set,
            born,
            is_outdated: self.sets.get(set).is_some_and(|set| !set.is_current),
            is_ready: false,
            is_sick: true,
            is_going: false,
            is_marked: false,
            is_condemned: false,
            domain,
        });
        Act::Make(name)
    }

    /// Begins to delete a Machine.
    fn delete(&mut self, place: usize) -> Act {
        let machine = &mut self.machines[place];
        machine.is_going = true;
        machine.is_ready = false;
        Act::Delete(machine.name.clone())
    }

    /// Names of the Machines that are being deleted, and of those that are not ready.
    fn ailing(&self) -> [Vec<String>; 2] {
        let names = |is: fn(&Machine) -> bool| {
            self.machines.iter().filter(|machine| is(machine)).map(|machine| machine.name.clone()).collect()
        };
        [names(|machine| machine.is_going), names(|machine| !machine.is_going && !machine.is_ready)]
    }
}
