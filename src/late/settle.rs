//! Which value a late value has in this run: the pin against its source, the source against its type.
//! Nothing is guessed: doubt about a source that counts is never an answer of the next one.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use jiff::Timestamp;

use super::held::Held;
use super::kind;
use super::sources::{blank as blank_reading, describe};
use super::token;
use crate::compare::redact::is_mark;
use crate::model::{Decision, Reason};
use crate::pin::{Pin, recognises, seal};
use crate::policy::{LateValue, PinMode, Policy, Source, ValueType, origins};
use crate::report::{AttemptReport, LateState, SourceState};
use crate::world::{Gap, SourceReading};

/// What is known about one late value after its sources and its pin were looked at.
#[derive(Clone, PartialEq, Eq)]
pub struct Settled {
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
    pub fn written(&self) -> Option<&str> {
        self.value.as_deref().or(self.assumed.as_deref())
    }

    /// Takes what live holds as a likeness of a value that is not known, and says so.
    fn assume(&mut self, policy: &Policy, value: &LateValue, held: &Held) {
        self.assumed = held.agreed().map(str::to_owned);
        if let (Some(reason), Some(text), false) = (&mut self.reason, &self.assumed, self.secret) {
            let places =
                if held.places == 1 { "its place".to_owned() } else { format!("all {} places of it", held.places) };
            reason.message = format!("{}; live holds {text} in {places}", reason.message);
            reason.next = Some(or_pin("wait for it (--wait 10m)", policy, value, text));
        }
    }

    /// Says one thing more that nobody is held for.
    fn warn(&mut self, text: String) {
        self.warning = Some(match self.warning.take() {
            Some(earlier) => format!("{earlier}; {text}"),
            None => text,
        });
    }
}

/// What may be known while a value is settled.
#[derive(Clone, Copy)]
pub struct Evidence<'w> {
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
pub static NOTHING_HIDDEN: BTreeSet<String> = BTreeSet::new();

/// How far the sources of late values can be reached, and what a value is that none of them gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// A cluster is asked, or its snapshot: what is missing there is missing.
    Cluster,
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
        !matches!(self, Self::Cluster)
    }
}

/// What the sources say, before the pin is looked at.
enum Found {
    /// A value that may be used.
    Value(SourceReading, String),
    /// No source has it yet; why, for each of them.
    Nothing(Vec<String>),
    /// A source could not be read: why.
    Doubt(String),
    /// A source gave something that is not of its type: why.
    Wrong(SourceReading, String),
}

/// Settles one late value.
#[must_use]
pub fn settle(policy: &Policy, value: &LateValue, evidence: Evidence<'_>) -> Settled {
    let mut attempts = Vec::new();
    let found = look(policy, value, evidence, &mut attempts);
    let pin = match value.pin {
        PinMode::Once | PinMode::Manual => evidence.pins.iter().find(|pin| pin.name == value.name),
        PinMode::Follow => None,
    };
    let mut settled = match pin {
        Some(pin) => against_pin(policy, value, pin, &found, evidence),
        None if value.pin == PinMode::Manual => by_hand(value, &found),
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
        let clear = pin.filter(|pin| !pin.secret).map(|pin| pin.value.clone());
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
        LateState::Missing if lost => recovered(value, settled, &held(), evidence),
        LateState::Resolved if lost => compared(value, settled, &held()),
        LateState::Missing | LateState::Unread | LateState::Invalid => {
            settled.assume(policy, value, &held());
            settled
        }
        _ => settled,
    }
}

