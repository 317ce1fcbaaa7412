//! Plays turns until nothing moves any more, and keeps what was seen on the way.
//! A tick: Machines come up and go, MachineSets write what they see, the owner has a turn, each MachineSet has one.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Mutex, PoisonError};

use super::ground::Ground;
use super::{Act, Fleet, Machine, Wait};
use crate::hashed::HashMap;
use crate::model::Strategy;

/// How long things take, in ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Pace {
    /// From the making of a Machine until it is available; `None`: it never is.
    pub ready: Option<u64>,
    /// From the beginning of a deletion until the Machine is gone.
    pub gone: u64,
    /// Hosts that are free, where that is known: a Machine that finds none waits for one that is given back.
    pub hosts: Option<u64>,
    /// Whether Machines can be made at all: checks before that can say no.
    pub makes: bool,
    /// Reconciles before the owner sees the first Machine that it made, where its controller asks a cache that may be late.
    pub unseen: u64,
}

impl Pace {
    /// Everything takes one tick.
    pub const EVEN: Self = Self { ready: Some(1), gone: 1, hosts: None, makes: true, unseen: 0 };
    /// Machines go slowly.
    pub const SLOW_TO_GO: Self = Self { gone: 3, ..Self::EVEN };
    /// Machines come up slowly.
    pub const SLOW_TO_COME: Self = Self { ready: Some(3), ..Self::EVEN };
}

/// Machines at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Counts {
    /// All, those on their way out too.
    pub there: u64,
    /// Those that need not be replaced and stay.
    pub up_to_date: u64,
    /// Those that are available.
    pub available: u64,
}

/// How a simulated rollout ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// As many Machines as are wanted, all of them up to date.
    Settled,
    /// It stands still before that.
    Stuck(Wait),
    /// It goes on and on: what no controller does.
    Endless,
}

/// A simulated rollout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Played {
    /// The counts, whenever one changed.
    pub counts: Vec<Counts>,
    /// What was done, in order.
    pub acts: Vec<Act>,
    /// The fewest Machines available at one time.
    pub lowest: u64,
    /// The most Machines at one time.
    pub peak: u64,
    /// How it ends.
    pub end: End,
}

impl Played {
    /// Names of the Machines that are deleted, in order.
    pub fn deleted(&self) -> impl Iterator<Item = &str> {
        self.acts.iter().filter_map(|act| match act {
            Act::Delete(name) => Some(name.as_str()),
            Act::Make(_) => None,
        })
    }

    /// How many Machines are made.
    #[must_use]
    pub fn made(&self) -> u64 {
        self.acts.iter().filter(|act| matches!(act, Act::Make(_))).count() as u64
    }
}

/// What time brings: when each Machine comes up or goes, and the hosts for it.
struct Time {
    pace: Pace,
    tick: u64,
    /// When those that are made come up.
    comes: BTreeMap<String, u64>,
    /// When those that are deleted are gone.
    goes: BTreeMap<String, u64>,
    /// Machines without a host, in the order in which they were made.
    waiting: VecDeque<String>,
    /// Machines that go without ever having had one.
    hostless: BTreeSet<String>,
    hosts: u64,
}

impl Time {
    fn new(pace: Pace, fleet: &Fleet) -> Self {
        let going = fleet.machines.iter().filter(|machine| machine.is_going);
        let goes = going.map(|machine| (machine.name.clone(), pace.gone)).collect();
        let hosts = pace.hosts.unwrap_or(u64::MAX);
        Self { pace, tick: 0, comes: BTreeMap::new(), goes, waiting: VecDeque::new(), hostless: BTreeSet::new(), hosts }
    }

    /// Machines come up, and those that are deleted go; says whether any did.
    fn pass(&mut self, fleet: &mut Fleet, ground: &mut Ground, tally: &mut Tally) -> bool {
        self.tick += 1;
        let now = self.tick;
        if self.next().is_none_or(|next| next > now) {
            return false;
        }
        for (name, _) in self.comes.extract_if(.., |_, when| *when <= now) {
            let came = ground.change(fleet, &name, |machine| (machine.is_ready, machine.is_sick) = (true, false));
            came.into_iter().for_each(|machine| tally.came(machine));
        }
        for (name, _) in self.goes.extract_if(.., |_, when| *when <= now) {
            if let Some(machine) = ground.gone(fleet, &name) {
                self.hosts = self.hosts.saturating_add(u64::from(!self.hostless.contains(&machine.name)));
                tally.gone(machine);
            }
        }
        ground.tidy(fleet, false);
        self.start();
        true
    }

    /// The tick at which the next Machine comes up or goes.
    fn next(&self) -> Option<u64> {
        self.comes.values().chain(self.goes.values()).min().copied()
    }

