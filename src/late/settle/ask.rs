//! What the sources of a late value say, asked in their order: a value, nothing yet, a doubt, or something of another type.
//! Doubt about a source that counts is never an answer of the next one.

use std::collections::BTreeMap;

use super::{Evidence, Reach, settle};
use crate::compare::redact::is_mark;
use crate::late::kind;
use crate::late::sources::blank as blank_reading;
use crate::late::template;
use crate::late::token::Placeholders;
use crate::policy::{LateValue, Policy, Source, SourceKind, origins};
use crate::report::{AttemptReport, LateState, SourceState};
use crate::world::{Gap, SourceReading};

/// What the sources say, before the pin is looked at.
pub(super) enum Found {
    /// A value that may be used.
    Value(SourceReading, String),
    /// No source has it yet; why, for each of them.
    Nothing(Vec<String>),
    /// A source could not be read: why.
    Doubt(String),
    /// A source gave something that is not of its type: why.
    Wrong(SourceReading, String),
}

/// Asks the sources in their order.
pub(super) fn look(
    policy: &Policy,
    value: &LateValue,
    evidence: Evidence<'_>,
    attempts: &mut Vec<AttemptReport>,
) -> Found {
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
            SourceState::Forbidden | SourceState::Unread if evidence.reach == Reach::Plan && from.is_object() => {
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
        (_, Some(text)) if unknown(evidence.placeholders, value, text) => SourceState::Placeholder,
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
    match template::combine(template, policy, values) {
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
        _ => match from.kind() {
            SourceKind::Template(_) => format!("{place}: what it is made of is not known yet"),
            SourceKind::Object(_) if reading.uid.is_none() && reach.is_offline() => {
                format!("{place}: there is no such object among the files")
            }
            SourceKind::Object(_) if reading.uid.is_none() => format!("{place}: there is no such object yet"),
            SourceKind::Object(_) => format!("{place}: the object is there, the field is not"),
            SourceKind::Env(_) => format!("{place} is not set"),
            SourceKind::File(_) | SourceKind::Http(_) | SourceKind::Exec(_) => format!("{place} is not there"),
        },
    }
}

/// Whether a text is only another way to say "not known yet": a placeholder, an equivalent, or something around a placeholder.
pub(in crate::late) fn unknown(placeholders: &Placeholders<'_>, value: &LateValue, text: &str) -> bool {
    value.equivalent.iter().any(|other| other == text) || placeholders.is_in(text)
}
