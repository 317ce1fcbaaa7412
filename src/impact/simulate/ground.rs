//! The Machines of a fleet by their names and by which of them goes first, kept as they change: a large group has a thousand turns, and none
//! may look at all of its Machines. Those that are gone stay in the list of the fleet until half of it is gone.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use super::lineup::Lineup;
use super::set::priority;
use super::{Fleet, Machine};
use crate::hashed::HashMap;
use crate::model::{DeletionOrder, Strategy};

/// Where the Machines of a fleet stand.
pub(super) struct Ground {
    /// The place of each by its name.
    places: HashMap<String, usize>,
    /// Which places are left: their Machines are gone.
    left: Vec<bool>,
    gone: usize,
    order: Order,
}

/// What a loop asks about the Machines.
enum Order {
    /// Which of a MachineSet go first.
    Queues(Queues),
    /// Which of a control plane stay, and how they are.
    Lineup(Lineup),
    /// It looks at all of them itself, so that none may stay that is gone.
    None,
}

/// The Machines of each MachineSet in the order in which it deletes them.
struct Queues {
    order: DeletionOrder,
    sets: Vec<BTreeSet<Rank>>,
}

/// What decides who goes first, and the place: class, newest or oldest, name.
type Rank = (u8, Reverse<i64>, i64, String, usize);

impl Ground {
    pub(super) fn new(fleet: &Fleet, strategy: &Strategy) -> Self {
        // What a health check handed over to a MachineSet is looked for among all.
        let is_plain = !fleet.machines.iter().any(|machine| machine.is_condemned);
        let order = match strategy {
            Strategy::OneByOne { .. } => Order::Lineup(Lineup::default()),
            Strategy::Rolling { order, .. } | Strategy::OnDelete { order } if is_plain => {
                Order::Queues(Queues { order: *order, sets: Vec::new() })
            }
            Strategy::Rolling { .. } | Strategy::OnDelete { .. } | Strategy::Stopped { .. } => Order::None,
        };
        let mut out = Self { places: HashMap::default(), left: Vec::new(), gone: 0, order };
        out.take_stock(fleet);
        out
    }

    /// Whether it knows which Machines a MachineSet deletes first.
    pub(super) const fn has_queues(&self) -> bool {
        matches!(self.order, Order::Queues(_))
    }

    /// The Machines of a control plane, as its loop asks for them.
    pub(super) const fn lineup(&self) -> Option<&Lineup> {
        if let Order::Lineup(lineup) = &self.order { Some(lineup) } else { None }
    }

    /// The places of the Machines of a MachineSet that go first.
    pub(super) fn first(&self, set: usize, most: usize) -> Vec<usize> {
        let Order::Queues(queues) = &self.order else { return Vec::new() };
        queues.sets.get(set).into_iter().flatten().take(most).map(|(.., place)| *place).collect()
    }

    /// Fails where the order that is kept is not that of the Machines that are there.
    #[cfg(test)]
    pub(super) fn check(&self, fleet: &Fleet) {
        match &self.order {
            Order::Queues(queues) => {
                for set in 0..fleet.sets.len() {
                    let mut all = super::set::foremost(fleet, set, queues.order, usize::MAX);
                    all.retain(|place| !self.left[*place]);
                    assert_eq!(self.first(set, usize::MAX), all);
                }
            }
            Order::Lineup(lineup) => {
                let mut all = Lineup::default();
                let there = fleet.machines.iter().enumerate().filter(|(place, _)| !self.left[*place]);
                there.for_each(|(place, machine)| all.add(machine, place));
                assert_eq!(*lineup, all);
            }
            Order::None => {}
        }
    }

    /// Takes note of what was made: it stands last.
    pub(super) fn made(&mut self, fleet: &Fleet, count: usize) {
        for place in fleet.machines.len() - count..fleet.machines.len() {
            self.add(fleet, place);
        }
    }

