//! All forecasts against what came: the matrix, owner by owner, and each miss by name.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use super::happened::{Became, ForecastCase};
use super::{Forecast, Foretold};
use crate::object::Key;
use crate::report::score::{Fate, ScoreMiss, ScoreOpen, ScoreOwner, ScoreReport, ScoreRow};
use crate::world::World;

/// What is asked.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ScoreScope {
    /// Forecasts from then on.
    pub since: Timestamp,
    /// How long a write has until its effect counts as over.
    pub settle: SignedDuration,
}

/// Compares forecasts with the World as it is now. A forecast counts once for each owner of Machines that it is about; the next one
/// about the same owner ends its time. What is not settled, and what cannot be told, is never counted as agreement.
#[must_use]
pub(crate) fn score(forecasts: &[Forecast], world: &World, asked: &ScoreScope, kept: &str) -> ScoreReport {
    let mut forecasts: Vec<&Forecast> = forecasts.iter().filter(|one| one.time >= asked.since).collect();
    forecasts.sort_by_key(|one| one.time);
    let mut sum = Sum::default();
    for (place, forecast) in forecasts.iter().enumerate() {
        let later = &forecasts[place + 1..];
        for own in &forecast.owners {
            if !forecast.is_let_out() {
                // What was planned or held, and let out later as the same change, counts there.
                let again = later.iter().any(|one| one.is_let_out() && one.digest == forecast.digest);
                sum.row(own.fate).not_let_out += u64::from(!again);
                continue;
            }
            let next = later
                .iter()
                .filter(|one| one.is_let_out())
                .find_map(|one| Some((*one, one.owners.iter().find(|other| other.owner == own.owner)?)));
            let became = ForecastCase { world, asked, forecast, own, next }.became();
            sum.add(forecast, own, became);
        }
    }
    let unread = world.unread.iter().chain(world.histories.iter().flat_map(|history| &history.unread));
    let unread: Vec<String> = unread.map(|one| format!("{}: {}; {}", one.what, one.why, one.remedy)).collect();
    let owners: Vec<ScoreOwner> = sum.owners.into_values().collect();
    ScoreReport {
        api_version: "rollgate.dev/v1alpha1".to_owned(),
        kind: "Score".to_owned(),
        is_whole: unread.is_empty(),
        kept: kept.to_owned(),
        since: asked.since.to_string(),
        forecasts: forecasts.len(),
        told: owners.iter().map(|owner| owner.told).sum(),
        came_true: owners.iter().map(|owner| owner.came_true).sum(),
        matrix: sum.matrix,
        owners,
        misses: sum.misses,
        open: sum.open,
        unread,
        source: world.source.name.clone(),
    }
}

/// What is counted.
#[derive(Default)]
struct Sum {
    matrix: BTreeMap<Fate, ScoreRow>,
    owners: BTreeMap<Key, ScoreOwner>,
    misses: Vec<ScoreMiss>,
    open: Vec<ScoreOpen>,
}

impl Sum {
    fn row(&mut self, fate: Fate) -> &mut ScoreRow {
        self.matrix.entry(fate).or_default()
    }

    fn came(&mut self, foretold: Fate, came: Fate) {
        let row = self.row(foretold);
        match came {
            Fate::Rollout => row.rollout += 1,
            Fate::Delete => row.delete += 1,
            Fate::Rejected => row.rejected += 1,
            Fate::None | Fate::Unknown | Fate::Unforeseen => row.none += 1,
        }
    }

    /// Counts one forecast about one owner.
    fn add(&mut self, forecast: &Forecast, own: &Foretold, became: Became) {
        let none = || ScoreOwner { owner: own.owner.clone(), cluster: own.cluster.clone(), told: 0, came_true: 0 };
        let owner = self.owners.entry(own.owner.clone()).or_insert_with(none);
        let miss = |foretold: Fate, came: Fate, gone: Vec<String>, made: Vec<String>, why: Option<String>| ScoreMiss {
            owner: own.owner.clone(),
            foretold,
            came,
            time: forecast.time.to_string(),
            digest: forecast.digest.clone(),
            gone,
            made,
            why,
            world: forecast.world.clone(),
        };
        match became {
            Became::Came { fate, gone, made, why } => {
                owner.told += 1;
                owner.came_true += u64::from(fate == own.fate);
                self.came(own.fate, fate);
                if fate != own.fate {
                    self.misses.push(miss(own.fate, fate, gone, made, why));
                }
            }
            Became::Unforeseen { came, gone, made, why } => {
                self.came(Fate::Unforeseen, came);
                self.row(own.fate).cannot_be_told += 1;
                self.misses.push(miss(Fate::Unforeseen, came, gone, made, Some(why)));
            }
            Became::Settling(why) => {
                self.row(own.fate).not_settled += 1;
                self.open(forecast, own, true, why);
            }
            Became::Untold(why) => {
                self.row(own.fate).cannot_be_told += 1;
                self.open(forecast, own, false, why);
            }
        }
    }

    fn open(&mut self, forecast: &Forecast, own: &Foretold, is_settling: bool, why: String) {
        let (owner, time) = (own.owner.clone(), forecast.time.to_string());
        self.open.push(ScoreOpen { owner, foretold: own.fate, time, is_settling, why });
    }
}

#[cfg(test)]
#[path = "matrix_tests.rs"]
mod tests;
