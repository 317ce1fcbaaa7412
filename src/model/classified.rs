//! What judging found beside the effects of the pairs.

use std::hash::Hash;

use super::{Finding, Rollout};
use crate::hashed::{HashMap, HashSet};
use crate::object::Key;

/// What the mirrors and packs found out beside the effects that they wrote into the pairs.
#[derive(Debug, Clone, Default)]
pub struct Classified {
    /// Weight of it all, an entry per owner whose Machines are replaced or destroyed.
    pub rollouts: Vec<Rollout>,
    /// Findings of their own: pending, perpetual, silent no-op, renamed with equal content, template removed in use.
    pub findings: Vec<Finding>,
    /// What a person should know and nobody is held for.
    pub warnings: Vec<String>,
}

impl Classified {
    /// Adds what was found about another object.
    pub fn extend(&mut self, other: Self) {
        self.rollouts.extend(other.rollouts);
        self.findings.extend(other.findings);
        self.warnings.extend(other.warnings);
    }

    /// Adds what another set of versions found: the heavier entry of each owner, and every finding and warning once.
    pub fn add(&mut self, other: &Self) {
        self.add_rollouts(&other.rollouts);
        add_new(&mut self.findings, &other.findings);
        add_new(&mut self.warnings, &other.warnings);
    }

    /// Adds the heavier entry of each owner of what another set of versions found.
    pub(crate) fn add_rollouts(&mut self, others: &[Rollout]) {
        let mut places: HashMap<Key, usize> = HashMap::default();
        for (place, rollout) in self.rollouts.iter().enumerate() {
            places.entry(rollout.owner.clone()).or_insert(place);
        }
        for rollout in others {
            match places.get(&rollout.owner).and_then(|place| self.rollouts.get_mut(*place)) {
                Some(own) if (rollout.effect, rollout.machines) > (own.effect, own.machines) => own.clone_from(rollout),
                Some(_) => {}
                None => {
                    places.insert(rollout.owner.clone(), self.rollouts.len());
                    self.rollouts.push(rollout.clone());
                }
            }
        }
    }
}

/// Adds what is not there yet.
fn add_new<T: Clone + Eq + Hash>(own: &mut Vec<T>, others: &[T]) {
    let known: HashSet<&T> = own.iter().collect();
    let new: Vec<T> = others.iter().filter(|other| !known.contains(other)).cloned().collect();
    own.extend(new);
}
