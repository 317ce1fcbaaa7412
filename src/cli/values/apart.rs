//! The process that renders one values template (`session::late::apart`).

use std::io::Read as _;

use anyhow::Context as _;

use crate::cli::{Outside, Stop, bound};
use crate::exit::Exit;
use crate::late::template;
use crate::session::late::apart::Job;

/// What that process does.
pub(in crate::cli) fn run(outside: &mut Outside<'_>) -> Result<Exit, Stop> {
    let mut job = Vec::new();
    std::io::stdin().lock().read_to_end(&mut job).context("cannot read standard input").map_err(Stop::usage)?;
    let job: Job<'static> = serde_json::from_slice(&job).map_err(Stop::usage)?;
    let _bound = bound::template(job.limit);
    let rendered = template::render(&job.file, &job.text, &job.context).map_err(Stop::usage)?;
    serde_json::to_writer(&mut *outside.out, &rendered).map_err(Stop::internal)?;
    outside.out.flush().context("cannot write to standard output").map_err(Stop::internal)?;
    Ok(Exit::Allow)
}
