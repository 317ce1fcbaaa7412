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
pub(super) fn by_hand(value: &LateValue, found: &Found) -> Settled {
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
