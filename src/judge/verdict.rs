//! The answer about one place that differs, and how answers are put into a change.

use crate::compare::Change;
use crate::model::RuleId;
use crate::model::{Effect, Touches};
use crate::rules::{Hit, Rules};

/// The answer about one leaf.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Answer {
    /// What it does to Machines.
    pub(crate) effect: Effect,
    /// What it moves besides.
    pub(crate) touches: Option<Touches>,
    /// Rule or cause that decided.
    pub(crate) rule: String,
    /// One sentence.
    pub(crate) because: String,
    /// Where that behaviour stands.
    pub(crate) source: String,
    /// A finding that it makes.
    pub(crate) finding: Option<String>,
    /// What it does as soon as a pause or another block ends that keeps it back; its effect is latent then.
    pub(crate) waits: Option<Effect>,
}

impl Answer {
    /// The answer of a cause or another id that a pack has a sentence for.
    #[must_use]
    pub(crate) fn known(rules: &Rules, effect: Effect, rule: RuleId) -> Self {
        Self::named(rules, effect, rule.as_str())
    }

    /// The answer of a cause or rule by its name, with the sentence and the source that a pack has for it.
    pub(crate) fn named(rules: &Rules, effect: Effect, rule: &str) -> Self {
        let (because, source) = rules.cause(rule).unwrap_or_default();
        Self {
            effect,
            touches: None,
            rule: rule.to_owned(),
            because: because.to_owned(),
            source: source.to_owned(),
            finding: None,
            waits: None,
        }
    }

    /// An answer about an object as a whole, whose source the pack has.
    #[must_use]
    pub(crate) fn whole(effect: Effect, rule: RuleId, because: impl Into<String>) -> Self {
        let (rule, because) = (rule.into(), because.into());
        Self { effect, touches: None, rule, because, source: String::new(), finding: None, waits: None }
    }

    /// Whether Machines are touched, now or when what keeps the controllers from it ends.
    #[must_use]
    pub(crate) fn may_reach_machines(&self) -> bool {
        self.effect > Effect::Latent || self.waits.is_some_and(|waits| waits > Effect::Latent)
    }

    /// The answer for a spec field that nothing names.
    #[must_use]
    pub(crate) fn unknown(kind: &str) -> Self {
        Self {
            effect: Effect::Unknown,
            touches: None,
            rule: RuleId::of("unknown/field").into(),
            because: format!("rollgate has no rule for this field of {kind}, so it may do anything to Machines"),
            source: String::new(),
            finding: None,
            waits: None,
        }
    }

    /// This answer with another sentence.
    #[must_use]
    pub(crate) fn saying(mut self, because: impl Into<String>) -> Self {
        self.because = because.into();
        self
    }

    /// This answer, kept back for now by something that the sentence names.
    #[must_use]
    pub(crate) fn held(self, because: impl Into<String>) -> Self {
        Self { waits: Some(self.effect), effect: Effect::Latent, because: because.into(), ..self }
    }

    /// What it does to Machines, now or later.
    #[must_use]
    pub(crate) fn weight(&self) -> (Effect, Option<Effect>) {
        (self.effect, self.waits)
    }

    /// Whether this answer weighs more than another one. Of two that weigh the same, what does not differ has less to say.
    #[must_use]
    pub(crate) fn outweighs(&self, other: &Self) -> bool {
        let whole = |answer: &Self| (answer.weight(), answer.touches, answer.rule != "schema/same-value");
        whole(self) > whole(other)
    }

    /// Writes the answer into a change.
    pub(crate) fn write(self, change: &mut Change) {
        change.effect = self.effect;
        change.touches = self.touches;
        change.waits = self.waits;
        change.rule = self.rule;
        change.because = self.because;
        change.source = self.source;
    }
}

impl From<Hit> for Answer {
    fn from(hit: Hit) -> Self {
        Self {
            effect: hit.effect,
            touches: hit.touches,
            rule: hit.rule,
            because: hit.because,
            source: hit.source,
            finding: hit.finding,
            waits: None,
        }
    }
}

impl From<Answer> for Hit {
    fn from(answer: Answer) -> Self {
        Self {
            rule: answer.rule,
            effect: answer.effect,
            touches: answer.touches,
            finding: answer.finding,
            because: answer.because,
            source: answer.source,
        }
    }
}
