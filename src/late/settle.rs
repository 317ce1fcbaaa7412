//! Which value a late value has in this run: the pin against its source, the source against its type.
//! Nothing is guessed: doubt about a source that counts is never an answer of the next one.

use std::fmt;

use jiff::Timestamp;

use super::held::Held;
use super::kind;
use super::sources::describe;
use super::token;
use crate::model::effect::Decision;
use crate::pin::{Pin, seal};
use crate::policy::{LateValue, PinMode, Policy};
use crate::report::{LateState, Reason};
use crate::world::SourceReading;

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
}

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
enum Found<'w> {
    /// A value that may be used.
    Value(&'w SourceReading, String),
    /// No source has it yet; why, for each of them.
    Nothing(Vec<String>),
    /// A source could not be read: why.
    Doubt(String),
    /// A source gave something that is not of its type: why.
    Wrong(&'w SourceReading, String),
}

/// Settles one late value.
#[must_use]
pub fn settle(policy: &Policy, value: &LateValue, evidence: Evidence<'_>) -> Settled {
    let found = look(policy, value, evidence);
    let pin = match value.pin {
        PinMode::Once => evidence.pins.iter().find(|pin| pin.name == value.name),
        PinMode::Follow => None,
    };
    let mut settled = match pin {
        Some(pin) => against_pin(policy, value, pin, &found, evidence),
        None => from_source(policy, value, &found, evidence),
    };
    settled.secrets = evidence
        .readings
        .iter()
        .filter(|reading| reading.secret && reading.value == value.name)
        .filter_map(|reading| reading.found.clone())
        .filter(|text| !text.is_empty())
        .collect();
    settled
}

/// Settles one late value with what live holds in its places, which is asked for where neither a source nor a pin tells.
pub(super) fn with_live(
    policy: &Policy,
    value: &LateValue,
    evidence: Evidence<'_>,
    held: impl FnOnce() -> Held,
) -> Settled {
    let mut settled = settle(policy, value, evidence);
    if !matches!(settled.state, LateState::Missing | LateState::Unread | LateState::Invalid) {
        return settled;
    }
    let held = held();
    settled.assumed = held.agreed().map(str::to_owned);
    if let (Some(reason), Some(text)) = (&mut settled.reason, &settled.assumed)
        && !settled.secret
    {
        let places =
            if held.places == 1 { "its place".to_owned() } else { format!("all {} places of it", held.places) };
        reason.message = format!("{}; live holds {text} in {places}", reason.message);
        reason.next = Some(or_pin("wait for it (--wait 10m)", policy, value, text));
    }
    settled
}

/// Asks the sources in their order.
fn look<'w>(policy: &Policy, value: &LateValue, evidence: Evidence<'w>) -> Found<'w> {
    let mut lacks = Vec::new();
    for (place, from) in value.from.iter().enumerate() {
        let reading = evidence.readings.iter().find(|reading| reading.value == value.name && reading.place == place);
        let Some(reading) = reading else {
            let (source, path) = describe(from, evidence.namespace);
            let place = if path.is_empty() { source } else { format!("{source} at {path}") };
            if evidence.reach.is_offline() {
                lacks.push(format!("{place} is not among the files"));
                continue;
            }
            return Found::Doubt(format!("{place} was not read"));
        };
        if let Some(why) = &reading.unread {
            if evidence.reach == Reach::Plan && from.object.is_some() {
                lacks.push(format!("{} cannot be read: {why}", reading.source));
                continue;
            }
            return Found::Doubt(format!("{} cannot be read: {why}", reading.source));
        }
        match &reading.found {
            None => lacks.push(lack(reading, from.object.is_some(), evidence.reach)),
            Some(text) if text.is_empty() => lacks.push(format!("{} is empty", reading.source)),
            Some(text) if unknown(policy, value, text) => {
                lacks.push(format!("{} still holds a placeholder", reading.source));
            }
            Some(text) => {
                return match kind::check(value, text) {
                    Ok(()) => Found::Value(reading, text.clone()),
                    Err(why) => Found::Wrong(reading, format!("{}, which {why}", shown(reading, text))),
                };
            }
        }
    }
    Found::Nothing(lacks)
}

