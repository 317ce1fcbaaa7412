//! `rollgate serve` in a build for pipelines: there is no server in it.

use std::ffi::OsString;

use clap::Args;

use super::{Outside, Stop};
use crate::exit::Exit;

/// Options of `serve`, which this build does not know.
#[derive(Debug, Args)]
pub struct ServeArgs {
    /// Whatever is said.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    pub words: Vec<OsString>,
}

pub(super) fn run(_: &ServeArgs, _: &mut Outside<'_>) -> Result<Exit, Stop> {
    Err(Stop::usage(anyhow::anyhow!(
        "this build is one for pipelines and has no server; that of the webhook is built with cargo build --release (docs/serve.md)"
    )))
}
