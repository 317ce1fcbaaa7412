//! The end of the program from wherever it is ended: what was started and made goes with it.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use super::{signals, values};
use crate::exit::Exit;
use crate::session::process;

/// Temporary folders: those with worktrees, and those with what renders.
static FOLDERS: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// From now on a signal ends what renders, removes the folder, and then the program.
///
/// # Errors
/// When signals cannot be listened to.
pub(super) fn clean_up_on_signals(folder: Option<&Path>) -> io::Result<()> {
    if let Some(folder) = folder {
        FOLDERS.lock().unwrap_or_else(PoisonError::into_inner).push(folder.to_owned());
    }
    signals::listen()
}

/// Whether [`leave`] ends the program.
static LEAVING: AtomicBool = AtomicBool::new(false);

/// Waits for the end of the program, where it has begun.
pub(super) fn give_way() {
    while LEAVING.load(Ordering::SeqCst) {
        std::thread::park();
    }
}

/// Ends the program from any thread, and takes away what it has made.
#[expect(clippy::exit, reason = "a signal or a bound ends the program, and the main thread may be anywhere.")]
pub(super) fn leave(exit: Exit) {
    LEAVING.store(true, Ordering::SeqCst);
    values::refuse();
    process::end_all();
    let folders = std::mem::take(&mut *FOLDERS.lock().unwrap_or_else(PoisonError::into_inner));
    // What cannot be removed now is a temporary folder; Git forgets the worktrees at its next prune.
    folders.iter().for_each(|folder| drop(std::fs::remove_dir_all(folder)));
    if !folders.is_empty() {
        drop(std::process::Command::new("git").args(["worktree", "prune"]).stdin(Stdio::null()).output());
    }
    std::process::exit(i32::from(exit.code()));
}