    /// Takes note of what was done.
    fn take(&mut self, act: &Act) {
        match act {
            Act::Make(name) => self.waiting.push_back(name.clone()),
            Act::Delete(name) => {
                // What waits for a host has none to give back.
                if self.waiting.contains(name) {
                    self.waiting.retain(|other| other != name);
                    self.hostless.insert(name.clone());
                }
                self.comes.remove(name);
                self.goes.insert(name.clone(), self.tick + self.pace.gone);
            }
        }
        self.start();
    }

    /// Machines that find a host begin to come up.
    fn start(&mut self) {
        while self.hosts > 0 {
            let Some(name) = self.waiting.pop_front() else { return };
            self.hosts -= 1;
            if let Some(ticks) = self.pace.ready {
                self.comes.insert(name, self.tick + ticks);
            }
        }
    }
}

/// What is counted of a fleet, kept as it changes.
#[derive(Debug)]
struct Tally {
    now: Counts,
    /// Machines of each MachineSet, and those that are available.
    sets: Vec<[u64; 2]>,
    /// Names of the Machines that are available.
    ready: BTreeSet<String>,
    /// Names of those that need not be replaced and stay.
    fresh: BTreeSet<String>,
}

impl Tally {
    fn new(fleet: &Fleet) -> Self {
        let now = Counts { there: 0, up_to_date: 0, available: 0 };
        let mut out = Self { now, sets: Vec::new(), ready: BTreeSet::new(), fresh: BTreeSet::new() };
        fleet.machines.iter().for_each(|machine| out.add(machine));
        out
    }

    fn of_set(&mut self, set: usize) -> &mut [u64; 2] {
        if self.sets.len() <= set {
            self.sets.resize(set + 1, [0, 0]);
        }
        &mut self.sets[set]
    }

    /// A Machine is there.
    fn add(&mut self, machine: &Machine) {
        self.now.there += 1;
        self.of_set(machine.set)[0] += 1;
        if machine.is_ready {
            self.came(machine);
        }
        if !machine.is_outdated && !machine.is_going && self.fresh.insert(machine.name.clone()) {
            self.now.up_to_date += 1;
        }
    }

    /// It is available.
    fn came(&mut self, machine: &Machine) {
        if self.ready.insert(machine.name.clone()) {
            self.now.available += 1;
            self.of_set(machine.set)[1] += 1;
        }
    }

    /// Its deletion begins.
    fn goes(&mut self, name: &str, set: usize) {
        if self.ready.remove(name) {
            self.now.available -= 1;
            self.of_set(set)[1] -= 1;
        }
        if self.fresh.remove(name) {
            self.now.up_to_date -= 1;
        }
    }

    /// It is no longer there.
    fn gone(&mut self, machine: &Machine) {
        self.now.there -= 1;
        self.of_set(machine.set)[0] -= 1;
    }

    /// The controllers of MachineSets write what they see, as [`Fleet::tell`].
    fn tell(&self, fleet: &mut Fleet) {
        for (place, set) in fleet.sets.iter_mut().enumerate() {
            [set.told, set.told_available] = self.sets.get(place).copied().unwrap_or_default();
        }
    }

    /// What the loop of a MachineSet, or that of an owner (0), did; what it made stands last.
    fn take(&mut self, acts: &[Act], set: usize, fleet: &Fleet, ground: &mut Ground) {
        let made = acts.iter().filter(|act| matches!(act, Act::Make(_))).count();
        fleet.machines.iter().rev().take(made).for_each(|machine| self.add(machine));
        ground.made(fleet, made);
        for act in acts {
            if let Act::Delete(name) = act {
                self.goes(name, set);
                ground.goes(fleet, name);
            }
        }
    }
}

