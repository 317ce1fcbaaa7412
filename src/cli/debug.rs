//! `rollgate debug yaml`: shows each document as Kubernetes reads it.

use std::io::Read as _;
use std::path::Path;

use anyhow::Context as _;

use super::args::{DebugArgs, DebugCommand};
use super::{Outside, Stop};
use crate::exit::Exit;
use crate::yaml;

pub(super) fn run(args: &DebugArgs, outside: &mut Outside<'_>) -> Result<Exit, Stop> {
    let DebugCommand::Yaml { file } = &args.command;
    let (name, bytes) = input(file.as_deref())?;
    let lines = yaml::debug::lines(&bytes)
        .map_err(|error| Stop::usage(anyhow::anyhow!("{name}:{}:{}: {}", error.line, error.column, error.message)))?;
    outside.out.write_all(lines.as_bytes()).context("cannot write to standard output").map_err(Stop::internal)?;
    Ok(Exit::Allow)
}

/// The name and bytes of a file, or of standard input.
pub(super) fn input(file: Option<&Path>) -> Result<(String, Vec<u8>), Stop> {
    match file.filter(|file| *file != Path::new("-")) {
        Some(file) => {
            let bytes = std::fs::read(file).with_context(|| format!("cannot read {}", file.display()));
            Ok((file.display().to_string(), bytes.map_err(Stop::usage)?))
        }
        None => {
            let mut bytes = Vec::new();
            std::io::stdin()
                .lock()
                .read_to_end(&mut bytes)
                .context("cannot read standard input")
                .map_err(Stop::usage)?;
            Ok(("<stdin>".to_owned(), bytes))
        }
    }
}