/// Why a source has nothing, in words.
fn lack(reading: &SourceReading, object: bool, reach: Reach) -> String {
    let place = &reading.source;
    match (object, &reading.uid) {
        (true, None) if reach.is_offline() => format!("{place}: there is no such object among the files"),
        (true, None) => format!("{place}: there is no such object yet"),
        (true, Some(_)) => format!("{place}: the object is there, the field is not"),
        (false, _) => format!("{place} is not there"),
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

/// A value as a message may show it.
fn shown(reading: &SourceReading, text: &str) -> String {
    if reading.secret { "a secret value".to_owned() } else { format!("{text:?}") }
}

/// A pinned value is what the pin says; the source may only agree.
fn against_pin(policy: &Policy, value: &LateValue, pin: &Pin, found: &Found<'_>, evidence: Evidence<'_>) -> Settled {
    let fits = match unknown(policy, value, &pin.value) {
        true => Err("is a placeholder".to_owned()),
        false => kind::check(value, &pin.value),
    };
    if let Err(why) = fits
        && !pin.secret
    {
        let message = format!("late value {}: the pinned value {:?} {why}", value.name, pin.value);
        let next = or_pin("correct its type in the policy", policy, value, "VALUE");
        let reason = reason(LATE, Decision::Undecided, message, Some(next));
        return Settled { reason: Some(reason), ..blank(value, LateState::Invalid, "pin") };
    }
    let pinned = (!pin.secret).then(|| pin.value.clone());
    match found {
        Found::Value(reading, text) if pin.stands_for(value.kind, text) => Settled {
            // A source that spells the same value anew must not change the bytes that Machines are made of.
            value: Some(pinned.unwrap_or_else(|| text.clone())),
            secret: reading.secret || pin.secret,
            ..blank(value, LateState::Pinned, &reading.source)
        },
        Found::Value(reading, text) => differs(value, pin, reading, text),
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

/// The source has moved away from the pin: a person decides.
fn differs(value: &LateValue, pin: &Pin, reading: &SourceReading, text: &str) -> Settled {
    let secret = reading.secret || pin.secret;
    let name = &value.name;
    let (message, next) = if secret {
        let message = format!(
            "late value {name} is pinned since {} and {} now holds another value (both are secret)",
            day(pin),
            reading.source
        );
        (message, format!("put the old value back; to take the new one: rollgate pin unset {name} --reason TEXT"))
    } else {
        let message = format!(
            "late value {name} is pinned to {} since {} and {} now says {text}",
            pin.value,
            day(pin),
            reading.source
        );
        (
            message,
            format!("put {} back; to take the new value: rollgate pin set {name} {text} --reason TEXT", pin.value),
        )
    };
    Settled {
        value: (!pin.secret).then(|| pin.value.clone()),
        secret,
        reason: Some(reason(PIN, Decision::Hold, message, Some(next))),
        ..blank(value, LateState::Differs, &reading.source)
    }
}

/// A value without a pin is what its source says.
fn from_source(policy: &Policy, value: &LateValue, found: &Found<'_>, evidence: Evidence<'_>) -> Settled {
    let name = &value.name;
    let first = value.from.first().map(|from| describe(from, evidence.namespace).0).unwrap_or_default();
    match found {
        Found::Value(reading, text) => Settled {
            value: Some(text.clone()),
            secret: reading.secret,
            pin: (value.pin == PinMode::Once).then(|| record(value, reading, text, evidence)),
            ..blank(value, LateState::Resolved, &reading.source)
        },
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
            Settled {
                secret: reading.secret,
                reason: Some(reason),
                ..blank(value, LateState::Invalid, &reading.source)
            }
        }
    }
}

/// What to do, with the command that pins a value by hand where that is kept and used.
fn or_pin(first: &str, policy: &Policy, value: &LateValue, text: &str) -> String {
    let kept = policy.pins.file.is_some() || policy.pins.store.is_some();
    match kept && value.pin == PinMode::Once {
        true => format!("{first}, or rollgate pin set {} {text} --reason TEXT", value.name),
        false => first.to_owned(),
    }
}

/// The pin that remembers where a value came from.
fn record(value: &LateValue, reading: &SourceReading, text: &str, evidence: Evidence<'_>) -> Pin {
    let (source, path) =
        value.from.get(reading.place).map(|from| describe(from, evidence.namespace)).unwrap_or_default();
    let stored = match reading.secret {
        true => seal(text, &format!("{}|{}|{}", value.name, reading.source, evidence.now)),
        false => text.to_owned(),
    };
    Pin {
        name: value.name.clone(),
        value: stored,
        secret: reading.secret,
        source,
        path,
        uid: reading.uid.clone(),
        resource_version: reading.resource_version.clone(),
        time: evidence.now,
        reason: None,
    }
}

/// Gate of reasons about values that are not known.
pub(super) const LATE: &str = "late-value";
/// Gate of reasons about pins.
const PIN: &str = "pin";

pub(super) fn reason(gate: &str, decision: Decision, message: String, next: Option<String>) -> Reason {
    Reason { gate: gate.to_owned(), decision, message, next }
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
    }
}

#[cfg(test)]
mod tests;
