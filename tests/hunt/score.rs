//! Forecast against what came: one word for each change, and the figures of a hunt.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use serde_json::Value;

use crate::objects::text;
use crate::stage::{Forecast, Outcome};

/// How a forecast fared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Mark {
    Agrees,
    /// Undecided, and nothing happened.
    Doubt,
    /// Held for another reason than the one that came.
    Word,
    /// Not those Machines, or not so many.
    Count,
    /// The snapshot said something else than the cluster.
    Snapshot,
    /// Held, and nothing happened.
    FalseHold,
    /// Allowed, and Machines were replaced or deleted, or the write was refused.
    FalseSafe,
}

impl Mark {
    const ALL: [Self; 7] =
        [Self::Agrees, Self::Doubt, Self::Word, Self::Count, Self::Snapshot, Self::FalseHold, Self::FalseSafe];

    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Agrees => "agrees",
            Self::Doubt => "doubt",
            Self::Word => "word",
            Self::Count => "count",
            Self::Snapshot => "snapshot",
            Self::FalseHold => "false hold",
            Self::FalseSafe => "false safe",
        }
    }
}

/// What a report says of Machines.
#[derive(Debug)]
struct Foretold {
    decision: String,
    effect: String,
    names: BTreeSet<String>,
    /// Whose Machines are replaced or deleted.
    owners: BTreeSet<String>,
    machines: u64,
    scaled: u64,
    /// Whether something is removed that others still name, or something named that is not there.
    in_use: bool,
    /// Whether something of it is said to be refused.
    is_refused: bool,
    /// Whether it says itself that something could not be read: then it would be held whatever comes.
    is_blind: bool,
}

/// The Machines that a report names.
pub(crate) fn names(report: &Value) -> impl Iterator<Item = String> {
    let rollouts = report["rollouts"].as_array().map(Vec::as_slice).unwrap_or_default();
    rollouts.iter().flat_map(|rollout| rollout["machineNames"].as_array().into_iter().flatten()).map(text)
}

impl Foretold {
    fn of(report: &Value) -> Self {
        let rollouts = report["rollouts"].as_array().map(Vec::as_slice).unwrap_or_default();
        let count = |scale: bool| {
            let own = rollouts.iter().filter(|rollout| (rollout["effect"] == "scale") == scale);
            own.filter_map(|rollout| rollout["machines"].as_u64()).sum()
        };
        let reasons = report["reasons"].as_array().map(Vec::as_slice).unwrap_or_default();
        Self {
            decision: text(&report["decision"]),
            effect: text(&report["effect"]),
            names: names(report).collect(),
            owners: rollouts.iter().map(|rollout| text(&rollout["owner"]["name"])).collect(),
            is_refused: report["effect"] == "rejected" || reasons.iter().any(|reason| reason["effect"] == "rejected"),
            is_blind: reasons.iter().any(|reason| reason["gate"] == "read" && reason["decision"] == "undecided"),
            machines: count(false),
            scaled: count(true),
            in_use: report["findings"]
                .as_array()
                .into_iter()
                .flatten()
                .any(|finding| finding["id"] == "removed-in-use" || finding["id"] == "dangling-reference"),
        }
    }
}

/// Compares. What an earlier write still has to do may come with this one or have come without it, so both readings count.
pub(crate) fn mark(forecast: &Forecast, outcome: &Outcome, hurried: bool) -> Mark {
    let mark = compared(forecast, outcome, hurried);
    if !outcome.met || mark <= Mark::Doubt {
        return mark;
    }
    let own = |names: &BTreeSet<String>| names.difference(&outcome.due).cloned().collect();
    let own = Outcome { gone: own(&outcome.gone), outdated: own(&outcome.outdated), ..outcome.clone() };
    mark.min(compared(forecast, &own, true))
}

fn compared(forecast: &Forecast, outcome: &Outcome, hurried: bool) -> Mark {
    let foretold = Foretold::of(&forecast.report);
    let allowed = foretold.decision == "allow";
    if outcome.refused.is_some() {
        return match foretold.effect.as_str() {
            _ if allowed => Mark::FalseSafe,
            _ if foretold.is_refused => Mark::Agrees,
            // A stream that cannot be read is refused by both.
            _ if foretold.decision == "none" => Mark::Agrees,
            _ => Mark::Word,
        };
    }
    // Machines whose turn has not come are called outdated and still run.
    let all: BTreeSet<String> = outcome.gone.union(&outcome.outdated).cloned().collect();
    let gone = u64::try_from(outcome.gone.len()).unwrap_or(u64::MAX);
    let found = if gone == 0 {
        still(&foretold, outcome)
    } else if foretold.machines == 0 && foretold.scaled == gone {
        Mark::Agrees
    } else if allowed {
        if foretold.scaled > 0 && outcome.made.is_empty() { Mark::Count } else { Mark::FalseSafe }
    } else if foretold.names == outcome.gone || foretold.machines + foretold.scaled == gone || foretold.names == all {
        Mark::Agrees
    } else if hurried || !outcome.rested {
        // Not all that comes was seen.
        if outcome.gone.is_subset(&foretold.names) || foretold.names.is_empty() { Mark::Agrees } else { Mark::Count }
    } else if matches!(foretold.effect.as_str(), "rollout" | "delete" | "scale") {
        Mark::Count
    } else {
        Mark::Word
    };
    if found == Mark::Agrees && forecast.snapshot_differs && !hurried { Mark::Snapshot } else { found }
}

