//! What came out about one pair: an answer for each change, and what the write does as a whole.

use super::verdict::Answer;
use crate::model::{Basis, Effect, Pair};

/// What is to be written into one pair.
#[derive(Debug, Clone, Default)]
#[must_use]
pub(crate) struct Outcome {
    /// One answer a change.
    pub(crate) answers: Vec<Answer>,
    /// What the write does as a whole, where no change says it.
    pub(crate) effect: Effect,
    /// What it does as a whole as soon as a pause or another block ends that keeps it back.
    pub(crate) waits: Option<Effect>,
    /// The rule that decided that.
    pub(crate) rule: String,
    /// One sentence about it.
    pub(crate) because: String,
    /// Which comparison was possible.
    pub(crate) basis: Option<Basis>,
}

impl Outcome {
    /// One answer about a pair and everything in it.
    pub(super) fn whole(pair: &Pair, answer: &Answer) -> Self {
        Self {
            answers: pair.changes.iter().map(|_| answer.clone()).collect(),
            effect: answer.effect,
            waits: answer.waits,
            rule: answer.rule.clone(),
            because: answer.because.clone(),
            basis: None,
        }
    }

    /// Keeps the worse of two outcomes of the same pair; says whether anything became worse.
    pub(super) fn take_worse(&mut self, other: &Self) -> bool {
        let mut is_worse = false;
        for (answer, other) in self.answers.iter_mut().zip(&other.answers) {
            if other.outweighs(answer) {
                is_worse = true;
                answer.clone_from(other);
            }
        }
        if (other.effect, other.waits) > (self.effect, self.waits) {
            is_worse = true;
            (self.effect, self.waits) = (other.effect, other.waits);
            self.rule.clone_from(&other.rule);
            self.because.clone_from(&other.because);
        }
        is_worse
    }
}
