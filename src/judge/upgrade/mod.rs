//! Which Machines another version of the controllers calls out of date on the very same objects: the mirrors of both versions are
//! asked about one World to which nothing is written.

mod blame;
mod later;
mod owner;
mod steps;
mod told;
mod unseen;

use std::collections::BTreeMap;

use self::owner::Foreseen;
use self::steps::Turn;
use self::unseen::Unseen;
use crate::judge::stage::Stage;
use crate::judge::{Scene, open};
use crate::kinds::Versions;
use crate::model::{Action, Behaviour, Classified, Effect, Pair, Upgrade};
use crate::object::Object;
use crate::parallel;
use crate::providers::kind;
use crate::rules::Rules;
use crate::world::Unread;

/// The versions that come, by the names of their providers as they were told.
pub type Wanted = BTreeMap<String, String>;

/// What an upgrade does.
#[derive(Debug, Default)]
pub struct Foresight {
    /// The owners of Machines that are replaced by it; nothing is written to them.
    pub pairs: Vec<Pair>,
    /// Rollouts, findings and warnings.
    pub classified: Classified,
    /// What was not read, or not told.
    pub unread: Vec<Unread>,
    /// What it may do and no mirror computes, where that can reach Machines.
    pub unseen: Vec<Unread>,
    /// The upgrade in words for the report: its steps, the behaviours that come, and the next writes that do something else.
    pub upgrade: Upgrade,
    /// How many owners were asked.
    pub asked: usize,
}

/// The versions before the upgrade and after it, as far as they are known.
struct Both {
    now: Versions,
    then: Versions,
}

/// Asks every owner of Machines of a World under the versions that run now and under those that come. Where it is not known what
/// runs now, each version that it may be is tried, and of each owner the worst answer counts.
#[must_use]
pub fn foresee(scene: &Scene<'_>, rules: &Rules, wanted: &Wanted) -> Foresight {
    let turns = steps::turns(scene.world, wanted);
    let owners: Vec<Pair> = scene.view.objects().filter_map(unwritten).collect();
    let mut best: Vec<Option<Foreseen>> = owners.iter().map(|_| None).collect();
    for both in possible(scene, rules, &turns) {
        let stages = [both.now, both.then].map(|versions| Stage::new(*scene, &owners, rules, versions));
        let [now, then] = &stages;
        let suspects = blame::suspects(then, &turns);
        let found = parallel::map(&owners, |pair| owner::ask(now, then, &suspects, pair));
        for (best, found) in best.iter_mut().zip(found) {
            if best.as_ref().is_none_or(|best| found.as_ref().is_some_and(|found| found.weight() > best.weight())) {
                *best = found;
            }
        }
    }
    let found: Vec<Foreseen> = best.into_iter().flatten().collect();
    put_together(scene, rules, &turns, found)
}

/// Everything that was found, as a report tells it.
fn put_together(scene: &Scene<'_>, rules: &Rules, turns: &[Turn], found: Vec<Foreseen>) -> Foresight {
    let Unseen { unread, doubts, notes } = unseen::of(scene, turns, &found);
    let next_writes = later::next_writes(scene, rules, turns);
    let mut out = Foresight { unread, unseen: doubts, asked: found.len(), ..Foresight::default() };
    out.classified.warnings.extend(told::warnings(turns, &next_writes, &notes));
    out.upgrade = Upgrade {
        providers: turns.iter().map(|turn| turn.step.clone()).collect(),
        behaviours: behaviours(turns, &found),
        next_writes,
        not_looked_at: out
            .unread
            .iter()
            .chain(&out.unseen)
            .map(|one| format!("{}: {}", one.what, one.why))
            .chain(notes)
            .collect(),
    };
    for found in found {
        out.classified.findings.extend(found.findings);
        out.classified.add_weight(found.rollout);
        out.pairs.extend(Some(found.pair).filter(|pair| pair.effect > Effect::None));
    }
    out
}

/// An owner of Machines whose controller has a mirror, as nobody writes it.
fn unwritten(object: &Object) -> Option<Pair> {
    kind(&object.key).mirror?;
    let value = object.value().ok()?.into_owned();
    Some(Pair {
        live: Some(value.clone()),
        predicted: Some(value),
        ..Pair::of(object.key.clone(), object.api_version.clone(), Action::Unchanged)
    })
}

/// Every pair of versions that may be meant. A version that is only tried is none that is newer than the one that comes.
fn possible(scene: &Scene<'_>, rules: &Rules, turns: &[Turn]) -> Vec<Both> {
    let to: Vec<_> = turns.iter().map(|turn| (turn.step.provider.clone(), turn.judged_as.clone())).collect();
    let mut all = open::candidates(scene, &[], rules);
    let fits = |now: &Versions| to.iter().all(|(provider, to)| now.is_known(provider) || now.get(provider) <= *to);
    if all.iter().any(fits) {
        all.retain(fits);
    }
    all.into_iter().map(|now| Both { then: now.replaced(&to), now }).collect()
}

/// The behaviours that come, each with the owners whose Machines it makes out of date.
fn behaviours(turns: &[Turn], found: &[Foreseen]) -> Vec<Behaviour> {
    let since = turns.iter().flat_map(|turn| turn.between.iter().map(move |since| (*since, &turn.judged_as)));
    let behaviour = |(since, to): (&'static crate::kinds::versions::Since, &semver::Version)| {
        let blamed = || found.iter().filter(|found| found.blamed.iter().any(|one| std::ptr::eq(*one, since)));
        Behaviour {
            provider: since.provider.to_owned(),
            name: since.name.to_owned(),
            since: since.begun_by(to),
            what: since.what.to_owned(),
            owners: blamed().map(|found| found.pair.key.clone()).collect(),
            machines: blamed().map(|found| found.newly).sum(),
        }
    };
    since.map(behaviour).collect()
}
