//! `rollgate pin`: what is pinned, why, since when; and the only ways to move a pin, each with a reason that is kept.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::Read as _;
use std::path::Path;

use anyhow::{Context as _, anyhow};
use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::known::KnownArgs;
use super::{Outside, Stop};
use crate::exit::Exit;
use crate::late;
use crate::model::effect::Decision;
use crate::pin::{Event, Pin, seal};
use crate::policy::{self, LateValue, PinMode, Policy};
use crate::report::LateState;
use crate::session::{InForce, LateValues, Untold, in_force};
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
        /// Print JSON.
        #[arg(long)]
        json: bool,
        /// Where the pins are.
        #[command(flatten)]
        known: KnownArgs,
    },
    /// One pin with its origin and history.
    Show {
        /// Name of the late value.
        name: String,
        /// Print JSON.
        #[arg(long)]
        json: bool,
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
        /// Why; kept in the history.
        #[arg(long, value_name = "TEXT")]
        reason: String,
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
        /// Where the pins are.
        #[command(flatten)]
        known: KnownArgs,
    },
}

pub(super) fn run(args: &PinArgs, outside: &mut Outside<'_>) -> Result<Exit, Stop> {
    let options = match &args.command {
        PinCommand::List { known, .. }
        | PinCommand::Show { known, .. }
        | PinCommand::Set { known, .. }
        | PinCommand::Unset { known, .. }
        | PinCommand::Verify { known, .. } => known,
    };
    let InForce { policy, folder, .. } = loaded(options)?;
    let policy = &policy;
    let mut known = LateValues::new(&options.options()?, policy, &folder)?;
    match &args.command {
        PinCommand::List { json, .. } => list(&mut known, *json, outside),
        PinCommand::Show { name, json, .. } => show(&mut known, name, *json, outside),
        PinCommand::Set { name, value, reason, .. } => set(&mut known, policy, [name, value, reason], outside),
        PinCommand::Unset { name, reason, .. } => unset(&mut known, name, reason, outside),
        PinCommand::Verify { names, .. } => verify(&mut known, policy, names, outside),
    }
}

/// The policy that says where pins are; there is no good default for that.
fn loaded(options: &KnownArgs) -> Result<InForce, Stop> {
    let found = in_force(options.policy.as_deref(), Untold::Look(Path::new(".")))?;
    let Some(file) = found.file() else {
        let name = policy::FILE_NAME;
        return Err(Stop::usage(anyhow!(
            "no policy says where pins are; give --policy FILE, or run below a folder with {name}"
        )));
    };
    if found.policy.pins.store.is_none() && found.policy.pins.file.is_none() {
        return Err(Stop::usage(anyhow!("{file}: pins: is missing; write pins: {{file: rollgate.pins.yaml}}")));
    }
    Ok(found)
}

fn list(known: &mut LateValues<'_>, as_json: bool, outside: &mut Outside<'_>) -> Result<Exit, Stop> {
    let book = known.pins()?;
    if as_json {
        let pins: Vec<Value> = book.pins().iter().map(told).collect();
        return print(outside, &format!("{:#}\n", json!(pins)));
    }
    let rows: Vec<[String; 4]> = std::iter::once(["NAME", "VALUE", "SINCE", "SOURCE"].map(str::to_owned))
        .chain(book.pins().iter().map(|pin| [pin.name.clone(), shown(pin), pin.time.to_string(), place(pin)]))
        .collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or_default();
    let (name, value, since) = (width(0), width(1), width(2));
    let lines = rows.iter().map(|row| format!("{:name$}  {:value$}  {:since$}  {}\n", row[0], row[1], row[2], row[3]));
    match book.pins() {
        [] => print(outside, "nothing is pinned yet\n"),
        _ => print(outside, &lines.collect::<String>()),
    }
}

fn show(known: &mut LateValues<'_>, name: &str, as_json: bool, outside: &mut Outside<'_>) -> Result<Exit, Stop> {
    let book = known.pins()?;
    let pin = book.get(name);
    let events: Vec<&Event> = book.history().iter().filter(|event| event.name == name).collect();
    if pin.is_none() && events.is_empty() {
        return Err(Stop::usage(anyhow!("{name} was never pinned; rollgate pin list shows what is")));
    }
    if as_json {
        let events: Vec<Value> = events
            .iter()
            .map(|event| {
                json!({"time": event.time, "action": event.action, "before": masked(event.before.as_deref()),
                "after": masked(event.after.as_deref()), "reason": event.reason})
            })
            .collect();
        return print(outside, &format!("{:#}\n", json!({"pin": pin.map(told), "history": events})));
    }
    let mut text = match pin {
        None => format!("{name} is not pinned\n"),
        Some(pin) => format!("{name}: {}\n  since   {}\n  source  {}\n", shown(pin), pin.time, place(pin)),
    };
    if let Some(uid) = pin.and_then(|pin| pin.uid.as_ref()) {
        let version = pin.and_then(|pin| pin.resource_version.as_deref()).unwrap_or("not known");
        writeln!(text, "  object  uid {uid}, resourceVersion {version}").expect(PROOF);
    }
    if let Some(reason) = pin.and_then(|pin| pin.reason.as_ref()) {
        writeln!(text, "  reason  {reason}").expect(PROOF);
    }
    text.push_str("history\n");
    for event in events {
        let nothing = "nothing";
        let (before, after) =
            (masked(event.before.as_deref()).unwrap_or(nothing), masked(event.after.as_deref()).unwrap_or(nothing));
        let reason = event.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
        writeln!(text, "  {}  {}  {before} to {after}{reason}", event.time, event.action.word()).expect(PROOF);
    }
    print(outside, &text)
}