    /// Takes note of a deletion that began.
    pub(super) fn goes(&mut self, fleet: &Fleet, name: &str) {
        if matches!(self.order, Order::None) {
            return;
        }
        let Some(place) = self.place(fleet, name) else { return };
        let machine = &fleet.machines[place];
        let mut before = Machine { is_going: false, ..machine.clone() };
        // What goes is not ready any more; whether it was, the lineup still says.
        if let Order::Lineup(lineup) = &self.order {
            before.is_ready = !lineup.sick.contains(&place);
        }
        self.order.remove(&before, place);
        self.order.add(machine, place);
    }

    /// Changes a Machine of this name.
    pub(super) fn change<'f>(
        &mut self,
        fleet: &'f mut Fleet,
        name: &str,
        change: impl FnOnce(&mut Machine),
    ) -> Option<&'f Machine> {
        let place = self.place(fleet, name)?;
        let machine = &mut fleet.machines[place];
        self.order.remove(machine, place);
        change(machine);
        self.order.add(machine, place);
        Some(machine)
    }

    /// A Machine of this name is gone; [`Self::tidy`] takes it away.
    pub(super) fn gone<'f>(&mut self, fleet: &'f Fleet, name: &str) -> Option<&'f Machine> {
        let place = self.place(fleet, name)?;
        self.places.remove(name);
        let machine = &fleet.machines[place];
        self.order.remove(machine, place);
        self.left[place] = true;
        self.gone += 1;
        Some(machine)
    }

    /// Takes those away that are gone, where they are many or none may stay.
    pub(super) fn tidy(&mut self, fleet: &mut Fleet, is_last: bool) {
        if self.gone > 0 && (is_last || matches!(self.order, Order::None) || self.gone * 2 > self.left.len()) {
            let mut left = self.left.iter();
            fleet.machines.retain(|_| left.next() != Some(&true));
            self.take_stock(fleet);
        }
    }

    /// Those that are there.
    #[cfg(test)]
    pub(super) fn there<'f>(&self, fleet: &'f Fleet) -> impl Iterator<Item = &'f Machine> {
        fleet.machines.iter().zip(&self.left).filter(|(_, left)| !**left).map(|(machine, _)| machine)
    }

    fn place(&self, fleet: &Fleet, name: &str) -> Option<usize> {
        match self.order {
            Order::Queues(_) | Order::Lineup(_) => self.places.get(name).copied(),
            Order::None => fleet.machines.iter().position(|machine| machine.name == name),
        }
    }

    fn take_stock(&mut self, fleet: &Fleet) {
        self.places.clear();
        self.left.clear();
        self.gone = 0;
        match &mut self.order {
            Order::Queues(queues) => queues.sets.clear(),
            Order::Lineup(lineup) => *lineup = Lineup::default(),
            Order::None => {}
        }
        for place in 0..fleet.machines.len() {
            self.add(fleet, place);
        }
    }

    fn add(&mut self, fleet: &Fleet, place: usize) {
        let machine = &fleet.machines[place];
        self.left.push(false);
        if !matches!(self.order, Order::None) {
            self.places.insert(machine.name.clone(), place);
            self.order.add(machine, place);
        }
    }
}

impl Order {
    fn add(&mut self, machine: &Machine, place: usize) {
        match self {
            Self::Queues(queues) => queues.add(machine, place),
            Self::Lineup(lineup) => lineup.add(machine, place),
            Self::None => {}
        }
    }

    fn remove(&mut self, machine: &Machine, place: usize) {
        match self {
            Self::Queues(queues) => queues.remove(machine, place),
            Self::Lineup(lineup) => lineup.remove(machine, place),
            Self::None => {}
        }
    }
}

impl Queues {
    fn rank(&self, machine: &Machine, place: usize) -> Rank {
        let (class, newest, oldest, name) = priority(machine, self.order);
        (class, newest, oldest, name.to_owned(), place)
    }

    fn add(&mut self, machine: &Machine, place: usize) {
        let rank = self.rank(machine, place);
        if self.sets.len() <= machine.set {
            self.sets.resize_with(machine.set + 1, BTreeSet::new);
        }
        self.sets[machine.set].insert(rank);
    }

    fn remove(&mut self, machine: &Machine, place: usize) {
        let rank = self.rank(machine, place);
        if let Some(set) = self.sets.get_mut(machine.set) {
            set.remove(&rank);
        }
    }
}
