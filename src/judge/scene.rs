//! What a mirror may look at: every object before and after the write, and the clock.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use serde_json::Value;

use crate::impact::Rollout;
use crate::object::{Inventory, Key};
use crate::report::Finding;
use crate::world::{View, World};

/// Both sides of the whole cluster, as far as it is known.
///
/// `pairs` holds what differs, is new or goes away; every other object is the same on both sides and is found in
/// the World (or, for an old render, in the rendered stream).
#[derive(Debug, Clone, Copy)]
pub struct Scene<'a> {
    /// What was read, with the clock and the versions in it; what is live is read through the view.
    pub world: &'a World,
    /// What is live.
    pub view: &'a dyn View,
    /// The rendered objects, late values resolved.
    pub rendered: &'a Inventory,
}

impl<'a> Scene<'a> {
    /// The object as the API server holds it now.
    #[must_use]
    pub fn before(&self, key: &Key) -> Option<Cow<'a, Value>> {
        self.view.get(key).object()?.value().ok()
    }
}

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
    pub(crate) fn extend(&mut self, other: Self) {
        self.rollouts.extend(other.rollouts);
        self.findings.extend(other.findings);
        self.warnings.extend(other.warnings);
    }

    /// Adds what another set of versions found: the heavier entry of each owner, and every finding and warning once.
    pub(crate) fn add(&mut self, other: Self) {
        let mut places: HashMap<Key, usize> = HashMap::new();
        for (place, rollout) in self.rollouts.iter().enumerate() {
            places.entry(rollout.owner.clone()).or_insert(place);
        }
        for rollout in other.rollouts {
            match places.get(&rollout.owner).and_then(|place| self.rollouts.get_mut(*place)) {
                Some(own) if (rollout.effect, rollout.machines) > (own.effect, own.machines) => *own = rollout,
                Some(_) => {}
                None => {
                    places.insert(rollout.owner.clone(), self.rollouts.len());
                    self.rollouts.push(rollout);
                }
            }
        }
        let known: HashSet<Finding> = self.findings.iter().cloned().collect();
        self.findings.extend(other.findings.into_iter().filter(|finding| !known.contains(finding)));
        let known: HashSet<String> = self.warnings.iter().cloned().collect();
        self.warnings.extend(other.warnings.into_iter().filter(|warning| !known.contains(warning)));
    }
}
