//! `rollgate pin`: what is pinned, why, since when; and the only ways to move a pin, each with a reason that is kept.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::Read as _;

use anyhow::{Context as _, anyhow};
use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::known::{self, Known, KnownArgs, Said};
use super::{Outside, Stop};
use crate::approval::to_the_second;
use crate::exit::Exit;
use crate::late::{self, Settled};
use crate::model::Decision;
use crate::pin::{self, Clear, Event, Pin, is_seal, seal};
use crate::policy::{self, LateValue, Loaded, PinMode, Policy};
use crate::report::{LateState, escape};
use crate::verdict;

/// Options of `pin`.
#[derive(Debug, Args)]
pub struct PinArgs {
    /// What to do.
    #[command(subcommand)]
    pub command: PinCommand,
}

/// What can be done with pins.
#[derive(Debug, Subcommand)]
pub enum PinCommand {
    /// Every pin, one a line.
    List {
        /// Print the pins as a list in JSON.
        #[arg(long)]
        json: bool,
        /// How to print; `json` says the place too.
        #[arg(long, short, value_enum)]
        output: Option<PinOutput>,
        /// Where the pins are.
        #[command(flatten)]
        known: KnownArgs,
    },
    /// One pin with its origin and history.
    Show {
        /// Name of the late value.
        name: String,
        /// Print the pin and its history as JSON.
        #[arg(long)]
        json: bool,
        /// How to print; `json` says the place too.
        #[arg(long, short, value_enum)]
        output: Option<PinOutput>,
        /// Where the pins are.
        #[command(flatten)]
        known: KnownArgs,
    },
    /// Pin a value by hand, whatever its source says.
    Set {
        /// Name of the late value.
        name: String,
        /// The value; `-` to read it from standard input.
        value: String,
        /// Keep it readable, where neither the policy nor its type says that it is no secret.
        #[arg(long)]
        plain: bool,
        /// Why; kept in the history.
        #[arg(long, value_name = "TEXT")]
        reason: String,
        /// Where the pins are.
        #[command(flatten)]
        known: KnownArgs,
    },
    /// Move a pin to what its source says now, or to a value.
    Repin {
        /// Name of the late value.
        name: String,
        /// Take what the source says now.
        #[arg(long, required_unless_present = "value", conflicts_with = "value")]
        from_source: bool,
        /// Take this value.
        #[arg(long, value_name = "VALUE")]
        value: Option<String>,
        /// Keep it readable, where neither the policy nor its type says that it is no secret.
        #[arg(long)]
        plain: bool,
        /// Why; kept in the history.
        #[arg(long, value_name = "TEXT")]
        reason: String,
        /// Where the pins are.
        #[command(flatten)]
        known: KnownArgs,
    },
    /// What happened to pins, oldest first.
    History {
        /// Name of the late value; all where none is given.
        name: Option<String>,
        /// How to print.
        #[arg(long, short, value_enum)]
        output: Option<PinOutput>,
        /// Where the pins are.
        #[command(flatten)]
        known: KnownArgs,
    },
    /// Take a pin away: the next run takes what the source says then.
    Unset {
        /// Name of the late value.
        name: String,
        /// Why; kept in the history.
        #[arg(long, value_name = "TEXT")]
        reason: String,
        /// Where the pins are.
        #[command(flatten)]
        known: KnownArgs,
    },
    /// Compare each pin with its source; exit 3 where one has moved, 4 where one cannot be read.
    Verify {
        /// Names of late values; all of the policy where none is given.
        names: Vec<String>,
        /// How to print.
        #[arg(long, short, value_enum)]
        output: Option<PinOutput>,
        /// Where the pins are.
        #[command(flatten)]
        known: KnownArgs,
    },
}

/// How pins are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum PinOutput {
    /// For people.
    Human,
    /// For programs.
    Json,
}

