//! What judging found beside the effects of the pairs.

use super::{Finding, Rollout};

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
    pub fn add(&mut self, other: Self) {
        for rollout in other.rollouts {
            match self.rollouts.iter_mut().find(|own| own.owner == rollout.owner) {
                Some(own) if (rollout.effect, rollout.machines) > (own.effect, own.machines) => *own = rollout,
                Some(_) => {}
                None => self.rollouts.push(rollout),
            }
        }
        for finding in other.findings {
            if !self.findings.contains(&finding) {
                self.findings.push(finding);
            }
        }
        for warning in other.warnings {
            if !self.warnings.contains(&warning) {
                self.warnings.push(warning);
            }
        }
    }
}
