//! `rollgate man`: the manual pages that an installation puts beside the program, made from the options of all commands.

use std::path::Path;

use anyhow::Context as _;
use clap::CommandFactory as _;

use super::{Cli, Outside, Stop};
use crate::exit::Exit;

/// Prints the page of the program, or writes that of every command.
pub(super) fn man(folder: Option<&Path>, outside: &mut Outside<'_>) -> Result<Exit, Stop> {
    if let Some(folder) = folder {
        let written = std::fs::create_dir_all(folder).and_then(|()| clap_mangen::generate_to(Cli::command(), folder));
        written.with_context(|| format!("cannot write to {}", folder.display())).map_err(Stop::internal)?;
        return Ok(Exit::Allow);
    }
    let mut text = Vec::new();
    clap_mangen::Man::new(Cli::command()).render(&mut text).map_err(Stop::internal)?;
    outside.out.write_all(&text).context("cannot write to standard output").map_err(Stop::internal)?;
    Ok(Exit::Allow)
}
