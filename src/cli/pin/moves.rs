//! `rollgate pin set|repin|unset`: the only ways to move a pin, each because a person wants it and says why.

use std::io::Read as _;

use anyhow::{Context as _, anyhow};

use super::super::{Outside, Stop};
use super::shown::shown;
use super::{LateValues, SourceSaid, at, print};
use crate::approval::to_the_second;
use crate::exit::Exit;
use crate::late;
use crate::pin::{self, Clear, Pin, seal};
use crate::policy::{self, LateValue, PinMode, Policy};
use crate::report::escape;

/// What a person wants of a pin.
#[derive(Clone, Copy)]
pub(super) struct Order<'a> {
    /// Name of the late value.
    pub(super) name: &'a str,
    /// It is no secret.
    pub(super) plain: bool,
    /// `--live none`: the sources are not to be asked.
    pub(super) is_offline: bool,
    /// Why.
    pub(super) reason: &'a str,
}

/// The late value of a policy, or what may have been meant.
fn late_of<'p>(policy: &'p Policy, name: &str) -> Result<&'p LateValue, Stop> {
    let late = policy.late_value(name).ok_or_else(|| {
        let near = policy::nearest(name, policy.late_values.iter().map(|late| late.name.as_str()));
        let hint = near.map(|near| format!("; did you mean {near}?")).unwrap_or_default();
        Stop::usage(anyhow!("the policy has no late value {name}{hint}"))
    })?;
    match late.pin {
        PinMode::Follow => {
            Err(Stop::usage(anyhow!("{name} follows its source (pin: follow), so a pin would not be used")))
        }
        PinMode::Once | PinMode::Manual => Ok(late),
    }
}

pub(super) fn set(
    known: &mut LateValues<'_>,
    policy: &Policy,
    order: Order<'_>,
    value: &str,
    outside: &mut Outside<'_>,
) -> Result<Exit, Stop> {
    said(order.reason)?;
    let late = late_of(policy, order.name)?;
    let value = typed(value)?;
    fits(policy, late, &value)?;
    // What the source says now is known to whoever sets another value; only what it says later is news.
    let over = match known.said(late) {
        SourceSaid::Value { value: says, .. } => Some(says).filter(|says| !late::kind::same(late.kind, says, &value)),
        SourceSaid::Nothing => None,
        SourceSaid::Unasked(why) => {
            unasked(known, late, order, &value, &why, outside)?;
            None
        }
    };
    write(known, policy, late, order, Moved { value, over, from: "set by hand".to_owned() }, outside)
}

/// A source that could not be asked: what it says now will be news to the next run. To keep what is pinned against it is then not
/// possible, and that nothing has changed must not look like success.
fn unasked(
    known: &mut LateValues<'_>,
    late: &LateValue,
    order: Order<'_>,
    value: &str,
    why: &str,
    outside: &mut Outside<'_>,
) -> Result<(), Stop> {
    if order.is_offline {
        return Ok(());
    }
    let name = order.name;
    let stands = known.pins()?.get(name).is_some_and(|pin| match pin.secret {
        true => pin::recognises(&pin.value, value),
        false => late::kind::same(late.kind, &pin.value, value),
    });
    if stands {
        return Err(Stop::undecided(anyhow!(
            "{name} is already pinned to that, but its source was not asked ({why}), so the next run may report it again; make the \
             source reachable, or pass --live FILE, or --live none to record it anyway"
        )));
    }
    let text = format!("{name}: its source was not asked ({why}), so the next run may report what it says");
    drop(writeln!(outside.err, "rollgate: {}", escape::line(&text)));
    Ok(())
}

pub(super) fn repin(
    known: &mut LateValues<'_>,
    policy: &Policy,
    order: Order<'_>,
    outside: &mut Outside<'_>,
) -> Result<Exit, Stop> {
    said(order.reason)?;
    let name = order.name;
    let late = late_of(policy, name)?;
    let (value, from) = match known.said(late) {
        SourceSaid::Value { value, source } => (value, source),
        SourceSaid::Nothing => {
            return Err(Stop::undecided(anyhow!(
                "{name}: no source has a value that could be pinned; rollgate pin verify {name} says why"
            )));
        }
        SourceSaid::Unasked(why) => return Err(Stop::undecided(anyhow!("{name}: its source was not asked: {why}"))),
    };
    fits(policy, late, &value)?;
    write(known, policy, late, order, Moved { value, over: None, from }, outside)
}

/// A pin that a person moves.
struct Moved {
    value: String,
    /// What the source says at the same time, where that is something else.
    over: Option<String>,
    /// Its source.
    from: String,
}