/// No source has the value and its pin is gone: what live holds in all its places is the value, or a person decides.
fn recovered(value: &LateValue, mut settled: Settled, held: &Held, evidence: Evidence<'_>) -> Settled {
    let name = &value.name;
    let Some(text) = held.agreed() else {
        if held.values.len() > 1 && !settled.secret {
            let values = held.values.iter().cloned().collect::<Vec<_>>().join(", ");
            let message =
                format!("late value {name} has neither a source nor a pin, and live holds {values} in its places");
            let next = format!("rollgate pin set {name} VALUE --reason TEXT");
            settled.reason = Some(reason(PIN, Decision::Hold, message, Some(next)));
        }
        return settled;
    };
    let secret = settled.secret;
    let pin = Pin {
        reason: Some("the pin was gone; what live holds was recorded anew".to_owned()),
        ..record(value, ("live objects".to_owned(), String::new()), text, secret, evidence)
    };
    let shown = if secret { "what live holds" } else { text };
    let warning = format!(
        "late value {name} has neither a source nor a pin any more; {shown} stands in all {} places of it in live and is kept",
        held.places
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
        let (name, source, places) = (&value.name, &settled.source, held.places);
        let warning = if settled.secret {
            format!("late value {name} has no pin, and {source} holds another value than live (both are secret)")
        } else {
            format!(
                "late value {name} has no pin, live holds {live} in all {places} places of it, and {source} says {text}; \
                 rollgate pin set {name} {live} --reason TEXT keeps what live holds"
            )
        };
        settled.warn(warning);
    }
    settled
}

/// Asks the sources in their order.
fn look(policy: &Policy, value: &LateValue, evidence: Evidence<'_>, attempts: &mut Vec<AttemptReport>) -> Found {
    let mut lacks = Vec::new();
    for (place, from) in value.from.iter().enumerate() {
        let (reading, state) = attempt(policy, value, place, evidence);
        let keys = match &reading.gap {
            Some(Gap::KeyMissing(keys)) => keys.clone(),
            _ => Vec::new(),
        };
        let source = reading.source.clone();
        attempts.push(AttemptReport { source: source.clone(), state, keys });
        let why = reading.unread.clone().unwrap_or_default();
        match state {
            SourceState::Forbidden | SourceState::Unread if evidence.reach == Reach::Plan && from.object.is_some() => {
                lacks.push(format!("{source} cannot be read: {why}"));
            }
            SourceState::Forbidden | SourceState::Unread => {
                return Found::Doubt(if why.is_empty() {
                    format!("{source} was not read")
                } else {
                    format!("{source} cannot be read: {why}")
                });
            }
            SourceState::Absent | SourceState::KindUnknown | SourceState::KeyMissing => {
                lacks.push(lack(&reading, from, evidence.reach));
            }
            SourceState::Empty => lacks.push(format!("{source} is empty")),
            SourceState::Placeholder => lacks.push(format!("{source} still holds a placeholder")),
            SourceState::Malformed => {
                let text = reading.found.clone().unwrap_or_default();
                let why = kind::check(value, &text).err().unwrap_or_default();
                let shown = if evidence.hides(value) || reading.secret {
                    "a secret value".to_owned()
                } else {
                    format!("{text:?}")
                };
                return Found::Wrong(reading, format!("{shown}, which {why}"));
            }
            SourceState::Resolved => {
                let text = kind::normal(value.kind, reading.found.as_deref().unwrap_or_default());
                return Found::Value(reading, text);
            }
        }
    }
    Found::Nothing(lacks)
}

/// What one source gave, and what that is.
fn attempt(policy: &Policy, value: &LateValue, place: usize, evidence: Evidence<'_>) -> (SourceReading, SourceState) {
    let from = &value.from[place];
    let blank = || blank_reading(value, place, from, evidence.namespace);
    let reading = match &from.template {
        Some(template) => combined(policy, blank(), template, evidence),
        None => {
            let read = evidence.readings.iter().find(|reading| reading.value == value.name && reading.place == place);
            match read {
                Some(reading) => reading.clone(),
                // Among files an object that is not there has no reading.
                None if evidence.reach.is_offline() => blank(),
                None => return (blank(), SourceState::Unread),
            }
        }
    };
    let state = match (&reading.gap, &reading.found) {
        (Some(Gap::Forbidden), _) => SourceState::Forbidden,
        _ if reading.unread.is_some() => SourceState::Unread,
        (Some(Gap::KindUnknown), _) => SourceState::KindUnknown,
        (Some(Gap::KeyMissing(_)), None) => SourceState::KeyMissing,
        (_, None) => SourceState::Absent,
        (_, Some(text)) if text.is_empty() => SourceState::Empty,
        (_, Some(text)) if unknown(policy, value, text) => SourceState::Placeholder,
        // A snapshot holds a mark in the place of a secret, and whether that had the form of its type.
        (_, Some(text)) if reading.secret && is_mark(text) && reading.fits => SourceState::Resolved,
        (_, Some(text)) if reading.secret && is_mark(text) => SourceState::Malformed,
        (_, Some(text)) if kind::check(value, text).is_err() => SourceState::Malformed,
        _ => SourceState::Resolved,
    };
    (reading, state)
}