pub(super) fn run(args: &PinArgs, outside: &mut Outside<'_>) -> Result<Exit, Stop> {
    let options = match &args.command {
        PinCommand::List { known, .. }
        | PinCommand::Show { known, .. }
        | PinCommand::Set { known, .. }
        | PinCommand::Repin { known, .. }
        | PinCommand::History { known, .. }
        | PinCommand::Unset { known, .. }
        | PinCommand::Verify { known, .. } => known,
    };
    let loaded = loaded(options)?;
    let folder = loaded.folder().to_owned();
    let policy = &loaded.policy;
    let mut known = Known::new(options, policy, &folder)?.under(&loaded.digest);
    let as_json = |output: Option<PinOutput>| output == Some(PinOutput::Json);
    match &args.command {
        PinCommand::List { json: true, .. } => {
            let pins: Vec<Value> = known.pins()?.pins().iter().map(|pin| told(policy, pin)).collect();
            print(outside, &escape::json(&json!(pins)))
        }
        PinCommand::List { output, .. } => list(&mut known, policy, as_json(*output), outside),
        PinCommand::Show { name, json, output, .. } => {
            show(&mut known, policy, name, *json || as_json(*output), outside)
        }
        PinCommand::Set { name, value, plain, reason, .. } => {
            let is_offline = options.live == "none";
            set(&mut known, policy, Order { name, plain: *plain, is_offline, reason }, value, outside)
        }
        PinCommand::Repin { name, value, plain, reason, .. } => {
            let order = Order { name, plain: *plain, is_offline: options.live == "none", reason };
            match value {
                Some(value) => set(&mut known, policy, order, value, outside),
                None => repin(&mut known, policy, order, outside),
            }
        }
        PinCommand::History { name, output, .. } => {
            history(&mut known, policy, name.as_deref(), as_json(*output), outside)
        }
        PinCommand::Unset { name, reason, .. } => unset(&mut known, policy, name, reason, outside),
        PinCommand::Verify { names, output, .. } => verify(&mut known, policy, names, as_json(*output), outside),
    }
}

/// The policy that says where pins are; there is no good default for that.
fn loaded(options: &KnownArgs) -> Result<Loaded, Stop> {
    let loaded = known::policy(options, None)?.ok_or_else(|| {
        let name = policy::FILE_NAME;
        Stop::usage(anyhow!("no policy says where pins are; give --policy FILE, or run below a folder with {name}"))
    })?;
    if loaded.policy.pins.store.is_none() && loaded.policy.pins.file.is_none() {
        let file = loaded.file.display();
        return Err(Stop::usage(anyhow!("{file}: pins: is missing; write pins: {{file: rollgate.pins.yaml}}")));
    }
    Ok(loaded)
}

fn list(known: &mut Known<'_>, policy: &Policy, as_json: bool, outside: &mut Outside<'_>) -> Result<Exit, Stop> {
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

fn show(
    known: &mut Known<'_>,
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

fn history(
    known: &mut Known<'_>,
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

/// What a person wants of a pin.
#[derive(Clone, Copy)]
struct Order<'a> {
    /// Name of the late value.
    name: &'a str,
    /// It is no secret.
    plain: bool,
    /// `--live none`: the sources are not to be asked.
    is_offline: bool,
    /// Why.
    reason: &'a str,
}

fn set(
    known: &mut Known<'_>,
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
    let over = match known.said(late, outside) {
        Said::Value { value: says, .. } => Some(says).filter(|says| !late::kind::same(late.kind, says, &value)),
        Said::Nothing => None,
        Said::Unasked(why) => {
            unasked(known, late, order, &value, &why, outside)?;
            None
        }
    };
    write(known, policy, late, order, Moved { value, over, from: "set by hand".to_owned() }, outside)
}

/// A source that could not be asked: what it says now will be news to the next run. To keep what is pinned against it is then not
/// possible, and that nothing has changed must not look like success.
fn unasked(
    known: &mut Known<'_>,
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
            "{name} is pinned to that already, and its source was not asked ({why}): what it says now would still be news to the \
             next run; reach it, or give --live FILE, or --live none to write it down nevertheless"
        )));
    }
    let text = format!("{name}: its source was not asked ({why}); what it says now will be news to the next run");
    drop(writeln!(outside.err, "rollgate: {}", escape::line(&text)));
    Ok(())
}