/// Whether a pin that is written holds a seal. What nobody can know without the stream is not written in the clear unasked.
fn is_sealed(policy: &Policy, late: &LateValue, standing: Option<&Pin>, plain: bool) -> Result<bool, Stop> {
    let name = &late.name;
    let was_sealed = standing.is_some_and(|pin| pin.secret);
    if plain && (late.is_secret() || was_sealed) {
        return Err(Stop::usage(anyhow!("{name} is secret, so --plain would show it; leave --plain out")));
    }
    // What an allowed run, or a person, wrote in plain text before is no secret.
    let is_open = late.is_open_secret() && standing.is_none() && !plain;
    if is_open && late.pin == PinMode::Manual && policy.pins.encrypt_to.is_empty() {
        return Err(Stop::usage(anyhow!(
            "{name} may be a secret, and a sealed pin could not give it back: pass --plain, or secret: true or secret: false of it in \
             the policy"
        )));
    }
    // A value that was sealed once, since it goes into a Secret, stays so.
    Ok(late.is_secret() || was_sealed || is_open)
}

/// Writes a pin that a person moves, and says where.
fn write(
    known: &mut LateValues<'_>,
    policy: &Policy,
    late: &LateValue,
    order: Order<'_>,
    moved: Moved,
    outside: &mut Outside<'_>,
) -> Result<Exit, Stop> {
    let (name, now) = (&late.name, known.now());
    let secret = is_sealed(policy, late, known.pins()?.get(name), order.plain)?;
    let stored = |text: String, salt: &str| match secret {
        true => seal(&text, &format!("{name}|{salt}|{now}")),
        false => text,
    };
    let value = late::kind::normal(late.kind, &moved.value);
    let pin = Pin {
        name: name.clone(),
        value: stored(value.clone(), "by hand"),
        secret,
        encrypted: None,
        kind: Some(late.kind),
        source: moved.from,
        path: String::new(),
        uid: None,
        resource_version: None,
        time: to_the_second(now),
        by: known.author(),
        policy: Some(known.digest().to_owned()),
        over: moved.over.map(|over| stored(over, "over")),
        reason: Some(order.reason.to_owned()),
        clear: if secret { Clear::of(&value) } else { Clear::default() },
    };
    let pin = pin.encrypted_to(&policy.pins.encrypt_to).map_err(|why| Stop::usage(anyhow!(why)))?;
    let before = known.update(|book| {
        let before = book.get(name).map(|old| shown(policy, old));
        book.set(pin.clone());
        Ok(before)
    })?;
    let before = before.ok_or_else(|| nowhere(name))?.unwrap_or_else(|| "nothing".to_owned());
    at(&known.place(), outside);
    if secret && late.is_open_secret() {
        let text = match pin.encrypted {
            Some(_) => "may be a secret, so its pin is encrypted; --plain keeps it readable",
            None => {
                "may be a secret, so its pin recognises the value and its source has to give it; --plain keeps it readable"
            }
        };
        drop(writeln!(outside.err, "rollgate: {name} {text}"));
    }
    print(outside, &format!("{name}: {before} to {}\n", shown(policy, &pin)))
}

/// A value as it was typed; `-` reads it from standard input, so that no shell remembers it.
fn typed(value: &str) -> Result<String, Stop> {
    if value != "-" {
        return Ok(value.to_owned());
    }
    let mut text = String::new();
    std::io::stdin().lock().read_to_string(&mut text).context("cannot read standard input").map_err(Stop::usage)?;
    Ok(text.trim().to_owned())
}

pub(super) fn unset(
    known: &mut LateValues<'_>,
    policy: &Policy,
    name: &str,
    reason: &str,
    outside: &mut Outside<'_>,
) -> Result<Exit, Stop> {
    said(reason)?;
    let (time, by) = (to_the_second(known.now()), known.author());
    // A pin that is not there is the user's mistake, not a doubt.
    if known.pins()?.get(name).is_none() {
        return Err(Stop::usage(anyhow!("{name} is not pinned in {}; rollgate pin list shows what is", known.place())));
    }
    let pin = known.update(|book| book.unset(name, reason, time, by.clone()))?.ok_or_else(|| nowhere(name))?;
    at(&known.place(), outside);
    print(outside, &format!("{name}: {} to nothing\n", shown(policy, &pin)))
}

/// Whether a value may be pinned at all.
fn fits(policy: &Policy, late: &LateValue, value: &str) -> Result<(), Stop> {
    let unknown = late::is_unresolved(policy, value) || late.equivalent.iter().any(|other| other == value);
    if value.is_empty() || unknown {
        return Err(Stop::usage(anyhow!("{}: that only says \"not known yet\"; pin a true value", late.name)));
    }
    late::kind::check(late, value).map_err(|why| Stop::usage(anyhow!("{}: the value {why}", late.name)))
}

fn said(reason: &str) -> Result<(), Stop> {
    match reason.trim() {
        "" => Err(Stop::usage(anyhow!("--reason is empty; whoever reads the history wants to know why"))),
        _ => Ok(()),
    }
}

fn nowhere(name: &str) -> Stop {
    Stop::undecided(anyhow!("{name}: the pins are in the cluster, and --live is something else; leave --live out"))
}
