//! A values template renders in a process of its own: a few bytes of it can ask for all memory at once, and the values that are owed
//! (or the text in their place) are paid by whoever lives on.

use std::borrow::Cow;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use serde::{Deserialize, Serialize};

use crate::exit::Exit;
use crate::late::template::{Rendered, Scope};
use crate::session::{Stop, process, runtime};

/// The hidden command of that process.
pub(crate) const COMMAND: &str = "render-values";

/// What that process is given on its standard input, as JSON; it answers with a [`Rendered`].
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Job<'a> {
    /// How a person calls the template.
    pub file: Cow<'a, str>,
    /// The template.
    pub text: Cow<'a, str>,
    /// What it may see.
    pub context: Cow<'a, Scope>,
    /// Longest time.
    pub limit: Duration,
}

/// Renders a template in a process of its own.
///
/// # Errors
/// What is wrong with the template; where the process takes more time or memory than it may, or ends without an answer.
pub(super) fn render(file: &str, text: &str, context: &Scope, limit: Duration) -> Result<Rendered, Stop> {
    let job = Job { file: file.into(), text: text.into(), context: Cow::Borrowed(context), limit };
    let job = serde_json::to_vec(&job).map_err(Stop::internal)?;
    let mut command = tokio::process::Command::new(program());
    command.arg(COMMAND).stdin(Stdio::piped());
    let ended = runtime()?
        .block_on(process::feed(command, job))
        .with_context(|| format!("{file}: cannot start the process that renders it"))
        .map_err(Stop::undecided)?;
    if ended.status.success() {
        return serde_json::from_slice(&ended.stdout).map_err(Stop::internal);
    }
    let said = String::from_utf8_lossy(&ended.stderr);
    let said = said.lines().find_map(|line| line.strip_prefix("rollgate: "));
    let wrong = match said {
        Some(said) => anyhow!("{said}"),
        None => {
            anyhow!("{file}: it takes more memory to render than there is; give more, or make the template smaller")
        }
    };
    Err(match (ended.status.code(), said) {
        (Some(code), Some(_)) if code == i32::from(Exit::Usage.code()) => Stop::usage(wrong),
        (Some(code), Some(_)) if code == i32::from(Exit::Internal.code()) => Stop::internal(wrong),
        _ => Stop::undecided(wrong),
    })
}

/// This very program, also where its file was replaced meanwhile.
fn program() -> PathBuf {
    let own = PathBuf::from("/proc/self/exe");
    if own.exists() { own } else { std::env::current_exe().unwrap_or(own) }
}