fn repin(known: &mut Known<'_>, policy: &Policy, order: Order<'_>, outside: &mut Outside<'_>) -> Result<Exit, Stop> {
    said(order.reason)?;
    let name = order.name;
    let late = late_of(policy, name)?;
    let (value, from) = match known.said(late, outside) {
        Said::Value { value, source } => (value, source),
        Said::Nothing => {
            return Err(Stop::undecided(anyhow!(
                "{name}: no source has a value that could be pinned; rollgate pin verify {name} says why"
            )));
        }
        Said::Unasked(why) => return Err(Stop::undecided(anyhow!("{name}: its source was not asked: {why}"))),
    };
    fits(policy, late, &value)?;
    write(known, policy, late, order, Moved { value, over: None, from }, outside)
}

/// Says where pins were looked at or written, beside what is printed.
fn at(place: &str, outside: &mut Outside<'_>) {
    // Who closed standard error still gets what was asked for.
    drop(writeln!(outside.err, "rollgate: pins in {}", escape::line(place)));
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
fn is_sealed(late: &LateValue, standing: Option<&Pin>, plain: bool) -> Result<bool, Stop> {
    let name = &late.name;
    let was_sealed = standing.is_some_and(|pin| pin.secret);
    if plain && (late.is_secret() || was_sealed) {
        return Err(Stop::usage(anyhow!("{name} is secret, so --plain would show it; leave --plain out")));
    }
    // What an allowed run, or a person, wrote in plain text before is no secret.
    let is_open = late.is_open_secret() && standing.is_none() && !plain;
    if is_open && late.pin == PinMode::Manual {
        return Err(Stop::usage(anyhow!(
            "{name} may be a secret, and a sealed pin could not give it back: say --plain, or secret: true or secret: false of it in \
             the policy"
        )));
    }
    // A value that was sealed once, since it goes into a Secret, stays so.
    Ok(late.is_secret() || was_sealed || is_open)
}

/// Writes a pin that a person moves, and says where.
fn write(
    known: &mut Known<'_>,
    policy: &Policy,
    late: &LateValue,
    order: Order<'_>,
    moved: Moved,
    outside: &mut Outside<'_>,
) -> Result<Exit, Stop> {
    let (name, now) = (&late.name, known.now());
    let secret = is_sealed(late, known.pins()?.get(name), order.plain)?;
    let stored = |text: String, salt: &str| match secret {
        true => seal(&text, &format!("{name}|{salt}|{now}")),
        false => text,
    };
    let pin = Pin {
        name: name.clone(),
        value: stored(late::kind::normal(late.kind, &moved.value), "by hand"),
        secret,
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
        clear: Clear::default(),
    };
    let before = known.update(|book| {
        let before = book.get(name).map(|old| shown(policy, old));
        book.set(pin.clone());
        Ok(before)
    })?;
    let before = before.ok_or_else(|| nowhere(name))?.unwrap_or_else(|| "nothing".to_owned());
    at(&known.place(), outside);
    if secret && late.is_open_secret() {
        let text =
            "may be a secret, so its pin recognises the value and its source has to give it; --plain keeps it readable";
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

fn unset(
    known: &mut Known<'_>,
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

fn verify(
    known: &mut Known<'_>,
    policy: &Policy,
    names: &[String],
    as_json: bool,
    outside: &mut Outside<'_>,
) -> Result<Exit, Stop> {
    let all = || policy.late_values.iter().map(|late| late.name.clone()).collect::<BTreeSet<_>>();
    if let Some(name) = names.iter().find(|name| policy.late_value(name).is_none()) {
        return Err(Stop::usage(anyhow!("the policy has no late value {name}")));
    }
    let asked = if names.is_empty() { all() } else { names.iter().cloned().collect() };
    let pinned: BTreeSet<String> = known.pins()?.pins().iter().map(|pin| pin.name.clone()).collect();
    let mut worst = Decision::Allow;
    let mut told = Vec::new();
    for one in known.settle(&asked, outside)? {
        let name = one.name.clone();
        let (decision, state, text) = verified(one, &pinned);
        worst = worst.max(decision);
        match as_json {
            true => told.push(json!({"name": name, "state": state, "message": text})),
            false => drop(print(outside, &format!("{name}: {text}\n"))?),
        }
    }
    match as_json {
        true => drop(print(outside, &escape::json(&json!({"place": known.place(), "pins": told})))?),
        false => at(&known.place(), outside),
    }
    Ok(verdict::exit(worst))
}

/// How one pin stands to its source: the decision, the state, and a sentence.
fn verified(one: Settled, pinned: &BTreeSet<String>) -> (Decision, &'static str, String) {
    match one.state {
        _ if !pinned.contains(&one.name) => (Decision::Allow, "not-pinned", "is not pinned".to_owned()),
        LateState::Differs => (Decision::Hold, "differs", one.reason.map(|reason| reason.message).unwrap_or_default()),
        LateState::Pinned if one.warning.is_none() && one.source != "pin" => {
            (Decision::Allow, "agrees", format!("is what {} says", one.source))
        }
        LateState::Resolved => (Decision::Allow, "follows", "follows its source, the pin is not used".to_owned()),
        _ => {
            let why = one.warning.or_else(|| one.reason.map(|reason| reason.message));
            (Decision::Undecided, "not-compared", why.unwrap_or_else(|| "its source is out of reach".to_owned()))
        }
    }
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

const SECRET: &str = "(secret)";
const PROOF: &str = "writing to a string cannot fail";

/// A value of the history as it may be shown.
fn masked<'t>(policy: &Policy, name: &str, text: Option<&'t str>) -> Option<&'t str> {
    let secret = policy.late_value(name).is_some_and(LateValue::is_secret);
    text.map(|text| if secret || is_seal(text) { SECRET } else { text })
}

/// Whether the value of a pin is never shown, also where it was written down before the policy said so.
fn is_hidden(policy: &Policy, pin: &Pin) -> bool {
    pin.secret || is_seal(&pin.value) || policy.late_value(&pin.name).is_some_and(LateValue::is_secret)
}

/// The value of a pin as it may be shown.
fn shown(policy: &Policy, pin: &Pin) -> String {
    if is_hidden(policy, pin) { SECRET.to_owned() } else { pin.value.clone() }
}

fn origin(pin: &Pin) -> String {
    if pin.path.is_empty() { pin.source.clone() } else { format!("{} at {}", pin.source, pin.path) }
}

/// A pin as JSON, without a secret value.
fn told(policy: &Policy, pin: &Pin) -> Value {
    let mut value = json!(pin);
    if is_hidden(policy, pin) {
        value["value"] = Value::Null;
        value["over"] = Value::Null;
    }
    value
}

/// An event as JSON, without a secret value.
fn told_event(policy: &Policy, event: &Event) -> Value {
    json!({"time": event.time, "name": event.name, "action": event.action,
        "before": masked(policy, &event.name, event.before.as_deref()),
        "after": masked(policy, &event.name, event.after.as_deref()), "reason": event.reason, "by": event.by})
}

fn print(outside: &mut Outside<'_>, text: &str) -> Result<Exit, Stop> {
    let written = outside.out.write_all(escape::lines(text).as_bytes()).and_then(|()| outside.out.flush());
    written.context("cannot write to standard output").map_err(Stop::internal)?;
    Ok(Exit::Allow)
}
