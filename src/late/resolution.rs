//! What became of the late values of a stream.

use std::borrow::Cow;
use std::fmt;

use super::targets::{Target, Targets};
use crate::model::{Finding, Reason};
use crate::pin::Pin;
use crate::report::LateValueReport;
use crate::tree::Value;

/// What became of the late values of a stream.
#[derive(Clone)]
pub struct Resolution<'s> {
    /// The stream with the values in it; borrowed where nothing was filled in.
    pub bytes: Cow<'s, [u8]>,
    /// Each late value of the policy and its state, in the policy's order.
    pub reports: Vec<LateValueReport>,
    /// Why the install cannot go on, where it cannot.
    pub reasons: Vec<Reason>,
    /// What a person should know although nobody is held for it.
    pub warnings: Vec<String>,
    /// Values that were filled in where the chart should have known them.
    pub findings: Vec<Finding>,
    /// Pins to record after an allowed run.
    pub pins: Vec<Pin>,
    /// Values of Secrets, which must be kept out of every output but the stream itself.
    pub secrets: Vec<String>,
    /// Values that are not known: equal to themselves and to nothing else.
    pub symbolic: Vec<Symbolic>,
    /// Placeholders that this first install may let out, if that does no harm.
    pub trials: Vec<Trial>,
    /// The values that are filled in, secret or not.
    pub(super) known: Vec<String>,
}

/// A late value that is not known on a first install and whose placeholder may go out, if no field that it stands in replaces a Machine
/// when it changes. Until that is proven the install does not go on.
#[derive(Debug, Clone)]
pub struct Trial {
    /// Place of the late value in the policy.
    pub value: usize,
    /// Why the install cannot go on, unless it is proven.
    pub reason: Reason,
}

impl Resolution<'_> {
    /// That nothing is filled in, where what is written cannot be changed any more.
    #[must_use]
    pub fn nothing() -> Self {
        Self {
            bytes: Cow::Borrowed(&[]),
            reports: Vec::new(),
            reasons: Vec::new(),
            warnings: Vec::new(),
            findings: Vec::new(),
            pins: Vec::new(),
            secrets: Vec::new(),
            symbolic: Vec::new(),
            trials: Vec::new(),
            known: Vec::new(),
        }
    }
}

impl fmt::Debug for Resolution<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The stream and the secrets stay out: a log is no place for either.
        f.debug_struct("Resolution")
            .field("bytes", &self.bytes.len())
            .field("reports", &self.reports)
            .field("reasons", &self.reasons)
            .field("warnings", &self.warnings)
            .field("findings", &self.findings)
            .field("pins", &self.pins)
            .field("secrets", &self.secrets.len())
            .field("symbolic", &self.symbolic)
            .finish()
    }
}

/// A value that is not known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Symbolic {
    /// Name of the late value.
    pub name: String,
    /// The placeholders that stand for it in the stream.
    pub placeholders: Vec<String>,
    /// Other spellings of "not known yet".
    pub equivalent: Vec<String>,
}

impl Symbolic {
    /// Whether a text depends on the value: what it is cannot be known offline.
    #[must_use]
    pub fn reaches(&self, text: &str) -> bool {
        let targets = self.placeholders.iter().map(|placeholder| Target { value: 0, placeholder, with: None });
        super::layers::spots(text, &Targets::new(targets.collect())).iter().any(|spot| !spot.places.is_empty())
    }

    /// Whether any text in a value depends on it.
    #[must_use]
    pub fn reaches_into(&self, value: &Value) -> bool {
        match value {
            Value::String(text) => self.reaches(text),
            Value::Array(items) => items.iter().any(|item| self.reaches_into(item)),
            Value::Object(map) => map.values().any(|item| self.reaches_into(item)),
            _ => false,
        }
    }

    /// Whether two texts differ only in how they say that the value is not known yet, so that neither is a change to the other.
    #[must_use]
    pub fn equates(&self, before: &str, after: &str) -> bool {
        let unknown = |text: &str| self.equivalent.iter().chain(&self.placeholders).any(|other| other == text);
        let known_as = |text: &str| {
            let first = self.placeholders.first()?;
            let rest = self.placeholders.iter().map(|placeholder| Target { value: 0, placeholder, with: Some(first) });
            Some(super::layers::apply(text, &super::layers::spots(text, &Targets::new(rest.collect()))))
        };
        before == after
            || unknown(before) && unknown(after)
            || self.reaches(before) && known_as(before) == known_as(after)
    }
}
