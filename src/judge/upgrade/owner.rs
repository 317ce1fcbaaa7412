//! One owner of Machines under both versions: what the new one replaces that the old one leaves alone.

use std::sync::Arc;

use super::blame::{self, Suspect};
use super::told;
use crate::apiserver::admission::Sides;
use crate::compare::redact::MARK;
use crate::compare::{Basis, Pair};
use crate::impact;
use crate::judge::owner::Assessment;
use crate::judge::stage::Stage;
use crate::kinds::Role;
use crate::kinds::fields::target;
use crate::kinds::versions::Since;
use crate::model::{Cause, Effect, Finding, Member, Rollout, Unit};
use crate::providers::{kind, machines};
use crate::tree::Value;

/// What is found about one owner.
pub(super) struct Foreseen {
    /// The owner, with what is judged otherwise as changes of it.
    pub(super) pair: Pair,
    /// What happens to its Machines.
    pub(super) rollout: Option<Rollout>,
    /// What is out of date already, or no more.
    pub(super) findings: Vec<Finding>,
    /// The behaviours that do it.
    pub(super) blamed: Vec<&'static Since>,
    /// How many Machines the new version calls out of date that the old one does not.
    pub(super) newly: u64,
    /// Whether what its Machines were made of was read.
    pub(super) is_read: bool,
}

impl Foreseen {
    /// What makes one answer about an owner worse than another.
    pub(super) fn weight(&self) -> (Effect, u64) {
        (self.pair.effect, self.newly)
    }
}

/// The owner as it stands, judged by the versions of a stage.
fn judged(stage: &Stage<'_>, pair: &Pair) -> Option<Assessment> {
    let mirror = kind(&pair.key).mirror?;
    let owner = Arc::unwrap_or_clone(stage.before(&pair.key)?);
    Some(Assessment::of(stage, &pair.key, mirror, Sides { old: owner.clone(), new: owner }))
}

/// Why each unit is out of date as the owner stands. Machines that were derived have no past: they are asked as they come.
fn due(assessment: &Assessment) -> impl Iterator<Item = &Vec<Cause>> {
    let is_read = assessment.basis == Basis::Machines;
    assessment.units.iter().map(move |unit| if is_read { &unit.before } else { &unit.after })
}

/// Why each unit of an owner is out of date as it stands, by the versions of this stage.
pub(super) fn units(stage: &Stage<'_>, pair: &Pair) -> Option<Vec<Vec<Cause>>> {
    Some(due(&judged(stage, pair)?).cloned().collect())
}

/// Asks the mirrors of both versions about one owner.
pub(super) fn ask(now: &Stage<'_>, then: &Stage<'_>, suspects: &[Suspect<'_>], pair: &Pair) -> Option<Foreseen> {
    let (was, mut is) = (judged(now, pair)?, judged(then, pair)?);
    let both: Vec<(Vec<Cause>, Vec<Cause>)> = due(&was).cloned().zip(due(&is).cloned()).collect();
    // Both versions look at the same Machines in the same order.
    for (unit, (before, after)) in is.units.iter_mut().zip(both) {
        (unit.before, unit.after) = (before, after);
    }
    is.was_held.clone_from(&was.held);
    let newly: Vec<usize> = places(&is, |unit| unit.before.is_empty() && !unit.after.is_empty());
    let blamed = if newly.is_empty() { Vec::new() } else { blame::of(suspects, pair, &newly) };
    let count = is.newly().map(|unit| unit.count).sum();
    let findings = told::findings(&was, &is, &pair.key, (now, then));
    if !is.is_released() {
        // What is out of date already is replaced without the upgrade.
        is.units.iter_mut().filter(|unit| !unit.before.is_empty()).for_each(|unit| unit.after.clear());
    }
    let rollout = impact::of(&pair.key, &is.weighed());
    let mut pair = pair.clone();
    pair.changes = told::changes((now, then), &pair, &is, &blamed);
    pair.basis = Some(is.basis);
    pair.settle();
    let is_read = is_read(then, &pair, &is);
    Some(Foreseen { pair, rollout, findings, blamed, newly: count, is_read })
}

/// The places of units with Machines that are so.
fn places(assessment: &Assessment, is: impl Fn(&Unit) -> bool) -> Vec<usize> {
    let units = assessment.units.iter().enumerate().filter(|(_, unit)| unit.count > 0 && is(unit));
    units.map(|(place, _)| place).collect()
}

/// Whether the Machines of an owner were read, and of a control plane, which compares each by itself, the bootstrap configs that
/// they were made of. From which template the infrastructure was cloned every version compares alike.
fn is_read(stage: &Stage<'_>, pair: &Pair, assessment: &Assessment) -> bool {
    if assessment.basis == Basis::Specs {
        return assessment.count() == 0 || assessment.is_bare;
    }
    if kind(&pair.key).role != Role::ControlPlane {
        return true;
    }
    let namespace = pair.key.namespace.as_deref();
    let members = members(stage, pair, assessment);
    members.iter().filter(|member| !member.is_deleting()).all(|member| {
        if is_hidden(&member.machine) {
            return false;
        }
        let named = || target(member.machine.pointer("/spec/bootstrap/configRef")?, namespace);
        member.config.is_some() || named().is_none_or(|key| stage.is_absent(&key))
    })
}

/// Whether a snapshot hides something of what a Machine remembers in its annotations: what hangs on the form of such a text cannot be compared.
fn is_hidden(machine: &Value) -> bool {
    let annotations = machine.pointer("/metadata/annotations").and_then(Value::as_object);
    annotations.is_some_and(|all| all.iter().any(|(_, text)| text.as_str().is_some_and(|text| text.contains(MARK))))
}

/// The Machines of an owner with what they were made of, where it is a control plane.
pub(super) fn members(stage: &Stage<'_>, pair: &Pair, assessment: &Assessment) -> Vec<Member> {
    let cluster = assessment.cluster.as_ref().map_or("", |cluster| cluster.name.as_str());
    machines::of_control_plane(stage.scene.view, &pair.key, cluster, &stage.versions)
}
