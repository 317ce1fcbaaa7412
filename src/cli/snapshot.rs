//! `rollgate snapshot`: reads what a plan would read and saves it, for people, tickets and tests. Judges nothing.

use std::io::{Read as _, Write};
use std::path::Path;

use anyhow::{Context as _, anyhow, ensure};
use serde::Serialize as _;
use serde_json::Serializer;

use super::args::SnapshotArgs;
use super::{Outside, Stop, output, setup, upgrade};
use crate::compare::redact::MarkKey;
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
    let file = file.filter(|file| file != "-");
    let mut setup = args.common.setup(Untold::look())?;
    if let Some(file) = file.as_deref().map(Path::new) {
        keeps_others(file, &setup, &setup::read(&args.common, &args.source.read())).map_err(Stop::usage)?;
    }
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

/// Whether neither the file nor its key would take the place of something else: of what this run reads, or of a file that is no World.
/// A World takes the place of the last one.
fn keeps_others(file: &Path, setup: &Setup, read: &[&Path]) -> anyhow::Result<()> {
    output::is_apart(file, read)?;
    refuse_other(file, "is there and is no World", snapshot::begins)?;
    if setup.key_is_told {
        return Ok(());
    }
    let key = snapshot::key_path(file);
    output::is_apart(&key, read)?;
    let is_key = |text: &[u8]| std::str::from_utf8(text).is_ok_and(|text| MarkKey::of_hex(text).is_some());
    refuse_other(&key, "would hold the key of this snapshot, is there and is none", is_key)
}

/// Refuses to replace a file that is not what stands there for a snapshot, unless nothing is in it. What is no file is told by who writes.
fn refuse_other(file: &Path, why: &str, is_one: impl FnOnce(&[u8]) -> bool) -> anyhow::Result<()> {
    /// More than the head of a World or a key has.
    const HEAD: u64 = 1 << 12;
    if !std::fs::symlink_metadata(file).is_ok_and(|data| data.is_file() && data.len() > 0) {
        return Ok(());
    }
    let mut head = Vec::new();
    let read = std::fs::File::open(file).and_then(|open| open.take(HEAD).read_to_end(&mut head));
    ensure!(read.is_ok() && is_one(&head), "-o: {} {why}; name another file, or take it away", file.display());
    Ok(())
}

/// Keeps the key that was made for this snapshot where only its owner has it: beside the file, or in the user's own folder.
fn keep_key(setup: &Setup, file: Option<&Path>) -> anyhow::Result<()> {
    let report = say::report_path(&setup.env);
    let folder = report.as_deref().and_then(Path::parent);
    let place = match file.filter(|file| !file.starts_with("/dev")) {
        _ if setup.key_is_told => None,
        Some(file) => Some(snapshot::key_path(file)),
        None => folder.map(|folder| snapshot::kept_key_path(folder, &setup.key.id())),
    };
    let Some(place) = place else { return Ok(()) };
    say::write_report(&place, setup.key.hex().as_bytes()).with_context(|| format!("cannot write {}", place.display()))
}
