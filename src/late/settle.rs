//! Which value a late value has in this run: the pin against its source, the source against its type.
//! Nothing is guessed: doubt about a source that counts is never an answer of the next one.

mod ask;
mod pinned;
pub(super) mod steps;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::fmt;

use jiff::Timestamp;

pub(super) use self::ask::unknown;
use self::ask::{Found, look};
use self::pinned::{against_pin, by_hand};
use super::held::Held;
use super::kind;
use super::sources::describe;
use super::token::Placeholders;
use crate::approval::to_the_second;
use crate::model::{Decision, Reason};
use crate::pin::{Clear, Pin, recognises, seal};
use crate::policy::{LateValue, PinMode, Policy, Source, ValueType};
use crate::report::{AttemptReport, LateState};
use crate::world::SourceReading;

/// What is known about one late value after its sources and its pin were looked at.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Settled {
    /// Its name.
    pub name: String,
    /// What is known about it.
    pub state: LateState,
    /// What is written in its places; `None` where nothing may be written.
    pub value: Option<String>,
    /// What live holds in its places, where nothing else is known: judged with, so that a placeholder which never goes out is
    /// no change, and never written.
    pub assumed: Option<String>,
    /// Where the value comes from, or should come from.
    pub source: String,
    /// Whether the value must never be shown.
    pub secret: bool,
    /// Values of Secrets that were seen on the way, the used one and any other.
    pub secrets: Vec<String>,
    /// The pin to record when the install is allowed; `None` where there is one, or none is wanted.
    pub pin: Option<Pin>,
    /// Why the install cannot go on, where it cannot.
    pub reason: Option<Reason>,
    /// What a person should know although nobody is held for it.
    pub warning: Option<String>,
    /// What each source said that was asked, in their order; only the last counts.
    pub attempts: Vec<AttemptReport>,
}

impl fmt::Debug for Settled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = self.value.as_ref().map(|value| if self.secret { "(secret)" } else { value.as_str() });
        f.debug_struct("Settled")
            .field("name", &self.name)
            .field("state", &self.state)
            .field("value", &value)
            .field("source", &self.source)
            .field("secrets", &self.secrets.len())
            .field("pin", &self.pin)
            .field("reason", &self.reason)
            .field("warning", &self.warning)
            .finish()
    }
}

impl Settled {
    /// What stands in its places while the stream is judged.
    #[must_use]
    pub(crate) fn written(&self) -> Option<&str> {
        self.value.as_deref().or(self.assumed.as_deref())
    }

    /// Takes what live holds in most places as a likeness of a value that is not known, and says so. Where the places differ, a
    /// person decides.
    fn assume(&mut self, policy: &Policy, value: &LateValue, held: &Held, evidence: Evidence<'_>) {
        self.assumed = held.most().map(str::to_owned);
        if self.secret {
            self.secrets.extend(held.choice().map(str::to_owned));
        } else if let Some(mut reason) = self.reason.take_if(|_| self.assumed.is_some()) {
            reason.message = format!("{}; live holds {}", reason.message, held.told());
            let calls = held.choice().filter_map(|text| steps::set(policy, value, text, evidence));
            self.reason = Some(reason.with_calls(calls));
        }
    }

    /// Says one thing more that nobody is held for.
    pub(super) fn warn(&mut self, text: String) {
        self.warning = Some(match self.warning.take() {
            Some(earlier) => format!("{earlier}; {text}"),
            None => text,
        });
    }
}

/// What may be known while a value is settled.
#[derive(Clone, Copy)]
pub(crate) struct Evidence<'w> {
    /// What each source gave.
    pub readings: &'w [SourceReading],
    /// The pins as they stand.
    pub pins: &'w [Pin],
    /// Namespace of the release, for messages.
    pub namespace: Option<&'w str>,
    /// The clock.
    pub now: Timestamp,
    /// How far the sources can be reached.
    pub reach: Reach,
    /// The placeholders of all late values.
    pub placeholders: &'w Placeholders<'w>,
    /// Late values that are secret because they are written into a Secret.
    pub hidden: &'w BTreeSet<String>,
}

impl Evidence<'_> {
    /// Whether a late value must not be shown.
    fn hides(&self, value: &LateValue) -> bool {
        value.is_secret() || self.hidden.contains(&value.name)
    }
}

/// No late value is written into a Secret, as far as is known before there is a stream.
pub(crate) static NOTHING_HIDDEN: BTreeSet<String> = BTreeSet::new();

