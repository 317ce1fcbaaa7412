//! From which version to which each provider goes, and what is known of the way between the two.

use std::collections::BTreeMap;

use semver::Version;

use super::Wanted;
use crate::kinds::versions::{Since, newest, parse};
use crate::model::UpgradeStep;
use crate::providers::versions::named;
use crate::providers::{PROVIDERS, RELEASES};
use crate::world::World;

/// One provider that comes in another version.
#[derive(Debug, Clone)]
pub(super) struct Turn {
    /// As the report tells it.
    pub(super) step: UpgradeStep,
    /// Which way it goes.
    pub(super) way: Way,
    /// The version by which it is judged: the newest one that is known where a newer one comes.
    pub(super) judged_as: Version,
    /// The newest version that is known; `None` where no version of it is told apart.
    pub(super) newest: Option<Version>,
    /// The lowest version that runs now.
    pub(super) from: Option<Version>,
    /// The behaviours that come, in the order of their versions.
    pub(super) between: Vec<&'static Since>,
}

/// Which way a provider goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// To a version that is known.
    Up,
    /// To one that is newer than all that are known.
    Beyond,
    /// To the one that runs already.
    Same,
    /// To an older one.
    Down,
}

/// A minor version as people write it.
pub(super) fn word((major, minor): (u64, u64)) -> String {
    format!("v{major}.{minor}")
}

/// The providers that come in another version, each under one name. A text that is no version counts as newer than all.
pub(super) fn turns(world: &World, wanted: &Wanted) -> Vec<Turn> {
    let mut by_name: BTreeMap<&str, &str> = BTreeMap::new();
    for (name, version) in wanted {
        by_name.insert(named(name), version);
    }
    by_name.into_iter().map(|(provider, to)| turn(world, provider, to)).collect()
}

fn turn(world: &World, provider: &str, to: &str) -> Turn {
    let told = world.told_versions();
    let by_person = told.iter().any(|one| one.by_person && named(one.provider) == provider);
    let own = told.iter().filter(|one| named(one.provider) == provider && (one.by_person || !by_person));
    let mut running: Vec<(Version, &str)> = own.filter_map(|one| Some((parse(one.version)?, one.version))).collect();
    running.sort();
    running.dedup();
    let newest = newest(&RELEASES, provider);
    let wanted = parse(to);
    let from = running.first().map(|(version, _)| version.clone());
    let known = newest.clone().unwrap_or_else(|| wanted.clone().unwrap_or(Version::new(0, 0, 0)));
    let minor = |version: &Version| (version.major, version.minor);
    let way = match (&wanted, &from) {
        (None, _) => Way::Beyond,
        (Some(to), _) if newest.as_ref().is_some_and(|newest| minor(to) > minor(newest)) => Way::Beyond,
        (Some(to), Some(_)) if running.iter().all(|(from, _)| from == to) => Way::Same,
        (Some(to), Some(_)) if running.iter().any(|(from, _)| from > to) => Way::Down,
        (Some(_), _) => Way::Up,
    };
    let judged_as = wanted.filter(|_| way != Way::Beyond).unwrap_or(known);
    let comes = |since: &&&'static Since| {
        named(since.provider) == provider
            && since.is_in(&judged_as)
            && from.as_ref().is_some_and(|from| !since.is_in(from))
    };
    let mut between: Vec<&'static Since> =
        PROVIDERS.iter().flat_map(|provider| provider.changes).filter(comes).copied().collect();
    between.sort_by_key(|since| since.version);
    let texts: Vec<&str> = running.iter().map(|(_, text)| *text).collect();
    let step = UpgradeStep {
        provider: provider.to_owned(),
        from: Some(texts.join(" or ")).filter(|text| !text.is_empty()),
        to: to.to_owned(),
    };
    Turn { step, way, judged_as, newest, from, between }
}
