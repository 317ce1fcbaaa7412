//! A late value that has a pin: the pin says what it is, its source may only agree, and a person decides where they differ.

use super::ask::{Found, unknown};
use super::*;

/// A pinned value is what the pin says; the source may only agree.
pub(super) fn against_pin(
    policy: &Policy,
    value: &LateValue,
    pin: &Pin,
    found: &Found,
    evidence: Evidence<'_>,
) -> Settled {
    let hidden = pin.secret || evidence.hides(value);
    let fits = match unknown(evidence.placeholders, value, &pin.value) {
        true => Err("is a placeholder".to_owned()),
        false => kind::check(value, &pin.value),
    };
    if let Err(why) = fits
        && !pin.secret
    {
        let shown = if hidden { "(secret)".to_owned() } else { format!("{:?}", pin.value) };
        let message = format!("late value {}: the pinned value {shown} {why}", value.name);
        let call = steps::set(policy, value, "VALUE", evidence).unwrap_or_else(|| steps::repin(value));
        let reason = reason(LATE, Decision::Undecided, message, None).with_calls([call]);
        return Settled { reason: Some(reason), ..blank(value, LateState::Invalid, "pin") };
    }
    let pinned = if pin.secret { pin.clear.text().map(str::to_owned) } else { Some(pin.value.clone()) };
    // A seal alone, where the policy says by now who may have the value back.
    let is_bare = pin.encrypted.is_none() && !policy.pins.encrypt_to.is_empty();
    let is_foreign = pin_of_another_release(value, pin, evidence.namespace);
    let mut settled = match found {
        Found::Value(reading, text) if stands_for(pin, value.kind, text) => Settled {
            // A source that spells the same value anew must not change the bytes that Machines are made of.
            value: Some(pinned.unwrap_or_else(|| text.clone())),
            // That it is secret was not known when it was pinned: its source can give it to a sealed pin.
            pin: match pin.secret {
                false => hidden.then(|| pin.clone().sealed()),
                true => is_bare.then(|| Pin { clear: Clear::of(text), ..pin.clone() }),
            },
            ..blank(value, LateState::Pinned, &reading.source)
        },
        Found::Value(reading, text) if pinned.is_some() && (value.pin == PinMode::Manual || pin.outranks(text)) => {
            let says = if hidden { "another value".to_owned() } else { text.clone() };
            Settled {
                value: pinned,
                warning: Some(format!(
                    "late value {} keeps what was set by hand; {} says {says}",
                    value.name, reading.source
                )),
                ..blank(value, LateState::Pinned, "pin")
            }
        }
        Found::Value(reading, text) => differs(policy, value, pin, (reading, text), evidence),
        _ if pinned.is_none() => Settled { secret: true, ..from_source(policy, value, found, evidence) },
        Found::Nothing(_) | Found::Doubt(_) | Found::Wrong(..) if is_foreign => {
            let mut settled = from_source(policy, value, found, evidence);
            if let Some(reason) = &mut settled.reason {
                reason.message =
                    format!("{}; its pin is from {}, which is of another release", reason.message, pin.source);
            }
            settled
        }
        Found::Nothing(lacks) => Settled {
            value: pinned,
            warning: (!evidence.reach.is_offline())
                .then(|| format!("late value {} comes from its pin: {}", value.name, lacks.join("; "))),
            ..blank(value, LateState::Pinned, "pin")
        },
        Found::Doubt(why) | Found::Wrong(_, why) => Settled {
            value: pinned,
            warning: Some(format!(
                "late value {} comes from its pin; its source could not be compared: {why}",
                value.name
            )),
            ..blank(value, LateState::Pinned, "pin")
        },
    };
    if hidden && !pin.secret && settled.value.is_some() && settled.pin.is_none() {
        let name = &value.name;
        settled.warn(format!(
            "late value {name} is secret, and its pin holds it in plain text until its source says the same"
        ));
    }
    settled
}

/// Whether a pin came from an object of another namespace than the one in which this release has that source: releases that share a file
/// of pins are told apart by nothing else, and one that waits for its own value must not take over that of its neighbour.
fn pin_of_another_release(value: &LateValue, pin: &Pin, namespace: Option<&str>) -> bool {
    const HERE: &str = "\0";
    let Some(own) = namespace else { return false };
    let elsewhere = |from: &Source| {
        let told = describe(from, Some(HERE)).0;
        let (before, after) = told.split_once(HERE)?;
        let other = pin.source.strip_prefix(before)?.strip_suffix(after)?;
        Some(!other.is_empty() && !other.contains('/') && other != own)
    };
    let is_own = value.from.iter().any(|from| describe(from, namespace).0 == pin.source);
    !is_own && value.from.iter().filter_map(elsewhere).any(|is_other| is_other)
}

/// A value that only a person may give, and nobody has.
pub(super) fn by_hand(policy: &Policy, value: &LateValue, found: &Found, evidence: Evidence<'_>) -> Settled {
    let name = &value.name;
    let says = match found {
        Found::Value(reading, _) => format!("; {} has one", reading.source),
        _ => String::new(),
    };
    let message = format!("late value {name} is set by hand only (pin: manual), and it is not set{says}");
    let taken = matches!(found, Found::Value(..)).then(|| steps::repin(value));
    let calls = steps::set(policy, value, "VALUE", evidence).into_iter().chain(taken);
    let reason = reason(LATE, Decision::Undecided, message, None).with_calls(calls);
    Settled { reason: Some(reason), ..blank(value, LateState::Missing, "pin") }
}

/// The source has moved away from the pin: a person decides.
fn differs(
    policy: &Policy,
    value: &LateValue,
    pin: &Pin,
    (reading, text): (&SourceReading, &str),
    evidence: Evidence<'_>,
) -> Settled {
    let secret = pin.secret || evidence.hides(value);
    let (name, old, source, since) = (&value.name, &pin.value, &reading.source, day(pin));
    let message = if secret {
        format!(
            "late value {name} is pinned since {since} and {source} now holds another value (both are secret); \
             take the new one, or put the old one back there"
        )
    } else {
        format!("late value {name} is pinned to {old} since {since} and {source} now says {text}")
    };
    // The one that keeps Machines as they are comes first.
    let choice = [old.as_str(), text].into_iter().filter(|_| !secret);
    let mut calls: Vec<_> = choice.filter_map(|text| steps::set(policy, value, text, evidence)).collect();
    let remedy = (!calls.is_empty()).then(|| "decide which of the two is right, and pin that".to_owned());
    if calls.is_empty() {
        calls.push(steps::repin(value));
    }
    Settled {
        value: (!pin.secret).then(|| pin.value.clone()),
        secret,
        reason: Some(reason(PIN, Decision::Hold, message, remedy).with_calls(calls)),
        ..blank(value, LateState::Differs, source)
    }
}
