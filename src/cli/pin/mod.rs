//! `rollgate pin`: what is pinned, why, since when; and the only ways to move a pin, each with a reason that is kept.

mod args;
mod look;
mod moves;
mod shown;
mod verify;

use std::time::Duration;

use anyhow::{Context as _, anyhow};

pub(super) use args::{PinArgs, PinCommand, PinOutput};

use super::known::KnownArgs;
use super::{Outside, Stop};
use crate::exit::Exit;
use crate::policy::{self, Loaded};
use crate::report::escape;
use crate::session::late::{LateValues, SourceSaid};
use moves::Order;

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
    let folder = loaded.folder.clone();
    let policy = &loaded.policy;
    let mut known = options.late_values(policy, &folder, &loaded.digest, Some(Duration::ZERO))?;
    let as_json = |output: Option<PinOutput>| output == Some(PinOutput::Json);
    match &args.command {
        PinCommand::List { json: true, .. } => look::bare(&mut known, policy, outside),
        PinCommand::List { output, .. } => look::list(&mut known, policy, as_json(*output), outside),
        PinCommand::Show { name, json, output, .. } => {
            look::show(&mut known, policy, name, *json || as_json(*output), outside)
        }
        PinCommand::Set { name, value, plain, reason, .. } => {
            let is_offline = options.live == "none";
            moves::set(&mut known, policy, Order { name, plain: *plain, is_offline, reason }, value, outside)
        }
        PinCommand::Repin { name, value, plain, reason, .. } => {
            let order = Order { name, plain: *plain, is_offline: options.live == "none", reason };
            match value {
                Some(value) => moves::set(&mut known, policy, order, value, outside),
                None => moves::repin(&mut known, policy, order, outside),
            }
        }
        PinCommand::History { name, output, .. } => {
            look::history(&mut known, policy, name.as_deref(), as_json(*output), outside)
        }
        PinCommand::Unset { name, reason, .. } => moves::unset(&mut known, policy, name, reason, outside),
        PinCommand::Verify { names, output, .. } => {
            verify::verify(&mut known, policy, names, as_json(*output), outside)
        }
    }
}

/// The policy that says where pins are; there is no good default for that.
fn loaded(options: &KnownArgs) -> Result<Loaded, Stop> {
    let loaded = options.policy(None)?.ok_or_else(|| {
        let name = policy::FILE_NAME;
        Stop::usage(anyhow!(
            "no policy says where pins are; pass --policy FILE, or run in or below a folder that has {name}"
        ))
    })?;
    if loaded.policy.pins.store.is_none() && loaded.policy.pins.file.is_none() {
        let file = loaded.file.display();
        return Err(Stop::usage(anyhow!("{file}: pins: is missing; write pins: {{file: rollgate.pins.yaml}}")));
    }
    Ok(loaded)
}

/// Says where pins were looked at or written, beside what is printed.
fn at(place: &str, outside: &mut Outside<'_>) {
    // Who closed standard error still gets what was asked for.
    drop(writeln!(outside.err, "rollgate: pins in {}", escape::line(place)));
}

fn print(outside: &mut Outside<'_>, text: &str) -> Result<Exit, Stop> {
    let written = outside.out.write_all(escape::lines(text).as_bytes()).and_then(|()| outside.out.flush());
    written.context("cannot write to standard output").map_err(Stop::internal)?;
    Ok(Exit::Allow)
}
