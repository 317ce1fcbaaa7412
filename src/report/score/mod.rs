//! The answer of `rollgate score`: earlier forecasts against what happened. `human.rs` beside it writes it for people.

mod human;

pub(crate) use self::human::write;

use std::collections::BTreeMap;

#[cfg(test)]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::object::Key;

/// What was foretold of the Machines of an owner, and what came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Fate {
    /// Every Machine stays.
    None,
    /// Machines are replaced.
    Rollout,
    /// Machines go, and none comes in their place.
    Delete,
    /// The write is refused.
    Rejected,
    /// Nothing was known; never what came.
    Unknown,
    /// Nobody asked: somebody wrote past rollgate, or something else took Machines; never what came.
    Unforeseen,
}

impl Fate {
    /// Its word.
    #[must_use]
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Rollout => "rollout",
            Self::Delete => "delete",
            Self::Rejected => "rejected",
            Self::Unknown => "unknown",
            Self::Unforeseen => "unforeseen",
        }
    }
}

/// One line of the matrix: what was foretold, and how often what came.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct ScoreRow {
    /// Every Machine stayed.
    pub none: u64,
    /// Machines were replaced.
    pub rollout: u64,
    /// Machines went.
    pub delete: u64,
    /// The write was refused.
    pub rejected: u64,
    /// It is not over yet.
    pub not_settled: u64,
    /// Nothing shows what came of it.
    pub cannot_be_told: u64,
    /// Nothing was written, as far as this is known: held, undecided, or only planned.
    pub not_let_out: u64,
}

/// How one owner of Machines was foretold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct ScoreOwner {
    /// The owner.
    pub owner: Key,
    /// Its cluster, where it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster: Option<String>,
    /// Forecasts of which it is known what came.
    pub told: u64,
    /// Those of them that came true.
    pub came_true: u64,
}

/// A forecast of which something else came, or something that nobody asked about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct ScoreMiss {
    /// The owner.
    pub owner: Key,
    /// What was foretold.
    pub foretold: Fate,
    /// What came.
    pub came: Fate,
    /// When it was foretold; where nobody asked, the last forecast before.
    pub time: String,
    /// The digest of its report.
    pub digest: String,
    /// The Machines that went.
    pub gone: Vec<String>,
    /// The Machines that came.
    pub made: Vec<String>,
    /// What is known beside.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// The World that was judged, where it was kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub world: Option<String>,
}

/// A forecast of which it is not known what came.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct ScoreOpen {
    /// The owner.
    pub owner: Key,
    /// What was foretold.
    pub foretold: Fate,
    /// When.
    pub time: String,
    /// Whether it may still be told later.
    pub is_settling: bool,
    /// Why.
    pub why: String,
}

/// Everything that is answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct ScoreReport {
    /// Always `rollgate.dev/v1alpha1`.
    pub api_version: String,
    /// Always `Score`.
    pub kind: String,
    /// Whether everything that the answer needs was read.
    pub is_whole: bool,
    /// Where the forecasts are kept.
    pub kept: String,
    /// Forecasts from then on.
    pub since: String,
    /// How many forecasts there are.
    pub forecasts: usize,
    /// What was foretold, each with what came. Counted is each owner of Machines of each forecast.
    pub matrix: BTreeMap<Fate, ScoreRow>,
    /// Forecasts of which it is known what came.
    pub told: u64,
    /// Those of them that came true.
    pub came_true: u64,
    /// What was foretold and what came, owner by owner.
    pub owners: Vec<ScoreOwner>,
    /// What came otherwise.
    pub misses: Vec<ScoreMiss>,
    /// What is not known.
    pub open: Vec<ScoreOpen>,
    /// What could not be read, with what to do about it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(test, schemars(default))]
    pub unread: Vec<String>,
    /// Where what came was read.
    pub source: String,
}

impl ScoreReport {
    /// Changes every text that came from outside.
    pub(crate) fn each_text(&mut self, mut change: impl FnMut(&mut String)) {
        self.unread.iter_mut().for_each(&mut change);
        self.misses.iter_mut().filter_map(|miss| miss.why.as_mut()).for_each(&mut change);
        self.open.iter_mut().for_each(|open| change(&mut open.why));
    }
}