/// Plays a rollout from its beginning to where nothing moves any more.
#[must_use]
pub fn play(strategy: &Strategy, mut fleet: Fleet, pace: Pace) -> Played {
    let mut tally = Tally::new(&fleet);
    let (lowest, peak) = (tally.now.available, tally.now.there);
    let mut out = Played { counts: vec![tally.now], acts: Vec::new(), lowest, peak, end: End::Endless };
    let mut time = Time::new(pace, &fleet);
    let mut ground = Ground::new(&fleet, strategy);
    let longest = (fleet.count() + fleet.wanted + 8) * 16 * (pace.ready.unwrap_or(1) + pace.gone);
    while time.tick < longest {
        let sets = fleet.sets.clone();
        let passed = time.pass(&mut fleet, &mut ground, &mut tally);
        // What a deletion takes is seen before anything is made in its place.
        note(tally.now, &mut out);
        tally.tell(&mut fleet);
        let (mut acts, mut wait) = match ground.lineup() {
            Some(lineup) => fleet.turn_of(lineup, strategy, pace.makes),
            None => fleet.owner_turn(strategy, pace.makes),
        };
        let is_late = matches!(strategy, Strategy::OneByOne { is_late: true, .. });
        let acts_late = is_late && !acts.is_empty() && fleet.made == 1;
        if acts_late {
            // What is gone is not seen by a late turn either.
            ground.tidy(&mut fleet, true);
            acts.extend((1..=pace.unseen).flat_map(|unseen| fleet.late_turn(strategy, pace.makes, unseen).0));
        }
        tally.take(&acts, 0, &fleet, &mut ground);
        if acts_late {
            // Late turns put the Machines into another order.
            ground = Ground::new(&fleet, strategy);
        }
        for set in 0..fleet.sets.len() {
            let (more, why) = if ground.has_queues() {
                let told = (set, fleet.sets[set].told);
                fleet.scale(told, strategy, pace.makes, |_, most| ground.first(set, most))
            } else {
                fleet.set_turn(set, strategy, pace.makes)
            };
            tally.take(&more, set, &fleet, &mut ground);
            acts.extend(more);
            wait = why.or(wait);
        }
        let moved = passed || !acts.is_empty() || fleet.sets != sets;
        acts.iter().for_each(|act| time.take(act));
        out.acts.extend(acts);
        note(tally.now, &mut out);
        #[cfg(test)]
        ground.check(&fleet);
        #[cfg(test)]
        assert_eq!(tally.now, counts(&ground, &fleet), "what is kept is what is there");
        match time.next() {
            _ if moved => {}
            // Until then every turn says the same.
            Some(next) => time.tick = time.tick.max(next.saturating_sub(1)),
            None => {
                ground.tidy(&mut fleet, true);
                out.end = match time.waiting.len() as u64 {
                    0 => end(&fleet, wait.or_else(|| fleet.stands(strategy))),
                    count => End::Stuck(Wait::NoHost(count)),
                };
                break;
            }
        }
    }
    out
}

/// Rollouts that were played already: the same one is judged again for each version that a provider may have.
#[derive(Debug, Default)]
pub struct Plays(Mutex<HashMap<(Strategy, Fleet, Pace), Played>>);

impl Plays {
    /// What [`worst`] says, played once.
    #[must_use]
    pub fn worst(&self, strategy: &Strategy, fleet: &Fleet, given: Pace) -> Played {
        let key = (strategy.clone(), fleet.clone(), given);
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&key).cloned();
        // Not played under the lock: other owners are judged beside this one.
        known.unwrap_or_else(|| {
            let played = worst(strategy, fleet, given);
            self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(key, played.clone());
            played
        })
    }
}

/// Plays a rollout at several paces and gives the worst of them: the lowest count and the peak stand for all. What `given` says beside
/// times counts for each.
#[must_use]
pub fn worst(strategy: &Strategy, fleet: &Fleet, given: Pace) -> Played {
    let at = |pace: Pace| play(strategy, fleet.clone(), Pace { ready: pace.ready, gone: pace.gone, ..given });
    let mut out = at(Pace::EVEN);
    for other in [Pace::SLOW_TO_GO, Pace::SLOW_TO_COME].into_iter().map(at) {
        out.lowest = out.lowest.min(other.lowest);
        out.peak = out.peak.max(other.peak);
        if out.end == End::Settled {
            out.end = other.end;
        }
    }
    out
}

#[cfg(test)]
fn counts(ground: &Ground, fleet: &Fleet) -> Counts {
    let count = |is: fn(&Machine) -> bool| ground.there(fleet).filter(|machine| is(machine)).count() as u64;
    let up_to_date = count(|machine| !machine.is_outdated && !machine.is_going);
    Counts { there: count(|_| true), up_to_date, available: count(|machine| machine.is_ready) }
}

fn note(now: Counts, out: &mut Played) {
    out.lowest = out.lowest.min(now.available);
    out.peak = out.peak.max(now.there);
    if out.counts.last() != Some(&now) {
        out.counts.push(now);
    }
}

/// How it ended where nothing moves any more.
fn end(fleet: &Fleet, wait: Option<Wait>) -> End {
    let stays = || fleet.machines.iter().filter(|machine| !machine.is_going);
    let is_done = stays().count() as u64 == fleet.wanted && stays().all(|machine| !machine.is_outdated);
    match wait {
        Some(wait) => End::Stuck(wait),
        None if is_done => {
            let late: Vec<String> = stays().filter(|one| !one.is_ready).map(|one| one.name.clone()).collect();
            if late.is_empty() { End::Settled } else { End::Stuck(Wait::NotReady(late)) }
        }
        None => End::Stuck(Wait::NoRoom),
    }
}
