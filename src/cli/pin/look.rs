//! `rollgate pin list|show|history`: what is pinned and what happened to it. Nothing is changed.

use std::fmt::Write as _;

use anyhow::anyhow;

use super::super::{Outside, Stop};
use super::shown::{masked, origin, shown, told, told_event};
use super::{LateValues, at, print};
use crate::exit::Exit;
use crate::pin::Event;
use crate::policy::Policy;
use crate::report::escape;
use crate::tree::{Value, json};

/// `pin list --json`: the pins alone.
pub(super) fn bare(known: &mut LateValues<'_>, policy: &Policy, outside: &mut Outside<'_>) -> Result<Exit, Stop> {
    let pins: Vec<Value> = known.pins()?.pins().iter().map(|pin| told(policy, pin)).collect();
    print(outside, &escape::json(&json!(pins)))
}

pub(super) fn list(
    known: &mut LateValues<'_>,
    policy: &Policy,
    as_json: bool,
    outside: &mut Outside<'_>,
) -> Result<Exit, Stop> {
    let book = known.pins()?;
    let place = known.place();
    if as_json {
        let pins: Vec<Value> = book.pins().iter().map(|pin| told(policy, pin)).collect();
        return print(outside, &escape::json(&json!({"place": place, "pins": pins})));
    }
    let rows: Vec<[String; 4]> = std::iter::once(["NAME", "VALUE", "SINCE", "SOURCE"].map(str::to_owned))
        .chain(book.pins().iter().map(|pin| [pin.name.clone(), shown(policy, pin), pin.time.to_string(), origin(pin)]))
        .collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or_default();
    let (name, value, since) = (width(0), width(1), width(2));
    at(&place, outside);
    let lines = rows.iter().map(|row| format!("{:name$}  {:value$}  {:since$}  {}\n", row[0], row[1], row[2], row[3]));
    match book.pins() {
        [] => print(outside, "nothing is pinned yet\n"),
        _ => print(outside, &lines.collect::<String>()),
    }
}

pub(super) fn show(
    known: &mut LateValues<'_>,
    policy: &Policy,
    name: &str,
    as_json: bool,
    outside: &mut Outside<'_>,
) -> Result<Exit, Stop> {
    let book = known.pins()?;
    let place = known.place();
    let pin = book.get(name);
    let events: Vec<&Event> = book.history().iter().filter(|event| event.name == name).collect();
    if pin.is_none() && events.is_empty() {
        return Err(Stop::usage(anyhow!("{name} was never pinned in {place}; rollgate pin list shows what is")));
    }
    if as_json {
        let events: Vec<Value> = events.iter().map(|event| told_event(policy, event)).collect();
        let pin = pin.map(|pin| told(policy, pin));
        return print(outside, &escape::json(&json!({"place": place, "pin": pin, "history": events})));
    }
    let mut text = match pin {
        None => format!("{name} is not pinned\n"),
        Some(pin) => format!("{name}: {}\n  since   {}\n  source  {}\n", shown(policy, pin), pin.time, origin(pin)),
    };
    if let Some(uid) = pin.and_then(|pin| pin.uid.as_ref()) {
        let version = pin.and_then(|pin| pin.resource_version.as_deref()).unwrap_or("not known");
        writeln!(text, "  object  uid {uid}, resourceVersion {version}").expect(PROOF);
    }
    for (label, found) in [
        ("by    ", pin.and_then(|pin| pin.by.as_ref())),
        ("policy", pin.and_then(|pin| pin.policy.as_ref())),
        ("reason", pin.and_then(|pin| pin.reason.as_ref())),
    ] {
        if let Some(found) = found {
            writeln!(text, "  {label}  {found}").expect(PROOF);
        }
    }
    at(&place, outside);
    text.push_str("history\n");
    events.iter().for_each(|event| text.push_str(&line(policy, event, false)));
    print(outside, &text)
}

pub(super) fn history(
    known: &mut LateValues<'_>,
    policy: &Policy,
    name: Option<&str>,
    as_json: bool,
    outside: &mut Outside<'_>,
) -> Result<Exit, Stop> {
    let book = known.pins()?;
    let place = known.place();
    let events: Vec<&Event> =
        book.history().iter().filter(|event| name.is_none_or(|name| event.name == name)).collect();
    if as_json {
        let events: Vec<Value> = events.iter().map(|event| told_event(policy, event)).collect();
        return print(outside, &escape::json(&json!({"place": place, "history": events})));
    }
    let lines: String = events.iter().map(|event| line(policy, event, true)).collect();
    at(&place, outside);
    print(outside, &lines)
}

/// One line of the history.
fn line(policy: &Policy, event: &Event, named: bool) -> String {
    let value = |text: Option<&str>| masked(policy, &event.name, text).unwrap_or("nothing").to_owned();
    let (before, after) = (value(event.before.as_deref()), value(event.after.as_deref()));
    let name = if named { format!("{}  ", event.name) } else { String::new() };
    let reason = event.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
    let by = event.by.as_ref().map(|by| format!(" (by {by})")).unwrap_or_default();
    format!("  {}  {name}{}  {before} to {after}{reason}{by}\n", event.time, event.action.word())
}

const PROOF: &str = "writing to a string cannot fail";
