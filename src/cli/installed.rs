//! `rollgate completions` and `rollgate man`: what an installation puts beside the program, made from the one list of options.

use std::path::Path;

use anyhow::Context as _;
use clap::CommandFactory as _;

use super::{Cli, Outside, Stop};
use crate::exit::Exit;

/// Prints the completions of a shell.
pub(super) fn completions(shell: clap_complete::Shell, outside: &mut Outside<'_>) -> Result<Exit, Stop> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "rollgate", &mut text);
    print(&text, outside)
}

/// Prints the page of the program, or writes that of every command.
pub(super) fn man(folder: Option<&Path>, outside: &mut Outside<'_>) -> Result<Exit, Stop> {
    if let Some(folder) = folder {
        let written = std::fs::create_dir_all(folder).and_then(|()| clap_mangen::generate_to(Cli::command(), folder));
        written.with_context(|| format!("cannot write to {}", folder.display())).map_err(Stop::internal)?;
        return Ok(Exit::Allow);
    }
    let mut text = Vec::new();
    clap_mangen::Man::new(Cli::command()).render(&mut text).map_err(Stop::internal)?;
    print(&text, outside)
}

fn print(text: &[u8], outside: &mut Outside<'_>) -> Result<Exit, Stop> {
    outside.out.write_all(text).context("cannot write to standard output").map_err(Stop::internal)?;
    Ok(Exit::Allow)
}
