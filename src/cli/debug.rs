//! `rollgate debug yaml`: shows each document as Kubernetes reads it.

use anyhow::Context as _;

use super::args::{DebugArgs, DebugCommand};
use super::{Outside, Stop, input};
use crate::exit::Exit;
use crate::yaml;

pub(super) fn run(args: &DebugArgs, outside: &mut Outside<'_>) -> Result<Exit, Stop> {
    let DebugCommand::Yaml { file } = &args.command;
    let (name, bytes) = input::read(file.as_deref())?;
    let lines = yaml::debug::lines(&bytes)
        .map_err(|error| Stop::usage(anyhow::anyhow!("{name}:{}:{}: {}", error.line, error.column, error.message)))?;
    outside.out.write_all(lines.as_bytes()).context("cannot write to standard output").map_err(Stop::internal)?;
    Ok(Exit::Allow)
}
