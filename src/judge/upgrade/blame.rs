//! Which behaviour makes Machines out of date: the one without which the new version calls them up to date.

use std::collections::BTreeSet;

use super::owner;
use super::steps::Turn;
use crate::compare::Pair;
use crate::judge::stage::Stage;
use crate::kinds::versions::Since;

/// A version of the controllers as it would be without some behaviours.
pub(super) struct Suspect<'a> {
    stage: Stage<'a>,
    without: Vec<&'static Since>,
}

/// The new version without each behaviour that comes, and without all of each minor version, for what needs several of them.
pub(super) fn suspects<'a>(then: &Stage<'a>, turns: &[Turn]) -> Vec<Suspect<'a>> {
    let all = || turns.iter().flat_map(|turn| turn.between.iter().copied());
    let minors: BTreeSet<(&str, (u64, u64))> = all().map(|since| (since.provider, since.version)).collect();
    let of_minor = |(provider, version): (&str, (u64, u64))| -> Vec<&'static Since> {
        all().filter(|since| (since.provider, since.version) == (provider, version)).collect()
    };
    let alone = all().map(|since| vec![since]);
    let together = minors.into_iter().map(of_minor).filter(|several| several.len() > 1);
    let suspect = |without: Vec<&'static Since>| {
        let versions = then.versions.without(&without);
        Suspect { stage: Stage::new(then.scene, then.pairs, then.rules, versions), without }
    };
    alone.chain(together).map(suspect).collect()
}

/// The behaviours without which some of these units of an owner are up to date; empty where no single one or minor version decides.
pub(super) fn of(suspects: &[Suspect<'_>], pair: &Pair, newly: &[usize]) -> Vec<&'static Since> {
    let is_free = |suspect: &&Suspect<'_>| {
        let units = owner::units(&suspect.stage, pair).unwrap_or_default();
        newly.iter().any(|place| units.get(*place).is_some_and(Vec::is_empty))
    };
    let (alone, together): (Vec<_>, Vec<_>) = suspects.iter().partition(|suspect| suspect.without.len() == 1);
    let found: Vec<&'static Since> =
        alone.into_iter().filter(is_free).flat_map(|suspect| suspect.without.clone()).collect();
    if !found.is_empty() {
        return found;
    }
    together.into_iter().find(is_free).map(|suspect| suspect.without.clone()).unwrap_or_default()
}
