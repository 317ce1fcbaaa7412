//! Runs other programs: whatever a command starts ends with it, however it lets go of it.

use std::io;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

/// How long is waited for what was printed, once the command has ended: what it left behind may hold its output open.
const LINGER: Duration = Duration::from_secs(2);
/// Most bytes that a command may print.
const MOST_BYTES: u64 = 1024 * 1024 * 1024;

/// The groups of processes that run now.
static GROUPS: Mutex<Vec<i32>> = Mutex::new(Vec::new());

/// What a command came to.
pub(crate) struct Ended {
    /// How it ended.
    pub status: ExitStatus,
    /// What it printed.
    pub stdout: Vec<u8>,
    /// What it said.
    pub stderr: Vec<u8>,
}

/// Why a command came to no end.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Fault {
    /// It cannot be started.
    #[error(transparent)]
    Start(io::Error),
    /// It prints more than can be read, or leaves something behind that goes on printing.
    #[error(transparent)]
    Run(#[from] io::Error),
}

/// Runs a command in a folder.
///
/// # Errors
/// When it cannot be started, prints more than can be read, or leaves something behind that goes on printing.
pub(crate) async fn run(mut command: tokio::process::Command, folder: &Path) -> Result<Ended, Fault> {
    command.current_dir(folder).stdin(Stdio::null());
    feed(command, Vec::new()).await
}

/// Runs a command that reads `input` from its standard input, where that is a pipe.
///
/// # Errors
/// As [`run`].
pub(crate) async fn feed(mut command: tokio::process::Command, input: Vec<u8>) -> Result<Ended, Fault> {
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    adopt();
    // A group is known before another command's end looks for what belongs to none.
    let (mut child, group) = {
        let mut groups = groups();
        let child = command.process_group(0).kill_on_drop(true).spawn().map_err(Fault::Start)?;
        let group = child.id().and_then(|id| i32::try_from(id).ok()).unwrap_or(0);
        groups.push(group);
        (child, group)
    };
    let (out, err) = (reader(child.stdout.take()), reader(child.stderr.take()));
    if let Some(mut stdin) = child.stdin.take() {
        // Who ends without reading says why by its end.
        drop(stdin.write_all(&input).await);
    }
    let status = child.wait().await;
    end(group);
    {
        let mut groups = groups();
        groups.retain(|other| *other != group);
        if groups.is_empty() {
            end_strays();
        }
    }
    let status = status?;
    let both = async { (out.await, err.await) };
    let Ok((Ok(stdout), Ok(stderr))) = tokio::time::timeout(LINGER, both).await else {
        return Err(Fault::Run(io::Error::other("it left a process behind that still holds its output")));
    };
    Ok(Ended { status, stdout: stdout?, stderr: stderr? })
}

fn groups() -> std::sync::MutexGuard<'static, Vec<i32>> {
    GROUPS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A shell that fails where any command of a pipe fails, as far as the machine has one.
pub(crate) fn shell(command: &str) -> tokio::process::Command {
    let mut asked = std::process::Command::new("bash");
    asked.args(["-c", ":"]).stdin(Stdio::null());
    let has_bash = asked.status().is_ok_and(|end| end.success());
    if has_bash {
        let mut child = tokio::process::Command::new("bash");
        child.args(["-o", "pipefail", "-c", command]);
        child
    } else {
        let mut child = tokio::process::Command::new("sh");
        child.args(["-c", &format!("(set -o pipefail) 2>/dev/null && set -o pipefail\n{command}")]);
        child
    }
}

/// Reads a pipe to its end.
fn reader(
    pipe: Option<impl tokio::io::AsyncRead + Unpin + Send + 'static>,
) -> tokio::task::JoinHandle<io::Result<Vec<u8>>> {
    tokio::spawn(async move {
        let mut bytes = Vec::new();
        if let Some(pipe) = pipe {
            pipe.take(MOST_BYTES + 1).read_to_end(&mut bytes).await?;
        }
        if bytes.len() as u64 > MOST_BYTES {
            return Err(io::Error::other("it prints more than 1 GiB"));
        }
        Ok(bytes)
    })
}

/// Ends a group of processes; none is there any more where all have ended.
fn end(group: i32) {
    if let Some(group) = Pid::from_raw(group) {
        // None may be left to end.
        let _: rustix::io::Result<()> = kill_process_group(group, Signal::KILL);
    }
}

/// How often is looked for what a command left behind, which may go on making others.
const ROUNDS: usize = 200;

/// Ends what left the group of its command to live on by itself. What is ended leaves its children to us, so it is looked again until
/// there are none.
fn end_strays() {
    for _ in 0..ROUNDS {
        let found = strays();
        if found.is_empty() {
            break;
        }
        for one in found {
            let _: rustix::io::Result<()> = kill_process(one, Signal::KILL);
        }
    }
}

/// From now on processes whose parents have ended become ours, so that a command cannot let go of them.
fn adopt() {
    #[cfg(target_os = "linux")]
    {
        // Without it they live on, as they do on other systems.
        let _: rustix::io::Result<()> = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
    }
}

/// What runs below this program in a group of processes that is not its own: what it starts for itself, such as a plugin that logs in
/// to a cluster, stays in its own. Nothing where there is no `/proc`.
fn strays() -> Vec<Pid> {
    let own_group = rustix::process::getpgrp().as_raw_nonzero().get();
    // Each process with its parent and its group.
    let mut all: Vec<(i32, i32, i32)> = Vec::new();
    for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(id) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        let stat = std::fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        // Name in brackets, which may hold anything, then state, parent and group.
        let mut words = stat.rsplit_once(')').map_or("", |(_, rest)| rest).split_ascii_whitespace();
        let state = words.next().filter(|state| *state != "Z");
        let mut number = || words.next().and_then(|word| word.parse().ok());
        if let (Some(_), Some(parent), Some(group)) = (state, number(), number()) {
            all.push((id, parent, group));
        }
    }
    let mut below = vec![i32::try_from(std::process::id()).unwrap_or(0)];
    let mut out = Vec::new();
    let mut at = 0;
    while let Some(parent) = below.get(at).copied() {
        for (id, _, group) in all.iter().filter(|(_, of, _)| *of == parent) {
            below.push(*id);
            out.extend(Pid::from_raw(*id).filter(|_| *group != own_group));
        }
        at += 1;
    }
    out
}

/// Ends all that runs now.
pub(crate) fn end_all() {
    groups().drain(..).for_each(end);
    end_strays();
}
