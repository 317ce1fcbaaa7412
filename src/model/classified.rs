//! What judging found beside the effects of the pairs.

use std::hash::Hash;
use std::sync::Arc;

use super::{Finding, Rollout};
use crate::hashed::{HashMap, HashSet};
use crate::object::Key;

/// What the mirrors and packs found out beside the effects that they wrote into the pairs.
#[derive(Debug, Clone, Default)]
pub struct Classified {
    /// Weight of it all, an entry per owner whose Machines are replaced or destroyed; shared by all sets of versions that find it.
    pub rollouts: Vec<Arc<Rollout>>,
    /// The weight of owners that roll already in the clusters of those, whatever is written.
    pub beside: Vec<Arc<Rollout>>,
    /// Findings of their own: pending, perpetual, silent no-op, renamed with equal content, template removed in use.
    pub findings: Vec<Finding>,
    /// What a person should know and nobody is held for.
    pub warnings: Vec<String>,
}

impl Classified {
    /// Adds the weight of owners.
    pub(crate) fn add_weight(&mut self, rollouts: impl IntoIterator<Item = Rollout>) {
        self.rollouts.extend(rollouts.into_iter().map(Arc::new));
    }

    /// Adds what was found about another object.
    pub fn extend(&mut self, other: Self) {
        self.rollouts.extend(other.rollouts);
        self.beside.extend(other.beside);
        self.findings.extend(other.findings);
        self.warnings.extend(other.warnings);
    }

    /// Adds what another set of versions found: the heavier entry of each owner, and every finding and warning once.
    pub fn add(&mut self, other: &Self) {
        self.add_rollouts(&other.rollouts);
        let known: HashSet<&Key> = self.beside.iter().map(|own| &own.owner).collect();
        let new: Vec<_> = other.beside.iter().filter(|other| !known.contains(&other.owner)).cloned().collect();
        self.beside.extend(new);
        add_new(&mut self.findings, &other.findings);
        add_new(&mut self.warnings, &other.warnings);
    }

    /// Adds the heavier entry of each owner of what another set of versions found.
    pub(crate) fn add_rollouts(&mut self, others: &[Arc<Rollout>]) {
        let mut theirs: HashMap<&Key, &Arc<Rollout>> = HashMap::default();
        for other in others {
            theirs.entry(&other.owner).or_insert(other);
        }
        for own in &mut self.rollouts {
            if let Some(other) = theirs.remove(&own.owner)
                && (other.effect, other.machines) > (own.effect, own.machines)
            {
                own.clone_from(other);
            }
        }
        let is_new = |other: &&Arc<Rollout>| theirs.get(&other.owner).is_some_and(|new| std::ptr::eq(*new, *other));
        self.rollouts.extend(others.iter().filter(is_new).cloned());
    }
}

/// Adds what is not there yet.
fn add_new<T: Clone + Eq + Hash>(own: &mut Vec<T>, others: &[T]) {
    let known: HashSet<&T> = own.iter().collect();
    let new: Vec<T> = others.iter().filter(|other| !known.contains(other)).cloned().collect();
    own.extend(new);
}
