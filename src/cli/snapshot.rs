//! `rollgate snapshot`: reads what a plan would read and saves it, for people, tickets and tests. Judges nothing.

use std::io::Write;
use std::path::Path;

use anyhow::{Context as _, anyhow};

use super::args::SnapshotArgs;
use super::{Outside, Stop, run};
use crate::exit::Exit;
use crate::host::say;
use crate::session::{Input, Look, Session, Untold};
use crate::world::snapshot::{self, Snapshot};

pub(super) fn run(mut args: SnapshotArgs, outside: &mut Outside<'_>) -> Result<Exit, Stop> {
    let file = match std::mem::take(&mut args.common.output).as_slice() {
        [] => None,
        [file] => Some(file.clone()),
        [..] => return Err(Stop::usage(anyhow!("a snapshot is one file; give -o once"))),
    };
    let session = Session::open(run::options(&args.common)?, Untold::Look(Path::new(".")))?;
    let input = Input::read(&args.files)?;
    input.refuse_empty()?;
    let look = Look { session: &session, input: &input, piped: false };
    let seen = look.read(&mut outside.screen()).map_err(|stop| stop.about(&input))?;
    let unread = seen.world.unread.clone();
    let saved = Snapshot::of(seen.world, &snapshot::fresh_key(), &session.policy.redact);
    // The World of a fleet is tens of megabytes: it goes out as it is written.
    let write = |mut out: &mut dyn Write| {
        serde_json::to_writer(&mut out, &saved)?;
        out.write_all(b"\n")
    };
    match file.as_deref().filter(|file| *file != "-") {
        // The file holds everything about the clusters but their secrets, so only its owner may read it.
        Some(file) => say::make_private_folder(say::folder_of(Path::new(file)))
            .and_then(|()| say::write_private(Path::new(file), write))
            .with_context(|| format!("cannot write {file}")),
        None => write(&mut *outside.out).context("cannot write to standard output"),
    }
    .map_err(Stop::internal)?;
    for unread in &unread {
        writeln!(outside.err, "rollgate: not in the snapshot: {}: {}; {}", unread.what, unread.why, unread.remedy)
            .map_err(Stop::internal)?;
    }
    Ok(if unread.is_empty() { Exit::Allow } else { Exit::Undecided })
}