/// The text that a template makes of other late values.
fn combined(policy: &Policy, mut reading: SourceReading, template: &str, evidence: Evidence<'_>) -> SourceReading {
    let mut values = BTreeMap::new();
    for name in origins(template).unwrap_or_default() {
        let Some(origin) = policy.late_value(&name) else { continue };
        let settled = settle(policy, origin, evidence);
        reading.secret |= settled.secret;
        match (settled.value, settled.reason) {
            (Some(value), None) => {
                values.insert(name, value);
            }
            (_, Some(reason)) if settled.state != LateState::Missing => {
                reading.unread = Some(reason.message);
                return reading;
            }
            // What it is made of is not there yet; neither is it.
            _ => return reading,
        }
    }
    match super::template::combine(template, policy, values) {
        Ok(text) => reading.found = Some(text.trim().to_owned()),
        Err(why) => reading.unread = Some(why),
    }
    reading
}

/// Why a source has nothing, in words.
fn lack(reading: &SourceReading, from: &Source, reach: Reach) -> String {
    let place = &reading.source;
    match &reading.gap {
        Some(Gap::KindUnknown) => format!("{place}: the API server does not know this kind"),
        Some(Gap::KeyMissing(keys)) if keys.is_empty() => format!("{place}: the object is there, the field is not"),
        Some(Gap::KeyMissing(keys)) => {
            format!("{place}: the object is there, the field is not; it has {}", keys.join(", "))
        }
        _ if from.template.is_some() => format!("{place}: what it is made of is not known yet"),
        _ if from.object.is_some() && reading.uid.is_none() && reach.is_offline() => {
            format!("{place}: there is no such object among the files")
        }
        _ if from.object.is_some() && reading.uid.is_none() => format!("{place}: there is no such object yet"),
        _ if from.object.is_some() => format!("{place}: the object is there, the field is not"),
        _ => format!("{place} is not there"),
    }
}

/// Whether a text is only another way to say "not known yet": a placeholder, an equivalent, or something around a placeholder.
pub(super) fn unknown(policy: &Policy, value: &LateValue, text: &str) -> bool {
    value.equivalent.iter().any(|other| other == text)
        || policy
            .late_values
            .iter()
            .flat_map(|value| &value.placeholders)
            .any(|other| token::occurs(text.as_bytes(), other))
}

/// A pinned value is what the pin says; the source may only agree.
fn against_pin(policy: &Policy, value: &LateValue, pin: &Pin, found: &Found, evidence: Evidence<'_>) -> Settled {
    let hidden = pin.secret || evidence.hides(value);
    let fits = match unknown(policy, value, &pin.value) {
        true => Err("is a placeholder".to_owned()),
        false => kind::check(value, &pin.value),
    };
    if let Err(why) = fits
        && !pin.secret
    {
        let shown = if hidden { "(secret)".to_owned() } else { format!("{:?}", pin.value) };
        let message = format!("late value {}: the pinned value {shown} {why}", value.name);
        let next = format!("rollgate pin set {} VALUE --reason TEXT, or correct its type in the policy", value.name);
        let reason = reason(LATE, Decision::Undecided, message, Some(next));
        return Settled { reason: Some(reason), ..blank(value, LateState::Invalid, "pin") };
    }
    let pinned = (!pin.secret).then(|| pin.value.clone());
    match found {
        Found::Value(reading, text) if stands_for(pin, value.kind, text) => Settled {
            // A source that spells the same value anew must not change the bytes that Machines are made of.
            value: Some(pinned.unwrap_or_else(|| text.clone())),
            ..blank(value, LateState::Pinned, &reading.source)
        },
        Found::Value(reading, text) if pinned.is_some() && (value.pin == PinMode::Manual || pin.outranks(text)) => {
            let says = if hidden { "another value".to_owned() } else { text.clone() };
            Settled {
                value: pinned,
                warning: Some(format!(
                    "late value {} is what was set by hand; {} says {says}",
                    value.name, reading.source
                )),
                ..blank(value, LateState::Pinned, "pin")
            }
        }
        Found::Value(reading, text) => differs(value, pin, reading, text, hidden),
        _ if pinned.is_none() => Settled { secret: true, ..from_source(policy, value, found, evidence) },
        Found::Nothing(lacks) => Settled {
            value: pinned,
            warning: (!evidence.reach.is_offline())
                .then(|| format!("late value {} comes from its pin: {}", value.name, lacks.join("; "))),
            ..blank(value, LateState::Pinned, "pin")
        },
        Found::Doubt(why) | Found::Wrong(_, why) => Settled {
            value: pinned,
            warning: Some(format!("late value {} comes from its pin and was not compared: {why}", value.name)),
            ..blank(value, LateState::Pinned, "pin")
        },
    }
}

