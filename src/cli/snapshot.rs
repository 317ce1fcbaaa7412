//! `rollgate snapshot`: reads what a plan would read and saves it, for people, tickets and tests. Judges nothing.

use std::io::Write;
use std::path::Path;

use anyhow::{Context as _, anyhow};
use serde::Serialize as _;
use serde_json::Serializer;

use super::args::SnapshotArgs;
use super::{Outside, Stop, upgrade};
use crate::exit::Exit;
use crate::host::say;
use crate::late;
use crate::report::escape::{self, Visible};
use crate::session::{Input, Session, Setup, Tree, Untold, histories};
use crate::world::snapshot::{self, Snapshot};

pub(super) fn run(mut args: SnapshotArgs, outside: &mut Outside<'_>) -> Result<Exit, Stop> {
    let file = match std::mem::take(&mut args.common.output).as_slice() {
        [] => None,
        [file] => Some(file.clone()),
        [..] => return Err(Stop::usage(anyhow!("a snapshot is one file; give -o once"))),
    };
    let mut setup = args.common.setup(Untold::look())?;
    setup.upgrade = upgrade::of(&args.source, &args.common)?;
    let input = if setup.upgrade.is_empty() {
        let source = args.source.source(&args.common);
        let input = source.render(Tree::here(), args.source.first_install, outside).map_err(Stop::usage)?;
        input.refuse_empty()?;
        input
    } else {
        // Every owner of Machines is read, whichever version comes.
        Input::unnamed("", Vec::new())
    };
    let session = Session { setup: &setup, input: &input, is_hosts: false };
    let mut ready = session.read(outside).map_err(|stop| stop.about(&input))?;
    if let Some(cluster) = &ready.cluster {
        // Who wrote what is asked later, when the release may have forgotten it.
        histories(&mut ready.world, cluster, None, &setup)?;
    }
    let unread = ready.world.unread.clone();
    late::vet(&input.text, &setup.policy, &mut ready.world.readings);
    let saved = Snapshot::of(ready.world, &setup.key, &setup.policy.redact);
    // The World of a fleet is tens of megabytes: it goes out as it is written.
    let write = |mut out: &mut dyn Write| {
        saved.serialize(&mut Serializer::with_formatter(&mut out, Visible))?;
        out.write_all(b"\n")
    };
    let file = file.filter(|file| file != "-");
    match file.as_deref() {
        // The file holds everything about the clusters but their secrets, so only its owner may read it.
        Some(file) => say::make_private_folder(say::folder_of(Path::new(file)))
            .and_then(|()| say::write_private(Path::new(file), write))
            .with_context(|| format!("cannot write {file}")),
        None => write(&mut *outside.out).context("cannot write to standard output"),
    }
    .and_then(|()| keep_key(&setup, file.as_deref().map(Path::new)))
    .map_err(Stop::internal)?;
    for unread in &unread {
        let text = format!("not in the snapshot: {}: {}; {}", unread.what, unread.why, unread.remedy);
        writeln!(outside.err, "rollgate: {}", escape::line(&text)).map_err(Stop::internal)?;
    }
    Ok(if unread.is_empty() { Exit::Allow } else { Exit::Undecided })
}

/// Keeps the key that was made for this snapshot where only its owner has it: beside the file, or in the user's own folder.
fn keep_key(setup: &Setup, file: Option<&Path>) -> anyhow::Result<()> {
    let report = say::report_path(&setup.env);
    let folder = report.as_deref().and_then(Path::parent);
    let place = match file {
        _ if setup.key_is_told => None,
        Some(file) => Some(snapshot::key_path(file)),
        None => folder.map(|folder| snapshot::kept_key_path(folder, &setup.key.id())),
    };
    let Some(place) = place else { return Ok(()) };
    say::write_report(&place, setup.key.hex().as_bytes()).with_context(|| format!("cannot write {}", place.display()))
}