/// How far the sources of late values can be reached, and what a value is that none of them gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// A cluster is asked: what is missing there is missing, and may come.
    Cluster,
    /// What a cluster held when it was written down: what is missing there is missing, however often it is read.
    Snapshot,
    /// There are files only, and what goes out is written somewhere: what is missing in them is missing.
    Files,
    /// There are files only, and nothing goes out: a value of an object that is not among them is a symbol, equal to itself
    /// and to nothing else. Environment and files of this machine are never out of reach.
    Plan,
}

impl Reach {
    /// Whether objects are looked for in files only.
    #[must_use]
    pub const fn is_offline(self) -> bool {
        !matches!(self, Self::Cluster | Self::Snapshot)
    }
}

/// Settles one late value.
#[must_use]
pub(crate) fn settle(policy: &Policy, value: &LateValue, evidence: Evidence<'_>) -> Settled {
    let mut attempts = Vec::new();
    let found = look(policy, value, evidence, &mut attempts);
    let pin = match value.pin {
        PinMode::Once | PinMode::Manual => evidence.pins.iter().find(|pin| pin.name == value.name),
        PinMode::Follow => None,
    };
    let mut settled = match pin {
        Some(pin) => against_pin(policy, value, pin, &found, evidence),
        None if value.pin == PinMode::Manual => by_hand(policy, value, &found, evidence),
        None => from_source(policy, value, &found, evidence),
    };
    settled.attempts = attempts;
    settled.secret |= evidence.hides(value) || pin.is_some_and(|pin| pin.secret);
    if let Found::Value(reading, _) = &found
        && let Some(clone) = &reading.clone_of
    {
        let warning =
            format!("late value {}: {} is {clone}; take the value from its owner", value.name, reading.source);
        settled.warn(warning);
    }
    if settled.secret {
        let readings = evidence.readings.iter().filter(|reading| reading.value == value.name);
        let clear = pin.and_then(|pin| if pin.secret { pin.clear.text() } else { Some(&pin.value) }).map(str::to_owned);
        let seen = readings.filter_map(|reading| reading.found.clone()).chain(clear).chain(settled.value.clone());
        let seen: BTreeSet<String> = seen.filter(|text| !text.is_empty()).collect();
        settled.secrets = seen.into_iter().collect();
    }
    settled
}

/// Settles one late value with what live holds in its places, which is asked for where neither a source nor a pin tells, or where a
/// pin should be and is not.
pub(super) fn with_live(
    policy: &Policy,
    value: &LateValue,
    evidence: Evidence<'_>,
    held: impl FnOnce() -> Held,
) -> Settled {
    let mut settled = settle(policy, value, evidence);
    let stored = policy.pins.store.is_some() || policy.pins.file.is_some();
    let lost = stored && value.pin == PinMode::Once && !evidence.pins.iter().any(|pin| pin.name == value.name);
    match settled.state {
        LateState::Missing if lost => recovered(policy, value, settled, &held(), evidence),
        LateState::Resolved if lost => compared(value, settled, &held()),
        LateState::Missing | LateState::Unread | LateState::Invalid => {
            settled.assume(policy, value, &held(), evidence);
            settled
        }
        _ => settled,
    }
}

/// No source has the value and its pin is gone: what live holds in all its places is the value, or a person decides.
fn recovered(policy: &Policy, value: &LateValue, mut settled: Settled, held: &Held, evidence: Evidence<'_>) -> Settled {
    let name = &value.name;
    let Some(text) = held.agreed() else {
        if held.values.len() > 1 && !settled.secret {
            let message = format!("late value {name} has neither a source nor a pin");
            settled.reason = Some(reason(PIN, Decision::Hold, message, None));
        }
        settled.assume(policy, value, held, evidence);
        return settled;
    };
    let secret = settled.secret;
    let pin = Pin {
        reason: Some("the pin was gone; what live holds was recorded again".to_owned()),
        ..record(value, ("live objects".to_owned(), String::new()), text, secret, evidence)
    };
    let shown = if secret { "what live holds" } else { text };
    let warning = format!(
        "late value {name} has neither a source nor a pin any more; {shown} stands in all {} places of it in live and is kept",
        held.places()
    );
    Settled {
        value: Some(text.to_owned()),
        secret,
        pin: Some(pin),
        warning: Some(warning),
        attempts: settled.attempts,
        secrets: if secret { vec![text.to_owned()] } else { Vec::new() },
        ..blank(value, LateState::Pinned, "live objects")
    }
}

