//! `rollgate debug yaml`: shows each document as Kubernetes reads it.

use anyhow::Context as _;

use super::args::{DebugArgs, DebugCommand};
use super::{Outside, Stop};
use crate::exit::Exit;
use crate::session::Input;
use crate::yaml;

pub(super) fn run(args: &DebugArgs, outside: &mut Outside<'_>) -> Result<Exit, Stop> {
    let DebugCommand::Yaml { file } = &args.command;
    let input = Input::one(file.as_deref())?;
    let lines = yaml::debug::lines(&input.text).map_err(|error| {
        Stop::usage(anyhow::anyhow!("{}:{}: {}", input.place(error.line), error.column, error.message))
    })?;
    outside.out.write_all(lines.as_bytes()).context("cannot write to standard output").map_err(Stop::internal)?;
    Ok(Exit::Allow)
}
