//! What is equal over clusters and owners, said once: rows of Machines, changes, reasons and findings, in the order in which a
//! person needs them. Pure, and for every format: it groups what the report says and decides nothing.

mod names;
mod objects;
mod rows;
mod said;
mod together;

use std::collections::BTreeSet;

pub(crate) use names::{ClusterName, listed};
pub(crate) use objects::{ChangeGroup, Each, ObjectGroup, Sides};
pub(crate) use rows::{Count, Row};
pub(crate) use said::{ReasonGroup, SaidGroup};
pub(crate) use together::together;

use super::{ObjectReport, Report};
use crate::kinds::Role;
use crate::model::Effect;
use crate::object::Key;
use crate::parallel;
use crate::providers;
use names::Names;

/// A report with everything that is equal in it said once.
#[derive(Debug)]
pub(crate) struct Folded<'r> {
    /// Every cluster whose Machines or objects it is about, in the order of their names.
    pub clusters: BTreeSet<ClusterName<'r>>,
    /// What happens to Machines: deletions first, control planes before workers.
    pub rows: Vec<Row<'r>>,
    /// The reasons, the weightiest first. That a renamed template replaces Machines is said with the owner that moves to it.
    pub reasons: Vec<ReasonGroup<'r>>,
    /// The objects that change, in the order of the rows; new and removed ones without effect are only counted.
    pub objects: Vec<ObjectGroup<'r>>,
    /// How many objects of each kind are new.
    pub created: Vec<(&'r str, usize)>,
    /// How many of each kind nobody looked for, so that nobody knows whether they are new.
    pub unread: Vec<(&'r str, usize)>,
    /// The findings.
    pub findings: Vec<SaidGroup<'r>>,
    /// The warnings.
    pub warnings: Vec<SaidGroup<'r>>,
}

/// Folds a report.
#[must_use]
pub(crate) fn fold(report: &Report) -> Folded<'_> {
    let names = Names::of(report);
    let many = report.objects.len().max(report.reasons.len());
    let rows = || rows::rows(report, &names);
    let others = || (said::reasons(report, &names), objects::objects(report, &names));
    let (rows, (reasons, objects)) = parallel::both(many, rows, others);
    Folded {
        rows,
        reasons,
        objects,
        created: by_kind(report.objects.iter().filter(|object| object.is_new())),
        unread: by_kind(report.objects.iter().filter(|object| object.is_unread())),
        findings: said::findings(report, &names),
        warnings: said::warnings(report, &names),
        clusters: names.clusters(),
    }
}

/// How many objects there are of each kind, in the order of the report.
fn by_kind<'r>(objects: impl Iterator<Item = &'r ObjectReport>) -> Vec<(&'r str, usize)> {
    let mut kinds: Vec<(&str, usize)> = Vec::new();
    for object in objects {
        match kinds.iter_mut().find(|(kind, _)| *kind == object.kind) {
            Some((_, count)) => *count += 1,
            None => kinds.push((&object.kind, 1)),
        }
    }
    kinds
}

/// What comes first: what is lost, then what nobody knows, then what is refused, then what is replaced.
const fn by_effect(effect: Effect) -> u8 {
    match effect {
        Effect::Delete => 0,
        Effect::Unknown => 1,
        Effect::Rejected => 2,
        Effect::Rollout => 3,
        Effect::Scale => 4,
        Effect::Latent => 5,
        Effect::InPlace => 6,
        Effect::None => 7,
    }
}

/// A Cluster before its control plane, a control plane before workers, workers before what they are made of.
fn by_role(key: &Key) -> u8 {
    match providers::kind(key).role {
        Role::Cluster | Role::Class => 0,
        Role::ControlPlane => 1,
        Role::Deployment | Role::Set | Role::Pool | Role::Machine => 2,
        Role::Template | Role::Config | Role::InfraMachine => 3,
        _ => 4,
    }
}

#[cfg(test)]
mod tests;