/// The source has the value and no pin is kept though there is a place for one: live says whether it has moved in between. What
/// that does to Machines is for the gates.
fn compared(value: &LateValue, mut settled: Settled, held: &Held) -> Settled {
    let (Some(live), Some(text)) = (held.agreed(), &settled.value) else { return settled };
    if !kind::same(value.kind, live, text) {
        let (name, source, places) = (&value.name, &settled.source, held.places());
        let warning = if settled.secret {
            format!("late value {name} has no pin, and {source} holds another value than live (both are secret)")
        } else {
            format!(
                "late value {name} has no pin, live holds {live} in all {places} places of it, and {source} says {text}; \
                 pin {live} by hand (rollgate pin set) to keep what live holds"
            )
        };
        settled.warn(warning);
    }
    settled
}

/// A value without a pin is what its source says.
fn from_source(policy: &Policy, value: &LateValue, found: &Found, evidence: Evidence<'_>) -> Settled {
    let name = &value.name;
    let first = value.from.first().map(|from| describe(from, evidence.namespace).0).unwrap_or_default();
    match found {
        Found::Value(reading, text) => {
            let secret = reading.secret || evidence.hides(value);
            let origin =
                value.from.get(reading.place).map(|from| describe(from, evidence.namespace)).unwrap_or_default();
            let pin = || Pin {
                uid: reading.uid.clone(),
                resource_version: reading.resource_version.clone(),
                ..record(value, origin, text, secret, evidence)
            };
            Settled {
                value: Some(text.clone()),
                secret,
                pin: (value.pin == PinMode::Once).then(pin),
                ..blank(value, LateState::Resolved, &reading.source)
            }
        }
        Found::Nothing(_) if evidence.reach == Reach::Plan && value.from.iter().any(Source::is_object) => {
            blank(value, LateState::Symbolic, &first)
        }
        Found::Nothing(lacks) => {
            let message = format!("late value {name} has no value yet: {}", lacks.join("; "));
            let reason = reason(LATE, Decision::Undecided, message, steps::first(policy, value, evidence));
            let is_sealed = evidence.pins.iter().any(|pin| pin.name == value.name && pin.secret);
            let call = steps::set(policy, value, "VALUE", evidence).filter(|_| !is_sealed);
            let reason = reason.with_calls(call);
            Settled { reason: Some(reason), ..blank(value, LateState::Missing, &first) }
        }
        Found::Doubt(why) => {
            let message = format!("late value {name} cannot be known: {why}");
            Settled {
                reason: Some(reason(LATE, Decision::Undecided, message, None)),
                ..blank(value, LateState::Unread, &first)
            }
        }
        Found::Wrong(reading, why) => {
            let message = format!("late value {name} cannot be used: {} holds {why}", reading.source);
            let next = "correct the source, or the type, pattern or within of the policy".to_owned();
            let reason = reason(LATE, Decision::Undecided, message, Some(next));
            Settled { reason: Some(reason), ..blank(value, LateState::Invalid, &reading.source) }
        }
    }
}

/// The pin that remembers where a value came from.
fn record(
    value: &LateValue,
    (source, path): (String, String),
    text: &str,
    secret: bool,
    evidence: Evidence<'_>,
) -> Pin {
    let stored = match secret {
        true => seal(text, &format!("{}|{source}|{path}|{}", value.name, evidence.now)),
        false => text.to_owned(),
    };
    Pin {
        name: value.name.clone(),
        value: stored,
        secret,
        kind: Some(value.kind),
        encrypted: None,
        source,
        path,
        uid: None,
        resource_version: None,
        time: to_the_second(evidence.now),
        by: None,
        policy: None,
        over: None,
        reason: None,
        clear: if secret { Clear::of(text) } else { Clear::default() },
    }
}

/// Gate of reasons about values that are not known.
pub(super) const LATE: &str = "late-value";
/// Gate of reasons about pins.
const PIN: &str = "pin";

pub(super) fn reason(gate: &str, decision: Decision, message: String, next: Option<String>) -> Reason {
    let reason = Reason::new(gate, decision, message);
    next.iter().fold(reason, |reason, next| reason.with_advice(next))
}

fn day(pin: &Pin) -> jiff::civil::Date {
    pin.time.to_zoned(jiff::tz::TimeZone::UTC).date()
}

fn blank(value: &LateValue, state: LateState, source: &str) -> Settled {
    Settled {
        name: value.name.clone(),
        state,
        value: None,
        assumed: None,
        source: source.to_owned(),
        secret: false,
        secrets: Vec::new(),
        pin: None,
        reason: None,
        warning: None,
        attempts: Vec::new(),
    }
}

/// Whether a pin stands for a value, compared as the type says where the pin is not sealed.
fn stands_for(pin: &Pin, kind: ValueType, value: &str) -> bool {
    if pin.secret { recognises(&pin.value, value) } else { kind::same(kind, &pin.value, value) }
}