/// The mark where no Machine went.
fn still(foretold: &Foretold, outcome: &Outcome) -> Mark {
    let waits = !outcome.outdated.is_empty();
    match (foretold.decision.as_str(), foretold.effect.as_str()) {
        ("allow", "none" | "in-place" | "scale") if waits => Mark::FalseSafe,
        ("allow", _) => Mark::Agrees,
        (_, "rollout" | "latent") if waits => Mark::Agrees,
        // Nothing can reach the cluster any more, or no Machine can be made: no Machine shows that.
        (_, "unknown") if outcome.cut || foretold.in_use => Mark::Agrees,
        // Their turn has not come yet, and did not before.
        (_, "rollout")
            if !outcome.due.is_empty()
                && (foretold.names.is_subset(&outcome.due) || foretold.owners.is_subset(&outcome.due)) =>
        {
            Mark::Agrees
        }
        // What is being deleted cannot be kept any more, whenever its Machines go.
        (_, "delete") if !foretold.owners.is_empty() && foretold.owners.is_subset(&outcome.leaving) => Mark::Agrees,
        ("undecided" | "none", _) => Mark::Doubt,
        (_, "rollout" | "delete" | "rejected" | "unknown") => {
            if waits {
                Mark::Word
            } else if foretold.is_blind {
                Mark::Doubt
            } else {
                Mark::FalseHold
            }
        }
        _ => Mark::Agrees,
    }
}

/// One line for people: what was said and what came.
pub(crate) fn line(forecast: &Forecast, outcome: &Outcome) -> String {
    let foretold = Foretold::of(&forecast.report);
    let refused = outcome.refused.as_deref().map(|said| said.lines().last().unwrap_or_default());
    let refused = refused.map(|said| said.chars().take(240).collect::<String>());
    format!(
        "said {} ({}; replaced or deleted {} {:?}, fewer {}); came refused {refused:?}, gone {:?}, made {}, outdated {:?}",
        foretold.decision,
        foretold.effect,
        foretold.machines,
        foretold.names,
        foretold.scaled,
        outcome.gone,
        outcome.made.len(),
        outcome.outdated,
    )
}

/// The figures of a hunt.
#[derive(Debug, Default)]
pub(crate) struct Figures {
    classes: BTreeMap<String, BTreeMap<Mark, usize>>,
    seconds: f64,
    /// Marks in the order in which they came.
    marks: Vec<Mark>,
}

impl Figures {
    pub(crate) fn add(&mut self, class: &str, mark: Mark, seconds: f64) {
        *self.classes.entry(class.to_owned()).or_default().entry(mark).or_default() += 1;
        self.seconds += seconds;
        self.marks.push(mark);
    }

    /// How many changes had one of these marks.
    pub(crate) fn count(&self, marks: &[Mark]) -> usize {
        self.marks.iter().filter(|mark| marks.contains(mark)).count()
    }

    pub(crate) fn played(&self) -> usize {
        self.marks.len()
    }

    /// A table: classes and marks.
    pub(crate) fn table(&self) -> String {
        let mut table = format!("{:>14}", "class");
        for mark in Mark::ALL {
            write!(table, "{:>12}", mark.word()).expect("a String takes it");
        }
        for (class, marks) in &self.classes {
            write!(table, "\n{class:>14}").expect("a String takes it");
            for mark in Mark::ALL {
                write!(table, "{:>12}", marks.get(&mark).copied().unwrap_or_default()).expect("a String takes it");
            }
        }
        let last = self.marks.iter().rev().take_while(|mark| **mark != Mark::FalseSafe).count();
        #[expect(clippy::cast_precision_loss, reason = "it is printed with one digit")]
        let each = self.seconds / self.marks.len().max(1) as f64;
        write!(table, "\n{} changes played, {each:.1} s each; the last {last} without a false safe", self.marks.len())
            .expect("a String takes it");
        table
    }
}