/// A value that only a person may give, and nobody has.
fn by_hand(value: &LateValue, found: &Found) -> Settled {
    let name = &value.name;
    let says = match found {
        Found::Value(reading, _) => format!("; {} has one", reading.source),
        _ => String::new(),
    };
    let message = format!("late value {name} is set by hand only (pin: manual), and it is not set{says}");
    let next = format!(
        "rollgate pin set {name} VALUE --reason TEXT, or rollgate pin repin {name} --from-source --reason TEXT"
    );
    let reason = reason(LATE, Decision::Undecided, message, Some(next));
    Settled { reason: Some(reason), ..blank(value, LateState::Missing, "pin") }
}

/// The source has moved away from the pin: a person decides.
fn differs(value: &LateValue, pin: &Pin, reading: &SourceReading, text: &str, secret: bool) -> Settled {
    let (name, old, source, since) = (&value.name, &pin.value, &reading.source, day(pin));
    let (message, next) = if secret {
        let message =
            format!("late value {name} is pinned since {since} and {source} now holds another value (both are secret)");
        (
            message,
            format!(
                "rollgate pin repin {name} --from-source --reason TEXT takes the new value; else put the old one back"
            ),
        )
    } else {
        let message = format!("late value {name} is pinned to {old} since {since} and {source} now says {text}");
        let next = format!(
            "rollgate pin set {name} {text} --reason TEXT takes the new value, rollgate pin set {name} {old} --reason TEXT keeps the old one"
        );
        (message, next)
    };
    Settled {
        value: (!pin.secret).then(|| pin.value.clone()),
        secret,
        reason: Some(reason(PIN, Decision::Hold, message, Some(next))),
        ..blank(value, LateState::Differs, source)
    }
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
        Found::Nothing(_) if evidence.reach == Reach::Plan && value.from.iter().any(|from| from.object.is_some()) => {
            blank(value, LateState::Symbolic, &first)
        }
        Found::Nothing(lacks) => {
            let message = format!("late value {name} is not known yet: {}", lacks.join("; "));
            let next = or_pin("wait for it (--wait 10m)", policy, value, "VALUE");
            let reason = reason(LATE, Decision::Undecided, message, Some(next));
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

/// What to do, with the command that pins a value by hand where that is kept and used.
fn or_pin(first: &str, policy: &Policy, value: &LateValue, text: &str) -> String {
    let kept = policy.pins.file.is_some() || policy.pins.store.is_some();
    match kept && value.pin != PinMode::Follow {
        true => format!("{first}, or rollgate pin set {} {text} --reason TEXT", value.name),
        false => first.to_owned(),
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
        source,
        path,
        uid: None,
        resource_version: None,
        time: evidence.now,
        by: None,
        policy: None,
        over: None,
        reason: None,
    }
}

/// Gate of reasons about values that are not known.
pub(super) const LATE: &str = "late-value";
/// Gate of reasons about pins.
const PIN: &str = "pin";

pub(super) fn reason(gate: &str, decision: Decision, message: String, next: Option<String>) -> Reason {
    Reason::new(gate, decision, message).with_next(next)
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

#[cfg(test)]
mod tests;