fn set(
    known: &mut LateValues<'_>,
    policy: &Policy,
    [name, value, reason]: [&String; 3],
    outside: &mut Outside<'_>,
) -> Result<Exit, Stop> {
    said(reason)?;
    let late = policy.late_values.iter().find(|late| late.name == *name).ok_or_else(|| {
        let near = policy::nearest(name, policy.late_values.iter().map(|late| late.name.as_str()));
        let hint = near.map(|near| format!("; did you mean {near}?")).unwrap_or_default();
        Stop::usage(anyhow!("the policy has no late value {name}{hint}"))
    })?;
    if late.pin == PinMode::Follow {
        return Err(Stop::usage(anyhow!("{name} follows its source (pin: follow), so a pin would not be used")));
    }
    let value = match value.as_str() {
        "-" => {
            let mut text = String::new();
            std::io::stdin()
                .lock()
                .read_to_string(&mut text)
                .context("cannot read standard input")
                .map_err(Stop::usage)?;
            text.trim().to_owned()
        }
        value => value.to_owned(),
    };
    fits(policy, late, &value)?;
    let secret = is_secret(late);
    let time = known.now();
    let pin = Pin {
        name: name.clone(),
        value: if secret { seal(&value, &format!("{name}|by hand|{time}")) } else { value },
        secret,
        source: "set by hand".to_owned(),
        path: String::new(),
        uid: None,
        resource_version: None,
        time,
        reason: Some(reason.clone()),
    };
    let before = known.update(|book| {
        let before = book.get(name).map(shown);
        book.set(pin.clone());
        Ok(before)
    })?;
    let before = before.ok_or_else(|| nowhere(name))?.unwrap_or_else(|| "nothing".to_owned());
    print(outside, &format!("{name}: {before} to {}\n", shown(&pin)))
}

fn unset(known: &mut LateValues<'_>, name: &str, reason: &str, outside: &mut Outside<'_>) -> Result<Exit, Stop> {
    said(reason)?;
    let time = known.now();
    // A pin that is not there is the user's mistake, not a doubt.
    if known.pins()?.get(name).is_none() {
        return Err(Stop::usage(anyhow!("{name} is not pinned; rollgate pin list shows what is")));
    }
    let pin = known.update(|book| book.unset(name, reason, time))?.ok_or_else(|| nowhere(name))?;
    print(outside, &format!("{name}: {} to nothing\n", shown(&pin)))
}

fn verify(known: &mut LateValues<'_>, policy: &Policy, names: &[String], outside: &mut Outside<'_>) -> Result<Exit, Stop> {
    let all = || policy.late_values.iter().map(|late| late.name.clone()).collect::<BTreeSet<_>>();
    if let Some(name) = names.iter().find(|name| !policy.late_values.iter().any(|late| late.name == **name)) {
        return Err(Stop::usage(anyhow!("the policy has no late value {name}")));
    }
    let asked = if names.is_empty() { all() } else { names.iter().cloned().collect() };
    let pinned: BTreeSet<String> = known.pins()?.pins().iter().map(|pin| pin.name.clone()).collect();
    let mut worst = Decision::Allow;
    for one in known.settle(&asked, &mut outside.screen())? {
        let name = &one.name;
        let (decision, text) = match one.state {
            _ if !pinned.contains(name) => (Decision::Allow, "is not pinned".to_owned()),
            LateState::Differs => (Decision::Hold, one.reason.map(|reason| reason.message).unwrap_or_default()),
            LateState::Pinned if one.warning.is_none() && one.source != "pin" => {
                (Decision::Allow, format!("is what {} says", one.source))
            }
            LateState::Resolved => (Decision::Allow, "follows its source, the pin is not used".to_owned()),
            _ => {
                let why = one.warning.or_else(|| one.reason.map(|reason| reason.message));
                (Decision::Undecided, why.unwrap_or_else(|| "its source is out of reach".to_owned()))
            }
        };
        worst = worst.max(decision);
        print(outside, &format!("{name}: {text}\n"))?;
    }
    Ok(verdict::exit(worst))
}

/// Whether a value may be pinned at all.
fn fits(policy: &Policy, late: &LateValue, value: &str) -> Result<(), Stop> {
    let unknown = late::is_unresolved(policy, value) || late.equivalent.iter().any(|other| other == value);
    if value.is_empty() || unknown {
        return Err(Stop::usage(anyhow!("{}: that only says \"not known yet\"; pin a true value", late.name)));
    }
    late::kind::check(late, value).map_err(|why| Stop::usage(anyhow!("{}: the value {why}", late.name)))
}

/// Whether one of its sources is a Secret.
fn is_secret(late: &LateValue) -> bool {
    late.from.iter().filter_map(|from| from.object.as_ref()).any(late::is_secret)
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
fn masked(text: Option<&str>) -> Option<&str> {
    text.map(|text| if is_seal(text) { SECRET } else { text })
}

fn is_seal(text: &str) -> bool {
    text.starts_with("sealed:")
}

/// The value of a pin as it may be shown.
fn shown(pin: &Pin) -> String {
    if pin.secret || is_seal(&pin.value) { SECRET.to_owned() } else { pin.value.clone() }
}

fn place(pin: &Pin) -> String {
    if pin.path.is_empty() { pin.source.clone() } else { format!("{} at {}", pin.source, pin.path) }
}

/// A pin as JSON, without a secret value.
fn told(pin: &Pin) -> Value {
    let mut value = json!(pin);
    value["value"] = json!(if pin.secret { None } else { Some(&pin.value) });
    value
}

fn print(outside: &mut Outside<'_>, text: &str) -> Result<Exit, Stop> {
    let written = outside.out.write_all(text.as_bytes()).and_then(|()| outside.out.flush());
    written.context("cannot write to standard output").map_err(Stop::internal)?;
    Ok(Exit::Allow)
}
